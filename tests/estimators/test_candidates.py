"""Lists of candidates in all classes: what is tried, chosen, blended and told."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from graphmargin.datasets import make_lattices
from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.graph import knn_graph
from graphmargin.margin.machine import class_scores
from graphmargin.selection import LabeledKFold, LabeledLeaveOneOut
from graphmargin.selection.cut_trials import TRIAL_TOLERANCE
from tests.estimators.problems import (
    LISTS,
    WITH_MARGIN,
    assert_same_results,
    assert_sound,
    blobs,
    every_class,
    fit,
    pairwise,
)

with_margin = pytest.mark.parametrize("name", WITH_MARGIN)


def fixed(model, candidate):
    """Return the classifier of one candidate."""
    known = model.get_params()
    own = {key: value for key, value in candidate.items() if key in known}
    return clone(model).set_params(**own, cv=None)


def fold_scores(model):
    """Return the accuracy of every candidate in every fold."""
    table = model.choice_.results()
    return np.column_stack([table[name] for name in table if name.startswith("split")])


def scores_by_hand(model, X, y, folds):
    """Return an accuracy for every candidate and fold, by one fit for each."""
    scores = []
    for candidate in model.choice_.trials.params:
        single = fixed(model, candidate)
        right = []
        for left, rows in folds:
            single.fit(X, left)
            answers = single.transduction_ if name_of(model) == "harmonic" else single.predict(X)
            right.append(np.mean(answers[rows] == y[rows]))
        scores.append(right)
    return np.array(scores)


def name_of(model):
    return next(name for name, other in LISTS.items() if type(other) is type(model))


# What is tried

CANDIDATES = {
    "harmonic": {"n_neighbors": [4, 6], "gamma_g": [0.01, 1.0]},
    "cut": {
        "kernel": ["linear", "rbf"],
        "n_neighbors": [4, 6],
        "gamma_g": [0.1, np.inf],
        "C": [1.0, 10.0],
    },
    "manifold": {"kernel": ["linear", "rbf"], "gamma_u": [0.0, 0.01], "C": [1.0]},
    "semi-supervised": {"kernel": ["linear", "rbf"], "gamma_u": [0.0, 0.1], "C": [1.0]},
    "supervised": {"kernel": ["linear", "cubic"], "degree": [2, 3], "C": [1.0, 10.0]},
}


@every_class
def test_all_combinations_are_tried(name):
    X, _, y = blobs()
    choice = fit(f"{name}-lists", X, y).choice_
    grid = CANDIDATES[name]
    expected = [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]
    if name == "supervised":  # the degree is of no account to the linear kernel
        expected = [one for one in expected if one["kernel"] == "cubic" or one["degree"] == 2]
    tried = [{key: one[key] for key in grid} for one in choice.trials.params]
    assert tried == expected
    table = choice.results()
    assert {len(column) for column in table.values()} == {len(expected)}
    for key in grid:
        assert table[f"param_{key}"].tolist() == [one[key] for one in expected]
    assert sorted(table["rank_test_score"]) == list(range(1, len(expected) + 1))
    assert choice.weights.sum() == pytest.approx(1.0)
    assert choice.best_params == table["params"][table["rank_test_score"].tolist().index(1)]


@every_class
def test_results_are_those_of_the_blend(name):
    """Predictions, probabilities and transduction agree with one another."""
    X, _, y = blobs(3, distance=1.5)
    model = fit(f"{name}-lists", X, y)
    given = y >= 0
    assert_sound(model, X)
    np.testing.assert_array_equal(model.transduction_[given], y[given])
    probabilities = model.predict_proba(X)
    np.testing.assert_array_equal(model.predict(X), probabilities.argmax(axis=1))
    ranked = np.sort(model.label_distributions_, axis=1)
    np.testing.assert_allclose(model.confidence_, ranked[:, -1] - ranked[:, -2], atol=1e-12)
    if name != "harmonic":
        np.testing.assert_array_equal(model.transduction_[~given], model.predict(X)[~given])
        np.testing.assert_array_equal(model.label_distributions_, probabilities)
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


@with_margin
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_is_the_weighted_sum_of_the_functions_of_the_candidates(name, n_classes):
    X, _, y = blobs(n_classes, distance=1.0)
    new = X[::3] + 0.1
    model = fit(f"{name}-lists", X, y)
    choice, total = model.choice_, 0.0
    for i, factor in choice.blended:
        assert factor == pytest.approx(choice.weights[i] / choice.trials.scales[i])
        single = fixed(model, choice.trials.params[i]).fit(X, y)
        total = total + factor * pairwise(single, new)
    assert len(model.predictor_.machines) > 1, "one for each kernel"
    atol = 2 * TRIAL_TOLERANCE * sum(factor for _, factor in choice.blended)
    np.testing.assert_allclose(pairwise(model, new), total, atol=atol)
    scores = class_scores(pairwise(model, new), n_classes)
    np.testing.assert_allclose(model.decision_function(new), scores, atol=1e-12)


@with_margin
def test_one_candidate_is_the_fixed_classifier_up_to_a_factor(name):
    X, _, y = blobs(3)
    new = X + 0.1
    model = fit(name, X, y)
    listed = fit(name, X, y, C=[model.C], width=[model.width], cv=3)
    assert listed.choice_.weights.tolist() == [1.0]
    f, expected = pairwise(listed, new), pairwise(model, new)
    factor = (f * expected).sum() / (expected**2).sum()
    assert factor > 0
    np.testing.assert_allclose(f, factor * expected, atol=4e-3 * factor)
    np.testing.assert_array_equal(listed.predict(new), model.predict(new))


@every_class
def test_lists_tuples_and_arrays_are_the_same_candidates(name):
    X, _, y = blobs()
    parameter = "gamma_g" if name in ("harmonic", "cut") else "C"
    expected = fit(name, X, y, **{parameter: [0.1, 1.0]})
    for values in ((0.1, 1.0), np.array([0.1, 1.0])):
        assert_same_results(fit(name, X, y, **{parameter: values}), expected, X)


# Labels to test on


@every_class
def test_scores_of_an_integer_are_those_of_a_loop_that_holds_out_labels(name):
    X, _, y = blobs(n=36, distance=1.0, per_class=6)
    model = fit(f"{name}-lists", X, y, cv=3)
    folds = list(LabeledKFold(3, random_state=0).hide(y))
    expected = scores_by_hand(model, X, y, folds)
    np.testing.assert_allclose(fold_scores(model), expected)
    assert len(np.unique(expected)) > 1, "some answers are wrong"
    sizes = [len(rows) for _, rows in folds]
    np.testing.assert_allclose(
        model.choice_.results()["mean_test_score"], np.average(expected, axis=1, weights=sizes)
    )


@pytest.mark.parametrize("name", ["harmonic", "cut", "supervised"])
def test_every_kind_of_cv(name):
    X, _, y = blobs(per_class=5)
    order = np.random.default_rng(5).permutation(len(X))
    X, y = X[order], y[order]

    def scores(cv):
        return fold_scores(fit(name, X, y, width=[2.0, 3.0], cv=cv))

    assert scores(None).shape == scores("loo").shape == (2, 10)
    np.testing.assert_array_equal(scores("loo"), scores(LabeledLeaveOneOut()))
    assert scores(StratifiedKFold(3)).shape == (2, 3)
    kfold = LabeledKFold(2, random_state=3)
    for cv in (list(kfold.split(X, y)), kfold.split(X, y)):
        np.testing.assert_array_equal(scores(cv), scores(kfold))


@every_class
def test_validation_scores_are_those_of_fixed_classifiers(name):
    X, _, y = blobs(3)
    new, classes, _ = blobs(3, seed=1, distance=1.5)
    words = np.array(["ant", "bee", "cow"])
    labels = np.where(y < 0, "", words[y])
    for X_val, y_val in (
        (new, words[classes]),
        (sparse.csr_array(new), pd.Series(words[classes], dtype="category")),
    ):
        model = fit(f"{name}-lists", X, labels, cv=(X_val, y_val))
        assert fold_scores(model).shape[1] == 1
        for candidate, (score,) in zip(
            model.choice_.trials.params, fold_scores(model), strict=True
        ):
            single = fixed(model, candidate).fit(X, labels)
            assert score == pytest.approx(single.score(new, words[classes]))


# Graphs and kernel matrices


@pytest.mark.parametrize("name", ["cut", "manifold"])
def test_graph_that_is_given_is_that_of_all_candidates(name):
    X, _, y = blobs()
    W = knn_graph(X, 4)
    model = clone(LISTS[name]).set_params(n_neighbors=4)
    built, given = clone(model).fit(X, y), clone(model).fit(X, y, W=W)
    np.testing.assert_array_equal(given.graph_.toarray(), W.toarray())
    assert given.graph_recall_ is None
    assert_same_results(given, built, X)


# "auto" and its reports


def test_number_of_candidates_that_auto_stands_for():
    X, _, y = blobs(n=24, per_class=4)
    auto = {"gamma_u": "auto", "C": "auto"}
    for model, n_candidates in (
        (MaxMarginGraphCut(), 15),
        (HarmonicClassifier(gamma_g="auto"), 4),
        (ManifoldSVC(**auto), 15),
        (SemiSupervisedSVC(kernel="linear", **auto), 12),
        (SupervisedSVC(C="auto"), 3),
    ):
        assert len(model.fit(X, y).choice_.weights) == n_candidates
        assert_sound(model, X)


@pytest.mark.parametrize("name", ["cut", "harmonic"])
def test_graph_report_and_path_are_those_of_the_heaviest_graph(name):
    X, _, y = blobs(distance=1.5)
    model = fit(f"{name}-lists", X, y)
    report, choice = model.graph_report(), model.choice_
    assert report.n_points == len(X)
    assert report.choice is choice
    path = model.gamma_g_path_
    assert path["gamma_g"].tolist() == sorted(model.gamma_g)
    used = np.where(choice.trials.supervised, -1.0, choice.weights)
    best = choice.trials.params[int(used.argmax())]
    np.testing.assert_array_equal(
        model.graph_.toarray(), knn_graph(X, best["n_neighbors"]).toarray()
    )
    assert model.harmonic_solution_.gamma_g == best["gamma_g"]
    own = [
        all(one[key] == best[key] for key in ("n_neighbors", "kernel") if key in best)
        for one in choice.trials.params
    ]
    assert path["weight"].sum() == pytest.approx(choice.weights[own].sum())


def test_lattices_are_solved_with_validation_rows():
    X, y, y_true, W = make_lattices()
    model = MaxMarginGraphCut(
        gamma_g=[0.01, np.inf], C=10.0, kernel=["linear", "rbf"], cv=(X[::7], y_true[::7])
    ).fit(X, y, W=W)
    assert model.choice_.best_params["gamma_g"] == 0.01
    np.testing.assert_array_equal(model.transduction_, y_true)


def test_a_tuple_of_two_folds_is_no_validation_set():
    X, _, y = blobs()
    labeled = np.flatnonzero(y >= 0)
    rows = np.arange(len(y))
    folds = tuple((np.setdiff1d(rows, test), test) for test in (labeled[:2], labeled[2:4]))
    as_tuple, as_list = (
        HarmonicClassifier(gamma_g=[0.1, 1.0], cv=cv).fit(X, y).choice_
        for cv in (folds, list(folds))
    )
    np.testing.assert_array_equal(as_tuple.weights, as_list.weights)
    np.testing.assert_array_equal(as_tuple.trials.fold, [0, 0, 1, 1])
