"""Formats of tables, told by the ends of file names, and compressed files."""

from __future__ import annotations

import gzip
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO, Literal, TypeAlias, cast

from graphmargin._errors import one_line
from graphmargin.tables.table_errors import TableError

Format: TypeAlias = Literal["csv", "tsv", "parquet", "excel", "json lines", "npz"]

_TEXT_ENDINGS: dict[str, Format] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "json lines",
    ".ndjson": "json lines",
}
FORMATS: dict[str, Format] = {
    **_TEXT_ENDINGS,
    ".parquet": "parquet",
    ".pq": "parquet",
    ".xlsx": "excel",
    ".npz": "npz",
    **{f"{ending}.gz": kind for ending, kind in _TEXT_ENDINGS.items()},
    **{f"{ending}.zip": kind for ending, kind in _TEXT_ENDINGS.items()},
    ".zip": "csv",
}
"""Formats by the ends of names; a zip archive that does not tell holds a CSV file."""


def format_of(path: Path) -> Format:
    """Return the format of a file from the end of its name, in any case.

    Examples
    --------
    >>> format_of(Path("Results.CSV.gz"))
    'csv'
    """
    name = path.name.lower()
    for ending, known in FORMATS.items():
        if name.endswith(ending):
            return known
    msg = f"{path}: not a known kind of table; names may end in {', '.join(FORMATS)}"
    raise TableError(msg)


@contextmanager
def open_bytes(path: Path) -> Iterator[BinaryIO]:
    """Yield the content of a file as a stream, decompressed if its name ends in .gz or .zip.

    A damaged archive, also if it is found while the stream is in use, is a `TableError`.
    """
    try:
        with ExitStack() as files:
            yield _opened(path, files)
    except (gzip.BadGzipFile, zipfile.BadZipFile, zlib.error, EOFError) as error:
        msg = f"{path}: the archive is damaged: {one_line(error)}"
        raise TableError(msg) from error


def _opened(path: Path, files: ExitStack) -> BinaryIO:
    """Return the stream of a file, which the stack closes."""
    match path.suffix.lower():
        case ".gz":
            return cast("BinaryIO", files.enter_context(gzip.open(path)))
        case ".zip":
            try:
                archive = files.enter_context(zipfile.ZipFile(path))
                members = [
                    member
                    for member in archive.infolist()
                    if not member.is_dir() and not member.filename.startswith("__MACOSX/")
                ]
                if len(members) == 1:
                    return cast("BinaryIO", files.enter_context(archive.open(members[0])))
            except ARCHIVE_ERRORS as error:
                msg = f"{path}: the archive is damaged or encrypted: {one_line(error)}"
                raise TableError(msg) from error
            msg = f"{path}: the archive has {len(members)} files; a table is one file"
            raise TableError(msg)
    return files.enter_context(path.open("rb"))


ARCHIVE_ERRORS = (
    zipfile.BadZipFile,
    ValueError,
    KeyError,
    EOFError,
    TypeError,
    AttributeError,
    IndexError,
    NotImplementedError,
    RuntimeError,
    SyntaxError,
    OverflowError,
    MemoryError,
    zlib.error,
)
"""Exceptions that zipfile, openpyxl and NumPy raise on damaged content."""
