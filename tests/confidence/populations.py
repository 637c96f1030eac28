"""A population of three classes, and held-out predictions of a classifier for some of its rows."""

import numpy as np

from graphmargin.confidence.held_out_predictions import predictions_for

SHARES = np.array([0.7, 0.2, 0.1])
CENTERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])


def population(n, rng, inverse_temperature=1.0):
    """Return classes of random rows, in shares `SHARES`, and the probabilities of a classifier.

    The probabilities are right for an inverse temperature of 1.
    """
    codes = rng.choice(3, size=n, p=SHARES)
    X = CENTERS[codes] + rng.normal(size=(n, 2))
    density = SHARES * np.exp(-((X[:, None] - CENTERS) ** 2).sum(axis=2) / 2)
    P = density**inverse_temperature
    return codes, P / P.sum(axis=1, keepdims=True)


def labeled_per_class(codes, n_labels, rng):
    """Return as many random rows of each class."""
    rows = [rng.permutation(np.flatnonzero(codes == k))[:n_labels] for k in range(3)]
    return np.concatenate(rows)


def held_out_at(codes, P, rows):
    """Return held-out predictions at some rows of a population, whose other rows are unlabeled."""
    rest = np.delete(P, rows, axis=0)
    return predictions_for(codes[rows], P[rows], rows, uniform_share=0.0, unlabeled=rest)
