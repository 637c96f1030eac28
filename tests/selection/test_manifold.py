"""Manifold-regularized SVMs: trials and blends against machines that are trained one by one."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.margin import Kernel, train_machine, train_manifold, training
from graphmargin.margin.machine import class_scores, winner
from graphmargin.selection import cut_trials, manifold
from graphmargin.selection.choice import choose
from graphmargin.selection.cut_trials import MAX_BLENDED
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import c_grid, gamma_u_grid, label_counts
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.manifold import (
    blend_manifold,
    fit_manifold,
    manifold_candidates,
    try_manifold,
)
from graphmargin.selection.trials import join, smoothed_shares
from tests.selection.tasks import (
    RUN,
    assert_consistent,
    assert_same_trials,
    clusters,
    folds_of,
    laplace_kernel,
    tasks_of_manifold,
    without,
)

GRID = {"gamma_u": [0.0, 0.01], "C": [0.5, 10.0]}


def alone(task, y, candidate, **options):
    """Return the machine of a candidate by `train_manifold`."""
    wanted = task.parameters
    return train_manifold(
        task.X,
        y,
        task.kernel,
        task.W,
        C=candidate["C"],
        gamma_us=[candidate["gamma_u"]],
        normalized=wanted.normalized,
        power=wanted.laplacian_power,
        fit_intercept=wanted.fit_intercept,
        random_state=0,
        **options,
    )[0]


def try_and_choose(tasks, held_out, run=RUN):
    trials = try_manifold(tasks, held_out, run)
    evidence = join([part.evidence for part in trials])
    choice = choose(evidence, label_counts(tasks[0].labels), MAX_BLENDED)
    return trials, choice, blend_manifold(trials, choice, run)


# Candidates and trials


def test_auto_stands_for_the_grids():
    X, y = clusters()
    (task,) = tasks_of_manifold(X, y, gamma_u="auto", C="auto")
    candidates = manifold_candidates(task)
    assert [one["gamma_u"] for one in candidates[::3]] == gamma_u_grid(60)
    assert [one["C"] for one in candidates[:3]] == c_grid(X, task.kernel)
    (task,) = tasks_of_manifold(X, y, gamma_u="auto")
    assert {one["C"] for one in manifold_candidates(task)} == {10.0}


@pytest.mark.parametrize(("kernel", "n_classes"), [("linear", 2), ("cubic", 3), ("rbf", 3)])
def test_trials_are_machines_without_the_labels(kernel, n_classes):
    """All rows are landmarks, so that it makes no difference which are labeled."""
    X, y = clusters(n_classes)
    held_out = folds_of(y)
    (task,) = tasks_of_manifold(X, y, kernel=kernel, **GRID)
    (trials,) = try_manifold([task], held_out, RUN)
    evidence = trials.evidence
    assert_consistent(evidence, y, held_out, n_classes * (n_classes - 1) // 2)
    assert evidence.supervised.tolist() == [True, True, False, False]
    for i, candidate in enumerate(evidence.params):
        f = alone(task, y, candidate, approximation="nystroem").pairwise(X[y < 0])
        assert evidence.scales[i] == pytest.approx(np.abs(f).mean(), rel=1e-4)
        codes = winner(class_scores(f, n_classes))
        np.testing.assert_array_equal(evidence.shares[i], smoothed_shares(codes, n_classes))
        expected = [
            alone(task, without(y, fold), candidate, approximation="nystroem").pairwise(X[fold])
            for fold in held_out.folds
        ]
        values = evidence.held_out_values[i] * evidence.scales[i]
        np.testing.assert_allclose(values, np.concatenate(expected), atol=1e-4 * np.abs(f).max())


@pytest.mark.parametrize(
    "option", [{"normalized": True}, {"laplacian_power": 2}, {"fit_intercept": False}], ids=str
)
def test_options_are_those_of_training(option):
    X, y = clusters()
    held_out = folds_of(y)
    (task,) = tasks_of_manifold(X, y, kernel="linear", gamma_u=[0.01], C=[1.0], **option)
    (trials,) = try_manifold([task], held_out, RUN)
    (candidate,) = trials.evidence.params
    expected = [
        alone(task, without(y, fold), candidate).pairwise(X[fold]) for fold in held_out.folds
    ]
    values = trials.evidence.held_out_values[0] * trials.evidence.scales[0]
    np.testing.assert_allclose(values, np.concatenate(expected), atol=1e-4)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_kernel_matrix_gives_the_trials_of_its_rows(container):
    X, y = clusters(3)
    W, K = knn_graph(X), Kernel("rbf", width=2.0)
    new, codes = X[:7] + 1.0, np.zeros(7, dtype=np.int64)
    for held_out, of_matrix in (
        (folds_of(y), folds_of(y)),
        (HeldOutLabels((), (new, codes)), HeldOutLabels((), (container(K(new, X)), codes))),
    ):
        (rows,) = try_manifold(tasks_of_manifold(X, y, W, width=2.0, **GRID), held_out, RUN)
        tasks = tasks_of_manifold(container(K(X, X)), y, W, kernel="precomputed", **GRID)
        (matrix,) = try_manifold(tasks, of_matrix, RUN)
        assert_same_trials(matrix.evidence, rows.evidence, atol=1e-4)


def test_supervised_candidates_do_not_ask_the_graph():
    X, y = clusters()
    held_out, labeled = folds_of(y), np.flatnonzero(y >= 0)
    (task,) = tasks_of_manifold(X, y, kernel="linear", gamma_u=[0.0], C=[0.5, 10.0])
    (trials,) = try_manifold([task], held_out, RUN)
    for i, candidate in enumerate(trials.evidence.params):
        f = []
        for fold in held_out.folds:
            kept = np.setdiff1d(labeled, fold)
            machine = train_machine(X[kept], y[kept], task.kernel, C=candidate["C"])
            f.append(machine.pairwise(X[fold]))
        values = trials.evidence.held_out_values[i] * trials.evidence.scales[i]
        np.testing.assert_allclose(values, np.concatenate(f), atol=5e-3)


def test_machines_that_do_not_converge_are_the_business_of_the_last_fit(monkeypatch):
    monkeypatch.setattr(training, "MAX_ITERATIONS", 1)
    X, y = clusters()
    tasks = tasks_of_manifold(X, y, kernel="linear", **GRID)
    trials, _, fitted = try_and_choose(tasks, folds_of(y))  # warnings are errors
    assert np.isfinite(trials[0].evidence.held_out_values).all()
    assert all("scale the features or lower C" in warning.text for warning in fitted.warnings)
    assert len(fitted.warnings) >= 1


# Samples


@pytest.fixture
def few_labeled(monkeypatch):
    monkeypatch.setattr(cut_trials, "MAX_LABELED", 9)
    monkeypatch.setattr(cut_trials, "LABELED_A_CLASS", 0)


@pytest.mark.usefixtures("few_labeled")
def test_trials_depend_on_the_seed_and_not_on_threads():
    X, y = clusters(3, n=90, n_labeled=6)
    tasks = tasks_of_manifold(X, y, **GRID)
    first, second, other = (
        try_manifold(tasks, folds_of(y), Execution(n_jobs=n_jobs, seed=seed))[0].evidence
        for n_jobs, seed in ((1, 0), (3, 0), (1, 1))
    )
    assert_same_trials(first, second)
    assert first.held_out_values.shape == other.held_out_values.shape == (4, 9, 3)
    assert not np.allclose(first.scales, other.scales)


@pytest.mark.usefixtures("few_labeled")
def test_all_kernels_are_tested_on_the_same_sample():
    """The linear kernel draws no landmarks, and the others do."""
    X, y = clusters(3, n=90, n_labeled=6)
    tasks = tasks_of_manifold(X, y, kernel=["linear", "rbf", "cubic"], **GRID)
    first, *others = try_manifold(tasks, folds_of(y), RUN)
    for other in others:
        np.testing.assert_array_equal(other.evidence.held_out_codes, first.evidence.held_out_codes)
        np.testing.assert_array_equal(other.evidence.fold, first.evidence.fold)
        joint = join([first.evidence, other.evidence])
        assert choose(joint, np.array([6, 6, 6])).error < 0.5


# The blend

BLENDS = {
    "linear": ({"kernel": "linear"}, 2),
    "cubic": ({"kernel": "cubic"}, 3),
    "penalty": ({"normalized": True, "laplacian_power": 2}, 2),
    "unbiased": ({"fit_intercept": False}, 3),
    "kernels": ({"kernel": ["linear", "rbf", laplace_kernel]}, 3),
    "graphs": ({"n_neighbors": [4, 6], "metric": ["euclidean", "cosine"]}, 2),
    "widths": ({"width": [1.0, 3.0], "kernel": ["linear", "rbf"]}, 2),
    "penalties": ({"normalized": [False, True], "fit_intercept": [False, True]}, 2),
    "landmarks": ({"approximation": "nystroem"}, 2),
}


@pytest.mark.parametrize(("parameters", "n_classes"), BLENDS.values(), ids=BLENDS.keys())
def test_blend_is_the_weighted_sum_of_separate_fits(parameters, n_classes):
    X, y = clusters(n_classes, n_labeled=3)
    X = X + 1.0  # for the cosine metric
    new = X[::3] + 0.1
    parameters = {"gamma_u": [0.0, 0.01, 0.1], "C": [1.0, 10.0], **parameters}
    trials, choice, fitted = try_and_choose(tasks_of_manifold(X, y, **parameters), folds_of(y))
    assert 1 < len(choice.blended) <= 4
    places = [part.task for part in trials for _ in part.evidence.params]
    total = separate = 0.0
    for i, factor in choice.blended:
        candidate = choice.trials.params[i]
        (task,) = tasks_of_manifold(X, y, **{**parameters, **candidate})
        approximation = task.parameters.approximation
        machine = alone(places[i], y, candidate, approximation=approximation)
        total = total + factor * machine.pairwise(new)
        (single,) = fit_manifold(task, RUN).predictor.machines
        separate = separate + factor * single.pairwise(new)
    f = sum(machine.pairwise(new) for machine in fitted.predictor.machines)
    np.testing.assert_allclose(f, total, atol=1e-6 * np.abs(total).max())
    np.testing.assert_allclose(f, separate, atol=1e-6 * np.abs(total).max())
    np.testing.assert_allclose(fitted.predictor.decision(new), class_scores(f, n_classes))
    assert fitted.task is places[choice.best]
    best = choice.best_params
    assert fitted.predictor.machines[0].kernel.kind == best.get(
        "kernel", parameters.get("kernel", "rbf")
    )
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(fitted.codes[y < 0], fitted.predictor.predict(X)[y < 0])


def test_features_are_warped_once_for_a_task(monkeypatch):
    X, y = clusters(n_labeled=3)
    warped = {"trials": 0, "blend": 0}

    def counting(name, function):
        def call(*arguments, **options):
            warped[name] += 1
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(manifold, "warp_features", counting("trials", manifold.warp_features))
    monkeypatch.setattr(manifold, "train_manifold", counting("blend", manifold.train_manifold))
    tasks = tasks_of_manifold(
        X, y, kernel=["linear", "rbf"], gamma_u=[0.0, 0.01, 0.1], C=[0.1, 1.0, 10.0]
    )
    trials, choice, _ = try_and_choose(tasks, folds_of(y))
    assert len(choice.blended) == 4
    places = [part for part in trials for _ in part.evidence.params]
    n_used = len({id(places[i]) for i, _ in choice.blended})
    assert warped == {"trials": 2, "blend": n_used}


# Fixed parameters


def test_fixed_machine_is_that_of_train_manifold():
    X, y = clusters(3)
    (task,) = tasks_of_manifold(X, y, gamma_u=0.05, C=2.0)
    fitted = fit_manifold(task, RUN)
    (machine,) = fitted.predictor.machines
    expected = alone(task, y, {"gamma_u": 0.05, "C": 2.0})
    np.testing.assert_array_equal(machine.pairwise(X), expected.pairwise(X))
    np.testing.assert_array_equal(fitted.label_distributions, fitted.predictor.probabilities(X))
    assert fitted.warnings == ()
