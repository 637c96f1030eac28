"""Scales of columns of numbers: whether they have one unit, and their standard deviations."""

from __future__ import annotations

import numpy as np

from graphmargin._blocks import row_slices
from graphmargin._rows import MAGNITUDES
from graphmargin._typing import FloatArray

ONE_UNIT_SHARE = 0.45
"""Smallest effective share of the columns of a table whose numbers have one unit."""
MAX_RANGE_RATIO = 10.0
"""Largest ratio of the 90th to the 10th percentile of the ranges of columns with one unit."""
EQUAL_SCALES = 1.5
"""Largest ratio of standard deviations that count as equal, because scaling changes little."""


def have_one_unit(ranges: FloatArray, variances: FloatArray) -> bool:
    """Return whether columns seem to be measured in one unit, so that distances are theirs.

    Pixels and scores of a survey have one unit. Two things speak against it. One is that a few
    columns have nearly all of the variance, so that Euclidean distances would hardly depend on the
    others. The *effective share* of the columns, ``sum(v)^2 / (d sum(v^2))`` for variances v, is 1
    if all are equal, and 1 / d if a single column has all of it. The other is that ranges differ
    by more than ten times, from the 10th to the 90th percentile.

    Parameters
    ----------
    ranges, variances : arrays of shape (d,)
        Largest minus smallest number of each column, and its variance; constant columns have 0.

    Examples
    --------
    >>> have_one_unit(np.array([15.0, 15.0, 12.0]), np.array([4.0, 6.0, 3.0]))
    True
    >>> have_one_unit(np.array([15.0, 15.0, 900.0]), np.array([4.0, 6.0, 9e4]))
    False
    """
    varies = (ranges > 0) & (variances > 0)
    if varies.sum() < 2:
        return True
    ranges, variances = ranges[varies], variances[varies] / variances.max()
    share = variances.sum() ** 2 / (variances**2).sum() / len(variances)
    # Without interpolation, as values between two ranges would always have a similar size.
    low, high = np.quantile(ranges, [0.1, 0.9], method="inverted_cdf")
    return bool(share >= ONE_UNIT_SHARE and high <= MAX_RANGE_RATIO * low)


def ranges_and_variances(X: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return the range and the variance of every column; both are 0 if it is constant.

    A column whose numbers differ by rounding alone is constant, and so is one whose differences are
    too small to be squared.

    Examples
    --------
    >>> ranges_and_variances(np.array([[1.0, 7.0], [3.0, 7.0]]))[1].tolist()
    [1.0, 0.0]
    """
    n, d = X.shape
    low, high, center = X.min(axis=0), X.max(axis=0), X[0].astype(np.float64)
    sums, squares = np.zeros(d), np.zeros(d)
    for part in row_slices(n, 8 * d):
        differences = X[part] - center
        sums += differences.sum(axis=0)
        squares += np.einsum("nd,nd->d", differences, differences)
    variances = np.maximum(squares / n - (sums / n) ** 2, 0.0)
    rounding = np.finfo(X.dtype).eps * np.maximum(np.abs(low), np.abs(high)).astype(np.float64)
    smallest = 1e-20 * MAGNITUDES[X.dtype.name][0]  # whose inverse is finite
    is_constant = np.sqrt(variances) <= np.maximum(4 * rounding, smallest)
    ranges = np.subtract(high, low, dtype=np.float64)
    return np.where(is_constant, 0.0, ranges), np.where(is_constant, 0.0, variances)


def standardizing_factors(variances: FloatArray) -> FloatArray:
    """Return the factor that gives each column a variance of one; 0 leaves out a constant one.

    Examples
    --------
    >>> standardizing_factors(np.array([4.0, 0.0])).tolist()
    [0.5, 0.0]
    """
    return np.divide(1.0, np.sqrt(variances), out=np.zeros(len(variances)), where=variances > 0)


def are_equal_scales(variances: FloatArray) -> bool:
    """Return whether columns that are not constant have the same standard deviation.

    Examples
    --------
    >>> are_equal_scales(np.array([1.0, 0.0, 1.2])), are_equal_scales(np.array([1.0, 4.0]))
    (True, False)
    """
    present = np.sqrt(variances[variances > 0])
    return not len(present) or bool(present.max() <= EQUAL_SCALES * present.min())
