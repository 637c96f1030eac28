"""Semi-supervised SVMs; their trials and blends are in test_families.py."""

import numpy as np
import pytest
from graphmargin.selection import s3vm_fits
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.s3vm_fits import fit_s3vm, try_s3vm
from tests.selection.tasks import RUN, S3VM, assert_consistent, clusters, folds_of, without

from graphmargin.margin.s3vm_training import anneal_features, train_s3vm, train_smooth


@pytest.mark.parametrize(("prior", "n_classes"), [(None, 2), ([0.4, 0.6], 2), ("labels", 3)])
def test_trials_are_annealed_machines_without_the_held_out_labels(prior, n_classes):
    X, y = clusters(n_classes, n=40)
    held_out, n_pairs = folds_of(y), n_classes * (n_classes - 1) // 2
    options = {"kernel": "linear", "width": 1.0, "gamma_u": [0.3, 0.0, 0.05], "C": [1.0, 0.1]}
    (task,) = S3VM.tasks(X, y, class_prior=prior, **options)
    (trials,) = try_s3vm([task], held_out, RUN)
    assert_consistent(trials.evidence, y, held_out, n_pairs)
    C, gamma_us = ([params[name] for params in trials.evidence.params] for name in ("C", "gamma_u"))
    options = {"C": C, "gamma_us": gamma_us, "class_prior": task.parameters.class_prior}
    values = []
    for fold in held_out.folds:
        functions = anneal_features(
            X,
            without(y, fold),
            **options,
            class_weight=None,
            tolerances=s3vm_fits.TRIAL_TOLERANCES,
            n_jobs=1,
        )
        values.append([X[fold] @ weights + bias for weights, bias in functions])
    f = trials.evidence.held_out_values * trials.evidence.scales[:, None, None]
    np.testing.assert_allclose(f, np.concatenate(values, axis=1), atol=1e-3)
    assert trials.evidence.supervised.tolist() == [gamma_u == 0 for gamma_u in gamma_us]


def test_blend_has_smooth_machines_of_all_rows():
    X, y = clusters(3, n=60)
    tasks = S3VM.tasks(X, y, gamma_u=[0.0, 0.3], C=[0.5, 2.0])
    _, choice, fitted = S3VM.try_and_choose(tasks, folds_of(y))
    chosen = [choice.trials.params[i] for i, _ in choice.blended]
    assert len(chosen) > 1
    machines = train_smooth(
        X,
        y,
        tasks[0].kernel,
        C=[params["C"] for params in chosen],
        gamma_us=[params["gamma_u"] for params in chosen],
        class_prior=tasks[0].parameters.class_prior,
        random_state=RUN.seed,
    )
    expected = sum(
        factor * machine.pairwise(X)
        for (_, factor), machine in zip(choice.blended, machines, strict=True)
    )
    np.testing.assert_allclose(fitted.predictor.machines[0].pairwise(X), expected, atol=1e-9)


def test_hat_losses_of_a_sample_count_for_all_rows(monkeypatch):
    """One of ten equal rows has ten times the loss."""
    X, y = clusters(n=20)
    labeled, unlabeled = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)[:1]
    X[unlabeled] = X[labeled].mean(axis=0) + 0.1  # within the margin
    rows = np.concatenate([labeled, np.repeat(unlabeled, 10)])

    def scales(rows, gamma_u):
        options = {"kernel": "linear", "width": 1.0, "class_prior": None}
        tasks = S3VM.tasks(X[rows], y[rows], gamma_u=[gamma_u], C=1.0, **options)
        return try_s3vm(tasks, HeldOutLabels(()), RUN)[0].evidence.scales

    monkeypatch.setattr(s3vm_fits, "MAX_HAT_LOSSES", 1)
    once = scales(rows[: len(labeled) + 1], 3.0)
    np.testing.assert_allclose(scales(rows, 0.3), once, rtol=1e-6)
    assert abs(scales(rows[: len(labeled) + 1], 0.3) - once) > 1e-3


@pytest.mark.parametrize(
    ("seed", "n_labels", "n_classes", "n_kept"), [(30, 10, 2, "1 of 1"), (22, 12, 3, "1 of 3")]
)
def test_supervised_function_is_kept_if_the_optimum_is_worse(seed, n_labels, n_classes, n_kept):
    """The classes of these rows have no structure: the gradient finds a bad local optimum."""
    X = np.random.default_rng(seed).normal(size=(30, 2))
    y = np.where(np.arange(30) < n_labels, np.arange(30) % n_classes, -1)
    options = {"kernel": "linear", "class_prior": None, "gamma_u": 0.1, "C": 10.0}
    (task,) = S3VM.tasks(X, y, **options)
    fitted = fit_s3vm(task, RUN)
    (warning,) = fitted.warnings
    assert warning.category is UserWarning
    assert warning.text.startswith(
        f"semi-supervised SVM: {n_kept} runs ended in a local optimum that is worse than the"
    )
    assert fitted.task.parameters.class_prior is None
    for solution in fitted.solutions:
        if solution.kept_supervised:
            assert solution.objective == solution.supervised_objective < solution.trace[-1]
    supervised = S3VM.fit_one(X, y, **{**options, "gamma_u": 0.0})
    f, g = (model.predictor.machines[0].pairwise(X) for model in (fitted, supervised))
    kept = [solution.kept_supervised for solution in fitted.solutions]
    assert np.all(f == g, axis=0).tolist() == kept
    assert sum(kept) == 1
    [(machine, _)] = train_s3vm(X, y, task.kernel, C=[10.0], gamma_us=[0.1], class_prior=None)
    np.testing.assert_allclose(f, machine.pairwise(X), atol=1e-9)
