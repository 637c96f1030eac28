"""Files that may be compressed, whose damage is said in one line."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from graphmargin.tables.errors import TableError
from graphmargin.tables.formats import is_compressed

NOT_UTF8 = "not UTF-8 text; save it as UTF-8 (in Excel: CSV UTF-8)"


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO]:
    """Yield the content of a file as a stream, unpacked if it is packed by gzip.

    Text that is not UTF-8 and damaged archives, found while the stream is in use, are a
    `TableError`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.csv.gz"
    ...     _ = path.write_bytes(gzip.compress(b"x,y"))
    ...     with opened(path) as stream:
    ...         stream.read()
    b'x,y'
    """
    try:
        with gzip.open(path) if is_compressed(path) else path.open("rb") as stream:
            yield cast("BinaryIO", stream)
    except (gzip.BadGzipFile, zlib.error, EOFError) as error:
        msg = f"{path}: the archive is damaged: {error}"
        raise TableError(msg) from error
    except UnicodeDecodeError as error:
        msg = f"{path}: {NOT_UTF8}"
        raise TableError(msg) from error
