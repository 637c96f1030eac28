"""What scikit-learn, pandas and polars users take for granted."""

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

from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
    knn_graph,
)

PAPER = {"gamma_g": 0.1, "C": 10.0, "loss_weights": "equal"}
FIXED = {"gamma_g": 0.1, "C": 2.0, "loss_weights": "equal", "n_neighbors": 4}
FITTED = {
    "harmonic": HarmonicClassifier(gamma_g=0.1, n_neighbors=4),
    "auto": MaxMarginGraphCut(n_neighbors=4),
    "auto-linear": MaxMarginGraphCut(kernel="linear", n_neighbors=4),
    "rbf": MaxMarginGraphCut(**FIXED),
    "linear": MaxMarginGraphCut(kernel="linear", **FIXED),
    "cubic": MaxMarginGraphCut(kernel="cubic", **FIXED),
    "confidence": MaxMarginGraphCut(**{**FIXED, "loss_weights": "confidence"}),
    "manifold": ManifoldSVC(gamma_u=0.01, C=2.0, n_neighbors=4),
    "manifold-linear": ManifoldSVC(kernel="linear", gamma_u=0.01, C=2.0, n_neighbors=4),
    "gradient": SemiSupervisedSVC(C=2.0),
    "cccp": SemiSupervisedSVC(kernel="linear", C=2.0, solver="cccp"),
    "supervised": SupervisedSVC(C=2.0),
    "supervised-auto": SupervisedSVC(C="auto"),
}
every_model = pytest.mark.parametrize("model", FITTED.values(), ids=FITTED.keys())
CLASSIFIERS = [
    HarmonicClassifier,
    MaxMarginGraphCut,
    ManifoldSVC,
    SemiSupervisedSVC,
    SupervisedSVC,
]
classifiers = pytest.mark.parametrize("classifier", CLASSIFIERS)


def blobs(seed=0, n=60, n_classes=2):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 3.0 * np.eye(3)[truth]
    return X, truth, np.where(np.arange(n) < 4 * n_classes, truth, -1)


def scores_of(model, X):
    return model.decision_function(X) if hasattr(model, "decision_function") else None


def assert_same_results(model, other, X, X_other=None, atol=0.0):
    """Compare everything that two fitted models say, on training and new points."""
    X_other = X if X_other is None else X_other
    np.testing.assert_array_equal(model.transduction_, other.transduction_)
    np.testing.assert_allclose(model.confidence_, other.confidence_, rtol=0, atol=atol)
    np.testing.assert_allclose(
        model.label_distributions_, other.label_distributions_, rtol=0, atol=atol
    )
    np.testing.assert_array_equal(model.predict(X), other.predict(X_other))
    np.testing.assert_allclose(
        model.predict_proba(X), other.predict_proba(X_other), rtol=0, atol=atol
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
        MaxMarginGraphCut(**PAPER),
        MaxMarginGraphCut(kernel="linear", **PAPER),
        MaxMarginGraphCut(kernel="cubic", **PAPER),
        ManifoldSVC(),
        ManifoldSVC(kernel="linear"),
        SemiSupervisedSVC(),
        SemiSupervisedSVC(kernel="linear", solver="cccp"),
        SupervisedSVC(),
        SupervisedSVC(C="auto"),
    ],
    expected_failed_checks=no_class_minus_one,
)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


@classifiers
def test_constructor_keeps_its_arguments_and_nothing_else(classifier):
    arguments = {name: object() for name in classifier().get_params()}
    model = classifier(**arguments)
    assert vars(model) == arguments
    assert all(model.get_params()[name] is value for name, value in arguments.items())


@classifiers
def test_arguments_are_keywords(classifier):
    with pytest.raises(TypeError, match="positional"):
        classifier(0.1)


@every_model
def test_clone_is_unfitted_and_has_the_same_parameters(model):
    X, _, y = blobs()
    fitted = clone(model).fit(X, y)
    copy = clone(fitted)
    assert copy.get_params() == model.get_params()
    with pytest.raises(NotFittedError):
        check_is_fitted(copy)


