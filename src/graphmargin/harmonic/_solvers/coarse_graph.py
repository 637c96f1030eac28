"""A preconditioner by a coarse graph, for iterations over long distances.

Plain conjugate gradients propagate information by one edge in each iteration, and a cluster that
is connected to the rest by few edges takes hundreds of them. Vertices connected by heavy edges have
similar class masses, so the system is also solved, exactly, for *aggregates* of such vertices, with
one number for each aggregate. The correction by this coarse solution is added to the residual as a
preconditioner. The coarse matrix is again that of a harmonic system: edges between two aggregates
and their rates of absorption add up.

Aggregates are made by matching every vertex with the unmatched neighbor of the heaviest edge,
repeatedly on the contracted graph.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg, sparse
from scipy.sparse import csgraph

from graphmargin._blocks import chunk_ranges
from graphmargin._compilation import kernel
from graphmargin._threads import ThreadPool
from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic._solvers.elimination import csr_arrays
from graphmargin.harmonic._solvers.iterative import DirectionUpdate, safe_divide

VERTICES_PER_AGGREGATE = 100
MAX_AGGREGATES = 3_000
N_BLOCKS = 16


class Aggregates:
    """Groups of vertices that heavy edges connect; the vertices are sorted by group.

    Attributes
    ----------
    rows : array of shape (n,)
        The vertices in their new order, which also keeps neighbors together in memory.
    W : csr_array of shape (n, n)
        The graph in that order.
    """

    def __init__(self, W: sparse.csr_array, limit: int = MAX_AGGREGATES) -> None:
        target = min(limit, W.shape[0] // VERTICES_PER_AGGREGATE)
        group, coarse = _contract(W, target)
        if coarse.shape[0] > 1.5 * target:
            group, coarse = _merge_groups(group, coarse, target)
        order = csgraph.reverse_cuthill_mckee(coarse, symmetric_mode=True)
        position = np.empty(len(order), dtype=np.int64)
        position[order] = np.arange(len(order))
        self.rows: IntArray = np.argsort(position[group], kind="stable")
        self.W = sparse.csr_array(W[self.rows][:, self.rows])
        self._start = np.searchsorted(position[group][self.rows], np.arange(len(order) + 1))
        self._coarse = sparse.csr_array(coarse[order][:, order])

    def preconditioner(self, s: FloatArray, absorption: FloatArray) -> DirectionUpdate:
        """Return the update of directions for ``I - s^-1/2 W s^-1/2``, rows in the new order."""
        start = self._start
        rates = np.add.reduceat(absorption, start[:-1])
        matrix = (-self._coarse).toarray(order="F")
        # The factor keeps it regular despite rounding.
        matrix[np.diag_indices_from(matrix)] += (self._coarse.sum(axis=1) + rates) * (1 + 1e-12)
        # One product in each iteration is faster than two triangular solutions.
        inverse = linalg.inv(matrix, overwrite_a=True, check_finite=False)
        root = np.sqrt(s)
        size = -(-len(rates) // N_BLOCKS)
        blocks = chunk_ranges(len(rates), size)

        def update(
            P: FloatArray,
            R: FloatArray,
            squares: FloatArray,
            rho_before: FloatArray,
            pool: ThreadPool,
        ) -> FloatArray:
            sums = np.empty((len(rates), R.shape[1]))
            pool.run(lambda groups: _add_up(R, root, start, sums, *groups), blocks)
            coarse = inverse @ sums
            rho = squares + np.einsum("ac,ac->c", sums, coarse)
            keep = safe_divide(rho, rho_before)
            pool.run(lambda groups: _update(P, R, root, start, coarse, keep, *groups), blocks)
            return np.asarray(rho)

        return update


def _contract(W: sparse.csr_array, target: int) -> tuple[IntArray, sparse.csr_array]:
    """Return the group of every vertex, and the graph between about `target` groups."""
    group = np.arange(W.shape[0])
    while W.shape[0] > 1.5 * target:
        root = np.sqrt(W.sum(axis=1))
        root[root == 0] = 1.0
        pattern = csr_arrays(W)
        mate, n_pairs = _match(*pattern, 1 / root)
        if n_pairs > 0.9 * W.shape[0]:
            break  # single vertices and stars, which matching does not merge
        W = sparse.csr_array(_merge(*pattern, mate, n_pairs), shape=(n_pairs, n_pairs))
        group = mate[group]
    return group, W


def _merge_groups(
    group: IntArray, W: sparse.csr_array, target: int
) -> tuple[IntArray, sparse.csr_array]:
    """Return larger groups, of those that matching cannot merge (single vertices, stars).

    Groups need not be connected to give a valid correction, and the dense matrix must stay small.
    """
    n = W.shape[0]
    larger = np.arange(n) * target // n
    members = sparse.csr_array((np.ones(n), (larger, np.arange(n))), shape=(target, n))
    W = sparse.csr_array(members @ W @ members.T)
    W.setdiag(0.0)
    W.eliminate_zeros()
    return larger[group], W


@kernel()
def _match(indptr, indices, data, scale):  # type: ignore[no-untyped-def]
    """Match every vertex with the free neighbor of the heaviest edge, relative to the degrees."""
    n = len(indptr) - 1
    pair = np.full(n, -1, np.int64)
    n_pairs = 0
    for v in range(n):
        if pair[v] >= 0:
            continue
        heaviest = 0.0
        mate = -1
        for p in range(indptr[v], indptr[v + 1]):
            u = indices[p]
            weight = data[p] * scale[u]
            if u != v and pair[u] < 0 and weight > heaviest:
                heaviest = weight
                mate = u
        pair[v] = n_pairs
        if mate >= 0:
            pair[mate] = n_pairs
        n_pairs += 1
    return pair, n_pairs


@kernel()
def _merge(indptr, indices, data, pair, n_pairs):  # type: ignore[no-untyped-def]
    """Return data, indices and indptr of the graph between pairs, without edges within a pair."""
    n = len(pair)
    members = np.full((n_pairs, 2), -1, np.int64)
    for v in range(n):
        members[pair[v], 0 if members[pair[v], 0] < 0 else 1] = v
    new_data = np.empty(len(data))
    new_indices = np.empty(len(data), np.int32)
    new_indptr = np.zeros(n_pairs + 1, np.int64)
    position = np.full(n_pairs, -1, np.int64)  # of the edge to a pair, in the current row
    used = 0
    for a in range(n_pairs):
        begin = used
        for v in members[a]:
            if v < 0:
                continue
            for p in range(indptr[v], indptr[v + 1]):
                b = pair[indices[p]]
                if b == a:
                    continue
                if position[b] < begin:
                    position[b] = used
                    new_indices[used] = b
                    new_data[used] = 0.0
                    used += 1
                new_data[position[b]] += data[p]
        new_indptr[a + 1] = used
    return new_data[:used], new_indices[:used], new_indptr


@kernel()
def _add_up(R, root, start, sums, first, last):  # type: ignore[no-untyped-def]
    """Set `sums` to the sums of ``root R`` over the vertices of some groups."""
    for a in range(first, last):
        for c in range(R.shape[1]):
            sums[a, c] = 0.0
        for i in range(start[a], start[a + 1]):
            for c in range(R.shape[1]):
                sums[a, c] += root[i] * R[i, c]


@kernel()
def _update(P, R, root, start, coarse, keep, first, last):  # type: ignore[no-untyped-def]
    """Set P to ``R + root coarse + P diag(keep)`` for the vertices of some groups."""
    for a in range(first, last):
        for i in range(start[a], start[a + 1]):
            for c in range(R.shape[1]):
                P[i, c] = R[i, c] + root[i] * coarse[a, c] + keep[c] * P[i, c]
