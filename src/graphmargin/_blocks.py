"""Rows in blocks, so that intermediate arrays stay small."""

from __future__ import annotations

from collections.abc import Iterator

BLOCK_BYTES = 2**25


def row_slices(n: int, row_bytes: int) -> Iterator[slice]:
    """Yield slices that cover n rows, each with about 32 MB of `row_bytes` a row."""
    size = max(1, BLOCK_BYTES // max(1, row_bytes))
    for start in range(0, n, size):
        yield slice(start, min(start + size, n))


def ranges(n: int, size: int) -> list[tuple[int, int]]:
    """Return (first, last) of the ranges of at most `size` numbers that cover 0..n-1.

    Examples
    --------
    >>> ranges(5, 2)
    [(0, 2), (2, 4), (4, 5)]
    """
    return [(first, min(first + size, n)) for first in range(0, n, size)]
