"""Arrays in files that all workers see, on a shared file system or in an object store.

A *pack* is a file with a few arrays of a common length, cut along their first axis into parts, one
for each task that will read some of it. A reader fetches its part and nothing else, so that what
passes between any two tasks takes a range of one file: files grow with the number of tasks, not
with its square. Packs are written as a whole or not at all, and hold no code.
"""

from __future__ import annotations

import json
import os
import posixpath
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

import fsspec
import numpy as np
from fsspec.implementations.local import LocalFileSystem

from graphmargin._errors import InputError, one_line
from graphmargin._typing import AnyArray, IntArray

MAGIC = b"graphmargin-pack"
START = "start"
"""Name of the array that tells where the parts of a pack begin and end."""

DRAFT = ".draft"
"""Ending of the names of files that are being written."""
MAX_HEADER_BYTES = 1 << 20
"""Limit of a header; what claims more is damaged."""
BLOCK = 1 << 16
"""Number of bytes to read ahead: an object store takes about as long for them as for one."""

Arrays = Mapping[str, AnyArray]


@dataclass(frozen=True)
class Folder:
    """A folder by its path or URL, such as ``s3://bucket/name``; workers get it by value.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as path:
    ...     folder = Folder(path) / "edges"
    ...     folder.write("a", {"x": np.arange(5)}, start=np.array([0, 2, 5]))
    ...     folder.names(), folder.read("a", part=1)["x"].tolist()
    (['a'], [2, 3, 4])
    """

    url: str

    @classmethod
    def at(cls, place: str | PathLike[str]) -> Folder:
        """Return the folder at a path, which may be relative to where this program runs, or URL."""
        system, path = url_to_fs(place)
        is_local = isinstance(system, LocalFileSystem)
        return cls(path if is_local else os.fspath(place).rstrip("/"))

    def __truediv__(self, name: str) -> Folder:
        """Return a folder within this one."""
        return Folder(posixpath.join(self.url, name))

    @property
    def is_local(self) -> bool:
        """True on a file system, where files and folders can be renamed."""
        return isinstance(self._place[0], LocalFileSystem)

    @property
    def _place(self) -> tuple[fsspec.AbstractFileSystem, str]:
        return url_to_fs(self.url)

    def path(self, name: str) -> str:
        """Return the URL of a file."""
        return posixpath.join(self.url, name)

    def names(self) -> list[str]:
        """Return the names of all files and folders in it, sorted; none if there is no folder.

        Files that are being written, or that a process left when it died, are no files yet.
        """
        system, path = self._place
        try:
            paths = system.ls(path, detail=False)
        except FileNotFoundError:
            return []
        names = (posixpath.basename(name.rstrip("/")) for name in paths)
        return sorted(name for name in names if not name.endswith(DRAFT))

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        system, path = self._place
        return bool(system.exists(posixpath.join(path, name)))

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a file to be written; whoever looks sees the old one until the block ends well."""
        system, path = self._place
        final = posixpath.join(path, name)
        if not self.is_local:
            # An object store shows an object when it is complete, and closing what is half
            # written would complete it.
            with tempfile.NamedTemporaryFile() as file:
                yield file
                file.flush()
                system.put_file(file.name, final)
            return
        system.makedirs(posixpath.dirname(final), exist_ok=True)
        draft = Path(f"{final}.{uuid4().hex}{DRAFT}")
        try:
            with draft.open("wb") as file:
                yield file
            os.replace(draft, final)  # noqa: PTH105 - paths of fsspec are text
        finally:
            draft.unlink(missing_ok=True)

    def write_bytes(self, name: str, *content: Any) -> None:
        """Write a file from some chunks of bytes, see `writing`."""
        with self.writing(name) as file:
            for chunk in content:
                file.write(chunk)

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        system, path = self._place
        return bytes(system.cat_file(posixpath.join(path, name)))

    def write_json(self, name: str, content: Any) -> None:
        """Write numbers, texts, lists and dictionaries of them."""
        self.write_bytes(name, json.dumps(content, indent=1).encode())

    def read_json(self, name: str) -> Any:
        """Return what `write_json` has written."""
        try:
            return json.loads(self.read_bytes(name))
        except ValueError as error:
            msg = f"{self.path(name)} is damaged ({error}); start again in a new folder"
            raise InputError(msg) from error

    def write(self, name: str, arrays: Arrays, *, start: IntArray | None = None) -> None:
        """Write a pack.

        Parameters
        ----------
        name : str
        arrays : mapping from str to array
            They may have any shapes if the pack is not cut.
        start : array of shape (n_partitions + 1,), default=None
            Part i of every array is ``array[start[i]:start[i + 1]]``.
        """
        named = {key: np.asarray(value, order="C") for key, value in arrays.items()}
        if start is not None:
            named = {START: np.asarray(start, dtype=np.int64), **named}
        layout, offset = {}, 0
        for key, array in named.items():
            if array.dtype.hasobject:
                msg = f"`{key}` holds objects, which a pack does not"
                raise TypeError(msg)
            layout[key] = {"dtype": array.dtype.str, "shape": array.shape, "offset": offset}
            offset += array.nbytes
        header = json.dumps(layout).encode()
        length = len(header).to_bytes(8, "little")
        self.write_bytes(name, MAGIC, length, header, *(_bytes_of(a) for a in named.values()))

    def read(
        self,
        name: str,
        keys: Sequence[str] | None = None,
        *,
        part: int | None = None,
        rows: IntArray | None = None,
    ) -> dict[str, AnyArray]:
        """Return the arrays of a pack, all or those of some `keys`, whole or some rows of them.

        Parameters
        ----------
        name : str
        keys : sequence of str, default=None
        part : int, default=None
            The part to read, of a pack that is cut.
        rows : sorted array of int, default=None
            The rows to read. Blocks of the file that hold none of them are skipped.

        Raises
        ------
        InputError
            If the file is missing or damaged.
        """
        system, path = self._place
        try:
            with system.open(posixpath.join(path, name), "rb", block_size=BLOCK) as file:
                layout, begin = _layout(file)
                wanted = [key for key in layout if key != START] if keys is None else keys
                if rows is not None:
                    return {key: _read_rows(file, begin, layout[key], rows) for key in wanted}
                start = stop = None
                if part is not None:
                    start, stop = _read(file, begin, layout[START], part, part + 2).tolist()
                return {key: _read(file, begin, layout[key], start, stop) for key in wanted}
        except (EOFError, FileNotFoundError) as error:
            why = "missing" if isinstance(error, FileNotFoundError) else f"damaged ({error})"
            msg = (
                f"{self.path(name)} is {why}; remove the folder that it is in, and go on with "
                "resume=True"
            )
            raise InputError(msg) from error

    def remove(self, names: Sequence[str] | None = None) -> None:
        """Remove some files, or the folder with all that it holds, if they are there."""
        system, path = self._place
        for name in [""] if names is None else names:
            target = posixpath.join(path, name).rstrip("/")
            if system.exists(target):
                system.rm(target, recursive=True)


def url_to_fs(place: str | PathLike[str]) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a path or URL, and the path in it.

    Listings are not cached: other processes write, too.

    Raises
    ------
    InputError
        If it is empty, or no file system is known for it.
    """
    if place == "":
        msg = "'' is no path; write '.' for the present folder"
        raise InputError(msg)
    try:
        system, path = fsspec.core.url_to_fs(os.fspath(place), use_listings_cache=False)
    except (ValueError, ImportError) as error:
        msg = f"{place}: {one_line(error)}"
        raise InputError(msg) from error
    return system, path


