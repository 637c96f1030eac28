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

from graphmargin._typing import AnyArray, ProgressCallback
from graphmargin.datasets import load_letter, mask_labels
from graphmargin.estimators import HarmonicClassifier, MaxMarginGraphCut

Labeler: TypeAlias = Callable[[AnyArray, AnyArray], AnyArray]
"""From rows and codes, -1 for unlabeled, to the code of every row."""
N_NEIGHBORS = 5
PER_CLASS = 10
WARM_UP = 3
"""Classes on which everything runs once before it is measured: kernels are compiled then."""


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
    n_rows: int, *, n_jobs: int | None = None, progress: ProgressCallback | None = None
) -> tuple[Measured, ...]:
    """Return times and errors of all systems on rows of the letter table, ours first.

    Examples
    --------
    >>> found = measure(500)
    >>> [one.system for one in found[:2]], all(0 < one.error < 1 for one in found)
    (['graphmargin HarmonicClassifier', 'scikit-learn LabelSpreading'], True)
    """
    X, letters = load_letter()
    rows = np.random.default_rng(0).permutation(len(letters))[:n_rows]
    X, y = X[rows], np.unique(letters, return_inverse=True)[1][rows]
    few = mask_labels(y, per_class=PER_CLASS, random_state=0)
    first = y < WARM_UP
    systems = _systems(n_jobs)
    found = []
    for i, (task, name, labels_of) in enumerate(systems):
        if progress is not None:
            progress(i / len(systems), name)
        with warnings.catch_warnings():
            # Of few labels, and of rows that none reaches: the errors tell.
            warnings.simplefilter("ignore")
            labels_of(X[first], mask_labels(y[first], per_class=2, random_state=0))
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
