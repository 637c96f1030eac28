"""Improvement of approximate neighbor lists: a neighbor's neighbor is often a neighbor.

A pass compares every point with the points that have it in their lists, and with the lists of both
kinds of neighbors. It reads the lists of the pass before, so that the result depends neither on the
order of the points nor on threads. Points are stored cell by cell, so that most of those that a
point is compared with are in a cache.
"""

from __future__ import annotations

import numpy as np

from graphmargin._blocks import chunk_ranges
from graphmargin._compilation import kernel
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray

MAX_REVERSE = 16
"""Largest number of points that count as having a point in their lists, nearest ones first."""
MAX_PIECES = 64
MIN_PIECE = 4096


def refine_neighbors(points: FloatArray, nearest: IntArray, n_jobs: int | None) -> IntArray:
    """Return better neighbor lists after one pass, nearest first.

    Parameters
    ----------
    points : float32 array of shape (n, d)
    nearest : int32 array of shape (n, n_listed)
        Neighbors so far, nearest first, without the point itself; missing ones are -1. Their
        distances are computed again, from differences, which have the smaller rounding errors.
    n_jobs : int or None
        Number of threads, on which the result does not depend.
    """
    n, n_listed = nearest.shape
    reverse = np.empty((n, MAX_REVERSE), dtype=np.int32)
    n_reverse = np.zeros(n, dtype=np.int32)
    _list_reverse(nearest, reverse, n_reverse)
    refined = np.full_like(nearest, -1)

    def refine(rows: tuple[int, int]) -> None:
        # The kernel gets its memory from here, because allocations take long to compile.
        last_seen_by = np.zeros(n, dtype=np.int32)  # only pages that are used are filled
        candidates = np.empty((n_listed + MAX_REVERSE + 1) * (n_listed + 1) + 3, dtype=np.int64)
        squared = np.empty(n_listed, dtype=np.float32)
        _refine_rows(
            points,
            np.int64(rows[0]),
            np.int64(rows[1]),
            nearest,
            reverse,
            n_reverse,
            last_seen_by,
            candidates,
            squared,
            refined,
        )

    pieces = chunk_ranges(n, max(MIN_PIECE, -(-n // MAX_PIECES)))
    map_in_threads(refine, pieces, n_jobs=n_jobs)
    return refined


@kernel()
def _list_reverse(nearest, reverse, n_reverse):  # type: ignore[no-untyped-def]
    """Write for every point those that have it in their lists, by their ranks in these lists."""
    n, n_listed = nearest.shape
    for rank in range(n_listed):
        for i in range(n):
            j = nearest[i, rank]
            if j >= 0 and n_reverse[j] < reverse.shape[1]:
                reverse[j, n_reverse[j]] = i
                n_reverse[j] += 1


@kernel(fastmath=True)
def _refine_rows(  # type: ignore[no-untyped-def]
    points,
    first,
    last,
    nearest,
    reverse,
    n_reverse,
    last_seen_by,
    candidates,
    squared,
    refined,
):
    """Write the lists of the points first..last-1."""
    d = points.shape[1]
    n_listed = nearest.shape[1]
    for i in range(first, last):
        last_seen_by[i] = i + 1
        n_candidates = 0
        for rank in range(n_listed):
            squared[rank] = np.inf
            j = nearest[i, rank]
            if j >= 0:
                last_seen_by[j] = i + 1
                candidates[n_candidates] = j
                n_candidates += 1
        for r in range(n_reverse[i]):
            j = reverse[i, r]
            if last_seen_by[j] != i + 1:
                last_seen_by[j] = i + 1
                candidates[n_candidates] = j
                n_candidates += 1
        for r in range(n_listed + n_reverse[i]):
            via = nearest[i, r] if r < n_listed else reverse[i, r - n_listed]
            if via < 0:
                continue
            for rank in range(n_listed):
                j = nearest[via, rank]
                if j >= 0 and last_seen_by[j] != i + 1:
                    last_seen_by[j] = i + 1
                    candidates[n_candidates] = j
                    n_candidates += 1
        for c in range(n_candidates, n_candidates + 3):
            candidates[c] = i  # so that the last four are complete
        for c in range(0, n_candidates, 4):
            j0, j1, j2, j3 = candidates[c], candidates[c + 1], candidates[c + 2], candidates[c + 3]
            sum0 = sum1 = sum2 = sum3 = np.float32(0)
            for f in range(d):
                x = points[i, f]
                sum0 += (points[j0, f] - x) ** 2
                sum1 += (points[j1, f] - x) ** 2
                sum2 += (points[j2, f] - x) ** 2
                sum3 += (points[j3, f] - x) ** 2
            for s in range(min(4, n_candidates - c)):
                total = sum0 if s == 0 else sum1 if s == 1 else sum2 if s == 2 else sum3
                if total < squared[n_listed - 1]:
                    p = n_listed - 1
                    while p > 0 and squared[p - 1] > total:
                        squared[p] = squared[p - 1]
                        refined[i, p] = refined[i, p - 1]
                        p -= 1
                    squared[p] = total
                    refined[i, p] = candidates[c + s]
