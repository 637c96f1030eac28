"""Prediction sets: classes that contain the true one with a given probability."""

from __future__ import annotations

import warnings
from numbers import Real

import numpy as np

from graphmargin._typing import BoolArray, FloatArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions, require_held_out

TINY = float(np.finfo(np.float64).tiny)


def check_coverage(coverage: float) -> None:
    """Raise ValueError unless a coverage is a number between 0 and 1."""
    if not isinstance(coverage, Real) or not 0 < coverage < 1:
        msg = f"`coverage` must be a number between 0 and 1, got {coverage!r}"
        raise ValueError(msg)


def set_thresholds(
    held_out: HeldOutPredictions, coverage: float, *, per_class: bool = False
) -> FloatArray:
    """Return the smallest probability with which each class belongs to a prediction set.

    A set of all classes k with ``p_k >= t_k`` contains the true class with probability `coverage`,
    if labels are a random draw, within each class at least. The nonconformity of a held-out label
    is ``1 - p`` of its class (cross-conformal: the classifier has not seen it), and t_k is one
    minus its quantile of level `coverage`, where the new row itself counts as one more label that
    conforms least.

    Parameters
    ----------
    held_out : HeldOutPredictions
    coverage : float in (0, 1)
    per_class : bool, default=False
        Whether the coverage holds for the rows of every class (Mondrian), from the labels of this
        class alone, or for all rows, where labels have the weights of `label_weights`. Labels of
        other classes say nothing about the rows of a class without a held-out label.

    Returns
    -------
    array of shape (c,)
        ``-inf`` for classes that belong to all sets, as labels are too few to leave them out.

    Examples
    --------
    >>> from graphmargin.confidence.held_out_predictions import predictions_for
    >>> P = np.array([[0.9, 0.1], [0.8, 0.2], [0.7, 0.3], [0.1, 0.9], [0.2, 0.8], [0.4, 0.6]])
    >>> codes = np.array([0, 0, 0, 1, 1, 1])
    >>> held_out = predictions_for(codes, P, None, uniform_share=0.0, unlabeled=P)
    >>> set_thresholds(held_out, 0.7).round(2).tolist()
    [0.7, 0.7]
    >>> set_thresholds(held_out, 0.7, per_class=True).round(2).tolist()
    [0.7, 0.6]
    >>> set_thresholds(held_out, 0.95).tolist()
    [-inf, -inf]
    """
    check_coverage(coverage)
    label_probabilities = held_out.probabilities[np.arange(len(held_out.codes)), held_out.codes]
    weights = np.ones(len(held_out.class_shares)) if per_class else held_out.weights_by_class
    thresholds = np.empty(len(weights))
    for k in range(len(weights)):
        used = held_out.codes == k if per_class else slice(None)
        of_labels = weights[held_out.codes[used]]
        thresholds[k] = _lower_quantile(label_probabilities[used], of_labels, weights[k], coverage)
    return thresholds


def _lower_quantile(
    values: FloatArray, weights: FloatArray, new_weight: float, coverage: float
) -> float:
    """Return the largest t such that values >= t have the share `coverage` of all weights.

    The new row's own weight counts as that of a value below all others.
    """
    order = np.argsort(-values, kind="stable")
    total = weights.sum() + new_weight  # it is 0 if no row has the class of any label
    enough = np.flatnonzero(np.cumsum(weights[order]) >= max((coverage - 1e-12) * total, TINY))
    return float(values[order[enough[0]]]) if len(enough) else -np.inf


def highest_coverage(held_out: HeldOutPredictions, *, per_class: bool = False) -> float:
    """Return the largest coverage that the labels can guarantee without sets of all classes.

    It is n / (n + 1) for n labels, or for the smallest class if the coverage holds for each.

    Examples
    --------
    >>> from graphmargin.confidence.held_out_predictions import predictions_for
    >>> P = np.full((4, 2), 0.5)
    >>> held_out = predictions_for(np.array([0, 0, 0, 1]), P, None, uniform_share=0.0, unlabeled=P)
    >>> highest_coverage(held_out), highest_coverage(held_out, per_class=True)
    (0.8, 0.5)
    """
    n = int(held_out.label_counts.min()) if per_class else len(held_out.codes)
    return n / (n + 1)


def coverage_warning(
    held_out: HeldOutPredictions, coverage: float, *, per_class: bool = False
) -> str:
    """Return a sentence if labels are too few for a coverage, and empty text if they suffice.

    Examples
    --------
    >>> from graphmargin.confidence.held_out_predictions import predictions_for
    >>> P = np.full((4, 2), 0.5)
    >>> held_out = predictions_for(np.array([0, 0, 0, 1]), P, None, uniform_share=0.0, unlabeled=P)
    >>> coverage_warning(held_out, 0.6), coverage_warning(held_out, 0.9)[:48]
    ('', '4 labels can guarantee a coverage of at most 0.8')
    >>> coverage_warning(held_out, 0.7)[:58]  # the second class has half of the rows, but one label
    'Some classes have too few labels for a coverage of 0.7 and'
    """
    highest = highest_coverage(held_out)
    if coverage > highest and not per_class:
        return (
            f"{len(held_out.codes)} labels can guarantee a coverage of at most {highest:.3g}, so "
            f"that with {coverage:g} all classes belong to every set; label more rows, or choose "
            "a lower coverage."
        )
    if np.isneginf(set_thresholds(held_out, coverage, per_class=per_class)).any():
        return (
            f"Some classes have too few labels for a coverage of {coverage:g} and belong to every "
            "set; label more rows."
        )
    return ""


def prediction_sets(distributions: FloatArray, thresholds: FloatArray) -> BoolArray:
    """Return which classes belong to the prediction set of every row, see `set_thresholds`.

    Examples
    --------
    >>> prediction_sets(np.array([[0.9, 0.1], [0.5, 0.5]]), np.array([0.4, 0.4])).tolist()
    [[True, False], [True, True]]
    """
    return np.asarray(distributions >= thresholds)


def sets_with_coverage(
    held_out: HeldOutPredictions | None,
    distributions: FloatArray,
    coverage: float,
    *,
    per_class: bool,
) -> BoolArray:
    """Return the sets of some rows for a method `predict_set`, and warn if labels are too few."""
    held_out = require_held_out(held_out, "predict_set")
    thresholds = set_thresholds(held_out, coverage, per_class=per_class)
    warning = coverage_warning(held_out, coverage, per_class=per_class)
    if warning:
        warnings.warn(warning, UserWarning, stacklevel=3)
    return prediction_sets(distributions, thresholds)
