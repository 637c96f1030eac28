"""Induced labels: the labels of confident points, which the margin classifier learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.class_weights import weights_of_rows

LOSS_WEIGHTS = ("confidence", "equal")
MIN_WEIGHT = 1e-6
"""Lower bound on loss weights, so that a labeled row of confidence zero still counts."""


@dataclass(frozen=True)
class InducedLabels:
    """The class of every row to learn from, and the weight of its loss.

    Attributes
    ----------
    codes : array of shape (n,)
        -1 where no label is given or induced.
    weights : array of shape (n,)
        Factor of the loss of each row; 0 for rows that are not learned from.
    fell_back_to_given : bool
        Whether labeled rows keep their given labels because the soft solution induces no label of
        some class.
    """

    codes: IntArray
    weights: FloatArray
    fell_back_to_given: bool = False

    @property
    def mask(self) -> BoolArray:
        """Rows of positive weight, which a machine learns from."""
        return np.asarray(self.weights > 0)

    def with_every_class(self, given: EncodedLabels) -> InducedLabels:
        """Return the labels; labeled rows keep their given ones if some class has none else."""
        if len(np.unique(self.codes[self.mask])) == len(given.classes):
            return self
        codes = np.where(given.labeled, given.codes, self.codes)
        return InducedLabels(codes, self.weights, fell_back_to_given=True)

    def weighted_by_class(self, class_weight: Sequence[float] | None) -> InducedLabels:
        """Return the labels with losses multiplied by the weights of their classes, if any."""
        if class_weight is None:
            return self
        return replace(self, weights=self.weights * weights_of_rows(class_weight, self.codes))


def supervised_labels(labels: EncodedLabels) -> InducedLabels:
    """Return the given labels with weight one, which is what gamma_g = inf induces."""
    return InducedLabels(labels.codes, labels.labeled.astype(np.float64))


def induced_labels(
    solution: HarmonicSolution, *, eps: float = 1e-6, loss_weights: str = "confidence"
) -> InducedLabels:
    """Return the labels and weights of the losses in eq. MMGC: confident and labeled points.

    Parameters
    ----------
    solution : HarmonicSolution
    eps : float in [0, 1)
        Smallest confidence of an induced label to learn from.
    loss_weights : {"confidence", "equal"}
        "equal" is as in the paper; "confidence" weights each loss by abs(l_i).

    Examples
    --------
    >>> from graphmargin.harmonic import harmonic_solution
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> induced = induced_labels(harmonic_solution(path, ["a", None, "b"]))
    >>> induced.codes.tolist(), induced.weights.tolist()
    ([0, 1, 1], [1.0, 0.5, 1.0])
    """
    labels = solution.problem.labels
    induced = confident_labels(
        solution.codes, solution.confidence, labels.codes, eps=eps, loss_weights=loss_weights
    )
    return induced.with_every_class(labels)


def confident_labels(
    induced: IntArray, confidence: FloatArray, given: IntArray, *, eps: float, loss_weights: str
) -> InducedLabels:
    """Return the labels and weights of the losses in eq. MMGC for some vertices.

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
    >>> labels = confident_labels(
    ...     np.array([0, 1, 1, -1]),
    ...     np.array([1.0, 0.5, 0.0, 0.0]),
    ...     np.array([0, -1, -1, -1]),
    ...     eps=1e-6,
    ...     loss_weights="confidence",
    ... )
    >>> labels.codes.tolist(), labels.weights.tolist()
    ([0, 1, 1, -1], [1.0, 0.5, 0.0, 0.0])
    """
    labeled, is_induced = given != UNLABELED, induced != UNLABELED
    weights = np.ones(len(induced))
    if loss_weights == "confidence":
        weights[is_induced] = np.maximum(confidence[is_induced], MIN_WEIGHT)
    weights[~((confidence >= eps) & is_induced | labeled)] = 0.0
    return InducedLabels(np.where(is_induced, induced, given), weights)
