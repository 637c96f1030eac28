"""Speed and errors on the machine at hand, beside scikit-learn."""

from __future__ import annotations

import time
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

from graphmargin._typing import AnyArray, Progress
from graphmargin.datasets import load_letter, mask_labels
from graphmargin.estimators import HarmonicClassifier, MaxMarginGraphCut

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
    ['HarmonicClassifier', 'LabelSpreading']
    """
    X, letters = load_letter()
    rows = np.random.default_rng(0).permutation(len(letters))[:n_rows]
    X, y = X[rows], np.unique(letters, return_inverse=True)[1][rows]
    few = mask_labels(y, per_class=PER_CLASS, random_state=0)
    systems = _systems(n_jobs)
    found = []
    for i, (task, system) in enumerate(systems):
        if progress is not None:
            progress(i / len(systems), type(system).__name__)
        _transduced(system, X[:WARM_UP], mask_labels(y[:WARM_UP], per_class=2, random_state=0))
        start = time.perf_counter()
        labels = _transduced(system, X, few)
        seconds = time.perf_counter() - start
        error = float((labels != y)[few == -1].mean())
        found.append(Measured(task, type(system).__name__, seconds, error))
    return tuple(found)


def _systems(n_jobs: int | None) -> list[tuple[str, Any]]:
    spread, classify = "spread labels", "classifier for new rows, parameters chosen"
    return [
        (spread, HarmonicClassifier(gamma_g=0.1, n_neighbors=N_NEIGHBORS, n_jobs=n_jobs)),
        (spread, LabelSpreading(kernel="knn", n_neighbors=N_NEIGHBORS, n_jobs=n_jobs)),
        (classify, MaxMarginGraphCut(n_neighbors=N_NEIGHBORS, n_jobs=n_jobs)),
        (classify, SelfTrainingClassifier(SVC(C=10.0), criterion="k_best", k_best=1000)),
    ]


def _transduced(system: Any, X: AnyArray, y: AnyArray) -> AnyArray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of systems that have not converged: errors tell
        system.fit(X, y)
    known = getattr(system, "transduction_", None)
    return np.asarray(system.predict(X) if known is None or known.dtype.kind == "f" else known)
