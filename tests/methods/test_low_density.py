"""Semi-supervised SVMs; their trials and blends are also compared in test_machines.py."""

import numpy as np
import pytest

from graphmargin.margin.s3vm_training import anneal_features, train_smooth
from graphmargin.methods import low_density
from graphmargin.methods.low_density import label_shares
from tests.methods.problems import assert_consistent, fit_chosen
from tests.search.problems import (
    NOTHING,
    RUN,
    choose_by,
    clusters,
    data_of,
    folds_of,
    without,
)


@pytest.mark.parametrize(("prior", "n_classes"), [(None, 2), ([0.4, 0.6], 2), ("labels", 3)])
def test_trials_are_annealed_machines_without_the_held_out_labels(prior, n_classes):
    X, y = clusters(n_classes, n=40)
    held_out, n_pairs = folds_of(y), n_classes * (n_classes - 1) // 2
    options = {"kernel": "linear", "width": 1.0, "gamma_u": [0.3, 0.0, 0.05], "C": [1.0, 0.1]}
    choice = choose_by("low-density", data_of(X, y, held_out), class_prior=prior, **options)
    trials = choice.trials
    assert_consistent(trials, y, held_out, n_pairs)
    C, gamma_us = ([params[name] for params in trials.params] for name in ("C", "gamma_u"))
    values = []
    for fold in held_out.folds:
        functions = anneal_features(
            X,
            without(y, fold),
            C=C,
            gamma_us=gamma_us,
            class_prior=choice.member.method.class_prior,
            class_weight=None,
            tolerances=low_density.TRIAL_TOLERANCES,
            n_jobs=1,
        )
        values.append([X[fold] @ weights + bias for weights, bias, _ in functions])
    f = trials.held_out_values * trials.scales[:, None, None]
    np.testing.assert_allclose(f, np.concatenate(values, axis=1), atol=1e-3)
    assert trials.supervised.tolist() == [gamma_u == 0 for gamma_u in gamma_us]


def test_blend_has_smooth_machines_of_all_rows():
    X, y = clusters(3, n=60)
    fitted = fit_chosen("low-density", X, y, folds_of(y), gamma_u=[0.0, 0.3], C=[0.5, 2.0])
    choice, method = fitted.choice, fitted.choice.member.method
    chosen = [choice.trials.params[i] for i, _ in choice.blended]
    assert len(chosen) > 1
    machines = train_smooth(
        X,
        y,
        data_of(X, y).kernel(method.kernel),
        C=[params["C"] for params in chosen],
        gamma_us=[params["gamma_u"] for params in chosen],
        class_prior=method.class_prior,
        random_state=RUN.seed,
    )
    expected = sum(
        factor * machine.pairwise(X)
        for (_, factor), machine in zip(choice.blended, machines, strict=True)
    )
    f = fitted.predictor.part.machine.pairwise(X)
    np.testing.assert_allclose(f, expected, atol=1e-9)


def test_hat_losses_of_a_sample_count_for_all_rows(monkeypatch):
    """One of ten equal rows has ten times the loss."""
    X, y = clusters(n=20)
    labeled, unlabeled = np.flatnonzero(y >= 0), np.flatnonzero(y < 0)[:1]
    X[unlabeled] = X[labeled].mean(axis=0) + 0.1  # within the margin
    rows = np.concatenate([labeled, np.repeat(unlabeled, 10)])

    def scales(rows, gamma_u):
        options = {"kernel": "linear", "width": 1.0, "class_prior": None, "C": 1.0}
        data = data_of(X[rows], y[rows], NOTHING)
        return choose_by("low-density", data, gamma_u=[gamma_u], **options).trials.scales

    monkeypatch.setattr(low_density, "MAX_HAT_LOSSES", 1)
    once = scales(rows[: len(labeled) + 1], 3.0)
    np.testing.assert_allclose(scales(rows, 0.3), once, rtol=1e-6)
    assert abs(scales(rows[: len(labeled) + 1], 0.3) - once) > 1e-3


def test_shares_of_the_labels_have_one_label_more_in_each_class():
    labels = data_of(*clusters(3, n_labeled=4)).labels
    np.testing.assert_allclose(label_shares(labels), 1 / 3)
    fewer = labels.without(np.flatnonzero(labels.codes == 0)[1:])
    np.testing.assert_allclose(label_shares(fewer), [2 / 12, 5 / 12, 5 / 12])
