"""Annealing: brute force, gradients, agreement with SciPy, stages, balance and precision."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import check_grad, minimize

from graphmargin.margin._solvers.annealing import anneal_pairs

TIGHT = (1e-12, 1e-5)


def random_problem(seed=0, n=80, d=4, n_labels=10):
    """Return two overlapping classes, and a few of their signs."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.6, 1, -1)
    truth[:2] = 1, -1
    return rng.normal(size=(n, d)) + 0.8 * truth[:, None], np.where(
        np.arange(n) < n_labels, truth, 0
    )


def anneal(F, signs, C, gamma_us, *, mean=None, start=None, tolerances=TIGHT):
    """Return (w, b) of two classes for each gamma_u; all of them converged."""
    start = np.zeros(F.shape[1] + 1) if start is None else start
    weights, intercepts, converged = anneal_pairs(
        F,
        np.where(signs == 0, -1, (signs < 0).astype(int)),
        (signs < 0).astype(int),
        start[:-1, None],
        start[-1:],
        costs=np.broadcast_to(C, 2),
        hat_losses=np.mean(C) * np.asarray(gamma_us),
        means=None if mean is None else np.array([mean]),
        tolerances=tolerances,
    )
    assert converged.all()
    return np.column_stack([weights[:, :, 0], intercepts])


def smooth_hinge(margins):
    """Return the smooth hinge loss and minus its derivative."""
    missing = np.maximum(1.1 - margins, 0)
    return np.where(missing < 0.2, missing**2 / 0.4, missing - 0.1), np.minimum(missing / 0.2, 1)


def surrogate(v, F, signs, C, gamma_u):
    """Return S and its gradient for v = (w, b), written with arrays."""
    f = F @ v[:-1] + v[-1]
    labeled = signs != 0
    costs = np.select([signs > 0, signs < 0], np.broadcast_to(C, 2), 0.0)
    hinges, slopes = smooth_hinge(signs * f)
    bumps = np.mean(C) * gamma_u * np.exp(-3 * f**2)
    slopes = np.where(labeled, -costs * signs * slopes, -6 * f * bumps)
    value = v[:-1] @ v[:-1] / 2 + (costs * hinges)[labeled].sum() + bumps[~labeled].sum()
    return value, np.append(v[:-1] + F.T @ slopes, slopes.sum())


def reduced(w, F, signs, C, gamma_u, mean):
    """Return S and its gradient for weights whose bias is that of the mean over unlabeled rows."""
    center = F[signs == 0].mean(axis=0)
    value, gradient = surrogate(np.append(w, mean - w @ center), F, signs, C, gamma_u)
    return value, gradient[:-1] - gradient[-1] * center


