"""Coordinate descent: certificates, the exact bias, and agreement with SMO."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar

from graphmargin.margin._solvers.coordinate_descent import (
    BIAS_REACH,
    BIAS_SHARE,
    best_shift,
    bias_feature_square,
    centered_problem,
    descend,
    hinge_losses,
    solve_centered,
    squared_norm_penalty,
    values_at,
)
from graphmargin.margin._solvers.smo import solve_smo
from tests.margin.problems import box, quadratic_program, signed_rows

MODULE = "graphmargin.margin._solvers.coordinate_descent"


def overlapping_classes(n=200, seed=0, share=0.5):
    F, signs = signed_rows(n, 5, seed=seed, share=share)
    return F.astype(np.float32), signs


def solve_linear(F, rows, signs, bounds, **options):
    """Return the solution of the problem that is centered at the midpoint of the class means."""
    center = (F[rows[signs > 0]].mean(axis=0) + F[rows[signs < 0]].mean(axis=0)) / 2
    singles = (np.asarray(array, dtype=np.float32) for array in (signs, bounds, center))
    return solve_centered(centered_problem(F, rows, *singles), **options)


def free_objective(F, signs, bounds, solution):
    """Return the primal objective of the machine whose bias is free."""
    margins = signs * (F @ solution.weights.astype(float) + solution.bias)
    return solution.weights.astype(float) @ solution.weights / 2 + bounds @ np.maximum(
        1 - margins, 0
    )


def by_smo(F, signs, bounds):
    """Return the optimal objective with a free bias, and f at the rows."""
    K = F.astype(float) @ F.T.astype(float)
    solution = solve_smo(K, np.arange(len(F)), signs, bounds, tolerance=1e-6)
    beta = signs * solution.alpha
    return solution.alpha.sum() - beta @ K @ beta / 2, K @ beta + solution.bias


@pytest.mark.parametrize(
    ("C", "share", "offset"),
    [(0.01, 0.5, 10.0), (0.01, 0.1, 0.0), (1.0, 0.5, 0.0), (1.0, 0.1, 10.0), (30.0, 0.1, 0.0)],
)
def test_objective_with_a_free_bias_is_nearly_that_of_smo(C, share, offset):
    F, signs = overlapping_classes(share=share)
    F = F + np.float32(offset)
    bounds = C * np.random.default_rng(1).uniform(0.5, 2.0, size=len(F))
    optimum, expected = by_smo(F, signs, bounds)
    solution = solve_linear(F, np.arange(len(F)), signs, bounds, relative_gap=5e-3)
    assert solution.converged
    objective = free_objective(F, signs, bounds, solution)
    assert optimum * (1 - 1e-4) <= objective <= optimum * 1.02
    f = F @ solution.weights + solution.bias
    clear = np.abs(expected) > 0.1
    np.testing.assert_array_equal(f[clear] > 0, expected[clear] > 0)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 40),
    C=st.sampled_from([1e-4, 0.1, 10.0]),
    gap=st.sampled_from([0.1, 0.01, 1e-3]),
)
def test_certificate_encloses_the_optimum_of_an_interior_point_method(seed, n, C, gap):
    rng = np.random.default_rng(seed)
    signs = np.where(np.arange(n) < max(1, n // 3), 1.0, -1.0)
    F = rng.integers(-1, 2, size=(n, 3)).astype(np.float32)  # many duplicates
    bounds = C * rng.uniform(0.1, 1, size=n)
    solution = solve_linear(F, np.arange(n), signs, bounds, relative_gap=gap, max_epochs=50_000)
    assert solution.converged
    assert solution.gap <= gap
    # A bias that pays is one more feature, around the midpoint of the class means.
    G = F - (F[signs > 0].mean(axis=0) + F[signs < 0].mean(axis=0)) / 2
    least = min(bounds[signs > 0].sum(), bounds[signs < 0].sum())
    square = BIAS_SHARE * np.square(G).sum(axis=1).mean() + BIAS_REACH / least
    Q = signs[:, None] * (G.astype(float) @ G.T + square) * signs
    constraints = box(np.zeros(n), bounds)
    optimum = -quadratic_program(Q, -np.ones(n), *constraints, tolerance=1e-9)[1]
    assert solution.dual * (1 - 1e-5) <= optimum <= solution.primal * (1 + 1e-5)
    # To choose the bias again, and freely, can only lower the objective.
    assert free_objective(F, signs, bounds, solution) <= solution.primal * (1 + 1e-5)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_positive=st.integers(1, 6),
    n_negative=st.integers(1, 6),
    even=st.booleans(),
)
def test_shift_minimizes_the_hinge_losses(seed, n_positive, n_negative, even):
    rng = np.random.default_rng(seed)
    signs = np.repeat([1.0, -1.0], [n_positive, n_negative])
    f = rng.normal(size=len(signs)) * 2
    bounds = np.ones(len(signs)) if even else rng.uniform(0.1, 2, size=len(signs))

    def losses(shift):
        return bounds @ np.maximum(1 - signs * (f + shift), 0)

    best = min(losses(shift) for shift in signs - f)
    assert losses(best_shift(f, signs, bounds)) == pytest.approx(best, abs=1e-9)
    assert minimize_scalar(losses, bounds=(-9, 9), method="bounded").fun >= best - 1e-9


def test_solution_of_two_rows_is_that_computed_by_hand():
    # The widest margin between (-1, 0) and (3, 0) is f(x) = (x_1 - 1) / 2.
    F = np.array([[-1.0, 0.0], [3.0, 0.0]], dtype=np.float32)
    solution = solve_linear(
        F, np.arange(2), np.array([-1.0, 1.0]), np.full(2, 1e3), relative_gap=1e-5
    )
    np.testing.assert_allclose(solution.weights, [0.5, 0.0], atol=1e-3)
    assert solution.bias == pytest.approx(-0.5, abs=1e-3)
    assert solution.primal == pytest.approx(0.125, rel=1e-3)


def test_equal_rows_leave_only_the_bias():
    F = np.full((9, 4), 2.5, dtype=np.float32)
    signs = np.array([1.0] * 6 + [-1.0] * 3)
    solution = solve_linear(F, np.arange(9), signs, np.ones(9))
    np.testing.assert_array_equal(solution.weights, 0.0)
    assert solution.converged
    assert solution.bias == pytest.approx(1.0)


def test_too_few_epochs_are_reported():
    F, signs = overlapping_classes()
    solution = solve_linear(
        F, np.arange(200), signs, np.full(200, 100.0), relative_gap=1e-6, max_epochs=20
    )
    assert not solution.converged
    assert solution.epochs == 20
    assert solution.gap > 1e-6


def test_order_of_the_rows_is_that_of_the_seed():
    F, signs = overlapping_classes()
    arguments = (F, np.arange(200), signs, np.full(200, 5.0))
    first, again, other = (solve_linear(*arguments, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(first.weights, again.weights)
    assert np.any(first.weights != other.weights)


def test_checks_for_cancellation_do_not_change_the_solution(monkeypatch):
    F, signs = overlapping_classes()
    arguments = (F, np.arange(200), signs, np.full(200, 5.0))
    pauses = []
    whole = solve_linear(*arguments)
    monkeypatch.setattr(f"{MODULE}.ENTRIES_AT_ONCE", 5 * 70)
    monkeypatch.setattr(
        f"{MODULE}.raise_if_cancelled",
        lambda: pauses.append(1),
    )
    shares = solve_linear(*arguments)
    np.testing.assert_array_equal(whole.weights, shares.weights)
    assert len(pauses) > 50


def test_alternating_over_blocks_of_rows_reaches_the_same_optimum():
    F, signs = overlapping_classes()
    signs, bounds = signs.astype(np.float32), np.full(200, 2.0, dtype=np.float32)
    center = (F[signs > 0].mean(axis=0) + F[signs < 0].mean(axis=0)) / 2
    blocks = np.array_split(np.arange(200), 3)  # of one class, of both, and of the other
    problems = [centered_problem(F, rows, signs[rows], bounds[rows], center) for rows in blocks]
    squares = np.concatenate([problem.squares for problem in problems])
    bias_square = bias_feature_square(float(squares.mean()), 200.0)
    alphas = [np.zeros(len(rows), dtype=np.float32) for rows in blocks]
    weights, random = np.zeros(5, dtype=np.float32), np.random.default_rng(0)

    def bias():
        pairs = zip(problems, alphas, strict=True)
        return bias_square * sum(problem.balance(alpha) for problem, alpha in pairs)

    for _ in range(300):
        for problem, alpha in zip(problems, alphas, strict=True):
            offset = bias() - float(weights @ center)
            descend(problem, bias_square, alpha, weights, offset, 4, random)
    f = values_at(F, np.arange(200), weights, bias() - float(weights @ center))
    penalty = squared_norm_penalty(weights, bias(), bias_square)
    primal = penalty + hinge_losses(f, signs, bounds)
    dual = float(np.concatenate(alphas).sum()) - penalty
    whole = solve_linear(F, np.arange(200), signs, bounds, relative_gap=1e-4)
    assert (primal - dual) / primal < 1e-3
    assert primal == pytest.approx(whole.primal, rel=1e-3)
    np.testing.assert_allclose(weights, whole.weights, atol=0.02)


def test_no_rows_change_nothing():
    F, none = np.ones((3, 2), dtype=np.float32), np.zeros(0, dtype=np.float32)
    problem = centered_problem(F, np.zeros(0, dtype=np.int64), none, none, F[0])
    weights = np.array([1.0, 2.0], dtype=np.float32)
    _, active = descend(problem, 1.0, none.copy(), weights, 0.5, 4, np.random.default_rng(0))
    assert weights.tolist() == [1.0, 2.0]
    assert len(active) == 0


def test_rows_that_stay_active_are_those_near_the_margin():
    F, signs = overlapping_classes(n=2000)
    signs, bounds = signs.astype(np.float32), np.full(2000, 1.0, dtype=np.float32)
    problem = centered_problem(F, np.arange(2000), signs, bounds, np.zeros(5, dtype=np.float32))
    alpha, weights = np.zeros(2000, dtype=np.float32), np.zeros(5, dtype=np.float32)
    _, active = descend(problem, 1.0, alpha, weights, 0.0, 50, np.random.default_rng(0))
    free = np.flatnonzero((alpha > 0) & (alpha < 1))
    assert set(free) <= set(active)
    assert len(active) < 500
    f = values_at(F, active, weights, problem.balance(alpha))
    assert np.abs(signs[active] * f - 1).max() < 0.6
    others = values_at(F, np.arange(2000), weights, problem.balance(alpha))
    assert np.abs(signs * others - 1).max() > 2


@pytest.mark.parametrize("ratio", [1.0, 0.1])
def test_start_from_shares_of_bounds_saves_epochs_and_has_the_same_certificate(ratio):
    F, signs = overlapping_classes(n=400)
    signs, bounds = signs.astype(np.float32), np.full(400, 5.0, dtype=np.float32)
    center = np.zeros(5, dtype=np.float32)
    first = solve_centered(centered_problem(F, np.arange(400), signs, bounds, center))
    problem = centered_problem(F, np.arange(400), signs, ratio * bounds, center)
    options = {"relative_gap": 1e-3}
    cold = solve_centered(problem, **options)
    warm = solve_centered(problem, start=ratio * first.alpha, **options)
    assert warm.epochs <= cold.epochs
    assert warm.converged
    assert warm.dual <= cold.primal
    assert cold.dual <= warm.primal
    np.testing.assert_allclose(warm.weights, cold.weights, atol=0.05)
