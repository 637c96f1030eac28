"""Induced labels: points whose label the graph is confident about, to learn from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, EncodedLabels

LOSS_WEIGHTS = ("confidence", "equal")
LEAST_WEIGHT = 1e-6
"""Least weight of a loss weighted by confidence: a labeled row without any counts a little."""


@dataclass(frozen=True)
class InducedLabels:
    """Classes to learn, and how much each of them counts.

    Attributes
    ----------
    codes : array of shape (n,)
        -1 where nothing is known.
    weights : array of shape (n,)
        Factor of the loss of each row; 0 for rows that are not learned from.
    kept_given : bool
        Whether labeled rows keep their given label because a soft solution would lose a class.
    """

    codes: IntArray
    weights: FloatArray
    fell_back_to_given: bool = False

    @property
    def mask(self) -> BoolArray:
        """Rows that are learned from."""
        return np.asarray(self.weights > 0)


def given_labels(labels: EncodedLabels) -> InducedLabels:
    """Return the labels as they are: what gamma_g = inf induces."""
    return InducedLabels(labels.codes, labels.labeled.astype(np.float64))


def induced_labels(
    solution: HarmonicSolution, *, eps: float = 1e-6, loss_weights: str = "confidence"
) -> InducedLabels:
    """Return the terms of the sum in eq. MMGC: confident points, and all labeled ones.

    Parameters
    ----------
    solution : HarmonicSolution
    eps : float in [0, 1)
        Confidence from which on an induced label is learned from.
    loss_weights : {"confidence", "equal"}
        "equal" is the paper's; "confidence" weights each loss by abs(l_i).

    Examples
    --------
    >>> from graphmargin.harmonic import harmonic_solution
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> found = induced_labels(harmonic_solution(path, ["a", None, "b"]))
    >>> found.codes.tolist(), found.weights.tolist()
    ([0, 1, 1], [1.0, 0.5, 1.0])
    """
    labels = solution.problem.labels
    found = confident_labels(
        solution.codes, solution.confidence, labels.codes, eps=eps, loss_weights=loss_weights
    )
    if len(np.unique(found.codes[found.mask])) == len(labels.classes):
        return found
    codes = np.where(labels.labeled, labels.codes, found.codes)
    return InducedLabels(codes, found.weights, fell_back_to_given=True)


def confident_labels(
    induced: IntArray, confidence: FloatArray, given: IntArray, *, eps: float, loss_weights: str
) -> InducedLabels:
    """Return the terms of the sum in eq. MMGC that some of the vertices contribute.

    Parameters
    ----------
    induced : array of shape (n,)
        Induced class, -1 where no label can be reached.
    confidence : array of shape (n,)
        Best minus second best class mass.
    given : array of shape (n,)
        Given class, -1 where there is none.
    eps, loss_weights
        As in `induced_labels`.

    Examples
    --------
    >>> found = confident_labels(
    ...     np.array([0, 1, 1, -1]),
    ...     np.array([1.0, 0.5, 0.0, 0.0]),
    ...     np.array([0, -1, -1, -1]),
    ...     eps=1e-6,
    ...     loss_weights="confidence",
    ... )
    >>> found.codes.tolist(), found.weights.tolist()
    ([0, 1, 1, -1], [1.0, 0.5, 0.0, 0.0])
    """
    labeled, is_induced = given != UNLABELED, induced != UNLABELED
    weights = np.ones(len(induced))
    if loss_weights == "confidence":
        weights[is_induced] = np.maximum(confidence[is_induced], LEAST_WEIGHT)
    weights[~((confidence >= eps) & is_induced | labeled)] = 0.0
    return InducedLabels(np.where(is_induced, induced, given), weights)
