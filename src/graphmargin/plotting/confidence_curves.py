"""Curves of confidence on rows whose true label is known: reliability, and error by coverage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import binomial_interval
from graphmargin.labels import confidence_of_labels


@dataclass(frozen=True)
class ReliabilityCurve:
    """The share of right labels among rows of similar confidence.

    Attributes
    ----------
    confidence, accuracy : arrays of shape (b,)
        Mean confidence and share of right labels in each bin that is not empty.
    interval : array of shape (b, 2)
        95 % interval of the share, with Jeffreys' prior.
    counts : array of shape (b,)
        Number of rows in each bin.

    Examples
    --------
    >>> curve = reliability_curve([0.9, 0.9, 0.9, 0.9], [True, True, True, False])
    >>> curve.accuracy.tolist(), curve.interval.round(2).tolist()
    ([0.75], [[0.28, 0.97]])
    """

    confidence: FloatArray
    accuracy: FloatArray
    interval: FloatArray
    counts: IntArray

    @property
    def calibration_error(self) -> float:
        """Expected calibration error: mean difference of confidence and accuracy, over all rows."""
        return float(np.average(np.abs(self.confidence - self.accuracy), weights=self.counts))


def reliability_curve(
    confidence: npt.ArrayLike, right: npt.ArrayLike, *, n_bins: int = 15
) -> ReliabilityCurve:
    """Return the share of right labels in bins of confidence of equal width.

    Parameters
    ----------
    confidence : array-like of shape (m,)
        Confidence of each row, in [0, 1].
    right : array-like of bool of shape (m,)
        Whether the label of each row is right.
    n_bins : int >= 1, default=15

    Examples
    --------
    >>> curve = reliability_curve([0.9, 0.9, 0.5, 0.5], [True, True, True, False], n_bins=10)
    >>> curve.confidence.tolist(), curve.accuracy.tolist()
    ([0.5, 0.9], [0.5, 1.0])
    >>> round(curve.calibration_error, 3)
    0.05
    """
    sure, is_right = _check_rows(confidence, right)
    bins = np.minimum((sure * n_bins).astype(np.int64), n_bins - 1)
    counts = np.bincount(bins, minlength=n_bins)
    used = counts > 0
    n = counts[used]
    mean = np.bincount(bins, sure, minlength=n_bins)[used] / n
    accuracy = np.bincount(bins, is_right, minlength=n_bins)[used] / n
    return ReliabilityCurve(mean, accuracy, binomial_interval(accuracy, n), n)


@dataclass(frozen=True)
class RiskCoverageCurve:
    """The error among the most confident rows, by their share of all rows.

    Attributes
    ----------
    coverage : array of shape (m,)
        Shares 1 / m, 2 / m, .., 1 of the rows.
    risk : array of shape (m,)
        Share of wrong labels among so many of the most confident rows. Rows of equal confidence
        count with their mean error, so that their order does not matter.

    Examples
    --------
    >>> curve = risk_coverage_curve([0.9, 0.5, 0.5], [True, True, False])
    >>> curve.risk.round(2).tolist(), round(curve.error, 2)
    ([0.0, 0.25, 0.33], 0.33)
    """

    coverage: FloatArray
    risk: FloatArray

    @property
    def area(self) -> float:
        """Area under the curve (AURC): mean risk over all coverages."""
        return float(self.risk.mean())

    @property
    def error(self) -> float:
        """Share of wrong labels among all rows."""
        return float(self.risk[-1])


def risk_coverage_curve(confidence: npt.ArrayLike, right: npt.ArrayLike) -> RiskCoverageCurve:
    """Return the error among the most confident rows for every coverage.

    Parameters
    ----------
    confidence : array-like of shape (m,)
    right : array-like of bool of shape (m,)
        Whether the label of each row is right.

    Examples
    --------
    >>> curve = risk_coverage_curve([0.9, 0.6, 0.8, 0.7], [True, False, True, True])
    >>> curve.coverage.tolist(), curve.risk.tolist()
    ([0.25, 0.5, 0.75, 1.0], [0.0, 0.0, 0.0, 0.25])
    >>> curve.area
    0.0625
    """
    sure, is_right = _check_rows(confidence, right)
    _, ranks, counts = np.unique(-sure, return_inverse=True, return_counts=True)
    errors = np.repeat(np.bincount(ranks, ~is_right) / counts, counts)
    numbers = np.arange(1, len(sure) + 1)
    return RiskCoverageCurve(numbers / len(sure), np.cumsum(errors) / numbers)


def predicted_rows(
    estimator: Any, y_true: npt.ArrayLike, X: Any = None
) -> tuple[FloatArray, BoolArray]:
    """Return the probability of each predicted label, and whether the label is right.

    Parameters
    ----------
    estimator : classifier
        Fitted, with class probabilities.
    y_true : array-like
        The true label of every row.
    X : array-like, default=None
        New rows to predict. None takes the training rows that were unlabeled, of a classifier that
        uses the graph.
    """
    check_is_fitted(estimator)
    if X is not None:
        P, labels = estimator.predict_proba(X), estimator.predict(X)
        unlabeled = np.ones(len(labels), dtype=np.bool_)
    elif hasattr(estimator, "harmonic_solution_"):
        P, labels = estimator.label_distributions_, estimator.transduction_
        unlabeled = ~estimator.harmonic_solution_.problem.labels.labeled
    else:
        msg = f"`X` must be rows to predict: {type(estimator).__name__} keeps no graph of its own"
        raise ValueError(msg)
    right = right_labels(y_true, labels)
    confidence = confidence_of_labels(labels, P, estimator.classes_)
    return np.asarray(confidence[unlabeled], dtype=np.float64), right[unlabeled]


def right_labels(y_true: npt.ArrayLike, labels: AnyArray) -> BoolArray:
    """Return which labels are the true ones, or raise ValueError if shapes differ.

    Examples
    --------
    >>> right_labels(["a", "b"], np.array(["a", "a"])).tolist()
    [True, False]
    """
    truth = np.asarray(y_true)
    if truth.shape != labels.shape:
        msg = f"`y_true` must have shape {labels.shape}, got {truth.shape}"
        raise ValueError(msg)
    return np.asarray(truth == labels)


def _check_rows(confidence: npt.ArrayLike, right: npt.ArrayLike) -> tuple[FloatArray, BoolArray]:
    sure, is_right = np.asarray(confidence, dtype=np.float64), np.asarray(right, dtype=np.bool_)
    if sure.ndim != 1 or sure.shape != is_right.shape or not len(sure):
        msg = (
            "`confidence` and `right` must have one entry for each of one or more rows, "
            f"got shapes {sure.shape} and {is_right.shape}"
        )
        raise ValueError(msg)
    if not (np.isfinite(sure).all() and sure.min() >= 0 and sure.max() <= 1 + 1e-9):
        msg = f"`confidence` must be in [0, 1], got values from {sure.min():g} to {sure.max():g}"
        raise ValueError(msg)
    return sure, is_right
