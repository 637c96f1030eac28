"""Rows, labels, graphs and kernel matrices that are refused, with the value in the message.

Parameters are checked in tests/search/test_parameters.py, and `cv` in test_held_out.py there.
"""

import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

from graphmargin import harmonic_solution, knn_graph
from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
)
from graphmargin.models.array_model import array_model_of
from tests.estimators.problems import (
    CLASSIFIERS,
    LISTS,
    TWO_KERNELS,
    WITH_MARGIN,
    blobs,
    every_class,
    fit,
)

every_classifier = pytest.mark.parametrize("classifier", CLASSIFIERS)
margin_classifiers = pytest.mark.parametrize("classifier", CLASSIFIERS[1:])
X, TRUTH, Y = blobs(n=20, d=2, per_class=3)


def refuses(message):
    return pytest.raises(ValueError, match=re.escape(message))


def with_entry(value, container=np.asarray):
    rows = X.copy()
    rows[3, 1] = value
    return container(rows)


# Rows; what else scikit-learn refuses is in its own checks, which test_scikit_learn_api.py runs

ROWS = (
    (with_entry(np.nan), "Input X contains NaN"),
    (with_entry(np.inf), "Input X contains infinity"),
    (with_entry(np.nan, sparse.csr_array), "Input X contains NaN"),
    (X[:1], "Found array with 1 sample(s) (shape=(1, 2)) while a minimum of 2 is required"),
    (pd.DataFrame({"a": [1.0] * 20, "b": ["red"] * 20}), "could not convert string to float"),
)


@every_class
def test_every_class_checks_rows_in_fit_and_prediction(name):
    for rows, message in ROWS:
        with refuses(message):
            fit(name, rows, Y[: rows.shape[0]])
    model = fit(name, X, Y)
    for method in ("predict", "predict_proba", "decision_function"):
        if method == "decision_function" and name not in WITH_MARGIN:
            continue
        with refuses("Input X contains NaN"):
            getattr(model, method)(with_entry(np.nan))
        with refuses(f"X has 1 features, but {type(model).__name__} is expecting 2 features"):
            getattr(model, method)(X[:, :1])
        with refuses("Found array with 0 sample(s) (shape=(0, 2)) while a minimum of 1 is requi"):
            getattr(model, method)(X[:0])


# Labels


@every_classifier
def test_bad_labels_are_refused(classifier):
    model = classifier()
    for y, message in (
        (TRUTH[:19], "inconsistent numbers of samples: [20, 19]"),
        (np.full(20, -1), "`y` has no label: all 20 rows are unlabeled"),
        (["cat"] * 4 + [None] * 16, "`y` has only one class ('cat'); label rows of at least two"),
        (None, "requires y to be passed, but the target y is None"),
        (np.linspace(0.1, 0.9, 20), "Unknown label type: continuous"),
        (np.column_stack([Y, Y]), "y should be a 1d array, got an array of shape (20, 2) instead"),
    ):
        with refuses(message):
            model.fit(X, y)


# Graphs


def complete_graph(n=20):
    return np.ones((n, n)) - np.eye(n)


def changed_graph(value, both=True):
    W = complete_graph()
    W[0, 1] = value
    if both:
        W[1, 0] = value
    return W


GRAPHS = {
    "asymmetric": (changed_graph(3.0, both=False), "symmetric, got a difference of 2 between w_ij"),
    "negative": (
        sparse.csr_array(changed_graph(-0.5)),
        "`W` must be non-negative, got a weight of -0.5",
    ),
    "not-square": (complete_graph()[:, :15], "`W` must be square, got shape (20, 15)"),
    "larger": (complete_graph(25), "one row for each of the 20 samples, got shape (25, 25)"),
    "nan": (changed_graph(np.nan), "NaN"),
}


@pytest.mark.parametrize(("W", "message"), GRAPHS.values(), ids=GRAPHS.keys())
def test_bad_graphs_are_refused(W, message):
    for model in (MaxMarginGraphCut(), MaxMarginGraphCut(gamma_g=0.1, C=1.0), ManifoldSVC()):
        with refuses(message):
            model.fit(X, Y, W=W)
    if W.shape[0] == 20:
        with refuses(message):
            HarmonicClassifier(affinity="precomputed").fit(W, Y)


def test_unknown_affinity_is_named():
    for affinity in ("rbf", None, ["knn"]):
        with refuses(f"`affinity` must be one of 'knn', 'precomputed', got {affinity!r}"):
            HarmonicClassifier(affinity=affinity).fit(X, Y)