OTHER_VALUES = {
    "C": 3.0,
    "affinity": "precomputed",
    "approximation": "none",
    "c_labeled": 5.0,
    "c_unlabeled": 0.5,
    "class_mass_normalization": True,
    "class_prior": None,
    "coef0": 2.0,
    "degree": 2,
    "eps": 0.1,
    "fit_intercept": False,
    "gamma_g": 3.0,
    "gamma_u": 3.0,
    "kernel": "cubic",
    "laplacian_power": 2,
    "loss_weights": "equal",
    "metric": "cosine",
    "n_jobs": 2,
    "n_neighbors": 7,
    "normalized": True,
    "random_state": 4,
    "solver": "cg",
    "verbose": 1,
    "width": 2.5,
}


@classifiers
def test_parameters_survive_a_round_trip(classifier):
    defaults = classifier().get_params()
    changed = {name: OTHER_VALUES[name] for name in defaults}
    assert not any(changed[name] == defaults[name] for name in defaults)
    params = classifier().set_params(**changed).get_params()
    assert params == changed
    assert classifier(**params).get_params() == params


def test_array_parameters_can_be_cloned():
    X, _, y = blobs()
    trust = np.where(np.arange(len(y)) == 0, 1.0, np.inf)
    model = MaxMarginGraphCut(gamma_g=0.1, C=2.0, c_labeled=trust)
    copy = clone(model)
    np.testing.assert_array_equal(copy.c_labeled, trust)
    assert_same_results(copy.fit(X, y), model.fit(X, y), X)


def test_array_of_class_shares_can_be_cloned():
    X, _, y = blobs()
    shares = np.array([0.4, 0.6])
    model = SemiSupervisedSVC(class_prior=shares, C=2.0)
    copy = clone(model)
    np.testing.assert_array_equal(copy.class_prior, shares)
    assert_same_results(copy.fit(X, y), model.fit(X, y), X)


@every_model
def test_parameters_that_are_set_later_count_in_the_next_fit(model):
    X, _, y = blobs()
    changed = {"width": 1.0}
    later = clone(model).fit(X, y).set_params(**changed).fit(X, y)
    at_once = clone(model).set_params(**changed).fit(X, y)
    assert_same_results(later, at_once, X)
    assert np.any(later.predict_proba(X) != clone(model).fit(X, y).predict_proba(X))


@every_model
def test_fit_returns_the_model_and_leaves_its_parameters_alone(model):
    X, _, y = blobs()
    model = clone(model)
    before = model.get_params()
    assert model.fit(X, y) is model
    assert model.get_params() == before


@every_model
def test_fit_does_not_change_its_input(model):
    X, _, y = blobs()
    X_before, y_before = X.copy(), y.copy()
    clone(model).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, X_before)
    np.testing.assert_array_equal(y, y_before)


@every_model
def test_pickled_model_predicts_the_same(model):
    X, _, y = blobs()
    new = X[:20] + 0.05
    fitted = clone(model).fit(X, y)
    restored = pickle.loads(pickle.dumps(fitted))
    assert_same_results(restored, fitted, new)
    if scores_of(fitted, new) is not None:
        np.testing.assert_array_equal(scores_of(restored, new), scores_of(fitted, new))


@every_model
@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_unfitted_model_says_so(model, method):
    with pytest.raises(NotFittedError, match=f"{type(model).__name__} instance is not fitted yet"):
        getattr(clone(model), method)(np.ones((2, 3)))


@pytest.mark.parametrize("classifier", CLASSIFIERS[1:])
def test_decision_of_an_unfitted_model_says_so(classifier):
    with pytest.raises(NotFittedError, match=f"{classifier.__name__} instance is not fitted yet"):
        classifier().decision_function(np.ones((2, 3)))


