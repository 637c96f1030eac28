"""Conventions that users of scikit-learn, pandas and polars take for granted."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks
from sklearn.utils.validation import check_is_fitted

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.graph import knn_graph
from graphmargin.search import LabeledKFold
from tests.estimators.problems import (
    CLASSIFIERS,
    FIXED,
    LISTS,
    MODELS,
    TWO_KERNELS,
    WITH_MARGIN,
    assert_same_results,
    blobs,
    every_class,
    every_model,
    fit,
)


def no_class_minus_one(_estimator):
    return {
        "check_classifiers_classes": "it has the classes -1 and 1, and -1 means unlabeled here; "
        "scikit-learn exempts its own semi-supervised classifiers by name"
    }


@pytest.mark.filterwarnings(
    # scikit-learn casts an infinite y to integers before it refuses it.
    "ignore:invalid value encountered in cast:RuntimeWarning"
)
@parametrize_with_checks(
    [
        HarmonicClassifier(),
        MaxMarginGraphCut(),
        ManifoldSVC(),
        SemiSupervisedEnsemble(),
        SemiSupervisedSVC(),
        SupervisedSVC(),
        MaxMarginGraphCut(gamma_g=0.1, C=10.0, kernel="linear"),
        MaxMarginGraphCut(gamma_g=[0.1, np.inf], C=1.0, cv=2),
        TWO_KERNELS,
    ],
    expected_failed_checks=no_class_minus_one,
)
def test_estimator_passes_the_check_of_scikit_learn(estimator, check):
    check(estimator)


# Parameters


@pytest.mark.parametrize("classifier", CLASSIFIERS)
def test_constructor_keeps_its_arguments_and_nothing_else(classifier):
    arguments = {name: object() for name in classifier().get_params()}
    assert vars(classifier(**arguments)) == vars(classifier().set_params(**arguments)) == arguments
    with pytest.raises(TypeError, match="positional"):
        classifier(0.1)


@every_model
def test_fit_leaves_parameters_and_input_alone_and_clones_are_unfitted(name):
    X, _, y = blobs()
    before = X.copy(), y.copy()
    model = clone(MODELS[name])
    assert model.fit(X, y) is model
    model.predict(X)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])
    copy = clone(model)
    assert repr(copy) == repr(model) == repr(MODELS[name])
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)
    assert_same_results(copy.fit(X, y), model, X)


def test_arrays_can_be_cloned():
    X, _, y = blobs()
    trust = np.where(np.arange(len(y)) == 0, 1.0, np.inf)
    for model in (
        MaxMarginGraphCut(gamma_g=0.1, C=2.0, c_labeled=trust),
        MaxMarginGraphCut(
            gamma_g=0.1, C=2.0, class_mass_normalization=[False, np.array([0.4, 0.6])]
        ),
        SemiSupervisedSVC(class_prior=np.array([0.4, 0.6]), C=2.0),
    ):
        assert_same_results(clone(model).fit(X, y), clone(model).fit(X, y), X)


# State


@every_model
def test_pickled_model_predicts_the_same(name):
    X, _, y = blobs(3)
    new = X[:20] + 0.05
    model = fit(name, X, y)
    restored = pickle.loads(pickle.dumps(model))
    assert_same_results(restored, model, new)
    if name.removesuffix("-lists") in WITH_MARGIN:
        np.testing.assert_array_equal(restored.decision_function(new), model.decision_function(new))
    if model.choice_ is not None:
        assert restored.choice_.error == model.choice_.error
        assert restored.choice_.best_params == model.choice_.best_params


def test_reports_of_an_unfitted_model_are_refused():
    cut, harmonic = MaxMarginGraphCut(), HarmonicClassifier()
    for method in (cut.graph_report, harmonic.graph_report):
        with pytest.raises(NotFittedError, match="instance is not fitted yet"):
            method()


# Tools


@pytest.mark.filterwarnings("ignore::graphmargin.estimators.base.ScaleWarning")
@every_class
def test_pipeline_and_cross_validation_equal_loops_by_hand(name):
    X, truth, y = blobs(d=3)
    X = X * [1.0, 100.0, 0.01]
    pipeline = make_pipeline(StandardScaler(), clone(FIXED[name])).fit(X, y)
    scaled = StandardScaler().fit_transform(X)
    by_hand = fit(name, scaled, y)
    np.testing.assert_array_equal(pipeline[-1].transduction_, by_hand.transduction_)
    np.testing.assert_array_equal(pipeline.predict(X), by_hand.predict(scaled))
    folds = StratifiedKFold(3)
    scores = cross_val_score(FIXED[name], X, truth, cv=folds)
    expected = [
        fit(name, X[train], truth[train]).score(X[test], truth[test])
        for train, test in folds.split(X, truth)
    ]
    np.testing.assert_array_equal(scores, expected)


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])
def test_pipeline_passes_a_graph_on(classifier):
    X, _, y = blobs()
    W = knn_graph(X, 4)
    pipeline = make_pipeline(StandardScaler(), classifier())
    pipeline.fit(X, y, **{f"{classifier.__name__.lower()}__W": W})
    np.testing.assert_array_equal(pipeline[-1].graph_.toarray(), W.toarray())
    assert pipeline[-1].graph_recall_ is None


GRIDS = {
    "harmonic": {"gamma_g": [0.1, 1.0], "metric": ["euclidean", "cosine"]},
    "cut": {"gamma_g": [0.1, np.inf], "kernel": ["linear", "rbf"]},
    "manifold": {"gamma_u": [0.0, 0.1], "normalized": [False, True]},
    "semi-supervised": {"gamma_u": [0.0, 0.1], "kernel": ["linear", "rbf"]},
    "supervised": {"C": [1e-3, 2.0], "kernel": ["linear", "poly"]},
}


@every_class
def test_grid_search_tries_the_parameters(name):
    X, truth, _ = blobs(n=40)
    search = GridSearchCV(FIXED[name], GRIDS[name], cv=2, error_score="raise").fit(X, truth)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    refitted = fit(name, X, truth, **search.best_params_)
    np.testing.assert_array_equal(search.predict(X), refitted.predict(X))


@every_class
def test_grid_search_tries_lists_of_candidates(name):
    """A value of the grid is a list itself: candidates that are blended within each fit."""
    X, _, y = blobs(n=30, distance=1.5, per_class=6)
    parameter = "gamma_g" if name in ("harmonic", "cut") else "C"
    grid = {parameter: [[0.1, 1.0], 10.0], "width": [1.0, 2.0]}
    model, cv = clone(FIXED[name]), LabeledKFold(2, random_state=0)
    if name == "semi-supervised":
        model.set_params(kernel="linear")  # which takes a tenth of the time
    search = GridSearchCV(model, grid, cv=cv, error_score="raise").fit(X, y)
    scores = [
        np.mean(
            [
                clone(model).set_params(**params).fit(X[train], y[train]).score(X[test], y[test])
                for train, test in cv.split(X, y)
            ]
        )
        for params in search.cv_results_["params"]
    ]
    np.testing.assert_allclose(search.cv_results_["mean_test_score"], scores)
    assert search.best_estimator_.width == search.best_params_["width"]


def cross_validated(model, matrix, truth):
    """Check that folds cut rows and columns of a matrix."""
    folds = StratifiedKFold(3)
    expected = [
        clone(model)
        .fit(matrix[np.ix_(train, train)], truth[train])
        .score(matrix[np.ix_(test, train)], truth[test])
        for train, test in folds.split(matrix, truth)
    ]
    np.testing.assert_array_equal(cross_val_score(model, matrix, truth, cv=folds), expected)


def test_cross_validation_cuts_rows_and_columns():
    X, truth, _ = blobs()
    cross_validated(SupervisedSVC(kernel="precomputed", C=0.1), X @ X.T, truth)
    cross_validated(SemiSupervisedSVC(kernel="precomputed", C=0.1), X @ X.T, truth)
    W = knn_graph(X, 8).toarray()
    cross_validated(HarmonicClassifier(affinity="precomputed"), W, truth)


# Containers

CONTAINERS = {
    "list": lambda X: X.tolist(),
    "fortran": np.asfortranarray,
    "read-only": lambda X: np.frombuffer(X.tobytes()).reshape(X.shape),
    "every-other-row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b", "c"]),
    "pandas-nullable": lambda X: pd.DataFrame(X, columns=["a", "b", "c"], dtype="Float64"),
    "polars": lambda X: pl.DataFrame(X, schema=["a", "b", "c"]),
    "csr_array": sparse.csr_array,
    "csr_matrix": sparse.csr_matrix,
    "csc_array": sparse.csc_array,
    "coo_array": sparse.coo_array,
    "single-precision": lambda X: X.astype(np.float32),
    "sparse-single-precision": lambda X: sparse.csr_array(X.astype(np.float32)),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_container_of_the_rows_does_not_matter(container):
    X, _, y = blobs(d=3)
    expected = fit("supervised", X, y)
    model = fit("supervised", container(X), y)
    assert_same_results(model, expected, container(X), X, atol=1e-4)
    assert model.n_features_in_ == 3


PAIRS = [
    ("harmonic", "csr_array", "coo_array", "cosine"),
    ("harmonic", "polars", "pandas", "euclidean"),
    ("cut", "csc_array", "list", "euclidean"),
    ("cut", "pandas", "pandas-nullable", "cosine"),
    ("cut-lists", "csr_matrix", "single-precision", "euclidean"),
    ("cut-lists", "list", "csr_array", "cosine"),
    ("manifold", "polars", "polars", "cosine"),
    ("manifold-lists", "csr_array", "csr_matrix", "euclidean"),
    ("semi-supervised", "csr_array", "fortran", None),
    ("semi-supervised-lists", "single-precision", "csr_array", None),
    ("supervised-lists", "csr_array", "list", None),
    ("harmonic-lists", "csr_array", "single-precision", "euclidean"),
]


@pytest.mark.parametrize(("name", "fit_on", "predict_on", "metric"), PAIRS)
def test_fit_and_prediction_may_have_different_containers(name, fit_on, predict_on, metric):
    X, _, y = blobs(3, d=3)
    X = X + 1.0
    new = X[:20] + 0.05
    expected = fit(name, X, y, metric=metric)
    model = fit(name, CONTAINERS[fit_on](X), y, metric=metric)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(
        model.predict_proba(CONTAINERS[predict_on](new)), expected.predict_proba(new), atol=2e-3
    )


@every_class
def test_sparse_rows_with_repeated_entries_are_their_sums(name):
    X, _, y = blobs(distance=2.0)
    X = np.round(16 * X) / 16  # quarters of these numbers add up exactly
    n, d = X.shape
    columns = np.tile([3, 0, 1, 2, 0], (n, 1))
    values = np.column_stack([X[:, 3], X[:, 0] / 4, X[:, 1], X[:, 2], X[:, 0] * 3 / 4])
    split = sparse.csr_array((values.ravel(), columns.ravel(), np.arange(0, 5 * n + 1, 5)), (n, d))
    before = split.data.copy(), split.indices.copy(), split.indptr.copy()
    expected = fit(name, sparse.csr_array(X), y)
    for rows in (split, split.tocsc(), sparse.csr_matrix(split)):
        model = fit(name, rows, y)
        assert_same_results(model, expected, rows, sparse.csr_array(X))
    for part, old in zip((split.data, split.indices, split.indptr), before, strict=True):
        np.testing.assert_array_equal(part, old)
    np.testing.assert_array_equal(
        knn_graph(split).toarray(), knn_graph(sparse.csr_array(X)).toarray()
    )


@every_class
def test_feature_names_of_a_table_are_kept_and_checked(name):
    X, _, y = blobs(d=3)
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    model = fit(name, table, y)
    assert model.feature_names_in_.tolist() == ["height", "width", "depth"]
    with pytest.raises(ValueError, match="feature names should match"):
        model.predict(table[["width", "height", "depth"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        model.predict(X)


# Labels: every type is tested with `encode_labels`, one for each class here


def decorate(codes, names, marker):
    return [marker if code < 0 else names[code] for code in codes.tolist()]


LABELS = {
    "harmonic": (
        lambda y: pd.Series(decorate(y, ["no", "yes"], None), dtype="category"),
        ["no", "yes"],
    ),
    "cut": (lambda y: np.array(decorate(y, ["no", "yes"], "")), ["no", "yes"]),
    "manifold": (lambda y: np.where(y < 0, np.nan, y), [0.0, 1.0]),
    "semi-supervised": (lambda y: pl.Series(decorate(y, [3, 7], None)), [3, 7]),
    "supervised": (lambda y: decorate(y, [False, True], None), [False, True]),
    "cut-lists": (lambda y: pd.Series(decorate(y, [-7, 5], pd.NA), dtype="Int64"), [-7, 5]),
    "harmonic-lists": (
        lambda y: np.array(decorate(y, ["no", "yes"], np.nan), dtype=object),
        ["no", "yes"],
    ),
}


@pytest.mark.parametrize("name", LABELS)
def test_marker_and_type_of_the_labels_do_not_matter(name):
    X, _, y = blobs()
    convert, classes = LABELS[name]
    expected = fit(name, X, y)
    model = fit(name, X, convert(y))
    assert model.classes_.tolist() == classes
    names = np.array(classes)
    assert model.transduction_.tolist() == names[expected.transduction_].tolist()
    assert model.predict(X).tolist() == names[expected.predict(X)].tolist()
    np.testing.assert_array_equal(model.confidence_, expected.confidence_)
    np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))


@every_class
def test_masked_labels_are_no_labels_and_masked_rows_are_refused(name):
    X, truth, y = blobs(distance=2.0)
    expected = fit(name, X, y)
    for labels in (truth, truth.astype(float), truth.astype(str), truth.astype(object)):
        masked = np.ma.array(labels, mask=y == -1)
        model = fit(name, X, masked)
        np.testing.assert_array_equal(model.predict_proba(X), expected.predict_proba(X))
    fit(name, np.ma.array(X), y)
    hidden = np.ma.array(X, mask=X > 3)
    with pytest.raises(ValueError, match="`X` must have no masked entries"):
        fit(name, hidden, y)
    with pytest.raises(ValueError, match="`X` must have no masked entries"):
        expected.predict(hidden)
    with pytest.raises(ValueError, match="`X` must have no masked entries"):
        clone(LISTS[name]).set_params(cv=(hidden, truth)).fit(X, y)


@every_model
def test_columns_are_in_the_order_of_the_classes(name):
    X, truth, y = blobs(3)
    names = ["zebra", "ant", "monkey"]
    model = fit(name, X, decorate(y, names, None))
    assert model.classes_.tolist() == ["ant", "monkey", "zebra"]
    columns = model.predict_proba(X).argmax(axis=1)
    np.testing.assert_array_equal(model.classes_[columns], model.predict(X))
    assert np.mean(model.predict(X) == np.array(names)[truth]) > 0.8


def test_models_have_every_class():
    assert [type(model) for model in FIXED.values()] == [type(model) for model in LISTS.values()]
    assert {type(model) for model in FIXED.values()} == set(CLASSIFIERS)
