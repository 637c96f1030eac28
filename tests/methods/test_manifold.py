"""Manifold-regularized SVMs; their trials and blends are compared in test_machines.py."""

import numpy as np
import pytest

from graphmargin.graph import knn_graph
from graphmargin.margin._solvers import kernel_training
from graphmargin.methods import manifold
from tests.methods.problems import fit_chosen
from tests.search.problems import clusters, fit_one, folds_of


def test_failures_of_trial_machines_are_not_reported(monkeypatch):
    monkeypatch.setattr(kernel_training, "MAX_ITERATIONS", 1)
    X, y = clusters()
    fitted = fit_chosen("manifold", X, y, folds_of(y), kernel="linear")  # warnings are errors
    assert np.isfinite(fitted.choice.trials.held_out_values).all()
    assert all("scale the features or lower C" in warning.text for warning in fitted.warnings)
    assert len(fitted.warnings) >= 1


def test_features_are_warped_once_for_all_candidates(monkeypatch):
    X, y = clusters(n_labeled=3)
    calls = []

    def counting(name):
        function = getattr(manifold, name)

        def call(*arguments, **options):
            calls.append(name)
            return function(*arguments, **options)

        monkeypatch.setattr(manifold, name, call)

    counting("warp_features")
    counting("train_manifold")
    lists = {"gamma_u": [0.0, 0.01, 0.1], "C": [0.1, 1.0, 10.0]}
    fitted = fit_chosen("manifold", X, y, folds_of(y), **lists)
    assert len(fitted.choice.trials.params) == 9
    assert len(fitted.choice.blended) == 4
    assert calls == ["warp_features", "train_manifold"]


@pytest.mark.parametrize("is_given", [False, True], ids=["built", "given"])
def test_details_are_the_graph(is_given):
    X, y = clusters()
    W = knn_graph(X, 7) if is_given else None
    details = fit_one("manifold", X, y, W, gamma_u=0.01, C=1.0).members["manifold"].details
    expected = W if is_given else knn_graph(X, 5)
    np.testing.assert_array_equal(details.W.toarray(), expected.toarray())
    assert details.recall == (None if is_given else 1.0)
