"""Machines that are trained together on the same features."""

import numpy as np
import pytest

from graphmargin.margin import Kernel
from graphmargin.margin._solvers import feature_training
from graphmargin.margin._solvers.coordinate_descent import centered_problem
from graphmargin.margin._solvers.feature_training import train_on_features
from graphmargin.margin.machine import blend_machines
from graphmargin.margin.pairs import MarginProblem

RBF = Kernel("rbf", width=1.5)


def problems_on_rows(n=300, n_classes=3, seed=0):
    """Return rows, and problems that differ in labels, in weights and in C."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 1.5 * codes[:, None]
    changed = np.where(rng.random(n) < 0.05, (codes + 1) % n_classes, codes)
    weights = rng.uniform(0.1, 1.0, size=n)
    few = np.where(np.arange(n) < 200, weights, 0.0)
    return X, [
        MarginProblem(codes, np.ones(n), 1.0),
        MarginProblem(changed, weights, 10.0),
        MarginProblem(np.where(few > 0, codes, -1), few, 1.0),
    ]


@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_machines_together_are_machines_alone(monkeypatch, kind):
    X, problems = problems_on_rows()
    monkeypatch.setattr(feature_training, "RELATIVE_GAP", 1e-5)
    monkeypatch.setattr(feature_training, "LINEAR_GAP", 1e-5)
    kernel = Kernel(kind, width=1.5)
    together = train_on_features(X, problems, kernel, center=0.0, random_state=0)
    for machine, problem in zip(together, problems, strict=True):
        (alone,) = train_on_features(X, [problem], kernel, center=0.0, random_state=0)
        assert machine.report.converged
        assert machine.report.gap <= 1e-5
        assert machine.report.C == problem.C
        assert machine.report.n_rows == alone.report.n_rows == np.count_nonzero(problem.weights)
        f, expected = machine.pairwise(X), alone.pairwise(X)
        np.testing.assert_allclose(f, expected, atol=0.02 * np.abs(expected).max())


def test_blend_of_machines_on_landmarks_is_one_machine():
    X, problems = problems_on_rows()
    machines = train_on_features(X, problems, RBF, center=0.0, random_state=0)
    blended = blend_machines(machines, [0.5, 0.3, 0.2])
    assert blended.vectors.shape == machines[0].vectors.shape
    total = sum(w * m.pairwise(X) for w, m in zip([0.5, 0.3, 0.2], machines, strict=True))
    np.testing.assert_allclose(blended.pairwise(X), total, atol=1e-9)


def test_problems_of_pairs_are_centered_between_the_class_means(monkeypatch):
    X, problems = problems_on_rows()
    seen = []

    def keep(problem, **options):
        seen.append(problem)
        return solve(problem, **options)

    solve = feature_training.solve_centered
    monkeypatch.setattr(feature_training, "solve_centered", keep)
    train_on_features(X + 100.0, problems, Kernel("linear"), center=np.full(3, 99.0))
    assert len(seen) == 3 * 3
    for problem in seen:
        F = problem.F[problem.rows].astype(float)
        means = [F[problem.signs == sign].mean(axis=0) for sign in (1, -1)]
        np.testing.assert_allclose(problem.center, np.mean(means, axis=0), rtol=1e-5)
        direct = centered_problem(
            problem.F, problem.rows, problem.signs, problem.bounds, problem.center
        )
        np.testing.assert_allclose(problem.squares, direct.squares, rtol=1e-4)
        np.testing.assert_allclose(
            problem.center_products, direct.center_products, rtol=1e-4, atol=1e-4
        )


def test_no_class_of_any_problem_is_lost_in_a_sample(monkeypatch):
    X, (first, *_) = problems_on_rows(n=600, n_classes=2)
    rare = np.where(np.isin(np.arange(600), [0, 2]), 2, first.codes)
    has_rare = np.where(np.arange(600) == 1, 2, first.codes)
    problems = [
        MarginProblem(has_rare, np.ones(600), 1.0),
        MarginProblem(rare, np.ones(600), 1.0),
    ]
    monkeypatch.setattr(feature_training, "MAX_FEATURE_ROWS", 100)
    for seed in range(5):
        machines = train_on_features(X, problems, RBF, center=0.0, random_state=seed)
        assert all(100 <= machine.report.n_rows <= 102 for machine in machines)
        assert all(np.isfinite(machine.pairwise(X)).all() for machine in machines)
