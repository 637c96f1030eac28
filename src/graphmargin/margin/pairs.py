"""Problems of max-margin machines, and their pairs of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import BoolArray, FloatArray, IntArray


@dataclass(frozen=True)
class MarginProblem:
    """The labels that a machine learns from, the weights of their losses, and C.

    Attributes
    ----------
    codes : array of shape (n,)
        Class of each row; every class 0..c-1 occurs among the rows of positive weight.
    weights : array of shape (n,)
        Factors >= 0 of the losses; rows of weight 0 are not learned from.
    C : float > 0
        Weight of all losses.
    """

    codes: IntArray
    weights: FloatArray
    C: float

    @property
    def mask(self) -> BoolArray:
        """Rows that the machine learns from."""
        return np.asarray(self.weights > 0)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return int(self.codes.max()) + 1

    @property
    def bounds(self) -> FloatArray:
        """Bounds of the dual variables."""
        return np.asarray(self.C * self.weights)

    def at(self, rows: IntArray) -> MarginProblem:
        """Return the problem on some rows."""
        return MarginProblem(self.codes[rows], self.weights[rows], self.C)


def margin_problem(codes: IntArray, C: float, sample_weight: FloatArray | None) -> MarginProblem:
    """Return a problem with weights of one if there are none.

    Raises
    ------
    ValueError
        If a weight is negative, or all weights of a class are zero.

    Examples
    --------
    >>> margin_problem(np.array([0, 1]), 10.0, None).bounds.tolist()
    [10.0, 10.0]
    """
    if sample_weight is None:
        return MarginProblem(codes, np.ones(len(codes)), C)
    weights = np.asarray(sample_weight, dtype=np.float64)
    if not weights.min() >= 0 or not np.bincount(codes, weights).min() > 0:
        msg = "`sample_weight` must be >= 0, with a positive weight in every class"
        raise ValueError(msg)
    return MarginProblem(codes, weights, C)


def class_pairs(n_classes: int) -> IntArray:
    """Return the pairs of classes (0, 1), (0, 2), .., (1, 2), .. in rows.

    Examples
    --------
    >>> class_pairs(3).tolist()
    [[0, 1], [0, 2], [1, 2]]
    """
    return np.column_stack(np.triu_indices(n_classes, 1))


def rows_by_class(codes: IntArray, bounds: FloatArray, n_classes: int) -> list[IntArray]:
    """Return the rows of each class whose losses have a positive weight.

    Examples
    --------
    >>> members = rows_by_class(np.array([1, 0, 1, 1]), np.array([1.0, 1.0, 0.0, 2.0]), 2)
    >>> [rows.tolist() for rows in members]
    [[1], [0, 3]]
    """
    used = np.flatnonzero(bounds > 0)
    used = used[np.argsort(codes[used], kind="stable")]
    return np.split(used, np.searchsorted(codes[used], np.arange(1, n_classes)))


def pair_rows(first: IntArray, second: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the rows of two classes, and their signs: 1 for the first class, else -1.

    Examples
    --------
    >>> rows, signs = pair_rows(np.array([4]), np.array([1, 2]))
    >>> rows.tolist(), signs.tolist()
    ([4, 1, 2], [1.0, -1.0, -1.0])
    """
    return np.concatenate([first, second]), np.repeat([1.0, -1.0], [len(first), len(second)])


def failure_message(reason: str) -> str:
    """Return the message on a machine that was not trained to its tolerance."""
    return f"max-margin machine: {reason}; scale the features or lower C"
