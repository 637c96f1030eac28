"""Semi-supervised SVMs: trials and blends against machines that are trained one by one."""

import numpy as np
import pytest

from graphmargin.margin import Kernel, train_machine
from graphmargin.margin.machine import class_scores
from graphmargin.margin.semi_supervised_training import train_semi_supervised
from graphmargin.selection import low_density
from graphmargin.selection.choice import choose
from graphmargin.selection.cut_trials import MAX_BLENDED
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import HAT_LOSS_GRID, c_grid, label_counts
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.low_density import (
    blend_low_density,
    fit_low_density,
    low_density_candidates,
    try_low_density,
)
from graphmargin.selection.trials import join
from tests.selection.tasks import (
    RUN,
    assert_consistent,
    assert_same_trials,
    clusters,
    folds_of,
    tasks_of_low_density,
    without,
)

GRID = {"gamma_u": [0.0, 0.05, 0.3], "C": 1.0}


def alone(task, y, candidate):
    """Return the machine of a candidate by `train_semi_supervised`."""
    return train_semi_supervised(
        task.X,
        y,
        task.kernel,
        C=candidate["C"],
        gamma_u=candidate["gamma_u"],
        class_prior=task.parameters.class_prior,
    )[0]


def try_and_choose(tasks, held_out):
    trials = try_low_density(tasks, held_out, RUN)
    evidence = join([part.evidence for part in trials])
    choice = choose(evidence, label_counts(tasks[0].labels), MAX_BLENDED)
    return trials, choice, blend_low_density(trials, choice, RUN)


def test_auto_stands_for_the_grids():
    X, y = clusters()
    (task,) = tasks_of_low_density(X, y, gamma_u="auto", C="auto")
    candidates = low_density_candidates(task)
    assert tuple(one["gamma_u"] for one in candidates[::3]) == HAT_LOSS_GRID
    assert [one["C"] for one in candidates[:3]] == c_grid(X, task.kernel)


@pytest.mark.parametrize(
    ("kernel", "class_prior", "n_classes"),
    [("linear", None, 2), ("rbf", [0.3, 0.3, 0.4], 3), ("cubic", "labels", 2)],
)
def test_trials_are_machines_without_the_labels(kernel, class_prior, n_classes):
    X, y = clusters(n_classes, n=40)
    held_out = folds_of(y)
    (task,) = tasks_of_low_density(X, y, kernel=kernel, class_prior=class_prior, **GRID)
    (trials,) = try_low_density([task], held_out, RUN)
    evidence = trials.evidence
    assert_consistent(evidence, y, held_out, n_classes * (n_classes - 1) // 2)
    assert evidence.supervised.tolist() == [True, False, False]
    for i, candidate in enumerate(evidence.params):
        f = alone(task, y, candidate).pairwise(X[y < 0])
        assert evidence.scales[i] == pytest.approx(np.abs(f).mean(), rel=1e-3)
        expected = [
            alone(task, without(y, fold), candidate).pairwise(X[fold]) for fold in held_out.folds
        ]
        values = evidence.held_out_values[i] * evidence.scales[i]
        np.testing.assert_allclose(values, np.concatenate(expected), atol=2e-3)


def test_kernel_matrix_gives_the_trials_of_its_rows(monkeypatch):
    monkeypatch.setattr(low_density, "MAX_HAT_LOSSES", 20)
    X, y = clusters(n=40)
    K = Kernel("rbf", width=2.0)
    new, codes = X[:7] + 1.0, np.zeros(7, dtype=np.int64)
    for held_out, of_matrix in (
        (folds_of(y), folds_of(y)),
        (HeldOutLabels((), (new, codes)), HeldOutLabels((), (K(new, X), codes))),
    ):
        (rows,) = try_low_density(tasks_of_low_density(X, y, width=2.0, **GRID), held_out, RUN)
        tasks = tasks_of_low_density(K(X, X), y, kernel="precomputed", **GRID)
        (matrix,) = try_low_density(tasks, of_matrix, RUN)
        assert_same_trials(matrix.evidence, rows.evidence, atol=1e-3)


def test_supervised_candidates_do_not_ask_the_unlabeled_rows():
    X, y = clusters(n=40)
    held_out, labeled = folds_of(y), np.flatnonzero(y >= 0)
    (task,) = tasks_of_low_density(X, y, kernel="linear", gamma_u=[0.0], C=2.0)
    (trials,) = try_low_density([task], held_out, RUN)
    f = []
    for fold in held_out.folds:
        kept = np.setdiff1d(labeled, fold)
        f.append(train_machine(X[kept], y[kept], task.kernel, C=2.0).pairwise(X[fold]))
    values = trials.evidence.held_out_values[0] * trials.evidence.scales[0]
    np.testing.assert_allclose(values, np.concatenate(f), atol=5e-3)


def test_hat_losses_of_a_sample_count_for_all_rows(monkeypatch):
    """One of ten equal rows has ten times the loss."""
    X, y = clusters(n=20)
    labeled, unlabeled = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)[:1]
    X[unlabeled] = X[labeled].mean(axis=0) + 0.1  # within the margin
    rows = np.concatenate([labeled, np.repeat(unlabeled, 10)])

    def scales(rows, gamma_u):
        options = {"kernel": "linear", "width": 1.0, "class_prior": None}
        tasks = tasks_of_low_density(X[rows], y[rows], gamma_u=[gamma_u], C=1.0, **options)
        return try_low_density(tasks, HeldOutLabels(()), RUN)[0].evidence.scales

    monkeypatch.setattr(low_density, "MAX_HAT_LOSSES", 1)
    once = scales(rows[: len(labeled) + 1], 3.0)
    np.testing.assert_allclose(scales(rows, 0.3), once, rtol=1e-6)
    assert abs(scales(rows[: len(labeled) + 1], 0.3) - once) > 1e-3


