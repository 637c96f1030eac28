"""Blocks of rows, which keep intermediate arrays small."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_BYTES = 2**25


def row_slices(n: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices that cover n rows of `row_bytes` bytes, each of about 32 MB."""
    size = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def chunk_ranges(n: int, size: int) -> list[tuple[int, int]]:
    """Return (start, stop) of the ranges of at most `size` numbers that cover 0..n-1.

    Examples
    --------
    >>> chunk_ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + size, n)) for first in range(0, n, size)]
