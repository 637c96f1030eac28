"""Edge weights from distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_real
from graphmargin._typing import FloatArray
from graphmargin.graph.neighbors import Neighbors
from graphmargin.graph.voronoi_index import power_of_two

Width = Literal["paper", "self-tuning", "binary"] | float
NAMED_WIDTHS = ("paper", "self-tuning", "binary")
WIDTHS = "'paper', 'self-tuning', 'binary' or a positive number"


def feature_std(X: Any) -> FloatArray:
    """Return the standard deviation of every feature, in double precision and without a copy."""
    if sparse.issparse(X):
        from sklearn.utils.sparsefuncs import mean_variance_axis

        return np.asarray(np.sqrt(mean_variance_axis(X, axis=0)[1]), dtype=np.float64)
    unit = power_of_two(max(abs(X.max(initial=0.0)), abs(X.min(initial=0.0))))
    center = X.mean(axis=0, dtype=np.float64)
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
    spread = feature_std(X)
    return float(np.sqrt(len(spread)) * spread.mean()) or 1.0


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
        if self.scales is None:
            return np.asarray(-0.5 * np.square(distances / self.width))
        own = np.maximum(distances[:, [-1]], self.scales.min())
        return np.asarray(-(distances / own) * (distances / self.scales[neighbors.indices]))


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


def check_width(width: Any) -> float:
    """Return a width that is a number, or say what it must be."""
    return check_real("width", width, positive=True, hint=f"; use {WIDTHS}")
