"""Ranking of candidates by their distance in double precision."""

from __future__ import annotations

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._typing import FloatArray, IntArray


def rank_candidates(
    X: FloatArray,
    queries: FloatArray,
    rows: IntArray,
    candidates: IntArray,
    order: IntArray,
    *,
    n_neighbors: int,
    is_self_query: bool,
    unit: float,
) -> tuple[IntArray, FloatArray]:
    """Return the nearest candidates of some queries and their squared distances, nearest first.

    Equal distances are ranked by index. A row with too few candidates ends with infinity.

    Parameters
    ----------
    X : array of shape (n, d)
    queries : array of shape (m, d)
    rows : array of shape (r,)
        The queries whose candidates are ranked.
    candidates : array of shape (r, n_candidates)
        Positions in `order`, -1 for none.
    order : array of shape (n,)
        Row of X at each position.
    n_neighbors : int
    is_self_query : bool
        True if the queries are the rows of X; no row is its own neighbor.
    unit : float
        Unit of the distances, with which their squares are finite.
    """
    indices = np.empty((len(rows), n_neighbors), dtype=np.int64)
    squared = np.full(indices.shape, np.inf)
    _rank(X, queries, rows, candidates, order, is_self_query, 1 / unit, indices, squared)
    return indices, squared


@kernel()
def _rank(  # type: ignore[no-untyped-def]
    X, queries, rows, candidates, order, is_self_query, scale, indices, squared
):
    """Write the nearest candidates of some query rows.

    Four distances are summed at a time, because one sum waits for the addition before. Each is
    summed feature by feature, so that the result does not depend on the other three.
    """
    m, n_candidates = candidates.shape
    k = indices.shape[1]
    for i in range(m):
        n_kept = 0
        row = rows[i]
        for first in range(0, n_candidates, 4):
            j0 = j1 = j2 = j3 = 0  # read, but not used, where there is no candidate
            if candidates[i, first] >= 0:
                j0 = order[candidates[i, first]]
            if first + 1 < n_candidates and candidates[i, first + 1] >= 0:
                j1 = order[candidates[i, first + 1]]
            if first + 2 < n_candidates and candidates[i, first + 2] >= 0:
                j2 = order[candidates[i, first + 2]]
            if first + 3 < n_candidates and candidates[i, first + 3] >= 0:
                j3 = order[candidates[i, first + 3]]
            sum0 = sum1 = sum2 = sum3 = 0.0
            for f in range(X.shape[1]):
                x = np.float64(queries[row, f])
                gap0 = (np.float64(X[j0, f]) - x) * scale
                gap1 = (np.float64(X[j1, f]) - x) * scale
                gap2 = (np.float64(X[j2, f]) - x) * scale
                gap3 = (np.float64(X[j3, f]) - x) * scale
                sum0 += gap0 * gap0
                sum1 += gap1 * gap1
                sum2 += gap2 * gap2
                sum3 += gap3 * gap3
            for s in range(min(4, n_candidates - first)):
                if candidates[i, first + s] < 0:
                    continue
                j = order[candidates[i, first + s]]
                if is_self_query and j == row:
                    continue
                total = sum0 if s == 0 else sum1 if s == 1 else sum2 if s == 2 else sum3
                p = n_kept if n_kept < k else k
                while p > 0 and (
                    total < squared[i, p - 1]
                    or (total == squared[i, p - 1] and j < indices[i, p - 1])
                ):
                    if p < k:
                        squared[i, p] = squared[i, p - 1]
                        indices[i, p] = indices[i, p - 1]
                    p -= 1
                if p < k:
                    squared[i, p] = total
                    indices[i, p] = j
                    n_kept = min(n_kept + 1, k)
