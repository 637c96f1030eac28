"""Ensembles of families: weights, cross-fitted predictions, and the mixture."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.labels import encode_labels
from graphmargin.selection.ensemble import (
    MIN_RELATIVE_WEIGHT,
    TEMPER,
    family_weights,
    fit_ensemble,
)
from graphmargin.selection.execution import Execution
from graphmargin.selection.families import FAMILY_NAMES, default_families, named_family
from graphmargin.selection.held_out import default_held_out
from tests.estimators.problems import blobs

pytestmark = pytest.mark.filterwarnings("ignore:semi-supervised SVM")


def fitted(names, X, y, seed=0, **changes):
    labels = encode_labels(y)
    families = [named_family(name, labels) for name in names]
    families = [
        replace(f, parameters=tuple(replace(p, **changes) for p in f.parameters)) for f in families
    ]
    return fit_ensemble(X, labels, families, default_held_out(labels, seed), Execution(1, seed))


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=6))
def test_weights_follow_the_tempered_likelihood(log_likelihood):
    weights = family_weights(np.array(log_likelihood))
    assert weights.sum() == pytest.approx(1)
    kept = weights > 0
    differences = np.subtract.outer(log_likelihood, log_likelihood)[np.ix_(kept, kept)]
    ratios = np.subtract.outer(np.log(weights[kept]), np.log(weights[kept]))
    np.testing.assert_allclose(ratios, TEMPER * differences, atol=1e-9)
    smallest = max(log_likelihood) + np.log(MIN_RELATIVE_WEIGHT) / TEMPER
    np.testing.assert_array_equal(kept, np.array(log_likelihood) >= smallest)


def test_an_ensemble_of_one_family_is_this_family():
    X, truth, y = blobs(3, n=90, distance=2.0, per_class=5)
    ensemble = fitted(["supervised"], X, y)
    (member,) = ensemble.members.values()
    np.testing.assert_allclose(ensemble.label_distributions, member.label_distributions)
    np.testing.assert_array_equal(ensemble.codes, member.codes)
    np.testing.assert_allclose(
        ensemble.held_out.probabilities, member.held_out.probabilities, atol=1e-9
    )
    assert np.mean(ensemble.codes == truth) > 0.7


def test_labels_have_no_say_in_the_weights_that_predict_them():
    X, _, y = blobs(2, n=60, distance=1.5, per_class=8)
    choice = fitted(["cut", "linear-supervised", "harmonic"], X, y).choice
    fold = choice.held_out_fold
    assert len(np.unique(fold)) > 1
    for number in np.unique(fold):
        rows = fold == number
        weights = family_weights(choice.label_log_likelihood[:, ~rows].sum(axis=1))
        of_label = np.exp(choice.label_log_likelihood[:, rows])
        expected = weights @ of_label
        codes = choice.held_out_codes[rows]
        np.testing.assert_allclose(
            choice.held_out_probabilities[np.flatnonzero(rows), codes], expected
        )


def test_new_rows_get_the_mixture_of_the_members():
    X, _, y = blobs(3, n=90, distance=2.0, per_class=5)
    ensemble = fitted(["cut", "harmonic", "linear-low-density"], X, y)
    parts = ensemble.predictor.parts
    expected = sum(part.weight * part.probabilities(X + 0.1) for part in parts)
    np.testing.assert_allclose(ensemble.predictor.probabilities(X + 0.1), expected)
    assert [part.calibration is not None for part in parts] == [
        name == "harmonic" for name in ensemble.members
    ]


def test_families_that_need_evidence_wait_for_a_second_label():
    X, _, y = blobs(2, n=40, per_class=1)
    choice = fitted(default_families(*X.shape), X, y).choice
    assert choice.names == ("cut", "harmonic")
    assert choice.weights.tolist() == [0.5, 0.5]
    assert not choice.is_tested
    assert "no label could be held out" in str(choice)


def test_costs_move_labels_but_no_probability():
    X, _, y = blobs(2, n=80, distance=1.0, per_class=8)
    plain = fitted(["cut", "harmonic"], X, y)
    costly = fitted(["harmonic"], X, y, class_weight=(1.0, 20.0))
    unlabeled = y < 0
    assert costly.codes[unlabeled].mean() > plain.codes[unlabeled].mean()
    predicted, distributions = costly.predictor.label(X)
    expected = (distributions * [1.0, 20.0]).argmax(axis=1)
    np.testing.assert_array_equal(predicted, expected)
    np.testing.assert_array_equal(
        costly.held_out.predicted, (costly.held_out.probabilities * [1.0, 20.0]).argmax(axis=1)
    )


@pytest.mark.parametrize("name", FAMILY_NAMES)
def test_every_family_learns_what_is_easy(name):
    X, truth, y = blobs(3, n=90, distance=4.0, per_class=4)
    ensemble = fitted([name], X, y)
    assert np.mean(ensemble.codes == truth) > 0.9
    assert list(ensemble.members) == [name]
    weights = ensemble.choice.assumption_weights
    assert sum(weights.values()) == pytest.approx(1)
    assert ensemble.choice.summary
