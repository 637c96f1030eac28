"""The map from points to the partitions that own them or have a replica of them.

A partition is a region of space whose rows fit in one task. k-means on a sample gives a few *cells*
for each partition, and a partition consists of cells that are close together; all partitions have
about the same number of rows. A row x is owned by the partition of the cell with the nearest
center. Another partition has a *replica* of the row, as a candidate neighbor of the rows that it
owns, if the row is close enough: a point of cell b is at least

    ``h(x, b) = (norm(x - c_b)^2 - norm(x - c_a)^2) / (2 norm(c_b - c_a))``

away from x, whose nearest center is c_a (see `graph._search.voronoi_index`), and the partition
of b has a replica of x if ``h(x, b) <= radius * spread_b``, where spread_b is the mean distance of
the points of b from their center. With the chosen radius, the partitions of a sample of rows have
99 percent of their exact neighbors. So every partition finds the neighbors of its rows by itself.

If there are many cells, a row is only compared with those near the center of its *coarse cell*.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import RandomState

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.storage import Folder
from graphmargin.graph._search.voronoi_index import (
    Scale,
    nearest_centers,
    scale_of,
    two_level_kmeans,
)

CELLS_PER_PARTITION = 8
"""Number of cells of a partition; more of them balance the partitions, but need more replicas."""
SAMPLE_PER_CELL = 100
"""Number of rows from which the center, size and spread of a cell are estimated."""
MAX_SAMPLE = 500_000
NEAR_CELLS = 256
"""Number of cells with which the rows of a coarse cell are compared."""
BLOCK_ROWS = 4096
FILE = "partition_map.pack"


@dataclass(frozen=True)
class PartitionMap:
    """The map from points to the partitions that own them or have a replica of them.

    Attributes
    ----------
    scale : Scale
        Scale of the rows.
    centers : float32 array of shape (n_cells, d)
    spread : float32 array of shape (n_cells,)
        Mean distance of the points of a cell from its center.
    partition : array of shape (n_cells,)
        Partition that each cell belongs to.
    coarse_centers : float32 array of shape (n_coarse_cells, d)
    near : array of shape (n_coarse_cells, n_near)
        Cells with which the rows of a coarse cell are compared.
    n_partitions : int
        Number of partitions; some may be empty.
    radius : float
        Largest distance of a replica from a cell, in units of the spread.
    """

    scale: Scale
    centers: FloatArray
    spread: FloatArray
    partition: IntArray
    coarse_centers: FloatArray
    near: IntArray
    n_partitions: int
    radius: float = 0.0

    def assign(self, X: FloatArray) -> IntArray:
        """Return the partition that owns each row."""
        owners = np.empty(len(X), dtype=np.int32)
        for rows, cells, nearest, _ in self._candidate_cells(X):
            owners[rows] = self.partition[cells[nearest]]
        return owners

    def replicas(self, X: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the owner of each row, and pairs of a row and a partition with a replica of it."""
        owners = np.empty(len(X), dtype=np.int32)
        replicas = [np.zeros((0, 2), dtype=np.int64)]
        for rows, cells, nearest, radius in self._candidate_cells(X):
            owners[rows] = self.partition[cells[nearest]]
            row, cell = np.nonzero(radius <= self.radius)
            pairs = np.column_stack([rows[row], self.partition[cells[cell]]])
            replicas.append(np.unique(pairs[pairs[:, 1] != owners[pairs[:, 0]]], axis=0))
        row, partition = np.concatenate(replicas).T
        return owners, row, partition

    def needed_radius(self, X: FloatArray, partitions: IntArray) -> FloatArray:
        """Return the smallest radius with which a partition has each row, 0 for its owner."""
        needed = np.full(len(X), np.inf)
        for rows, cells, nearest, radius in self._candidate_cells(X):
            is_inside = self.partition[cells] == partitions[rows, None]
            is_owned = self.partition[cells[nearest]] == partitions[rows]
            smallest = np.where(is_inside, radius, np.inf).min(axis=1)
            needed[rows] = np.where(is_owned, 0.0, smallest)
        return needed

    def _candidate_cells(
        self, X: FloatArray
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Yield rows of a coarse cell, its cells, the nearest one of each row, and h / spread."""
        for first in range(0, len(X), BLOCK_ROWS):
            points = self.scale(X[first : first + BLOCK_ROWS])
            coarse_cell = nearest_centers(points, self.coarse_centers, None, 1)
            for coarse in np.unique(coarse_cell):
                rows = np.flatnonzero(coarse_cell == coarse)
                cells = self.near[coarse]
                centers = self.centers[cells]
                squares = np.einsum("cd,cd->c", centers, centers)
                # norm(x - c)^2 up to norm(x)^2, which cancels in differences
                distance = squares - 2 * (points[rows] @ centers.T)
                nearest = distance.argmin(axis=1)
                gaps = _pairwise_distances(centers)[nearest] * self.spread[cells]
                excess = distance - distance[np.arange(len(rows)), nearest, None]
                radius = np.divide(
                    excess, 2 * gaps, out=np.full_like(excess, np.inf), where=gaps > 0
                )
                radius[np.arange(len(rows)), nearest] = 0.0
                yield first + rows, cells, nearest, radius

    def save(self, folder: Folder) -> None:
        """Write the map to the folder of a run."""
        arrays = {**vars(self), "center": self.scale.center, "unit": self.scale.unit}
        del arrays["scale"]
        folder.write(FILE, {name: np.asarray(array) for name, array in arrays.items()})


def load_partition_map(folder: Folder) -> PartitionMap:
    """Return the map that `PartitionMap.save` has written."""
    arrays = folder.read(FILE)
    scale = Scale(arrays.pop("center"), float(arrays.pop("unit")))
    n_partitions, radius = int(arrays.pop("n_partitions")), float(arrays.pop("radius"))
    return PartitionMap(scale, n_partitions=n_partitions, radius=radius, **arrays)


def make_partition_map(sample: FloatArray, n_partitions: int, seed: int) -> PartitionMap:
    """Return a map to partitions of about the same number of rows, with a radius of 0.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(2000, 3))
    >>> sizes = np.bincount(make_partition_map(X, 4, seed=0).assign(X))
    >>> len(sizes), bool(sizes.max() < 700)
    (4, True)
    """
    scale, random = scale_of(sample), RandomState(seed)
    points = scale(sample)
    n_cells = 1 if n_partitions == 1 else min(len(sample), CELLS_PER_PARTITION * n_partitions)
    centers = two_level_kmeans(points, n_cells, random, n_jobs=1)
    cell = nearest_centers(points, centers, None, 1)
    sizes = np.bincount(cell, minlength=len(centers))
    distances = np.linalg.norm(points - centers[cell], axis=1)
    spread = np.bincount(cell, distances, minlength=len(centers)) / np.maximum(sizes, 1)
    partition = _balance_cells(centers, sizes + 1e-3, min(n_partitions, len(centers)))
    coarse_centers, near = centers.mean(axis=0, keepdims=True), np.arange(len(centers))[None]
    if len(centers) > NEAR_CELLS:
        coarse_centers = two_level_kmeans(centers, int(np.sqrt(len(centers))), random, n_jobs=1)
        near = np.array([_nearest_cells(center, centers) for center in coarse_centers])
    return PartitionMap(
        scale, centers, spread.astype(np.float32), partition, coarse_centers, near, n_partitions
    )


def with_replica_radius(
    partitions: PartitionMap, queries: FloatArray, neighbors: FloatArray, share: float
) -> PartitionMap:
    """Return the map with the smallest radius that finds a `share` of exact neighbors.

    Parameters
    ----------
    partitions : PartitionMap
    queries : array of shape (m, d)
    neighbors : array of shape (m, k, d)
        The exact neighbors of each query, as rows.
    share : float

    Examples
    --------
    >>> X = np.linspace(0, 1, 1001)[:, None]
    >>> neighbors = np.stack([X[:-1], X[1:]], axis=1)[1:]
    >>> partitions = make_partition_map(X, 2, seed=0)
    >>> partitions = with_replica_radius(partitions, X[1:-1], neighbors[: len(X) - 2], 1.0)
    >>> owners, row, partition = partitions.replicas(X)
    >>> bool((np.abs(np.diff(owners)) == 1).sum() == 1), len(row) >= 1
    (True, True)
    """
    m, k, d = neighbors.shape
    owners = np.repeat(partitions.assign(queries), k)
    needed = partitions.needed_radius(neighbors.reshape(m * k, d), owners)
    # The larger radius of two halves of the sample, so that each half verifies the other.
    halves = (needed[half::2] for half in (0, 1))
    radius = max(float(np.quantile(half, share, method="higher")) for half in halves if len(half))
    if np.isinf(radius):
        radius = float(needed[np.isfinite(needed)].max())
    return replace(partitions, radius=radius)


def sample_size(n_partitions: int) -> int:
    """Return the number of rows from which to make a map."""
    return min(MAX_SAMPLE, SAMPLE_PER_CELL * CELLS_PER_PARTITION * n_partitions)


def _balance_cells(centers: FloatArray, sizes: FloatArray, n_partitions: int) -> IntArray:
    """Return the partition of each cell, by halving along the axis of largest variance."""
    partition = np.zeros(len(centers), dtype=np.int32)

    def split(cells: IntArray, first: int, last: int) -> None:
        if last - first == 1:
            partition[cells] = first
            return
        middle = (first + last) // 2
        offsets = centers[cells] - np.average(centers[cells], axis=0, weights=sizes[cells])
        spread = offsets.T @ (offsets * sizes[cells, None])
        axis = np.linalg.eigh(spread)[1][:, -1]
        order = cells[np.argsort(offsets @ axis, kind="stable")]
        before = np.cumsum(sizes[order])
        cut = int(np.searchsorted(before, before[-1] * (middle - first) / (last - first)))
        # Each side needs at least as many cells as it will have partitions.
        cut = min(max(cut, middle - first), len(order) - (last - middle))
        split(order[:cut], first, middle)
        split(order[cut:], middle, last)

    split(np.arange(len(centers)), 0, n_partitions)
    return partition


def _pairwise_distances(centers: FloatArray) -> FloatArray:
    """Return the distances between all centers."""
    squares = np.einsum("cd,cd->c", centers, centers)
    products = squares[:, None] + squares - 2 * (centers @ centers.T)
    return np.asarray(np.sqrt(np.maximum(products, 0.0)))


def _nearest_cells(center: FloatArray, centers: FloatArray) -> IntArray:
    squares = np.square(centers - center).sum(axis=1)
    return np.sort(np.argsort(squares, kind="stable")[:NEAR_CELLS])
