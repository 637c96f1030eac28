"""Search for the k nearest neighbors of every point, exact or approximate.

A fast search in float32 (see `voronoi_index`) proposes a few more candidates than needed; their
distances are then computed again in double precision and ranked by (distance, index). An exact
search checks, row by row, that no point outside the candidates can be nearer than the k-th one,
given the rounding error of the fast search. The rare rows that fail (ties, far outliers) are
searched again, finally among all points. Exact results on dense data therefore depend neither on
the cells nor on the number of threads. On sparse data, the order of ties beyond the candidates is
arbitrary. No n x n matrix is formed.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from threadpoolctl import threadpool_limits

from graphmargin._blocks import chunk_ranges, row_slices
from graphmargin._checks import check_integer, check_random_state
from graphmargin._rows import center_of_full_columns, subtract_center
from graphmargin._threads import map_in_threads, n_threads
from graphmargin._typing import BoolArray, FloatArray, IntArray, ProgressCallback
from graphmargin.graph._search.join_sample import rank_listed
from graphmargin.graph._search.ranking import rank_candidates
from graphmargin.graph._search.self_join import NeighborCandidates, join_candidates
from graphmargin.graph._search.voronoi_index import (
    ROWS_AT_ONCE,
    VoronoiIndex,
    make_voronoi_index,
    power_of_two,
    rounding,
    scale_of,
)

MAX_EXACT = 50_000
"""Largest number of points for which the search is exact unless a recall is given."""
EXACT_WORK = 2**16
"""Largest number of features read for a query (visited points times d) in an exact search."""
MAX_COMPARED = 1_000
"""Number of points up to which queries are compared with all of them. That takes as long as the
search of cells, which takes a second to compile."""
DEFAULT_RECALL = 0.99
RECALL_SAMPLE = 800
"""Number of queries whose true neighbors are found to tune and to verify the recall."""
SPARE_CANDIDATES = 6
MAX_QUERY_SIZE = 2.0**40
"""Largest size of a query, in units of the data, that is searched in float32."""


@dataclass(frozen=True)
class Neighbors:
    """The nearest points of query i in row i, nearest first, equal distances by index."""

    indices: IntArray
    distances: FloatArray
    recall: float
    """Share of the true nearest neighbors that was found, measured on a sample; 1 is exact."""


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    queries: Any = None,
    recall: float | None = None,
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
        Points whose neighbors are searched. By default the rows of X; no row is its own neighbor
        (duplicates at distance zero are neighbors).
    recall : float in (0, 1], default=None
        Share of the true nearest neighbors to be found; 1 is exact. None is exact for up to 50,000
        points and for sparse X. For more points it is exact up to ties and rounding where such a
        search visits few points, and 0.99 elsewhere.
    n_jobs : int, default=None
        Number of threads; None takes as many as BLAS would, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState or None
        Seed of the partition into cells and of the sample on which the recall is measured.

    Returns
    -------
    Neighbors
        Time O(n m d) at worst and about O(m sqrt(n) d) on clustered data, memory
        O((n + m) d + m k).

    Examples
    --------
    >>> nearest_neighbors(np.array([[0.0], [1.0], [3.0]]), 1).indices.ravel().tolist()
    [1, 0, 1]
    """
    search = NeighborSearch(X, n_jobs=n_jobs, seed=draw_seed(random_state))
    return search.neighbors(n_neighbors, queries, recall=recall)


def check_n_neighbors(n_neighbors: Any, n_points: int) -> int:
    """Return the number of neighbors as an int, or raise ValueError if there are too few points."""
    number = check_integer("n_neighbors", n_neighbors, low=1)
    if number >= n_points:
        msg = (
            f"`n_neighbors` must be below the number of points, got n_neighbors={number} "
            f"for {n_points} points; take fewer neighbors or pass a precomputed graph"
        )
        raise ValueError(msg)
    return number


def draw_seed(random_state: Any) -> int:
    """Return a seed drawn from a random state: an int, a RandomState or None."""
    return int(check_random_state(random_state).randint(2**31 - 1))


