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
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any
from uuid import uuid4

import fsspec
import numpy as np
from fsspec.implementations.local import LocalFileSystem

from graphmargin._errors import InputError
from graphmargin._typing import AnyArray, IntArray

MAGIC = b"graphmargin-pack"
START = "start"
"""Name of the array that tells where the parts of a pack begin and end."""

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

    def __truediv__(self, name: str) -> Folder:
        """Return a folder within this one."""
        return Folder(posixpath.join(self.url, name))

    @property
    def _place(self) -> tuple[fsspec.AbstractFileSystem, str]:
        system, path = fsspec.core.url_to_fs(self.url)
        return system, path

    def path(self, name: str) -> str:
        """Return the URL of a file."""
        return posixpath.join(self.url, name)

    def names(self) -> list[str]:
        """Return the names of all files and folders in it, sorted; none if there is no folder."""
        system, path = self._place
        system.invalidate_cache(path)
        if not system.exists(path):
            return []
        return sorted(posixpath.basename(found.rstrip("/")) for found in system.ls(path, False))

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        system, path = self._place
        return bool(system.exists(posixpath.join(path, name)))

    def write_bytes(self, name: str, *content: Any) -> None:
        """Write a file from its pieces; whoever looks sees the old file or the new one."""
        system, path = self._place
        final = posixpath.join(path, name)
        # An object store shows an object when it is complete; a file system shows a draft.
        is_local = isinstance(system, LocalFileSystem)
        draft = f"{final}.{uuid4().hex}.draft" if is_local else final
        if is_local:
            system.makedirs(posixpath.dirname(final), exist_ok=True)
        try:
            with system.open(draft, "wb") as file:
                for piece in content:
                    file.write(piece)
            if is_local:
                os.replace(draft, final)  # noqa: PTH105 - paths of fsspec are text
        except BaseException:
            if is_local and system.exists(draft):
                system.rm_file(draft)
            raise

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
            msg = f"{self.path(name)} is damaged ({error}); remove it"
            raise InputError(msg) from error

    def write(self, name: str, arrays: Arrays, *, start: IntArray | None = None) -> None:
        """Write a pack.

        Parameters
        ----------
        name : str
        arrays : mapping from str to array
            Of any shapes if the pack is not cut.
        start : array of shape (n_parts + 1,), default=None
            Part i of every array is ``array[start[i]:start[i + 1]]``.
        """
        named = {key: np.ascontiguousarray(value) for key, value in arrays.items()}
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
        self, name: str, keys: Sequence[str] | None = None, *, part: int | None = None
    ) -> dict[str, AnyArray]:
        """Return the arrays of a pack, all or those of some `keys`, whole or one part of them."""
        system, path = self._place
        with system.open(posixpath.join(path, name), "rb") as file:
            if file.read(len(MAGIC)) != MAGIC:
                msg = f"{self.path(name)} is no file of graphmargin; remove it"
                raise InputError(msg)
            length = int.from_bytes(file.read(8), "little")
            layout = json.loads(file.read(length))
            begin = len(MAGIC) + 8 + length
            start = stop = None
            if part is not None:
                edges = layout[START]
                start, stop = _read(file, begin, edges, part, part + 2).tolist()
            wanted = [key for key in layout if key != START] if keys is None else keys
            return {key: _read(file, begin, layout[key], start, stop) for key in wanted}

    def remove(self, names: Sequence[str] | None = None) -> None:
        """Remove some files, or the folder with all that it holds, if they are there."""
        system, path = self._place
        for name in [""] if names is None else names:
            target = posixpath.join(path, name).rstrip("/")
            if system.exists(target):
                system.rm(target, recursive=True)


def _bytes_of(array: AnyArray) -> Any:
    """Return an array as bytes, without a copy where it has any."""
    return array.reshape(-1).view(np.uint8).data if array.size else b""


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
            msg = "a file of graphmargin ends too early; remove it"
            raise InputError(msg)
        view = view[count:]
    return array
