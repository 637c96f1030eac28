"""The predictor of a fit: parts that label new rows, mixed by their weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.margin.calibration import Calibration
from graphmargin.search.member import AS_GIVEN, View


class Part(Protocol):
    """The data that label new rows, from the fit of a method: a `MachinePart`, a `WalkPart`, ...

    A part is a frozen dataclass of arrays and numbers. Those of the library can be saved in model
    files.
    """

    def label(self, X: Any) -> tuple[IntArray, FloatArray]:
        """Return the class codes and the class probabilities of new rows."""

    def probabilities(self, X: Any) -> FloatArray:
        """Return the class probabilities of new rows."""


@dataclass(frozen=True)
class WeightedPart:
    """A part of a mixture.

    Attributes
    ----------
    part : Part
    weight : float
        Weight of its class probabilities.
    calibration : Calibration or None
        Applied to the class probabilities as scores; None if they are calibrated already. Those of
        harmonic solutions are underconfident, because walks end in the sink, and would have little
        influence.
    view : View
        What the part sees of new rows.
    """

    part: Any
    weight: float = 1.0
    calibration: Calibration | None = None
    view: View = AS_GIVEN

    def probabilities(self, X: Any) -> FloatArray:
        """Return the calibrated class probabilities of new rows."""
        return calibrated(self.part.probabilities(self.view.of(X)), self.calibration)


@dataclass(frozen=True)
class Predictor:
    """The classes and the parts that predictions need, as plain data.

    Attributes
    ----------
    classes : array of shape (c,)
    parts : tuple of WeightedPart
        The heaviest first; weights sum to one.
    class_weight : array of shape (c,) or (1,), or None
        Costs of errors: the label is the class with the largest product of cost and probability.
        None if the only part decides on labels by itself.

    Examples
    --------
    >>> from graphmargin.harmonic.walk_part import WalkPart
    >>> mass, codes = np.array([[1.0, 0.0], [0.0, 1.0]]), np.array([0, 1])
    >>> walk = WalkPart(mass, ((1.0, 1.0),), None, codes, 0)
    >>> sharp = WeightedPart(walk, 0.5, Calibration(10.0, 0.0))
    >>> mixture = Predictor(np.array(["a", "b"]), (sharp, WeightedPart(walk, 0.5)), np.ones(1))
    >>> mixture.probabilities(np.array([[1.0, 3.0]])).round(2).tolist()
    [[0.16, 0.84]]
    >>> mixture.predict(np.array([[1.0, 3.0]])).tolist()
    ['b']
    """

    classes: AnyArray
    parts: tuple[WeightedPart, ...]
    class_weight: FloatArray | None = field(default=None)

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        return self.label(X)[0]

    def probabilities(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        return mixed([p.weight for p in self.parts], [p.probabilities(X) for p in self.parts])

    def label(self, X: Any) -> tuple[AnyArray, FloatArray]:
        """Return labels and class probabilities from one evaluation of all parts."""
        if self.class_weight is None:
            codes, distributions = self.part.label(self.parts[0].view.of(X))
        else:
            distributions = self.probabilities(X)
            codes = least_costly_codes(distributions, self.class_weight)
        return np.asarray(self.classes[codes]), distributions

    @property
    def part(self) -> Any:
        """The heaviest part: that of a classifier with one method."""
        return self.parts[0].part


def calibrated(distributions: FloatArray, calibration: Calibration | None) -> FloatArray:
    """Return class probabilities after a calibration that takes them as class scores.

    Examples
    --------
    >>> calibrated(np.array([[0.4, 0.6]]), Calibration(10.0, 0.0)).round(2).tolist()
    [[0.12, 0.88]]
    """
    if calibration is None:
        return distributions
    return calibration.probabilities(as_scores(distributions))


def as_scores(distributions: FloatArray) -> FloatArray:
    """Return class masses or probabilities as class scores: for two classes, their difference.

    Examples
    --------
    >>> as_scores(np.array([[0.25, 0.75]])).tolist()
    [0.5]
    """
    if distributions.shape[1] == 2:
        return np.asarray(distributions[:, 1] - distributions[:, 0])
    return distributions


def mixed(weights: Sequence[float], distributions: Sequence[FloatArray]) -> FloatArray:
    """Return the weighted mean of class probabilities.

    Examples
    --------
    >>> mixed([0.75, 0.25], [np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])]).tolist()
    [[0.75, 0.25]]
    """
    total = np.zeros_like(distributions[0], dtype=np.float64)
    for weight, part in zip(weights, distributions, strict=True):
        total += weight * part
    return total


def least_costly_codes(distributions: FloatArray, class_weight: FloatArray) -> IntArray:
    """Return the class with the largest product of cost and probability, for every row.

    Examples
    --------
    >>> least_costly_codes(np.array([[0.6, 0.4]]), np.array([1.0, 2.0])).tolist()
    [1]
    """
    return np.asarray((distributions * class_weight).argmax(axis=1))