class NeighborSearch:
    """A search among the rows of a table, which is prepared once for many calls."""

    def __init__(self, X: Any, *, n_jobs: int | None = None, seed: int = 0) -> None:
        self.X = X
        self.n_jobs = n_jobs
        self.seed = seed

    @cached_property
    def _cells(self) -> VoronoiIndex:
        """The partition of dense rows, made when it is first needed."""
        X = self.X
        return make_voronoi_index(X, scale_of(X), check_random_state(self.seed), self.n_jobs)

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the cells, which follow from rows and seed."""
        return {name: value for name, value in vars(self).items() if name != "_cells"}

    def neighbors(
        self,
        n_neighbors: int,
        queries: Any = None,
        *,
        rows: IntArray | None = None,
        recall: float | None = None,
        progress: ProgressCallback | None = None,
    ) -> Neighbors:
        """Return the nearest rows for every query; see `nearest_neighbors`.

        Without queries, `rows` are the rows of the table whose neighbors are searched, if not all.
        """
        X = self.X
        check_n_neighbors(n_neighbors, X.shape[0] + (queries is not None))
        if recall is not None and not (isinstance(recall, Real) and 0 < recall <= 1):
            msg = f"`recall` must be in (0, 1], got {recall!r}; an exact search has recall 1"
            raise ValueError(msg)
        if queries is not None and sparse.issparse(queries) != sparse.issparse(X):
            queries = sparse.csr_array(queries) if sparse.issparse(X) else queries.toarray()
        if sparse.issparse(X):
            with threadpool_limits(limits=n_threads(self.n_jobs)):
                neighbors = Neighbors(*_search_sparse(X, queries, n_neighbors), recall=1.0)
            return neighbors if rows is None else _select_rows(neighbors, rows)
        may_approximate = self._may_approximate(recall, len(X if queries is None else queries))
        is_join = queries is None and (rows is None or 2 * len(rows) >= len(X))
        if is_join and may_approximate:
            candidates = join_candidates(
                X,
                n_neighbors,
                DEFAULT_RECALL if recall is None else recall,
                random_state=check_random_state(self.seed),
                n_jobs=self.n_jobs,
                exact_work=EXACT_WORK if recall is None else 0.0,
                progress=progress,
            )
            if candidates is not None:
                neighbors = _rank_join(X, candidates, n_neighbors, self.n_jobs)
                return neighbors if rows is None else _select_rows(neighbors, rows)
        search = _DenseSearch(X, self._cells, queries, n_neighbors, self.n_jobs)
        if rows is not None:
            search.rows = rows
        radius = SearchRadius(1.0, len(self._cells.centers), 1.0, certified=not may_approximate)
        if may_approximate and not is_join:
            radius = search.radius_for_recall(recall, check_random_state(self.seed))
        neighbors = Neighbors(*search.run(radius, progress), radius.recall)
        return neighbors if rows is None else _select_rows(neighbors, rows)

    def _may_approximate(self, recall: float | None, n_queries: int) -> bool:
        """Tell whether an approximate search is allowed, and there are enough rows for it."""
        if n_queries <= 2 * RECALL_SAMPLE or self.X.shape[0] <= MAX_COMPARED:
            return False
        return recall < 1 if recall is not None else self.X.shape[0] > MAX_EXACT


@dataclass(frozen=True)
class SearchRadius:
    """The radius of a search, and the share of the neighbors that it finds."""

    factor: float
    """Cells are visited up to this multiple of the distance to the k-th neighbor."""
    n_cells: int
    """Number of nearest cells that are considered."""
    recall: float
    certified: bool = True
    """True if rows that may miss a neighbor by rounding or a tie are searched again."""


class _DenseSearch:
    """A search for candidates in float32, which are ranked in double precision."""

    def __init__(
        self,
        X: FloatArray,
        cells: VoronoiIndex,
        queries: FloatArray | None,
        n_neighbors: int,
        n_jobs: int | None,
    ) -> None:
        self.X = X
        self.cells = cells
        self.is_self_query = queries is None
        self.queries = X if queries is None else queries
        self.n_neighbors = n_neighbors
        self.n_jobs = n_jobs
        self.own_cell = np.zeros(len(self.queries), dtype=np.int64)
        self.rows = np.arange(len(self.queries))
        self.far = self.rows[:0]
        if queries is None:
            self.own_cell[cells.order] = np.repeat(
                np.arange(len(cells.centers)), np.diff(cells.start)
            )
            return
        offsets = np.subtract(queries, cells.scale.center, dtype=np.float64)
        is_far = np.abs(offsets).max(axis=1) > MAX_QUERY_SIZE * cells.scale.unit
        if is_far.any():
            self.rows, self.far = np.flatnonzero(~is_far), np.flatnonzero(is_far)
            queries = queries[self.rows]
        self.own_cell[self.rows] = cells.assign(queries, n_jobs)

    def radius_for_recall(
        self, recall: float | None, random: np.random.RandomState
    ) -> SearchRadius:
        """Return the radius that finds a share `recall` of the true neighbors.

        The true neighbors are found for a sample of queries. A neighbor x in cell b is found if
        the radius factor is at least ``(h(q, b) + h(x, a)) / d_k``, so that the quantiles of this
        ratio predict the recall of a factor. The larger of the quantiles of two halves of the
        sample is taken, so that each half verifies the other.
        """
        from scipy.spatial.distance import cdist

        cells = self.cells
        rows = np.sort(random.choice(self.rows, RECALL_SAMPLE, replace=False))
        own_cell = self.own_cell[rows]
        k = self.n_neighbors + self.is_self_query
        all_cells = np.arange(len(cells.centers), dtype=np.int32)
        queries = cells.scale(self.queries[rows])

        def search(part: tuple[int, int]) -> tuple[IntArray, FloatArray]:
            rows = queries[slice(*part)]
            return cells.search(rows, 0, all_cells, n_found=k, n_neighbors=k, radius_factor=np.inf)

        parts = map_in_threads(search, chunk_ranges(RECALL_SAMPLE, 100), n_jobs=self.n_jobs)
        nearest, squared = (np.concatenate(both) for both in zip(*parts, strict=True))
        kth = np.sqrt(np.maximum(squared[:, -1:], 0.0, dtype=np.float64))
        from_centers = cdist(queries, cells.centers, "sqeuclidean")
        center_distances = cdist(cells.centers[own_cell], cells.centers)
        from_own_center = np.take_along_axis(from_centers, own_cell[:, None], axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = (from_centers - from_own_center) / (2 * center_distances * kth)
            ratio = np.nan_to_num(ratio, nan=0.0, posinf=1e9)
        rank = np.empty(center_distances.shape, dtype=np.int64)
        np.put_along_axis(
            rank,
            np.argsort(center_distances, axis=1),
            np.arange(center_distances.shape[1])[None],
            axis=1,
        )

        cell = np.searchsorted(cells.start, nearest, side="right") - 1
        needed = np.take_along_axis(ratio, cell, axis=1)
        with np.errstate(divide="ignore", invalid="ignore"):
            needed += np.nan_to_num(
                cells.bisector_distances(nearest, cell, own_cell[:, None]) / kth, posinf=1e9
            )
        if self.is_self_query:
            needed[cells.order[nearest] == rows[:, None]] = np.nan
        goal = DEFAULT_RECALL if recall is None else recall
        factor = max(
            float(np.nanquantile(needed[half::2], goal, method="higher")) for half in (0, 1)
        )
        sizes = np.diff(cells.start)
        exact_work = float(((ratio <= 1.0) @ sizes).mean()) * self.X.shape[1]
        if factor >= 1 or (recall is None and exact_work <= EXACT_WORK):
            return SearchRadius(1.0, len(cells.centers), 1.0, certified=False)
        is_found = needed <= factor
        farthest = np.take_along_axis(rank, cell, axis=1)[is_found].max()
        n_cells = min(len(cells.centers), int(1.25 * farthest) + 2)
        found_share = float(is_found.sum() / np.isfinite(needed).sum())
        return SearchRadius(max(factor, 0.0), n_cells, found_share, certified=False)

    def run(
        self, radius: SearchRadius, progress: ProgressCallback | None
    ) -> tuple[IntArray, FloatArray]:
        """Return indices and distances of the neighbors of all queries."""
        n, k, n_points = len(self.queries), self.n_neighbors, len(self.X)
        self.indices = np.empty((n, k), dtype=np.int32 if n_points < 2**31 else np.int64)
        self.distances = np.empty((n, k))
        n_found = k + self.is_self_query + SPARE_CANDIDATES
        again = self._search(self.rows, min(n_found, n_points), radius, progress)
        exact = SearchRadius(1.0, len(self.cells.centers), 1.0)
        again = self._search(again, min(4 * n_found, n_points), exact, None)
        map_in_threads(self._scan, np.concatenate([self.far, again]), n_jobs=self.n_jobs)
        return self.indices, self.distances

    def _search(
        self, rows: IntArray, n_found: int, radius: SearchRadius, progress: ProgressCallback | None
    ) -> IntArray:
        """Search some queries, cell by cell; return those that may have missed a neighbor."""
        if not len(rows):
            return rows
        rows = rows[np.argsort(self.own_cell[rows], kind="stable")]
        own_cells, first = np.unique(self.own_cell[rows], return_index=True)
        groups = list(zip(own_cells, np.split(rows, first[1:]), strict=True))

        def work(group: tuple[int, IntArray]) -> IntArray:
            own_cell, rows = group
            cells = self.cells
            queries = cells.scale(self.queries[rows])
            if len(self.X) <= MAX_COMPARED:
                candidates, fast = cells.search_all(queries, n_found)
            else:
                candidates, fast = cells.search(
                    queries,
                    own_cell,
                    self._near_cells(own_cell, radius.n_cells),
                    n_found=n_found,
                    n_neighbors=self.n_neighbors + self.is_self_query,
                    radius_factor=radius.factor,
                )
            indices, squared = self._rank(rows, candidates, cells.scale.unit)
            self.indices[rows] = indices
            self.distances[rows] = np.sqrt(squared) * cells.scale.unit
            incomplete = np.isinf(squared[:, -1])
            if radius.certified and n_found < len(self.X):
                incomplete |= _may_miss(queries, fast[:, -1], squared[:, -1])
            return rows[incomplete]

        return np.concatenate(map_in_threads(work, groups, n_jobs=self.n_jobs, progress=progress))

    def _near_cells(self, own_cell: int, n_cells: int) -> IntArray:
        """Return the cells with the nearest centers, nearest first."""
        center_distances = self.cells.center_distances(own_cell)
        near = np.arange(len(center_distances))
        if n_cells < len(center_distances):
            near = np.argpartition(center_distances, n_cells)[:n_cells]
        return near[np.argsort(center_distances[near], kind="stable")]

    def _scan(self, row: int) -> None:
        """Find the neighbors of a single query from all its distances."""
        scale = self.cells.scale
        offset = np.subtract(self.queries[row], scale.center, dtype=np.float64)
        unit = max(scale.unit, power_of_two(float(np.abs(offset).max())))
        candidates = np.arange(len(self.X), dtype=np.int32)[None]
        indices, squared = self._rank(np.array([row]), candidates, unit)
        self.indices[row], self.distances[row] = indices[0], np.sqrt(squared[0]) * unit

    def _rank(
        self, rows: IntArray, candidates: IntArray, unit: float
    ) -> tuple[IntArray, FloatArray]:
        """Return the best candidates of some queries and their squared distances."""
        return rank_candidates(
            self.X,
            self.queries,
            rows,
            candidates,
            self.cells.order,
            n_neighbors=self.n_neighbors,
            is_self_query=self.is_self_query,
            unit=unit,
        )


def _rank_join(
    X: FloatArray, candidates: NeighborCandidates, n_neighbors: int, n_jobs: int | None
) -> Neighbors:
    """Return the nearest of the candidates of all rows, by distances in double precision."""
    index = candidates.index
    indices = np.empty((len(X), n_neighbors), dtype=index.order.dtype)
    distances = np.empty((len(X), n_neighbors))

    def rank(part: tuple[int, int]) -> None:
        rows, listed = index.order[slice(*part)], candidates.nearest[slice(*part)]
        indices[rows], squared = rank_listed(X, index, rows, listed, n_neighbors)
        distances[rows] = np.sqrt(squared) * index.scale.unit

    map_in_threads(rank, chunk_ranges(len(X), ROWS_AT_ONCE), n_jobs=n_jobs)
    return Neighbors(indices, distances, candidates.recall)


def _select_rows(neighbors: Neighbors, rows: IntArray) -> Neighbors:
    """Return the neighbors of some rows."""
    return Neighbors(neighbors.indices[rows], neighbors.distances[rows], neighbors.recall)


def _search_sparse(
    X: sparse.csr_array, queries: sparse.csr_array | None, n_neighbors: int
) -> tuple[IntArray, FloatArray]:
    """Return neighbors of sparse rows, which scikit-learn proposes and exact distances rank."""
    from sklearn.neighbors import NearestNeighbors

    is_self_query = queries is None
    X = sparse.csr_array(X, dtype=np.float64)
    others = X if queries is None else sparse.csr_array(queries, dtype=np.float64)
    center = center_of_full_columns(X)
    X, others = (sparse.csr_array(subtract_center(rows, center)) for rows in (X, others))
    n_candidates = min(n_neighbors + is_self_query + SPARE_CANDIDATES, X.shape[0])
    search = NearestNeighbors(n_neighbors=n_candidates, algorithm="brute").fit(X)
    candidates = search.kneighbors(others, return_distance=False)
    squared = np.empty(candidates.shape)
    row_bytes = 12 * n_candidates * (1 + X.nnz // X.shape[0])
    for rows in row_slices(others.shape[0], row_bytes):
        block = candidates[rows]
        repeated = np.repeat(np.arange(rows.start, rows.stop), n_candidates)
        differences = X[block.ravel()] - others[repeated]
        squared[rows] = differences.power(2).sum(axis=1).reshape(block.shape)
    if is_self_query:
        squared[candidates == np.arange(others.shape[0])[:, None]] = np.inf
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


def _may_miss(queries: FloatArray, last: FloatArray, kth: FloatArray) -> BoolArray:
    """Return the mask of rows that may miss a neighbor by rounding or a tie.

    A point within the k-th distance of x has a norm of at most ``norm(x) + sqrt(kth)``, which
    bounds the error of the float32 expansion ``norm(x)^2 - 2 x.z + norm(z)^2``.
    """
    norms = np.sqrt(np.einsum("qd,qd->q", queries, queries, dtype=np.float64))
    error = rounding(queries.shape[1]) * (2 * norms + np.sqrt(kth)) ** 2
    return np.asarray(kth + error >= last)
