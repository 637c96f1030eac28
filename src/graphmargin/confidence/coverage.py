"""Accuracy against coverage: how many of the surest rows are labeled right."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import (
    HeldOutPredictions,
    estimate_accuracy,
    expected_confusion,
    predictions_by_confusion,
)

SHARES = tuple(k / 20 for k in range(1, 21))
"""Shares of the rows at which the accuracy is estimated."""
LEVELS = (0.99, 0.95, 0.9, 0.8)
"""Accuracies of which it is told for how many of the rows they hold; the first that does counts."""
MIN_SHARE = 0.25
"""Least share of the rows for which an accuracy is told."""


@dataclass(frozen=True)
class CoverageCurve:
    """The estimated accuracy among the surest rows, with 95 % intervals, for shares of the rows.

    Attributes
    ----------
    shares : array of shape (q,)
        Shares of the rows, increasing; the last is 1.
    thresholds : array of shape (q,)
        Least confidence among these rows.
    mean_confidence : array of shape (q,)
        Mean confidence of these rows, which is their accuracy by the probabilities alone.
    n_held_out : array of shape (q,)
        Number of held-out labels that are as sure.
    accuracy : array of shape (q,)
    interval : array of shape (q, 2)
    """

    shares: FloatArray
    thresholds: FloatArray
    mean_confidence: FloatArray
    n_held_out: IntArray
    accuracy: FloatArray
    interval: FloatArray


@dataclass(frozen=True)
class SurestRows:
    """A share of the rows, the surest ones, and how many of them are estimated to be right.

    Attributes
    ----------
    share : float
    threshold : float
        Least confidence among them.
    accuracy : float
    interval : tuple of float
        A 95 % interval.
    """

    share: float
    threshold: float
    accuracy: float
    interval: tuple[float, float]


def coverage_curve(
    held_out: HeldOutPredictions, distributions: FloatArray, predicted: IntArray | None = None
) -> CoverageCurve:
    """Return the estimated accuracy among the surest rows, for twenty shares of the rows.

    The confidence of a row is the probability of its label. For each share, the accuracy is that
    of `estimate_accuracy`, with the class shares and the confusion of the rows in question, and
    with the held-out labels whose confidence is as high; the guess counts for this share of a
    label. For all rows it is thus the estimate of the accuracy itself.

    Parameters
    ----------
    held_out : HeldOutPredictions
    distributions : array of shape (m, c)
        Class probabilities of m > 0 unlabeled rows.
    predicted : array of shape (m,), default=None
        Labels of these rows; None is the most probable class.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> cut = MaxMarginGraphCut(random_state=0).fit(X[:500], few)
    >>> curve = coverage_curve(cut.held_out_, cut.label_distributions_[few == -1])
    >>> curve.accuracy[[9, -1]].round(2).tolist(), round(cut.accuracy_.accuracy, 2)
    ([0.98, 0.89], 0.89)
    """
    codes = distributions.argmax(axis=1) if predicted is None else predicted
    confidence = distributions[np.arange(len(codes)), codes]
    order = np.argsort(-confidence, kind="stable")
    # Rows of equal confidence belong to a share together, in whatever order they come.
    places = np.maximum(1, np.rint(np.array(SHARES) * len(order)).astype(np.int64)) - 1
    thresholds = np.unique(confidence[order[places]])[::-1]
    ends = np.searchsorted(-confidence[order], -thresholds, side="right")
    joint = np.zeros((distributions.shape[1], distributions.shape[1]))
    certainty = held_out.probabilities[np.arange(len(held_out.codes)), held_out.predicted]
    weighted = held_out.weighted_codes
    n_held_out, accuracy, interval, start = [], [], [], 0
    for threshold, end in zip(thresholds, ends, strict=True):
        rows = order[start:end]
        joint += expected_confusion(distributions[rows], codes[rows])
        is_sure = (
            certainty >= threshold if end < len(order) else np.ones(len(certainty), dtype=bool)
        )
        among_sure = predictions_by_confusion(
            held_out.codes[is_sure],
            held_out.probabilities[is_sure],
            None,
            uniform_share=held_out.uniform_share,
            joint=joint,
            weighted_codes=None if weighted is None else weighted[is_sure],
        )
        estimate = estimate_accuracy(among_sure, n_guesses=end / len(order))
        n_held_out.append(estimate.n_held_out)
        accuracy.append(estimate.accuracy)
        interval.append(estimate.interval)
        start = end
    return CoverageCurve(
        shares=ends / len(order),
        thresholds=thresholds,
        mean_confidence=(np.cumsum(confidence[order]) / np.arange(1, len(order) + 1))[ends - 1],
        n_held_out=np.array(n_held_out),
        accuracy=np.array(accuracy),
        interval=np.array(interval),
    )


def surest_rows(curve: CoverageCurve) -> SurestRows:
    """Return the largest share of the rows that reaches a round accuracy.

    The accuracy is 99 %, or else 95, 90 or 80 % if no quarter of the rows reaches more. It must be
    reached by the estimate and by the mean confidence alike: of twenty shares, the largest that
    held-out labels are right about would be a lucky one. If none is reached, the surest half is
    returned.

    Examples
    --------
    >>> curve = CoverageCurve(
    ...     shares=np.array([0.5, 1.0]), thresholds=np.array([0.9, 0.4]),
    ...     mean_confidence=np.array([0.95, 0.8]), n_held_out=np.array([20, 30]),
    ...     accuracy=np.array([0.96, 0.81]), interval=np.array([[0.8, 1.0], [0.7, 0.9]]),
    ... )
    >>> rows = surest_rows(curve)
    >>> rows.share, rows.accuracy
    (0.5, 0.96)
    """
    accuracy = np.minimum(curve.accuracy, curve.mean_confidence)
    chosen = int(np.argmin(np.abs(curve.shares - 0.5)))
    for level in LEVELS:
        reached = np.flatnonzero((accuracy >= level) & (curve.shares >= MIN_SHARE))
        if len(reached):
            chosen = int(reached[-1])
            break
    low, high = curve.interval[chosen].tolist()
    return SurestRows(
        share=float(curve.shares[chosen]),
        threshold=float(curve.thresholds[chosen]),
        accuracy=float(curve.accuracy[chosen]),
        interval=(low, high),
    )
