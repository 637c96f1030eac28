"""Annealing: gradients, agreement with SciPy, stages and precision."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from graphmargin.margin._solvers.annealing import anneal, anneal_pairs
from graphmargin.margin.pairs import class_pairs


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
    (v,) = anneal(H, signs, costs, np.array([weight]), start, 0.3, tolerances=(1e-14, 1e-14))
    value, gradient = surrogate(v, *data)
    assert np.abs(gradient).max() < 1e-4
    expected = minimize(surrogate, v, data, "L-BFGS-B", jac=True).fun
    assert value == pytest.approx(expected, rel=1e-9)
    assert value < surrogate(start, *data)[0]
    if not free:
        assert v[-1] == start[-1]


def test_every_weight_of_a_path_has_a_minimum_that_does_not_depend_on_larger_weights():
    H, signs, costs = problem(1)
    weights = np.array([1e-4, 0.01, 0.1, 1.0])
    path = anneal(H, signs, costs, weights, np.zeros(7), 0.0, tolerances=(1e-14, 1e-3))
    for m, weight in enumerate(weights):
        assert np.abs(surrogate(path[m], H, signs, costs, weight, 0.0)[1]).max() < 1e-4
        part = anneal(H, signs, costs, weights[: m + 1], np.zeros(7), 0.0, tolerances=(1e-14, 1e-3))
        np.testing.assert_array_equal(part, path[: m + 1])


@pytest.mark.parametrize("means", [None, np.array([0.2, 0.0, -0.3])])
def test_pairs_are_problems_of_two_classes(means):
    """Rows of a pair are centered at its unlabeled ones, and its first class is positive."""
    rng = np.random.default_rng(4)
    truth = rng.integers(3, size=90)
    F = rng.normal(size=(90, 5)) + 2 * np.eye(5)[truth]
    codes = np.where(np.arange(90) < 15, truth, -1)
    start, costs, u = rng.normal(size=(6, 3)) / 10, np.array([1.0, 2.0, 3.0]), np.array([0.01, 0.1])
    pairs, options = class_pairs(3), {"means": means, "tolerances": (1e-12, 1e-12)}
    weights, intercepts, _ = anneal_pairs(
        F, codes, truth, start[:-1], start[-1], pairs=pairs, costs=costs, hat_losses=u, **options
    )
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (truth == i) | (truth == j)
        given, G = codes[rows], F[rows]
        center = G[given < 0].mean(axis=0)
        signs = (given == i) * 1.0 - (given == j)
        H = np.column_stack([G - center, np.full(len(G), 5.0 if means is None else 0.0)])
        bias = start[-1, p] + center @ start[:-1, p] if means is None else means[p]
        data = (H, signs, np.where(given < 0, 0, costs[given]))
        for m in range(2):
            f_mean = center @ weights[m, :, p] + intercepts[m, p]
            v = np.append(weights[m, :, p], (f_mean - bias) / 5)
            _, gradient = surrogate(v, *data, u[m], bias)
            assert np.abs(gradient).max() < 1e-3
            if means is not None:
                assert f_mean == pytest.approx(means[p])


def test_single_precision_gives_nearly_the_same_minimum():
    H, signs, costs = problem(2)
    H = H.astype(np.float32)
    single, double = (
        anneal(rows, signs, costs, np.array([0.1]), np.zeros(7), 0.0, tolerances=(1e-6, 1e-6))
        for rows in (H, H.astype(np.float64))
    )
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_start_at_the_minimum_stays_there():
    H, signs, costs = problem(3)
    once = anneal(H, signs, costs, np.array([0.5]), np.zeros(7), 0.0, tolerances=(1e-14, 1e-14))
    again = anneal(H, signs, costs, np.array([0.5]), once[0], 0.0, tolerances=(1e-14, 1e-14))
    np.testing.assert_allclose(again, once, atol=1e-6)
