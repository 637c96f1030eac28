"""Grids that "auto" stands for, in units of the data, and what candidates are tested on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray, IntArray
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import centered
from graphmargin.margin.training import center_of
from graphmargin.selection.folds import label_folds

AUTO = "auto"
FEW_LABELS = 20
"""Labels up to which there are ten folds, and five above."""
FEW_A_CLASS = 3
"""Labels a class, on average, up to which class mass normalization is a candidate."""
SAMPLE = 300


@dataclass(frozen=True)
class Hidden:
    """The labels on which candidates are tested.

    Attributes
    ----------
    folds : list of arrays
        Labeled rows that are hidden, fold by fold.
    validation : tuple of rows and class codes, or None
        Labeled rows outside of the training rows, in place of folds.
    """

    folds: list[IntArray]
    validation: tuple[Any, IntArray] | None = None


def default_folds(codes: IntArray, random_state: Any) -> Hidden:
    """Return five folds of hidden labels, ten if there are at most 20 labels.

    Examples
    --------
    >>> len(default_folds(np.array([0, 0, 1, 1, -1]), 0).folds)
    4
    """
    few = (codes != UNLABELED).sum() <= FEW_LABELS
    return Hidden(label_folds(codes, 10 if few else 5, random_state))


def is_auto(value: Any) -> bool:
    """Tell whether the value of a parameter is to be chosen."""
    return isinstance(value, str) and value == AUTO


def gamma_g_grid(W: sparse.csr_array) -> list[float]:
    """Return inf, and four values from strong to weak sinks in units of the degrees of a graph.

    Examples
    --------
    >>> gamma_g_grid(sparse.csr_array(3 * np.ones((2, 2))))
    [inf, 10.0, 1.0, 0.1, 0.01]
    """
    return sink_grid(np.asarray(W.sum(axis=1)))


def sink_grid(degrees: FloatArray) -> list[float]:
    """Return the same from the degrees, of all vertices or of a sample.

    The walk falls into the sink with probability ``gamma_g / (d_i + gamma_g)``.

    Examples
    --------
    >>> sink_grid(np.array([30.0, 60.0]))
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
    rows = np.arange(0, X.shape[0], -(-X.shape[0] // SAMPLE))
    if kernel.kind == "precomputed":
        K = X[rows][:, rows]
        K = K.toarray() if sparse.issparse(K) else K
    else:
        points = centered(X[rows], center_of(X[rows], kernel))
        K = kernel(points, points)
    variance = float(np.diagonal(K).mean() - K.mean())
    rounding = 10 * np.finfo(K.dtype).eps * float(np.abs(K).mean())
    unit = _power_of_ten(np.round(-np.log10(variance) - 0.25)) if variance > rounding else 1.0
    return [unit, 10 * unit, 100 * unit]


def gamma_u_grid(n: int) -> list[float]:
    """Return weights of f'Lf, a sum over edges: 0, and four in units of 1 / n.

    Examples
    --------
    >>> gamma_u_grid(1000)
    [0.0, 0.0001, 0.001, 0.01, 0.1]
    """
    return [0.0, *(factor / n for factor in (0.1, 1.0, 10.0, 100.0))]


def prior_grid(labels: EncodedLabels) -> list[Any]:
    """Return False, and class priors to normalize to where labels are few.

    The priors are those of the labels, with one label more in each class.

    Examples
    --------
    >>> prior_grid(EncodedLabels(np.array(["a", "b"]), np.array([0, 0, 1, -1])))
    [False, (3, 2)]
    """
    counts = label_counts(labels)
    if counts.sum() > FEW_A_CLASS * len(counts):
        return [False]
    return [False, tuple((counts + 1).tolist())]


def label_counts(labels: EncodedLabels) -> IntArray:
    """Return the number of labels of each class."""
    return np.bincount(labels.codes[labels.labeled], minlength=len(labels.classes))


def grid_points(grid: Mapping[str, Sequence[Any]]) -> list[dict[str, Any]]:
    """Return all combinations of the values of some parameters.

    Examples
    --------
    >>> grid_points({"C": [1, 2], "gamma_g": [0.1]})
    [{'C': 1, 'gamma_g': 0.1}, {'C': 2, 'gamma_g': 0.1}]
    """
    return [dict(zip(grid, values, strict=True)) for values in product(*grid.values())]


def _power_of_ten(exponent: Any) -> float:
    return float(f"1e{int(exponent)}")
