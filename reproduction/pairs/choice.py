"""The paper's choice of parameters: the least validation error, and what to do with ties.

With 2 to 50 validation labels most of a grid is tied, and the paper does not say which of the best
it takes. All rules here see the same grid, so that what a rule is worth can be read off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import FloatArray, IntArray


@dataclass(frozen=True)
class GridChoice:
    """Test errors of what is chosen from a grid, for every way to treat ties.

    Attributes
    ----------
    first, last : float
        Errors of the first and of the last of the best candidates.
    softest : float
        Error of the one with the least hinge loss on the validation rows.
    expected : float
        Mean error of all the best: what a choice at random can expect.
    averaged : float
        Error of the mean of their functions, each in its unit.
    oracle : float
        Least error of all candidates, for which one would have to know the test labels.
    n_best : int
        Number of candidates with the least validation error.
    validation : float
        That validation error.
    number : int
        Index of the first of the best candidates.
    """

    first: float
    last: float
    softest: float
    expected: float
    averaged: float
    oracle: float
    n_best: int
    validation: float
    number: int


def choose_of_grid(
    f_validation: FloatArray,
    y_validation: IntArray,
    f: FloatArray,
    y: IntArray,
    units: FloatArray | None = None,
) -> GridChoice:
    """Return what is chosen from the decisions of all candidates.

    Parameters
    ----------
    f_validation : array of shape (m, h)
        Decisions of m candidates on validation rows, positive for class 1; preferred ones first.
    y_validation : array of shape (h,)
        Their classes, 0 or 1.
    f, y : arrays of shape (m, t) and (t,)
        The same for the test rows.
    units : array of shape (m,), default=None
        Positive units of the functions that are averaged; None is the mean absolute value of each
        on the test rows.

    Examples
    --------
    >>> f = np.array([[1.0, 1.0], [-1.0, -1.0], [-1.0, 1.0]])
    >>> choice = choose_of_grid(f[:, :1], np.array([0]), f, np.array([0, 1]))
    >>> choice.number, choice.first, choice.last, choice.expected
    (1, 0.5, 0.0, 0.25)
    """
    wrong = ((f_validation > 0) != (y_validation == 1)).mean(axis=1)
    hinge = np.maximum(0.0, 1 - f_validation * (2 * y_validation - 1)).mean(axis=1)
    errors = ((f > 0) != (y == 1)).mean(axis=1)
    best = np.flatnonzero(wrong == wrong.min())
    scale = np.abs(f).mean(axis=1) if units is None else units
    mean = (f[best] / np.where(scale > 0, scale, 1.0)[best, None]).mean(axis=0)
    return GridChoice(
        first=float(errors[best[0]]),
        last=float(errors[best[-1]]),
        softest=float(errors[best[hinge[best].argmin()]]),
        expected=float(errors[best].mean()),
        averaged=float(((mean > 0) != (y == 1)).mean()),
        oracle=float(errors.min()),
        n_best=len(best),
        validation=float(wrong.min()),
        number=int(best[0]),
    )
