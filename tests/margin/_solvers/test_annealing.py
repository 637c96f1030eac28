"""Annealing: gradients, agreement with SciPy, stages and precision."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

from graphmargin.margin._solvers import annealing
from graphmargin.margin._solvers.annealing import anneal_pairs
from graphmargin.margin.pairs import class_pairs

COSTS = np.array([1.0, 1.5])


def problem(seed=0, n=80, r=6):
    """Return features of two classes, and the class of every row."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(2, size=n)
    return rng.normal(size=(n, r)) + 1.0 - 2.0 * truth[:, None], truth


def anneal(F, truth, weights, *, start=None, mean=None, tolerances=(1e-14, 1e-14)):
    """Return the weights and the mean f of unlabeled rows for a pair with ten labels."""
    start = np.zeros(F.shape[1] + 1) if start is None else start
    codes = np.where(np.arange(len(F)) < 10, truth, -1)
    path, intercepts, _ = anneal_pairs(
        *(F, codes, truth, start[:-1, None], start[-1:]),
        pairs=np.array([[0, 1]]),
        costs=COSTS,
        hat_losses=np.asarray(weights),
        means=None if mean is None else np.array([mean]),
        tolerances=tolerances,
    )
    center = F[10:].mean(axis=0, dtype=np.float64)
    return np.column_stack([path[:, :, 0], intercepts[:, 0] + (path[:, :, 0] * center).sum(axis=1)])


def centered(F, truth, *, free=True):
    """Return features, signs and costs of the objective of a pair, as a function of `anneal`."""
    H = np.column_stack([F - F[10:].mean(axis=0), np.full(len(F), 1.0 if free else 0.0)])
    return H, np.where(np.arange(len(F)) < 10, 1.0 - 2.0 * truth, 0.0), COSTS[truth]


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


@pytest.mark.parametrize("mean", [None, 0.3])
@pytest.mark.parametrize("weight", [0.0, 0.01, 1.0])
def test_result_is_a_minimum_of_the_smooth_objective(weight, mean):
    F, truth = problem()
    data = (*centered(F, truth, free=mean is None), weight, mean or 0.0)
    start = np.full(7, 0.1)
    assert (
        check_grad(lambda v: surrogate(v, *data)[0], lambda v: surrogate(v, *data)[1], start) < 1e-4
    )
    (v,) = anneal(F, truth, [weight], start=start, mean=mean)
    value, gradient = surrogate(v, *data)
    assert np.abs(gradient).max() < 1e-4
    expected = minimize(surrogate, v, data, "L-BFGS-B", jac=True).fun
    assert value == pytest.approx(expected, rel=1e-9)
    assert value < surrogate(start, *data)[0]
    if mean is not None:
        assert v[-1] == pytest.approx(mean)


def test_every_weight_of_a_path_has_a_minimum_that_does_not_depend_on_larger_weights():
    F, truth = problem(1)
    weights = [1e-4, 0.01, 0.1, 1.0]
    path = anneal(F, truth, weights, tolerances=(1e-14, 1e-3))
    for m, weight in enumerate(weights):
        assert np.abs(surrogate(path[m], *centered(F, truth), weight, 0.0)[1]).max() < 1e-4
        part = anneal(F, truth, weights[: m + 1], tolerances=(1e-14, 1e-3))
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


@pytest.mark.parametrize(("largest", "atol"), [(0, 1e-4), (80 * 7, 0.0)])
def test_features_are_in_double_precision_unless_they_are_many(monkeypatch, largest, atol):
    monkeypatch.setattr(annealing, "MAX_DOUBLE", largest)
    F, truth = problem(2)
    F = F.astype(np.float32)
    single, double = (
        anneal(rows, truth, [0.1], tolerances=(1e-9, 1e-9)) for rows in (F, F.astype(float))
    )
    np.testing.assert_allclose(single, double, rtol=0, atol=atol)


def test_start_at_the_minimum_stays_there():
    F, truth = problem(3)
    (once,) = anneal(F, truth, [0.5])
    start = np.append(once[:-1], once[-1] - once[:-1] @ F[10:].mean(axis=0))
    np.testing.assert_allclose(anneal(F, truth, [0.5], start=start)[0], once, atol=1e-6)
