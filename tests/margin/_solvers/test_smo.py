"""SMO against LIBSVM, an interior-point method and the optimality conditions."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.margin import Kernel
from graphmargin.margin._solvers.smo import PairColumns, solve_smo, solve_smo_pairs
from tests.margin.problems import box, quadratic_program, signed_rows

MODULE = "graphmargin.margin._solvers.smo"


def overlapping_classes(n=80, seed=0, share=0.5):
    """Return a kernel matrix and signs that no machine separates."""
    X, signs = signed_rows(n, 3, seed=seed, share=share)
    return Kernel("rbf", width=1.5)(X, X), signs


def dual_by_interior_point(K, signs, bounds):
    n = len(signs)
    Q = signs[:, None] * K * signs + 1e-10 * np.eye(n)
    constraints = (*box(np.zeros(n), bounds), signs[None], np.zeros(1))
    return -quadratic_program(Q, -np.ones(n), *constraints)[1]


def objectives(K, signs, bounds, solution):
    """Return the primal and the dual objective."""
    beta = signs * solution.alpha
    square, f = beta @ K @ beta, K @ beta + solution.bias
    primal = square / 2 + bounds @ np.maximum(1 - signs * f, 0)
    return primal, solution.alpha.sum() - square / 2


@pytest.mark.parametrize("C", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("share", [0.5, 0.1])
def test_objective_is_that_of_an_interior_point_method(C, share):
    K, signs = overlapping_classes(share=share)
    bounds = C * np.random.default_rng(1).uniform(0.5, 2.0, size=len(signs))
    solution = solve_smo(K, np.arange(len(K)), signs, bounds, tolerance=1e-6)
    primal, dual = objectives(K, signs, bounds, solution)
    assert (solution.alpha >= bounds).sum() >= 3, "the comparison needs active slacks"
    expected = dual_by_interior_point(K, signs, bounds)
    assert dual == pytest.approx(expected, rel=1e-5)
    assert dual == pytest.approx(primal, rel=1e-5)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    C=st.sampled_from([1e-6, 0.1, 10.0, 1e6]),
    share=st.sampled_from([0.1, 0.5, 0.9]),
)
def test_optimality_conditions_hold_within_the_reported_violation(seed, n, C, share):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n) < max(1, min(n - 1, share * n)), 1.0, -1.0)
    X = rng.integers(0, 3, size=(n, 2)).astype(float)  # many duplicates
    K, bounds = Kernel("rbf")(X, X), C * rng.uniform(0.1, 1, size=n)
    solution = solve_smo(K, np.arange(n), signs, bounds)
    alpha = solution.alpha
    assert solution.converged
    assert solution.violation <= 1e-4
    assert alpha.min() >= 0
    assert (alpha <= bounds).all()
    assert abs(signs @ alpha) <= 1e-12 * max(1.0, alpha.sum()) * n
    margins = signs * (K @ (signs * alpha) + solution.bias)
    slack = 2e-4 + 1e-12 * alpha.sum()
    assert (margins[alpha < bounds] >= 1 - slack).all()
    assert (margins[alpha > 0] <= 1 + slack).all()


@pytest.mark.parametrize("ratio", [0.5, 2.0])
def test_start_at_the_solution_for_another_c_saves_iterations(ratio):
    K, signs = overlapping_classes(n=300, seed=5)
    rows, bounds = np.arange(300), np.full(300, 5.0)
    first = solve_smo(K, rows, signs, bounds)
    cold = solve_smo(K, rows, signs, ratio * bounds)
    warm = solve_smo(K, rows, signs, ratio * bounds, start=ratio * first.alpha)
    assert warm.iterations < 0.8 * cold.iterations
    f, expected = (K @ (signs * s.alpha) + s.bias for s in (warm, cold))
    np.testing.assert_allclose(f, expected, atol=1e-3)
    assert solve_smo(K, rows, signs, bounds, start=first.alpha).iterations == 0


@pytest.mark.parametrize("scale", [-1.0, 0.0, 0.3, 100.0])
def test_infeasible_start_is_made_feasible(scale):
    K, signs = overlapping_classes(seed=6)
    start = scale * np.random.default_rng(6).random(80)
    bounds = np.full(80, 2.0)
    solution = solve_smo(K, np.arange(80), signs, bounds, start=start, tolerance=1e-6)
    primal, dual = objectives(K, signs, bounds, solution)
    assert signs @ solution.alpha == pytest.approx(0.0, abs=1e-10)
    assert dual == pytest.approx(primal, rel=1e-5)


def test_too_few_iterations_are_reported():
    K, signs = overlapping_classes()
    solution = solve_smo(K, np.arange(80), signs, np.full(80, 5.0), max_iterations=7)
    assert not solution.converged
    assert solution.iterations == 7
    assert solution.violation > 1e-4


def test_checks_for_cancellation_do_not_change_the_solution(monkeypatch):
    K, signs = overlapping_classes()
    pauses = []
    whole = solve_smo(K, np.arange(80), signs, np.full(80, 5.0))
    monkeypatch.setattr(f"{MODULE}.ENTRIES_AT_ONCE", 80 * 10)
    monkeypatch.setattr(f"{MODULE}.raise_if_cancelled", lambda: pauses.append(1))
    shares = solve_smo(K, np.arange(80), signs, np.full(80, 5.0))
    np.testing.assert_array_equal(whole.alpha, shares.alpha)
    assert whole.iterations == shares.iterations
    assert len(pauses) == -(-whole.iterations // 10)


@pytest.mark.parametrize("row", range(4))
def test_variable_an_ulp_below_its_bound_does_not_decide_the_bias(row):
    X = np.array([[0.0], [0.3], [1.0], [1.5]])
    signs, bounds = np.array([1.0, 1.0, -1.0, -1.0]), np.full(4, 0.05)
    K = Kernel("rbf")(X, X)
    exact = solve_smo(K, np.arange(4), signs, bounds)
    np.testing.assert_array_equal(exact.alpha, bounds)
    start = bounds.copy()
    start[row] = np.nextafter(start[row], 0)
    solution = solve_smo(K, np.arange(4), signs, bounds, start=start)
    assert solution.bias == pytest.approx(exact.bias, abs=1e-12)


def three_classes(n=60, seed=7):
    """Return a kernel matrix, the rows of three classes and bounds."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % 3)
    X = rng.normal(size=(n, 2)) + codes[:, None]
    members = [np.flatnonzero(codes == c) for c in range(3)]
    return Kernel("rbf", width=1.5)(X, X), members, rng.uniform(0.5, 2.0, size=n)


