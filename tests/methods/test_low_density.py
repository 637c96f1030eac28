"""Semi-supervised SVMs; their trials and blends are in test_families.py."""

import numpy as np
import pytest
from graphmargin.selection import s3vm_fits
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.s3vm_fits import fit_s3vm, try_s3vm
from sklearn.exceptions import ConvergenceWarning
from tests.selection.tasks import RUN, S3VM, assert_consistent, clusters, folds_of, without

from graphmargin.margin import s3vm_training
from graphmargin.margin.s3vm_training import anneal_features, train_smooth


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
        values.append([X[fold] @ weights + bias for weights, bias, _ in functions])
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


@pytest.mark.parametrize(("prior", "n_classes"), [(None, 2), ([0.4, 0.6], 2), ("labels", 3)])
def test_fixed_parameters_are_those_of_the_machine(prior, n_classes):
    X, y = clusters(n_classes)
    (task,) = S3VM.tasks(X, y, gamma_u=0.3, C=2.0, class_prior=prior)
    fitted = fit_s3vm(task, RUN)
    (machine,) = train_smooth(
        X,
        y,
        task.kernel,
        C=[2.0],
        gamma_us=[0.3],
        class_prior=task.parameters.class_prior,
        random_state=RUN.seed,
    )
    f = fitted.predictor.machines[0].pairwise(X)
    np.testing.assert_array_equal(f, machine.pairwise(X))
    assert fitted.warnings == ()


def test_machines_that_do_not_converge_are_a_warning(monkeypatch):
    monkeypatch.setattr(s3vm_training, "TOLERANCES", (0.0, 1e-5))  # below rounding errors
    X, y = clusters(n=40)
    (task,) = S3VM.tasks(X, y, gamma_u=0.3)
    tasks = S3VM.tasks(X, y, gamma_u=[0.1, 0.3])
    for fitted in (fit_s3vm(task, RUN), S3VM.try_and_choose(tasks, folds_of(y))[2]):
        (warning,) = fitted.warnings
        assert warning.category is ConvergenceWarning
        assert warning.text.startswith("semi-supervised SVM: L-BFGS did not reach its tolerance")
