"""Where rows live: a partition of space into regions, each of which fits in one task.

k-means on a sample gives a few *cells* for each region, and cells that are close together make up
a region; all regions hold about the same number of rows. The cell of the nearest center is the
home of a row x. To other regions the row is a *guest*, a candidate for their neighbors only, where
it is near enough: a point of cell b is at least

    ``h(x, b) = (norm(x - c_b)^2 - norm(x - c_a)^2) / (2 norm(c_b - c_a))``

away from x, whose own center is c_a (see `graphmargin.graph.cells`), and x is a guest of the
region of b if ``h(x, b) <= reach * spread_b``, spread_b being the mean distance of the points of b
from their center. The true neighbors of a sample of rows tell the reach that finds 99 percent of
them. So every region finds the neighbors of its own rows by itself.

With many cells, a row looks only at those near the center of its *district*, a coarser cell.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import RandomState

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.storage import Folder
from graphmargin.graph.cells import Scale, nearest_centers, scale_of, two_level_means

CELLS_IN_A_REGION = 8
"""More of them balance the regions better, and give them a longer border."""
SAMPLE_A_CELL = 100
"""Rows from which a cell's center, size and spread are estimated."""
MAX_SAMPLE = 500_000
NEAR_CELLS = 256
"""Cells that a row of a district looks at."""
ROWS_AT_ONCE = 4096


