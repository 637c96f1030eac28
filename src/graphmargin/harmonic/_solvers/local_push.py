"""Expected visits of walks from single vertices, by pushes that stay near the start."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges
from graphmargin._compilation import kernel
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic._solvers.elimination import csr_arrays

STARTS_AT_ONCE = 16


def push_visits(
    W: sparse.csr_array,
    absorption: FloatArray,
    starts: IntArray,
    rows: IntArray,
    *,
    tol: float,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return rows of ``G = (diag(s) - W)^-1``, ``s = W 1 + absorption``, for some starts.

    Solves ``(diag(s) - W) x = e_k`` for each start k by pushing: a vertex i whose residual exceeds
    ``tol s_i / s_k`` keeps its share ``r_i / s_i`` and passes the rest on to its neighbors. All
    numbers are positive, and x approaches G from below. The error at i is at most
    ``tol T_i / s_k``, T_i the expected number of steps of the walk from i.

    If a share q of the walks ends in every step, a start takes at most ``1 / (q tol)`` pushes
    (for equal s), however large the graph is.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric and non-negative, without a diagonal.
    absorption : array of shape (n,)
        Rates of absorption, positive.
    starts, rows : arrays of vertices
    tol : float > 0
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> pair = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> visits = push_visits(pair, np.ones(2), np.array([0]), np.array([0, 1]), tol=1e-9)
    >>> visits.round(6).tolist()
    [[0.666667, 0.333333]]
    """
    s = np.asarray(W.sum(axis=1)) + absorption
    matrix = csr_arrays(W)
    parts = map_in_threads(
        lambda part: _push(*matrix, s, starts[part[0] : part[1]], rows, tol),
        chunk_ranges(len(starts), STARTS_AT_ONCE),
        n_jobs=n_jobs,
    )
    return np.concatenate([np.empty((0, len(rows))), *parts])


@kernel()
def _push(indptr, indices, data, s, starts, rows, tol):  # type: ignore[no-untyped-def]
    n = len(s)
    visits = np.empty((len(starts), len(rows)))
    x, residual = np.zeros(n), np.zeros(n)
    waiting = np.zeros(n, np.bool_)
    queue = np.empty(n, np.int64)  # a ring buffer, in which each vertex waits at most once
    for line in range(len(starts)):
        x[:] = 0.0
        residual[:] = 0.0
        start = starts[line]
        residual[start] = 1.0
        queue[0], first, length = start, 0, 1
        while length:
            v = queue[first]
            first = (first + 1) % n
            length -= 1
            waiting[v] = False
            share = residual[v] / s[v]
            residual[v] = 0.0
            x[v] += share
            for p in range(indptr[v], indptr[v + 1]):
                u = indices[p]
                residual[u] += data[p] * share
                if not waiting[u] and residual[u] > tol * s[u] / s[start]:
                    waiting[u] = True
                    queue[(first + length) % n] = u
                    length += 1
        for i in range(len(rows)):
            visits[line, i] = x[rows[i]]
    return visits
