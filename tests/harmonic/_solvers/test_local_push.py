import numpy as np
import pytest
from scipy import sparse

from graphmargin.harmonic._solvers.local_push import push_visits

N = 40


@pytest.fixture(params=range(3))
def walk(random_graph, request):
    """Return a graph, rates of absorption and the inverse of the system."""
    W = random_graph(N, request.param)
    absorption = np.random.default_rng(request.param).uniform(0.01, 0.5, N)
    G = np.linalg.inv(np.diag(W.sum(axis=1) + absorption) - W)
    return sparse.csr_array(W), absorption, G


@pytest.mark.parametrize("tol", [1e-2, 1e-5, 1e-12])
def test_visits_are_below_the_inverse_by_no_more_than_the_bound(walk, tol):
    W, absorption, G = walk
    starts, rows = np.arange(20), np.arange(N)[::-1]
    visits = push_visits(W, absorption, starts, rows, tol=tol)
    s = W.sum(axis=1) + absorption
    steps = G @ s
    missing = G[np.ix_(starts, rows)] - visits
    assert (missing >= -1e-13).all()
    assert (missing <= tol * steps[rows] / s[starts, None] + 1e-13).all()


def test_distant_vertices_are_not_visited(path_graph):
    visits = push_visits(path_graph(101), np.ones(101), np.array([50, 0]), np.arange(101), tol=1e-4)
    assert np.flatnonzero(visits[0]).min() > 30
    np.testing.assert_array_equal(visits[0], visits[0][::-1])
    assert np.flatnonzero(visits[1]).max() < 20


def test_a_vertex_without_edges_visits_itself():
    visits = push_visits(
        sparse.csr_array((2, 2)), np.array([4.0, 1.0]), np.array([0]), np.arange(2), tol=1e-4
    )
    assert visits.tolist() == [[0.25, 0.0]]


def test_no_starts_have_no_visits(path_graph):
    none = np.arange(0)
    assert push_visits(path_graph(3), np.ones(3), none, np.arange(3), tol=1e-4).shape == (0, 3)
