"""Arrays in files that all workers see, on a shared file system or in an object store.

A *pack* is a file with a few arrays of a common length, which are cut along their first axis into
parts, one for each task that reads it. A task reads its part alone, so that the number of files
grows with the number of tasks, and not with its square. Packs are written as a whole or not at all,
and hold no code.
"""

from __future__ import annotations

import json
import os
import posixpath
import tempfile
import threading
import zlib
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
from graphmargin._files import NO_SPACE_ERRORS
from graphmargin._typing import AnyArray, IntArray

MAGIC = b"graphmargin-pack"
START = "start"
"""Name of the array with the places where the parts of a pack begin and end."""

DRAFT = ".draft"
"""Ending of the names of files that are being written."""
LOCK = ".lock"
"""Ending of the name of the file that the process of a run has locked."""
MAX_HEADER_BYTES = 1 << 20
"""Size from which the header of a pack counts as damaged."""
BLOCK_BYTES = 1 << 16
"""Number of bytes to read ahead, for which an object store takes about as long as for one."""
CHECKED_BYTES = 1 << 20
"""Number of bytes to read at once for a checksum."""

Arrays = Mapping[str, AnyArray]
Checksums = dict[str, list[int]]
"""Size and CRC-32 of files, by URL."""

_recording = threading.local()
"""Has the files of `recorded_writes` as `files`, in a thread that is in such a block."""


