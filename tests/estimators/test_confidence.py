"""Confidence, accuracy, prediction sets and the graph's share of probabilities."""

import warnings

import numpy as np
import pytest
from scipy import sparse

from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.confidence.prediction_sets import set_thresholds
from graphmargin.estimators import HarmonicClassifier, MaxMarginGraphCut, SupervisedSVC
from graphmargin.graph import knn_graph
from graphmargin.methods import cut
from graphmargin.search import LabeledKFold
from tests.estimators.problems import LISTS, assert_sound, blobs, fit

every_list = pytest.mark.parametrize("name", LISTS)


def rings(n=300, n_labeled=30):
    """Return three rings, which a linear function of the rows does not separate."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 3
    angle = rng.uniform(0, 2 * np.pi, size=n)
    X = (1 + 2 * truth)[:, None] * np.column_stack([np.cos(angle), np.sin(angle)])
    X += 0.1 * rng.normal(size=X.shape)
    return X, truth, np.where(np.arange(n) < n_labeled, truth, -1)


@pytest.fixture(scope="module")
def linear_cut():
    """Return a cut with a linear kernel, which learns from its graph what it cannot represent."""
    X, _, y = rings()
    return MaxMarginGraphCut(kernel="linear", random_state=0).fit(X, y)


# The graph's share.


def test_probabilities_include_those_of_the_graph(linear_cut):
    X, truth, y = rings()
    assert linear_cut.predictor_.part.calibration.graph_weight > 0
    assert_sound(linear_cut, X)
    unlabeled = y < 0
    for predicted in (linear_cut.transduction_, linear_cut.predict(X)):
        assert np.mean((predicted != truth)[unlabeled]) < 0.2, "a linear function alone: a half"
    P = linear_cut.predict_proba(X)
    np.testing.assert_array_equal(P.argmax(axis=1), linear_cut.predict(X))
    scores = linear_cut.decision_function(X)
    np.testing.assert_array_equal(scores.argmax(axis=1), linear_cut.predict(X))
    # Training rows have the solution on the graph, new rows one more step of its walk.
    predicted = linear_cut.label_distributions_.argmax(axis=1)
    np.testing.assert_array_equal(linear_cut.transduction_[unlabeled], predicted[unlabeled])
    assert np.mean(linear_cut.transduction_ == linear_cut.predict(X)) > 0.95


def test_new_rows_of_a_sparse_table_are_attached_too(linear_cut):
    X, _, y = rings()
    model = MaxMarginGraphCut(kernel="linear", random_state=0).fit(sparse.csr_array(X), y)
    new = X[::5] + 0.05
    np.testing.assert_allclose(
        model.predict_proba(sparse.csr_array(new)), linear_cut.predict_proba(new), atol=1e-2
    )


@pytest.mark.parametrize(
    "reason", ["two classes", "a given graph", "fixed parameters", "many rows", "a validation set"]
)
def test_graph_has_no_share_with(reason, monkeypatch):
    X, truth, y = rings()
    model = MaxMarginGraphCut(kernel="linear", random_state=0)
    W = knn_graph(X, 6) if reason == "a given graph" else None
    if reason == "two classes":
        X, y = X[truth < 2], y[truth < 2]
    elif reason == "fixed parameters":
        model.set_params(gamma_g=0.1, C=1.0)
    elif reason == "many rows":
        monkeypatch.setattr(cut, "MAX_GRAPH_ROWS", 299)
    elif reason == "a validation set":
        model.set_params(cv=(X[30:60] + 0.01, truth[30:60]))
    model.fit(X, y, W=W)
    assert model.predictor_.part.calibration.graph_weight == 0
    assert model.predictor_.part.walk is None


# Accuracy.


@every_list
def test_accuracy_is_that_of_the_held_out_labels(name):
    X, _, y = blobs(3, distance=1.5, per_class=6)
    model = fit(f"{name}-lists", X, y)
    held_out = model.held_out_
    np.testing.assert_array_equal(y[held_out.rows], held_out.codes)
    assert sorted(held_out.rows) == np.flatnonzero(y >= 0).tolist()
    np.testing.assert_allclose(held_out.probabilities.sum(axis=1), 1.0)
    unlabeled = model.label_distributions_[y < 0]
    np.testing.assert_allclose(held_out.class_shares, unlabeled.mean(axis=0))
    expected = estimate_accuracy(held_out)
    assert model.accuracy_.accuracy == expected.accuracy
    assert model.accuracy_.interval == expected.interval
    assert model.accuracy_.n_held_out == 18
    if name != "harmonic" and model.predictor_.part.walk is None:
        assert model.accuracy_.n_right == round(18 * (1 - model.choice_.error))


@pytest.mark.parametrize("model", [SupervisedSVC(C=1.0), MaxMarginGraphCut(), HarmonicClassifier()])
def test_without_held_out_labels_there_is_no_accuracy_and_no_set(model):
    X, _, y = blobs(per_class=1)
    model.fit(X, y)
    assert model.held_out_ is None
    assert model.accuracy_ is None
    with pytest.raises(ValueError, match="`predict_set` needs held-out labels, which a fit has if"):
        model.predict_set(X)


# Sets.


@every_list
def test_sets_have_the_classes_above_the_thresholds(name):
    X, _, y = blobs(3, distance=1.5, per_class=10)
    model = fit(f"{name}-lists", X, y)
    new = X + 0.1
    sets = model.predict_set(new, 0.75)
    assert sets.shape == (45, 3)
    assert sets.dtype == bool
    thresholds = set_thresholds(model.held_out_, 0.75)
    np.testing.assert_array_equal(sets, model.predict_proba(new) >= thresholds)
    larger = model.predict_set(new, coverage=0.95)
    assert (larger >= sets).all()
    per_class = set_thresholds(model.held_out_, 0.75, per_class=True)
    np.testing.assert_array_equal(
        model.predict_set(new, 0.75, per_class=True), model.predict_proba(new) >= per_class
    )


def test_a_coverage_that_labels_cannot_promise_is_warned_of():
    X, _, y = blobs(3, per_class=4)
    model = fit("supervised-lists", X, y)
    with pytest.warns(UserWarning, match=r"at most 0\.923, so that with 0\.95 all classes"):
        assert model.predict_set(X, 0.95).all()
    with pytest.warns(UserWarning, match=r"too few labels for a coverage of 0\.9 and"):
        model.predict_set(X, 0.9, per_class=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict_set(X, 0.9)
    with pytest.raises(ValueError, match="`coverage` must be a number between 0 and 1, got 90"):
        model.predict_set(X, 90)


def test_sets_cover_rows_without_a_label():
    """The coverage is a mean over draws of twelve labels a class."""
    shares = []
    for seed in range(12):
        X, truth, y = blobs(3, n=240, distance=1.3, seed=seed, per_class=12)
        model = SupervisedSVC(C=[1.0, 10.0], random_state=0).fit(X, y)
        unlabeled = y < 0
        sets = model.predict_set(X[unlabeled], 0.8)
        shares.append(sets[np.arange(len(sets)), truth[unlabeled]].mean())
    assert 0.75 < np.mean(shares) < 0.88


@every_list
def test_a_validation_set_has_the_probabilities_of_new_rows(name):
    X, truth, y = blobs(3, n=120, distance=1.5, per_class=5)
    model = fit(f"{name}-lists", X[:80], y[:80], cv=(X[80:], truth[80:]))
    # Trials of semi-supervised SVMs have fewer landmarks, and a mean of harmonic solutions has one
    # probability that a new point moves to a neighbor, the mean of theirs.
    difference = {"semi-supervised": 0.1, "harmonic": 0.02}.get(name, 1e-6)
    np.testing.assert_allclose(
        model.held_out_.probabilities, model.predict_proba(X[80:]), atol=difference
    )


@every_list
def test_labels_that_are_held_out_again_count_once(name):
    X, _, y = blobs(3, n=120, distance=1.5, per_class=6)
    splits = [split for seed in (0, 1) for split in LabeledKFold(3, random_state=seed).split(X, y)]
    model = fit(f"{name}-lists", X, y, cv=splits)
    assert model.held_out_.rows.tolist() == np.flatnonzero(y >= 0).tolist()
    assert model.accuracy_.n_held_out == 18


def test_harmonic_labels_of_a_fold_are_predicted_with_weights_of_the_others():
    X, _, y = blobs(3, n=120, distance=1.5, per_class=10)
    model = HarmonicClassifier(gamma_g=[0.01, 1.0, 100.0], random_state=0).fit(X, y)
    scores = model.choice_.cross_fitted_scores
    np.testing.assert_array_equal(model.held_out_.predicted, scores.argmax(axis=1))
