"""Ensembles of families: weights, cross-fitted predictions, and the mixture."""

from dataclasses import replace

import numpy as np
import pytest
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor
from graphmargin.margin.mixture_predictor import calibrated
from graphmargin.selection.ensemble import fit_ensemble
from graphmargin.selection.ensemble_choice import family_weights
from graphmargin.selection.execution import Execution
from graphmargin.selection.families import FAMILY_NAMES, default_families, named_family
from graphmargin.selection.held_out import default_held_out
from graphmargin.tables.feature_metrics import ALL_COLUMNS, FeatureMetric

from graphmargin.labels import encode_labels
from tests.estimators.problems import blobs


def fitted(names, X, y, seed=0, **changes):
    labels = encode_labels(y)
    families = [named_family(name, labels) for name in names]
    families = [
        replace(f, parameters=tuple(replace(p, **changes) for p in f.parameters)) for f in families
    ]
    return fit_ensemble(X, labels, families, default_held_out(labels, seed), Execution(1, seed))


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


@pytest.mark.parametrize("n_classes", [3, 4])
def test_without_held_out_labels_the_harmonic_solution_counts_more_for_more_classes(n_classes):
    X, _, y = blobs(n_classes, n=120, distance=2.0, per_class=1)
    ensemble = fitted(["cut", "harmonic"], X, y)
    of_cut, of_graph = (
        float(ensemble.members[name].label_distributions.max(axis=1).mean())
        for name in ("cut", "harmonic")
    )
    (part,) = (p for p in ensemble.predictor.parts if isinstance(p.predictor, HarmonicPredictor))
    assert of_cut > of_graph
    calibrated_to = calibrated(ensemble.members["harmonic"].label_distributions, part.calibration)
    expected = of_graph + (1 - 2 / n_classes) * (of_cut - of_graph)
    assert calibrated_to.max(axis=1).mean() == pytest.approx(expected)


@pytest.mark.parametrize(("names", "n_classes"), [(["cut", "harmonic"], 2), (["harmonic"], 3)])
def test_harmonic_solutions_of_two_classes_or_alone_need_held_out_labels(names, n_classes):
    X, _, y = blobs(n_classes, n=60, per_class=1)
    parts = fitted(names, X, y).predictor.parts
    assert [part.calibration for part in parts] == [None] * len(names)


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


def fitted_under(metrics, names, X, y):
    labels = encode_labels(y)
    families = [named_family(name, labels).under(metric) for metric in metrics for name in names]
    return fit_ensemble(X, labels, families, default_held_out(labels, 0), Execution(1, 0))


def test_a_family_under_a_metric_is_the_family_on_scaled_rows():
    X, _, y = blobs(2, n=80, distance=2.0, per_class=6)
    metric = FeatureMetric("light", np.linspace(0.1, 1.0, X.shape[1]))
    names = ["cut", "harmonic", "linear-low-density"]
    ensemble, scaled = fitted_under([metric], names, X, y), fitted(names, metric.scale(X), y)
    assert ensemble.choice.names == tuple(f"{name} (light)" for name in names)
    assert ensemble.choice.metric_weights == {"light": pytest.approx(1)}
    np.testing.assert_array_equal(ensemble.choice.weights, scaled.choice.weights)
    np.testing.assert_array_equal(ensemble.label_distributions, scaled.label_distributions)
    new = X[:9] + 0.1
    np.testing.assert_array_equal(
        ensemble.predictor.probabilities(new), scaled.predictor.probabilities(metric.scale(new))
    )


def test_families_under_the_same_metric_share_rows_and_graphs():
    X, _, y = blobs(2, n=80, distance=2.0, per_class=6)
    metric = FeatureMetric("light", np.full(X.shape[1], 0.5))
    ensemble = fitted_under([ALL_COLUMNS, metric], ["cut", "harmonic"], X, y)
    tasks = {name: part.trials[0].task for name, part in ensemble.tried.items()}
    assert tasks["cut"].X is X
    assert tasks["cut"].problem is tasks["harmonic"].problem
    assert tasks["cut (light)"].X is tasks["harmonic (light)"].X
    assert tasks["cut (light)"].problem is tasks["harmonic (light)"].problem
    assert tasks["cut (light)"].problem is not tasks["cut"].problem


def test_the_weight_of_a_metric_is_that_of_its_families():
    X, _, y = blobs(2, n=80, distance=1.0, per_class=8)
    noise = np.random.default_rng(0).normal(size=(len(X), 30)) * 3
    metric = FeatureMetric("few", np.repeat([1.0, 0.0], [X.shape[1], 30]))
    choice = fitted_under(
        [ALL_COLUMNS, metric], ["harmonic", "supervised"], np.hstack([X, noise]), y
    ).choice
    assert choice.metrics == ("all columns",) * 2 + ("few",) * 2
    weights = choice.metric_weights
    assert list(weights) == ["few", "all columns"]
    assert weights["few"] == pytest.approx(choice.weights[2:].sum())
    assert sum(weights.values()) == pytest.approx(1)


def test_the_prior_of_clusters_follows_the_graph_that_the_labels_support():
    """The order of the families does not matter, nor whether a poor graph is among them."""
    X, _, y = blobs(3, n=120, distance=6.0, per_class=6)
    noise = np.random.default_rng(0).normal(size=(len(X), 30)) * 20
    rows = np.hstack([X, noise])
    metric = FeatureMetric("few", np.repeat([1.0, 0.0], [X.shape[1], 30]))
    names = ["harmonic", "supervised"]
    bonus = [
        max(fitted_under(order, names, rows, y).choice.log_prior)
        for order in ((ALL_COLUMNS, metric), (metric, ALL_COLUMNS), (metric,))
    ]
    assert bonus == pytest.approx(bonus[:1] * 3)
    assert bonus[0] > 0
    assert max(fitted_under([ALL_COLUMNS], names, rows, y).choice.log_prior) == 0


def test_the_prior_of_a_metric_is_that_of_its_families():
    X, _, y = blobs(2, n=80, distance=2.0, per_class=6)
    same = FeatureMetric("same", np.ones(X.shape[1]), prior=0.5)
    choice = fitted_under([ALL_COLUMNS, same], ["cut", "supervised"], X, y).choice
    np.testing.assert_allclose(
        choice.log_prior, np.log([1, 1, 0.5, 0.5]) + choice.log_prior[[0, 1] * 2]
    )
    np.testing.assert_allclose(choice.weights[2:], choice.weights[:2] / 2)
