"""Coordinate descent in a box against an interior-point method and its own certificates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.margin import Kernel
from graphmargin.margin._solvers.feature_maps import landmark_features
from graphmargin.margin._solvers.fixed_bias_descent import solve_fixed_bias
from tests.margin.problems import box, quadratic_program, signed_rows

MODULE = "graphmargin.margin._solvers.fixed_bias_descent"


def overlapping_classes(n=80, seed=0, d=5, offset=0.2):
    """Return features, targets and signs of a machine with a fixed bias."""
    F, signs = signed_rows(n, d, seed=seed)
    return F, signs - offset, signs


def between(signs, bounds):
    """Return the lowest and the highest values: 0 and the signed bound."""
    return np.minimum(signs * bounds, 0.0), np.maximum(signs * bounds, 0.0)


def by_interior_point(F, targets, lowest, highest):
    """Return the smallest D."""
    Q = F @ F.T + 1e-12 * np.eye(len(F))
    return quadratic_program(Q, -targets, *box(lowest, highest))[1]


@pytest.mark.parametrize("C", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("offset", [0.0, -0.7])
def test_objective_is_that_of_an_interior_point_method(C, offset):
    F, targets, signs = overlapping_classes(offset=offset)
    bounds = C * np.random.default_rng(1).uniform(0.5, 2.0, size=len(signs))
    lowest, highest = between(signs, bounds)
    solution = solve_fixed_bias(F, targets, lowest, highest)
    assert solution.converged
    assert solution.violation <= 1e-6
    assert (np.abs(solution.beta) >= bounds).sum() >= 10, "the comparison needs active bounds"
    assert (solution.beta == 0).sum() >= 5 or C < 1
    optimum = -by_interior_point(F, targets, lowest, highest)
    assert solution.dual == pytest.approx(optimum, rel=1e-7)
    assert solution.primal == pytest.approx(optimum, rel=1e-7)


def test_box_need_not_touch_zero():
    F, targets, _ = overlapping_classes(seed=2)
    rng = np.random.default_rng(2)
    lowest = rng.normal(size=len(F))
    highest = lowest + np.maximum(rng.uniform(-0.2, 0.5, size=len(F)), 0.0)  # some are fixed
    solution = solve_fixed_bias(F, targets, lowest, highest)
    assert (solution.beta >= lowest).all()
    assert (solution.beta <= highest).all()
    expected = by_interior_point(F, targets, lowest, highest)
    assert solution.dual == pytest.approx(-expected, rel=1e-7)


@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 30),
    r=st.integers(1, 4),
    C=st.sampled_from([1e-6, 0.1, 10.0, 1e4]),
)
def test_degenerate_problems_reach_the_tolerance(seed, n, r, C):
    rng = np.random.default_rng(seed)
    F = rng.integers(-1, 2, size=(n, r)).astype(float)  # many duplicates, some rows of zeros
    targets = rng.integers(-1, 2, size=n) + rng.choice([0.0, 0.3])
    lowest = -C * rng.integers(0, 2, size=n) * rng.random(n)
    highest = C * rng.integers(0, 2, size=n) * rng.random(n)  # some variables are fixed
    solution = solve_fixed_bias(F, targets, lowest, highest)
    beta = solution.beta
    assert solution.converged
    assert (beta >= lowest).all()
    assert (beta <= highest).all()
    weights = F.T @ beta
    np.testing.assert_allclose(solution.weights, weights, atol=1e-9 * (1 + n * C))
    residual = targets - F @ solution.weights
    assert residual[beta < highest].max(initial=0.0) <= solution.violation + 1e-12
    assert residual[beta > lowest].min(initial=0.0) >= -solution.violation - 1e-12
    gap = solution.primal - solution.dual
    assert -1e-9 <= gap / (1 + n * C) <= 1e-6 * n
    # D of a random point of the box is not smaller.
    other = lowest + rng.random(n) * (highest - lowest)
    rival = targets @ other - np.square(F.T @ other).sum() / 2
    assert rival <= solution.primal + 1e-9 * (1 + abs(solution.primal))


def test_solution_of_one_row_is_that_computed_by_hand():
    # b minimizes 2 b^2 - b / 2: 1 / 8, or the nearest bound.
    for highest, expected in [(1.0, 0.125), (0.1, 0.1)]:
        solution = solve_fixed_bias(
            np.array([[2.0]]), np.array([0.5]), np.zeros(1), np.array([highest])
        )
        assert solution.beta.tolist() == pytest.approx([expected])
        assert solution.weights.tolist() == pytest.approx([2 * expected])


@pytest.mark.parametrize("C", [1.0, 1000.0])
def test_tolerance_is_reached_where_rows_are_alike(C):
    X, targets, signs = overlapping_classes(n=300, d=3)
    F = landmark_features(Kernel("rbf", width=1.5), X)(X).astype(float)
    solution = solve_fixed_bias(F, targets, *between(signs, np.full(300, C)), tolerance=1e-7)
    assert solution.converged
    assert solution.violation <= 1e-7
    assert solution.primal - solution.dual <= 1e-7 * np.abs(solution.beta).sum() + 300 * C * 1e-7


def test_start_at_the_solution_takes_no_epoch():
    F, targets, signs = overlapping_classes(n=200)
    bounds = between(signs, np.full(200, 5.0))
    first = solve_fixed_bias(F, targets, *bounds)
    assert solve_fixed_bias(F, targets, *bounds, start=first.beta).epochs == 0
    far = solve_fixed_bias(F, targets, *bounds, start=100 * np.sin(np.arange(200.0)))
    np.testing.assert_allclose(far.weights, first.weights, atol=1e-5)


def test_too_few_epochs_are_reported():
    F, targets, signs = overlapping_classes(n=200)
    solution = solve_fixed_bias(F, targets, *between(signs, np.full(200, 100.0)), max_epochs=3)
    assert not solution.converged
    assert solution.epochs == 3
    assert solution.violation > 1e-6
    assert solution.primal > solution.dual


def test_checks_for_cancellation_do_not_change_the_solution(monkeypatch):
    F, targets, signs = overlapping_classes(n=200)
    bounds = between(signs, np.full(200, 5.0))
    pauses = []
    whole = solve_fixed_bias(F, targets, *bounds)
    monkeypatch.setattr(f"{MODULE}.ENTRIES_AT_ONCE", 5 * 70)
    monkeypatch.setattr(
        f"{MODULE}.raise_if_cancelled",
        lambda: pauses.append(1),
    )
    shares = solve_fixed_bias(F, targets, *bounds)
    np.testing.assert_array_equal(whole.beta, shares.beta)
    assert len(pauses) > whole.epochs
