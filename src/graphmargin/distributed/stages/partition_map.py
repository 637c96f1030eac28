"""The map from points to the partitions that own them or have a replica of them.

A partition is a region of space whose rows fit in one task. k-means on a sample gives a few *cells*
for each partition, and cells that are close together make up a partition; all partitions hold about
the same number of rows. A row x is owned by the partition of the cell with the nearest center.
Other partitions have a *replica* of the row, a candidate for the neighbors of their own rows, where
it is near enough: a point of cell b is at least

    ``h(x, b) = (norm(x - c_b)^2 - norm(x - c_a)^2) / (2 norm(c_b - c_a))``

away from x, whose own center is c_a (see `graphmargin.graph.voronoi_index`), and the partition of b
has a replica of x if ``h(x, b) <= radius * spread_b``, spread_b being the mean distance of the
points of b from their center. The radius is the one that finds 99 percent of the exact neighbors
of a sample of rows. So every partition finds the neighbors of its own rows by itself.

If there are many cells, a row is compared with those near the center of its *coarse cell* alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import RandomState

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.storage import Folder
from graphmargin.graph.voronoi_index import Scale, nearest_centers, scale_of, two_level_kmeans

CELLS_PER_PARTITION = 8
"""More cells balance the partitions better, and give them a longer border."""
SAMPLE_PER_CELL = 100
"""Rows from which the center, size and spread of a cell are estimated."""
MAX_SAMPLE = 500_000
NEAR_CELLS = 256
"""Number of cells that a row of a coarse cell is compared with."""
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
        Cells that rows of a coarse cell are compared with.
    n_partitions : int
        Number of partitions, of which some may be empty.
    radius : float
        How near a replica must be, in units of the spread.
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
        for rows, cells, own, _ in self._candidate_cells(X):
            owners[rows] = self.partition[cells[own]]
        return owners

    def replicas(self, X: FloatArray) -> tuple[IntArray, IntArray, IntArray]:
        """Return the owner of each row, and pairs of a row and a partition with a replica of it."""
        owners = np.empty(len(X), dtype=np.int32)
        replicas = [np.zeros((0, 2), dtype=np.int64)]
        for rows, cells, own, needed in self._candidate_cells(X):
            owners[rows] = self.partition[cells[own]]
            row, cell = np.nonzero(needed <= self.radius)
            pairs = np.column_stack([rows[row], self.partition[cells[cell]]])
            replicas.append(np.unique(pairs[pairs[:, 1] != owners[pairs[:, 0]]], axis=0))
        row, partition = np.concatenate(replicas).T
        return owners, row, partition

    def needed_radius(self, X: FloatArray, partitions: IntArray) -> FloatArray:
        """Return the radius at which each row is in one partition: 0 for the one that owns it."""
        radius = np.full(len(X), np.inf)
        for rows, cells, own, needed in self._candidate_cells(X):
            inside = self.partition[cells] == partitions[rows, None]
            is_owned = self.partition[cells[own]] == partitions[rows]
            nearest = np.where(inside, needed, np.inf).min(axis=1)
            radius[rows] = np.where(is_owned, 0.0, nearest)
        return radius

    def _candidate_cells(
        self, X: FloatArray
    ) -> Iterator[tuple[IntArray, IntArray, IntArray, FloatArray]]:
        """Yield rows of a coarse cell, its cells, the own cell of each row, and h / spread."""
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
                own = distance.argmin(axis=1)
                gaps = _distances(centers)[own] * self.spread[cells]
                behind = distance - distance[np.arange(len(rows)), own, None]
                needed = np.divide(
                    behind, 2 * gaps, out=np.full_like(behind, np.inf), where=gaps > 0
                )
                needed[np.arange(len(rows)), own] = 0.0
                yield first + rows, cells, own, needed

    def save(self, folder: Folder) -> None:
        """Write the map to the folder of a run."""
        arrays = {**vars(self), "center": self.scale.center, "unit": self.scale.unit}
        del arrays["scale"]
        folder.write(FILE, {name: np.asarray(array) for name, array in arrays.items()})


def load_partition_map(folder: Folder) -> PartitionMap:
    """Return what `PartitionMap.save` has written."""
    arrays = folder.read(FILE)
    scale = Scale(arrays.pop("center"), float(arrays.pop("unit")))
    n_partitions, radius = int(arrays.pop("n_partitions")), float(arrays.pop("radius"))
    return PartitionMap(scale, n_partitions=n_partitions, radius=radius, **arrays)


def make_partition_map(sample: FloatArray, n_partitions: int, seed: int) -> PartitionMap:
    """Return partitions of about the same number of rows, without a radius yet.

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
    partition = _balanced(centers, sizes + 1e-3, min(n_partitions, len(centers)))
    coarse_centers, near = centers.mean(axis=0, keepdims=True), np.arange(len(centers))[None]
    if len(centers) > NEAR_CELLS:
        coarse_centers = two_level_kmeans(centers, int(np.sqrt(len(centers))), random, n_jobs=1)
        near = np.array([_nearest_to(center, centers) for center in coarse_centers])
    return PartitionMap(
        scale, centers, spread.astype(np.float32), partition, coarse_centers, near, n_partitions
    )


def with_replica_radius(
    partitions: PartitionMap, queries: FloatArray, neighbors: FloatArray, share: float
) -> PartitionMap:
    """Return a map whose replicas include a `share` of the exact neighbors of some rows.

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
    # Each half of the sample verifies the other.
    halves = (needed[half::2] for half in (0, 1))
    radius = max(float(np.quantile(half, share, method="higher")) for half in halves if len(half))
    if np.isinf(radius):
        radius = float(needed[np.isfinite(needed)].max())
    return replace(partitions, radius=radius)


def sample_size(n_partitions: int) -> int:
    """Return the number of rows that a map should be made from."""
    return min(MAX_SAMPLE, SAMPLE_PER_CELL * CELLS_PER_PARTITION * n_partitions)


def _balanced(centers: FloatArray, sizes: FloatArray, n_partitions: int) -> IntArray:
    """Return a partition for each cell: halves by size, along the axis of largest variance."""
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
        # As many cells on each side as there are partitions to come, at least.
        cut = min(max(cut, middle - first), len(order) - (last - middle))
        split(order[:cut], first, middle)
        split(order[cut:], middle, last)

    split(np.arange(len(centers)), 0, n_partitions)
    return partition


def _distances(centers: FloatArray) -> FloatArray:
    """Return the distances between all centers."""
    squares = np.einsum("cd,cd->c", centers, centers)
    products = squares[:, None] + squares - 2 * (centers @ centers.T)
    return np.asarray(np.sqrt(np.maximum(products, 0.0)))


def _nearest_to(center: FloatArray, centers: FloatArray) -> IntArray:
    squares = np.square(centers - center).sum(axis=1)
    return np.sort(np.argsort(squares, kind="stable")[:NEAR_CELLS])
