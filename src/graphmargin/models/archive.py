"""The container of a model: a zip archive of bounded size.

Its entries are a description and a tree of records, both JSON, and arrays of plain numbers or text
in NumPy's format. The description has a digest of them all.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy

from graphmargin._typing import AnyArray
from graphmargin.models.model_errors import ModelFileError

DESCRIPTION, TREE, ARRAY = "graphmargin.json", "model.json", "arrays/{}.npy"
MAX_RATIO = 200
"""Size of what is in an archive, at most, in units of the archive; one-hot tables reach 50."""
ALWAYS_ALLOWED_BYTES = 2**24
"""Number of bytes that are no danger, whatever their archive measures."""
COMPRESSION_LEVEL = 1
"""Level of compression; higher ones take several times as long and save little."""


def write_archive(tree: Any, arrays: Sequence[AnyArray], description: Mapping[str, Any]) -> bytes:
    """Return the archive of a tree and its arrays, with a description and the digest of all.

    Examples
    --------
    >>> content = write_archive({"x": 0}, [np.ones(2)], {"kind": "test"})
    >>> read_description(content)["kind"], read_archive(content)
    ('test', ({'x': 0}, [array([1., 1.])]))
    """
    entries = {TREE: json.dumps(tree, allow_nan=False).encode()}
    for i, array in enumerate(arrays):
        stream = io.BytesIO()
        npy.write_array(stream, array, allow_pickle=False)
        entries[ARRAY.format(i)] = stream.getvalue()
    return pack(entries, description)


def pack(entries: Mapping[str, bytes], description: Mapping[str, Any]) -> bytes:
    """Return the archive of some entries, with a description and the digest of all.

    It is compressed, unless it would be so small that a reader takes it for a bomb.
    """
    described = {**description, "digest": _digest(entries, description)}
    written = json.dumps(described, indent=2, allow_nan=False).encode()
    entries = {**entries, DESCRIPTION: written}
    compressed = _zipped(entries, ZIP_DEFLATED)
    is_plausible = sum(map(len, entries.values())) <= _limit(len(compressed))
    return compressed if is_plausible else _zipped(entries, ZIP_STORED)


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


def read_archive(content: bytes) -> tuple[Any, list[AnyArray]]:
    """Return the tree in an archive, as JSON values, and its arrays, if nothing was changed."""
    described = read_description(content)
    digest = described.pop("digest", None)
    with ZipFile(io.BytesIO(content)) as archive:
        entries = {TREE: _entry(archive, TREE)}
        for name in set(archive.namelist()) - {DESCRIPTION, TREE}:
            entries[name] = archive.read(name)
    if digest != _digest(entries, described):
        msg = "was damaged or edited after it was saved (digest differs); save the model again"
        raise ModelFileError(msg)
    tree = json.loads(entries.pop(TREE))
    return tree, [_array(entries[ARRAY.format(i)]) for i in range(len(entries))]


def _zipped(entries: Mapping[str, bytes], compression: int) -> bytes:
    stream = io.BytesIO()
    with ZipFile(stream, "w", compression, compresslevel=COMPRESSION_LEVEL) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _entry(archive: ZipFile, name: str) -> bytes:
    if name not in archive.namelist():
        msg = f"is no model file of graphmargin: it holds no {name}"
        raise ModelFileError(msg)
    return archive.read(name)


def _digest(entries: Mapping[str, bytes], description: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the description and of the names and contents of all other entries."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(entries):
        digest.update(f"\n{name}\n".encode())
        digest.update(hashlib.sha256(entries[name]).digest())
    return digest.hexdigest()


def _check_sizes(archive: ZipFile, size: int) -> None:
    """Refuse an archive that would unpack to far more than its size, or is ambiguous."""
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    msg = ""
    if len({entry.filename for entry in entries}) < len(entries):
        msg = "is no model file: it has two entries of the same name"
    elif any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries):
        msg = "is no model file: it is compressed in a way that save_model does not use"
    elif unpacked > _limit(size):
        msg = f"is no model file: its {size:,} bytes would unpack to {unpacked:,}"
    if msg:
        raise ModelFileError(msg)


def _limit(size: int) -> int:
    """Return the number of bytes that an archive may unpack to."""
    return max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * size)


def _array(content: bytes) -> AnyArray:
    """Return an array of plain numbers or text, of the size that it claims.

    NumPy reserves memory for the claim before it looks at the data.
    """
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    stream = io.BytesIO(content)
    shape, _, dtype = headers[npy.read_magic(stream)](stream)
    is_plain = dtype.kind in "biufUS" and dtype.isnative and dtype.itemsize
    if not is_plain or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        msg = "is no model file: it has an entry that is no array of the size that it claims"
        raise ModelFileError(msg)
    stream.seek(0)
    return np.asarray(npy.read_array(stream, allow_pickle=False))
