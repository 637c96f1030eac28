"""Files that are never seen half written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryFile

from graphmargin._errors import InputError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a draft to be written, which becomes `path` at the end, unless something fails.

    Whoever looks, and whatever fails, sees the old file or the new one; missing folders are made.
    A link stays a link: the file that it points to is replaced.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "new" / "a.txt") as draft:
    ...         _ = draft.write_text("text")
    ...     [file.name for file in (Path(folder) / "new").iterdir()]
    ['a.txt']
    """
    path = path.resolve()
    path.parent.mkdir(parents=True, exist_ok=True)
    # A process of its own has a draft of its own; the same folder is the same file system.
    draft = path.with_name(f".{path.stem}.{os.getpid()}.draft{path.suffix}")
    try:
        yield draft
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def atomic_write(path: Path, content: bytes) -> None:
    """Write a file as a whole, see `replacing`."""
    with replacing(path) as draft:
        draft.write_bytes(content)


def check_writable(path: Path, *, inputs: Sequence[Path] = ()) -> None:
    """Raise now what would be raised after all the work, if `path` cannot be written.

    Parameters
    ----------
    path : Path
        Of a file that is to be written; nothing is written yet.
    inputs : sequence of Path
        Files that must not be touched.

    Raises
    ------
    InputError
        If `path` is a folder or one of `inputs`, or would be in a file.
    OSError
        If its folder cannot be made or written to.

    Examples
    --------
    >>> check_writable(Path("a.csv"), inputs=[Path("./a.csv")])
    Traceback (most recent call last):
    graphmargin._errors.InputError: a.csv is in use by this command already; choose another name
    """
    if path.is_dir():
        msg = f"{path}: a folder, not a file"
        raise InputError(msg)
    if any(path.resolve() == other.resolve() or _is_same(path, other) for other in inputs):
        msg = f"{path} is in use by this command already; choose another name"
        raise InputError(msg)
    folder = path.resolve().parent
    while not folder.exists():
        folder = folder.parent
    if not folder.is_dir():
        msg = f"{path}: {folder} is a file, not a folder"
        raise InputError(msg)
    try:
        with TemporaryFile(dir=folder):
            pass
        if path.exists():
            path.open("ab").close()
    except OSError as error:
        msg = f"cannot be written: {error.strerror}"
        raise OSError(error.errno, msg, str(path)) from error


def _is_same(first: Path, second: Path) -> bool:
    return first.exists() and second.exists() and first.samefile(second)
