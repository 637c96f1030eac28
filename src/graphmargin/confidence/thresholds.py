"""Thresholds on the probability of a class, and the rows that they are expected to find."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphmargin._typing import FloatArray

THRESHOLDS = (0.5, 0.3, 0.2, 0.1, 0.05)
"""Thresholds on the probability of a class, largest first."""


@dataclass(frozen=True)
class ThresholdRow:
    """The rows whose probability of a class reaches a threshold, and expected numbers of them.

    Attributes
    ----------
    threshold : float
    n_rows : int
        Number of rows whose probability of the class is at least the threshold.
    n_found : float
        Expected number of them that are of the class.
    precision : float
        Expected share of these rows that are of the class; nan if there is no such row.
    recall : float
        Expected share of all rows of the class that are among them; nan if the class has no
        probability anywhere.

    Examples
    --------
    >>> P = np.array([[0.2, 0.8], [0.6, 0.4], [0.9, 0.1]])
    >>> row = threshold_table(P, 1, [0.3])[0]
    >>> row.n_rows, round(row.n_found, 2), round(row.precision, 2)
    (2, 1.2, 0.6)
    """

    threshold: float
    n_rows: int
    n_found: float
    precision: float
    recall: float


def threshold_table(
    distributions: FloatArray, class_index: int, thresholds: Sequence[float] = THRESHOLDS
) -> list[ThresholdRow]:
    """Return what each threshold on the probability of a class is expected to find.

    A row is of the class with its probability p. So among the rows with ``p >= t``, the expected
    number of rows of the class is the sum of their p. The figures are only as good as the
    calibration of the probabilities.

    Parameters
    ----------
    distributions : array of shape (m, c)
        Class probabilities of the unlabeled rows.
    class_index : int
        Column of the class.
    thresholds : sequence of float in [0, 1], default=(0.5, 0.3, 0.2, 0.1, 0.05)

    Examples
    --------
    >>> rare = np.array([0.9, 0.5, 0.2, 0.0])
    >>> for row in threshold_table(np.column_stack([1 - rare, rare]), 1, thresholds=(0.5, 0.1)):
    ...     print(row.threshold, row.n_rows, round(row.precision, 3), round(row.recall, 3))
    0.5 2 0.7 0.875
    0.1 3 0.533 1.0
    """
    p = distributions[:, class_index]
    n_of_class = float(p.sum())
    rows = []
    for threshold in thresholds:
        reached = p[p >= threshold]
        n_found = float(reached.sum())
        precision = n_found / len(reached) if len(reached) else np.nan
        recall = n_found / n_of_class if n_of_class > 0 else np.nan
        rows.append(ThresholdRow(float(threshold), len(reached), n_found, precision, recall))
    return rows
