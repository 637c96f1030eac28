import pickle
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, knn_graph
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.labels import encode_labels
from graphmargin.selection.folds import LabeledKFold, LabeledLeaveOneOut, label_folds

codes = st.lists(st.integers(-1, 4), max_size=60).map(lambda rows: np.array(rows, dtype=np.int64))
n_splits = st.integers(2, 70)
seeds = st.integers(0, 2**32 - 1)

SPLITTERS = [LabeledKFold(3, random_state=0), LabeledLeaveOneOut()]
splitters = pytest.mark.parametrize("cv", SPLITTERS, ids=repr)


def class_sizes(rows):
    return np.bincount(rows, minlength=5)


@given(codes=codes, n_splits=n_splits, seed=seeds)
def test_folds_partition_the_labels_of_classes_with_two_or_more(codes, n_splits, seed):
    folds = label_folds(codes, n_splits, seed)
    sizes = Counter(codes.tolist())
    expected = [row for row, code in enumerate(codes) if code != -1 and sizes[code] > 1]
    assert sorted(row for hidden in folds for row in hidden) == expected
    assert len(folds) == min(n_splits, len(expected))
    assert all(len(hidden) and (np.diff(hidden) > 0).all() for hidden in folds)


@given(codes=codes, n_splits=n_splits, seed=seeds)
def test_folds_are_of_equal_size_in_total_and_in_each_class(codes, n_splits, seed):
    folds = label_folds(codes, n_splits, seed)
    if folds:
        assert np.ptp([len(hidden) for hidden in folds]) <= 1
        assert np.ptp([class_sizes(codes[hidden]) for hidden in folds], axis=0).max() <= 1


@given(codes=codes, n_splits=n_splits, seed=seeds)
def test_every_fold_keeps_a_label_of_each_class(codes, n_splits, seed):
    every_class = np.unique(codes[codes != -1])
    for hidden in label_folds(codes, n_splits, seed):
        kept = np.delete(codes, hidden)
        np.testing.assert_array_equal(np.unique(kept[kept != -1]), every_class)


def test_label_folds_by_hand():
    codes = np.array([1, -1, 0, 0, 2, 1, -1])
    first, second = label_folds(codes, 2, random_state=0)
    assert sorted(codes[first]) == sorted(codes[second]) == [0, 1]
    assert sorted([*first, *second]) == [0, 2, 3, 5]


def test_fewer_labels_than_folds_is_leave_one_out():
    folds = label_folds(np.array([0, -1, 0, 1, 2, 2]), 10, random_state=0)
    assert sorted(hidden.tolist() for hidden in folds) == [[0], [2], [4], [5]]


@pytest.mark.parametrize("codes", [[], [-1, -1], [0, -1, 1]], ids=str)
def test_nothing_to_hide_is_no_fold(codes):
    assert label_folds(np.array(codes, dtype=np.int64), 2) == []


def test_every_label_is_equally_likely_in_every_fold():
    codes = np.array([0, 0, 0, 1, 1, 1, 1, -1])
    draws = [label_folds(codes, 3, seed)[0] for seed in range(1000)]
    frequency = np.bincount(np.concatenate(draws), minlength=8) / 1000
    # Round robin gives the first fold one of the three, and the first of the four and the last.
    np.testing.assert_allclose(
        frequency, [1 / 3] * 3 + [1 / 2] * 4 + [0], atol=0.06
    )  # standard error 0.016


Y = np.array([4, -1, 7, 7, -1, 4, 4, 7, -1, 9])


@splitters
def test_train_is_all_but_the_hidden_labels(cv):
    parts = list(cv.split(np.zeros((10, 2)), Y))
    assert len(parts) == cv.get_n_splits(None, Y)
    assert sorted(np.concatenate([test for _, test in parts])) == [0, 2, 3, 5, 6, 7]
    for train, test in parts:
        np.testing.assert_array_equal(np.sort([*train, *test]), np.arange(10))
        assert {1, 4, 8, 9} <= set(train)
        assert set(Y[train]) == {-1, 4, 7, 9}