def test_trials_depend_on_the_seed_and_not_on_threads(monkeypatch):
    monkeypatch.setattr(low_density, "MAX_HAT_LOSSES", 15)
    X, y = clusters(3, n=45)
    tasks = tasks_of_low_density(X, y, **GRID)
    first, second, other = (
        try_low_density(tasks, folds_of(y), Execution(n_jobs=n_jobs, seed=seed))[0].evidence
        for n_jobs, seed in ((1, 0), (3, 0), (1, 1))
    )
    assert_same_trials(first, second)
    assert not np.allclose(first.scales, other.scales)


@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({"class_prior": "labels"}, 3),
        ({"class_prior": ["labels", None, [0.4, 0.6]]}, 2),
        ({"kernel": ["linear", "rbf"], "width": [1.0, 3.0]}, 2),
        ({"kernel": ["linear", "cubic"], "degree": [2, 3], "gamma_u": [0.0, 0.1]}, 2),
    ],
    ids=str,
)
def test_blend_is_the_weighted_sum_of_separate_fits(parameters, n_classes):
    X, y = clusters(n_classes, n=24, n_labeled=3)
    new = X[::3] + 0.1
    parameters = {**GRID, **parameters}
    trials, choice, fitted = try_and_choose(tasks_of_low_density(X, y, **parameters), folds_of(y))
    assert 1 < len(choice.blended) <= 4
    total, n_solutions = 0.0, 0
    for i, factor in choice.blended:
        (task,) = tasks_of_low_density(X, y, **{**parameters, **choice.trials.params[i]})
        single = fit_low_density(task, RUN)
        total = total + factor * single.predictor.machines[0].pairwise(new)
        n_solutions += len(single.solutions)
    f = sum(machine.pairwise(new) for machine in fitted.predictor.machines)
    np.testing.assert_allclose(f, total, atol=1e-6 * np.abs(total).max())
    np.testing.assert_allclose(fitted.predictor.decision(new), class_scores(f, n_classes))
    assert len(fitted.solutions) == n_solutions == len(choice.blended) * (2 * n_classes - 3)
    places = [part.task for part in trials for _ in part.evidence.params]
    assert fitted.task is places[choice.best]


def test_fixed_machine_and_its_warnings():
    X = np.random.default_rng(30).normal(size=(30, 2))  # without structure: a bad local optimum
    y = np.where(np.arange(30) < 10, np.arange(30) % 2, -1)
    options = {"kernel": "linear", "class_prior": None, "gamma_u": 0.1, "C": 10.0}
    (task,) = tasks_of_low_density(X, y, **options)
    fitted = fit_low_density(task, RUN)
    assert [solution.kept_supervised for solution in fitted.solutions] == [True]
    (warning,) = fitted.warnings
    assert warning.category is UserWarning
    assert warning.text.startswith(
        "semi-supervised SVM: 1 of 1 searches ended in a local optimum worse than the supervised "
        "start (objective 41."
    )
    expected = alone(task, y, {"gamma_u": 0.1, "C": 10.0})
    np.testing.assert_allclose(
        fitted.predictor.machines[0].pairwise(X), expected.pairwise(X), atol=1e-9
    )
