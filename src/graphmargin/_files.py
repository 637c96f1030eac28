"""Files that are never seen half written."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a draft to be written, which becomes `path` at the end, unless something fails.

    Whoever looks, and whatever fails, sees the old file or the new one; missing folders are made.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "new" / "a.txt") as draft:
    ...         _ = draft.write_text("text")
    ...     [file.name for file in (Path(folder) / "new").iterdir()]
    ['a.txt']
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # A process of its own has a draft of its own; the same folder is the same file system.
    draft = path.with_name(f".{path.stem}.{os.getpid()}.draft{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_atomically(path: Path, content: bytes) -> None:
    """Write a file as a whole, see `replacing`."""
    with replacing(path) as draft:
        draft.write_bytes(content)
