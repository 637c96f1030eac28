"""Lists of candidates in all classes: what is tried, on which labels, and what is told.

Trials and blends are compared with separate fits in tests/methods.
"""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from graphmargin.datasets import make_lattices
from graphmargin.estimators import ManifoldSVC, MaxMarginGraphCut
from graphmargin.search import LabeledKFold, LabeledLeaveOneOut
from tests.estimators.problems import LISTS, assert_sound, blobs, every_class, fit


def fold_scores(model):
    """Return the accuracy of every candidate in every fold."""
    table = model.choice_.results()
    return np.column_stack([table[name] for name in table if name.startswith("split")])


def separate_fits(model, X, y):
    """Return a fitted classifier for each candidate."""
    defaults = model.get_params()
    return [
        clone(model)
        .set_params(**{k: params[k] for k in params if k in defaults}, cv=None)
        .fit(X, y)
        for params in model.choice_.trials.params
    ]


@every_class
def test_all_combinations_are_tried(name):
    X, _, y = blobs()
    choice = fit(f"{name}-lists", X, y).choice_
    lists = {key: v for key, v in LISTS[name].get_params().items() if isinstance(v, list)}
    if name == "harmonic":
        lists["class_mass_normalization"] = [False, (4.0, 4.0)]  # the class counts of the labels
    expected = set(product(*lists.values()))
    tried = [tuple(params[key] for key in lists) for params in choice.trials.params]
    assert len(tried) == len(expected)
    assert set(tried) == expected
    assert choice.weights.sum() == pytest.approx(1.0)


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
    if name == "harmonic":
        ranked = np.sort(model.label_distributions_, axis=1)
        np.testing.assert_allclose(model.confidence_, ranked[:, -1] - ranked[:, -2], atol=1e-12)
    else:
        np.testing.assert_array_equal(model.transduction_[~given], model.predict(X)[~given])
        np.testing.assert_array_equal(model.label_distributions_, probabilities)
        np.testing.assert_array_equal(model.predict(X), model.decision_function(X).argmax(axis=1))


NO_LISTS = {
    "harmonic": {
        "n_neighbors": [4, 6],
        "width": ["paper", 2.0],
        "metric": ["euclidean", "cosine"],
        "c_unlabeled": [0.0, 1.0],
    },
    "cut": {
        "kernel": ["linear", "rbf"],
        "degree": (2, 3),
        "coef0": [0.0, 1.0],
        "width": np.array([1.0, 2.0]),
        "n_neighbors": [5],
        "metric": ["cosine"],
        "eps": [0.0, 0.1],
        "loss_weights": ["equal", "confidence"],
        "c_unlabeled": [0.0, 1.0],
    },
    "manifold": {
        "kernel": ["rbf"],
        "laplacian_power": [1, 2],
        "normalized": [False, True],
        "fit_intercept": [False, True],
    },
    "semi-supervised": {"kernel": ["linear", "rbf"], "width": [1.0]},
    "supervised": {"kernel": ["linear", "rbf"], "degree": [2, 3]},
}


@pytest.mark.parametrize(
    ("name", "parameter", "values"),
    [(name, *item) for name, lists in NO_LISTS.items() for item in lists.items()],
)
def test_lists_of_other_parameters_are_refused_with_the_way_out(name, parameter, values):
    X, _, y = blobs()
    message = rf"^`{parameter}` must be one value, got .*SemiSupervisedEnsemble\(members=\[...\]\)$"
    for member in (name, f"{name}-lists"):
        with pytest.raises(ValueError, match=message):
            fit(member, X, y, **{parameter: values})


# Labels to test on


@every_class
def test_scores_of_an_integer_are_those_of_a_loop_that_holds_out_labels(name):
    X, _, y = blobs(n=36, distance=1.0, per_class=6)
    model = fit(f"{name}-lists", X, y, cv=3)
    scores = []
    for left, rows in LabeledKFold(3, random_state=0).split_labels(y):
        answers = [
            fit.transduction_ if name == "harmonic" else fit.predict(X)
            for fit in separate_fits(model, X, left)
        ]
        scores.append([np.mean(answer[rows] == y[rows]) for answer in answers])
    np.testing.assert_allclose(fold_scores(model), np.transpose(scores))
    assert len(np.unique(scores)) > 1, "some answers are wrong"


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
        expected = [[fit.score(new, words[classes])] for fit in separate_fits(model, X, labels)]
        # Trials of semi-supervised SVMs have lower tolerances, so a few rows may differ.
        difference = 3 / len(new) if name == "semi-supervised" else 0
        np.testing.assert_allclose(fold_scores(model), expected, atol=difference)


@pytest.mark.parametrize("name", ["harmonic", "supervised"])
def test_every_kind_of_cv_is_accepted(name):
    X, _, y = blobs(distance=1.0, per_class=5)
    parameter = "gamma_g" if name == "harmonic" else "C"
    order = np.random.default_rng(5).permutation(len(X))
    X, y = X[order], y[order]

    def scores(cv):
        return fold_scores(fit(name, X, y, **{parameter: [0.01, 1.0]}, cv=cv))

    assert scores(None).shape == scores("loo").shape == (2, 10)
    np.testing.assert_array_equal(scores("loo"), scores(LabeledLeaveOneOut()))
    assert scores(StratifiedKFold(3)).shape == (2, 3)
    kfold = LabeledKFold(2, random_state=3)
    folds = list(kfold.split(X, y))
    # A tuple of two folds is no validation set.
    for cv in (folds, tuple(folds), kfold.split(X, y)):
        np.testing.assert_array_equal(scores(cv), scores(kfold))


# What is told


@pytest.mark.parametrize("name", ["cut", "harmonic"])
def test_graph_report_and_path_are_those_of_the_choice(name):
    X, _, y = blobs(distance=1.5)
    model = fit(f"{name}-lists", X, y)
    report = model.graph_report()
    assert report.n_points == len(X)
    assert report.choice is model.choice_
    assert model.gamma_g_path_["gamma_g"].tolist() == sorted(model.gamma_g)


def test_choice_solves_the_lattices_with_their_graph():
    X, y, y_true, W = make_lattices()
    cut = MaxMarginGraphCut(gamma_g=[0.01, np.inf], C=10.0, cv=(X[::7], y_true[::7]))
    cut.fit(X, y, W=W)
    assert cut.choice_.best_params["gamma_g"] == 0.01
    np.testing.assert_array_equal(cut.transduction_, y_true)
    manifold = ManifoldSVC(width=1.0, gamma_u="auto", C="auto").fit(X, y, W=W)
    assert 0 < manifold.choice_.supervised_weight < 1
    assert np.mean(manifold.predict(X) == y_true) >= 0.9