@dataclass(frozen=True)
class Folder:
    """A folder by its path or URL, such as ``s3://bucket/name``.

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
        """Return the folder at a URL or path, which is relative to the current folder of Python."""
        system, path = url_to_fs(place)
        is_local = isinstance(system, LocalFileSystem)
        return cls(path if is_local else os.fspath(place).rstrip("/"))

    def __truediv__(self, name: str) -> Folder:
        """Return a folder within this one."""
        return Folder(posixpath.join(self.url, name))

    @property
    def is_local(self) -> bool:
        """True on a file system, where files and folders can be renamed."""
        return isinstance(url_to_fs(self.url)[0], LocalFileSystem)

    def path(self, name: str) -> str:
        """Return the URL of a file."""
        return posixpath.join(self.url, name)

    def names(self) -> list[str]:
        """Return the sorted names of all files and folders in it, none if it does not exist.

        Locks are left out, and drafts: files that are being written, or that a killed process has
        left.
        """
        system, path = url_to_fs(self.url)
        try:
            paths = system.ls(path, detail=False)
        except FileNotFoundError:
            return []
        names = (posixpath.basename(name.rstrip("/")) for name in paths)
        return sorted(name for name in names if not name.endswith((DRAFT, LOCK)))

    def exists(self, name: str) -> bool:
        """Tell whether there is such a file."""
        system, path = url_to_fs(self.path(name))
        return bool(system.exists(path))

    @contextmanager
    def writing(self, name: str) -> Iterator[IO[bytes]]:
        """Yield a file to write to, which replaces the old one if the block ends without error.

        Raises
        ------
        InputError
            If the disk is full.
        """
        system, final = url_to_fs(self.path(name))
        if not self.is_local:
            # An object becomes visible when its file is closed, even if that is half written.
            with tempfile.NamedTemporaryFile() as copy, _full_disk_named(copy.name):
                yield copy
                copy.flush()
                self._record(name, Path(copy.name))
                system.put_file(copy.name, final)
            return
        draft = Path(f"{final}.{uuid4().hex}{DRAFT}")
        try:
            with _full_disk_named(final):
                system.makedirs(posixpath.dirname(final), exist_ok=True)
                with draft.open("wb") as file:
                    yield file
                self._record(name, draft)
                os.replace(draft, final)  # noqa: PTH105 - paths of fsspec are text
        finally:
            draft.unlink(missing_ok=True)

    def _record(self, name: str, written: Path) -> None:
        """Add the checksum of a file to those of `recorded_writes`, if there is such a block."""
        files: Checksums | None = getattr(_recording, "files", None)
        if files is not None:
            with written.open("rb") as file:
                files[self.path(name)] = _checksum(file)

    def checksum(self, name: str) -> list[int] | None:
        """Return the size and the CRC-32 of a file, None if there is none."""
        system, path = url_to_fs(self.path(name))
        try:
            with system.open(path, "rb", block_size=CHECKED_BYTES) as file:
                return _checksum(file)
        except (FileNotFoundError, IsADirectoryError, NotADirectoryError):
            return None

    def write_bytes(self, name: str, *content: Any) -> None:
        """Write a file that consists of chunks of bytes, see `writing`."""
        with self.writing(name) as file:
            for chunk in content:
                file.write(chunk)

    def read_bytes(self, name: str) -> bytes:
        """Return the content of a file."""
        system, path = url_to_fs(self.path(name))
        return bytes(system.cat_file(path))

    def write_json(self, name: str, content: Any) -> None:
        """Write numbers, strings, lists and dictionaries of them, with a checksum."""
        checked = {"crc32": _json_checksum(content), "content": content}
        self.write_bytes(name, json.dumps(checked, indent=1).encode())

    def read_json(self, name: str) -> Any:
        """Return the content of a file of `write_json`.

        Raises
        ------
        InputError
            If the file is missing or damaged.
        """
        try:
            checked = json.loads(self.read_bytes(name))
            if not isinstance(checked, dict) or set(checked) != {"crc32", "content"}:
                why = "not a file of graphmargin"
            elif checked["crc32"] != _json_checksum(checked["content"]):
                why = "its checksum is wrong"
            else:
                return checked["content"]
        except (ValueError, FileNotFoundError) as error:
            why = one_line(error)
        msg = f"{self.path(name)} is damaged ({why}); start again in a new folder"
        raise InputError(msg)

    def write(self, name: str, arrays: Arrays, *, start: IntArray | None = None) -> None:
        """Write a pack.

        Parameters
        ----------
        name : str
        arrays : mapping from str to array
            Arrays of any shapes, if the pack is not cut into parts.
        start : array of shape (n_partitions + 1,), default=None
            Part i of every array is ``array[start[i]:start[i + 1]]``.
        """
        named = {key: np.asarray(value, order="C") for key, value in arrays.items()}
        if start is not None:
            named = {START: np.asarray(start, dtype=np.int64), **named}
        layout, offset = {}, 0
        for key, array in named.items():
            if array.dtype.hasobject:
                msg = f"`{key}` has objects, which cannot be written to a pack"
                raise TypeError(msg)
            layout[key] = {"dtype": array.dtype.str, "shape": array.shape, "offset": offset}
            offset += array.nbytes
        header = json.dumps(layout).encode()
        sizes = len(header).to_bytes(8, "little"), zlib.crc32(header).to_bytes(8, "little")
        self.write_bytes(name, MAGIC, *sizes, header, *(_raw_bytes(a) for a in named.values()))

    def read(
        self,
        name: str,
        keys: Sequence[str] | None = None,
        *,
        part: int | None = None,
        rows: IntArray | None = None,
    ) -> dict[str, AnyArray]:
        """Return the arrays of a pack: all of them or those of `keys`, with all or some rows.

        Parameters
        ----------
        name : str
        keys : sequence of str, default=None
        part : int, default=None
            The part to read, if the pack is cut into parts.
        rows : sorted array of int, default=None
            The rows to read. Blocks of the file without any of them are skipped.

        Raises
        ------
        InputError
            If the file is missing or damaged.
        """
        system, path = url_to_fs(self.path(name))
        try:
            with system.open(path, "rb", block_size=BLOCK_BYTES) as file:
                layout, begin = _read_header(file)
                names = [key for key in layout if key != START] if keys is None else keys
                if rows is not None:
                    return {key: _read_rows(file, begin, layout[key], rows) for key in names}
                start = stop = None
                if part is not None:
                    start, stop = _read_slice(file, begin, layout[START], part, part + 2).tolist()
                return {key: _read_slice(file, begin, layout[key], start, stop) for key in names}
        except (EOFError, FileNotFoundError) as error:
            why = "missing" if isinstance(error, FileNotFoundError) else f"damaged ({error})"
            msg = (
                f"{self.path(name)} is {why}; remove the folder that it is in, and continue with "
                "resume=True"
            )
            raise InputError(msg) from error

    def remove(self, names: Sequence[str] | None = None) -> None:
        """Remove some files, or the folder and all that is in it, as far as they exist."""
        for name in [""] if names is None else names:
            system, path = url_to_fs(self.path(name).rstrip("/"))
            if system.exists(path):
                system.rm(path, recursive=True)


@contextmanager
def recorded_writes() -> Iterator[Checksums]:
    """Yield the checksums of the files that this thread writes in the block, by their URLs.

    A file is read again when it is complete, which takes about 0.4 s of CPU time for each gigabyte.

    Examples
    --------
    >>> with tempfile.TemporaryDirectory() as path, recorded_writes() as files:
    ...     Folder(path).write_bytes("a", b"abc")
    ...     files == {f"{path}/a": Folder(path).checksum("a")}
    True
    """
    outer: Checksums | None = getattr(_recording, "files", None)
    files: Checksums = {}
    _recording.files = files
    try:
        yield files
    finally:
        _recording.files = outer


@contextmanager
def _full_disk_named(path: str) -> Iterator[None]:
    """Raise an error that names the file if there is no space for it."""
    try:
        yield
    except OSError as error:
        if error.errno not in NO_SPACE_ERRORS:
            raise
        msg = (
            f"{path} cannot be written: {os.strerror(error.errno)}; free some space, and "
            "continue with resume=True"
        )
        raise InputError(msg) from error


def _checksum(file: IO[bytes]) -> list[int]:
    size = checksum = 0
    while block := file.read(CHECKED_BYTES):
        size, checksum = size + len(block), zlib.crc32(block, checksum)
    return [size, checksum]


def _json_checksum(content: Any) -> int:
    return zlib.crc32(json.dumps(content).encode())


def url_to_fs(place: str | PathLike[str]) -> tuple[fsspec.AbstractFileSystem, str]:
    """Return the file system of a path or URL, and the path in it.

    Listings are not cached, since other processes write files as well.

    Raises
    ------
    InputError
        If the path is empty, or its file system is not known.
    """
    if place == "":
        msg = "'' is not a path; pass '.' for the current folder"
        raise InputError(msg)
    try:
        system, path = fsspec.core.url_to_fs(os.fspath(place), use_listings_cache=False)
    except (ValueError, ImportError) as error:
        msg = f"{place}: {one_line(error)}"
        raise InputError(msg) from error
    return system, path


def _raw_bytes(array: AnyArray) -> Any:
    """Return the bytes of an array without copying them."""
    return array.reshape(-1).view(np.uint8).data if array.size else b""


def _read_header(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """Return the layout of the arrays of an open pack, and the place where the first begins."""
    opening = file.read(len(MAGIC) + 16)
    if opening[: len(MAGIC)] != MAGIC:
        msg = "not a file of graphmargin"
        raise EOFError(msg)
    length, checksum = np.frombuffer(opening[len(MAGIC) :].ljust(16), "<u8").tolist()
    header = file.read(length) if length < MAX_HEADER_BYTES else b""
    if len(header) != length or zlib.crc32(header) != checksum:
        msg = "its header cannot be read"
        raise EOFError(msg)
    return json.loads(header), len(opening) + length


def _read_slice(
    file: IO[bytes], begin: int, layout: dict[str, Any], start: int | None, stop: int | None
) -> AnyArray:
    """Return the rows ``start:stop`` of an array from an open pack."""
    dtype, shape = np.dtype(layout["dtype"]), list(layout["shape"])
    first = 0
    if start is not None and stop is not None:
        if not 0 <= start <= stop <= shape[0]:
            msg = f"it has no rows {start} to {stop}"
            raise EOFError(msg)
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
    """Return some rows of an array; rows that are close to each other are read at once."""
    dtype, shape = np.dtype(layout["dtype"]), list(layout["shape"])
    if not len(rows):
        return np.empty([0, *shape[1:]], dtype)
    row_bytes = max(dtype.itemsize * int(np.prod(shape[1:])), 1)
    gaps = np.flatnonzero(np.diff(rows) * row_bytes > BLOCK_BYTES) + 1
    return np.concatenate(
        [
            _read_slice(file, begin, layout, int(near[0]), int(near[-1]) + 1)[near - near[0]]
            for near in np.split(rows, gaps)
        ]
    )
