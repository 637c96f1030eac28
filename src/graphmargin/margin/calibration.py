"""Scores to probabilities, with one number fitted to what the graph believes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from graphmargin._typing import FloatArray, IntArray


def calibration_targets(class_mass: FloatArray, codes: IntArray) -> FloatArray:
    """Return what the probabilities of the training points should be.

    An unlabeled point has the class shares of its walk, given that the walk ends at a label: the
    sink says how far away the labels are, not which one is right. A labeled point has Platt's
    target: n labels of a class are no proof of probability one, but of (n + 1) / (n + 2).

    Parameters
    ----------
    class_mass : array of shape (n, c)
        Absorption probabilities of the points.
    codes : array of shape (n,)
        Given labels, -1 where there is none.

    Examples
    --------
    >>> calibration_targets(np.array([[0.1, 0.3], [1.0, 0.0]]), np.array([-1, 0])).round(3).tolist()
    [[0.25, 0.75], [0.667, 0.333]]
    """
    n_classes = class_mass.shape[1]
    total = class_mass.sum(axis=1, keepdims=True)
    targets = np.where(total > 0, class_mass, 1 / n_classes) / np.where(total > 0, total, 1.0)
    given = np.flatnonzero(codes >= 0)
    counts = np.bincount(codes[given], minlength=n_classes)
    doubt = 1 / (counts[codes[given]] + 2)
    targets[given] = doubt[:, None] / (n_classes - 1)
    targets[given, codes[given]] = 1 - doubt
    return targets


def fit_sharpness(scores: FloatArray, targets: FloatArray) -> float:
    """Return the a > 0 for which ``softmax(a * scores)`` is closest to the target distributions.

    Minimizes the cross-entropy, which is convex in a. A single positive factor keeps the arg max
    of the scores, so that probabilities and predictions agree.

    Parameters
    ----------
    scores : array of shape (n,) or (n, c)
        Decision values; one column stands for the difference of two classes.
    targets : array of shape (n, c)
        Rows sum to one.

    Examples
    --------
    >>> scores = np.array([-1.0, 1.0])
    >>> targets = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> float(probabilities(scores, fit_sharpness(scores, targets))[1, 1].round(3))
    0.8
    """
    columns = _per_class(scores)

    def cross_entropy(log_a: float) -> float:
        return float(-(targets * log_softmax(np.exp(log_a) * columns, axis=1)).mean())

    best = minimize_scalar(cross_entropy, bounds=np.log([1e-3, 1e3]), method="bounded")
    return float(np.exp(best.x))


def probabilities(scores: FloatArray, sharpness: float) -> FloatArray:
    """Return class probabilities of shape (n, c) for decision values."""
    return np.asarray(softmax(sharpness * _per_class(scores), axis=1))


def _per_class(scores: FloatArray) -> FloatArray:
    if scores.ndim == 1:
        return np.column_stack([np.zeros_like(scores), scores])
    return scores
