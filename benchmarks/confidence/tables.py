"""Tables of the benchmark of confidence: ours, scikit-learn's, KEEL's, and generated ones."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

from benchmarks.keel import Table, keel_table
from graphmargin.datasets import load_digits, load_letter, load_segmentation

PER_CLASS = (3, 10, 30)
"""Numbers of labels of each class."""
MAX_LABELED = 0.6
"""Largest share of the rows that has a label."""
MAX_ROWS = 2000


def load(name: str) -> Table:
    """Return rows and class codes of a table in `TABLES`."""
    X, y = TABLES[name]()
    return np.asarray(X, dtype=np.float64), np.unique(y, return_inverse=True)[1].ravel()


def allows(y: np.ndarray, per_class: int) -> bool:
    """Tell whether every class has more rows than labels, and enough rows stay unlabeled."""
    counts = np.bincount(y)
    return bool(counts.min() > per_class and per_class * len(counts) <= MAX_LABELED * len(y))


def _first_digits() -> Table:
    X, y = load_digits()
    return X[:MAX_ROWS], y[:MAX_ROWS]


def _sample(X: np.ndarray, y: np.ndarray, n_rows: int = MAX_ROWS) -> Table:
    rows = np.random.default_rng(0).permutation(len(y))[:n_rows]
    return X[rows], y[rows]


def _standardized(table: Table) -> Table:
    return StandardScaler().fit_transform(table[0]), table[1]


def _keel(name: str) -> Table:
    return _standardized(_sample(*keel_table(name)))


TABLES: dict[str, Callable[[], Table]] = {
    "iris": lambda: _standardized(datasets.load_iris(return_X_y=True)),
    "wine": lambda: _standardized(datasets.load_wine(return_X_y=True)),
    "ionosphere": partial(_keel, "ionosphere"),
    "led7digit": partial(_keel, "led7digit"),
    "breast_cancer": lambda: _standardized(datasets.load_breast_cancer(return_X_y=True)),
    "pima": partial(_keel, "pima"),
    "vehicle": partial(_keel, "vehicle"),
    "movement_libras": partial(_keel, "movement_libras"),
    "moons": lambda: datasets.make_moons(1500, noise=0.2, random_state=0),
    "blobs": lambda: datasets.make_blobs(
        1500, n_features=10, centers=6, cluster_std=4.0, random_state=0
    ),
    "spambase": partial(_keel, "spambase"),
    "splice": partial(_keel, "splice"),
    "classification": lambda: datasets.make_classification(
        2000, 20, n_informative=8, n_classes=4, random_state=0
    ),
    "satimage": partial(_keel, "satimage"),
    "segmentation": lambda: _standardized(_sample(*load_segmentation())),
    "penbased": partial(_keel, "penbased"),
    "optdigits": partial(_keel, "optdigits"),
    "texture": partial(_keel, "texture"),
    "digits": _first_digits,
    "letter": lambda: _sample(*load_letter(), 4000),
}
"""Functions that load a table, by its name; small tables come first."""