@every_model
def test_pipeline_with_a_scaler_equals_scaling_by_hand(model):
    X, _, y = blobs()
    X = X * [1.0, 100.0, 0.01]
    pipeline = make_pipeline(StandardScaler(), clone(model)).fit(X, y)
    scaler = StandardScaler().fit(X)
    by_hand = clone(model).fit(scaler.transform(X), y)
    np.testing.assert_array_equal(pipeline[-1].transduction_, by_hand.transduction_)
    np.testing.assert_array_equal(pipeline.predict(X), by_hand.predict(scaler.transform(X)))


@pytest.mark.parametrize("classifier", [MaxMarginGraphCut, ManifoldSVC])
def test_pipeline_passes_a_graph_on(classifier):
    X, _, y = blobs()
    W = knn_graph(X, 4)
    pipeline = make_pipeline(StandardScaler(), classifier(affinity="precomputed"))
    pipeline.fit(X, y, **{f"{classifier.__name__.lower()}__W": W})
    np.testing.assert_array_equal(pipeline[-1].graph_.toarray(), W.toarray())
    assert pipeline[-1].graph_recall_ is None


@every_model
def test_cross_validation_equals_a_loop_over_the_folds(model):
    X, truth, _ = blobs()
    folds = StratifiedKFold(3)
    scores = cross_val_score(model, X, truth, cv=folds)
    expected = [
        clone(model).fit(X[train], truth[train]).score(X[test], truth[test])
        for train, test in folds.split(X, truth)
    ]
    np.testing.assert_array_equal(scores, expected)


GRIDS = {
    MaxMarginGraphCut: {"gamma_g": [0.1, np.inf], "C": [1e-3, 2.0], "kernel": ["linear", "rbf"]},
    ManifoldSVC: {"gamma_u": [0.0, 0.1], "normalized": [False, True], "kernel": ["linear", "rbf"]},
    SemiSupervisedSVC: {"gamma_u": [0.0, 0.1], "solver": ["gradient", "cccp"]},
    SupervisedSVC: {"C": [1e-3, 2.0], "kernel": ["linear", "cubic", "rbf"]},
}


@pytest.mark.parametrize("classifier", GRIDS)
def test_grid_search_over_the_parameters(classifier):
    X, truth, _ = blobs()
    search = GridSearchCV(classifier(), GRIDS[classifier], cv=3, error_score="raise")
    search.fit(X, truth)
    assert search.best_score_ == search.cv_results_["mean_test_score"].max()
    refitted = classifier(**search.best_params_).fit(X, truth)
    np.testing.assert_array_equal(search.predict(X), refitted.predict(X))


def test_cross_validation_cuts_rows_and_columns_of_a_precomputed_graph():
    X, truth, _ = blobs()
    W = knn_graph(X, 8).toarray()
    model = HarmonicClassifier(gamma_g=0.1, affinity="precomputed")
    folds = StratifiedKFold(3)
    expected = [
        clone(model)
        .fit(W[np.ix_(train, train)], truth[train])
        .score(W[np.ix_(test, train)], truth[test])
        for train, test in folds.split(X, truth)
    ]
    np.testing.assert_array_equal(cross_val_score(model, W, truth, cv=folds), expected)


@pytest.mark.parametrize("classifier", [SupervisedSVC, SemiSupervisedSVC])
def test_cross_validation_cuts_rows_and_columns_of_a_kernel_matrix(classifier):
    X, truth, _ = blobs()
    K = X @ X.T
    model = classifier(kernel="precomputed", C=0.1)
    folds = StratifiedKFold(3)
    expected = [
        clone(model)
        .fit(K[np.ix_(train, train)], truth[train])
        .score(K[np.ix_(test, train)], truth[test])
        for train, test in folds.split(X, truth)
    ]
    np.testing.assert_array_equal(cross_val_score(model, K, truth, cv=folds), expected)


