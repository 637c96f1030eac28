"""The container of a model: a zip archive of bounded size, with a description and a digest."""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

from numpy.lib import format as npy

from graphmargin.models.errors import ModelFileError

DESCRIPTION = "graphmargin.json"
OBJECTS = "schema.json"
"""Where skops keeps the tree of objects; arrays are entries of their own."""
MAX_ENTRIES = 100_000
MAX_RATIO = 200
"""Size of what is in an archive, at most, in units of the archive; one-hot tables reach 50."""
SMALL = 2**24
"""Number of bytes that are no danger, whatever their archive measures."""
FAST = 1
"""Level of compression: higher ones take several times as long and save little."""


def pack(dump: bytes, description: Mapping[str, Any]) -> bytes:
    """Return the archive of skops with a description and the digest of both.

    It is compressed, unless it would be so small that a reader takes it for a bomb.

    Examples
    --------
    >>> stream = io.BytesIO()
    >>> with ZipFile(stream, "w") as archive:
    ...     archive.writestr(OBJECTS, "{}")
    >>> content = pack(stream.getvalue(), {"kind": "test"})
    >>> read_description(content)["kind"], read_objects(content)
    ('test', {})
    """
    compressed = _write(dump, description, ZIP_DEFLATED)
    with ZipFile(io.BytesIO(compressed)) as archive:
        is_plausible = _unpacked_size(archive) <= _limit(len(compressed))
    return compressed if is_plausible else _write(dump, description, ZIP_STORED)


def _write(dump: bytes, description: Mapping[str, Any], compression: int) -> bytes:
    stream = io.BytesIO()
    with (
        ZipFile(io.BytesIO(dump)) as source,
        ZipFile(stream, "w", compression, compresslevel=FAST) as archive,
    ):
        for name in source.namelist():
            archive.writestr(name, source.read(name))
        described = {**description, "digest": _digest(source, description)}
        archive.writestr(DESCRIPTION, json.dumps(described, indent=2, allow_nan=False))
    return stream.getvalue()


def read_description(content: bytes) -> dict[str, Any]:
    """Return the description in an archive of sane size, whatever else it holds.

    Nothing more is asked of the archive: one of a newer schema may be made in another way.
    """
    with ZipFile(io.BytesIO(content)) as archive:
        _check_sizes(archive, len(content))
        description = json.loads(_entry(archive, DESCRIPTION))
    if not isinstance(description, dict):
        msg = f"is no model file of graphmargin: its {DESCRIPTION} is no mapping"
        raise ModelFileError(msg)
    return description


def read_objects(content: bytes) -> Any:
    """Return the tree of objects in an archive, as JSON, if nothing has changed since `pack`.

    All other entries must be arrays of the sizes that they claim.
    """
    described = read_description(content)
    digest = described.pop("digest", None)
    with ZipFile(io.BytesIO(content)) as archive:
        _check_arrays(archive, len(content))
        objects = _entry(archive, OBJECTS)
        if digest != _digest(archive, described):
            msg = "was damaged or edited after it was saved (digest differs); save the model again"
            raise ModelFileError(msg)
    return json.loads(objects)


def _entry(archive: ZipFile, name: str) -> bytes:
    if name not in archive.namelist():
        msg = f"is no model file of graphmargin: it holds no {name}"
        raise ModelFileError(msg)
    return archive.read(name)


def _digest(archive: ZipFile, description: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the description and of the names and contents of all other entries."""
    found = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(set(archive.namelist()) - {DESCRIPTION}):
        found.update(f"\n{name}\n".encode())
        found.update(hashlib.sha256(archive.read(name)).digest())
    return found.hexdigest()


def _check_arrays(archive: ZipFile, size: int) -> None:
    """Refuse an archive with entries that are neither ours nor arrays."""
    unpacked = _unpacked_size(archive)
    for name in set(archive.namelist()) - {DESCRIPTION, OBJECTS}:
        entry = archive.read(name)
        if name.endswith(".npz"):  # a sparse matrix is an archive of arrays
            with ZipFile(io.BytesIO(entry)) as matrix:
                unpacked = _check_sizes(matrix, size, unpacked)
                for part in matrix.namelist():
                    _check_array(name, matrix.read(part))
        else:
            _check_array(name, entry)


def _check_sizes(archive: ZipFile, size: int, others: int = 0) -> int:
    """Return the bytes that an archive and others unpack to, if they are bounded by a file's size.

    What is ambiguous is refused as well.
    """
    entries = archive.infolist()
    if len(entries) > MAX_ENTRIES or len({entry.filename for entry in entries}) < len(entries):
        msg = f"is no model file: it has {len(entries)} entries, too many or of the same name"
        raise ModelFileError(msg)
    if any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries):
        msg = "is no model file: it is compressed in a way that save_model does not use"
        raise ModelFileError(msg)
    unpacked = others + _unpacked_size(archive)
    if unpacked > _limit(size):
        msg = f"is no model file: its {size:,} bytes would unpack to {unpacked:,}"
        raise ModelFileError(msg)
    return unpacked


def _unpacked_size(archive: ZipFile) -> int:
    return sum(entry.file_size for entry in archive.infolist())


def _limit(size: int) -> int:
    """Return the number of bytes that an archive may unpack to."""
    return max(SMALL, MAX_RATIO * size)


def _check_array(name: str, content: bytes) -> None:
    """Refuse what is no array of plain numbers or text, of the size that it claims.

    NumPy reserves memory for the claim before it looks at the data.
    """
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    stream = io.BytesIO(content)
    shape, _, dtype = headers[npy.read_magic(stream)](stream)
    claimed = math.prod(shape) * dtype.itemsize
    if dtype.hasobject or not dtype.itemsize or claimed != len(content) - stream.tell():
        msg = f"is no model file: its entry {name!r} is no array of the size that it claims"
        raise ModelFileError(msg)
