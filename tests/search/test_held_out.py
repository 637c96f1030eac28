"""Folds of labels, and what `cv` stands for; bad ones are refused without a fit."""

import pickle
import re
from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_score

from graphmargin.estimators import HarmonicClassifier
from graphmargin.labels import encode_labels
from graphmargin.search.held_out import (
    FEW_LABELS,
    default_held_out,
    held_out_from,
    stratified_label_folds,
    validation_set,
)
from graphmargin.search.splitters import LabeledKFold, LabeledLeaveOneOut

codes = st.lists(st.integers(-1, 4), max_size=60).map(lambda rows: np.array(rows, dtype=np.int64))
n_splits = st.integers(2, 70)
seeds = st.integers(0, 2**32 - 1)

SPLITTERS = [LabeledKFold(3, random_state=0), LabeledLeaveOneOut()]
splitters = pytest.mark.parametrize("cv", SPLITTERS, ids=repr)


def class_sizes(rows):
    return np.bincount(rows, minlength=5)


@given(codes=codes, n_splits=n_splits, seed=seeds)
def test_folds_partition_the_labels_of_classes_with_two_or_more(codes, n_splits, seed):
    folds = stratified_label_folds(codes, n_splits, seed)
    sizes = Counter(codes.tolist())
    expected = [row for row, code in enumerate(codes) if code != -1 and sizes[code] > 1]
    assert sorted(row for held_out in folds for row in held_out) == expected
    assert len(folds) == min(n_splits, len(expected))
    assert all(len(held_out) and (np.diff(held_out) > 0).all() for held_out in folds)


@given(codes=codes, n_splits=n_splits, seed=seeds)
def test_folds_are_of_equal_size_in_total_and_in_each_class(codes, n_splits, seed):
    folds = stratified_label_folds(codes, n_splits, seed)
    if folds:
        assert np.ptp([len(held_out) for held_out in folds]) <= 1
        assert np.ptp([class_sizes(codes[held_out]) for held_out in folds], axis=0).max() <= 1


@given(codes=codes, n_splits=n_splits, seed=seeds)
def test_every_fold_keeps_a_label_of_each_class(codes, n_splits, seed):
    every_class = np.unique(codes[codes != -1])
    for held_out in stratified_label_folds(codes, n_splits, seed):
        kept = np.delete(codes, held_out)
        np.testing.assert_array_equal(np.unique(kept[kept != -1]), every_class)


def test_every_label_is_equally_likely_in_every_fold():
    codes = np.array([0, 0, 0, 1, 1, 1, 1, -1])
    draws = [stratified_label_folds(codes, 3, seed)[0] for seed in range(1000)]
    frequency = np.bincount(np.concatenate(draws), minlength=8) / 1000
    # Round robin gives the first fold one of the three, and the first of the four and the last.
    np.testing.assert_allclose(
        frequency, [1 / 3] * 3 + [1 / 2] * 4 + [0], atol=0.06
    )  # standard error 0.016


Y = np.array([4, -1, 7, 7, -1, 4, 4, 7, -1, 9])


@splitters
def test_train_is_all_but_the_held_out_labels(cv):
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
        pytest.param(np.where(Y == -1, "", Y.astype(str)), id="str"),
        pytest.param(pd.Series(Y, dtype="Int64").mask(Y == -1), id="pandas-NA"),
        pytest.param(pl.Series(Y.tolist()).replace(-1, None), id="polars"),
    ],
)
def test_every_marker_gives_the_same_folds(cv, y):
    X = pd.DataFrame(np.zeros((10, 2)), index=np.arange(10) + 100)
    for parts, expected in zip(cv.split(X, y), cv.split(X, Y), strict=True):
        np.testing.assert_array_equal(parts[0], expected[0])
        np.testing.assert_array_equal(parts[1], expected[1])
    for (y_train, held_out), (_, test) in zip(cv.split_labels(y), cv.split(X, Y), strict=True):
        np.testing.assert_array_equal(held_out, test)
        unlabeled = np.flatnonzero(encode_labels(y_train).codes == -1)
        np.testing.assert_array_equal(unlabeled, np.sort([1, 4, 8, *held_out]))