@every_model
def test_feature_names_of_a_data_frame_are_kept_and_checked(model):
    X, _, y = blobs()
    table = pd.DataFrame(X, columns=["height", "width", "depth"])
    fitted = clone(model).fit(table, y)
    assert fitted.feature_names_in_.tolist() == ["height", "width", "depth"]
    assert fitted.n_features_in_ == 3
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.predict(table[["width", "height", "depth"]])
    with pytest.warns(UserWarning, match="X does not have valid feature names"):
        fitted.predict(X)


@every_model
def test_refit_forgets_the_earlier_data(model):
    X, _, y = blobs()
    other, _, labels = blobs(seed=1, n=45, n_classes=3)
    words = np.array(["", "ant", "bee", "cow"])[labels + 1]
    refitted = clone(model).fit(pd.DataFrame(X, columns=list("abc")), y)
    refitted.fit(other[:, :2], words)
    fresh = clone(model).fit(other[:, :2], words)
    assert vars(refitted).keys() == vars(fresh).keys()
    assert refitted.n_features_in_ == 2
    assert refitted.classes_.tolist() == ["ant", "bee", "cow"]
    assert_same_results(refitted, fresh, other[:, :2])


@every_model
def test_two_fits_on_the_same_data_agree(model):
    X, _, y = blobs()
    first, second = clone(model).fit(X, y), clone(model).fit(X, y)
    assert_same_results(first, second, X)


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
}


@every_model
@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS.keys())
def test_container_of_the_points_does_not_matter(model, container):
    X, _, y = blobs()
    expected = clone(model).fit(X, y)
    fitted = clone(model).fit(container(X), y)
    assert_same_results(fitted, expected, container(X), X, atol=1e-3)
    assert fitted.n_features_in_ == 3


COSINE = {
    f"{name}-cosine": clone(model).set_params(metric="cosine")
    for name, model in FITTED.items()
    if "metric" in model.get_params()
}


