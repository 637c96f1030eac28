"""Semi-supervised machines: brute force, fixed points, balance, symmetries and two moons."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import make_moons

from graphmargin.margin import Kernel, train_machine
from graphmargin.margin._solvers.feature_maps import explicit_features, landmark_features
from graphmargin.margin._solvers.smo import solve_smo
from graphmargin.margin.s3vm import solve_s3vm
from tests.margin.problems import box, quadratic_program


def solve_one(F, signs, *, gamma_u, **options):
    """Return the machine of a single gamma_u."""
    (solution,) = solve_s3vm(F, signs, gamma_us=[gamma_u], **options)
    return solution


def objective(F, signs, solution, C, gamma_u):
    f = F.astype(float) @ solution.weights + solution.bias
    losses = np.where(signs == 0, gamma_u * (1 - np.abs(f)), 1 - signs * f)
    return solution.weights @ solution.weights / 2 + C * np.maximum(losses, 0).sum()


def random_problem(seed, n=60, d=3, n_labels=6):
    """Return two overlapping classes, a few labels and their true signs."""
    rng = np.random.default_rng(seed)
    truth = np.where(rng.random(n) < 0.6, 1, -1)
    truth[:2] = 1, -1
    signs = np.where(np.arange(n) < n_labels, truth, 0)
    return rng.normal(size=(n, d)) + 0.8 * truth[:, None], signs, truth


def moons(seed, width, n=200):
    """Return RBF features of two moons, one label in each, and the true signs.

    Labels are not at the tips, each of which is next to the other moon.
    """
    X, y = make_moons(n, noise=0.05, random_state=seed)
    truth = 2 * y - 1
    rng = np.random.default_rng(seed)
    signs = np.zeros(n, dtype=int)
    for c in (0, 1):
        signs[rng.choice(np.flatnonzero((y == c) & (np.abs(X[:, 0] - c) < 0.7)))] = 2 * c - 1
    return landmark_features(Kernel("rbf", width=width), X)(X).astype(float), signs, truth


def smallest_on_a_grid(x, signs, C, gamma_u, mean):
    """Return the smallest J of ``f(x) = w x + b``, b being free or fixed by the mean of f."""
    w = np.linspace(-2, 2, 401 if mean is None else 40001)[:, None]
    b = np.linspace(-4, 4, 801) if mean is None else mean - w * x[signs == 0].mean()
    J = w**2 / 2 + np.zeros_like(b)
    for value, sign in zip(x, signs, strict=True):
        f = w * value + b
        J += C * np.maximum(gamma_u * (1 - np.abs(f)) if sign == 0 else 1 - sign * f, 0)
    return J.min()


@pytest.mark.parametrize(("mean", "C"), [(None, 1.0), (None, 10.0), (0.0, 0.1), (0.5, 10.0)])
def test_objective_is_the_smallest_by_brute_force(mean, C):
    x = np.array([-3.0, 2.0, -2.4, -2.2, -1.8, -1.4, 0.6, 1.2, 1.5, 2.6])
    signs = np.array([-1, 1, 0, 0, 0, 0, 0, 0, 0, 0])
    solution = solve_one(x[:, None], signs, C=C, gamma_u=0.5, mean=mean)
    smallest = smallest_on_a_grid(x, signs, C, 0.5, mean)
    assert solution.objective == pytest.approx(smallest, rel=1e-3)
    assert solution.objective <= smallest * (1 + 1e-5)
    assert solution.objective < solution.supervised_objective


@pytest.mark.parametrize(
    ("x", "gamma_u", "mean"),
    [
        ([1.8, -1.4, 0.4, 0.2, 2.8, 0.2, 0.2, -2.2, 0.0], 0.1, None),
        ([-1.6, 4.6, 1.2, 0.2], 1.0, 0.3),
    ],
)
def test_supervised_machine_is_kept_if_the_local_optimum_is_worse(x, gamma_u, mean):
    F, signs = np.array(x)[:, None], np.array([1, -1] + [0] * (len(x) - 2))
    solution = solve_one(F, signs, C=1.0, gamma_u=gamma_u, mean=mean)
    assert solution.kept_supervised
    assert solution.trace[-1] > solution.objective == solution.supervised_objective
    assert solution.objective == pytest.approx(objective(F, signs, solution, 1.0, gamma_u))
    f = F @ solution.weights + solution.bias
    if mean is None:
        supervised = solve_one(F, signs, C=1.0, gamma_u=0.0)
        np.testing.assert_array_equal(solution.weights, supervised.weights)
        assert solution.bias == supervised.bias
    else:
        assert f[2:].mean() == pytest.approx(mean)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_supervised_machine_results_without_weight_or_unlabeled_rows(C):
    F, signs, _ = random_problem(0, n_labels=40)
    labeled = signs != 0
    machine = train_machine(F[labeled], (signs[labeled] > 0).astype(int), Kernel("linear"), C=C)
    expected = machine.decision(F)
    for mean in (None, 0.3):
        for problem in ((F, signs, 0.0), (F[labeled], signs[labeled], 1.0)):
            *rows, gamma_u = problem
            solution = solve_one(*rows, C=C, gamma_u=gamma_u, mean=mean)
            f = F @ solution.weights + solution.bias
            np.testing.assert_allclose(f, expected, atol=3e-4, rtol=1e-4)  # SMO is right to 1e-4
            assert solution.objective == solution.supervised_objective
            assert not solution.kept_supervised
            assert solution.converged


@given(
    seed=st.integers(0, 2**32 - 1),
    C=st.sampled_from([0.1, 1.0, 10.0]),
    gamma_u=st.sampled_from([0.01, 0.1, 1.0]),
    mean=st.sampled_from([None, -0.3, 0.0, 0.5]),
)
@settings(max_examples=25)
def test_objective_falls_and_is_that_of_the_result(seed, C, gamma_u, mean):
    F, signs, _ = random_problem(seed, n=30)
    solution = solve_one(F, signs, C=C, gamma_u=gamma_u, mean=mean)
    assert solution.converged
    assert (np.diff(solution.trace) < 0).all()
    assert solution.objective <= solution.supervised_objective * (1 + 1e-6)
    assert solution.objective == pytest.approx(objective(F, signs, solution, C, gamma_u))
    if not solution.kept_supervised:
        assert solution.objective == solution.trace[-1]
    if mean is not None:
        f = F @ solution.weights + solution.bias
        assert f[signs == 0].mean() == pytest.approx(mean, abs=1e-6)


def machine_of_labels(F, labels, bounds, mean_rows, mean):
    """Return f of an ordinary machine on all rows, by SMO or an interior-point method."""
    n = len(F)
    if mean is None:
        solution = solve_smo(F @ F.T, np.arange(n), labels, bounds, tolerance=1e-8)
        return F @ F.T @ (labels * solution.alpha) + solution.bias
    G = F - F[mean_rows].mean(axis=0)
    Q = labels[:, None] * (G @ G.T) * labels
    problem = (Q + 1e-12 * np.eye(n), mean * labels - 1, *box(np.zeros(n), bounds))
    alpha, _ = quadratic_program(*problem, tolerance=1e-11)
    return G @ (G.T @ (labels * alpha)) + mean


@pytest.mark.parametrize(("mean", "seed"), [(None, 0), (0.2, 1)])
def test_machine_of_the_guessed_labels_is_the_machine_itself(mean, seed):
    F, signs, _ = random_problem(seed, n=80)
    solution = solve_one(F, signs, C=2.0, gamma_u=0.3, mean=mean)
    assert not solution.kept_supervised
    f = F @ solution.weights + solution.bias
    labels = np.where(signs == 0, np.sign(f), signs)
    bounds = np.where(signs == 0, 0.6, 2.0)
    again = machine_of_labels(F, labels, bounds, signs == 0, mean)
    np.testing.assert_allclose(f, again, atol=1e-4)


def error_on_moons(seed, width, gamma_u):
    F, signs, truth = moons(seed, width)
    mean = truth[signs == 0].mean()
    solution = solve_one(F, signs, C=1.0, gamma_u=gamma_u, mean=mean)
    return np.mean((F @ solution.weights + solution.bias) * truth <= 0)


@pytest.mark.parametrize(("seed", "width"), [(0, 0.2), (1, 0.3), (2, 0.2)])
def test_two_moons_are_learned_from_two_labels(seed, width):
    assert error_on_moons(seed, width, gamma_u=0.1) <= 0.01
    assert error_on_moons(seed, width, gamma_u=0.0) >= 0.05


@pytest.mark.parametrize("mean", [None, 0.2])
def test_order_offset_and_names_of_the_signs_do_not_matter(mean):
    F, signs, _ = random_problem(6)
    options = {"C": 1.0, "gamma_u": 0.2}
    solution = solve_one(F, signs, mean=mean, **options)
    order = np.random.default_rng(6).permutation(len(F))
    other_mean = None if mean is None else -mean
    flipped = solve_one(F[order] + 3.0, -signs[order], mean=other_mean, **options)
    np.testing.assert_allclose(solution.weights, -flipped.weights, atol=1e-4)
    expected = 3 * solution.weights.sum() - solution.bias
    assert flipped.bias == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("mean", [None, 0.2])
def test_the_same_rows_and_seed_give_the_same_machine_to_the_last_bit(mean):
    X, signs, _ = random_problem(8, n=200)
    runs = []
    for _ in range(2):
        features = explicit_features(X, np.arange(6), Kernel("rbf"), 40, 0.0, random_state=0)
        options = {"C": 1.0, "gamma_u": 0.2, "mean": mean}
        runs.append(solve_one(features(X), signs, **options))
    np.testing.assert_array_equal(runs[0].weights, runs[1].weights)
    np.testing.assert_array_equal(runs[0].trace, runs[1].trace)
    assert runs[0].bias == runs[1].bias


def test_single_precision_gives_nearly_the_same_machine():
    F, signs, _ = random_problem(7, n=300, n_labels=10)
    options = {"C": 1.0, "gamma_u": 0.1, "mean": 0.2}
    single = solve_one(F.astype(np.float32), signs, **options)
    double = solve_one(F, signs, **options)
    assert single.objective == pytest.approx(double.objective, rel=1e-3)
    f = F @ single.weights + single.bias
    assert f[signs == 0].mean() == pytest.approx(0.2, abs=1e-6)


@pytest.mark.parametrize("mean", [None, 0.5])
def test_features_without_information_leave_the_bias(mean):
    signs = np.array([1, 1, -1, 0, 0, 0])
    solution = solve_one(np.zeros((6, 2)), signs, C=1.0, gamma_u=0.1, mean=mean)
    np.testing.assert_array_equal(solution.weights, 0.0)
    assert solution.bias == pytest.approx(1.0 if mean is None else 0.5)
    assert solution.converged