@splitters
@pytest.mark.parametrize(
    "y",
    [
        pytest.param(Y.tolist(), id="list"),
        pytest.param(np.where(Y == -1, np.nan, Y), id="nan"),
        pytest.param([None if label == -1 else label for label in Y.tolist()], id="None"),
        pytest.param(np.where(Y == -1, "", Y.astype(str)), id="str"),
        pytest.param(pd.Series(Y, index=np.arange(10) + 100), id="pandas-int"),
        pytest.param(pd.Series(Y, dtype="Int64").mask(Y == -1), id="pandas-NA"),
        pytest.param(pd.Series(Y.astype(str)).mask(Y == -1), id="pandas-str"),
        pytest.param(pd.Series(Y.astype(str)).mask(Y == -1).astype("category"), id="category"),
        pytest.param(pl.Series(Y.tolist()).replace(-1, None), id="polars"),
    ],
)
def test_every_marker_gives_the_same_folds(cv, y):
    X = pd.DataFrame(np.zeros((10, 2)), index=np.arange(10) + 100)
    for parts, expected in zip(cv.split(X, y), cv.split(X, Y), strict=True):
        np.testing.assert_array_equal(parts[0], expected[0])
        np.testing.assert_array_equal(parts[1], expected[1])
    for (y_hidden, hidden), (_, test) in zip(cv.hide(y), cv.split(X, Y), strict=True):
        np.testing.assert_array_equal(hidden, test)
        unlabeled = np.flatnonzero(encode_labels(y_hidden).codes == -1)
        np.testing.assert_array_equal(unlabeled, np.sort([1, 4, 8, *hidden]))


def test_folds_depend_on_the_seed_alone():
    y = np.repeat([0, 1], 20)

    def rows(cv):
        return [test.tolist() for _, test in cv.split(None, y)]

    assert rows(LabeledKFold(random_state=3)) == rows(LabeledKFold(random_state=3))
    assert rows(LabeledKFold(random_state=3)) != rows(LabeledKFold(random_state=4))
    assert rows(LabeledKFold()) != rows(LabeledKFold())
    generator = LabeledKFold(random_state=np.random.RandomState(0))
    assert rows(generator) != rows(generator)


def test_leave_one_out_goes_row_by_row():
    tests = [test.tolist() for _, test in LabeledLeaveOneOut().split(None, Y)]
    assert tests == [[0], [2], [3], [5], [6], [7]]


@pytest.mark.parametrize(
    ("y", "dtype", "marker"),
    [
        pytest.param(np.array([1, 1, -1, 2], dtype=np.int8), np.int8, -1, id="int8"),
        pytest.param(np.array([1, 1, -1, 2], dtype=np.float32), np.float32, np.nan, id="float32"),
        pytest.param(np.array(["a", "a", "", "b"]), np.dtype("U1"), "", id="str"),
        pytest.param(np.array(["a", "a", None, "b"], dtype=object), object, None, id="object"),
        pytest.param(np.array([1, 1, 2, 3], dtype=np.uint8), object, None, id="uint8"),
        pytest.param(pd.Series([1, 1, -1, 2]), np.int64, -1, id="pandas"),
    ],
)
def test_hide_follows_the_dtype_and_copies(y, dtype, marker):
    before = np.array(y)
    first, second = LabeledLeaveOneOut().hide(y)
    for (y_hidden, hidden), row in ((first, 0), (second, 1)):
        assert hidden.tolist() == [row]
        assert y_hidden.dtype == dtype
        expected = before.astype(dtype)
        expected[row] = marker
        np.testing.assert_array_equal(y_hidden, expected)
    np.testing.assert_array_equal(np.array(y), before)


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        pytest.param(["a", "a", float("nan"), "b"], ["", "a", "", "b"], id="str-nan"),
        pytest.param([1, 1, None, 2], [-1, 1, -1, 2], id="int-None"),
        pytest.param([True, True, -1, False], [None, True, None, False], id="bool"),
    ],
)
def test_hide_takes_lists(y, expected):
    y_hidden, _ = next(LabeledLeaveOneOut().hide(y))
    assert y_hidden.tolist() == expected


@pytest.mark.parametrize("n_splits", [1, 0, -3, 2.0, True, "five", None])
def test_n_splits_out_of_range(n_splits):
    message = f"`n_splits` must be an integer >= 2, got {n_splits!r}"
    with pytest.raises(ValueError, match=message):
        LabeledKFold(n_splits)
    with pytest.raises(ValueError, match=message):
        label_folds(np.array([0, 0, 1]), n_splits)


@splitters
def test_one_label_in_each_class(cv):
    message = "`y` has one label in each class, .*; label at least two rows of a class"
    with pytest.raises(ValueError, match=message):
        next(cv.split(None, [0, -1, 1]))
    with pytest.raises(ValueError, match=message):
        next(cv.hide([0, -1, 1]))


def test_more_folds_than_labels_to_hide():
    message = "`n_splits` must be at most 3, .*, got 5; use LabeledLeaveOneOut"
    with pytest.raises(ValueError, match=message):
        next(LabeledKFold(5).split(None, [0, 0, 0, 1, -1, -1]))
    assert len(list(LabeledKFold(3).split(None, [0, 0, 0, 1, -1, -1]))) == 3


