"""Coupling of pairs: class probabilities from the functions of all pairs of classes."""

from __future__ import annotations

import numpy as np
from scipy.special import expit

from graphmargin._blocks import row_slices
from graphmargin._compilation import kernel
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin._solvers.shortlists import pair_numbers

PAIR_INVERSE_TEMPERATURE = 4.0
"""Factor from f of a pair, in units of its mean absolute value, to the log-odds of the pair.

A temperature is fitted to the coupled probabilities, so that only their order depends on it;
docs/evidence.md has the measurements. Values from 2.5 to 10 order rows nearly alike.
"""
MAX_LOG_ODDS = 30.0
"""Bound on the log-odds of a pair, so that no probability of a pair is exactly 0 or 1."""
LEAST_PROBABILITY = 1e-12
"""Lower bound on coupled probabilities, whose logarithm is taken."""


def class_scores(
    pairwise: FloatArray,
    n_classes: int,
    pair_scales: FloatArray | float = 1.0,
    shortlists: IntArray | None = None,
) -> FloatArray:
    """Return a score for each class, or for two classes f itself, positive for the second.

    Scores of c > 2 classes are the coupled log-probabilities of f in units of `pair_scales`. A
    class that is not on the shortlist of a row is as likely as the least likely one on it.

    Parameters
    ----------
    pairwise : array of shape (n, n_pairs)
        f of every pair of classes, or of the shortlist, positive for the first of them.
    n_classes : int
    pair_scales : array of shape (n_pairs,) or float
        Mean absolute value of f for every pair of classes; it is ignored for two classes.
    shortlists : array of shape (n, k), default=None
        Ascending class codes of each row; None if all classes are compared.

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
    if shortlists is not None and np.ndim(pair_scales):
        pair_scales = np.asarray(pair_scales)[pair_numbers(shortlists, n_classes)]
    with np.errstate(over="ignore"):  # the log-odds are bounded
        in_units = pairwise / pair_scales
    if shortlists is None:
        return coupled_log_probabilities(in_units, n_classes)
    log_p = coupled_log_probabilities(in_units, shortlists.shape[1])
    scores = np.repeat(log_p.min(axis=1, keepdims=True), n_classes, axis=1)
    np.put_along_axis(scores, shortlists, log_p, axis=1)
    return scores


def mean_sizes(pairwise: FloatArray) -> FloatArray:
    """Return the mean absolute value of f for every pair of classes, zero without rows.

    Examples
    --------
    >>> mean_sizes(np.array([[1.0, 0.0], [-3.0, 0.0]])).tolist()
    [2.0, 0.0]
    """
    if not len(pairwise):
        return np.zeros(pairwise.shape[1])
    return np.asarray(np.abs(pairwise).mean(axis=0, dtype=np.float64))


def scales_of_pairs(means: FloatArray) -> FloatArray:
    """Return units of f from its `mean_sizes`: themselves, or 1 where f is zero, as of equal rows.

    Examples
    --------
    >>> scales_of_pairs(np.array([2.0, 0.0])).tolist()
    [2.0, 1.0]
    """
    return np.where(means < np.finfo(np.float64).eps, 1.0, means)


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
    Cost: a Cholesky factorization of order `n_classes` for each row.

    Examples
    --------
    Class 0 wins both of its pairs clearly, class 1 beats class 2 by little:

    >>> log_p = coupled_log_probabilities(np.array([[1.0, 1.0, 0.1]]), 3)
    >>> np.exp(log_p).round(3).tolist()
    [[0.965, 0.019, 0.016]]
    """
    result = np.empty((pairwise.shape[0], n_classes))

    def fill(rows: slice) -> None:
        log_odds = np.clip(PAIR_INVERSE_TEMPERATURE * pairwise[rows], -MAX_LOG_ODDS, MAX_LOG_ODDS)
        wins = expit(log_odds, dtype=np.float64)
        losses = expit(-log_odds, dtype=np.float64)
        _solve_coupling(wins, losses, np.empty((n_classes, n_classes)), result[rows])

    blocks = list(row_slices(pairwise.shape[0], 24 * pairwise.shape[1]))
    if len(blocks) == 1:
        fill(blocks[0])
    else:
        map_in_threads(fill, blocks, n_jobs=None)
    return np.log(np.maximum(result, LEAST_PROBABILITY))


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _solve_coupling(wins, losses, system, result):  # type: ignore[no-untyped-def]
    """Fill p of every row, from the probabilities of the first and of the second class of pairs.

    With the matrix Q of the quadratic form, the optimum is the solution of ``(Q + 1 1') p = 1``,
    scaled to sum to one. Q + 1 1' is positive definite, also where Q is singular because some p
    agrees with all pairs.
    """
    c = len(system)
    for row in range(len(wins)):
        p = result[row]
        for i in range(c):
            system[i, i] = p[i] = 1.0
        pair = 0
        for i in range(c):
            for j in range(i + 1, c):
                win, loss = wins[row, pair], losses[row, pair]
                system[j, i] = 1.0 - win * loss
                system[i, i] += loss * loss
                system[j, j] += win * win
                pair += 1
        for j in range(c):  # the Cholesky factor, row by row
            for i in range(j):
                total = system[j, i]
                for k in range(i):
                    total -= system[j, k] * system[i, k]
                system[j, i] = total / system[i, i]
            total = system[j, j]
            for k in range(j):
                total -= system[j, k] * system[j, k]
            system[j, j] = np.sqrt(total)
            total = p[j]
            for k in range(j):
                total -= system[j, k] * p[k]
            p[j] = total / system[j, j]
        total = 0.0
        for j in range(c - 1, -1, -1):
            p[j] /= system[j, j]
            total += p[j]
            for k in range(j):
                p[k] -= system[j, k] * p[j]
        for j in range(c):
            p[j] /= total
