"""The k nearest neighbors of every point, exactly or nearly so, never n x n in memory.

A fast search in float32 proposes a few more candidates than asked for; their distances are then
computed again in double precision and ranked by (distance, index). An exact search checks, row by
row, that no point outside the candidates can be nearer than the k-th one, given the rounding
error of the fast search; the rare rows that fail (ties, far outliers) are searched again, in the
end among all points. Exact results on dense data therefore depend neither on the block size nor on
the number of threads. On sparse data, ties beyond the candidates are broken as they come.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, Literal

import faiss
import numpy as np
from joblib import effective_n_jobs
from numba import njit
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from graphmargin._blocks import row_blocks
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray

Method = Literal["auto", "exact", "approximate"]

MAX_EXACT = 50_000
"""Above this number of points, "auto" searches approximately."""
SPARE_CANDIDATES = 6
QUERIES_AT_ONCE = 65_536
QUERIES_IN_A_SHARE = 1024
BLAS_BLOCKS = {
    "distance_compute_blas_threshold": 20,
    "distance_compute_blas_query_bs": 256,
    "distance_compute_blas_database_bs": 1024,
}


@dataclass(frozen=True)
class Neighbors:
    """Row i: the nearest points of query i, nearest first, equal distances by index."""

    indices: IntArray
    distances: FloatArray
    method: Literal["exact", "approximate"]


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    queries: Any = None,
    method: Method = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> Neighbors:
    """Return the `n_neighbors` nearest rows of X, by Euclidean distance, for every query.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), already validated
    n_neighbors : int
        Number k of neighbors, below n.
    queries : array or CSR matrix of shape (m, d), default=None
        Points whose neighbors are wanted. By default the rows of X, and a row is then not its
        own neighbor (it is left out by its index: a duplicate at distance zero stays).
    method : {"auto", "exact", "approximate"}
        Approximate search probes the nearest cells of a k-means partition. "auto" is exact for
        up to 50,000 points and for sparse X.
    n_jobs : int, default=None
        Threads of the search; None leaves the thread pools as they are, -1 takes all cores.
    random_state : int, RandomState or None
        Seed of the k-means partition of the approximate search.

    Returns
    -------
    Neighbors
        Time O(n m d) (exact) or about O(m sqrt(n) d) (approximate), memory O((n + m) d + m k).

    Examples
    --------
    >>> nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    if n_neighbors + (queries is None) > X.shape[0]:
        msg = (
            f"`n_neighbors` must be below the number of points, got n_neighbors={n_neighbors} "
            f"for {X.shape[0]} points; take fewer neighbors or pass a precomputed graph"
        )
        raise ValueError(msg)
    if sparse.issparse(X) and method == "approximate":
        msg = (
            "`method`='approximate' needs dense X; use method='exact', or reduce the dimension "
            "first (TruncatedSVD)"
        )
        raise ValueError(msg)
    if queries is not None and sparse.issparse(queries) != sparse.issparse(X):
        queries = sparse.csr_array(queries) if sparse.issparse(X) else queries.toarray()
    if method == "auto":
        method = "approximate" if X.shape[0] > MAX_EXACT and not sparse.issparse(X) else "exact"
    with _threads(n_jobs):
        if sparse.issparse(X):
            indices, distances = _search_sparse(X, queries, n_neighbors)
        else:
            search = _DenseSearch(X, queries, method, random_state)
            indices, distances = search.search(n_neighbors)
    return Neighbors(indices, distances, method)


