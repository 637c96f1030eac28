from itertools import combinations

import numpy as np
import pytest

from graphmargin.datasets import load_segmentation
from graphmargin.experiments.paper.splits import FEATURES, LEFT_OUT, class_pairs, split_pair


def columns(X):
    """Return rows in an order that does not depend on how they were permuted."""
    return X[np.lexsort(X.T)]


def test_pairs_are_as_many_as_in_the_paper_if_a_class_is_left_out():
    letters, digits, image = map(class_pairs, ("letter", "digits", "image"))
    assert (len(letters), len(digits)) == (25, 45)
    assert sum(LEFT_OUT not in pair.split("-") for pair in image) == 15
    assert letters[-1] == "Y-Z"
    assert digits[9] == "1-2"
    classes = sorted({name for pair in image for name in pair.split("-")})
    assert image == tuple(f"{a}-{b}" for a, b in combinations(classes, 2))
    assert len(classes) == 7


@pytest.mark.parametrize("labeling", ["random", "balanced"])
@pytest.mark.parametrize("percent", [1, 2, 5, 10])
@pytest.mark.parametrize(
    ("table", "pair"), [("letter", "A-B"), ("digits", "3-8"), ("image", "path-sky")]
)
def test_labels_are_as_many_as_asked_of_both_classes(table, pair, percent, labeling):
    split = split_pair(table, pair, percent, 0, labeling)
    expected = round(percent / 100 * len(split.y))
    for y in (split.y, split.y_validation):
        counts = np.bincount(y + 1, minlength=3)[1:]
        assert (counts > 0).all()
        if labeling == "balanced":
            assert counts.tolist() == [expected // 2] * 2
        else:
            assert counts.sum() == expected
    assert (split.y_validation >= 0).all()
    assert np.array_equal(split.y[split.y >= 0], split.y_true[split.y >= 0])


@pytest.mark.parametrize("features", ["raw", "standardized"])
def test_thirds_are_disjoint_and_all_rows_of_the_pair(features):
    split = split_pair("image", "grass-sky", 10, 0, features=features)
    second = len(split.X_validation) + len(split.X_unused)
    assert (len(split.X), second, len(split.X_test)) == (220, 220, 220)
    X = np.concatenate([split.X, split.X_validation, split.X_unused, split.X_test])
    table, names = load_segmentation()
    chosen = np.isin(names, ["grass", "sky"])
    own = table[chosen]
    if features == "standardized":
        own = (own - own.mean(axis=0)) / np.where(np.ptp(own, axis=0) > 0, own.std(axis=0), 1.0)
    np.testing.assert_array_equal(columns(X), columns(own))

    is_sky = {tuple(x): name == "sky" for x, name in zip(own, names[chosen], strict=True)}
    for rows, y in [
        (split.X, split.y_true),
        (split.X_validation, split.y_validation),
        (split.X_test, split.y_test),
    ]:
        assert [is_sky[tuple(x)] for x in rows] == y.tolist()


@pytest.mark.parametrize("table", FEATURES)
def test_features_are_those_of_the_table_by_default(table):
    pair = class_pairs(table)[0]
    default = split_pair(table, pair, 5, 0)
    kinds = {kind: split_pair(table, pair, 5, 0, features=kind) for kind in ("raw", "standardized")}
    assert np.array_equal(default.X, kinds[FEATURES[table]].X)
    assert not np.array_equal(kinds["raw"].X, kinds["standardized"].X)
    assert np.array_equal(kinds["raw"].y, kinds["standardized"].y)


def test_draws_differ_and_repeat():
    one, again, other = (split_pair("digits", "0-1", 5, draw) for draw in (0, 0, 1))
    assert np.array_equal(one.X, again.X)
    assert np.array_equal(one.y, again.y)
    assert one.seed == again.seed
    assert not np.array_equal(one.X, other.X)
    assert one.seed != other.seed
    balanced = split_pair("digits", "0-1", 5, 0, "balanced")
    assert np.array_equal(one.X, balanced.X)
    assert np.array_equal(one.X_test, balanced.X_test)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("letters", "A-B", 1, 0), r"`tables` must be one of 'letter', .* got 'letters'"),
        (("letter", "A-C", 1, 0), r"`pair` must be one of 'A-B', .* got 'A-C'"),
        (("letter", "A-B", 0, 0), r"`percent` must be an integer >= 1, got 0"),
        (("letter", "A-B", 1, 0, "few"), r"`labels` must be one of 'random', 'balanced', got"),
        (
            ("letter", "A-B", 1, 0, "random", "rare"),
            r"`features` must be one of 'raw', 'standardized', got 'rare'",
        ),
    ],
    ids=["table", "pair", "percent", "labels", "features"],
)
def test_a_bad_split_is_refused(given, message):
    with pytest.raises(ValueError, match=message):
        split_pair(*given)
