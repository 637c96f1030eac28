"""Systems of the league: functions from rows and a few labels to labels of all rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelPropagation, LabelSpreading
from sklearn.svm import SVC

from benchmarks.safety.run import self_training
from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.labels import UNLABELED, encode_labels
from graphmargin.search.held_out import default_held_out

System: TypeAlias = Callable[[np.ndarray, np.ndarray, int], np.ndarray]
"""Function from rows, class codes (-1: unlabeled) and a seed to the class codes of all rows."""

C_GRID = (10.0, 1.0, 100.0, 0.1, 1000.0)
GAMMA_GRID = (1.0, 0.1, 10.0, 0.01)
"""Widths of RBF kernels, for rows whose features have a total variance of one.

The values in the middle come first, because `GridSearchCV` takes the first of equal candidates.
"""
RBF = {"kernel": ["rbf"], "C": C_GRID, "gamma": GAMMA_GRID}
LINEAR = {"kernel": ["linear"], "C": C_GRID}


def ours(model: Any) -> System:
    """Return the system of a classifier of ours, with one thread: its labels of all rows."""

    def run(X: np.ndarray, few: np.ndarray, seed: int) -> np.ndarray:
        single = clone(model).set_params(n_jobs=1, random_state=seed)
        return np.asarray(single.fit(X, few).transduction_)

    return run


def semi_supervised(make: Callable[[np.ndarray, int], Any]) -> System:
    """Return the system of a function from rows and a seed to a classifier of scikit-learn."""

    def run(X: np.ndarray, few: np.ndarray, seed: int) -> np.ndarray:
        return np.asarray(make(X, seed).fit(X, few).predict(X))

    return run


def supervised(make: Callable[[int, int], Any]) -> System:
    """Return the system of a classifier that sees labeled rows only.

    `make` is a function from the number of labels and a seed to the classifier.
    """

    def run(X: np.ndarray, few: np.ndarray, seed: int) -> np.ndarray:
        labeled = few != UNLABELED
        model = make(int(labeled.sum()), seed)
        return np.asarray(model.fit(X[labeled], few[labeled]).predict(X))

    return run


def boosting(n_labels: int, seed: int) -> HistGradientBoostingClassifier:
    """Return trees whose leaves have a tenth of the labels at least, up to 5 of them.

    With the default, 20, trees of up to 39 labels would have no split at all.
    """
    smallest = int(np.clip(n_labels // 10, 1, 5))
    return HistGradientBoostingClassifier(
        min_samples_leaf=smallest, early_stopping=False, random_state=seed
    )


def tuned(model: Any, grids: dict[str, Any] | Sequence[dict[str, Any]]) -> System:
    """Return the system of a classifier whose parameters are searched in a grid.

    Labels are held out in the folds of our classifiers: five, or ten for up to 20 labels, and in
    none of them all labels of a class. If no class has two labels, the model keeps the parameters
    that it has. Rows are divided by the root of the features' total variance.
    """

    def run(X: np.ndarray, few: np.ndarray, seed: int) -> np.ndarray:
        X = X / np.sqrt(X.var(axis=0).sum())
        labeled = np.flatnonzero(few != UNLABELED)
        y = few[labeled]
        folds = default_held_out(encode_labels(y), seed).folds
        splits = [(np.setdiff1d(np.arange(len(y)), fold), fold) for fold in folds]
        search = GridSearchCV(model, grids, cv=splits, n_jobs=1) if splits else clone(model)
        return np.asarray(search.fit(X[labeled], y).predict(X))

    return run


DEFAULT = "ensemble"
"""The system that users of the library get if they choose nothing."""
TUNED_SVM = "tuned SVM"
"""The system that losses refer to."""

OURS: dict[str, System] = {
    DEFAULT: ours(SemiSupervisedEnsemble()),
    "RBF cut": ours(MaxMarginGraphCut()),
    "linear cut": ours(MaxMarginGraphCut(kernel="linear")),
    "RBF S3VM": ours(SemiSupervisedSVC(gamma_u="auto", C="auto")),
    "linear S3VM": ours(SemiSupervisedSVC(kernel="linear", gamma_u="auto", C="auto")),
    "harmonic solution": ours(HarmonicClassifier(gamma_g="auto", class_mass_normalization="auto")),
    "RBF manifold SVM": ours(ManifoldSVC(gamma_u="auto", C="auto")),
    "linear manifold SVM": ours(ManifoldSVC(kernel="linear", gamma_u="auto", C="auto")),
    "supervised SVM": ours(SupervisedSVC(C="auto")),
}
"""Classifiers of graphmargin, which choose their parameters."""
SUPERVISED: dict[str, System] = {
    TUNED_SVM: tuned(SVC(C=C_GRID[0], gamma=GAMMA_GRID[0]), [RBF, LINEAR]),
    "tuned RBF SVM": tuned(SVC(C=C_GRID[0], gamma=GAMMA_GRID[0]), RBF),
    "tuned linear SVM": tuned(SVC(kernel="linear", C=C_GRID[0]), LINEAR),
    "logistic regression": tuned(LogisticRegression(C=C_GRID[0], max_iter=5000), {"C": C_GRID}),
    "random forest": supervised(lambda _, seed: RandomForestClassifier(300, random_state=seed)),
    "gradient boosting": supervised(boosting),
}
"""Classifiers of scikit-learn that learn from the labeled rows alone."""
SEMI_SUPERVISED: dict[str, System] = {
    "LabelSpreading": semi_supervised(lambda _, __: LabelSpreading(kernel="knn", n_jobs=1)),
    "LabelPropagation": semi_supervised(lambda _, __: LabelPropagation(kernel="knn", n_jobs=1)),
    "self-training": semi_supervised(self_training),
}
"""Classifiers of scikit-learn that learn from all rows; graphs are those of 7 neighbors."""
SYSTEMS = OURS | SUPERVISED | SEMI_SUPERVISED
"""All systems by name."""