class _DenseSearch:
    """Fast candidates in float32, ranked in double precision.

    The float32 copy is centered and of unit size: neither a large offset nor huge values cost
    precision. The median is not moved by outliers, and dividing by a power of two is exact.
    """

    def __init__(
        self, X: FloatArray, queries: FloatArray | None, method: str, random_state: Any
    ) -> None:
        self.X = X
        self.itself = queries is None
        self.queries = X if queries is None else queries
        self.exact = method == "exact"
        self.center = np.median(X, axis=0)
        self.unit = power_of_two(max(_reach(X, self.center), _reach(self.queries, self.center)))
        base = self._as_float32(X)
        if self.exact:
            self.index = faiss.IndexFlatL2(X.shape[1])
            self.index.add(base)
        else:
            self.index = _cells(base, random_state)

    def search(self, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        n = len(self.queries)
        n_candidates = n_neighbors + self.itself + SPARE_CANDIDATES
        indices = np.empty((n, n_neighbors), dtype=np.int64)
        squared = np.empty((n, n_neighbors))
        for rows in np.array_split(np.arange(n), -(-n // QUERIES_AT_ONCE)):
            indices[rows], squared[rows], unsure = self._rank(rows, n_neighbors, n_candidates)
            again = rows[unsure]
            if len(again):
                indices[again], squared[again], unsure = self._rank(
                    again, n_neighbors, 4 * n_candidates
                )
                again = again[unsure]
            for block in row_blocks(len(again), 8 * len(self.X)):
                indices[again[block]], squared[again[block]] = self._scan(again[block], n_neighbors)
        return indices, np.sqrt(squared) * self.unit

    def _rank(
        self, rows: IntArray, n_neighbors: int, n_candidates: int
    ) -> tuple[IntArray, FloatArray, BoolArray]:
        """Return the best candidates of the rows, and which rows may have missed a neighbor."""
        n_candidates = min(n_candidates, len(self.X))
        probes = self._as_float32(self.queries[rows])
        fast, candidates = _search_in_threads(self.index, probes, n_candidates)
        squared = _squared_distances(self.X, self.queries, rows, candidates, 1 / self.unit)
        if self.itself:
            squared[candidates == rows[:, None]] = np.inf
        indices, squared = _nearest(candidates, squared, n_neighbors)
        unsure = np.isinf(squared[:, -1])
        if self.exact and n_candidates < len(self.X):
            unsure |= _may_miss(probes, fast[:, -1], squared[:, -1])
        return indices, squared, unsure

    def _scan(self, rows: IntArray, n_neighbors: int) -> tuple[IntArray, FloatArray]:
        """Return the exact neighbors of a few rows from all their distances."""
        squared = cdist(self.queries[rows] / self.unit, self.X / self.unit, "sqeuclidean")
        if self.itself:
            squared[np.arange(len(rows)), rows] = np.inf
        kth = np.partition(squared, n_neighbors - 1, axis=1)[:, [n_neighbors - 1]]
        nearer, tied = squared < kth, squared == kth
        wanted = n_neighbors - nearer.sum(axis=1, keepdims=True)
        chosen = np.nonzero(nearer | (tied & (tied.cumsum(axis=1) <= wanted)))[1].reshape(
            -1, n_neighbors
        )
        return _nearest(chosen, np.take_along_axis(squared, chosen, axis=1), n_neighbors)

    def _as_float32(self, X: FloatArray) -> FloatArray:
        return np.ascontiguousarray((X - self.center) / self.unit, dtype=np.float32)


def _search_sparse(
    X: sparse.csr_array, queries: sparse.csr_array | None, n_neighbors: int
) -> tuple[IntArray, FloatArray]:
    """Return neighbors of sparse rows; scikit-learn's blocks propose, exact distances rank."""
    itself = queries is None
    X = sparse.csr_array(X, dtype=np.float64)
    queries = X if queries is None else sparse.csr_array(queries, dtype=np.float64)
    n_candidates = min(n_neighbors + itself + SPARE_CANDIDATES, X.shape[0])
    search = NearestNeighbors(n_neighbors=n_candidates, algorithm="brute").fit(X)
    candidates = search.kneighbors(queries, return_distance=False)
    squared = np.empty(candidates.shape)
    row_bytes = 12 * n_candidates * (1 + X.nnz // X.shape[0])
    for rows in row_blocks(queries.shape[0], row_bytes):
        block = candidates[rows]
        repeated = np.repeat(np.arange(rows.start, rows.stop), n_candidates)
        gaps = X[block.ravel()] - queries[repeated]
        squared[rows] = gaps.power(2).sum(axis=1).reshape(block.shape)
    if itself:
        squared[candidates == np.arange(queries.shape[0])[:, None]] = np.inf
    indices, squared = _nearest(candidates, squared, n_neighbors)
    return indices, np.sqrt(squared)


def _nearest(
    candidates: IntArray, squared: FloatArray, n_neighbors: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest candidates of every row, equal distances by index."""
    by_index = np.argsort(candidates, axis=1)
    candidates = np.take_along_axis(candidates, by_index, axis=1)
    squared = np.take_along_axis(squared, by_index, axis=1)
    nearest = np.argsort(squared, axis=1, kind="stable")[:, :n_neighbors]
    return (
        np.take_along_axis(candidates, nearest, axis=1),
        np.take_along_axis(squared, nearest, axis=1),
    )


@njit(cache=True)
def _squared_distances(X, queries, rows, candidates, scale):  # type: ignore[no-untyped-def]
    """Squared distances, in double precision, of some query rows to their candidates in X."""
    squared = np.empty(candidates.shape)
    for i in range(candidates.shape[0]):
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            total = np.inf if j < 0 else 0.0
            for k in range(X.shape[1] if j >= 0 else 0):
                gap = (np.float64(X[j, k]) - np.float64(queries[rows[i], k])) * scale
                total += gap * gap
            squared[i, c] = total
    return squared


def _may_miss(probes: FloatArray, last: FloatArray, kth: FloatArray) -> BoolArray:
    """Tell the rows where rounding or a tie may hide a neighbor behind the last candidate.

    A point within the k-th distance of x has a norm of at most ``norm(x) + sqrt(kth)``, which
    bounds the error of the float32 expansion ``norm(x)^2 - 2 x.z + norm(z)^2``.
    """
    norms = np.sqrt(np.einsum("qd,qd->q", probes, probes, dtype=np.float64))
    rounding = 8 * np.sqrt(probes.shape[1]) * np.finfo(np.float32).eps
    return np.asarray(kth + rounding * (2 * norms + np.sqrt(kth)) ** 2 >= last)


def _search_in_threads(
    index: Any, probes: FloatArray, n_candidates: int
) -> tuple[FloatArray, IntArray]:
    """Search the index with shares of the probes in threads.

    The threads of faiss itself wait for each other by spinning, which slows everybody down on a
    machine that is busy with something else. The shares, and with them all rounding, do not
    depend on the number of threads.
    """

    def search(share: FloatArray) -> Any:
        faiss.omp_set_num_threads(1)  # holds for the thread that calls it
        return index.search(share, n_candidates)

    n_shares = -(-len(probes) // QUERIES_IN_A_SHARE)
    with _blas_blocks(), ThreadPoolExecutor(faiss.omp_get_max_threads()) as threads:
        found = list(threads.map(search, np.array_split(probes, n_shares)))
    squared, indices = zip(*found, strict=True)
    return np.concatenate(squared), np.concatenate(indices)


@contextmanager
def _blas_blocks() -> Iterator[None]:
    """Let faiss multiply by BLAS, in blocks of 1 MB that fit a core's cache.

    Its own setting is 16 MB a thread, and BLAS for 128,000 / d queries and more only.
    """
    before = {name: getattr(faiss.cvar, name) for name in BLAS_BLOCKS}
    try:
        for name, value in BLAS_BLOCKS.items():
            setattr(faiss.cvar, name, value)
        yield
    finally:
        for name, value in before.items():
            setattr(faiss.cvar, name, value)


def _cells(base: FloatArray, random_state: Any) -> Any:
    """Return an inverted-file index of `base`, whose cells are those of k-means."""
    n, d = base.shape
    n_cells = max(1, min(int(3 * np.sqrt(n)), n // 39))
    quantizer = faiss.IndexFlatL2(d)
    index = faiss.IndexIVFFlat(quantizer, d, n_cells)
    index.cp.seed = int(check_random_state(random_state).randint(2**31 - 1))
    index.cp.max_points_per_centroid = 64
    index.nprobe = min(32, n_cells)
    with threadpool_limits(limits=1):  # the sums of k-means depend on the number of threads
        index.train(base)
    cell = np.ascontiguousarray(_search_in_threads(quantizer, base, 1)[1].ravel())
    index.add_core(n, faiss.swig_ptr(base), None, faiss.swig_ptr(cell))
    return index


def _reach(X: FloatArray, center: AnyArray) -> float:
    return float(max((X.max(axis=0) - center).max(), (center - X.min(axis=0)).max()))


def power_of_two(largest: float) -> float:
    """Return the power of two above a positive number; 1 for zero."""
    return float(2.0 ** np.frexp(largest)[1]) if 0 < largest < np.inf else 1.0


def _threads(n_jobs: int | None) -> Any:
    """Limit BLAS and OpenMP to n_jobs threads (-1: all cores); None leaves them alone."""
    if n_jobs is None:
        return nullcontext()
    return threadpool_limits(limits=effective_n_jobs(n_jobs))
