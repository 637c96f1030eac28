"""Searches over grids, tested on hidden labels, against loops over fixed classifiers."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from graphmargin import (
    HarmonicClassifier,
    HarmonicClassifierCV,
    LabeledKFold,
    LabeledLeaveOneOut,
    ManifoldSVC,
    ManifoldSVCCV,
    MaxMarginGraphCut,
    MaxMarginGraphCutCV,
    SemiSupervisedSVC,
    SemiSupervisedSVCCV,
    knn_graph,
)
from graphmargin.datasets import make_lattices
from graphmargin.estimators import base
from graphmargin.margin import Kernel
from graphmargin.selection.choice import error_of

SEARCHES = {
    "cut": MaxMarginGraphCutCV({"gamma_g": [0.1, np.inf], "C": [1.0]}),
    "harmonic": HarmonicClassifierCV({"gamma_g": [0.01, 1.0]}),
    "manifold": ManifoldSVCCV({"gamma_u": [0.0, 0.01], "C": [1.0]}),
    "semi-supervised": SemiSupervisedSVCCV({"gamma_u": [0.0, 0.05], "C": [1.0]}),
}
every_search = pytest.mark.parametrize("search", SEARCHES.values(), ids=SEARCHES.keys())
WITH_GRAPH = ["cut", "manifold"]
MACHINES = ["cut", "manifold", "semi-supervised"]


def blobs(seed=0, n=48, n_classes=2, distance=2.0, per_class=6):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + distance * np.eye(3)[truth]
    return X, truth, np.where(np.arange(n) < per_class * n_classes, truth, -1)


def fixed(search, candidate):
    """Return the classifier with the parameters of a candidate."""
    return clone(search._plain()).set_params(**candidate)


def answers(model, X, rows):
    """Return the labels of training rows without a label, as a trial takes them."""
    if isinstance(model, HarmonicClassifier):
        return model.transduction_[rows]
    return model.predict(X[rows])


def scores_by_hand(search, X, y, folds, **fit):
    """Return an accuracy for every candidate and fold, by one fit for each."""
    labels = np.asarray(y)
    return np.array(
        [
            [
                np.mean(
                    answers(fixed(search, candidate).fit(X, left, **fit), X, rows) == labels[rows]
                )
                for left, rows in folds
            ]
            for candidate in search.cv_results_["params"]
        ]
    )


def fold_scores(search):
    table = search.cv_results_
    names = [name for name in table if name.startswith("split")]
    return np.column_stack([table[name] for name in names])


def hiding(y, tests):
    """Return the labels that are left without those of the test rows, and these rows."""
    folds = []
    for test in tests:
        rows = test[y[test] >= 0]
        left = y.copy()
        left[rows] = -1
        folds.append((left, rows))
    return folds


def assert_same_predictions(one, other, X):
    np.testing.assert_array_equal(one.predict(X), other.predict(X))
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), atol=1e-9)
    np.testing.assert_array_equal(one.transduction_, other.transduction_)


# What scikit-learn asks


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
        clone(SEARCHES["cut"]).set_params(cv=2),
        clone(SEARCHES["harmonic"]).set_params(cv=2),
        clone(SEARCHES["manifold"]).set_params(cv=2, estimator=ManifoldSVC(kernel="linear")),
        SemiSupervisedSVCCV(
            {"gamma_u": [0.0, 0.01]}, estimator=SemiSupervisedSVC(kernel="linear", C=1.0), cv=2
        ),
    ],
    expected_failed_checks=no_class_minus_one,
)
def test_check_of_scikit_learn(estimator, check):
    check(estimator)


@every_search
def test_clone_and_pickle_keep_grid_and_result(search):
    X, _, y = blobs()
    fitted = clone(search).fit(X, y)
    copy = clone(fitted)
    assert copy.param_grid == search.param_grid
    with pytest.raises(NotFittedError):
        copy.predict(X)
    restored = pickle.loads(pickle.dumps(fitted))
    assert_same_predictions(restored, fitted, X)
    assert restored.best_params_ == fitted.best_params_
    assert_same_predictions(copy.fit(X, y), fitted, X)


@every_search
def test_search_works_in_a_pipeline_and_in_cross_validation(search):
    X, truth, y = blobs()
    pipeline = make_pipeline(StandardScaler(), clone(search)).fit(X, y)
    by_hand = clone(search).fit(StandardScaler().fit_transform(X), y)
    np.testing.assert_array_equal(pipeline[-1].transduction_, by_hand.transduction_)
    assert cross_val_score(search, X, truth, cv=2).mean() > 0.8


@every_search
def test_parameters_of_the_estimator_have_names(search):
    model = clone(search).set_params(estimator=search.classifier())
    model.set_params(estimator__verbose=3)
    assert model.estimator.verbose == 3
    assert "estimator__random_state" in model.get_params()


# Labels to test on


@every_search
@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_an_integer_are_those_of_a_loop_that_hides_labels(search, n_classes):
    X, _, y = blobs(n_classes=n_classes, distance=1.0)
    search = clone(search).set_params(cv=3).fit(X, y)
    folds = list(LabeledKFold(3, random_state=0).hide(y))
    expected = scores_by_hand(search, X, y, folds)
    np.testing.assert_allclose(fold_scores(search), expected)
    assert len(np.unique(fold_scores(search))) > 1, "some answers are wrong"
    sizes = [len(rows) for _, rows in folds]
    np.testing.assert_allclose(
        search.cv_results_["mean_test_score"], np.average(expected, axis=1, weights=sizes)
    )


@every_search
def test_leaving_one_label_out(search):
    X, _, y = blobs(per_class=3, distance=1.5, n=30)
    search = clone(search).set_params(estimator=search.classifier())
    if hasattr(search.estimator, "class_mass_normalization"):
        search.set_params(estimator__class_mass_normalization=False)
    by_word = clone(search).set_params(cv="loo").fit(X, y)
    by_splitter = clone(search).set_params(cv=LabeledLeaveOneOut()).fit(X, y)
    expected = scores_by_hand(by_word, X, y, list(LabeledLeaveOneOut().hide(y)))
    assert fold_scores(by_word).shape == (2, 6)
    np.testing.assert_array_equal(fold_scores(by_word), expected)
    np.testing.assert_array_equal(fold_scores(by_splitter), expected)
    assert_same_predictions(by_word, by_splitter, X)


@every_search
@pytest.mark.parametrize(
    "cv",
    [LabeledKFold(2, random_state=3), KFold(3, shuffle=True, random_state=1), StratifiedKFold(2)],
    ids=str,
)
def test_labels_of_the_test_rows_of_a_splitter_are_hidden(search, cv):
    """Of its unlabeled test rows there is nothing to hide."""
    X, _, y = blobs(distance=1.5)
    order = np.random.default_rng(5).permutation(len(X))
    X, y = X[order], y[order]
    found = clone(search).set_params(cv=cv).fit(X, y)
    tests = [test for _, test in cv.split(X, y)]
    np.testing.assert_allclose(
        fold_scores(found), scores_by_hand(found, X, y, hiding(y, tests)), atol=1e-12
    )


@pytest.mark.parametrize("name", ["cut", "harmonic", "manifold"])
def test_folds_may_be_lists_of_numbers_or_masks(name):
    X, _, y = blobs(distance=1.5)
    cv = LabeledKFold(3, random_state=3)
    expected = clone(SEARCHES[name]).set_params(cv=cv).fit(X, y)
    masks = [(train, np.isin(np.arange(len(y)), test)) for train, test in cv.split(X, y)]
    for folds in (list(cv.split(X, y)), masks, cv.split(X, y)):
        found = SEARCHES[name].__class__(SEARCHES[name].param_grid, cv=folds).fit(X, y)
        np.testing.assert_array_equal(fold_scores(found), fold_scores(expected))
        assert_same_predictions(found, expected, X)


@every_search
def test_fold_without_labels_has_no_score(search):
    X, _, y = blobs()
    found = clone(search).set_params(cv=[([], [0, 1]), ([], [40, 41]), ([], [2, 3])]).fit(X, y)
    names = [name for name in found.cv_results_ if name.startswith("split")]
    assert names == ["split0_test_score", "split2_test_score"]


@every_search
def test_default_is_ten_folds_for_few_labels_and_five_for_many(search):
    X, _, y = blobs()
    assert fold_scores(clone(search).fit(X, y)).shape == (2, 10)
    X, _, y = blobs(per_class=11)
    few = clone(search).fit(X, y)
    assert fold_scores(few).shape == (2, 5)
    np.testing.assert_array_equal(
        fold_scores(few), fold_scores(clone(search).set_params(cv=5).fit(X, y))
    )


@every_search
@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_scores_are_those_of_fixed_classifiers(search, n_classes):
    X, _, y = blobs(n_classes=n_classes, per_class=4)
    new, classes, _ = blobs(seed=1, n_classes=n_classes, distance=1.5)
    search = clone(search).set_params(cv=(new, classes)).fit(X, y)
    assert fold_scores(search).shape == (2, 1)
    for candidate, score in zip(
        search.cv_results_["params"], search.cv_results_["split0_test_score"], strict=True
    ):
        assert score == pytest.approx(fixed(search, candidate).fit(X, y).score(new, classes))
        assert 0.4 < score < 1.0


@every_search
def test_validation_takes_words_tables_and_sparse_rows(search):
    X, _, y = blobs()
    new, classes, _ = blobs(seed=1, distance=1.5)
    expected = clone(search).set_params(cv=(new, classes)).fit(X, y)
    words = np.array(["ant", "bee"])
    labels = np.where(y < 0, "", words[y])
    for validation in (
        (new, words[classes]),
        (new.tolist(), words[classes].tolist()),
        (sparse.csr_array(new), pd.Series(words[classes])),
        (new, pd.Series(words[classes], dtype="category")),
    ):
        found = clone(search).set_params(cv=validation).fit(X, labels)
        np.testing.assert_allclose(fold_scores(found), fold_scores(expected))
        np.testing.assert_array_equal(found.transduction_, words[expected.transduction_])


@every_search
def test_validation_of_one_class_is_fine(search):
    X, _, y = blobs()
    new, classes, _ = blobs(seed=1, distance=1.5)
    found = clone(search).set_params(cv=(new[classes == 1], classes[classes == 1])).fit(X, y)
    for candidate, score in zip(found.cv_results_["params"], fold_scores(found), strict=True):
        share = np.mean(fixed(found, candidate).fit(X, y).predict(new[classes == 1]) == 1)
        assert score[0] == pytest.approx(share)


def test_folds_are_the_same_for_all_graphs():
    """A splitter that shuffles anew, and one that can be read once."""
    X, _, y = blobs(distance=1.5)
    grid = {"gamma_g": [0.1], "n_neighbors": [5, 5, 5, 5], "c_labeled": [np.inf, 3.0]}
    for cv in (LabeledKFold(3), LabeledKFold(3).split(X, y), KFold(3, shuffle=True)):
        table = HarmonicClassifierCV(grid, cv=cv).fit(X, y).cv_results_
        scores = table["mean_test_score"].reshape(4, 2)
        np.testing.assert_array_equal(scores, scores[:1].repeat(4, axis=0))


def test_one_label_a_class_leaves_the_default_nothing_to_hide():
    X, _, y = blobs(per_class=1, distance=4.0)
    search = HarmonicClassifierCV({"gamma_g": [0.01, 1.0]}).fit(X, y)
    assert np.isnan(search.cv_results_["mean_test_score"]).all()
    assert np.isnan(search.choice_.error)
    with pytest.raises(ValueError, match="`y` has one label in each class"):
        search.set_params(cv=3).fit(X, y)


# What is refused


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "`cv` must be an integer >= 2, got 1"),
        (np.int64(0), "`cv` must be an integer >= 2, got"),
        (100, "must be at most 12, the number of labels"),
        (True, "`cv` must be an integer, 'loo', a splitter.*got True"),
        (2.5, "`cv` must be an integer, 'loo', a splitter.*got 2.5"),
        ("leave-one-out", "`cv` must be an integer, 'loo', a splitter.*got 'leave-one-out'"),
        (LogisticRegression(), "`cv` must be an integer, 'loo', a splitter"),
        ([], "`cv` hides no label in its 0 folds"),
        ([([], [40, 41])], "`cv` hides no label in its 1 folds"),
        ([1, 2], r"`cv` must yield \(train, test\) with the numbers of rows of X, got 1"),
        ([([], [48])], r"`cv` must yield \(train, test\) with the numbers of rows of X"),
        ([([], [0.5])], r"`cv` must yield \(train, test\) with the numbers of rows of X"),
        ([([], np.arange(0, 12, 2))], "`cv` hides all labels of class 0 in a fold; use an integer"),
    ],
    ids=str,
)
@every_search
def test_bad_cv_is_refused(search, cv, message):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=message):
        clone(search).set_params(cv=cv).fit(X, y)


@pytest.mark.parametrize(
    ("y_val", "message"),
    [
        ([0, 1, 7], r"`cv` has the label 7 in y_val, but y has \[0, 1\]"),
        ([0, -1, 1], "`cv` has the label -1 in y_val.*must be labeled"),
        ([0, None, 1], "`cv` has the label None in y_val.*must be labeled"),
        ([0, np.nan, 1], "`cv` has the label nan in y_val.*must be labeled"),
        (["a", "b", "a"], "`cv` has the label 'a' in y_val"),
        ([0, 1], "`cv` has 3 rows in X_val and 2 labels in y_val"),
    ],
    ids=str,
)
@every_search
def test_bad_validation_labels_are_refused(search, y_val, message):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=message):
        clone(search).set_params(cv=(X[:3], y_val)).fit(X, y)


@every_search
def test_validation_rows_have_the_features_of_the_others(search):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=r"X has 2 features, but .* is expecting 3"):
        clone(search).set_params(cv=(X[:3, :2], [0, 1, 0])).fit(X, y)


def test_hidden_class_is_named_as_the_user_names_it():
    X, truth, y = blobs()
    labels = np.where(y < 0, "", np.array(["ant", "bee"])[truth])
    with pytest.raises(ValueError, match="`cv` hides all labels of class 'bee' in a fold"):
        HarmonicClassifierCV(cv=[([], np.arange(1, 12, 2))]).fit(X, labels)


@pytest.mark.parametrize(
    ("grid", "error", "message"),
    [
        ({"n_neighbors": []}, ValueError, r"`param_grid`\['n_neighbors'\] must be a list of value"),
        ({"width": "paper"}, ValueError, r"`param_grid`\['width'\] must be a list.*got 'paper'"),
        ({"width": 1.0}, ValueError, r"`param_grid`\['width'\] must be a list of values, got 1.0"),
        ({"colour": [1]}, ValueError, "`param_grid` has no use for 'colour'; choose from .*width"),
        ([{"width": [1.0]}], TypeError, "`param_grid` must be a dict from parameter to values"),
        ({"width": [-1.0]}, ValueError, "`width` must be"),
    ],
    ids=str,
)
@every_search
def test_bad_grid_is_refused(search, grid, error, message):
    X, _, y = blobs()
    if "n_neighbors" in grid and "n_neighbors" not in search.classifier().get_params():
        message = "`param_grid` has no use for 'n_neighbors'"
    with pytest.raises(error, match=message):
        clone(search).set_params(param_grid=grid).fit(X, y)


@pytest.mark.parametrize(
    ("name", "grid", "message"),
    [
        ("cut", {"gamma_g": [0.1, -1.0]}, "`gamma_g` must be >= 0, got -1.0"),
        ("cut", {"gamma_g": ["auto"]}, "`gamma_g` must be >= 0, got 'auto'"),
        ("cut", {"C": [1.0, 0.0]}, "`C` must be > 0, got 0.0"),
        ("cut", {"C": [np.inf]}, "`C` must be finite"),
        ("cut", {"class_mass_normalization": [[1.0, -1.0]]}, "`class_mass_normalization` must hol"),
        ("cut", {"eps": [2.0]}, "`eps` must be below 1"),
        ("cut", {"kernel": ["rbf", "sigmoid"]}, "`kernel` must be"),
        ("cut", {"loss_weights": ["none"]}, "`loss_weights` must be one of"),
        ("harmonic", {"gamma_g": [np.nan]}, "`gamma_g` must be >= 0, got nan"),
        ("harmonic", {"solver": ["lu"]}, "`solver` must be one of"),
        ("harmonic", {"n_neighbors": [0]}, "`n_neighbors` must be"),
        ("harmonic", {"affinity": ["cosine"]}, "`affinity` must be one of"),
        ("harmonic", {"c_labeled": [-1.0]}, "`c_labeled` must be >= 0"),
        ("manifold", {"gamma_u": [-1]}, "`gamma_u` must be >= 0, got -1"),
        ("manifold", {"gamma_u": ["auto"]}, "`gamma_u` must be >= 0, got 'auto'"),
        ("manifold", {"C": [-3]}, "`C` must be > 0, got -3"),
        ("manifold", {"laplacian_power": [0]}, "`laplacian_power` must be"),
        ("semi-supervised", {"gamma_u": [np.inf]}, "`gamma_u` must be finite"),
        ("semi-supervised", {"C": [0]}, "`C` must be > 0, got 0"),
        ("semi-supervised", {"solver": ["newton"]}, "`solver` must be one of"),
        ("semi-supervised", {"class_prior": [[1.0]]}, "`class_prior` must hold 2 positive"),
    ],
    ids=str,
)
def test_bad_values_in_a_grid_are_refused(name, grid, message):
    X, _, y = blobs()
    with pytest.raises(ValueError, match=message):
        type(SEARCHES[name])(grid).fit(X, y)


@every_search
@pytest.mark.parametrize("estimator", [LogisticRegression(), "auto", SemiSupervisedSVC])
def test_other_estimators_are_refused(search, estimator):
    X, _, y = blobs()
    with pytest.raises(TypeError, match=f"`estimator` must be a {search.classifier.__name__}, got"):
        clone(search).set_params(estimator=estimator).fit(X, y)


def test_graph_that_has_no_use_is_refused():
    X, _, y = blobs()
    W = knn_graph(X)
    with pytest.raises(ValueError, match="`W` must be None: the graph is passed as X"):
        clone(SEARCHES["harmonic"]).fit(X, y, W=W)
    with pytest.raises(ValueError, match="`W` must be None: a semi-supervised SVM has no graph"):
        clone(SEARCHES["semi-supervised"]).fit(X, y, W=W)
    for name in WITH_GRAPH:
        with pytest.raises(
            ValueError, match="`W` must be given exactly for affinity='precomputed'"
        ):
            clone(SEARCHES[name]).fit(X, y, W=W)


@every_search
def test_fit_that_fails_is_no_fit(search):
    X, _, y = blobs()
    model = clone(search).fit(pd.DataFrame(X, columns=list("abc")), y)
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    with pytest.raises(ValueError, match="`cv` must be"):
        model.set_params(cv="never").fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
    model.set_params(cv=None).fit(X, y)
    assert not hasattr(model, "feature_names_in_")
    assert vars(model).keys() == vars(clone(search).fit(X, y)).keys()


# The grid


def test_parameters_of_graph_and_kernel_are_in_the_best_estimator():
    X, _, y = blobs(distance=1.5)
    grid = {
        "gamma_g": [0.1, 1.0],
        "C": [1.0],
        "kernel": ["linear", "rbf"],
        "n_neighbors": [4, 6],
        "width": [1.0, "paper"],
    }
    search = MaxMarginGraphCutCV(grid, cv=3).fit(X, y)
    table, best = search.cv_results_, search.best_params_
    assert len(table["params"]) == 16
    groups = np.array([[p[n] for n in ("kernel", "n_neighbors", "width")] for p in table["params"]])
    assert len(np.unique(groups, axis=0)) == 8
    for name in ("kernel", "n_neighbors", "width"):
        assert getattr(search.best_estimator_, name) == best[name]
        assert table[f"param_{name}"].tolist() == [params[name] for params in table["params"]]
    np.testing.assert_array_equal(
        search.best_estimator_.graph_.toarray(),
        knn_graph(X, best["n_neighbors"], width=best["width"]).toarray(),
    )
    expected = scores_by_hand(search, X, y, list(LabeledKFold(3, random_state=0).hide(y)))
    np.testing.assert_allclose(fold_scores(search), expected)


@pytest.mark.parametrize("seed", range(4))
def test_blend_is_of_the_group_with_the_largest_weight(seed):
    X, _, y = blobs(seed=seed, distance=1.0)
    grid = {"gamma_g": [0.01, 1.0, 100.0], "n_neighbors": [3, 5, 8]}
    search = HarmonicClassifierCV(grid, cv=3).fit(X, y)
    table = search.cv_results_
    of_group = {
        k: table["weight"][table["param_n_neighbors"] == k].sum() for k in grid["n_neighbors"]
    }
    best = max(of_group, key=of_group.get)
    assert search.best_estimator_.n_neighbors == search.best_params_["n_neighbors"] == best
    mine = np.flatnonzero(table["param_n_neighbors"] == best)
    assert search.best_params_ == table["params"][mine[table["weight"][mine].argmax()]]
    np.testing.assert_allclose(
        search.best_estimator_.choice_.weights, table["weight"][mine] / of_group[best]
    )
    alone = HarmonicClassifierCV(
        {"gamma_g": grid["gamma_g"]}, estimator=HarmonicClassifier(n_neighbors=best), cv=3
    ).fit(X, y)
    np.testing.assert_array_equal(
        alone.cv_results_["log_likelihood"], table["log_likelihood"][mine]
    )


@pytest.mark.parametrize("name", ["cut", "harmonic", "manifold"])
def test_every_graph_is_built_once(monkeypatch, name):
    X, _, y = blobs()
    built = []

    def count(X, n_neighbors, **options):
        built.append((n_neighbors, options["width"], options["metric"]))
        return real(X, n_neighbors, **options)

    real = base.neighbor_graph
    monkeypatch.setattr(base, "neighbor_graph", count)
    other = {"cut": "loss_weights", "harmonic": "c_unlabeled", "manifold": "kernel"}[name]
    values = {"cut": ["confidence", "equal"], "harmonic": [0.0, 0.1], "manifold": ["linear", "rbf"]}
    grid = {
        "n_neighbors": [4, 6],
        "width": ["paper", 2.0],
        "metric": ["euclidean", "cosine"],
        other: values[name],
    }
    search = clone(SEARCHES[name])
    search.set_params(param_grid={**search.param_grid, **grid}, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 32
    assert sorted(built, key=str) == sorted(
        [(k, w, m) for k in (4, 6) for w in ("paper", 2.0) for m in ("euclidean", "cosine")],
        key=str,
    )
    assert not hasattr(search.best_estimator_, "_known_graphs")


@pytest.mark.parametrize("name", ["cut", "manifold", "semi-supervised"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_candidate_is_the_fixed_classifier_up_to_a_factor(name, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    new = X + 0.1
    candidate = {"C": 1.0, **({"gamma_g": 0.1} if name == "cut" else {"gamma_u": 0.01})}
    search = type(SEARCHES[name])({key: [value] for key, value in candidate.items()}).fit(X, y)
    model = fixed(search, search.cv_results_["params"][0]).fit(X, y)
    f, expected = (one.machine_.pairwise(new) for one in (search.best_estimator_, model))
    factor = (f * expected).sum() / (expected**2).sum()
    assert factor > 0
    np.testing.assert_allclose(f, factor * expected, atol=4e-3 * factor)
    np.testing.assert_array_equal(search.predict(new), model.predict(new))
    assert search.choice_.weights.tolist() == [1.0]
    assert search.best_params_["C"] == 1.0


@pytest.mark.parametrize("normalization", [False, True, [3.0, 1.0]], ids=str)
def test_one_candidate_is_the_fixed_harmonic_solution(normalization):
    X, _, y = blobs(distance=1.0)
    new = X + 0.1
    grid = {"gamma_g": [0.3], "class_mass_normalization": [normalization]}
    search = HarmonicClassifierCV(grid).fit(X, y)
    model = HarmonicClassifier(gamma_g=0.3, class_mass_normalization=normalization).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(new), model.predict_proba(new), atol=1e-6)
    np.testing.assert_allclose(search.label_distributions_, model.label_distributions_, atol=1e-6)
    np.testing.assert_array_equal(search.predict(new), model.predict(new))
    np.testing.assert_array_equal(search.transduction_, model.transduction_)


def test_harmonic_solution_with_an_infinite_gamma_g_has_no_answer():
    X, _, y = blobs()
    search = HarmonicClassifierCV({"gamma_g": [np.inf, 0.1, 0.0]}).fit(X, y)
    assert search.cv_results_["weight"][0] == 0
    assert np.isfinite(search.predict_proba(X)).all()
    assert search.gamma_g_path_["gamma_g"].tolist() == [0.0, 0.1, np.inf]


def test_without_a_grid_the_values_of_auto_are_tried():
    X, _, y = blobs(n=30, per_class=4)
    cut = MaxMarginGraphCutCV().fit(X, y)
    assert_same_predictions(cut, MaxMarginGraphCut().fit(X, y), X)
    harmonic = HarmonicClassifierCV().fit(X, y)
    assert_same_predictions(harmonic, HarmonicClassifier(gamma_g="auto").fit(X, y), X)
    auto = {"gamma_u": "auto", "C": "auto"}
    assert_same_predictions(ManifoldSVCCV().fit(X, y), ManifoldSVC(**auto).fit(X, y), X)
    X, _, y = blobs(n=20, per_class=2)
    hat = SemiSupervisedSVCCV().fit(X, y)
    assert_same_predictions(hat, SemiSupervisedSVC(**auto).fit(X, y), X)
    assert [len(s.cv_results_["weight"]) for s in (cut, harmonic, hat)] == [15, 4, 12]


def test_without_a_grid_the_estimator_keeps_its_other_parameters():
    X, _, y = blobs()
    search = ManifoldSVCCV(estimator=ManifoldSVC(kernel="linear", n_neighbors=4)).fit(X, y)
    expected = ManifoldSVC(kernel="linear", n_neighbors=4, gamma_u="auto", C="auto").fit(X, y)
    assert_same_predictions(search, expected, X)
    search = ManifoldSVCCV(estimator=ManifoldSVC(C="auto", gamma_u=0.02)).fit(X, y)
    assert set(search.cv_results_["param_gamma_u"]) == {0.02}
    assert len(search.cv_results_["params"]) == 3
    search = MaxMarginGraphCutCV(estimator=MaxMarginGraphCut(C=3.0)).fit(X, y)
    assert set(search.cv_results_["param_C"]) == {3.0}
    assert len(set(search.cv_results_["param_gamma_g"])) == 5


def test_parameters_that_are_not_in_the_grid_are_those_of_the_estimator():
    X, _, y = blobs()
    search = ManifoldSVCCV({"gamma_u": [0.1, 0.0]}, estimator=ManifoldSVC(C=3.0)).fit(X, y)
    assert set(search.cv_results_["param_C"]) == {3.0}
    cut = MaxMarginGraphCutCV({"gamma_g": [0.1]}).fit(X, y)
    assert len(cut.cv_results_["param_C"]) == 3, 'the default of C is "auto"'


def test_values_may_be_arrays_tuples_and_generators():
    X, _, y = blobs()
    expected = HarmonicClassifierCV({"gamma_g": [0.1, 1.0]}).fit(X, y)
    for values in (np.array([0.1, 1.0]), (0.1, 1.0), (g for g in (0.1, 1.0))):
        found = HarmonicClassifierCV({"gamma_g": values}).fit(X, y)
        assert_same_predictions(found, expected, X)


def test_normalization_can_be_searched_over():
    X, _, y = blobs(distance=1.0, per_class=3)
    grid = {"gamma_g": [0.1, np.inf], "C": [1.0], "class_mass_normalization": [False, True, [3, 1]]}
    search = MaxMarginGraphCutCV(grid, cv=3).fit(X, y)
    params = search.cv_results_["params"]
    found = [params_["class_mass_normalization"] for params_ in params]
    assert found == [False, (3.0, 3.0), (3.0, 1.0), False], "none at an infinite gamma_g"
    expected = scores_by_hand(search, X, y, list(LabeledKFold(3, random_state=0).hide(y)))
    np.testing.assert_allclose(fold_scores(search), expected)


# What a search says


@every_search
@pytest.mark.parametrize("n_classes", [2, 3])
def test_results_have_a_row_for_each_candidate(search, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    search = clone(search).fit(X, y)
    table = search.cv_results_
    assert {len(column) for column in table.values()} == {2}
    assert table["weight"].sum() == pytest.approx(1.0)
    assert (table["weight"] >= 0).all()
    assert sorted(table["rank_test_score"]) == [1, 2]
    first = int(np.flatnonzero(table["rank_test_score"] == 1)[0])
    assert table["weight"][first] == table["weight"].max()
    assert search.best_params_ == table["params"][first]
    assert search.choice_.error == pytest.approx(
        error_of(search.choice_.scores, search.choice_.trials.given)
    )


@every_search
def test_methods_and_attributes_are_those_of_the_best_estimator(search):
    X, truth, y = blobs()
    search = clone(search).fit(X, y)
    best = search.best_estimator_
    assert isinstance(best, search.classifier)
    assert_same_predictions(search, best, X)
    assert search.score(X, truth) == best.score(X, truth)
    for name in ("classes_", "confidence_", "label_distributions_"):
        np.testing.assert_array_equal(getattr(search, name), getattr(best, name))
    np.testing.assert_array_equal(search.transduction_[y >= 0], y[y >= 0])
    if hasattr(best, "decision_function"):
        np.testing.assert_array_equal(search.decision_function(X), best.decision_function(X))


def test_decision_function_is_there_for_machines_only():
    assert not hasattr(HarmonicClassifierCV(), "decision_function")
    for name in MACHINES:
        assert hasattr(SEARCHES[name], "decision_function")
        with pytest.raises(NotFittedError):
            SEARCHES[name].decision_function(np.ones((2, 3)))


@pytest.mark.parametrize("name", ["cut", "harmonic"])
def test_graph_report_and_path_of_gamma_g(name):
    X, _, y = blobs()
    search = clone(SEARCHES[name])
    search.set_params(param_grid={**search.param_grid, "n_neighbors": [4, 6]})
    assert hasattr(search, "graph_report")
    assert not hasattr(search, "gamma_g_path_")
    with pytest.raises(NotFittedError):
        search.graph_report()
    search.fit(X, y)
    assert str(search.graph_report()) == str(search.best_estimator_.graph_report())
    path = search.gamma_g_path_
    assert path["gamma_g"].tolist() == sorted(search.param_grid["gamma_g"])
    assert {len(column) for column in path.values()} == {2}
    assert {"confidence", "leave_one_out_score", "fold_score", "weight"} <= path.keys()
    assert path["weight"].sum() == pytest.approx(1.0)
    best = search.best_params_["n_neighbors"]
    for i, gamma_g in enumerate(path["gamma_g"]):
        mine = (search.cv_results_["param_n_neighbors"] == best) & (
            search.cv_results_["param_gamma_g"] == gamma_g
        )
        assert path["fold_score"][i] in search.cv_results_["mean_test_score"][mine]


@pytest.mark.parametrize("name", ["manifold", "semi-supervised"])
def test_no_report_and_no_path_without_a_harmonic_solution(name):
    X, _, y = blobs()
    search = clone(SEARCHES[name]).fit(X, y)
    assert not hasattr(search, "graph_report")
    assert not hasattr(search, "gamma_g_path_")


# Other input


@pytest.mark.parametrize("name", WITH_GRAPH)
def test_graph_is_passed_on(name):
    X, _, y = blobs()
    W = knn_graph(X, 4)
    search = clone(SEARCHES[name])
    search.set_params(estimator=search.classifier(affinity="precomputed"), cv=3).fit(X, y, W=W)
    np.testing.assert_array_equal(search.best_estimator_.graph_.toarray(), W.toarray())
    built = clone(SEARCHES[name]).set_params(estimator=search.classifier(n_neighbors=4), cv=3)
    built.fit(X, y)
    np.testing.assert_allclose(fold_scores(search), fold_scores(built))
    np.testing.assert_array_equal(search.predict(X), built.predict(X))


def test_graph_in_place_of_rows():
    X, _, y = blobs()
    W = knn_graph(X, 4)
    new = W.toarray()[::2]
    search = HarmonicClassifierCV(
        {"gamma_g": [0.01, 1.0]}, estimator=HarmonicClassifier(affinity="precomputed"), cv=3
    ).fit(W, y)
    expected = HarmonicClassifierCV(
        {"gamma_g": [0.01, 1.0]}, estimator=HarmonicClassifier(n_neighbors=4), cv=3
    ).fit(X, y)
    np.testing.assert_allclose(fold_scores(search), fold_scores(expected))
    np.testing.assert_allclose(search.label_distributions_, expected.label_distributions_)
    assert search.__sklearn_tags__().input_tags.pairwise
    truth = np.arange(48)[::2] % 2
    validated = clone(search).set_params(cv=(new, truth)).fit(W, y)
    for candidate, score in zip(
        validated.cv_results_["params"], fold_scores(validated), strict=True
    ):
        assert score[0] == fixed(validated, candidate).fit(W, y).score(new, truth)


@pytest.mark.parametrize("name", MACHINES)
def test_kernel_matrix_is_passed_on(name):
    X, truth, y = blobs(distance=1.0)
    K = Kernel("rbf", width=2.0)(X, X)
    graph = {"affinity": "precomputed"} if name in WITH_GRAPH else {}
    fit = {"W": knn_graph(X)} if graph else {}
    results = []
    for kernel, rows, new in (("precomputed", K, K[::2]), ("rbf", X, X[::2])):
        search = clone(SEARCHES[name])
        estimator = search.classifier(kernel=kernel, width=2.0, **graph)
        for cv in (3, (new, truth[::2])):
            search.set_params(estimator=estimator, cv=cv).fit(rows, y, **fit)
            results.append((fold_scores(search), search.predict(rows)))
        assert search.__sklearn_tags__().input_tags.pairwise == (kernel == "precomputed")
    for one, other in zip(results[:2], results[2:], strict=True):
        np.testing.assert_array_equal(one[0], other[0])
        np.testing.assert_array_equal(one[1], other[1])


@every_search
def test_words_and_sparse_rows_are_the_same_problem(search):
    X, _, y = blobs()
    words = np.array(["ant", "bee"])
    expected = clone(search).set_params(cv=3).fit(X, y)
    found = clone(search).set_params(cv=3)
    found.fit(sparse.csr_array(X), [None if code < 0 else words[code] for code in y])
    assert found.classes_.tolist() == ["ant", "bee"]
    np.testing.assert_allclose(fold_scores(found), fold_scores(expected))
    np.testing.assert_array_equal(found.transduction_, words[expected.transduction_])
    np.testing.assert_array_equal(found.predict(sparse.csr_array(X)), words[expected.predict(X)])


@pytest.mark.parametrize(
    "seed", [0, np.int64(0), np.random.RandomState(3)], ids=lambda seed: type(seed).__name__
)
@every_search
def test_seed_may_be_a_number_or_a_state(search, seed):
    X, _, y = blobs(distance=1.5)
    model = clone(search).set_params(estimator=search.classifier(random_state=seed), cv=3)
    model.fit(X, y)
    assert fold_scores(model).shape == (2, 3)
    if isinstance(seed, int):
        assert_same_predictions(model, clone(search).set_params(cv=3).fit(X, y), X)


def test_lattices_are_solved_with_validation_rows():
    X, y, y_true, W = make_lattices()
    search = MaxMarginGraphCutCV(
        {"gamma_g": [0.01, np.inf], "C": [10.0], "class_mass_normalization": [False]},
        estimator=MaxMarginGraphCut(kernel="linear", affinity="precomputed"),
        cv=(X[::7], y_true[::7]),
    ).fit(X, y, W=W)
    assert search.best_params_["gamma_g"] == 0.01
    np.testing.assert_array_equal(search.transduction_, y_true)
