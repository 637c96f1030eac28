"""Annealing: gradients, agreement with SciPy, stages and precision."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from graphmargin.margin.annealing import anneal


def problem(seed=0, n=80, r=6, *, free=True):
    """Return features with a constant last column, a few signs, and costs."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.5, 1.0, -1.0)
    H = rng.normal(size=(n, r + 1)) + truth[:, None]
    H[:, -1] = 2.0 if free else 0.0
    return H, np.where(np.arange(n) < 10, truth, 0.0), rng.uniform(0.5, 2.0, size=n)


def surrogate(v, H, signs, costs, weight, bias):
    """Return S(v) and its gradient, written with arrays."""
    f = H @ v + bias
    labeled = signs != 0
    missing = np.maximum(1.5 - signs * f, 0)
    hinges = np.where(missing < 1, missing**2 / 2, missing - 0.5)
    bumps = weight * np.exp(-3 * f**2)
    slopes = np.where(labeled, -costs * signs * np.minimum(missing, 1), -6 * f * bumps)
    w = np.append(v[:-1], 0.0)
    return w @ w / 2 + (costs * hinges)[labeled].sum() + bumps[~labeled].sum(), w + H.T @ slopes


@pytest.mark.parametrize("free", [True, False])
@pytest.mark.parametrize("weight", [0.0, 0.01, 1.0])
def test_result_is_a_minimum_of_the_smooth_objective(weight, free):
    H, signs, costs = problem(free=free)
    data = (H, signs, costs, weight, 0.3)
    start = np.full(7, 0.1)
    assert (
        check_grad(lambda v: surrogate(v, *data)[0], lambda v: surrogate(v, *data)[1], start) < 1e-4
    )
    (v,) = anneal(H, signs, costs, np.array([weight]), start, 0.3, tolerances=[1e-14])
    value, gradient = surrogate(v, *data)
    assert np.abs(gradient).max() < 1e-4
    expected = minimize(surrogate, v, data, "L-BFGS-B", jac=True).fun
    assert value == pytest.approx(expected, rel=1e-9)
    assert value < surrogate(start, *data)[0]
    if not free:
        assert v[-1] == start[-1]


def test_stages_start_where_the_last_one_ended():
    H, signs, costs = problem(1)
    weights = np.array([0.01, 0.1, 1.0])
    path = anneal(H, signs, costs, weights, np.zeros(7), 0.0, tolerances=[1e-3, 1e-3, 1e-6])
    v = np.zeros(7)
    for weight, tolerance, end in zip(weights, [1e-3, 1e-3, 1e-6], path, strict=True):
        (v,) = anneal(H, signs, costs, [weight], v, 0.0, tolerances=[tolerance])
        np.testing.assert_array_equal(v, end)


def test_single_precision_gives_nearly_the_same_minimum():
    H, signs, costs = problem(2)
    H = H.astype(np.float32)
    single, double = (
        anneal(rows, signs, costs, np.array([0.1]), np.zeros(7), 0.0, tolerances=[1e-6])
        for rows in (H, H.astype(np.float64))
    )
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_start_at_the_minimum_stays_there():
    H, signs, costs = problem(3)
    once = anneal(H, signs, costs, np.array([0.5]), np.zeros(7), 0.0, tolerances=[1e-14])
    again = anneal(H, signs, costs, np.array([0.5]), once[0], 0.0, tolerances=[1e-14])
    np.testing.assert_allclose(again, once, atol=1e-6)
