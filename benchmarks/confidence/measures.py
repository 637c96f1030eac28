"""Measures of class probabilities and prediction sets on rows whose class is known."""

from __future__ import annotations

import numpy as np

N_BINS = 15
"""Number of bins of the expected calibration error."""
LEAST_PROBABILITY = 1e-9
"""Lower bound on probabilities in the log-loss."""


def log_loss(P: np.ndarray, truth: np.ndarray) -> float:
    """Return the mean of minus the log-probability of the true class."""
    likelihood = P[np.arange(len(truth)), truth]
    return float(-np.log(np.maximum(likelihood, LEAST_PROBABILITY)).mean())


def area_under_risk_coverage(confidence: np.ndarray, right: np.ndarray) -> float:
    """Return the mean over all coverages of the error among the most confident rows (AURC).

    Rows of equal confidence all have their mean error, so that their order does not matter.
    """
    _, ranks, counts = np.unique(-confidence, return_inverse=True, return_counts=True)
    errors = np.bincount(ranks, ~right) / counts
    sorted_errors = np.repeat(errors, counts)
    return float((np.cumsum(sorted_errors) / np.arange(1, len(right) + 1)).mean())


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    """Return the expected calibration error (ECE) in bins of equal width.

    It is the mean over rows of the difference of mean confidence and accuracy in their bin.
    """
    bins = np.minimum((confidence * N_BINS).astype(int), N_BINS - 1)
    return float(np.abs(np.bincount(bins, confidence - right)).sum() / len(right))


def set_measures(sets: np.ndarray, truth: np.ndarray) -> dict[str, float]:
    """Return the coverage and the mean size of prediction sets, a boolean column for each class."""
    return {
        "coverage": float(sets[np.arange(len(truth)), truth].mean()),
        "size": float(sets.sum(axis=1).mean()),
    }