def _bytes_of(array: AnyArray) -> Any:
    """Return an array as bytes, without a copy where it has any."""
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def _layout(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """Return what is where in an open pack, and where its arrays begin."""
    opening = file.read(len(MAGIC) + 8)
    if opening[: len(MAGIC)] != MAGIC:
        msg = "no file of graphmargin"
        raise EOFError(msg)
    length = int.from_bytes(opening[len(MAGIC) :], "little")
    begin = len(opening) + length
    header = file.read(length) if length < MAX_HEADER_BYTES else b""
    try:
        return json.loads(header), begin
    except ValueError as error:
        msg = "its header cannot be read"
        raise EOFError(msg) from error


def _read(
    file: IO[bytes], begin: int, layout: dict[str, Any], start: int | None, stop: int | None
) -> AnyArray:
    """Return some rows of an array from an open pack."""
    dtype, shape = np.dtype(layout["dtype"]), list(layout["shape"])
    first = 0
    if start is not None and stop is not None:
        first, shape[0] = start, stop - start
    array = np.empty(shape, dtype)
    if not array.size:
        return array
    row_bytes = array.nbytes // shape[0] if shape else array.nbytes
    file.seek(begin + layout["offset"] + first * row_bytes)
    view = array.reshape(-1).view(np.uint8).data
    while len(view):
        count = file.readinto(view)  # type: ignore[attr-defined]
        if not count:
            msg = "it ends too early"
            raise EOFError(msg)
        view = view[count:]
    return array


def _read_rows(file: IO[bytes], begin: int, layout: dict[str, Any], rows: IntArray) -> AnyArray:
    """Return given rows of an array; those that lie close together are read at once."""
    dtype, shape = np.dtype(layout["dtype"]), list(layout["shape"])
    if not len(rows):
        return np.empty([0, *shape[1:]], dtype)
    row_bytes = max(dtype.itemsize * int(np.prod(shape[1:])), 1)
    far = np.flatnonzero(np.diff(rows) * row_bytes > BLOCK) + 1
    return np.concatenate(
        [
            _read(file, begin, layout, int(near[0]), int(near[-1]) + 1)[near - near[0]]
            for near in np.split(rows, far)
        ]
    )
