"""Manifold-regularized SVMs; their trials and blends are in test_families.py."""

import numpy as np
from graphmargin.selection import manifold_fits
from tests.selection.tasks import MANIFOLD, clusters, folds_of

from graphmargin.margin._solvers import kernel_training


def test_failures_of_trial_machines_are_not_reported(monkeypatch):
    monkeypatch.setattr(kernel_training, "MAX_ITERATIONS", 1)
    X, y = clusters()
    tasks = MANIFOLD.tasks(X, y, kernel="linear")
    trials, _, fitted = MANIFOLD.try_and_choose(tasks, folds_of(y))  # warnings are errors
    assert np.isfinite(trials[0].evidence.held_out_values).all()
    assert all("scale the features or lower C" in warning.text for warning in fitted.warnings)
    assert len(fitted.warnings) >= 1


def test_features_are_warped_once_for_a_task(monkeypatch):
    X, y = clusters(n_labeled=3)
    warped = {"trials": 0, "blend": 0}

    def counting(name, function):
        def call(*arguments, **options):
            warped[name] += 1
            return function(*arguments, **options)

        return call

    monkeypatch.setattr(
        manifold_fits, "warp_features", counting("trials", manifold_fits.warp_features)
    )
    monkeypatch.setattr(
        manifold_fits, "train_manifold", counting("blend", manifold_fits.train_manifold)
    )
    tasks = MANIFOLD.tasks(
        X, y, kernel=["linear", "rbf"], gamma_u=[0.0, 0.01, 0.1], C=[0.1, 1.0, 10.0]
    )
    trials, choice, _ = MANIFOLD.try_and_choose(tasks, folds_of(y))
    assert len(choice.blended) == 4
    places = [part for part in trials for _ in part.evidence.params]
    n_used = len({id(places[i]) for i, _ in choice.blended})
    assert warped == {"trials": 2, "blend": n_used}
