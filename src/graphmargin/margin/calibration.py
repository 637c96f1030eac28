"""Calibration of scores: one or two numbers, fitted to labels, turn them into probabilities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax

from graphmargin._blocks import row_slices
from graphmargin._typing import FloatArray, IntArray

SHARPNESSES = np.geomspace(1e-3, 1e3, 61)
"""Values of the sharpness a that `fit_calibration` tries."""
MIN_DOUBT = 1e-6
"""Lower bound on the doubt, so that no class has probability zero."""
LIKELIHOOD_TOLERANCE = 0.1
"""Difference of the total log-likelihood, in nats, up to which calibrations are equally good."""


class Calibration(NamedTuple):
    """The two numbers that turn scores into probabilities, see `fit_calibration`.

    Examples
    --------
    >>> import numpy as np
    >>> from graphmargin.margin import Calibration, probabilities
    >>> calibration = Calibration(sharpness=1.0, doubt=0.1)
    >>> probabilities(np.array([0.0, 2.0]), *calibration).round(2).tolist()
    [[0.5, 0.5], [0.16, 0.84]]
    """

    sharpness: float
    doubt: float


def calibration_targets(
    class_mass: FloatArray, codes: IntArray, counts: IntArray | None = None
) -> FloatArray:
    """Return target probabilities of the training points.

    The target of an unlabeled point is the distribution of classes at which its walk ends, given
    that it ends at a label: the sink mass measures how far away the labels are, not which one is
    right. The target of a labeled point is Platt's, (n + 1) / (n + 2) for a class of n labels.

    Parameters
    ----------
    class_mass : array of shape (n, c)
        Absorption probabilities of the points.
    codes : array of shape (n,)
        Given labels, -1 where there is none.
    counts : array of shape (c,), default=None
        Number of labels of each class if the points are a sample; None counts those of `codes`.

    Examples
    --------
    >>> calibration_targets(np.array([[0.1, 0.3], [1.0, 0.0]]), np.array([-1, 0])).round(3).tolist()
    [[0.25, 0.75], [0.667, 0.333]]
    """
    n_classes = class_mass.shape[1]
    total = class_mass.sum(axis=1, keepdims=True)
    targets = np.where(total > 0, class_mass, 1 / n_classes) / np.where(total > 0, total, 1.0)
    given = np.flatnonzero(codes >= 0)
    if counts is None:
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
        Decision values; a single column is the difference of two classes.
    targets : array of shape (n, c)
        Target distributions; rows sum to one.

    Examples
    --------
    >>> scores = np.array([-1.0, 1.0])
    >>> targets = np.array([[0.8, 0.2], [0.2, 0.8]])
    >>> float(probabilities(scores, fit_sharpness(scores, targets))[1, 1].round(3))
    0.8
    """
    columns = _class_columns(scores)

    def cross_entropy(log_a: float) -> float:
        return float(-(targets * log_softmax(np.exp(log_a) * columns, axis=1)).mean())

    best = minimize_scalar(cross_entropy, bounds=np.log([1e-3, 1e3]), method="bounded")
    return float(np.exp(best.x))


def fit_calibration(scores: FloatArray, targets: FloatArray) -> Calibration:
    """Return the sharpness a and the doubt d for which probabilities are closest to the targets.

    ``p = (1 - d) softmax(a * scores) + d / c``: with probability d, the scores carry no
    information. With several classes, one-vs-one votes can rank the true class last, and sharpness
    alone could allow for that only by lowering the probabilities of every row. With few labels, all
    large values of a fit equally well; the smallest one within `LIKELIHOOD_TOLERANCE` nats of the
    best is taken, so that probabilities still differ between confident rows.

    Parameters
    ----------
    scores, targets
        As in `fit_sharpness`.

    Examples
    --------
    Nine of ten votes are right, and the tenth is not even close:

    >>> votes = np.tile([2.0, 1.0, 0.0], (10, 1))
    >>> targets = np.eye(3)[[0] * 9 + [2]]
    >>> sharpness = fit_sharpness(votes, targets)
    >>> probabilities(votes[:1], sharpness).round(2).tolist()
    [[0.83, 0.15, 0.03]]
    >>> probabilities(votes[:1], *fit_calibration(votes, targets)).round(2).tolist()
    [[0.89, 0.06, 0.05]]
    """
    columns = _class_columns(scores)
    losses, doubts = np.empty(len(SHARPNESSES)), np.empty(len(SHARPNESSES))
    for block in row_slices(len(SHARPNESSES), 256 * columns.size):  # blocks that fit into a cache
        P = softmax(SHARPNESSES[block, None, None] * columns, axis=2)
        doubts[block] = _best_doubts(P, targets)
        Q = _mixed_with_uniform(P, doubts[block, None, None])
        losses[block] = -(targets * np.log(Q)).sum(axis=(1, 2))
    chosen = int(np.argmax(losses <= losses.min() + LIKELIHOOD_TOLERANCE))
    return Calibration(float(SHARPNESSES[chosen]), float(doubts[chosen]))


def _best_doubts(P: FloatArray, targets: FloatArray) -> FloatArray:
    """Return the doubt that minimizes the cross-entropy, for each of several (n, c) probabilities.

    The cross-entropy is convex in the doubt. We take Newton steps, and bisect where a step leaves
    the bracket.
    """
    low, high = np.full(len(P), MIN_DOUBT), np.ones(len(P))
    doubts = np.full(len(P), 0.1)
    for _ in range(50):
        ratio = (1 / P.shape[2] - P) / _mixed_with_uniform(P, doubts[:, None, None])
        slope = -(targets * ratio).sum(axis=(1, 2))
        curvature = (targets * ratio**2).sum(axis=(1, 2))
        low, high = np.where(slope < 0, doubts, low), np.where(slope > 0, doubts, high)
        step = doubts - slope / np.maximum(curvature, np.finfo(np.float64).tiny)
        step = np.where((step > low) & (step < high), step, (low + high) / 2)
        moved = np.abs(step - doubts).max()
        doubts = step
        if moved < 1e-10:
            break
    return doubts


def probabilities(scores: FloatArray, sharpness: float, doubt: float = 0.0) -> FloatArray:
    """Return class probabilities of shape (n, c) for decision values.

    Examples
    --------
    >>> import numpy as np
    >>> from graphmargin.margin import probabilities
    >>> probabilities(np.array([-2.0, 0.0, 2.0]), sharpness=1.0).round(2).tolist()
    [[0.88, 0.12], [0.5, 0.5], [0.12, 0.88]]
    """
    return _mixed_with_uniform(softmax(sharpness * _class_columns(scores), axis=1), doubt)


def _mixed_with_uniform(P: FloatArray, doubt: float | FloatArray) -> FloatArray:
    return np.asarray((1 - doubt) * P + doubt / P.shape[-1])


def _class_columns(scores: FloatArray) -> FloatArray:
    if scores.ndim == 1:
        return np.column_stack([np.zeros_like(scores), scores])
    return scores