def test_folds_depend_on_the_seed_alone():
    y = np.repeat([0, 1], 20)

    def rows(cv):
        return [test.tolist() for _, test in cv.split(None, y)]

    assert rows(LabeledKFold(random_state=3)) == rows(LabeledKFold(random_state=3))
    assert rows(LabeledKFold(random_state=3)) != rows(LabeledKFold(random_state=4))
    assert rows(LabeledKFold()) != rows(LabeledKFold())
    generator = LabeledKFold(random_state=np.random.RandomState(0))
    assert rows(generator) != rows(generator)


@pytest.mark.parametrize(
    ("y", "dtype", "marker"),
    [
        pytest.param(np.array([1, 1, -1, 2], dtype=np.int8), np.int8, -1, id="int8"),
        pytest.param(np.array(["a", "a", "", "b"]), np.dtype("U1"), "", id="str"),
        pytest.param(np.array([1, 1, 2, 3], dtype=np.uint8), object, None, id="uint8"),
        pytest.param(pd.Series([1, 1, -1, 2]), np.int64, -1, id="pandas"),
    ],
)
def test_split_labels_keeps_the_dtype_and_copies(y, dtype, marker):
    before = np.array(y)
    first, second = LabeledLeaveOneOut().split_labels(y)
    for (y_train, held_out), row in ((first, 0), (second, 1)):
        assert held_out.tolist() == [row]
        assert y_train.dtype == dtype
        expected = before.astype(dtype)
        expected[row] = marker
        np.testing.assert_array_equal(y_train, expected)
    np.testing.assert_array_equal(np.array(y), before)


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        pytest.param(["a", "a", float("nan"), "b"], ["", "a", "", "b"], id="str-nan"),
        pytest.param([1, 1, None, 2], [-1, 1, -1, 2], id="int-None"),
        pytest.param([True, True, -1, False], [None, True, None, False], id="bool"),
    ],
)
def test_split_labels_takes_lists(y, expected):
    y_train, _ = next(LabeledLeaveOneOut().split_labels(y))
    assert y_train.tolist() == expected


@pytest.mark.parametrize("n_splits", [1, 0, -3, 2.0, True, "five", None])
def test_n_splits_out_of_range_is_named(n_splits):
    message = f"`n_splits` must be an integer >= 2, got {n_splits!r}"
    with pytest.raises(ValueError, match=message):
        LabeledKFold(n_splits)
    with pytest.raises(ValueError, match=message):
        stratified_label_folds(np.array([0, 0, 1]), n_splits)


@splitters
def test_one_label_in_each_class_cannot_be_held_out(cv):
    message = "`y` has only one label in each class, .*; label at least two rows of a class"
    with pytest.raises(ValueError, match=message):
        next(cv.split(None, [0, -1, 1]))
    with pytest.raises(ValueError, match=message):
        next(cv.split_labels([0, -1, 1]))


def test_more_folds_than_labels_to_hold_out_are_refused():
    message = "`n_splits` must be at most 3, .*, got 5; use LabeledLeaveOneOut"
    with pytest.raises(ValueError, match=message):
        next(LabeledKFold(5).split(None, [0, 0, 0, 1, -1, -1]))
    assert len(list(LabeledKFold(3).split(None, [0, 0, 0, 1, -1, -1]))) == 3


@splitters
def test_bad_y_is_refused(cv):
    with pytest.raises(ValueError, match="target y is None"):
        next(cv.split(np.zeros((4, 1)), None))
    with pytest.raises(ValueError, match="target y is None"):
        LabeledLeaveOneOut().get_n_splits()
    with pytest.raises(ValueError, match="only one class"):
        next(cv.split(np.zeros((4, 1)), [1, 1, 1, -1]))
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        next(cv.split(np.zeros((4, 1)), Y))


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


# In the tools of scikit-learn
FOLDS = LabeledKFold(3, random_state=0)


