"""Weights of edges as functions of distances."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_real
from graphmargin._rows import center_of_full_columns, subtract_center
from graphmargin._typing import FloatArray

Width = Literal["paper"] | float


def feature_std(X: Any) -> FloatArray:
    """Return the standard deviation of every feature, in double precision without a copy of X."""
    if sparse.issparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        X = sparse.csr_array(subtract_center(X, center_of_full_columns(X)))
        return np.asarray(np.sqrt(mean_variance_axis(X, axis=0)[1]), dtype=np.float64)
    center = X.mean(axis=0, dtype=np.float64)
    squares = np.zeros(X.shape[1])
    for rows in row_slices(X.shape[0], 8 * X.shape[1]):
        squares += np.square(X[rows] - center).sum(axis=0)
    return np.asarray(np.sqrt(squares / X.shape[0]))


def paper_width(X: Any) -> float:
    """Return the paper's width sqrt(K) sigma of a data set.

    K is the number of features and sigma the mean of their standard deviations. The graph,
    ``w = exp(-d^2 / (2 K sigma^2))``, and the kernels have the same width. It is 1 if all rows are
    equal, so that nothing is divided by zero.

    Examples
    --------
    >>> paper_width(np.array([[0.0, 0.0, 0.0, 0.0], [2.0, 2.0, 2.0, 2.0]]))
    2.0
    """
    spread = feature_std(X)
    return float(np.sqrt(len(spread)) * spread.mean()) or 1.0


def log_weights(distances: FloatArray, width: float) -> FloatArray:
    """Return ``log w = -d^2 / (2 width^2)`` for every distance, which does not underflow.

    Examples
    --------
    >>> log_weights(np.array([0.0, 2.0, 1e6]), width=2.0).tolist()
    [-0.0, -0.5, -125000000000.0]
    """
    with np.errstate(over="ignore"):
        return np.asarray(-0.5 * np.square(distances / width))


def log_weights_of_points(distances: FloatArray, width: float) -> FloatArray:
    """Return log w for new points; each has an edge, however far away it is.

    Where even the logarithms overflow, the nearest neighbors get the smallest finite one, and all
    others no edge. This is the limit for distant points.
    """
    logarithms = log_weights(distances, width)
    overflowing = np.flatnonzero(np.isneginf(logarithms).all(axis=1))
    if len(overflowing):
        far = distances[overflowing]
        is_nearest = far == far.min(axis=1, keepdims=True)
        logarithms[overflowing] = np.where(is_nearest, np.finfo(np.float64).min, -np.inf)
    return logarithms


def numeric_width(X: Any, width: Width) -> float:
    """Return the number of a `width` option: the paper's width of the rows, or the given number.

    Examples
    --------
    >>> X = np.array([[0.0], [2.0]])
    >>> numeric_width(X, "paper"), numeric_width(X, 5)
    (1.0, 5.0)
    """
    width = check_width(width)
    return width if isinstance(width, float) else paper_width(X)


def check_width(width: Any) -> Width:
    """Return a valid width, "paper" or a positive number, or raise ValueError."""
    if isinstance(width, str) and width == "paper":
        return "paper"
    return check_real("width", width, positive=True, hint="; use 'paper' or a positive number")
