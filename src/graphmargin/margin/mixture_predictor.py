"""The predictor of an ensemble: a mixture of the class probabilities of several predictors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.margin_predictor import MarginPredictor


@dataclass(frozen=True)
class MixturePart:
    """A predictor of a mixture.

    Attributes
    ----------
    predictor : MarginPredictor or HarmonicPredictor
    weight : float
        Weight of its class probabilities.
    calibration : Calibration or None
        Applied to the class probabilities as scores; None if they are calibrated already. Those of
        harmonic solutions are modest, because walks end in the sink, and would hardly count.
    feature_scale : array of shape (d,) or None
        Factors of the features, by which rows are multiplied first; None if all of them are 1.
    """

    predictor: MarginPredictor | HarmonicPredictor
    weight: float
    calibration: Calibration | None = None
    feature_scale: FloatArray | None = None

    def probabilities(self, X: Any) -> FloatArray:
        """Return the calibrated class probabilities of new rows."""
        if self.feature_scale is not None:
            X = X * self.feature_scale
        return calibrated(self.predictor.probabilities(X), self.calibration)


@dataclass(frozen=True)
class MixturePredictor:
    """A weighted mean of the class probabilities of several predictors.

    Attributes
    ----------
    classes : array of shape (c,)
    parts : tuple of MixturePart
        The heaviest first; weights sum to one.
    class_weight : array of shape (c,) or (1,)
        Costs of errors: the label is the class with the largest product of cost and probability.

    Examples
    --------
    >>> from graphmargin.harmonic.harmonic_predictor import WalkPart
    >>> part = WalkPart(np.array([[1.0, 0.0], [0.0, 1.0]]), ((1.0, 1.0),), None)
    >>> walks = HarmonicPredictor(np.array(["a", "b"]), (part,), np.array([0, 1]), 0)
    >>> sharp = MixturePart(walks, 0.5, Calibration(10.0, 0.0))
    >>> mixture = MixturePredictor(walks.classes, (sharp, MixturePart(walks, 0.5)), np.ones(1))
    >>> mixture.probabilities(np.array([[1.0, 3.0]])).round(2).tolist()
    [[0.16, 0.84]]
    >>> mixture.predict(np.array([[1.0, 3.0]])).tolist()
    ['b']
    """

    classes: AnyArray
    parts: tuple[MixturePart, ...]
    class_weight: FloatArray

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        return self.label(X)[0]

    def probabilities(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        return mixed(
            [part.weight for part in self.parts], [part.probabilities(X) for part in self.parts]
        )

    def label(self, X: Any) -> tuple[AnyArray, FloatArray]:
        """Return labels and class probabilities from one evaluation of all parts."""
        distributions = self.probabilities(X)
        codes = least_costly_codes(distributions, self.class_weight)
        return np.asarray(self.classes[codes]), distributions


def calibrated(distributions: FloatArray, calibration: Calibration | None) -> FloatArray:
    """Return class probabilities after a calibration that takes them as class scores.

    Examples
    --------
    >>> calibrated(np.array([[0.4, 0.6]]), Calibration(10.0, 0.0)).round(2).tolist()
    [[0.12, 0.88]]
    """
    return (
        distributions
        if calibration is None
        else calibration.probabilities(as_scores(distributions))
    )


def as_scores(distributions: FloatArray) -> FloatArray:
    """Return class probabilities as class scores: for two classes, their difference.

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
