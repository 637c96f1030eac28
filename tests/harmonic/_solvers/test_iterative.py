import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.harmonic._solvers.iterative import conjugate_gradients, gauss_seidel

each_iteration = pytest.mark.parametrize("iterate", [conjugate_gradients, gauss_seidel])


@pytest.fixture(scope="session")
def system(random_graph):
    """Return W, s and B of a random absorbing walk."""

    def build(n, seed, columns=3, rate=1.0):
        rng = np.random.default_rng(seed)
        W = sparse.csr_array(random_graph(n, seed))
        B = rate * rng.uniform(0, 1, (n, columns)) * (rng.random((n, columns)) < 0.3)
        B[0] += rate
        return W, W.sum(axis=1) + B.sum(axis=1), B

    return build


def dense_solution(W, s, B):
    return np.linalg.solve(np.diag(s) - W.toarray(), B)


@each_iteration
@settings(max_examples=20)
@given(n=st.integers(3, 40), seed=st.integers(0, 10**6), rate=st.sampled_from([0.1, 1.0, 1e3]))
def test_iteration_equals_the_dense_solution(system, iterate, n, seed, rate):
    W, s, B = system(n, seed, rate=rate)
    result = iterate(W, s, B, max_iter=30_000)
    assert result.converged
    np.testing.assert_allclose(result.X, dense_solution(W, s, B), atol=1e-7)


def test_residual_is_below_the_tolerance(system):
    W, s, B = system(200, 0)
    result = conjugate_gradients(W, s, B, tol=1e-8)
    residual = np.abs(B - (s[:, None] * result.X - W @ result.X)) / s[:, None]
    assert result.converged
    assert residual.max() <= 1.001e-8
    assert conjugate_gradients(W, s, B, tol=1e-3).iterations < result.iterations


@each_iteration
def test_too_few_iterations_are_reported(system, iterate):
    result = iterate(*system(200, 0, rate=1e-3), max_iter=2)
    assert not result.converged
    assert result.iterations == 2


@each_iteration
def test_progress_is_reported_in_every_iteration(system, iterate):
    messages = []
    result = iterate(*system(30, 0), progress=lambda *report: messages.append(report))
    assert result.iterations <= len(messages) <= result.iterations + 1
    assert all(share is None or 0 <= share <= 1 for share, _ in messages)
    assert all("violation" in message or "sweep" in message for _, message in messages)


def test_sweeps_that_start_at_the_solution_end_immediately(system):
    W, s, B = system(50, 0)
    solution = dense_solution(W, s, B)
    before = solution.copy()
    result = gauss_seidel(W, s, B, start=solution)
    assert result.converged
    assert result.iterations <= 2
    np.testing.assert_array_equal(solution, before)


def test_columns_of_very_different_difficulty_converge_together(path_graph):
    n = 60
    W, B = path_graph(n), np.zeros((n, 3))
    B[0, 0] = B[-1, 1] = 1.0
    B[:, 2] = 1e-3
    s = W.sum(axis=1) + B.sum(axis=1)
    result = conjugate_gradients(W, s, B)
    assert result.converged
    np.testing.assert_allclose(result.X, dense_solution(W, s, B), atol=1e-8)


@each_iteration
def test_zero_columns_stay_zero(system, iterate):
    W, s, B = system(20, 0)
    B[:, 1] = 0.0
    result = iterate(W, s, B)
    assert result.converged
    assert (result.X[:, 1] == 0).all()


@given(seed=st.integers(0, 10**6), sweeps=st.integers(1, 30))
def test_sweeps_rise_towards_the_solution_from_below(system, seed, sweeps):
    W, s, B = system(15, seed, rate=0.1)
    less = gauss_seidel(W, s, B, max_iter=sweeps).X
    more = gauss_seidel(W, s, B, max_iter=sweeps + 1).X
    assert (more >= less).all()
    assert (dense_solution(W, s, B) >= more - 1e-9).all()


def test_sweeps_find_every_digit_of_tiny_entries(path_graph):
    n, rate = 30, 1e6
    W, B = path_graph(n), np.zeros((n, 2))
    B[0, 0] = 1.0
    B[:, 1] = rate
    result = gauss_seidel(W, W.sum(axis=1) + B.sum(axis=1), B)
    assert result.converged
    # To first order, the mass is passed on with probability 1 / rate.
    distance = np.arange(n) + 1
    np.testing.assert_allclose(np.log10(result.X[:, 0]) / distance, -6, atol=1e-3)
    balance = (W @ result.X + B) / (W.sum(axis=1) + B.sum(axis=1))[:, None]
    np.testing.assert_allclose(result.X, balance, rtol=1e-9)
