"""Approximate nearest neighbors of all rows of a table among themselves.

Every point is compared with the points of its own cell and of near cells (see `voronoi_index`).
Then passes over neighbors of neighbors complete the lists (see `refinement`), which is cheaper than
to visit more cells, unless neighbors are in few cells anyway. The true neighbors of a sample of
points tell how far cells must be visited, and, after each step, which share of them was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._blocks import chunk_ranges
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.graph.ranking import rank_candidates
from graphmargin.graph.refinement import refine_neighbors
from graphmargin.graph.voronoi_index import VoronoiIndex, make_rough_index, rounding, scale_of

SAMPLE_SIZE = 800
"""Number of points whose true neighbors are found to tune and to verify the recall."""
SPARE_NEIGHBORS = 7
"""Number of listed neighbors beyond the k that are asked for, which lead to better ones."""
RANKED_SPARE = 2
"""Number of listed neighbors beyond k whose distances are computed in double precision."""
PASS_MISSES = (0.6, 1.43)
"""If a share m of the neighbors is missed, ``0.6 m^1.43`` is expected to be after a pass."""
MAX_PASSES = 3
MIN_GAIN = 0.25
"""Share of the missed neighbors that a pass must have found to be followed by another one."""
VISIT_COST, PASS_COST = (0.5, 0.033), (1000.0, 6.0)
"""Costs, constant and for each feature, of a visited point and of a pass of refinement."""
BOUND_CELLS, BOUND_FACTOR = 20, 0.3
"""Cells that are visited to bound the distance of the k-th neighbor of a sampled point."""
CELLS_AT_ONCE = 16


@dataclass(frozen=True)
class Candidates:
    """Neighbor lists of all rows, nearest first by distances in float32."""

    index: VoronoiIndex
    nearest: IntArray
    """Positions in the index, of shape (n, n_listed), -1 for none; row i is that of position i."""
    recall: float
    """Share of the true neighbors of a sample that is among the listed ones."""


def join_candidates(
    X: FloatArray,
    n_neighbors: int,
    recall: float,
    *,
    random_state: np.random.RandomState,
    n_jobs: int | None,
    exact_work: float = 0.0,
    progress: ProgressCallback | None = None,
) -> Candidates | None:
    """Return lists that have a share `recall` of the true neighbors of the rows of X.

    Returns None if an exact search reads at most `exact_work` features for a query, so that no
    approximation is worthwhile.
    """
    index = make_rough_index(X, scale_of(X), random_state, n_jobs)
    sample = _sample(X, index, n_neighbors, random_state, n_jobs)
    if sample.mean_visited(1.0) * X.shape[1] <= exact_work:
        return None
    radius = sample.radius(recall)
    start = sample.radius(1 - min((1 - recall) / PASS_MISSES[0], 1.0) ** (1 / PASS_MISSES[1]))
    saved = sample.mean_visited(radius.factor) - sample.mean_visited(start.factor)
    if saved * _cost(VISIT_COST, X.shape[1]) > _cost(PASS_COST, X.shape[1]):
        radius = start
    nearest, squared = _visit_cells(index, n_neighbors, radius, n_jobs, progress)
    share = sample.recall(nearest)
    for _ in range(MAX_PASSES):
        if share >= recall:
            break
        before = share
        nearest = refine_neighbors(index.points, nearest, squared, n_jobs)
        share = sample.recall(nearest)
        if 1 - share > (1 - MIN_GAIN) * (1 - before):
            break
    if share < recall and radius is start:
        radius = sample.radius(recall)
        nearest, squared = _visit_cells(index, n_neighbors, radius, n_jobs, progress)
        share = sample.recall(nearest)
    return Candidates(index, nearest[:, : n_neighbors + RANKED_SPARE], share)


def _cost(parts: tuple[float, float], n_features: int) -> float:
    return parts[0] + parts[1] * n_features


@dataclass(frozen=True)
class Radius:
    """Which cells are visited from a point."""

    factor: float
    """Those up to this multiple of the distance to the k-th neighbor so far,"""
    n_cells: int
    """among this number of cells with the nearest centers."""


@dataclass(frozen=True)
class Sample:
    """Some points with their true neighbors."""

    X: FloatArray
    index: VoronoiIndex
    positions: IntArray
    kth: FloatArray
    """Squared distance of the k-th true neighbor of each point, in double precision."""
    ratios: FloatArray
    """Factor with which each cell is visited from each point."""
    needed: FloatArray
    """Factor with which each true neighbor is found,"""
    rank: IntArray
    """and the rank of its cell by the distance of its center from that of the point's cell."""

    def mean_visited(self, factor: float) -> float:
        """Return the mean number of points in the cells that a factor visits."""
        return float(((self.ratios <= factor) @ np.diff(self.index.start)).mean())

    def radius(self, recall: float) -> Radius:
        """Return the radius within which a share of the true neighbors is.

        The larger of the quantiles of two halves is taken, so that each half verifies the other.
        """
        factor = max(
            float(np.quantile(half, recall, method="higher"))
            for half in (self.needed[::2], self.needed[1::2])
        )
        ranks = self.rank[self.needed <= factor]
        n_cells = int(np.quantile(ranks, 1 - 0.1 * (1 - recall), method="higher")) + 2
        return Radius(max(factor, 0.0), min(n_cells, len(self.index.centers)))

    def recall(self, nearest: IntArray) -> float:
        """Return the share of the true neighbors that is listed."""
        rows = self.index.order[self.positions]
        k = self.needed.shape[1]
        listed = nearest[self.positions, : k + RANKED_SPARE]
        _, squared = rank_listed(self.X, self.index, rows, listed, k)
        return float((squared <= self.kth[:, None]).mean())


