"""Scores to probabilities, with one number fitted to what the graph believes."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from graphmargin._typing import FloatArray


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