@dataclass(frozen=True)
class Regions:
    """A partition of space.

    Attributes
    ----------
    scale : Scale
        Of the rows.
    centers : float32 array of shape (n_cells, d)
    spread : float32 array of shape (n_cells,)
        Mean distance of the points of a cell from its center.
    region : array of shape (n_cells,)
        Region that each cell belongs to.
    districts : float32 array of shape (n_districts, d)
    near : array of shape (n_districts, n_near)
        Cells that rows of a district look at.
    n_regions : int
        Number of regions, of which some may be empty.
    reach : float
        How near a guest must be, in units of the spread.
    """

    scale: Scale
    centers: FloatArray
    spread: FloatArray
    region: IntArray
    districts: FloatArray
    near: IntArray
    n_regions: int
    reach: float = 0.0

    def homes(self, X: FloatArray) -> IntArray:
        """Return the region that each row lives in."""
        homes = np.empty(len(X), dtype=np.int32)
        for rows, cells, own, _ in self._look(X):
            homes[rows] = self.region[cells[own]]
        return homes

    def guests(self, X: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the home of each row, and pairs of a row and a region whose guest it is."""
        homes = np.empty(len(X), dtype=np.int32)
        visits = [np.zeros((0, 2), dtype=np.int64)]
        for rows, cells, own, needed in self._look(X):
            homes[rows] = self.region[cells[own]]
            row, cell = np.nonzero(needed <= self.reach)
            pairs = np.column_stack([rows[row], self.region[cells[cell]]])
            visits.append(np.unique(pairs[pairs[:, 1] != homes[pairs[:, 0]]], axis=0))
        row, region = np.concatenate(visits).T
        return homes, row, region

    def needed_reach(self, X: FloatArray, regions: IntArray) -> FloatArray:
        """Return the reach from which on each row is known in one region: 0 at home."""
        found = np.full(len(X), np.inf)
        for rows, cells, own, needed in self._look(X):
            inside = self.region[cells] == regions[rows, None]
            at_home = self.region[cells[own]] == regions[rows]
            nearest = np.where(inside, needed, np.inf).min(axis=1)
            found[rows] = np.where(at_home, 0.0, nearest)
        return found

    def _look(self, X: FloatArray) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Yield rows of a district, its cells, the own one of each row, and h / spread."""
        for first in range(0, len(X), ROWS_AT_ONCE):
            points = self.scale(X[first : first + ROWS_AT_ONCE])
            district = nearest_centers(points, self.districts, None, 1)
            for d in np.unique(district):
                some = np.flatnonzero(district == d)
                cells = self.near[d]
                centers = self.centers[cells]
                squares = np.einsum("cd,cd->c", centers, centers)
                # norm(x - c)^2 up to norm(x)^2, which cancels in differences
                distance = squares - 2 * (points[some] @ centers.T)
                own = distance.argmin(axis=1)
                gaps = _distances(centers)[own] * self.spread[cells]
                behind = distance - distance[np.arange(len(some)), own, None]
                needed = np.divide(
                    behind, 2 * gaps, out=np.full_like(behind, np.inf), where=gaps > 0
                )
                needed[np.arange(len(some)), own] = 0.0
                yield first + some, cells, own, needed

    def save(self, folder: Folder, name: str) -> None:
        """Write to a pack."""
        folder.write(
            name,
            {
                "center": self.scale.center,
                "unit": np.array(self.scale.unit),
                "centers": self.centers,
                "spread": self.spread,
                "region": self.region,
                "districts": self.districts,
                "near": self.near,
                "n_regions": np.array(self.n_regions),
                "reach": np.array(self.reach),
            },
        )


def load_regions(folder: Folder, name: str) -> Regions:
    """Return what `Regions.save` has written."""
    found = folder.read(name)
    scale = Scale(found.pop("center"), float(found.pop("unit")))
    n_regions, reach = int(found.pop("n_regions")), float(found.pop("reach"))
    return Regions(scale, n_regions=n_regions, reach=reach, **found)


def make_regions(sample: FloatArray, n_regions: int, seed: int) -> Regions:
    """Return regions of about the same number of rows, without a reach yet.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> regions = make_regions(X, 4, seed=0)
    >>> sizes = np.bincount(regions.homes(X))
    >>> len(sizes), bool(sizes.max() < 700)
    (4, True)
    """
    scale, random = scale_of(sample), RandomState(seed)
    points = scale(sample)
    n_cells = 1 if n_regions == 1 else min(len(sample), CELLS_IN_A_REGION * n_regions)
    centers = two_level_means(points, n_cells, random, n_jobs=1)
    home = nearest_centers(points, centers, None, 1)
    sizes = np.bincount(home, minlength=len(centers))
    distances = np.linalg.norm(points - centers[home], axis=1)
    spread = np.bincount(home, distances, minlength=len(centers)) / np.maximum(sizes, 1)
    region = _balanced(centers, sizes + 1e-3, min(n_regions, len(centers)))
    districts, near = centers.mean(axis=0, keepdims=True), np.arange(len(centers))[None]
    if len(centers) > NEAR_CELLS:
        districts = two_level_means(centers, int(np.sqrt(len(centers))), random, n_jobs=1)
        near = np.array([_nearest_to(center, centers) for center in districts])
    return Regions(scale, centers, spread.astype(np.float32), region, districts, near, n_regions)


def with_reach(
    regions: Regions, queries: FloatArray, neighbors: FloatArray, share: float
) -> Regions:
    """Return regions whose guests include a `share` of the true neighbors of some rows.

    Parameters
    ----------
    regions : Regions
    queries : array of shape (m, d)
    neighbors : array of shape (m, k, d)
        The true neighbors of each query, as rows.
    share : float

    Examples
    --------
    >>> X = np.linspace(0, 1, 1001)[:, None]
    >>> regions = make_regions(X, 2, seed=0)
    >>> neighbors = np.stack([X[:-1], X[1:]], axis=1)[1:]
    >>> regions = with_reach(regions, X[1:-1], neighbors[: len(X) - 2], 1.0)
    >>> homes, row, region = regions.guests(X)
    >>> bool((np.abs(np.diff(homes)) == 1).sum() == 1), len(row) >= 1
    (True, True)
    """
    m, k, d = neighbors.shape
    needed = regions.needed_reach(neighbors.reshape(m * k, d), np.repeat(regions.homes(queries), k))
    # Each half of the sample verifies the other.
    halves = (needed[half::2] for half in (0, 1))
    reach = max(float(np.quantile(half, share, method="higher")) for half in halves if len(half))
    if np.isinf(reach):
        reach = float(needed[np.isfinite(needed)].max())
    return replace(regions, reach=reach)


def sample_size(n_regions: int) -> int:
    """Return the number of rows that regions should be made from."""
    return min(MAX_SAMPLE, SAMPLE_A_CELL * CELLS_IN_A_REGION * n_regions)


def _balanced(centers: FloatArray, sizes: FloatArray, n_regions: int) -> IntArray:
    """Return a region for each cell: halves by size, along the axis of largest variance."""
    region = np.zeros(len(centers), dtype=np.int32)

    def split(cells: IntArray, first: int, last: int) -> None:
        if last - first == 1:
            region[cells] = first
            return
        middle = (first + last) // 2
        offsets = centers[cells] - np.average(centers[cells], axis=0, weights=sizes[cells])
        spread = offsets.T @ (offsets * sizes[cells, None])
        axis = np.linalg.eigh(spread)[1][:, -1]
        order = cells[np.argsort(offsets @ axis, kind="stable")]
        before = np.cumsum(sizes[order])
        cut = int(np.searchsorted(before, before[-1] * (middle - first) / (last - first)))
        # As many cells on each side as there are regions to come, at least.
        cut = min(max(cut, middle - first), len(order) - (last - middle))
        split(order[:cut], first, middle)
        split(order[cut:], middle, last)

    split(np.arange(len(centers)), 0, n_regions)
    return region


def _distances(centers: FloatArray) -> FloatArray:
    """Return the distances between all centers."""
    squares = np.einsum("cd,cd->c", centers, centers)
    products = squares[:, None] + squares - 2 * (centers @ centers.T)
    return np.asarray(np.sqrt(np.maximum(products, 0.0)))


def _nearest_to(center: FloatArray, centers: FloatArray) -> IntArray:
    squares = np.square(centers - center).sum(axis=1)
    return np.sort(np.argsort(squares, kind="stable")[:NEAR_CELLS])