PAIRS = np.array([[0, 1], [0, 2], [1, 2]])


def test_pairs_are_solved_as_one_by_one():
    K, members, bounds = three_classes()
    solved = solve_smo_pairs(K, members, PAIRS, bounds, tolerance=1e-6)
    assert solved.converged
    assert solved.violation <= 1e-6
    for pair, (first, second) in enumerate(PAIRS):
        rows = np.concatenate([members[first], members[second]])
        signs = np.repeat([1.0, -1.0], [len(members[first]), len(members[second])])
        alone = solve_smo(K, rows, signs, bounds[rows], tolerance=1e-6)
        entries = slice(*solved.coefficients.ends[pair : pair + 2])
        np.testing.assert_array_equal(solved.coefficients.rows[entries], rows)
        np.testing.assert_array_equal(solved.coefficients.values[entries], signs * alone.alpha)
        assert solved.biases[pair] == alone.bias
        assert solved.iterations[pair] == alone.iterations


@pytest.mark.parametrize("limit", ["ENTRIES_AT_ONCE", "MAX_CACHED"])
def test_neither_interruptions_nor_a_small_cache_change_the_pairs(monkeypatch, limit):
    K, members, bounds = three_classes()
    values = np.random.default_rng(8).normal(size=180)  # also at rows of other classes
    start = PairColumns(np.arange(0, 181, 60), np.tile(np.arange(60), 3), values)
    whole = solve_smo_pairs(K, members, PAIRS, bounds, start=start)
    monkeypatch.setattr(f"{MODULE}.{limit}", 10)
    other = solve_smo_pairs(K, members, PAIRS, bounds, start=start)
    np.testing.assert_array_equal(other.coefficients.values, whole.coefficients.values)
    np.testing.assert_array_equal(other.iterations, whole.iterations)


def test_one_pair_that_fails_is_reported():
    K, members, bounds = three_classes()
    needed = solve_smo_pairs(K, members, PAIRS, bounds).iterations
    solved = solve_smo_pairs(K, members, PAIRS, bounds, max_iterations=int(needed.max()) - 1)
    assert not solved.converged
    assert solved.violation > 1e-4
    np.testing.assert_array_equal(solved.iterations, np.minimum(needed, needed.max() - 1))
