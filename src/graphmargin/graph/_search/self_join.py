"""Approximate nearest neighbors of all rows of a table among themselves.

Every point is compared with points of its own cell and of near cells (see `voronoi_index`). Passes
over neighbors of neighbors complete the lists (see `refinement`) where this is cheaper than to
visit more cells. The true neighbors of a sample of points tell which cells must be visited (see
`join_sample`), and, after each step, which share of them was found.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._blocks import chunk_ranges
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.graph._search.join_sample import JoinSample, Radius, draw_join_sample
from graphmargin.graph._search.refinement import refine_neighbors
from graphmargin.graph._search.voronoi_index import VoronoiIndex, make_rough_index, scale_of

SPARE_NEIGHBORS = 6
"""Number of listed neighbors beyond the k that are asked for."""
RANKED_SPARE = 3
"""Number of them whose distances are computed in double precision."""
MAX_PASSES = 2
MISSES_AGAIN = 0.3
"""Share of the allowed misses at which a second search aims, if the first one misses too many."""
CELLS_AT_ONCE = 16


@dataclass(frozen=True)
class NeighborCandidates:
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
) -> NeighborCandidates | None:
    """Return lists that have a share `recall` of the true neighbors of the rows of X.

    Returns None if an exact search reads at most `exact_work` features for a query, so that no
    approximation is worthwhile.
    """
    index = make_rough_index(X, scale_of(X), random_state, n_jobs)
    sample = draw_join_sample(X, index, n_neighbors, random_state, n_jobs)
    if sample.mean_visited(1.0) * X.shape[1] <= exact_work:
        return None
    nearest = _visit_cells(index, n_neighbors, sample.radius(recall), n_jobs, progress)
    nearest, share = _refine_until(recall, nearest, sample, n_jobs)
    if share < recall:  # a refinement finds no neighbor to which no path of neighbors leads
        radius = sample.sufficient_radius(1 - MISSES_AGAIN * (1 - recall))
        nearest = _visit_cells(index, n_neighbors, radius, n_jobs, progress)
        nearest, share = _refine_until(recall, nearest, sample, n_jobs)
    return NeighborCandidates(index, nearest[:, : n_neighbors + RANKED_SPARE], share)


def _refine_until(
    recall: float, nearest: IntArray, sample: JoinSample, n_jobs: int | None
) -> tuple[IntArray, float]:
    """Return lists after the passes that a recall needs, if few are enough, and their recall."""
    n_ranked = sample.n_neighbors + RANKED_SPARE
    share = sample.recall(nearest[:, :n_ranked])
    gain = np.inf
    for _ in range(MAX_PASSES):
        if share >= recall or 1 - share > gain * (1 - recall):
            break
        before = share
        nearest = refine_neighbors(sample.index.points, nearest, n_jobs)
        share = sample.recall(nearest[:, :n_ranked])
        gain = (1 - before) / max(1 - share, 1e-9)  # of the next pass, at best
    return nearest, share


def _visit_cells(
    index: VoronoiIndex,
    n_neighbors: int,
    radius: Radius,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> IntArray:
    """Return the positions of the nearest points of all points, without themselves."""
    n = len(index.points)
    n_listed = min(n_neighbors + SPARE_NEIGHBORS, n - 1)
    nearest = np.empty((n, n_listed), dtype=np.int32)
    sizes = np.diff(index.start)

    def search(cells: tuple[int, int]) -> None:
        all_near = index.near_cells(np.arange(*cells), radius.n_cells)
        for cell in range(*cells):
            near = all_near[cell - cells[0]]
            if sizes[near].sum() <= n_neighbors:
                near = index.near_cells(np.array([cell]), len(sizes))[0]
            part = slice(index.start[cell], index.start[cell + 1])
            found, _ = index.search(
                index.points[part],
                cell,
                near,
                n_found=n_listed + 1,
                n_neighbors=n_neighbors + 1,
                radius_factor=radius.factor,
            )
            is_other = found != np.arange(part.start, part.stop)[:, None]
            is_other[is_other.all(axis=1), -1] = False  # among many duplicates
            nearest[part] = found[is_other].reshape(-1, n_listed)

    pieces = chunk_ranges(len(index.centers), CELLS_AT_ONCE)
    map_in_threads(search, pieces, n_jobs=n_jobs, progress=progress)
    return nearest
