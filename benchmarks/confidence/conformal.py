"""Prediction sets by other libraries: crepes on our scores, and a split-conformal SVC."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC


def crepes_sets(
    held_out: np.ndarray, codes: np.ndarray, P: np.ndarray, coverage: float
) -> np.ndarray:
    """Return prediction sets of crepes from probabilities of held-out labels and of new rows.

    The nonconformity is one minus the probability of the class. P-values are not randomized.
    """
    from crepes import ConformalClassifier
    from crepes.extras import hinge

    classifier = ConformalClassifier()
    with warnings.catch_warnings():
        # crepes suggests to take more labels if there are few.
        warnings.simplefilter("ignore", UserWarning)
        classifier.fit(hinge(held_out, np.arange(P.shape[1]), codes))
        sets = classifier.predict_set(hinge(P), confidence=coverage, smoothing=False)
    return np.asarray(sets, dtype=bool)


def svc_sets(
    X: np.ndarray, few: np.ndarray, new: np.ndarray, coverage: float, seed: int
) -> np.ndarray:
    """Return prediction sets of an SVC of scikit-learn for new rows, by split conformal prediction.

    Half of the labels of each class train ``SVC(C=10)``, and the other half calibrates it. The
    nonconformity of a class is the best decision value of the others minus its own.
    """
    labeled = np.flatnonzero(few >= 0)
    train, calibration = train_test_split(
        labeled, test_size=0.5, stratify=few[labeled], random_state=seed
    )
    machine = SVC(C=10.0).fit(X[train], few[train])
    codes = few[calibration]
    alphas = _nonconformity(machine, X[calibration])[np.arange(len(codes)), codes]
    rank = int(np.ceil(coverage * (len(alphas) + 1) - 1e-12))
    threshold = np.sort(alphas)[rank - 1] if rank <= len(alphas) else np.inf
    return _nonconformity(machine, X[new]) <= threshold


def _nonconformity(machine: SVC, X: np.ndarray) -> np.ndarray:
    values = machine.decision_function(X)
    if values.ndim == 1:
        values = np.column_stack([-values, values])
    ordered = np.sort(values, axis=1)
    best, second = ordered[:, -1:], ordered[:, -2:-1]
    return np.where(values == best, second, best) - values