def test_tables_and_metadata_routing_change_nothing():
    truth, model = np.arange(90) % 3, HarmonicClassifier()
    X = np.random.default_rng(0).normal(size=(90, 3)) + 2.0 * np.eye(3)[truth]
    few = np.where(np.arange(90) < 15, truth, -1)
    scores = [
        model.fit(X[train], few[train]).score(X[test], few[test])
        for train, test in FOLDS.split(X, few)
    ]
    words = pd.Series(few.astype(str), index=np.arange(90) + 7).mask(few == -1)
    table = pd.DataFrame(X, index=words.index, columns=["a", "b", "c"])
    np.testing.assert_array_equal(cross_val_score(model, table, words, cv=FOLDS), scores)
    with config_context(enable_metadata_routing=True):
        np.testing.assert_array_equal(cross_val_score(model, X, few, cv=FOLDS), scores)
    one_by_one = cross_val_score(model, X, few, cv=LabeledLeaveOneOut())
    assert (len(one_by_one), set(one_by_one)) == (15, {0.0, 1.0})


# What `cv` stands for

LABELS = encode_labels(Y)


def folds_for(cv, y=Y, seed=0):
    return [
        fold.tolist()
        for fold in held_out_from(cv, np.zeros((len(y), 2)), y, encode_labels(y), seed).folds
    ]


def test_integer_cv_is_the_number_of_folds():
    expected = [test.tolist() for _, test in LabeledKFold(3, random_state=5).split(None, Y)]
    assert folds_for(3, seed=5) == folds_for(np.int64(3), seed=5) == expected


def test_loo_has_a_fold_for_each_label():
    assert folds_for("loo") == folds_for(LabeledLeaveOneOut()) == [[0], [2], [3], [5], [6], [7]]


def test_labels_of_the_test_rows_of_any_splitter_are_held_out():
    """Unlabeled test rows have nothing to hold out."""
    cv = KFold(5)
    tests = [test for _, test in cv.split(Y)]
    assert [test.tolist() for test in tests][1:4] == [[2, 3], [4, 5], [6, 7]]
    assert folds_for([([], test) for test in tests[1:4]]) == [[2, 3], [5], [6, 7]]


def test_splitter_sees_the_rows_and_labels_as_they_are_given():
    class Splitter:
        def split(self, X, y):
            self.seen = X, y
            return [([], [0])]

    splitter, X, y = Splitter(), object(), ["a", "a", "b", "b", None]
    assert held_out_from(splitter, X, y, encode_labels(y), 0).folds[0].tolist() == [0]
    assert splitter.seen == (X, y)


@pytest.mark.parametrize(
    "y",
    [
        [0, 0, 1, 1, 0, 1, None, None],
        [0.0, 0.0, 1.0, 1.0, 0.0, 1.0, np.nan, np.nan],
        ["a", "a", "b", "b", "a", "b", None, None],
        pd.array([0, 0, 1, 1, 0, 1, pd.NA, pd.NA]),
    ],
    ids=["None", "NaN", "texts and None", "NA"],
)
def test_a_splitter_that_does_not_know_unlabeled_rows_sees_codes(y):
    folds = held_out_from(StratifiedKFold(2), np.zeros((8, 2)), y, encode_labels(y), 0).folds
    assert sorted(np.concatenate(folds).tolist()) == [0, 1, 2, 3, 4, 5]


def test_a_splitter_that_fails_is_named():
    y = ["a", "a", "b", "b", None]
    with pytest.raises(ValueError, match=r"`cv`=StratifiedKFold.* cannot split the rows: .*; use"):
        held_out_from(StratifiedKFold(9), np.zeros((5, 2)), y, encode_labels(y), 0)


def test_folds_may_be_numbers_masks_slices_or_a_generator():
    mask = np.isin(np.arange(10), [2, 3])
    for fold in ([2, 3], np.array([3, 2]), mask, mask.tolist(), slice(1, 5), [2, 2, 3]):
        assert folds_for([([], fold)]) == [[2, 3]]
    assert folds_for(([], test) for test in ([0], [2])) == [[0], [2]]
    assert folds_for(iter([([], [-8])])) == [[2]], "counted from the end"


def test_fold_without_labels_is_empty():
    assert folds_for([([], [0]), ([], [1, 4]), ([], [2])]) == [[0], [], [2]]


