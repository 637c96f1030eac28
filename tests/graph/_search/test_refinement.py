import numpy as np
import pytest

from graphmargin.graph._search import refinement as module
from graphmargin.graph._search.refinement import refine_neighbors


def squared_distances(points, nearest):
    return np.square(points[:, None].astype(np.float64) - points[nearest]).sum(axis=2)


def random_lists(points, n_listed, seed=0):
    """Return lists of some other points."""
    rng, n = np.random.default_rng(seed), len(points)
    steps = np.stack([rng.permutation(n - 1)[:n_listed] + 1 for _ in range(n)])
    return ((np.arange(n)[:, None] + steps) % n).astype(np.int32)


def clustered(n=600, d=6):
    rng = np.random.default_rng(0)
    return (rng.normal(size=(12, d))[rng.integers(12, size=n)] + rng.normal(size=(n, d))).astype(
        np.float32
    )


def test_neighbors_on_a_line_are_those_found_by_hand():
    points = np.array([[0.0], [1.0], [2.5], [3.1], [10.0]], dtype=np.float32)
    nearest = np.array([[1], [2], [3], [4], [0]], dtype=np.int32)
    # Point 0 meets 2 by way of 1, and 4 in whose list it is; 2 of these and 1 is nearest.
    assert refine_neighbors(points, nearest, None).tolist() == [[1], [0], [3], [2], [3]]


def test_refined_lists_are_sorted_and_never_worse():
    points = clustered()
    nearest = random_lists(points, 8)
    before = np.sort(squared_distances(points, nearest), axis=1)
    for _ in range(4):
        nearest = refine_neighbors(points, nearest, None)
        squared = squared_distances(points, nearest)
        assert (squared <= before * (1 + 1e-5)).all()
        assert (np.diff(squared, axis=1) >= -1e-5).all()
        assert (nearest != np.arange(len(points))[:, None]).all()
        assert all(len(set(row)) == len(row) for row in nearest.tolist())
        before = squared


def test_passes_lead_from_random_lists_to_most_true_neighbors():
    points = clustered()
    nearest = random_lists(points, 10)
    for _ in range(6):
        nearest = refine_neighbors(points, nearest, None)
    exact = np.square(points[:, None] - points).sum(axis=2)
    np.fill_diagonal(exact, np.inf)
    true = np.argsort(exact, axis=1)[:, :5]
    assert np.mean([np.isin(row, found) for row, found in zip(true, nearest, strict=True)]) > 0.95


def test_result_depends_neither_on_threads_nor_on_pieces(monkeypatch):
    points = clustered()
    nearest = random_lists(points, 7)
    results = []
    for n_jobs, piece in ((1, 4096), (2, 50), (3, 7)):
        monkeypatch.setattr(module, "MIN_PIECE", piece)
        results.append(refine_neighbors(points, nearest, n_jobs))
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_no_pass_leaves_a_closed_cluster():
    points = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]], dtype=np.float32)
    nearest = np.array([[1, 2], [0, 2], [1, 0], [4, 5], [3, 5], [4, 3]], dtype=np.int32)
    refined = refine_neighbors(points, nearest, None)
    np.testing.assert_array_equal(refined, nearest)


@pytest.mark.parametrize("d", [1, 3, 17])
def test_missing_neighbors_are_completed(d):
    points = np.random.default_rng(0).normal(size=(9, d)).astype(np.float32)
    nearest = random_lists(points, 8)
    nearest[:, 3:] = -1
    for _ in range(4):
        nearest = refine_neighbors(points, nearest, None)
    assert (np.sort(nearest, axis=1) == [np.delete(np.arange(9), i) for i in range(9)]).all()
