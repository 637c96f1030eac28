"""Zip archives of models, whose size is bounded.

The entries of an archive are a description and a tree of records, both JSON, and arrays of numbers
or text in NumPy's format. The description has a digest of all entries.
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
"""Largest ratio of the unpacked size to the size of an archive; one-hot tables reach 50."""
ALWAYS_ALLOWED_BYTES = 2**24
"""Unpacked size that is allowed for archives of any size."""
COMPRESSION_LEVEL = 1
"""Level of compression; higher ones take several times as long and save little."""


def write_archive(tree: Any, arrays: Sequence[AnyArray], description: Mapping[str, Any]) -> bytes:
    """Return the archive of a tree and its arrays, with a description and a digest.

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
    return pack_entries(entries, description)


def pack_entries(entries: Mapping[str, bytes], description: Mapping[str, Any]) -> bytes:
    """Return the archive of entries, with a description and a digest.

    It is compressed, unless the ratio of sizes would be so large that `read_description` raises.
    """
    description = {**description, "digest": _digest(entries, description)}
    written = json.dumps(description, indent=2, allow_nan=False).encode()
    entries = {**entries, DESCRIPTION: written}
    compressed = _zip_entries(entries, ZIP_DEFLATED)
    is_plausible = sum(map(len, entries.values())) <= _max_unpacked_bytes(len(compressed))
    return compressed if is_plausible else _zip_entries(entries, ZIP_STORED)


def read_description(content: bytes) -> dict[str, Any]:
    """Return the description in an archive of valid size.

    Nothing else is checked, because an archive of a newer schema may have other entries.
    """
    with ZipFile(io.BytesIO(content)) as archive:
        _check_sizes(archive, len(content))
        description = json.loads(_read_entry(archive, DESCRIPTION))
    if not isinstance(description, dict):
        msg = f"is not a model file: its {DESCRIPTION} is not a mapping"
        raise ModelFileError(msg)
    return description


def read_archive(content: bytes) -> tuple[Any, list[AnyArray]]:
    """Return the tree in an archive, as JSON values, and its arrays; the digest is checked."""
    description = read_description(content)
    digest = description.pop("digest", None)
    with ZipFile(io.BytesIO(content)) as archive:
        entries = {TREE: _read_entry(archive, TREE)}
        for name in set(archive.namelist()) - {DESCRIPTION, TREE}:
            entries[name] = archive.read(name)
    if digest != _digest(entries, description):
        msg = "was damaged or edited after it was saved (its digest differs); save the model again"
        raise ModelFileError(msg)
    tree = json.loads(entries.pop(TREE))
    return tree, [_read_array(entries[ARRAY.format(i)]) for i in range(len(entries))]


def _zip_entries(entries: Mapping[str, bytes], compression: int) -> bytes:
    stream = io.BytesIO()
    with ZipFile(stream, "w", compression, compresslevel=COMPRESSION_LEVEL) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _read_entry(archive: ZipFile, name: str) -> bytes:
    if name not in archive.namelist():
        msg = f"is not a model file: it has no {name}"
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
    """Raise `ModelFileError` if an archive unpacks to far more than its size, or is ambiguous."""
    entries = archive.infolist()
    unpacked = sum(entry.file_size for entry in entries)
    msg = ""
    if len({entry.filename for entry in entries}) < len(entries):
        msg = "is not a model file: it has two entries of the same name"
    elif any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries):
        msg = "is not a model file: save_model does not use its type of compression"
    elif unpacked > _max_unpacked_bytes(size):
        msg = f"is not a model file: its {size:,} bytes would unpack to {unpacked:,}"
    if msg:
        raise ModelFileError(msg)


def _max_unpacked_bytes(size: int) -> int:
    """Return the largest unpacked size of an archive."""
    return max(ALWAYS_ALLOWED_BYTES, MAX_RATIO * size)


def _read_array(content: bytes) -> AnyArray:
    """Return an array of numbers or text after a check of its size.

    NumPy allocates memory for the size in the header before it reads the data.
    """
    headers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    stream = io.BytesIO(content)
    shape, _, dtype = headers[npy.read_magic(stream)](stream)
    is_plain = dtype.kind in "biufUS" and dtype.isnative and dtype.itemsize
    if not is_plain or math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        msg = "is not a model file: an array does not have the size in its header"
        raise ModelFileError(msg)
    stream.seek(0)
    return np.asarray(npy.read_array(stream, allow_pickle=False))
