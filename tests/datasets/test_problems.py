import numpy as np
import pytest
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from graphmargin.datasets import make_lattices


def test_vertices_are_two_unit_lattices():
    X, _, y_true, _ = make_lattices()
    assert X.shape == (200, 2)
    assert len(np.unique(X, axis=0)) == 200
    assert np.unique(X[y_true == 0, 0]).tolist() == list(range(-10, 0))
    assert np.unique(X[y_true == 1, 0]).tolist() == list(range(1, 11))
    assert np.unique(X[:, 1]).tolist() == [height - 4.5 for height in range(10)]


def test_edges_join_the_unit_neighbors_within_a_lattice():
    X, _, y_true, W = make_lattices()
    squared_distance = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    neighbors = (squared_distance == 1) & (y_true[:, None] == y_true)
    assert isinstance(W, csr_array)
    np.testing.assert_array_equal(W.toarray(), np.exp(-0.5) * neighbors)


def test_lattices_are_the_components_of_the_graph():
    problem = make_lattices()
    count, component = connected_components(problem.W)
    assert count == 2
    np.testing.assert_array_equal(component, problem.y_true)


@pytest.mark.parametrize("axis", [0, 1])
def test_axes_look_alike_to_the_graph(axis):
    X, _, _, W = make_lattices()
    differences = X[:, None, axis] - X[None, :, axis]
    assert W.multiply(differences**2).sum() == pytest.approx(360 * np.exp(-0.5))
    assert 360 * np.exp(-0.5) == pytest.approx(218.351, abs=5e-4)


def test_each_lattice_has_one_labeled_vertex():
    _, y, y_true, _ = make_lattices()
    assert sorted(y[y != -1].tolist()) == [0, 1]
    np.testing.assert_array_equal(y[y != -1], y_true[y != -1])


def test_supervised_boundary_cuts_a_corner_off_each_lattice():
    X, y, y_true, _ = make_lattices()
    left, right = X[y == 0][0], X[y == 1][0]
    nearer_to_right = np.linalg.norm(X - right, axis=1) < np.linalg.norm(X - left, axis=1)
    assert np.bincount(y_true[nearer_to_right != y_true]).tolist() == [10, 10]