@pytest.mark.parametrize("model", [*FITTED.values(), *COSINE.values()], ids=[*FITTED, *COSINE])
@pytest.mark.parametrize("fit_on", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("predict_on", [np.asarray, sparse.csc_matrix])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_prediction_takes_other_containers_than_the_fit(model, fit_on, predict_on, dtype):
    X, _, y = blobs()
    X = X + 1.0
    new = X[:20] + 0.05
    expected = clone(model).fit(X, y).predict_proba(new)
    fitted = clone(model).fit(fit_on(X), y)
    np.testing.assert_allclose(
        fitted.predict_proba(predict_on(new.astype(dtype))), expected, atol=1e-3
    )


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_single_and_double_precision_agree(model, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    double, single = clone(model).fit(X, y), clone(model).fit(X.astype(np.float32), y)
    np.testing.assert_array_equal(single.transduction_, double.transduction_)
    np.testing.assert_allclose(
        single.predict_proba(X.astype(np.float32)), double.predict_proba(X), atol=1e-3
    )


@every_model
def test_integer_points_are_numbers(model):
    X, _, y = blobs()
    X = np.rint(10 * X).astype(np.int32)
    assert_same_results(clone(model).fit(X, y), clone(model).fit(X.astype(float), y), X)


@every_model
def test_polars_feature_names_are_kept(model):
    X, _, y = blobs()
    fitted = clone(model).fit(pl.DataFrame(X, schema=["a", "b", "c"]), y)
    assert fitted.feature_names_in_.tolist() == ["a", "b", "c"]


def decorate(codes, names, marker):
    return [marker if code < 0 else names[code] for code in codes.tolist()]


WORDS = ["no", "yes"]
LABELS = {
    "int": (lambda y: y, [0, 1]),
    "int8": (lambda y: y.astype(np.int8), [0, 1]),
    "list-of-int": (lambda y: y.tolist(), [0, 1]),
    "list-with-None": (lambda y: decorate(y, [0, 1], None), [0, 1]),
    "float-with-minus-one": (lambda y: y.astype(float), [0.0, 1.0]),
    "float-with-nan": (lambda y: np.where(y < 0, np.nan, y), [0.0, 1.0]),
    "float32-with-nan": (lambda y: np.where(y < 0, np.nan, y).astype(np.float32), [0.0, 1.0]),
    "other-integers": (lambda y: np.array(decorate(y, [3, 7], -1)), [3, 7]),
    "negative-integers": (lambda y: np.array(decorate(y, [-7, 5], -1)), [-7, 5]),
    "strings": (lambda y: np.array(decorate(y, WORDS, "")), WORDS),
    "list-of-strings": (lambda y: decorate(y, WORDS, None), WORDS),
    "objects-with-None": (lambda y: np.array(decorate(y, WORDS, None), dtype=object), WORDS),
    "objects-with-nan": (lambda y: np.array(decorate(y, WORDS, np.nan), dtype=object), WORDS),
    "objects-with-minus-one": (lambda y: np.array(decorate(y, WORDS, -1), dtype=object), WORDS),
    "bool-with-None": (lambda y: decorate(y, [False, True], None), [False, True]),
    "pandas-int": (pd.Series, [0, 1]),
    "pandas-Int64": (lambda y: pd.Series(decorate(y, [0, 1], pd.NA), dtype="Int64"), [0, 1]),
    "pandas-boolean": (
        lambda y: pd.Series(decorate(y, [False, True], pd.NA), dtype="boolean"),
        [False, True],
    ),
    "pandas-string": (lambda y: pd.Series(decorate(y, WORDS, pd.NA), dtype="string"), WORDS),
    "pandas-object": (lambda y: pd.Series(decorate(y, WORDS, None), dtype=object), WORDS),
    "pandas-category": (lambda y: pd.Series(decorate(y, WORDS, None), dtype="category"), WORDS),
    "pandas-category-of-int": (
        lambda y: pd.Series(decorate(y, [3, 7], None), dtype="category"),
        [3, 7],
    ),
    "polars-int": (lambda y: pl.Series(decorate(y, [0, 1], None)), [0, 1]),
    "polars-string": (lambda y: pl.Series(decorate(y, WORDS, None)), WORDS),
}


@pytest.mark.parametrize(
    "name",
    ["harmonic", "auto", "rbf", "manifold", "gradient", "supervised", "supervised-auto"],
)
@pytest.mark.parametrize(("convert", "classes"), LABELS.values(), ids=LABELS.keys())
def test_marker_and_type_of_the_labels_do_not_matter(name, convert, classes):
    X, _, y = blobs()
    expected = clone(FITTED[name]).fit(X, y)
    fitted = clone(FITTED[name]).fit(X, convert(y))
    assert fitted.classes_.tolist() == classes
    translated = np.array(classes)[expected.transduction_]
    assert fitted.transduction_.tolist() == translated.tolist()
    assert fitted.predict(X).tolist() == np.array(classes)[expected.predict(X)].tolist()
    np.testing.assert_array_equal(fitted.confidence_, expected.confidence_)
    np.testing.assert_array_equal(fitted.predict_proba(X), expected.predict_proba(X))


@every_model
def test_boolean_labels_without_a_marker_are_all_given(model):
    X, truth, _ = blobs()
    fitted = clone(model).fit(X, truth == 1)
    assert fitted.classes_.dtype == bool
    np.testing.assert_array_equal(fitted.transduction_, truth == 1)


@every_model
def test_order_of_string_classes_is_the_order_of_the_columns(model):
    X, truth, y = blobs(n_classes=3)
    names = ["zebra", "ant", "monkey"]
    fitted = clone(model).fit(X, decorate(y, names, None))
    assert fitted.classes_.tolist() == ["ant", "monkey", "zebra"]
    columns = fitted.predict_proba(X).argmax(axis=1)
    np.testing.assert_array_equal(fitted.classes_[columns], fitted.predict(X))
    assert np.mean(fitted.predict(X) == np.array(names)[truth]) > 0.8
