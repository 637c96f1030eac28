import numpy as np
import pytest
from scipy import sparse

from graphmargin._threads import ThreadPool
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic._solvers import coarse_graph, system
from graphmargin.harmonic._solvers.coarse_graph import Aggregates, _contract
from graphmargin.harmonic._solvers.iterative import conjugate_gradients


def islands(n=3_000, seed=0):
    """Return a graph of clusters that hang together by few edges."""
    rng = np.random.default_rng(seed)
    centers = 2.5 * rng.normal(size=(12, 4))
    return knn_graph(centers[rng.integers(0, 12, n)] + rng.normal(size=(n, 4)), 5)


def absorbed_at_few(W, seed=0):
    rng = np.random.default_rng(seed)
    B = np.zeros((W.shape[0], 2))
    B[rng.choice(W.shape[0], 40, replace=False), rng.integers(0, 2, 40)] = 1.0
    return B + 1e-4


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(coarse_graph, "VERTICES_PER_AGGREGATE", 30)


def test_contraction_adds_up_the_edges_between_groups_which_are_connected():
    W = islands(500)
    group, coarse = _contract(W, 40)
    assert coarse.shape[0] == group.max() + 1 <= 60
    members = sparse.csr_array((np.ones(500), (group, np.arange(500))))
    expected = (members @ W @ members.T).toarray()
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(coarse.toarray(), expected, rtol=1e-12)
    for g in range(group.max() + 1):
        inside = W[group == g][:, group == g]
        assert sparse.csgraph.connected_components(inside, directed=False)[0] == 1


def test_vertices_without_edges_do_not_loop_forever():
    group, coarse = _contract(sparse.csr_array((50, 50)), 5)
    assert coarse.shape == (50, 50)
    np.testing.assert_array_equal(group, np.arange(50))


@pytest.mark.usefixtures("small")
def test_rows_are_a_permutation_and_the_graph_follows():
    W = islands()
    aggregates = Aggregates(W)
    np.testing.assert_array_equal(np.sort(aggregates.rows), np.arange(W.shape[0]))
    assert (W[aggregates.rows][:, aggregates.rows] != aggregates.W).nnz == 0


@pytest.mark.usefixtures("small")
def test_preconditioner_is_symmetric_and_positive():
    aggregates = Aggregates(islands(600))
    B = absorbed_at_few(aggregates.W)
    absorption = B.sum(axis=1)
    update = aggregates.preconditioner(aggregates.W.sum(axis=1) + absorption, absorption)
    R = np.eye(600)
    Z = np.zeros((600, 600))
    with ThreadPool(1) as pool:
        rho = update(Z, R, np.ones(600), np.ones(600), pool)
    np.testing.assert_allclose(Z, Z.T, atol=1e-10)
    assert np.linalg.eigvalsh(Z).min() > 0.9
    np.testing.assert_allclose(rho, np.diag(Z), rtol=1e-9)


@pytest.mark.usefixtures("small")
def test_preconditioner_gives_the_same_solution_in_fewer_iterations():
    aggregates = Aggregates(islands())
    W, B = aggregates.W, absorbed_at_few(aggregates.W)
    absorption = B.sum(axis=1)
    s = W.sum(axis=1) + absorption
    plain = conjugate_gradients(W, s, B)
    preconditioned = conjugate_gradients(W, s, B, update=aggregates.preconditioner(s, absorption))
    assert preconditioned.converged
    assert preconditioned.iterations < plain.iterations / 2
    np.testing.assert_allclose(preconditioned.X, plain.X, atol=1e-6)


def labeled_islands():
    W = islands()
    rng = np.random.default_rng(1)
    y = np.full(W.shape[0], -1)
    y[rng.choice(W.shape[0], 20, replace=False)] = np.arange(20) % 4
    return W, y


@pytest.mark.parametrize("gamma_g", [0.0, 1e-4, 0.1, 3.0, 100.0])
def test_labels_with_some_confidence_are_those_of_the_exact_solution(monkeypatch, gamma_g):
    monkeypatch.setattr(system, "MIN_AGGREGATED", 100)
    W, y = labeled_islands()
    exact = harmonic_solution(W, y, gamma_g=gamma_g, solver="direct")
    solution = harmonic_solution(W, y, gamma_g=gamma_g, solver="cg")
    assert solution.converged
    clear = exact.confidence >= system.CERTAIN_CONFIDENCE
    assert clear.sum() > 100
    np.testing.assert_array_equal(solution.codes[clear], exact.codes[clear])
    np.testing.assert_allclose(solution.class_mass, exact.class_mass, atol=system.MASS_ERROR)


def test_error_is_below_its_bound():
    """An entry that is tau away from its neighbors' mean is wrong by at most tau times T."""
    W = islands(400)
    B = absorbed_at_few(W)
    s = W.sum(axis=1) + B.sum(axis=1)
    matrix = np.diag(s) - W.toarray()
    exact, steps = np.linalg.solve(matrix, B), np.linalg.solve(matrix, s)
    rough = conjugate_gradients(W, s, B, tol=1e-3).X
    tau = np.abs(rough - (W @ rough + B) / s[:, None]).max()
    error = np.abs(rough - exact).max(axis=1)
    assert (error <= tau * steps * (1 + 1e-9)).all()
    assert error.max() > 0


def star(n):
    """Return a hub that all other vertices hang on: pairing shrinks it by one vertex only."""
    spokes = sparse.coo_array((np.ones(n - 1), (np.zeros(n - 1, int), np.arange(1, n))), (n, n))
    return sparse.csr_array(spokes + spokes.T)


def test_stars_keep_the_coarse_graph_small():
    aggregates = Aggregates(star(3_000))
    assert aggregates._coarse.shape[0] <= 1.5 * 3_000 / coarse_graph.VERTICES_PER_AGGREGATE


@pytest.mark.parametrize("solver", ["cg", "direct"])
def test_stars_are_solved(monkeypatch, solver):
    monkeypatch.setattr(system, "MIN_AGGREGATED", 100)
    y = np.full(3_000, -1)
    y[1:40] = np.arange(39) % 2
    solution = harmonic_solution(star(3_000), y, gamma_g=0.01, solver=solver)
    assert solution.converged
    assert solution.class_mass[0, 0] / solution.class_mass[0, 1] == pytest.approx(20 / 19, rel=1e-4)
