"""Classifiers for the paper's pairs: its own choice of parameters, and ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.estimators import MaxMarginGraphCut, MaxMarginGraphCutCV, SupervisedSVC
from graphmargin.labels import UNLABELED

PairMethod: TypeAlias = Callable[[str, FloatArray, IntArray, FloatArray, IntArray, int], Any]
"""From kernel, training rows, their labels, validation rows, their labels and a seed to a fitted
classifier; labels are -1 for none."""
PairMethods: TypeAlias = Mapping[str, PairMethod]

SVM = "SVM"
GC_PAPER = "GC paper"

GAMMA_SHARES = (0.1, 0.01)
"""Values of gamma over the number of labels."""
GAMMA_G = tuple(float(f"1e{power}") for power in range(-3, 4))
"""Values of gamma_g = gamma / gamma_u, for gamma_u from 1e-3 gamma to 1e3 gamma."""


def paper_svm(
    kernel: str, X: FloatArray, y: IntArray, X_val: FloatArray, y_val: IntArray, seed: int
) -> Any:
    """Return the SVM on the labeled rows with the C of the least validation error.

    gamma is 0.01 or 0.1 times the number of labels, and C = 1 / (2 gamma); of ties, the larger
    gamma.
    """
    new, given = _labeled(X_val, y_val)
    models = [
        SupervisedSVC(kernel=kernel, C=C, n_jobs=1, random_state=seed).fit(X, y) for C in _Cs(y)
    ]
    return min(models, key=lambda model: np.mean(model.predict(new) != given))


def paper_cut(
    kernel: str, X: FloatArray, y: IntArray, X_val: FloatArray, y_val: IntArray, seed: int
) -> Any:
    """Return the paper's cut with the gamma_g and C of the least validation error.

    gamma_g is one of 1e-3, 1e-2, .., 1e3, and C as for the SVM; of ties, the smallest gamma_g,
    then the larger gamma.
    """
    cut = MaxMarginGraphCut(
        kernel=kernel,
        loss_weights="equal",
        class_mass_normalization=False,
        n_jobs=1,
        random_state=seed,
    )
    grid = {"gamma_g": GAMMA_G, "C": _Cs(y)}
    found = MaxMarginGraphCutCV(grid, estimator=cut, cv=_labeled(X_val, y_val)).fit(X, y)
    scores = found.cv_results_["mean_test_score"]
    order = [
        (-score, p["gamma_g"], p["C"])
        for p, score in zip(found.cv_results_["params"], scores, strict=True)
    ]
    _, gamma_g, C = min(order)
    return cut.set_params(gamma_g=gamma_g, C=C).fit(X, y)


def auto_cut(
    kernel: str, X: FloatArray, y: IntArray, X_val: FloatArray, y_val: IntArray, seed: int
) -> Any:
    """Return the blend of cuts that the validation labels decide."""
    search = MaxMarginGraphCutCV(estimator=_cut(kernel, seed), cv=_labeled(X_val, y_val))
    return search.fit(X, y)


def folds_cut(
    kernel: str,
    X: FloatArray,
    y: IntArray,
    X_val: FloatArray,  # noqa: ARG001 - validation rows are not looked at
    y_val: IntArray,  # noqa: ARG001
    seed: int,
) -> Any:
    """Return the default cut on the training rows, half of the labels that the paper uses."""
    return _cut(kernel, seed).fit(X, y)


def all_labels_cut(
    kernel: str, X: FloatArray, y: IntArray, X_val: FloatArray, y_val: IntArray, seed: int
) -> Any:
    """Return the default cut on training and validation rows, unlabeled ones included.

    These are the labels that the paper uses, all of them for learning and choosing.
    """
    return _cut(kernel, seed).fit(np.concatenate([X, X_val]), np.concatenate([y, y_val]))


PAIR_METHODS: PairMethods = {
    SVM: paper_svm,
    GC_PAPER: paper_cut,
    "GC auto": auto_cut,
    "GC auto, folds": folds_cut,
    "GC auto, all labels": all_labels_cut,
}
"""The paper's two, and three ways in which we choose."""


def _cut(kernel: str, seed: int) -> MaxMarginGraphCut:
    return MaxMarginGraphCut(kernel=kernel, n_jobs=1, random_state=seed)


def _Cs(y: IntArray) -> list[float]:  # noqa: N802 - values of C
    """Return the values of C, the smallest and thus the largest gamma first."""
    n_labeled = (y != UNLABELED).sum()
    return [float(1 / (2 * share * n_labeled)) for share in GAMMA_SHARES]


def _labeled(X: FloatArray, y: IntArray) -> tuple[FloatArray, IntArray]:
    return X[y != UNLABELED], y[y != UNLABELED]