@pytest.mark.parametrize(
    ("cv", "message"),
    [
        (1, "`cv` must be an integer >= 2, got 1"),
        (np.int64(0), "`cv` must be an integer >= 2, got"),
        (-3, "`cv` must be an integer >= 2, got -3"),
        (100, "must be at most 6, the number of labels in `y` that can be held out, got 100"),
        (True, "`cv` must be an integer, 'loo', a splitter, an iterable of (train, test) or a"),
        (b"x", "`cv` must be an integer, 'loo', a splitter, an iterable of (train, test) or a"),
        (2.5, "a tuple (X_val, y_val), got 2.5"),
        ("leave-one-out", "a tuple (X_val, y_val), got 'leave-one-out'"),
        (LogisticRegression(), "a tuple (X_val, y_val), got LogisticRegression()"),
        ([], "`cv` holds out no label in its 0 folds; use an integer or LabeledKFold"),
        ([([], [1, 4])], "`cv` holds out no label in its 1 folds"),
        ([1, 2], "`cv` must yield (train, test) with row numbers of X, got 1"),
        ([([], [10])], "`cv` must yield (train, test) with row numbers of X"),
        ([([], [0.5])], "`cv` must yield (train, test) with row numbers of X"),
        ([([], [True])], "`cv` must yield (train, test) with row numbers of X"),
        ({"folds": 3}, "`cv` must yield (train, test) with row numbers of X"),
        ([([], [0, 5, 6])], "`cv` holds out all labels of class 4 in a fold; use an integer"),
    ],
    ids=repr,
)
def test_bad_cv_is_named(cv, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        folds_for(cv)


def test_message_has_the_class_as_it_is_in_y():
    y = ["ant", "ant", "bee", "bee", None]
    with pytest.raises(ValueError, match="`cv` holds out all labels of class 'bee' in a fold"):
        folds_for([([], [2, 3])], y)


def test_default_has_ten_folds_for_few_labels_and_five_for_more():
    for n_labeled, n_folds, asked in ((4, 4, 10), (FEW_LABELS, 10, 10), (FEW_LABELS + 1, 5, 5)):
        y = np.append(np.arange(n_labeled) % 2, [-1] * 3)
        held_out = default_held_out(encode_labels(y), 3)
        assert held_out.validation is None
        assert len(held_out.folds) == n_folds
        expected = [fold.tolist() for fold in stratified_label_folds(y, asked, 3)]
        assert [fold.tolist() for fold in held_out.folds] == folds_for(None, y, 3) == expected


def test_one_label_a_class_leaves_the_default_nothing_to_hold_out():
    assert default_held_out(encode_labels([0, 1, 2, -1]), 0).folds == ()
    with pytest.raises(ValueError, match="`y` has only one label in each class"):
        folds_for(3, [0, 1, 2, -1])


def test_validation_rows_have_the_codes_of_the_classes():
    classes, rows = np.array(["ant", "bee"]), np.zeros((3, 2))
    for y_val in (
        ["bee", "ant", "bee"],
        np.array(["bee", "ant", "bee"]),
        pd.Series(["bee", "ant", "bee"], dtype="category"),
    ):
        held_out = validation_set(rows, y_val, classes)
        assert held_out.folds == ()
        assert held_out.validation[0] is rows
        assert held_out.validation[1].tolist() == [1, 0, 1]
    assert (
        validation_set(rows, [True] * 3, np.array([False, True])).validation[1].tolist() == [1] * 3
    )


@pytest.mark.parametrize(
    ("y_val", "message"),
    [
        ([0, 1, 7], "`cv` has the label 7 in y_val, but the classes of y are [0, 1]; pass"),
        ([0, -1, 1], "`cv` has the label -1 in y_val"),
        ([0, None, 1], "`cv` has the label None in y_val"),
        ([0, np.nan, 1], "`cv` has the label nan in y_val"),
        (["a", "b", "a"], "`cv` has the label 'a' in y_val"),
        ([0, 1], "`cv` must label all 3 validation rows, got 2 labels"),
    ],
    ids=str,
)
def test_bad_validation_labels_are_named(y_val, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        validation_set(np.zeros((3, 2)), y_val, np.array([0, 1]))
