"""A partition of points into Voronoi cells, and a search that visits few of them.

Cells are the Voronoi cells of k-means centers. Let q be a query whose nearest center is c_a. A
point of cell b is not nearer to c_a than to c_b, so it lies behind the hyperplane halfway between
both centers, at least

    ``h(q, b) = (norm(q - c_b)^2 - norm(q - c_a)^2) / (2 norm(c_b - c_a))``

away from q. If the point x is ``h(x, a)`` behind the hyperplane, their distance is at least
``h(q, b) + h(x, a)``. A search that compares q with the points whose sum is at most
``factor * d_k``, d_k the distance of the k-th neighbor so far, is exact for ``factor = 1``. A
smaller factor misses some neighbors; their share is measured on a sample of queries (see
`neighbors` and `join_sample`).

All queries of a cell share one matrix product for every cell that they visit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import RandomState

from graphmargin._blocks import chunk_ranges
from graphmargin._compilation import kernel
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray

ROWS_AT_ONCE = 4096
PRODUCTS_AT_ONCE = 256
"""Rows whose products with all centers are in memory at once, so that they fit into a cache."""
QUERIES_AT_ONCE = 1024
POINTS_AT_ONCE = 512
CENTERS_AT_ONCE = 64
CENTER_ROWS = 10_000
LLOYD_ITERATIONS = 6
ROWS_PER_CELL = 40
"""Number of sampled rows for each cell of k-means."""
ROUGH_SIZE, ROUGH_ROWS_PER_CELL, ROUGH_ITERATIONS = 11, 20, 4
ROUGH_ROWS_AT_ONCE = 16_384
SORTED_AT_ONCE = 512
"""Rows that are scaled at once, so that they stay in a cache."""


@dataclass(frozen=True)
class Scale:
    """A center and a unit, with which float32 rows lose no digits to an offset or huge values.

    The center is the median, which is robust to outliers; division by a power of two is exact.
    """

    center: FloatArray
    unit: float

    def __call__(self, X: FloatArray) -> FloatArray:
        """Return rows in float32, centered and of unit size."""
        rows = X - self.center
        rows *= 1 / self.unit  # exact, and faster than a division
        return np.ascontiguousarray(rows, dtype=np.float32)


def scale_of(X: FloatArray) -> Scale:
    """Return the scale for the rows of a table."""
    center = np.median(X[:: max(1, len(X) // CENTER_ROWS)], axis=0)
    extent = float(max((X.max(axis=0) - center).max(), (center - X.min(axis=0)).max()))
    return Scale(center, power_of_two(extent))


def power_of_two(largest: float) -> float:
    """Return the power of two above a positive number, 1 for zero; its inverse is finite."""
    return float(2.0 ** np.clip(np.frexp(largest)[1], -1000, 1000)) if 0 < largest < np.inf else 1.0


@dataclass(frozen=True)
class VoronoiIndex:
    """Points in float32, sorted by cell.

    Attributes
    ----------
    points : float32 array of shape (n, d)
    norms : float32 array of shape (n,)
        Squared norms of the points.
    order : array of shape (n,)
        Row of the table of each point.
    start : array of shape (n_cells + 1,)
        Cell c holds ``points[start[c]:start[c + 1]]``.
    centers : float32 array of shape (n_cells, d)
    scale : Scale
    """

    points: FloatArray
    norms: FloatArray
    order: IntArray
    start: IntArray
    centers: FloatArray
    scale: Scale

    def assign(self, X: FloatArray, n_jobs: int | None) -> IntArray:
        """Return the cell of the nearest center for every row of a table."""
        return nearest_centers(X, self.centers, self.scale, n_jobs)

    def center_distances(self, own_cell: int) -> FloatArray:
        """Return the distances of all centers from the center of one cell."""
        return np.asarray(np.linalg.norm(self.centers - self.centers[own_cell], axis=1))

    def near_cells(self, cells: IntArray, n_cells: int) -> IntArray:
        """Return the nearest cells of some cells by their centers, themselves first."""
        centers = self.centers
        half_norms = np.float32(0.5) * np.einsum("cd,cd->c", centers, centers)
        half_squared = half_norms - centers[cells] @ centers.T
        half_squared[np.arange(len(cells)), cells] = -np.inf
        if n_cells < len(centers):
            near = np.argpartition(half_squared, n_cells - 1, axis=1)[:, :n_cells]
        else:
            near = np.broadcast_to(np.arange(len(centers)), half_squared.shape)
        by_distance = np.argsort(
            np.take_along_axis(half_squared, near, axis=1), axis=1, kind="stable"
        )
        return np.take_along_axis(near, by_distance, axis=1).astype(np.int32)

    def bisector_distances(
        self, positions: IntArray, cells: IntArray, others: IntArray
    ) -> FloatArray:
        """Return how far points of some cells are behind the bisectors with other cells."""
        points = self.points[positions].astype(np.float64)
        ends = self.centers[others] - points, self.centers[cells] - points
        squared = [np.square(end).sum(axis=-1) for end in ends]
        center_distances = np.linalg.norm(self.centers[others] - self.centers[cells], axis=-1)
        with np.errstate(divide="ignore", invalid="ignore"):
            distances = (squared[0] - squared[1]) / (2 * center_distances)
        return np.asarray(np.nan_to_num(distances, posinf=0.0, neginf=0.0))

    def search(
        self,
        queries: FloatArray,
        own_cell: int,
        cells: IntArray,
        *,
        n_found: int,
        n_neighbors: int,
        radius_factor: float,
    ) -> tuple[IntArray, FloatArray]:
        """Return the nearest points, and their squared distances, of queries of one cell.

        Parameters
        ----------
        queries : float32 array of shape (m, d)
        own_cell : int
            The cell whose center is nearest to all of them.
        cells : array of shape (n_cells,)
            Cells to visit, in this order.
        n_found : int
            Number of points to return, at least `n_neighbors`; missing ones are -1, at infinity.
        n_neighbors : int
            d_k is the distance of this neighbor (a query's own point counts).
        radius_factor : float
            1 is exact, infinity visits every cell.
        """
        m, d = queries.shape
        nearest = np.full((m, n_found), -1, dtype=np.int32)
        squared = np.full((m, n_found), np.inf, dtype=np.float32)
        height = min(m, QUERIES_AT_ONCE)
        # The kernel gets its memory from here, because allocations take long to compile.
        center = self.centers[own_cell]
        query_memory = np.empty((2, height), dtype=np.float32)
        chosen = np.empty(height, dtype=np.int64)
        chosen_rows = np.empty((height, d), dtype=np.float32)
        products = np.empty(height * POINTS_AT_ONCE, dtype=np.float32)
        near = np.empty((CENTERS_AT_ONCE, d), dtype=np.float32)
        near_products = np.empty(height * CENTERS_AT_ONCE, dtype=np.float32)
        normal = np.empty(d, dtype=np.float32)
        numbers = np.empty(POINTS_AT_ONCE, dtype=np.int64)
        point_memory = np.empty((2, POINTS_AT_ONCE), dtype=np.float32)
        chosen_points = np.empty((POINTS_AT_ONCE, d), dtype=np.float32)
        for first in range(0, m, QUERIES_AT_ONCE):
            block = slice(first, first + QUERIES_AT_ONCE)
            _scan_cells(
                queries[block],
                np.int64(own_cell),
                cells.astype(np.int32, copy=False),
                self.points,
                self.norms,
                self.start,
                self.centers,
                np.int64(n_neighbors),
                np.float32(radius_factor),
                np.float32(rounding(d)),
                np.einsum("qd,qd->q", queries[block], queries[block]),
                np.dot(center, center),
                queries[block] @ center,
                query_memory,
                chosen,
                chosen_rows,
                products,
                near,
                near_products,
                normal,
                numbers,
                point_memory,
                chosen_points,
                nearest[block],
                squared[block],
            )
        return nearest, squared

    def search_all(self, queries: FloatArray, n_found: int) -> tuple[IntArray, FloatArray]:
        """Return what `search` returns, from a comparison with all points.

        No kernel is compiled for it. There are at least `n_found` points.
        """
        nearest = np.empty((len(queries), n_found), dtype=np.int32)
        squared = np.empty((len(queries), n_found), dtype=np.float32)
        for first in range(0, len(queries), QUERIES_AT_ONCE):
            block = queries[first : first + QUERIES_AT_ONCE]
            distances = self.norms - np.float32(2) * (block @ self.points.T)
            distances += np.einsum("qd,qd->q", block, block)[:, None]
            found = np.argpartition(distances, n_found - 1, axis=1)[:, :n_found]
            distances = np.take_along_axis(distances, found, axis=1)
            by_distance = np.argsort(distances, axis=1, kind="stable")
            rows = slice(first, first + QUERIES_AT_ONCE)
            nearest[rows] = np.take_along_axis(found, by_distance, axis=1)
            squared[rows] = np.take_along_axis(distances, by_distance, axis=1)
        return nearest, squared


def rounding(d: int) -> float:
    """Return a bound on the error of a squared distance from float32 products of d features.

    It is relative to the squared sum of the two norms.
    """
    return float(8 * np.sqrt(d) * np.finfo(np.float32).eps)


def make_voronoi_index(
    X: FloatArray, scale: Scale, random_state: RandomState, n_jobs: int | None
) -> VoronoiIndex:
    """Return a partition of the rows of X into about ``sqrt(n)`` cells of similar points.

    Cells of ``2 n^0.4`` points balance the search among centers against that within cells. Centers
    are nearest by two levels of k-means on a sample, at a cost of O(n_cells^1.5); then every row is
    assigned to the nearest of them.
    """
    n = len(X)
    n_cells = max(1, round(n / (2 * n**0.4)))
    sample = scale(X[random_state.choice(n, min(n, ROWS_PER_CELL * n_cells), replace=False)])
    centers = two_level_kmeans(sample, n_cells, random_state, n_jobs)
    return _sort_by_cell(X, nearest_centers(X, centers, scale, n_jobs), centers, scale, n_jobs)


def make_rough_index(
    X: FloatArray, scale: Scale, random_state: RandomState, n_jobs: int | None
) -> VoronoiIndex:
    """Return a partition into cells of similar points, most of which have the nearest center.

    It takes a fraction of the time of `make_voronoi_index`, but a search with radius factor 1 is
    not exact. Rows are compared with some coarse centers. For the nearest two of them, they are
    compared with the centers that are nearest to a sampled row with this nearest coarse center.
    """
    n = len(X)
    n_cells = max(1, round(n / (ROUGH_SIZE * n**0.25)))
    n_sampled = min(n, ROUGH_ROWS_PER_CELL * n_cells)
    sample = scale(X[random_state.choice(n, n_sampled, replace=False)])
    centers = two_level_kmeans(sample, n_cells, random_state, n_jobs, ROUGH_ITERATIONS)
    every = np.arange(len(centers))
    n_coarse = min(len(sample), max(1, int(2 * np.sqrt(n_cells))))
    coarse = _kmeans(sample[: ROWS_PER_CELL * n_coarse], n_coarse, random_state, _assign)
    own_cell = nearest_centers(sample, centers, None, n_jobs)
    part = nearest_centers(sample, coarse, None, n_jobs)
    # A coarse center that is nearest to no sampled row is compared with all centers.
    near = [
        np.unique(own_cell[part == p]) if (part == p).any() else every for p in range(len(coarse))
    ]

    def assign(first: int) -> IntArray:
        rows = scale(X[first : first + ROUGH_ROWS_AT_ONCE])
        own_cell, closest = np.zeros(len(rows), dtype=np.int32), np.full(len(rows), -np.inf)
        for part in _nearest_two(rows, coarse):
            by_part = np.argsort(part, kind="stable")
            for group in np.split(by_part, np.flatnonzero(np.diff(part[by_part])) + 1):
                candidates = near[part[group[0]]]
                nearest, closeness = _closest(rows[group], centers[candidates])
                is_closer = closeness > closest[group]
                own_cell[group[is_closer]] = candidates[nearest[is_closer]]
                closest[group] = np.maximum(closest[group], closeness)
        return own_cell

    pieces = range(0, n, ROUGH_ROWS_AT_ONCE)
    own_cell = np.concatenate(map_in_threads(assign, pieces, n_jobs=n_jobs))
    return _sort_by_cell(X, own_cell, centers, scale, n_jobs)


def _sort_by_cell(
    X: FloatArray, own_cell: IntArray, centers: FloatArray, scale: Scale, n_jobs: int | None
) -> VoronoiIndex:
    """Return the index of rows whose cells are given."""
    n = len(X)
    order = np.argsort(own_cell, kind="stable")
    points = np.empty(X.shape, dtype=np.float32)

    def sort_rows(part: tuple[int, int]) -> None:
        points[slice(*part)] = scale(X[order[slice(*part)]])

    map_in_threads(sort_rows, chunk_ranges(n, SORTED_AT_ONCE), n_jobs=n_jobs)
    return VoronoiIndex(
        points,
        np.einsum("nd,nd->n", points, points),
        order.astype(np.int32 if n < 2**31 else np.int64),
        np.searchsorted(own_cell[order], np.arange(len(centers) + 1)),
        centers,
        scale,
    )


def two_level_kmeans(
    sample: FloatArray,
    n_cells: int,
    random_state: RandomState,
    n_jobs: int | None,
    n_iterations: int = LLOYD_ITERATIONS,
) -> FloatArray:
    """Return the centers of k-means within each cluster of a coarse k-means of the sample."""

    def in_parallel(rows: FloatArray, centers: FloatArray) -> IntArray:
        return nearest_centers(rows, centers, None, n_jobs)

    parts = _kmeans(sample, max(1, int(np.sqrt(n_cells))), random_state, in_parallel, n_iterations)
    part = in_parallel(sample, parts)
    seeds = random_state.randint(2**31 - 1, size=len(parts))

    def split(p: int) -> FloatArray:
        rows = sample[part == p]
        n_centers = min(len(rows), max(1, round(n_cells * len(rows) / len(sample))))
        return _kmeans(rows, n_centers, RandomState(seeds[p]), _assign, n_iterations)

    return np.ascontiguousarray(
        np.concatenate(map_in_threads(split, range(len(parts)), n_jobs=n_jobs))
    )


def _kmeans(
    rows: FloatArray,
    n_centers: int,
    random_state: RandomState,
    nearest_centers: Callable[[FloatArray, FloatArray], IntArray],
    n_iterations: int = LLOYD_ITERATIONS,
) -> FloatArray:
    """Return the centers after a few Lloyd iterations; a center without rows does not move."""
    centers = rows[random_state.choice(len(rows), n_centers, replace=False)]
    for _ in range(n_iterations):
        own_cell = nearest_centers(rows, centers)
        counts = np.bincount(own_cell, minlength=n_centers)
        order = np.argsort(own_cell, kind="stable")
        start = np.cumsum(counts) - counts
        used = counts > 0
        sums = np.add.reduceat(rows[order], start[used], axis=0, dtype=np.float64)
        centers[used] = sums / counts[used, None]
    return centers


def nearest_centers(
    X: FloatArray, centers: FloatArray, scale: Scale | None, n_jobs: int | None
) -> IntArray:
    """Return the nearest center of every row, in threads."""
    if len(centers) == 1 or not len(X):
        return np.zeros(len(X), dtype=np.int64)

    def assign(first: int) -> IntArray:
        rows = X[first : first + ROWS_AT_ONCE]
        return _assign(rows if scale is None else scale(rows), centers)

    return np.concatenate(map_in_threads(assign, range(0, len(X), ROWS_AT_ONCE), n_jobs=n_jobs))


def _assign(rows: FloatArray, centers: FloatArray) -> IntArray:
    """Return the nearest center of every row, the first one of equal distances."""
    return _closest(rows, centers)[0]


def _closest(rows: FloatArray, centers: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the nearest center of every row, and ``x.c - norm(c)^2 / 2``, which it maximizes."""
    half_norms = np.float32(0.5) * np.einsum("cd,cd->c", centers, centers)
    products = np.empty((PRODUCTS_AT_ONCE, len(centers)), dtype=np.float32)
    nearest = np.empty(len(rows), dtype=np.int64)
    largest = np.empty(len(rows), dtype=np.float32)
    for first in range(0, len(rows), PRODUCTS_AT_ONCE):
        part = slice(first, first + PRODUCTS_AT_ONCE)
        closeness = np.matmul(rows[part], centers.T, out=products[: len(rows[part])])
        closeness -= half_norms
        nearest[part] = closeness.argmax(axis=1)
        largest[part] = closeness[np.arange(len(closeness)), nearest[part]]
    return nearest, largest


def _nearest_two(rows: FloatArray, centers: FloatArray) -> tuple[IntArray, IntArray]:
    """Return the nearest center of every row, and the second nearest one if there are two."""
    closeness = rows @ centers.T
    closeness -= np.float32(0.5) * np.einsum("cd,cd->c", centers, centers)
    first = closeness.argmax(axis=1)
    np.put_along_axis(closeness, first[:, None], -np.inf, axis=1)
    return first, closeness.argmax(axis=1)


@kernel()
def _scan_cells(  # type: ignore[no-untyped-def]
    queries,
    own_cell,
    cells,
    points,
    norms,
    start,
    centers,
    k,
    radius_factor,
    rounding,
    query_norms,
    own_norm,
    own_products,
    query_memory,
    chosen,
    chosen_rows,
    products,
    near,
    near_products,
    normal,
    numbers,
    point_memory,
    chosen_points,
    nearest,
    squared,
):
    """Collect in `nearest` and `squared` the nearest points of some queries, nearest first."""
    m, d = queries.shape
    n_found = nearest.shape[1]
    sizes = query_memory[0]
    limits = query_memory[1]  # upper bounds on d_k, with room for rounding
    farthest = np.float32(0)  # largest distance of a query from the center of its cell
    for i in range(m):
        sizes[i] = np.sqrt(query_norms[i]) + np.sqrt(own_norm)
        squared_distance = query_norms[i] + own_norm - np.float32(2) * own_products[i]
        farthest = max(farthest, squared_distance + rounding * sizes[i] ** 2)
        limits[i] = np.inf
    farthest = np.sqrt(farthest)
    for c in range(len(cells)):
        if c % CENTERS_AT_ONCE == 0:
            size = min(CENTERS_AT_ONCE, len(cells) - c)
            for r in range(size):
                for f in range(d):
                    near[r, f] = centers[cells[c + r], f]
            near_products_now = near_products[: m * size].reshape((m, size))
            np.dot(queries, near[:size].T, near_products_now)
        cell = cells[c]
        center_distance = np.float32(0)
        norm = np.float32(0)
        for f in range(d):
            center_distance += (near[c % CENTERS_AT_ONCE, f] - centers[own_cell, f]) ** 2
            norm += near[c % CENTERS_AT_ONCE, f] ** 2
        center_distance = np.sqrt(center_distance)
        largest = np.float32(0)
        for i in range(m):
            largest = max(largest, limits[i])
        if radius_factor * largest < center_distance / 2 - farthest:
            continue  # h(q, b) >= norm(c_b - c_a) / 2 - norm(q - c_a)
        center_size, visits_all = np.sqrt(norm), center_distance == 0 or np.isinf(radius_factor)
        inverse_distance = np.float32(0) if center_distance == 0 else 1 / center_distance
        n_chosen = 0
        # Points of the cell that are farther behind the bisector are not visited.
        bisector_limit = np.float32(0)
        for i in range(m):
            h = own_products[i] - near_products_now[i, c % CENTERS_AT_ONCE] + (norm - own_norm) / 2
            slack = rounding * (sizes[i] + center_size + limits[i]) ** 2
            # An infinite limit makes both terms infinite, and their difference not a number.
            room = radius_factor * limits[i] - (h - slack) * inverse_distance
            if visits_all or not room < 0:
                bisector_limit = np.float32(np.inf) if np.isnan(room) else max(bisector_limit, room)
                chosen[n_chosen] = i
                for f in range(d):
                    chosen_rows[n_chosen, f] = queries[i, f]
                n_chosen += 1
        if n_chosen == 0:
            continue
        for f in range(d):
            normal[f] = (near[c % CENTERS_AT_ONCE, f] - centers[own_cell, f]) * inverse_distance
        for first in range(start[cell], start[cell + 1], POINTS_AT_ONCE):
            last = min(first + POINTS_AT_ONCE, start[cell + 1])
            n_points = last - first
            if visits_all or np.isinf(bisector_limit):
                visited, visited_norms = points[first:last], norms[first:last]
                for j in range(n_points):
                    numbers[j] = first + j
            else:
                projections = point_memory[0, :n_points]
                np.dot(points[first:last], normal, projections)
                n_points = 0
                for j in range(last - first):
                    size = np.sqrt(norms[first + j]) + np.sqrt(own_norm) + center_size
                    offset = (own_norm - norm) / 2 - rounding * size**2
                    h = projections[j] + offset * inverse_distance
                    numbers[n_points] = first + j
                    n_points += h <= bisector_limit
                for j in range(n_points):
                    point_memory[1, j] = norms[numbers[j]]
                    for f in range(d):
                        chosen_points[j, f] = points[numbers[j], f]
                visited, visited_norms = chosen_points[:n_points], point_memory[1, :n_points]
            block = products[: n_chosen * n_points].reshape((n_chosen, n_points))
            np.dot(chosen_rows[:n_chosen], visited.T, block)
            for r in range(n_chosen):
                i = chosen[r]
                worst = squared[i, n_found - 1] - query_norms[i]
                for j in range(n_points):
                    value = visited_norms[j] - np.float32(2) * block[r, j]
                    if value < worst:
                        value += query_norms[i]
                        p = n_found - 1
                        while p > 0 and squared[i, p - 1] > value:
                            squared[i, p] = squared[i, p - 1]
                            nearest[i, p] = nearest[i, p - 1]
                            p -= 1
                        squared[i, p] = value
                        nearest[i, p] = numbers[j]
                        worst = squared[i, n_found - 1] - query_norms[i]
        for r in range(n_chosen):
            i = chosen[r]
            kth = max(squared[i, k - 1], np.float32(0))
            if kth < np.inf:
                room = rounding * (np.float32(2) * np.sqrt(query_norms[i]) + np.sqrt(kth)) ** 2
                limits[i] = np.sqrt(kth + np.float32(2) * room)
