"""A sample of points with their true neighbors, which tunes and verifies an approximate search."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._threads import map_in_threads
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.graph._search.ranking import rank_candidates
from graphmargin.graph._search.voronoi_index import VoronoiIndex, rounding

SAMPLE_SIZE = 800
COMPLETE_EVERY = 8
"""One in so many sampled points is compared with all points that can be among its neighbors."""
COMPLETE_QUANTILE, FACTOR_MARGIN, CELL_SHARE = 0.99, 1.5, 0.15
"""Others are compared with those within 1.5 times the factor that 99 % of the neighbors of these
points need, or with 15 % of the cells if these are more.
"""
BOUND_CELLS, BOUND_FACTOR = 20, 0.3
"""Cells that are visited to bound the distance of the k-th neighbor of a sampled point."""
MAX_TIES = 100
"""Largest number of points whose distances in float32 do not differ from that of a neighbor."""
RANK_MISSES = 0.1
"""Share of the missed neighbors whose cell is not among the near ones."""
MISSES_AFTER_PASS = (1.2, 1.43)
"""Bound ``1.2 m^1.43`` on the share of neighbors that is missed after a pass, if m was before."""
AIMED_MISSES = 0.9
"""Share of the allowed misses at which a search without refinement aims."""
RISK = 1.25
"""Factor on the cost of a refinement, which may be followed by another pass."""
POINT_COST, CELL_COST, PASS_COST = (0.5, 0.04), (10.0, 0.1), (2500.0, 12.0)
"""Nanoseconds, constant and for each feature, of a visited point, a near cell and a pass."""


@dataclass(frozen=True)
class Radius:
    """A rule that says with which points a point is compared."""

    factor: float
    """Multiple of the distance to the k-th neighbor so far, within which points may be."""
    n_cells: int
    """Number of cells, with the nearest centers, in which they may be."""


@dataclass(frozen=True)
class JoinSample:
    """Some points of an index, with their true neighbors."""

    X: FloatArray
    index: VoronoiIndex
    positions: IntArray
    kth: FloatArray
    """Squared distance of the k-th true neighbor of each point."""
    ratios: FloatArray
    """Factor with which each cell is visited from each point, by the rank of the cell."""
    needed: FloatArray
    """Factor with which each true neighbor is found."""
    rank: IntArray
    """Rank of its cell, by the distance of the center from that of the point's own cell."""

    def mean_visited(self, factor: float) -> float:
        """Return the mean number of points in the cells that a factor visits."""
        return float((self.ratios <= factor).sum(axis=1).mean()) * self._cell_size

    @property
    def n_neighbors(self) -> int:
        """Number k of neighbors."""
        return int(self.needed.shape[1])

    @property
    def _cell_size(self) -> float:
        return len(self.index.points) / len(self.index.centers)

    def recall(self, nearest: IntArray) -> float:
        """Return the share of the true neighbors that is listed."""
        rows, listed = self.index.order[self.positions], nearest[self.positions]
        _, squared = rank_listed(self.X, self.index, rows, listed, self.n_neighbors)
        return float((squared <= self.kth[:, None]).mean())

    def radius(self, recall: float) -> Radius:
        """Return the radius with which a recall costs least, with a refinement or without one."""
        radius = self.sufficient_radius(1 - AIMED_MISSES * (1 - recall))
        smaller = self.sufficient_radius(_recall_before_pass(recall))
        refined = self._nanoseconds_of(smaller) + _nanoseconds(PASS_COST, self.X.shape[1])
        is_refined = RISK * refined < self._nanoseconds_of(radius)
        return smaller if is_refined else radius

    def sufficient_radius(self, share: float) -> Radius:
        """Return a radius within which a share of the true neighbors is.

        Few neighbors are missed because their cell is not near, because those of a point in a
        sparse region would be missed together.
        """
        by_factor, by_rank = 1 - (1 - RANK_MISSES) * (1 - share), 1 - RANK_MISSES * (1 - share)
        factor = float(np.quantile(self.needed, by_factor, method="higher"))
        rank = int(np.quantile(self.rank[self.needed <= factor], by_rank, method="higher"))
        return Radius(max(factor, 0.0), rank + 1)

    def _nanoseconds_of(self, radius: Radius) -> float:
        """Return the expected time of a search for one point, beyond that in its own cell."""
        d = self.X.shape[1]
        # A cell is visited from a share of the points of another one. About as many of its own
        # points are near enough to the bisector to be visited, and more if distances vary.
        visits = (self.ratios[:, : radius.n_cells] <= radius.factor).mean(axis=0)
        n_points = (visits * np.minimum(2 * visits, 1.0)).sum() * self._cell_size
        return float(
            n_points * _nanoseconds(POINT_COST, d) + radius.n_cells * _nanoseconds(CELL_COST, d)
        )


def _nanoseconds(cost: tuple[float, float], n_features: int) -> float:
    return cost[0] + cost[1] * n_features


def _recall_before_pass(recall: float) -> float:
    """Return the recall that a pass of refinement raises to a given one."""
    factor, power = MISSES_AFTER_PASS
    return float(1 - min((1 - recall) / factor, 1.0) ** (1 / power))


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


