"""Grids of candidate values for "auto", in units of the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray, IntArray
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import subtract_center
from graphmargin.margin.training import choose_center

MAX_LABELS_PER_CLASS = 3
"""Largest mean number of labels per class with class mass normalization as a candidate."""
VARIANCE_ROWS = 300
"""Number of rows from which the variance of a kernel's features is estimated."""
HAT_LOSS_GRID = (0.0, 0.01, 0.1, 1.0)
"""Candidates of "auto" for gamma_u, the weight of the hat losses."""


def gamma_g_grid(W: sparse.csr_array) -> list[float]:
    """Return inf and four values of gamma_g, from strong to weak sinks, in units of the degrees.

    Examples
    --------
    >>> gamma_g_grid(sparse.csr_array(3 * np.ones((2, 2))))
    [inf, 10.0, 1.0, 0.1, 0.01]
    """
    return gamma_g_grid_of_degrees(np.asarray(W.sum(axis=1)))


def gamma_g_grid_of_degrees(degrees: FloatArray) -> list[float]:
    """Return the values of `gamma_g_grid` from the degrees of all vertices, or of a sample.

    The walk ends in the sink with probability ``gamma_g / (d_i + gamma_g)``.

    Examples
    --------
    >>> gamma_g_grid_of_degrees(np.array([30.0, 60.0]))
    [inf, 100.0, 10.0, 1.0, 0.1]
    """
    positive = degrees[degrees > 0]
    unit = _power_of_ten(np.floor(np.log10(np.median(positive)))) if len(positive) else 1.0
    return [np.inf, 10 * unit, unit, unit / 10, unit / 100]


def c_grid(X: Any, kernel: Kernel) -> list[float]:
    """Return three values of C in units of the inverse variance of the kernel's features.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> c_grid(X, Kernel("rbf"))
    [1.0, 10.0, 100.0]
    >>> c_grid(100 * X, Kernel("linear"))
    [1e-05, 0.0001, 0.001]
    """
    rows = np.arange(0, X.shape[0], -(-X.shape[0] // VARIANCE_ROWS))
    if kernel.kind == "precomputed":
        K = kernel.select_rows(X, rows)
        K = K.toarray() if sparse.issparse(K) else K
    else:
        points = subtract_center(X[rows], choose_center(X[rows], kernel))
        K = kernel(points, points)
    variance = float(np.diagonal(K).mean() - K.mean())
    rounding = 10 * np.finfo(K.dtype).eps * float(np.abs(K).mean())
    unit = _power_of_ten(np.round(-np.log10(variance) - 0.25)) if variance > rounding else 1.0
    return [unit, 10 * unit, 100 * unit]


def gamma_u_grid(n: int) -> list[float]:
    """Return 0 and four values of gamma_u, the weight of f'Lf, in units of 1 / n.

    Examples
    --------
    >>> gamma_u_grid(1000)
    [0.0, 0.0001, 0.001, 0.01, 0.1]
    """
    return [0.0, *(factor / n for factor in (0.1, 1.0, 10.0, 100.0))]


def prior_grid(labels: EncodedLabels) -> list[Any]:
    """Return False and, if labels are few, class priors for class mass normalization.

    The priors are the class counts of the labels, with one label more in each class.

    Examples
    --------
    >>> prior_grid(EncodedLabels(np.array(["a", "b"]), np.array([0, 0, 1, -1])))
    [False, (3, 2)]
    """
    counts = label_counts(labels)
    if counts.sum() > MAX_LABELS_PER_CLASS * len(counts):
        return [False]
    return [False, tuple((counts + 1).tolist())]


def label_counts(labels: EncodedLabels) -> IntArray:
    """Return the number of labels of each class."""
    return np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))


def _power_of_ten(exponent: Any) -> float:
    return float(f"1e{int(exponent)}")
