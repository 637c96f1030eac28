"""Direct solution by elimination of vertices, without subtractions.

The system of :mod:`graphmargin.harmonic.problem`, ``(diag(s) - W) x = B`` with ``s = W 1 + B 1``,
is an absorbing random walk. Eliminating vertex v replaces every path i - v - j by an edge of
weight ``w_iv w_vj / s_v`` and hands its absorption on to its neighbors. The pivot ``s_v`` is the
*sum* of what is left at v (edges and absorption), never the difference of two large numbers, as
in the algorithm of Grassmann, Taksar and Heyman for Markov chains. Every intermediate number is
positive and every entry of the solution has a small *relative* error, however small it is and
whatever the range of the weights: a general sparse factorization forms ``d - w`` and loses, for
instance, a cluster that is connected by edges of weight 1e-23.

The order is approximate minimum degree on the quotient graph; it also yields the pattern of the
factor, so fill is known (and capped) before any arithmetic.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from graphmargin._compilation import kernel
from graphmargin._typing import BoolArray, FloatArray, IntArray

MAX_FLOPS = 5e8
"""Largest number of multiply-adds, about half a second, for which "auto" is direct."""
MAX_FLOPS_PER_VERTEX = 5_000
"""The same for each vertex of a large graph, on which iterations take longer."""
BALL_SIZE = 8_000
"""Number of vertices of the part of a large graph on which the cost is estimated first."""
MAX_FILL = 100_000_000
"""Largest number of entries of the factor, 12 bytes each."""
LANES = 4
"""Number of systems that are factorized together, in the lanes of a vector register."""
MAX_FILL_OF_LANES = 5_000_000
"""Largest number of entries of a factor for which systems are factorized together."""
MAX_FILL_OF_COPIES = 50_000
"""Largest number of entries of a factor for which copies of a system fill up the lanes. That takes
some milliseconds, and the compilation for another number of lanes 0.3 s."""


@dataclass(frozen=True)
class EliminationOrder:
    """An order of elimination and the pattern of its factor, for all weights and gamma_g."""

    order: IntArray
    """Vertex that is eliminated k-th; vertices that are kept come last."""
    column_start: IntArray
    column_rows: IntArray
    """Later positions that are connected to the k-th pivot, ascending."""
    n_kept: int


@dataclass(frozen=True)
class Elimination:
    """A factorized system; `solve` takes one pass over the fill for all right-hand sides."""

    pattern: EliminationOrder
    weights: FloatArray
    """(fill, lanes): a column for each system that was factorized, and perhaps copies."""
    pivots: FloatArray
    absorption: FloatArray
    """(n, lanes): absorption in the order of elimination, that of earlier vertices handed on."""

    def solve(self, B: FloatArray, lane: int = 0) -> FloatArray:
        """Return x of ``(diag(s) - W) x = B`` for a right-hand side of shape (n, columns).

        No vertex may be kept.
        """
        pattern = self.pattern
        X = np.ascontiguousarray(B[pattern.order], dtype=np.float64)
        factor = (pattern.column_start, pattern.column_rows, self.weights, self.pivots)
        _substitute_forward(*factor, lane, X)
        _substitute_backward(*factor, len(X), lane, X)
        result = np.empty_like(X)
        result[pattern.order] = X
        return result

    def kept_walk(self, lane: int = 0) -> tuple[FloatArray, FloatArray]:
        """Return the edges between kept vertices, as a dense matrix, and their absorption.

        Walks on this graph have the probabilities of the whole one.
        """
        kept = self.pattern.n_kept
        n = len(self.pivots)
        entries = slice(self.pattern.column_start[n - kept], None)
        W = np.zeros((kept, kept))
        W[np.triu_indices(kept, 1)] = self.weights[entries, lane]
        return W + W.T, self.absorption[n - kept :, lane]

    def extend(self, X: FloatArray, lane: int = 0) -> FloatArray:
        """Return the masses of all vertices, in the order of elimination, from those of kept ones.

        X has shape (n_kept, problems, masses), and the last mass is that of the sink, into which
        all absorption of eliminated vertices has to be.
        """
        pattern = self.pattern
        n = len(self.pivots)
        eliminated = n - pattern.n_kept
        masses = np.zeros((n, *X.shape[1:]))
        masses[:eliminated, :, -1] = self.absorption[:eliminated, lane, None]
        masses[eliminated:] = X
        factor = (pattern.column_start, pattern.column_rows, self.weights, self.pivots)
        _substitute_backward(*factor, eliminated, lane, masses.reshape(n, -1))
        return masses


def elimination_order(
    W: sparse.csr_array,
    *,
    n_kept: int = 0,
    max_fill: float = MAX_FILL,
    max_flops: float | None = None,
) -> EliminationOrder | None:
    """Return a fill-reducing order of the vertices of W, or None where the fill is too large.

    The last `n_kept` vertices are not eliminated, and all of them are connected in the end. By
    default `max_flops` is what iterations would take.

    The cost of a ball around a vertex of a large graph, times the number of such balls, is a lower
    bound on that of the graph. If even this is too large, the graph itself is not tried.
    """
    n = W.shape[0]
    if max_flops is None:
        max_flops = max(MAX_FLOPS, MAX_FLOPS_PER_VERTEX * n)
    if n > 4 * BALL_SIZE and np.isfinite(max_flops):
        ball = csgraph.breadth_first_order(W, n // 2, directed=False)[0][:BALL_SIZE]
        part = sparse.csr_array(W[ball][:, ball])
        if elimination_order(part, max_fill=max_fill, max_flops=max_flops * BALL_SIZE / n) is None:
            return None
    kept = n - n_kept + np.arange(n_kept, dtype=np.int32)
    max_fill = int(min(max_fill, 2**40)) - n_kept * (n_kept - 1) // 2
    graph = _quotient_graph(W, n - n_kept)
    pool = np.empty(max(4 * W.nnz, 1024, n), dtype=np.int32)
    step, used, lowest, flops = 0, 0, 0, 0.0
    while step < n - n_kept:
        step, used, lowest, flops = _minimum_degree(
            *graph, n - n_kept, pool, step, used, lowest, flops, max_fill, float(max_flops)
        )
        if used > max_fill or flops > max_flops:
            return None
        if step < n - n_kept:  # the pool has no room for the next clique
            larger = np.empty(max(2 * len(pool), used + n - step), dtype=np.int32)
            larger[:used] = pool[:used]
            pool = larger
    graph.order[n - n_kept :] = kept
    position = np.empty(n, dtype=np.int32)
    position[graph.order] = np.arange(n, dtype=np.int32)
    rows, start = position[pool[:used]], graph.clique_start
    start[n - n_kept + 1 :] = used + np.cumsum(np.arange(n_kept)[::-1])
    rows = np.concatenate([rows, kept[np.triu_indices(n_kept, 1)[1]]])
    pattern = sparse.csr_array((np.empty(len(rows), np.int8), rows, start), shape=(n, n))
    pattern.sort_indices()
    rows = pattern.indices.astype(np.int32, copy=False)
    return EliminationOrder(graph.order, start, rows, n_kept)


def eliminate(W: sparse.csr_array, absorption: FloatArray, order: EliminationOrder) -> Elimination:
    """Factorize ``diag(W 1 + absorption) - W`` (symmetric W >= 0 without a diagonal).

    An `absorption` of shape (n, lanes) factorizes several systems at once. Four of them take twice
    the time of one, half of which is spent on finding the entries; systems of a small graph are
    always four, some of them copies. Vertices that the order keeps are left over, see
    `Elimination.kept_walk`.
    """
    systems = np.asarray(absorption, dtype=np.float64)
    systems = systems[:, None] if systems.ndim == 1 else systems
    if len(order.column_rows) <= MAX_FILL_OF_COPIES:
        copies = max(0, LANES - systems.shape[1])
        systems = np.concatenate([systems, np.repeat(systems[:, :1], copies, axis=1)], axis=1)
    lanes = systems.shape[1]
    position = np.empty(W.shape[0], dtype=np.int32)
    position[order.order] = np.arange(W.shape[0], dtype=np.int32)
    left = systems[order.order]
    weights, pivots = np.empty((len(order.column_rows), lanes)), np.empty((W.shape[0], lanes))
    _factorize(
        (0,) * lanes,
        W.shape[0] - order.n_kept,
        *csr_arrays(W),
        left,
        order.order,
        position,
        order.column_start,
        order.column_rows,
        order.column_start[:-1].copy(),
        np.full((2, W.shape[0]), -1, dtype=np.int32),
        np.zeros((W.shape[0], lanes)),
        np.empty(lanes),
        weights,
        pivots,
    )
    return Elimination(order, weights, pivots, left)


def csr_arrays(W: sparse.csr_array) -> tuple[IntArray, IntArray, FloatArray]:
    """Return a matrix in the types that the kernels are compiled for."""
    return (
        W.indptr.astype(np.int64, copy=False),
        W.indices.astype(np.int32, copy=False),
        W.data.astype(np.float64, copy=False),
    )


class _QuotientGraph(NamedTuple):
    """The rest of a graph while its vertices are eliminated.

    An eliminated vertex becomes an *element*, the clique of its later neighbors in a pool. A live
    vertex keeps a list of elements followed by a list of plain neighbors, in place of its row of
    W: each elimination adds one element to the list and removes at least one entry. Live vertices
    are in buckets by degree, which are doubly linked lists.
    """

    entries: IntArray
    begin: IntArray
    n_elements: IntArray
    n_plain: IntArray
    is_live_element: BoolArray
    clique_of: IntArray
    """Start of the clique of an element in the pool."""
    clique_size: IntArray
    clique_start: IntArray
    """The same in the order of elimination."""
    degree: IntArray
    head: IntArray
    following: IntArray
    previous: IntArray
    mark: IntArray
    seen: IntArray
    outside: IntArray
    """Size of the clique of an element without the clique of the pivot."""
    kept: IntArray
    order: IntArray


def _quotient_graph(W: sparse.csr_array, n_eliminated: int) -> _QuotientGraph:
    """Return a graph before its first elimination; vertices that are kept are in no bucket.

    Kernels get their memory from here, because allocations take long to compile.
    """
    indptr, indices, _ = csr_arrays(W)
    n, degree = len(indptr) - 1, np.diff(indptr).astype(np.int32)
    by_degree = np.argsort(degree[:n_eliminated], kind="stable").astype(np.int32)
    equal = degree[by_degree[:-1]] == degree[by_degree[1:]]
    head = np.full(n + 1, -1, dtype=np.int32)
    # The last vertex of each degree comes first.
    head[degree[:n_eliminated]] = np.arange(n_eliminated, dtype=np.int32)
    following, previous = np.full((2, n), -1, dtype=np.int32)
    following[by_degree[1:][equal]] = by_degree[:-1][equal]
    previous[by_degree[:-1][equal]] = by_degree[1:][equal]
    return _QuotientGraph(
        entries=indices.copy(),
        begin=indptr[:-1].copy(),
        n_elements=np.zeros(n, dtype=np.int32),
        n_plain=degree.copy(),
        is_live_element=np.zeros(n, dtype=np.bool_),
        clique_of=np.zeros(n, dtype=np.int64),
        clique_size=np.zeros(n, dtype=np.int32),
        clique_start=np.zeros(n + 1, dtype=np.int64),
        degree=degree,
        head=head,
        following=following,
        previous=previous,
        mark=np.full(n, -1, dtype=np.int32),
        seen=np.full(n, -1, dtype=np.int32),
        outside=np.zeros(n, dtype=np.int32),
        kept=np.empty(n, dtype=np.int32),
        order=np.empty(n, dtype=np.int32),
    )


@kernel()
def _minimum_degree(  # type: ignore[no-untyped-def]
    entries,
    begin,
    n_elements,
    n_plain,
    is_live_element,
    clique_of,
    clique_size,
    clique_start,
    degree,
    head,
    following,
    previous,
    mark,
    seen,
    outside,
    kept,
    order,
    n_eliminated,
    pool,
    first_step,
    used,
    lowest,
    flops,
    max_fill,
    max_flops,
):
    """Eliminate vertices by approximate minimum degree, and collect their cliques in a pool.

    Returns the step, the number of used entries of the pool, a lower bound on the degrees and the
    number of multiply-adds. It stops when all vertices but the kept ones are eliminated, when the
    pool has no room for the next clique, or when a limit is exceeded.
    """
    n = len(order)
    for step in range(first_step, n_eliminated):
        if used + n - step > len(pool):
            return step, used, lowest, flops
        while head[lowest] < 0:
            lowest += 1
        pivot = head[lowest]
        head[lowest] = following[pivot]
        if following[pivot] >= 0:
            previous[following[pivot]] = -1
        order[step] = pivot
        mark[pivot] = step

        start = used
        first = begin[pivot]
        for p in range(first + n_elements[pivot], first + n_elements[pivot] + n_plain[pivot]):
            u = entries[p]
            if mark[u] != step:
                mark[u] = step
                pool[used] = u
                used += 1
        for p in range(first, first + n_elements[pivot]):
            e = entries[p]
            if not is_live_element[e]:
                continue
            is_live_element[e] = False
            for q in range(clique_of[e], clique_of[e] + clique_size[e]):
                u = pool[q]
                if mark[u] != step:
                    mark[u] = step
                    pool[used] = u
                    used += 1
        size = used - start
        clique_of[pivot] = start
        clique_size[pivot] = size
        clique_start[step + 1] = used
        is_live_element[pivot] = True
        flops += float(size) * size
        if used > max_fill or flops > max_flops:
            return step, used, lowest, flops

        for p in range(start, used):
            u = pool[p]
            for q in range(begin[u], begin[u] + n_elements[u]):
                e = entries[q]
                if is_live_element[e]:
                    if seen[e] != step:
                        seen[e] = step
                        outside[e] = clique_size[e]
                    outside[e] -= 1
        for p in range(start, used):
            u = pool[p]
            base = begin[u]
            n_kept = 0
            for q in range(base + n_elements[u], base + n_elements[u] + n_plain[u]):
                if mark[entries[q]] != step:
                    kept[n_kept] = entries[q]
                    n_kept += 1
            write = base
            new_degree = n_kept + size - 1
            for q in range(base, base + n_elements[u]):
                e = entries[q]
                if is_live_element[e]:
                    if outside[e] == 0:
                        is_live_element[e] = False  # inside the new clique: absorbed
                    else:
                        entries[write] = e
                        write += 1
                        new_degree += outside[e]
            entries[write] = pivot
            write += 1
            n_elements[u] = write - base
            for q in range(n_kept):
                entries[write + q] = kept[q]
            n_plain[u] = n_kept
            new_degree = min(new_degree, n - step - 2, degree[u] + size - 1)
            if u >= n_eliminated:
                continue
            # move u to its new bucket
            if previous[u] >= 0:
                following[previous[u]] = following[u]
            else:
                head[degree[u]] = following[u]
            if following[u] >= 0:
                previous[following[u]] = previous[u]
            degree[u] = new_degree
            previous[u] = -1
            following[u] = head[new_degree]
            if head[new_degree] >= 0:
                previous[head[new_degree]] = u
            head[new_degree] = u
            lowest = min(lowest, new_degree)
    return n_eliminated, used, lowest, flops


@kernel()
def _factorize(  # type: ignore[no-untyped-def]
    tag,
    n_eliminated,
    indptr,
    indices,
    data,
    left,
    order,
    position,
    column_start,
    column_rows,
    reached,
    lists,
    row,
    factor,
    weights,
    pivots,
):
    """Compute weights to later vertices and pivots by left-looking elimination.

    `tag` is a tuple with a number for each lane, whose length is known to the compiler.
    `left` is the absorption in the order of elimination, `reached` the entry of each column that
    meets the next pivot, and `row` and `factor` are work space.
    """
    lanes = len(tag)
    n = len(order)
    pending, link = lists[0], lists[1]  # columns whose next row is j, as linked lists
    for j in range(n):
        v = order[j]
        for p in range(indptr[v], indptr[v + 1]):
            i = position[indices[p]]
            if i > j:
                for lane in range(lanes):
                    row[i, lane] = data[p]
        k = pending[j]
        while k >= 0:
            upcoming = link[k]
            p = reached[k]
            for lane in range(lanes):
                factor[lane] = weights[p, lane] / pivots[k, lane]
                left[j, lane] += factor[lane] * left[k, lane]
            for q in range(p + 1, column_start[k + 1]):
                i = column_rows[q]
                for lane in range(lanes):
                    row[i, lane] += factor[lane] * weights[q, lane]
            if p + 1 < column_start[k + 1]:
                reached[k] = p + 1
                i = column_rows[p + 1]
                link[k] = pending[i]
                pending[i] = k
            k = upcoming
        for lane in range(lanes):
            pivots[j, lane] = left[j, lane]
        for p in range(column_start[j], column_start[j + 1]):
            i = column_rows[p]
            for lane in range(lanes):
                weights[p, lane] = row[i, lane]
                pivots[j, lane] += row[i, lane]
                row[i, lane] = 0.0
        for lane in range(lanes):
            # A vertex without edges and absorption has a row of zeros.
            if not pivots[j, lane] > 0.0:
                pivots[j, lane] = 1.0
        if j < n_eliminated and column_start[j] < column_start[j + 1]:
            i = column_rows[column_start[j]]
            link[j] = pending[i]
            pending[i] = j


@kernel()
def _substitute_forward(column_start, column_rows, weights, pivots, lane, X):  # type: ignore[no-untyped-def]
    """Hand the rows of X on to later vertices, in place and in elimination order."""
    n, columns = X.shape
    for k in range(n):
        for p in range(column_start[k], column_start[k + 1]):
            factor = weights[p, lane] / pivots[k, lane]
            i = column_rows[p]
            for c in range(columns):
                X[i, c] += factor * X[k, c]


@kernel()
def _substitute_backward(  # type: ignore[no-untyped-def]
    column_start, column_rows, weights, pivots, n_eliminated, lane, X
):
    """Solve for the rows of X from the last eliminated vertex to the first, in place."""
    columns = X.shape[1]
    for k in range(n_eliminated - 1, -1, -1):
        for p in range(column_start[k], column_start[k + 1]):
            weight = weights[p, lane]
            i = column_rows[p]
            for c in range(columns):
                X[k, c] += weight * X[i, c]
        for c in range(columns):
            X[k, c] /= pivots[k, lane]