def draw_join_sample(
    X: FloatArray,
    index: VoronoiIndex,
    n_neighbors: int,
    random_state: np.random.RandomState,
    n_jobs: int | None,
) -> JoinSample:
    """Return a sample of points with their true neighbors."""
    positions = np.sort(random_state.choice(len(X), min(SAMPLE_SIZE, len(X)), replace=False))
    own_cell = np.searchsorted(index.start, positions, side="right") - 1
    from_centers = _squared_distances(index.points[positions], index.centers)
    center_distances = np.sqrt(_squared_distances(index.centers[own_cell], index.centers))
    from_own_center = np.take_along_axis(from_centers, own_cell[:, None], axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        bisector_distances = (from_centers - from_own_center) / (2 * center_distances)
    bisector_distances[center_distances == 0] = 0.0
    center_distances[np.arange(len(own_cell)), own_cell] = -1.0  # each cell is its own nearest
    listed = _true_neighbors(index, positions, own_cell, bisector_distances, n_neighbors, n_jobs)
    neighbors, squared = rank_listed(X, index, index.order[positions], listed, n_neighbors)
    kth = np.sqrt(squared[:, -1:])
    position = np.empty(len(X), dtype=index.order.dtype)
    position[index.order] = np.arange(len(X))
    cell = np.searchsorted(index.start, position[neighbors], side="right") - 1
    needed = np.maximum(
        np.take_along_axis(bisector_distances, cell, axis=1),
        index.bisector_distances(position[neighbors], cell, own_cell[:, None]),
    )
    by_distance = np.argsort(center_distances[::COMPLETE_EVERY], axis=1)
    by_center = np.take_along_axis(bisector_distances[::COMPLETE_EVERY], by_distance, axis=1)
    distance = np.take_along_axis(center_distances, cell, axis=1)
    return JoinSample(
        X,
        index,
        positions,
        kth=squared[:, -1],
        ratios=_ratios(by_center, kth[::COMPLETE_EVERY]),
        needed=_ratios(needed, kth),
        rank=np.stack(
            [(center_distances < column[:, None]).sum(axis=1) for column in distance.T], axis=1
        ),
    )


def _ratios(bisector_distances: FloatArray, kth: FloatArray) -> FloatArray:
    """Return distances from bisectors, divided by the distance to the k-th neighbor (or by 0)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(bisector_distances / kth, nan=0.0, posinf=1e9, neginf=0.0)


def _true_neighbors(
    index: VoronoiIndex,
    positions: IntArray,
    own_cell: IntArray,
    bisector_distances: FloatArray,
    n_neighbors: int,
    n_jobs: int | None,
) -> IntArray:
    """Return the positions of the nearest points of a sample, themselves included, -1 for none.

    The points of few cells bound the distance of the k-th neighbor. Cells within this bound are
    visited for one in eight points, and within a smaller one, which these suggest, for the others.
    """
    k = n_neighbors + 1  # with the point itself
    queries, norms = index.points[positions], index.norms[positions]

    own_cells = np.unique(own_cell)
    near = index.near_cells(own_cells, min(BOUND_CELLS, len(index.centers)))

    def bound(i: int) -> FloatArray:
        found = index.search(
            queries[own_cell == own_cells[i]],
            own_cells[i],
            near[i],
            n_found=k,
            n_neighbors=k,
            radius_factor=BOUND_FACTOR,
        )
        return found[1][:, -1]

    kth = np.concatenate(map_in_threads(bound, range(len(own_cells)), n_jobs=n_jobs))
    size = 2 * np.sqrt(norms) + np.sqrt(np.maximum(kth, 0))
    limits = kth + 2 * rounding(queries.shape[1]) * size**2
    ratios = _ratios(bisector_distances, np.sqrt(limits)[:, None])
    listed = np.full((len(positions), k + MAX_TIES), -1, dtype=np.int32)

    def visit(is_visited: BoolArray) -> None:
        def points_of(cell: int) -> tuple[IntArray, IntArray, FloatArray]:
            chosen = np.flatnonzero(is_visited[:, cell])
            part = slice(index.start[cell], index.start[cell + 1])
            closeness = queries[chosen] @ index.points[part].T
            closeness -= index.norms[part] / 2
            query, point = np.nonzero(closeness >= (norms - limits)[chosen, None] / 2)
            found = chosen[query]
            return found, point + part.start, norms[found] - 2 * closeness[query, point]

        cells = np.flatnonzero(is_visited.any(axis=0)).tolist()
        parts = zip(*map_in_threads(points_of, cells, n_jobs=n_jobs), strict=True)
        query, point, squared = (np.concatenate(part) for part in parts)
        order = np.lexsort((point, squared, query))
        query, point = query[order], point[order]
        rank = np.arange(len(query)) - np.searchsorted(query, query)
        is_listed = rank < listed.shape[1]
        listed[query[is_listed], rank[is_listed]] = point[is_listed]

    is_complete = np.arange(len(positions))[:, None] % COMPLETE_EVERY == 0
    visit((ratios <= 1) & is_complete)
    nearest = listed[::COMPLETE_EVERY, :k]
    cell = np.searchsorted(index.start, nearest, side="right") - 1
    needed = np.take_along_axis(ratios[::COMPLETE_EVERY], cell, axis=1)[nearest >= 0]
    factor = max(
        FACTOR_MARGIN * float(np.quantile(needed, COMPLETE_QUANTILE)),
        float(np.quantile(ratios[::COMPLETE_EVERY], CELL_SHARE)),
    )
    visit((ratios <= min(factor, 1.0)) & ~is_complete)
    is_short = np.any(listed[:, :k] < 0, axis=1, keepdims=True)
    if is_short.any():
        visit(np.broadcast_to(is_short, ratios.shape))
    return listed


def _squared_distances(A: FloatArray, B: FloatArray) -> FloatArray:
    """Return squared distances in double precision."""
    A, B = A.astype(np.float64), B.astype(np.float64)
    squared = np.einsum("nd,nd->n", A, A)[:, None] + np.einsum("nd,nd->n", B, B) - 2 * A @ B.T
    return np.asarray(np.maximum(squared, 0.0))
