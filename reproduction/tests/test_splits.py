from itertools import combinations

import numpy as np
import pytest

from graphmargin.datasets import load_segmentation
from reproduction.pairs.splits import LEFT_OUT, class_pairs, split_pair


def sorted_rows(X):
    """Return rows in an order that does not depend on how they were permuted."""
    return X[np.lexsort(X.T)]


def test_pairs_are_as_many_as_in_the_paper_if_a_class_is_left_out():
    letters, digits, image = map(class_pairs, ("letter", "digits", "image"))
    assert (len(letters), len(digits)) == (25, 45)
    assert sum(LEFT_OUT not in pair.split("-") for pair in image) == 15
    assert (letters[-1], digits[9]) == ("Y-Z", "1-2")
    classes = sorted({name for pair in image for name in pair.split("-")})
    assert image == tuple(f"{a}-{b}" for a, b in combinations(classes, 2))
    assert len(classes) == 7


@pytest.mark.parametrize("labeling", ["random", "balanced"])
@pytest.mark.parametrize(
    ("table", "pair", "percent"),
    [
        ("letter", "A-B", 1),
        ("digits", "3-8", 2),
        ("image", "path-sky", 5),
        ("image", "grass-sky", 10),
    ],
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
    rows = table[chosen]
    if features == "standardized":
        rows = (rows - rows.mean(axis=0)) / np.where(np.ptp(rows, axis=0) > 0, rows.std(axis=0), 1)
    np.testing.assert_array_equal(sorted_rows(X), sorted_rows(rows))

    is_sky = {tuple(x): name == "sky" for x, name in zip(rows, names[chosen], strict=True)}
    for third, y in [
        (split.X, split.y_true),
        (split.X_validation, split.y_validation),
        (split.X_test, split.y_test),
    ]:
        assert [is_sky[tuple(x)] for x in third] == y.tolist()


def test_draws_differ_and_repeat():
    first, again, other = (split_pair("digits", "0-1", 5, draw) for draw in (0, 0, 1))
    assert np.array_equal(first.X, again.X)
    assert np.array_equal(first.y, again.y)
    assert first.seed == again.seed != other.seed
    assert not np.array_equal(first.X, other.X)
    balanced = split_pair("digits", "0-1", 5, 0, "balanced")
    assert np.array_equal(first.X_test, balanced.X_test)
