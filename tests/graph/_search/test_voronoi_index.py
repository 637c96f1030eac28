import numpy as np
import pytest
from sklearn.utils import check_random_state

from graphmargin.graph._search.voronoi_index import Scale, make_rough_index, make_voronoi_index


def clustered(n=3_000, d=8, seed=0):
    rng = np.random.default_rng(seed)
    centers = 4 * rng.normal(size=(30, d))
    return centers[rng.integers(0, 30, n)] + rng.normal(size=(n, d))


def partition(X, seed=0, n_jobs=None):
    scale = Scale(np.median(X, axis=0), 16.0)
    return make_voronoi_index(X, scale, check_random_state(seed), n_jobs)


def squared_distances(A, B):
    return np.square(A[:, None].astype(np.float64) - B[None].astype(np.float64)).sum(axis=2)


def test_every_row_is_in_the_cell_of_its_nearest_center():
    X = clustered()
    cells = partition(X)
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(len(X)))
    assert (cells.start[0], cells.start[-1]) == (0, len(X))
    np.testing.assert_allclose(cells.points, cells.scale(X[cells.order]))
    np.testing.assert_allclose(cells.norms, np.square(cells.points).sum(axis=1), rtol=1e-5)
    cell = np.repeat(np.arange(len(cells.centers)), np.diff(cells.start))
    to_centers = squared_distances(cells.points, cells.centers)
    to_own_center = np.take_along_axis(to_centers, cell[:, None], axis=1)[:, 0]
    assert (to_own_center <= to_centers.min(axis=1) + 1e-6).all()


def test_cells_are_many_and_of_similar_size():
    cells = partition(clustered(5_000))
    sizes = np.diff(cells.start)
    assert len(sizes) == pytest.approx(5_000 / (2 * 5_000**0.4), rel=0.2)
    assert sizes.max() < 12 * sizes.mean()


@pytest.mark.parametrize("factor", [1.0, np.inf])
def test_search_finds_the_nearest_points(factor):
    cells = partition(clustered(1_000, 5))
    for own_cell in (0, 7):
        rows = slice(cells.start[own_cell], cells.start[own_cell + 1])
        near = np.argsort(cells.center_distances(own_cell), kind="stable")
        nearest, squared = cells.search(
            cells.points[rows], own_cell, near, n_found=9, n_neighbors=6, radius_factor=factor
        )
        exact = squared_distances(cells.points[rows], cells.points)
        np.testing.assert_allclose(
            squared[:, :6], np.sort(exact, axis=1)[:, :6], atol=1e-5 * cells.norms.max()
        )
        assert (np.diff(squared, axis=1) >= 0).all()
        np.testing.assert_allclose(
            np.take_along_axis(exact, nearest[:, :6], axis=1), squared[:, :6], atol=1e-4
        )


def test_smaller_radius_never_finds_nearer_points():
    cells = partition(clustered(2_000, 12))
    rows = slice(cells.start[3], cells.start[4])
    near = np.argsort(cells.center_distances(3), kind="stable")
    options = {"n_found": 8, "n_neighbors": 6}
    kth = [
        cells.search(cells.points[rows], 3, near, radius_factor=factor, **options)[1][:, 5]
        for factor in (0.0, 0.3, 1.0)
    ]
    assert (kth[0] >= kth[1]).all()
    assert (kth[1] >= kth[2]).all()
    assert (kth[0] > kth[2]).any()


def test_points_are_as_far_behind_a_bisector_as_the_triangle_says():
    cells = partition(clustered(500, 3))
    positions, own, others = np.array([0, 9]), np.array([0, 0]), np.array([4, 0])
    point, here, there = (
        rows.astype(np.float64) for rows in (cells.points[0], *cells.centers[[0, 4]])
    )
    normal = (here - there) / np.linalg.norm(here - there)
    expected = normal @ (point - (here + there) / 2)
    np.testing.assert_allclose(
        cells.bisector_distances(positions, own, others), [expected, 0], atol=1e-6
    )


@pytest.mark.parametrize("n_cells", [1, 5, 1_000])
def test_near_cells_are_those_with_the_nearest_centers(n_cells):
    cells = partition(clustered())
    n_cells = min(n_cells, len(cells.centers))
    near = cells.near_cells(np.arange(3, 6), n_cells)
    for own_cell, row in zip(range(3, 6), near, strict=True):
        center_distances = cells.center_distances(own_cell)
        assert row[0] == own_cell
        np.testing.assert_allclose(
            center_distances[row], np.sort(center_distances)[:n_cells], atol=1e-4
        )


def test_missing_points_are_marked():
    cells = partition(clustered(40, 2))
    nothing_else = np.array([0])
    nearest, squared = cells.search(
        cells.points[:1], 0, nothing_else, n_found=39, n_neighbors=39, radius_factor=1.0
    )
    size = cells.start[1]
    assert (nearest[0, :size] >= 0).all()
    assert (nearest[0, size:] == -1).all()
    assert np.isinf(squared[0, size:]).all()


def test_cells_do_not_depend_on_the_number_of_threads_and_repeat_with_the_seed():
    X = clustered(9_000)
    first, second = partition(X, n_jobs=1), partition(X, n_jobs=2)
    np.testing.assert_array_equal(first.order, second.order)
    np.testing.assert_array_equal(first.centers, second.centers)
    assert not np.array_equal(partition(X, seed=1).order, first.order)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_few_rows_and_equal_rows_have_an_index(n):
    cells = partition(np.ones((n, 3)))
    assert cells.start[-1] == n
    assert np.isfinite(cells.centers).all()


@pytest.mark.parametrize("n", [1, 3, 3_000])
def test_rough_cells_hold_every_row_once_and_most_rows_nearest_to_their_center(n):
    X = clustered(n)
    scale = Scale(np.median(X, axis=0), 16.0)
    cells, same = (make_rough_index(X, scale, check_random_state(0), n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(cells.order, same.order)
    np.testing.assert_array_equal(np.sort(cells.order), np.arange(n))
    np.testing.assert_allclose(cells.points, scale(X[cells.order]))
    own_cell = np.repeat(np.arange(len(cells.centers)), np.diff(cells.start))
    nearest = squared_distances(cells.points, cells.centers).argmin(axis=1)
    assert (own_cell == nearest).mean() > 0.9
