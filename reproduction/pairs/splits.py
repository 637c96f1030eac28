"""Splits of pairs of classes into thirds, with few labels."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from itertools import combinations, pairwise

import numpy as np
from numpy.random import default_rng

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.datasets import load_digits, load_letter, load_segmentation, mask_labels
from reproduction.runner import seeds

FEATURES = {"letter": "raw", "digits": "raw", "image": "standardized"}
"""Tables, and the features with which a supervised SVM has about the published errors."""
TABLES = tuple(FEATURES)
LABELINGS = ("random", "balanced")
LEFT_OUT = "window"
"""The class of image segmentation, the last by name, whose pairs are not among the paper's 15."""


@dataclass(frozen=True)
class PairSplit:
    """Rows of two classes in three thirds, the first two of them with few labels.

    Attributes
    ----------
    X, y
        Training rows and their labels: 0, 1, or -1 for none.
    y_true
        Classes of all training rows.
    X_validation, y_validation
        Labeled rows for choosing parameters.
    X_unused
        The rows of the second third without a label.
    X_test, y_test
        Rows to predict, and the labels of all of them.
    seed : int
        Seed of what is random in a method.
    """

    X: FloatArray
    y: IntArray
    y_true: IntArray
    X_validation: FloatArray
    y_validation: IntArray
    X_unused: FloatArray
    X_test: FloatArray
    y_test: IntArray
    seed: int


def class_pairs(table: str) -> tuple[str, ...]:
    """Return the names of the pairs: 25 of letters, 45 of digits, 21 of image segmentation.

    Letters are paired with the next one of the alphabet, all others with all. Image segmentation
    has seven classes; the paper's 15 pairs are those of six of them.

    Examples
    --------
    >>> class_pairs("letter")[:2], class_pairs("digits")[-1], len(class_pairs("image"))
    (('A-B', 'B-C'), '8-9', 21)
    """
    classes = np.unique(_load(table)[1]).tolist()
    paired = pairwise(classes) if table == "letter" else combinations(classes, 2)
    return tuple(f"{a}-{b}" for a, b in paired)


def split_pair(
    table: str,
    pair: str,
    percent: int,
    draw: int,
    labeling: str = "random",
    features: str | None = None,
) -> PairSplit:
    """Return one draw of rows and labels of a pair.

    Parameters
    ----------
    table : {"letter", "digits", "image"}
    pair : one of `class_pairs`
        The second class is labeled 1.
    percent : int
        Share of the training rows that are labeled.
    draw : int >= 0
        With table, pair and percent, it decides what is drawn.
    labeling : {"random", "balanced"}, default="random"
        "random" labels any rows, at least one of each class. "balanced" labels as many of one
        class as of the other; of an odd number, one label is given up.
    features : {"raw", "standardized"}, default=None
        As in the table, or with mean 0 and variance 1 over all rows of the pair; None is the one
        of the two in `FEATURES`.

    Examples
    --------
    >>> split = split_pair("letter", "A-B", percent=1, draw=0)
    >>> split.X.shape, (split.y >= 0).sum(), len(split.y_validation)
    ((519, 16), np.int64(5), 5)
    """
    X, names = _load(table)
    rows = np.isin(names, pair.split("-"))
    X, y = X[rows], (names[rows] == pair.split("-")[1]).astype(np.int64)
    if (features or FEATURES[table]) == "standardized":
        X = standardized(X)
    random = default_rng(seeds(f"{table} {pair}", percent, draw))
    train, validation, test = np.array_split(random.permutation(len(y)), 3)
    count = round(percent / 100 * len(train))
    few, few_more = (
        _some_labels(y[third], count, labeling, int(random.integers(2**31)))
        for third in (train, validation)
    )
    is_labeled = few_more >= 0
    return PairSplit(
        X=X[train],
        y=few,
        y_true=y[train],
        X_validation=X[validation[is_labeled]],
        y_validation=few_more[is_labeled],
        X_unused=X[validation[~is_labeled]],
        X_test=X[test],
        y_test=y[test],
        seed=int(random.integers(2**31)),
    )


def standardized(X: FloatArray) -> FloatArray:
    """Return columns of mean 0 and variance 1, and those that are constant as zeros.

    Examples
    --------
    >>> standardized(np.array([[1.0, 5.0], [3.0, 5.0]])).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    spread = X.std(axis=0)
    return np.asarray((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0))


def _some_labels(y: IntArray, count: int, labeling: str, seed: int) -> AnyArray:
    if labeling == "balanced":
        return mask_labels(y, per_class=max(1, count // 2), random_state=seed)
    return mask_labels(y, fraction=max(1, count) / len(y), random_state=seed)


@cache
def _load(table: str) -> tuple[FloatArray, AnyArray]:
    """Return a table with the names of the classes as strings."""
    load = {"letter": load_letter, "digits": load_digits, "image": load_segmentation}[table]
    X, y = load()
    return X, y.astype(str)
