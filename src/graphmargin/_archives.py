"""The unpacked size of a zip archive, which is checked before anything is unpacked."""

from __future__ import annotations

from zipfile import ZipFile

ALWAYS_ALLOWED_BYTES = 2**24
"""Unpacked size that is allowed for archives of any size."""


def is_size_plausible(unpacked: int, size: int, max_ratio: int) -> bool:
    """Return whether an archive of some size may unpack to as many bytes.

    Examples
    --------
    >>> is_size_plausible(10**7, size=100, max_ratio=200), is_size_plausible(10**9, 10**6, 200)
    (True, False)
    """
    return unpacked <= max(ALWAYS_ALLOWED_BYTES, max_ratio * size)


def unpacked_size(archive: ZipFile) -> int:
    """Return the size of all entries; zipfile never unpacks more than an entry announces."""
    return sum(entry.file_size for entry in archive.infolist())
