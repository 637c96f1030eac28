"""Supervised SVMs; their trials and blends are compared in test_machines.py."""

from dataclasses import replace

import numpy as np
import pytest

from graphmargin.margin import Kernel, train_machine
from graphmargin.methods import Supervised
from graphmargin.search import data as data_module
from graphmargin.search.search import fit
from tests.methods.problems import assert_is_weighted_sum, fit_chosen
from tests.search.problems import choose_by, clusters, data_of, folds_of, member_of


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf"])
@pytest.mark.parametrize("class_weight", [None, (1.0, 5.0, 0.5)], ids=["even", "weighted"])
def test_machine_is_that_of_the_labeled_rows(kind, class_weight):
    X, y = clusters(3)
    data = replace(data_of(X, y), class_weight=class_weight)
    fitted = fit(data, choose_by("supervised", data, kernel=kind, width=1.5, C=2.0))
    given = y[y >= 0]
    weights = np.ones(len(given)) if class_weight is None else np.array(class_weight)[given]
    kernel = Kernel(kind, width=1.5)
    expected = train_machine(X[y >= 0], given, kernel, C=2.0, sample_weight=weights)
    f = fitted.predictor.part.machine.pairwise(X)
    np.testing.assert_allclose(f, expected.pairwise(X), atol=1e-3)
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])


def test_no_graph_is_built(monkeypatch):
    monkeypatch.setattr(data_module, "neighbor_graph", None)  # which would fail if it were called
    X, y = clusters()
    assert fit_chosen("supervised", X, y, folds_of(y)).choice.supervised_weight == 1.0


def test_after_trials_on_a_sample_machines_are_trained_on_all_rows(monkeypatch):
    monkeypatch.setattr(data_module, "MAX_LABELED", 30)
    X, y = clusters(3, n=120, n_labeled=20)
    fitted = fit_chosen("supervised", X, y, folds_of(y))
    trials = fitted.choice.trials
    assert not trials.details.has_all_rows
    assert (len(trials.held_out_codes), trials.max_blended) == (30, 4)
    assert_is_weighted_sum("supervised", fitted, X, y)


def test_only_a_plane_needs_held_out_labels():
    data = data_of(*clusters())
    for kernel, assumption in (
        ("linear", "classes are separated by a plane"),
        ("rbf", "labels alone tell the classes"),
        ("poly", "labels alone tell the classes"),
    ):
        method = member_of("supervised", data, kernel=kernel).method
        assert method.assumption == assumption
        assert method.needs_held_out == (kernel == "linear")
    assert Supervised.auto(None, "linear").C is None
