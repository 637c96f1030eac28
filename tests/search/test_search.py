"""The search over members, and the mixture that is fitted; all methods have one protocol."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from graphmargin.harmonic.walk_part import WalkPart
from graphmargin.labels import encode_labels
from graphmargin.methods import DEFAULT_MEMBERS, default_members, member_names, named_member
from graphmargin.search import data as data_module
from graphmargin.search.data import TrainingData
from graphmargin.search.held_out import HeldOutLabels
from graphmargin.search.member import View
from graphmargin.search.predictor import calibrated
from graphmargin.search.search import fit, search, untested_calibration
from graphmargin.search.weighing import member_weights, weigh
from tests.estimators.problems import blobs
from tests.search.problems import (
    CLASSIFIERS,
    NOTHING,
    RUN,
    WITH_MARGIN,
    assert_same_trials,
    choose_by,
    clusters,
    data_of,
    fit_one,
    folds_of,
    member_of,
)

every_method = pytest.mark.parametrize("name", CLASSIFIERS)


def named(names, y):
    return [named_member(name, encode_labels(y)) for name in names]


def mixture(names, X, y, n_splits=4, class_weight=None):
    """Return the fit of named members with folds of the labels."""
    held_out = folds_of(y, n_splits)
    data = TrainingData(X, encode_labels(y), held_out, RUN, None, class_weight)
    return fit(data, search(data, named(names, y)))


# One member


@pytest.mark.parametrize("class_weight", [None, (1.0, 4.0)], ids=["even", "weighted"])
@every_method
def test_an_ensemble_of_one_member_is_this_member(name, class_weight):
    """Class masses of harmonic solutions are calibrated in a mixture, which keeps their order."""
    X, y = clusters(n_labeled=6)
    data = replace(data_of(X, y, folds_of(y)), class_weight=class_weight)
    member = member_of(name, data)
    alone, ensemble = (fit(data, search(data, given)) for given in (member, [member]))
    (part,) = ensemble.choice.parts
    np.testing.assert_array_equal(part.weights, alone.choice.weights)
    np.testing.assert_array_equal(ensemble.choice.weights, [1.0])
    (weighted,) = ensemble.predictor.parts
    expected = calibrated(alone.label_distributions, weighted.calibration)
    np.testing.assert_allclose(ensemble.label_distributions, expected, atol=1e-12)
    if name in WITH_MARGIN:
        assert weighted.calibration is None
        held_out = alone.held_out.probabilities
        np.testing.assert_allclose(ensemble.held_out.probabilities, held_out, atol=1e-12)
        assert ensemble.held_out.uniform_share == alone.held_out.uniform_share
    if class_weight is None:
        np.testing.assert_array_equal(ensemble.codes, alone.codes)
        new = X[::3] + 0.1
        np.testing.assert_array_equal(ensemble.predictor.predict(new), alone.predictor.predict(new))


@every_method
def test_fixed_parameters_are_fitted_without_a_trial(name):
    X, y = clusters()
    fixed = {"harmonic": {"gamma_g": 0.1}, "cut": {"gamma_g": 0.1}, "supervised": {"C": 1.0}}
    fitted = fit_one(name, X, y, **fixed.get(name, {"gamma_u": 0.1, "C": 1.0}))
    assert fitted.choice.is_fixed
    assert fitted.held_out is None
    assert list(fitted.members) == [name]
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])
    np.testing.assert_allclose(fitted.label_distributions.sum(axis=1), 1.0)


@every_method
def test_sparse_rows_have_the_trials_of_dense_ones(name):
    X, y = clusters(n=40)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense, thin = (
        choose_by(name, data_of(rows, y, folds_of(y))).trials for rows in (X, sparse.csr_array(X))
    )
    assert_same_trials(thin, dense, atol=1e-2)


@pytest.mark.parametrize("n_classes", [2, 3])
@every_method
def test_without_held_out_labels_candidates_are_weighed_all_the_same(name, n_classes):
    X, y = clusters(n_classes, n_labeled=1)
    data = data_of(X, y, NOTHING)
    fitted = fit(data, choose_by(name, data))
    trials = fitted.choice.trials
    assert trials.held_out_values.shape[:2] == (len(trials.params), 0)
    assert trials.held_out_codes.shape == trials.fold.shape == (0,)
    assert np.isnan(fitted.choice.error)
    assert np.isfinite(fitted.label_distributions).all()
    assert not fitted.choice.is_fixed


# Several members


@pytest.mark.parametrize(
    "variants",
    [
        [("cut", {"kernel": "linear"}), ("cut", {"kernel": "rbf"})],
        [("cut", {"n_neighbors": 4}), ("cut", {"metric": "cosine", "width": 2.0})],
        [("harmonic", {"n_neighbors": 4}), ("harmonic", {"c_labeled": 2.0})],
        [("manifold", {"normalized": True}), ("manifold", {"fit_intercept": False})],
        [("low-density", {"kernel": "linear"}), ("supervised", {"kernel": "poly", "degree": 2})],
    ],
    ids=["kernels", "graphs", "walks", "operators", "methods"],
)
def test_a_mixture_is_the_weighted_mean_of_separate_fits(variants):
    """Alternatives with graphs and kernels of their own are members, not candidates."""
    X, y = clusters(3, n_labeled=5)
    X, new = X + 1.0, X[::4] + 1.1  # for the cosine metric
    data = data_of(X, y, folds_of(y))
    members = [
        replace(member_of(name, data, **parameters), name=f"{name} {parameters}")
        for name, parameters in variants
    ]
    ensemble = fit(data, search(data, members))
    order = np.argsort(-ensemble.choice.weights, kind="stable").tolist()
    assert list(ensemble.members) == [members[i].name for i in order]
    distributions = probabilities = 0.0
    for i, part in zip(order, ensemble.predictor.parts, strict=True):
        alone = data_of(X, y, folds_of(y))
        single = fit(alone, search(alone, members[i]))
        assert_same_trials(ensemble.choice.parts[i].trials, single.choice.trials)
        assert part.weight == ensemble.choice.weights[i] > 0
        P, Q = single.label_distributions, single.predictor.probabilities(new)
        distributions = distributions + part.weight * calibrated(P, part.calibration)
        probabilities = probabilities + part.weight * calibrated(Q, part.calibration)
    np.testing.assert_allclose(ensemble.label_distributions, distributions, atol=1e-12)
    np.testing.assert_allclose(ensemble.predictor.probabilities(new), probabilities, atol=1e-12)
    np.testing.assert_array_equal(ensemble.codes[y < 0], distributions.argmax(axis=1)[y < 0])
    np.testing.assert_array_equal(ensemble.codes[y >= 0], y[y >= 0])


def test_labels_have_no_say_in_the_weights_that_predict_them():
    X, y = clusters(n_labeled=8)
    ensemble = mixture(["cut", "linear-supervised", "harmonic"], X, y)
    choice = ensemble.choice
    fold, codes = choice.trials.fold, choice.trials.held_out_codes
    assert len(np.unique(fold)) == 4
    for number in range(4):
        rows = np.flatnonzero(fold == number)
        weights = member_weights(choice.label_log_likelihood[:, fold != number].sum(axis=1))
        expected = weights @ np.exp(choice.label_log_likelihood[:, rows])
        np.testing.assert_allclose(choice.held_out_probabilities[rows, codes[rows]], expected)
    np.testing.assert_array_equal(ensemble.held_out.rows, choice.trials.held_out_rows)
    np.testing.assert_array_equal(ensemble.held_out.probabilities, choice.held_out_probabilities)


def test_only_class_masses_are_calibrated_in_a_mixture():
    X, y = clusters(3, n_labeled=5)
    ensemble = mixture(["cut", "harmonic", "linear-low-density"], X, y)
    has_masses = [isinstance(part.part, WalkPart) for part in ensemble.predictor.parts]
    assert any(has_masses)
    assert [part.calibration is not None for part in ensemble.predictor.parts] == has_masses


def test_labels_of_training_new_and_held_out_rows_have_the_least_expected_cost():
    X, y = clusters(n_labeled=8)
    X = 0.4 * X + np.random.default_rng(0).normal(size=X.shape)
    plain, costly = (mixture(["harmonic"], X, y, class_weight=w) for w in (None, (1.0, 20.0)))
    unlabeled = y < 0
    assert costly.codes[unlabeled].mean() > plain.codes[unlabeled].mean()
    least_costly = (costly.label_distributions * [1.0, 20.0]).argmax(axis=1)
    np.testing.assert_array_equal(costly.codes, np.where(unlabeled, least_costly, y))
    predicted, distributions = costly.predictor.label(X)
    np.testing.assert_array_equal(predicted, (distributions * [1.0, 20.0]).argmax(axis=1))
    np.testing.assert_array_equal(
        costly.held_out.predicted, (costly.held_out.probabilities * [1.0, 20.0]).argmax(axis=1)
    )


@pytest.mark.parametrize("name", member_names())
def test_every_named_member_learns_what_is_easy(name):
    X, truth, y = blobs(3, n=90, distance=4.0)
    ensemble = mixture([name], X, y)
    assert np.mean(ensemble.codes == truth) > 0.9
    assert list(ensemble.members) == [name]
    assert sum(ensemble.choice.assumption_weights.values()) == pytest.approx(1)


def test_warnings_of_several_members_are_said_once():
    X, y = clusters(n=40, n_labeled=5)
    X[y < 0] += np.where(np.arange((y < 0).sum()) < 8, 30.0, 0.0)[:, None]  # no label reaches them
    ensemble = mixture(["cut", "harmonic"], X, y)
    assert len(ensemble.members) == 2
    assert all(member.warnings for member in ensemble.members.values())
    assert [warning.text[:24] for warning in ensemble.warnings] == ["8 of 40 rows are in comp"]


def test_an_ensemble_is_no_member():
    X, y = clusters()
    data = data_of(X, y, folds_of(y))
    inner = search(data, named(["supervised"], y))
    with pytest.raises(TypeError, match="a member must be one method, not an ensemble"):
        fit(data, weigh([inner]))


# Views


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@every_method
def test_a_member_under_a_view_is_the_member_on_multiplied_rows(name, container):
    """New rows are multiplied as well, whether the member is alone or in an ensemble."""
    X, y = clusters(3, n_labeled=5)
    view, new = View("light", np.array([0.1, 1.5])), X[::4] + 0.1
    data = data_of(container(X), y, folds_of(y))
    multiplied = data_of(container(X * view.factors), y, folds_of(y))
    member = member_of(name, data)
    for wrap in (lambda member: member, lambda member: [member]):
        seen = fit(data, search(data, wrap(replace(member, view=view))))
        plain = fit(multiplied, search(multiplied, wrap(member)))
        np.testing.assert_array_equal(seen.choice.weights, plain.choice.weights)
        np.testing.assert_array_equal(seen.label_distributions, plain.label_distributions)
        np.testing.assert_array_equal(seen.codes, plain.codes)
        np.testing.assert_array_equal(seen.held_out.probabilities, plain.held_out.probabilities)
        for found, expected in zip(
            seen.predictor.label(container(new)),
            plain.predictor.label(container(new * view.factors)),
            strict=True,
        ):
            np.testing.assert_array_equal(found, expected)


def test_validation_rows_are_seen_as_training_rows_are():
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    view = View("light", np.array([0.1, 1.5]))
    data = data_of(X, y, HeldOutLabels((), (new, codes)))
    seen = HeldOutLabels((), (new * view.factors, codes))
    multiplied = data_of(X * view.factors, y, seen)
    members = named(["harmonic", "supervised"], y)
    choice = search(data, [replace(member, view=view) for member in members])
    assert_same_trials(choice.trials, search(multiplied, members).trials)


def test_members_under_the_same_view_share_one_graph(monkeypatch):
    X, y = clusters(n_labeled=6)
    built, build = [], data_module.neighbor_graph
    monkeypatch.setattr(
        data_module,
        "neighbor_graph",
        lambda X, *arguments, **options: built.append(X) or build(X, *arguments, **options),
    )
    light, data = View("light", np.full(2, 0.5)), data_of(X, y, folds_of(y))
    as_given = named(["cut", "harmonic", "manifold"], y)
    ensemble = fit(data, search(data, [*as_given, *(replace(m, view=light) for m in as_given)]))
    assert len(built) == 2
    np.testing.assert_array_equal(built[0], X)
    np.testing.assert_array_equal(built[1], 0.5 * X)
    assert {part.view for part in ensemble.predictor.parts} <= {as_given[0].view, light}


# Priors


def test_weights_are_proportional_to_the_priors_of_equal_members():
    X, y = clusters(n_labeled=6)
    (member,) = named(["cut"], y)
    priors = [1.0, 0.5, 2.0, 0.1]
    data = data_of(X, y, folds_of(y))
    choice = search(data, [replace(member, name=str(p), prior=p) for p in priors])
    np.testing.assert_allclose(choice.weights, [1 / 3.5, 0.5 / 3.5, 2 / 3.5, 0.0])
    assert list(fit(data, choice).members) == ["2.0", "1.0", "0.5"]
    for weights in choice.fold_weights.values():
        np.testing.assert_allclose(weights, choice.weights)


def test_prior_multiplies_the_weight_that_held_out_labels_give():
    X, y = clusters(n_labeled=6)
    X += 1.5 * np.random.default_rng(1).normal(size=X.shape)
    first, second = named(["harmonic", "supervised"], y)
    plain, favored = (
        search(data_of(X, y, folds_of(y)), [replace(first, prior=prior), second]).weights
        for prior in (1.0, 3.0)
    )
    assert (plain > 0.1).all()
    expected = plain * [3.0, 1.0]
    np.testing.assert_allclose(favored, expected / expected.sum())


# Members that need held-out labels


def test_members_that_need_held_out_labels_are_left_out_where_there_are_none():
    X, y = clusters(n=40, n_labeled=1)
    data = data_of(X, y, NOTHING)
    choice = search(data, default_members(data.labels, X.shape[1]))
    assert choice.names == ("cut", "harmonic")
    assert choice.weights.tolist() == [0.5, 0.5]
    assert not choice.is_tested
    assert fit(data, choice).held_out is None


def test_a_validation_set_is_enough_for_all_members():
    X, y = clusters(n=40, n_labeled=1)
    validation = clusters(n=8, n_labeled=4, seed=1)
    members = default_members(encode_labels(y), X.shape[1])
    choice = search(data_of(X, y, HeldOutLabels((), validation)), members)
    assert choice.names == DEFAULT_MEMBERS
    assert len(choice.trials.held_out_codes) == 8


def test_members_that_need_held_out_labels_remain_if_there_are_no_others():
    X, y = clusters(n=40, n_labeled=1)
    names = ["low-density", "linear-supervised"]
    assert all(member.method.needs_held_out for member in named(names, y))
    data = data_of(X, y, NOTHING)
    choice = search(data, named(names, y))
    assert choice.names == tuple(names)
    assert np.isfinite(fit(data, choice).label_distributions).all()


@pytest.mark.parametrize("n_classes", [3, 4])
def test_without_held_out_labels_the_harmonic_solution_counts_more_for_more_classes(n_classes):
    X, y = clusters(n_classes, n=120, n_labeled=1)
    data = data_of(X, y, NOTHING)
    ensemble = fit(data, search(data, named(["cut", "harmonic"], y)))
    of_cut, of_graph = (
        float(ensemble.members[name].label_distributions.max(axis=1).mean())
        for name in ("cut", "harmonic")
    )
    (part,) = (p for p in ensemble.predictor.parts if isinstance(p.part, WalkPart))
    assert of_cut > of_graph
    calibrated_to = calibrated(ensemble.members["harmonic"].label_distributions, part.calibration)
    expected = of_graph + (1 - 2 / n_classes) * (of_cut - of_graph)
    assert calibrated_to.max(axis=1).mean() == pytest.approx(expected)


@pytest.mark.parametrize(("names", "n_classes"), [(["cut", "harmonic"], 2), (["harmonic"], 3)])
def test_harmonic_solutions_of_two_classes_or_alone_need_held_out_labels(names, n_classes):
    X, y = clusters(n_classes, n_labeled=1)
    data = data_of(X, y, NOTHING)
    parts = fit(data, search(data, named(names, y))).predictor.parts
    assert [part.calibration for part in parts] == [None] * len(names)
    assert untested_calibration(np.full((5, n_classes), 1 / n_classes), np.nan) is None
