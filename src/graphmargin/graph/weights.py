"""Edge weights from distances."""

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
from graphmargin.graph.neighbors import Neighbors
from graphmargin.graph.voronoi_index import power_of_two

Width = Literal["paper", "self-tuning", "binary"] | float
NAMED_WIDTHS = ("paper", "self-tuning", "binary")
LARGEST_SCALED = 500
"""Size, as a power of two, up to which the width of scaled rows makes sense."""
WIDTHS = "'paper', 'self-tuning', 'binary' or a positive number"


def feature_std(X: Any) -> FloatArray:
    """Return the standard deviation of every feature, in double precision and without a copy."""
    if sparse.issparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return np.asarray(np.sqrt(mean_variance_axis(X, axis=0)[1]), dtype=np.float64)
    center = X.mean(axis=0, dtype=np.float64)
    # The unit is that of the spread, which an offset of all rows may exceed by far.
    unit = power_of_two(float(max((X.max(axis=0) - center).max(), (center - X.min(axis=0)).max())))
    squares = np.zeros(X.shape[1])
    for rows in row_slices(X.shape[0], 8 * X.shape[1]):
        squares += np.square((X[rows] - center) / unit).sum(axis=0)
    return np.asarray(np.sqrt(squares / X.shape[0]) * unit)


def paper_width(X: Any) -> float:
    """Return the paper's width sqrt(K) sigma of a data set.

    K is the number of features and sigma the mean of their standard deviations. The same width
    serves the graph, ``w = exp(-d^2 / (2 K sigma^2))``, and the kernels. It is 1 where all rows
    are equal, so that nothing is divided by zero.

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

    `scales` holds, for the self-tuning weights, the distance s_i of every vertex to its k-th
    neighbor; a new point's own scale is at least the smallest of them. A width of infinity gives
    binary weights.
    """

    width: float
    scales: FloatArray | None = None

    def log_weights(self, neighbors: Neighbors) -> FloatArray:
        """Return log w for every query and neighbor; far edges do not underflow here."""
        distances = neighbors.distances
        with np.errstate(over="ignore"):
            if self.scales is None:
                return np.asarray(-0.5 * np.square(distances / self.width))
            own = np.maximum(distances[:, [-1]], self.scales.min())
            return np.asarray(-(distances / own) * (distances / self.scales[neighbors.indices]))

    def log_weights_of_points(self, neighbors: Neighbors) -> FloatArray:
        """Return log w for new points, each of which has an edge however far away it is.

        Where even the logarithms leave the range, the nearest neighbors, in their own units, have
        the least finite one, and all others none: that is the limit for points far away.
        """
        log_weights = self.log_weights(neighbors)
        beyond = np.flatnonzero(np.isneginf(log_weights).all(axis=1))
        if len(beyond):
            units = 1.0 if self.scales is None else self.scales[neighbors.indices[beyond]]
            order = 2 * np.log(neighbors.distances[beyond]) - np.log(units)
            is_nearest = order == order.min(axis=1, keepdims=True)
            log_weights[beyond] = np.where(is_nearest, np.finfo(np.float64).min, -np.inf)
        return log_weights


def weighting(X: Any, neighbors: Neighbors, width: Width) -> Weighting:
    """Return how the edges to the `neighbors` of X are weighted for a `width` option."""
    if width == "paper":
        return Weighting(paper_width(X))
    if width == "binary":
        return Weighting(np.inf)
    if width == "self-tuning":
        scales = neighbors.distances[:, -1]
        # A vertex with k duplicates has scale zero; the smallest positive scale stands in.
        positive = scales[scales > 0]
        return Weighting(np.nan, np.maximum(scales, positive.min() if len(positive) else 1.0))
    return Weighting(check_width(width))


def kernel_width(X: Any, width: Width) -> float:
    """Return the width of a kernel for a `width` option: a number, or else the paper's."""
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
    if abs(math.frexp(width)[1] - exponent) > LARGEST_SCALED:
        msg = f"`width`={width!r} is out of all proportion to the rows of `X`; use 'paper'"
        raise ValueError(msg)
    return math.ldexp(width, -exponent)


def check_width(width: Any) -> float:
    """Return a width that is a number, or say what it must be."""
    return check_real("width", width, positive=True, hint=f"; use {WIDTHS}")