def test_new_rows_of_a_graph_have_a_weight_for_each_training_row():
    model = HarmonicClassifier(affinity="precomputed").fit(complete_graph(), Y)
    with refuses("X has 3 features, but HarmonicClassifier is expecting 20 features as input"):
        model.predict(np.ones((2, 3)))
    with refuses("weights of edges to new points must be non-negative, got -1.0"):
        model.predict(np.full((2, 20), -1.0))


# Kernels


def fit_on_kernel(classifier, K, **options):
    graph = {"W": complete_graph()} if classifier in (MaxMarginGraphCut, ManifoldSVC) else {}
    return classifier(kernel="precomputed", **options).fit(K, Y, **graph)


@margin_classifiers
def test_bad_kernel_matrices_are_refused(classifier):
    K = X @ X.T
    asymmetric = K.copy()
    asymmetric[0, 1] += 1.0
    for matrix, message in (
        (X, "`X` must be a square kernel matrix for kernel='precomputed', got (20, 2)"),
        (asymmetric, "`X` must be a symmetric kernel matrix for kernel='precomputed'"),
        (sparse.csr_array(asymmetric), "`X` must be a symmetric kernel matrix"),
        (-K, "`X` must be a kernel matrix, with k(x, x) >= 0, got -"),
    ):
        with refuses(message):
            fit_on_kernel(classifier, matrix)
    model = fit_on_kernel(classifier, K)
    with refuses(f"X has 2 features, but {classifier.__name__} is expecting 20 features as input"):
        model.predict(X)


# Validation rows, which are checked as new rows are


@pytest.mark.parametrize("name", ["harmonic", "semi-supervised", "cut", "ensemble"])
def test_bad_validation_sets_are_refused(name):
    model = clone(LISTS.get(name, TWO_KERNELS))
    for cv, message in (
        ((X[:3, :1], [0, 1, 0]), "X has 1 features, but"),
        ((with_entry(np.nan)[:4], [0, 1, 0, 1]), "Input X contains NaN"),
        ((X[:3], [0, 1, -1]), "`cv` has the label -1 in y_val, but the classes of y are [0, 1]"),
    ):
        with refuses(message):
            model.set_params(cv=cv).fit(X, Y)


@every_classifier
@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"n_jobs": "2"}, "`n_jobs` must be None or an integer other than 0, got '2'"),
        ({"n_jobs": 1.5}, "`n_jobs` must be None or an integer other than 0, got 1.5"),
        ({"random_state": -1}, "`random_state` must be a seed from 0 to 4294967295, got -1"),
        ({"random_state": 2**32}, "`random_state` must be a seed from 0 to 4294967295"),
    ],
    ids=str,
)
def test_threads_and_seeds_are_checked_before_any_work(classifier, changed, message):
    with refuses(message):
        classifier(**changed).fit(X, Y)


NO_MATRICES = {
    "beyond the range": [[10**400, 1]] * 20,
    "long double": np.full((20, 2), np.longdouble(10) ** 4000),
    "complex": 1j * X,
    "text": [["a", "b"]] * 20,
    "ragged": [[1], [1, 2]] * 10,
    "three dimensions": X[None],
    "one dimension": X[:, 0],
    "number": 5,
    "mapping": {"a": 1},
    "records": np.zeros(20, dtype=[("a", "f8"), ("b", "f8")]),
    "NaN": np.nan * X,
}


@pytest.mark.parametrize("rows", NO_MATRICES.values(), ids=NO_MATRICES.keys())
def test_rows_that_are_no_matrix_of_numbers_are_refused(rows):
    model = SemiSupervisedSVC().fit(X, Y)
    saved = array_model_of(model)
    for use in (model.predict, saved.predict, knn_graph, lambda rows: model.fit(rows, Y)):
        with pytest.raises((ValueError, TypeError), match=r"\bX\b"):
            use(rows)
    for use in (lambda W: MaxMarginGraphCut().fit(X, Y, W=W), lambda W: harmonic_solution(W, Y)):
        with pytest.raises((ValueError, TypeError), match=r"\bW\b"):
            use(rows)


@pytest.mark.parametrize(
    "y",
    [5, "text", {1: 2}, Y[:10], np.zeros(20, dtype=[("a", "i4")]), [[1], [1, 2]] * 10],
    ids=["number", "text", "mapping", "short", "records", "ragged"],
)
@every_classifier
def test_labels_that_are_no_list_are_refused(classifier, y):
    with pytest.raises((ValueError, TypeError), match="`y`"):
        classifier().fit(X, y)
