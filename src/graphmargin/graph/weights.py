"""Weights of edges as functions of distances."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_real
from graphmargin._rows import common_exponent, scale_rows
from graphmargin._typing import FloatArray
from graphmargin.graph._search.neighbors import Neighbors
from graphmargin.graph._search.voronoi_index import power_of_two

Width = Literal["paper", "self-tuning", "binary"] | float
NAMED_WIDTHS = ("paper", "self-tuning", "binary")
MAX_SCALED_EXPONENT = 500
"""Largest binary exponent of a width, relative to the scale of the rows."""
WIDTHS = "'paper', 'self-tuning', 'binary' or a positive number"


def feature_std(X: Any) -> FloatArray:
    """Return the standard deviation of every feature, in double precision without a copy of X."""
    if sparse.issparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return np.asarray(np.sqrt(mean_variance_axis(X, axis=0)[1]), dtype=np.float64)
    center = X.mean(axis=0, dtype=np.float64)
    # The unit is that of the spread, because a common offset of all rows may be much larger.
    unit = power_of_two(float(max((X.max(axis=0) - center).max(), (center - X.min(axis=0)).max())))
    squares = np.zeros(X.shape[1])
    for rows in row_slices(X.shape[0], 8 * X.shape[1]):
        squares += np.square((X[rows] - center) / unit).sum(axis=0)
    return np.asarray(np.sqrt(squares / X.shape[0]) * unit)


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
    exponent = common_exponent(X)
    spread = feature_std(scale_rows(X, exponent))
    return float(np.ldexp(np.sqrt(len(spread)) * spread.mean(), exponent)) or 1.0


@dataclass(frozen=True)
class Weighting:
    """A rule that turns distances into ``exp(-d^2 / (2 width^2))`` or ``exp(-d^2 / (s_i s_j))``.

    For self-tuning weights, `scales` holds the distance s_i of every vertex to its k-th neighbor;
    the scale of a new point is at least the smallest of them. An infinite width means binary
    weights.
    """

    width: float
    scales: FloatArray | None = None

    def log_weights(self, neighbors: Neighbors) -> FloatArray:
        """Return log w for every query and neighbor, which does not underflow."""
        distances = neighbors.distances
        with np.errstate(over="ignore"):
            if self.scales is None:
                return np.asarray(-0.5 * np.square(distances / self.width))
            scales = np.maximum(distances[:, [-1]], self.scales.min())
            return np.asarray(-(distances / scales) * (distances / self.scales[neighbors.indices]))

    def log_weights_of_points(self, neighbors: Neighbors) -> FloatArray:
        """Return log w for new points, of which each has an edge, however far away it is.

        Where even the logarithms overflow, the nearest neighbors, in units of their scales, get
        the smallest finite one, and all others no edge. This is the limit for distant points.
        """
        log_weights = self.log_weights(neighbors)
        overflowing = np.flatnonzero(np.isneginf(log_weights).all(axis=1))
        if len(overflowing):
            units = 1.0 if self.scales is None else self.scales[neighbors.indices[overflowing]]
            order = 2 * np.log(neighbors.distances[overflowing]) - np.log(units)
            is_nearest = order == order.min(axis=1, keepdims=True)
            log_weights[overflowing] = np.where(is_nearest, np.finfo(np.float64).min, -np.inf)
        return log_weights


def fit_weighting(X: Any, neighbors: Neighbors, width: Width) -> Weighting:
    """Return the weighting of the edges from X to its `neighbors` for a `width` option."""
    if width == "paper":
        return Weighting(paper_width(X))
    if width == "binary":
        return Weighting(np.inf)
    if width == "self-tuning":
        scales = neighbors.distances[:, -1]
        # A vertex with k duplicates has scale zero, and gets the smallest positive scale.
        positive = scales[scales > 0]
        return Weighting(np.nan, np.maximum(scales, positive.min() if len(positive) else 1.0))
    return Weighting(check_width(width))


def kernel_width(X: Any, width: Width) -> float:
    """Return the width of a kernel for a `width` option: the number, or the paper's width."""
    if isinstance(width, str) and width in NAMED_WIDTHS:
        return paper_width(X)
    return check_width(width)


def scaled_width(width: Width, exponent: int) -> Width:
    """Return a `width` option for rows that were multiplied by ``2^-exponent``.

    Examples
    --------
    >>> scaled_width("paper", 900), scaled_width(12.0, 2)
    ('paper', 3.0)
    """
    if isinstance(width, str) or exponent == 0:
        return width
    width = check_width(width)
    if abs(math.frexp(width)[1] - exponent) > MAX_SCALED_EXPONENT:
        msg = f"`width`={width!r} is far too large or too small for the rows of `X`; use 'paper'"
        raise ValueError(msg)
    return math.ldexp(width, -exponent)


def check_width(width: Any) -> float:
    """Return a numerical width as a float, or raise ValueError."""
    return check_real("width", width, positive=True, hint=f"; use {WIDTHS}")