@splitters
def test_bad_y(cv):
    with pytest.raises(ValueError, match="target y is None"):
        next(cv.split(np.zeros((4, 1)), None))
    with pytest.raises(ValueError, match="one class only"):
        next(cv.split(np.zeros((4, 1)), [1, 1, 1, -1]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(cv.split(np.zeros((4, 1)), Y))


def test_leave_one_out_counts_its_folds_by_y():
    with pytest.raises(ValueError, match="target y is None"):
        LabeledLeaveOneOut().get_n_splits()


@splitters
def test_groups_are_ignored_with_a_warning(cv):
    with pytest.warns(UserWarning, match=f"`groups` is ignored by {type(cv).__name__}"):
        next(cv.split(None, Y, np.arange(10)))


def test_repr_shows_the_call():
    assert repr(LabeledKFold(3)) == "LabeledKFold(n_splits=3, random_state=None)"
    assert repr(LabeledLeaveOneOut()) == "LabeledLeaveOneOut()"


@splitters
def test_pickle_and_clone_keep_the_folds(cv):
    search = GridSearchCV(HarmonicClassifier(), {"gamma_g": [0.1]}, cv=cv)
    for copy in (pickle.loads(pickle.dumps(cv)), clone(search).cv):
        assert copy == cv
        for (_, test), (_, expected) in zip(copy.split(None, Y), cv.split(None, Y), strict=True):
            np.testing.assert_array_equal(test, expected)


MODELS = [MaxMarginGraphCut(gamma_g=0.1, C=10.0), HarmonicClassifier(gamma_g=0.1)]
models = pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
FOLDS = LabeledKFold(3, random_state=0)


@pytest.fixture(scope="module")
def digits():
    """Return 400 rows, their classes, and five labels of each class."""
    X, y = load_digits()
    rows = np.random.default_rng(0).choice(len(y), 400, replace=False)
    return X[rows], y[rows], mask_labels(y[rows], per_class=5, random_state=0)


def accuracy_by_hand(model, X, y):
    scores = []
    for train, test in FOLDS.split(X, y):
        predicted = clone(model).fit(X[train], y[train]).predict(X[test])
        scores.append(np.mean(predicted == y[test]))
    return scores


@models
def test_cross_validate_is_the_loop_by_hand(model, digits):
    X, _, few = digits
    result = cross_validate(model, X, few, cv=FOLDS, error_score="raise")
    np.testing.assert_array_equal(result["test_score"], accuracy_by_hand(model, X, few))
    assert result["test_score"].mean() > 0.7


@models
def test_grid_search_is_the_loop_by_hand(model, digits):
    X, truth, few = digits
    grid = [0.01, 1.0]
    search = clone(GridSearchCV(model, {"gamma_g": grid}, cv=FOLDS, error_score="raise"))
    search.fit(X, few)
    expected = [accuracy_by_hand(clone(model).set_params(gamma_g=g), X, few) for g in grid]
    found = [search.cv_results_[f"split{fold}_test_score"] for fold in range(3)]
    np.testing.assert_array_equal(np.transpose(found), expected)
    assert search.n_splits_ == 3
    assert search.best_params_["gamma_g"] == grid[np.argmax(np.mean(expected, axis=1))]
    assert np.mean(search.best_estimator_.transduction_ == truth) > 0.7


def test_strings_in_pandas_give_the_same_scores(digits):
    X, _, few = digits
    words = pd.Series(few.astype(str), index=np.arange(400) + 7).mask(few == -1)
    scores = cross_val_score(MODELS[1], X, few, cv=FOLDS)
    framed = pd.DataFrame(X, index=words.index).add_prefix("pixel ")
    np.testing.assert_array_equal(cross_val_score(MODELS[1], framed, words, cv=FOLDS), scores)


def test_metadata_routing_changes_nothing(digits):
    X, _, few = digits
    scores = cross_val_score(MODELS[1], X, few, cv=FOLDS)
    with config_context(enable_metadata_routing=True):
        routed = cross_val_score(MODELS[1], X, few, cv=FOLDS)
    np.testing.assert_array_equal(routed, scores)


def test_precomputed_graph_is_split_on_both_sides(digits):
    X, _, few = digits
    model = HarmonicClassifier(affinity="precomputed")
    scores = cross_val_score(model, knn_graph(X).toarray(), few, cv=FOLDS)
    assert scores.mean() > 0.7


def test_leave_one_out_in_cross_val_score(digits):
    X, _, few = digits
    rows = np.flatnonzero(few < 2)
    scores = cross_val_score(MODELS[1], X[rows], few[rows], cv=LabeledLeaveOneOut())
    assert len(scores) == 10
    assert set(scores) <= {0.0, 1.0}
    assert scores.mean() > 0.7


@models
def test_hidden_rows_stay_in_the_graph(model, digits):
    X, truth, few = digits
    scores = []
    for y_hidden, hidden in FOLDS.hide(few):
        transduction = clone(model).fit(X, y_hidden).transduction_
        assert len(transduction) == 400
        scores.append(accuracy_score(truth[hidden], transduction[hidden]))
    assert np.mean(scores) > 0.7
