"""Coupling of pairs: class probabilities from the functions of all pairs of classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from graphmargin._blocks import row_slices
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray

PAIR_SHARPNESS = 4.0
"""Factor from f of a pair, in units of its mean absolute value, to the log-odds of the pair.

A temperature is fitted to the coupled probabilities, so that only their order depends on it;
docs/evidence.md has the measurements. Values from 2.5 to 10 order rows nearly alike.
"""
MAX_LOG_ODDS = 30.0
"""Bound on the log-odds of a pair, so that no probability of a pair is exactly 0 or 1."""
LEAST_PROBABILITY = 1e-12
"""Lower bound on coupled probabilities, whose logarithm is taken."""


def class_scores(
    pairwise: FloatArray, n_classes: int, pair_scales: FloatArray | float = 1.0
) -> FloatArray:
    """Return a score for each class, or for two classes f itself, positive for the second.

    Scores of c > 2 classes are the coupled log-probabilities of f in units of `pair_scales`.

    Parameters
    ----------
    pairwise : array of shape (n, n_pairs)
        f of every pair of classes, positive for the first of them.
    n_classes : int
    pair_scales : array of shape (n_pairs,) or float
        Mean absolute value of f for every pair; it is ignored for two classes.

    Returns
    -------
    array of shape (n,) for two classes, else (n, c)

    Examples
    --------
    Class 0 beats classes 1 and 2, and class 2 beats class 1:

    >>> class_scores(np.array([[1.0, 2.0, -1.0]]), 3).round(2).tolist()
    [[-0.01, -4.69, -7.33]]
    >>> class_scores(np.array([[1.0], [-2.0]]), 2).tolist()
    [-1.0, 2.0]
    """
    if n_classes == 2:
        return np.asarray(-pairwise[:, 0])
    return coupled_log_probabilities(pairwise / pair_scales, n_classes)


def scales_of_pairs(pairwise: FloatArray) -> FloatArray:
    """Return the mean absolute value of f for every pair of classes, 1 where it is zero.

    Examples
    --------
    >>> scales_of_pairs(np.array([[1.0, 0.0], [-3.0, 0.0]])).tolist()
    [2.0, 1.0]
    """
    if not len(pairwise):
        return np.ones(pairwise.shape[1])
    scales = np.abs(pairwise).mean(axis=0, dtype=np.float64)
    scales[scales < np.finfo(np.float64).eps] = 1.0  # it is zero for equal rows
    return np.asarray(scales)


def coupled_log_probabilities(pairwise: FloatArray, n_classes: int) -> FloatArray:
    """Return log-probabilities of all classes that agree best with those of every pair.

    Let ``r_ij = 1 / (1 + exp(-4 f_ij))`` be the probability of class i against class j. Row by row,
    the second approach of Wu, Lin and Weng (JMLR 5, 2004) solves

    ``min_p sum_i sum_{j != i} (r_ji p_i - r_ij p_j)^2  subject to  sum_i p_i = 1``,

    whose solution is nonnegative. Where the r_ij are those of some p, it is this p.

    Parameters
    ----------
    pairwise : array of shape (n, n_pairs)
        f of every pair (0, 1), (0, 2), .., (1, 2), .., positive for the first class, in units of
        its mean absolute value.
    n_classes : int >= 2

    Notes
    -----
    Cost: a dense system of ``n_classes + 1`` equations for each row, in blocks of rows.

    Examples
    --------
    Class 0 wins both of its pairs clearly, class 1 beats class 2 by little:

    >>> log_p = coupled_log_probabilities(np.array([[1.0, 1.0, 0.1]]), 3)
    >>> np.exp(log_p).round(3).tolist()
    [[0.965, 0.019, 0.016]]
    """
    result = np.empty((pairwise.shape[0], n_classes))
    first, second = np.triu_indices(n_classes, 1)

    def fill(rows: slice) -> None:
        log_odds = np.clip(PAIR_SHARPNESS * pairwise[rows], -MAX_LOG_ODDS, MAX_LOG_ODDS)
        r = np.zeros((len(log_odds), n_classes, n_classes))
        r[:, first, second], r[:, second, first] = expit(log_odds), expit(-log_odds)
        result[rows] = _solve_coupling(r)

    blocks = list(row_slices(pairwise.shape[0], 24 * (n_classes + 1) ** 2))
    if len(blocks) == 1:
        fill(blocks[0])
    else:
        map_in_threads(fill, blocks, n_jobs=None)
    return np.log(np.maximum(result, LEAST_PROBABILITY))


def _solve_coupling(r: FloatArray) -> FloatArray:
    """Return p of every row from its probabilities of pairs, by the equations of the optimum."""
    n, c = r.shape[:2]
    diagonal = np.arange(c)
    system = np.zeros((n, c + 1, c + 1))
    system[:, :c, :c] = -r * np.swapaxes(r, 1, 2)
    system[:, diagonal, diagonal] = (r**2).sum(axis=1)
    system[:, :c, c] = system[:, c, :c] = 1.0  # the multiplier of the constraint, and itself
    right = np.zeros((n, c + 1, 1))
    right[:, c] = 1.0
    return np.asarray(np.linalg.solve(system, right)[:, :c, 0])
