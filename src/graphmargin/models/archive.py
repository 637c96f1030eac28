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
from typing import Any, NoReturn
from zipfile import ZIP_DEFLATED, ZIP_STORED, ZipFile

import numpy as np
from numpy.lib import format as npy

from graphmargin._archives import is_size_plausible, unpacked_size
from graphmargin._typing import AnyArray
from graphmargin.models.model_errors import ModelFileError

DESCRIPTION, TREE, ARRAY = "graphmargin.json", "model.json", "arrays/{}.npy"
MAX_RATIO = 200
"""Largest ratio of the unpacked size to the size of an archive; one-hot tables reach 50."""
MAX_JSON_BYTES = {DESCRIPTION: 2**20, TREE: 2**26}
"""Largest sizes of the JSON entries: the values in them take many times their size in memory."""
MAX_JSON_CONTAINERS = 2**20
"""Largest number of brackets in a JSON entry; an empty list takes 30 times its size in memory."""
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
    entries = {TREE: _json_entry(TREE, json.dumps(tree, allow_nan=False))}
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
    written = _json_entry(DESCRIPTION, json.dumps(description, indent=2, allow_nan=False))
    entries = {**entries, DESCRIPTION: written}
    compressed = _zip_entries(entries, ZIP_DEFLATED)
    unpacked = sum(map(len, entries.values()))
    is_plausible = is_size_plausible(unpacked, len(compressed), MAX_RATIO)
    return compressed if is_plausible else _zip_entries(entries, ZIP_STORED)


def read_description(content: bytes) -> dict[str, Any]:
    """Return the description in an archive of valid size.

    Nothing else is checked, because an archive of a newer schema may have other entries.
    """
    with ZipFile(io.BytesIO(content)) as archive:
        _check_sizes(archive, len(content))
        description = parse_json(_read_json(archive, DESCRIPTION))
    if not isinstance(description, dict):
        msg = f"is not a model file: its {DESCRIPTION} is not a mapping"
        raise ModelFileError(msg)
    return description


def read_archive(content: bytes) -> tuple[Any, list[AnyArray]]:
    """Return the tree in an archive, as JSON values, and its arrays; the digest is checked."""
    description = read_description(content)
    digest = description.pop("digest", None)
    with ZipFile(io.BytesIO(content)) as archive:
        entries = {TREE: _read_json(archive, TREE)}
        for name in set(archive.namelist()) - {DESCRIPTION, TREE}:
            entries[name] = archive.read(name)
    if digest != _digest(entries, description):
        msg = "was damaged or edited after it was saved (its digest differs); save the model again"
        raise ModelFileError(msg)
    tree = parse_json(entries.pop(TREE))
    return tree, [_read_array(entries[ARRAY.format(i)]) for i in range(len(entries))]


def _zip_entries(entries: Mapping[str, bytes], compression: int) -> bytes:
    stream = io.BytesIO()
    with ZipFile(stream, "w", compression, compresslevel=COMPRESSION_LEVEL) as archive:
        for name, content in entries.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _read_json(archive: ZipFile, name: str) -> bytes:
    """Return a JSON entry, whose size and number of values are valid."""
    if name not in archive.namelist():
        msg = f"is not a model file: it has no {name}"
        raise ModelFileError(msg)
    size = archive.getinfo(name).file_size
    if size > MAX_JSON_BYTES[name]:
        msg = f"is not a model file: its {name} has {size:,} bytes"
        raise ModelFileError(msg)
    content = archive.read(name)
    if _n_containers(content) > MAX_JSON_CONTAINERS:
        msg = f"is not a model file: its {name} has more than {MAX_JSON_CONTAINERS:,} brackets"
        raise ModelFileError(msg)
    return content


def _json_entry(name: str, text: str) -> bytes:
    """Return the content of a JSON entry, or raise `ModelFileError` if it could not be loaded."""
    content = text.encode()
    if len(content) > MAX_JSON_BYTES[name] or _n_containers(content) > MAX_JSON_CONTAINERS:
        msg = (
            f"the model has {len(content):,} bytes of text, more than a file may have in {name}; "
            "leave out columns of long texts, or pickle the classifier"
        )
        raise ModelFileError(msg)
    return content


def _n_containers(content: bytes) -> int:
    return content.count(b"[") + content.count(b"{")


def parse_json(content: bytes) -> Any:
    """Return JSON values; NaN and infinite numbers, which JSON does not have, raise ValueError.

    Examples
    --------
    >>> parse_json(b"[1, NaN]")
    Traceback (most recent call last):
    ValueError: NaN is not a finite number
    """
    return json.loads(content, parse_constant=_refuse_number, parse_float=_finite_number)


def _finite_number(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _refuse_number(text: str) -> NoReturn:
    msg = f"{text} is not a finite number"
    raise ValueError(msg)


def _digest(entries: Mapping[str, bytes], description: Mapping[str, Any]) -> str:
    """Return the SHA-256 of the description and of the names and contents of all other entries."""
    digest = hashlib.sha256(json.dumps(description, sort_keys=True).encode())
    for name in sorted(entries):
        digest.update(f"\n{name}\n".encode())
        digest.update(hashlib.sha256(entries[name]).digest())
    return digest.hexdigest()


def _check_sizes(archive: ZipFile, size: int) -> None:
    """Raise `ModelFileError` if an archive unpacks to far more than its size, or is ambiguous."""
    entries, unpacked = archive.infolist(), unpacked_size(archive)
    msg = ""
    if len({entry.filename for entry in entries}) < len(entries):
        msg = "is not a model file: it has two entries of the same name"
    elif any(entry.compress_type not in (ZIP_STORED, ZIP_DEFLATED) for entry in entries):
        msg = "is not a model file: save_model does not use its type of compression"
    elif not is_size_plausible(unpacked, size, MAX_RATIO):
        msg = f"is not a model file: its {size:,} bytes would unpack to {unpacked:,}"
    if msg:
        raise ModelFileError(msg)


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