@pytest.mark.parametrize(("mean", "C"), [(None, 1.0), (None, 10.0), (0.0, 0.1), (0.5, 10.0)])
def test_minimum_is_the_smallest_by_brute_force(mean, C):
    x = np.array([-3.0, 2.0, -2.4, -2.2, -1.8, -1.4, 0.6, 1.2, 1.5, 2.6])
    signs = np.array([-1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    (v,) = anneal(x[:, None], signs, C, [0.5], mean=mean)
    w = np.linspace(-2, 2, 401 if mean is None else 40001)[:, None]
    b = np.linspace(-4, 4, 801) if mean is None else mean - w * x[signs == 0].mean()
    S = w**2 / 2 + np.zeros_like(b)
    for value, sign in zip(x, signs, strict=True):
        f = w * value + b
        S += C * (0.5 * np.exp(-3 * f**2) if sign == 0 else smooth_hinge(sign * f)[0])
    reached = surrogate(v, x[:, None], signs, C, 0.5)[0]
    assert reached == pytest.approx(S.min(), rel=1e-3)
    assert reached <= S.min() * (1 + 1e-6)


@pytest.mark.parametrize("gamma_u", [1e-6, 0.01, 1.0])
@pytest.mark.parametrize("C", [1.0, (0.5, 4.0)])
def test_a_quasi_newton_method_of_scipy_finds_nothing_better_nearby(gamma_u, C):
    F, signs = random_problem()
    data = (F, signs, C, gamma_u)
    start = np.full(5, 0.1)
    error = check_grad(lambda v: surrogate(v, *data)[0], lambda v: surrogate(v, *data)[1], start)
    assert error < 1e-4
    (v,) = anneal(F, signs, C, [gamma_u], start=start)
    value, gradient = surrogate(v, *data)
    assert np.abs(gradient).max() < 1e-4
    again = minimize(surrogate, v, data, "L-BFGS-B", jac=True)
    assert value == pytest.approx(again.fun, rel=1e-9)
    if gamma_u == 1e-6:  # nearly convex: there is one minimum
        other = minimize(surrogate, start, data, "L-BFGS-B", jac=True)
        assert value == pytest.approx(other.fun, rel=1e-6)


@pytest.mark.parametrize("gamma_u", [0.01, 1.0])
def test_gradient_vanishes_under_the_constraint_on_the_mean(gamma_u):
    F, signs = random_problem(1)
    (v,) = anneal(F, signs, 2.0, [gamma_u], mean=0.2)
    assert (F @ v[:-1] + v[-1])[signs == 0].mean() == pytest.approx(0.2, abs=1e-12)
    data = (F, signs, 2.0, gamma_u, 0.2)
    value, gradient = reduced(v[:-1], *data)
    assert np.abs(gradient).max() < 1e-4
    again = minimize(reduced, v[:-1], data, "L-BFGS-B", jac=True)
    assert value == pytest.approx(again.fun, rel=1e-9)


def test_annealing_ends_below_scipy_from_the_same_start_more_often_than_above():
    signs_of_differences = []
    for seed in range(40):
        F, signs = random_problem(seed)
        data = (F, signs, 2.0, 1.0)
        (v,) = anneal(F, signs, 2.0, [1.0])
        other = minimize(surrogate, np.zeros(5), data, "L-BFGS-B", jac=True)
        ratio = surrogate(v, *data)[0] / other.fun
        signs_of_differences.append(0 if abs(ratio - 1) < 1e-6 else np.sign(ratio - 1))
    assert sum(signs_of_differences) < 0


def test_a_path_that_ends_above_its_start_begins_again_there():
    F, signs = random_problem(1)
    data = (F, signs, 2.0, 1.0, 0.2)
    (usual,) = anneal(F, signs, 2.0, [1.0], mean=0.2)
    lower = minimize(reduced, np.zeros(4), data, "L-BFGS-B", jac=True)
    assert lower.fun < 0.99 * reduced(usual[:-1], *data)[0]
    (v,) = anneal(F, signs, 2.0, [1.0], mean=0.2, start=np.append(lower.x, 0.0))
    assert reduced(v[:-1], *data)[0] == pytest.approx(lower.fun, rel=1e-9)


@given(
    seed=st.integers(0, 2**32 - 1),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    gamma_u=st.sampled_from([0.01, 0.1, 1.0]),
    mean=st.sampled_from([None, -0.3, 0.0, 0.5]),
)
@settings(max_examples=50)
def test_objective_is_never_above_that_of_the_start(seed, C, gamma_u, mean):
    F, signs = random_problem(seed, n=30, d=2, n_labels=6)
    start = np.random.default_rng(seed).normal(size=3)
    (v,) = anneal(F, signs, C, [gamma_u], mean=mean, start=start, tolerances=(1e-6, 1e-5))
    if mean is not None:
        start[-1] = mean - start[:-1] @ F[signs == 0].mean(axis=0)
        assert (F @ v[:-1] + v[-1])[signs == 0].mean() == pytest.approx(mean, abs=1e-9)
    data = (F, signs, C, gamma_u)
    assert surrogate(v, *data)[0] <= surrogate(start, *data)[0] * (1 + 1e-12)


def test_every_weight_of_a_path_has_a_minimum_that_does_not_depend_on_larger_weights():
    F, signs = random_problem(1)
    gamma_us = [1e-4, 0.01, 0.1, 1.0]
    path = anneal(F, signs, 1.5, gamma_us)
    for m, gamma_u in enumerate(gamma_us):
        assert np.abs(surrogate(path[m], F, signs, 1.5, gamma_u)[1]).max() < 1e-4
        np.testing.assert_array_equal(anneal(F, signs, 1.5, gamma_us[: m + 1]), path[: m + 1])


@pytest.mark.parametrize("mean", [None, 0.2])
def test_order_offset_and_names_of_the_signs_do_not_matter(mean):
    F, signs = random_problem(6)
    (v,) = anneal(F, signs, 1.0, [0.2], mean=mean)
    order = np.random.default_rng(6).permutation(len(F))
    other = None if mean is None else -mean
    (flipped,) = anneal(F[order] + 3.0, -signs[order], 1.0, [0.2], mean=other)
    np.testing.assert_allclose(v[:-1], -flipped[:-1], atol=1e-4)
    assert flipped[-1] == pytest.approx(3 * v[:-1].sum() - v[-1], abs=1e-4)


@pytest.mark.parametrize("means", [None, np.array([0.2, 0.0, -0.3])])
def test_pairs_are_problems_of_two_classes_in_any_number_of_threads(means):
    """The first class of a pair is positive."""
    rng = np.random.default_rng(4)
    truth = rng.integers(3, size=90)
    F = rng.normal(size=(90, 5)) + 2 * np.eye(5)[truth]
    codes = np.where(np.arange(90) < 15, truth, -1)
    start, costs = rng.normal(size=(6, 3)) / 10, np.array([1.0, 2.0, 3.0])
    options = {"costs": costs, "hat_losses": np.array([0.01, 0.1]), "means": means}
    one, two = (
        anneal_pairs(
            F, codes, truth, start[:-1], start[-1], tolerances=TIGHT, n_jobs=n_jobs, **options
        )
        for n_jobs in (1, 2)
    )
    for array, other in zip(one, two, strict=True):
        np.testing.assert_array_equal(array, other)
    weights, intercepts, converged = one
    assert converged.all()
    for p, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (truth == i) | (truth == j)
        signs = ((codes == i) * 1 - (codes == j))[rows]
        alone = anneal(
            F[rows],
            signs,
            costs[[i, j]],
            options["hat_losses"] / costs[[i, j]].mean(),
            mean=None if means is None else means[p],
            start=start[:, p],
        )
        np.testing.assert_allclose(weights[:, :, p], alone[:, :-1], atol=1e-6)
        np.testing.assert_allclose(intercepts[:, p], alone[:, -1], atol=1e-6)


def test_single_precision_gives_nearly_the_same_minimum():
    F, signs = random_problem(2)
    F = F.astype(np.float32)
    single, double = (anneal(rows, signs, 1.0, [0.1]) for rows in (F, F.astype(np.float64)))
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_start_at_the_minimum_stays_there():
    F, signs = random_problem(3)
    once = anneal(F, signs, 1.0, [0.5])
    np.testing.assert_allclose(anneal(F, signs, 1.0, [0.5], start=once[0]), once, atol=1e-6)


@pytest.mark.parametrize(("mean", "bias"), [(None, 1.0), (0.5, 0.5)])
def test_features_without_information_leave_the_bias(mean, bias):
    """Without weight of the unlabeled rows, 2 h(f) + h(-f) is least where h'(f) = -1/2."""
    signs = np.array([1, 1, -1, 0, 0, 0])
    (v,) = anneal(np.zeros((6, 2)), signs, 1.0, [0.0], mean=mean)
    np.testing.assert_array_equal(v[:-1], 0.0)
    assert v[-1] == pytest.approx(bias, abs=1e-5)


def test_failure_to_converge_is_reported():
    """A tolerance of zero is below the rounding errors."""
    F, signs = random_problem()
    codes = np.where(signs == 0, -1, (signs < 0).astype(int))
    *_, converged = anneal_pairs(
        F,
        codes,
        (signs < 0).astype(int),
        np.zeros((4, 1)),
        np.zeros(1),
        costs=np.ones(2),
        hat_losses=np.array([0.1, 0.2]),
        means=None,
        tolerances=(0.0, 1e-5),
    )
    assert converged.tolist() == [False, False]