def rank_listed(
    X: FloatArray, index: VoronoiIndex, rows: IntArray, listed: IntArray, n_neighbors: int
) -> tuple[IntArray, FloatArray]:
    """Return the nearest listed neighbors of some rows by distances in double precision."""
    return rank_candidates(
        X,
        X,
        rows,
        listed,
        index.order,
        n_neighbors=n_neighbors,
        is_self_query=True,
        unit=index.scale.unit,
    )


def _sample(
    X: FloatArray,
    index: VoronoiIndex,
    n_neighbors: int,
    random_state: np.random.RandomState,
    n_jobs: int | None,
) -> Sample:
    """Find the true neighbors of a sample of points.

    The points of few cells bound the distance of the k-th neighbor; all cells within this bound are
    then visited, each with all of the points that need it.
    """
    positions = np.sort(random_state.choice(len(X), SAMPLE_SIZE, replace=False))
    home = np.searchsorted(index.start, positions, side="right") - 1
    queries = index.points[positions]
    from_centers = _squared_distances(queries, index.centers)
    gaps = np.sqrt(_squared_distances(index.centers[home], index.centers))
    from_home = np.take_along_axis(from_centers, home[:, None], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        heights = np.nan_to_num((from_centers - from_home) / (2 * gaps), nan=0.0)
    heights[gaps == 0] = 0.0
    listed = _true_neighbors(index, positions, home, heights, n_neighbors, n_jobs)
    rows = index.order[positions]
    neighbors, squared = rank_listed(X, index, rows, listed, n_neighbors)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.nan_to_num(heights / np.sqrt(squared[:, -1:]), nan=0.0, posinf=1e9)
    position = np.empty(len(X), dtype=index.order.dtype)
    position[index.order] = np.arange(len(X))
    cell = np.searchsorted(index.start, position[neighbors], side="right") - 1
    gap = np.take_along_axis(gaps, cell, axis=1)
    rank = np.stack([(gaps < column[:, None]).sum(axis=1) for column in gap.T], axis=1)
    needed = np.take_along_axis(ratios, cell, axis=1)
    return Sample(X, index, positions, squared[:, -1], ratios, needed, rank)


def _true_neighbors(
    index: VoronoiIndex,
    positions: IntArray,
    home: IntArray,
    heights: FloatArray,
    n_neighbors: int,
    n_jobs: int | None,
) -> IntArray:
    """Return the positions of the nearest points of a sample, and some more, -1 for none."""
    k = n_neighbors + 1  # with the point itself
    queries, norms = index.points[positions], index.norms[positions]

    def bound(cell: int) -> FloatArray:
        some = queries[home == cell]
        near = _near_cells(index, cell, cell + 1, BOUND_CELLS)[0]
        found = index.search(
            some, cell, near, n_found=k, n_neighbors=k, radius_factor=BOUND_FACTOR
        )
        return found[1][:, -1]

    kth = np.concatenate(map_in_threads(bound, np.unique(home), n_jobs=n_jobs))
    sizes = np.sqrt(norms)
    error = rounding(queries.shape[1]) * (2 * sizes + np.sqrt(np.maximum(kth, 0))) ** 2
    limits = kth + 2 * error
    reaches = heights <= np.sqrt(limits)[:, None]

    def visit(cell: int) -> tuple[IntArray, IntArray, FloatArray]:
        chosen = np.flatnonzero(reaches[:, cell])
        part = slice(index.start[cell], index.start[cell + 1])
        squared = index.norms[part] - 2 * (queries[chosen] @ index.points[part].T)
        squared += norms[chosen, None]
        query, point = np.nonzero(squared <= limits[chosen, None])
        return chosen[query], point + part.start, squared[query, point]

    visited = map_in_threads(visit, np.flatnonzero(reaches.any(axis=0)), n_jobs=n_jobs)
    query, point, squared = (np.concatenate(parts) for parts in zip(*visited, strict=True))
    order = np.lexsort((point, squared, query))
    query, point = query[order], point[order]
    rank = np.arange(len(query)) - np.searchsorted(query, query)
    is_listed = rank < k + SPARE_NEIGHBORS
    listed = np.full((len(positions), k + SPARE_NEIGHBORS), -1, dtype=np.int32)
    listed[query[is_listed], rank[is_listed]] = point[is_listed]
    return listed


def _squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return squared distances in double precision."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    squared = np.einsum("nd,nd->n", A, A)[:, None] + np.einsum("nd,nd->n", B, B) - 2 * A @ B.T
    return np.asarray(np.maximum(squared, 0.0))


def _near_cells(index: VoronoiIndex, first: int, last: int, n_cells: int) -> IntArray:
    """Return the nearest cells, by their centers, of the cells first..last-1, nearest first."""
    centers = index.centers
    half_norms = np.float32(0.5) * np.einsum("cd,cd->c", centers, centers)
    gaps = half_norms - centers[first:last] @ centers.T
    gaps[np.arange(last - first), np.arange(first, last)] = -np.inf  # each is its own nearest
    if n_cells < len(centers):
        near = np.argpartition(gaps, n_cells - 1, axis=1)[:, :n_cells]
    else:
        near = np.broadcast_to(np.arange(len(centers)), gaps.shape)
    by_gap = np.argsort(np.take_along_axis(gaps, near, axis=1), axis=1, kind="stable")
    return np.take_along_axis(near, by_gap, axis=1).astype(np.int32)


def _visit_cells(
    index: VoronoiIndex,
    n_neighbors: int,
    radius: Radius,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> tuple[IntArray, FloatArray]:
    """Return the nearest points of all points, without themselves, and squared distances."""
    n = len(index.points)
    n_listed = min(n_neighbors + SPARE_NEIGHBORS, n - 1)
    nearest = np.empty((n, n_listed), dtype=np.int32)
    squared = np.empty((n, n_listed), dtype=np.float32)
    sizes = np.diff(index.start)

    def search(cells: tuple[int, int]) -> None:
        near = list(_near_cells(index, *cells, radius.n_cells))
        for cell, nearest_cells in zip(range(*cells), near, strict=True):
            if sizes[nearest_cells].sum() <= n_neighbors:
                nearest_cells = _near_cells(index, cell, cell + 1, len(sizes))[0]
            part = slice(index.start[cell], index.start[cell + 1])
            found, distances = index.search(
                index.points[part],
                cell,
                nearest_cells,
                n_found=n_listed + 1,
                n_neighbors=n_neighbors + 1,
                radius_factor=radius.factor,
            )
            is_other = found != np.arange(part.start, part.stop)[:, None]
            is_other[is_other.all(axis=1), -1] = False  # among many duplicates
            nearest[part] = found[is_other].reshape(-1, n_listed)
            squared[part] = distances[is_other].reshape(-1, n_listed)

    pieces = chunk_ranges(len(index.centers), CELLS_AT_ONCE)
    map_in_threads(search, pieces, n_jobs=n_jobs, progress=progress)
    return nearest, squared
