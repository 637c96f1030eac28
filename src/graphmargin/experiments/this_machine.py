"""Speed and errors on the machine at hand, beside scikit-learn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

from graphmargin._typing import AnyArray, Progress
from graphmargin.datasets import load_letter, mask_labels
from graphmargin.estimators import HarmonicClassifier, MaxMarginGraphCut

Labeler: TypeAlias = Callable[[AnyArray, AnyArray], AnyArray]
"""From rows and codes, -1 for unlabeled, to the code of every row."""
N_NEIGHBORS = 5
PER_CLASS = 10
WARM_UP = 300
"""Rows on which everything runs once before it is measured: kernels are compiled then."""


@dataclass(frozen=True)
class Measured:
    """What a system did.

    Attributes
    ----------
    task : str
    system : str
        Ours is the first of its task.
    seconds : float
    error : float
        Share of the unlabeled rows with a wrong label.
    """

    task: str
    system: str
    seconds: float
    error: float


def measure(
    n_rows: int, *, n_jobs: int | None = None, progress: Progress | None = None
) -> tuple[Measured, ...]:
    """Return times and errors of all systems on rows of the letter table, ours first.

    Examples
    --------
    >>> [one.system for one in measure(500)][:2]
    ['graphmargin HarmonicClassifier', 'scikit-learn LabelSpreading']
    """
    X, letters = load_letter()
    rows = np.random.default_rng(0).permutation(len(letters))[:n_rows]
    X, y = X[rows], np.unique(letters, return_inverse=True)[1][rows]
    few = mask_labels(y, per_class=PER_CLASS, random_state=0)
    systems = _systems(n_jobs)
    found = []
    for i, (task, name, labels_of) in enumerate(systems):
        if progress is not None:
            progress(i / len(systems), name)
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore"
            )  # of few labels, and rows that none reaches: errors tell
            labels_of(X[:WARM_UP], mask_labels(y[:WARM_UP], per_class=2, random_state=0))
            start = time.perf_counter()
            labels = labels_of(X, few)
            seconds = time.perf_counter() - start
        found.append(Measured(task, name, seconds, float((labels != y)[few == -1].mean())))
    return tuple(found)


def _systems(n_jobs: int | None) -> list[tuple[str, str, Labeler]]:
    """Return task, name and function of every system."""

    def harmonic(X: AnyArray, y: AnyArray) -> AnyArray:
        model = HarmonicClassifier(gamma_g=0.1, n_neighbors=N_NEIGHBORS, n_jobs=n_jobs)
        return model.fit(X, y).transduction_

    def spreading(X: AnyArray, y: AnyArray) -> AnyArray:
        model = LabelSpreading(kernel="knn", n_neighbors=N_NEIGHBORS, n_jobs=n_jobs)
        return np.asarray(model.fit(X, y).transduction_)

    def cut(X: AnyArray, y: AnyArray) -> AnyArray:
        return MaxMarginGraphCut(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs).fit(X, y).predict(X)

    def svc(X: AnyArray, y: AnyArray) -> AnyArray:
        model = GridSearchCV(SVC(), {"C": [1.0, 10.0, 100.0]}, cv=2, n_jobs=n_jobs)
        return np.asarray(model.fit(X[y != -1], y[y != -1]).predict(X))

    classify = "a classifier, with parameters chosen"
    return [
        ("labels along a graph", "graphmargin HarmonicClassifier", harmonic),
        ("labels along a graph", "scikit-learn LabelSpreading", spreading),
        (classify, "graphmargin MaxMarginGraphCut", cut),
        (classify, "scikit-learn SVC, labels alone", svc),
    ]
