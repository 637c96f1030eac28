"""The part of a predictor that is a max-margin machine, with a calibration and, maybe, a graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic.walk_part import WalkPart
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.machine import MarginMachine, predicted_codes

MIN_GRAPH_PROBABILITY = 1e-6
"""Lower bound on probabilities of the graph, whose logarithm is added to class scores."""


def log_graph_probabilities(distributions: FloatArray) -> FloatArray:
    """Return the logarithms of class probabilities of the graph, none below log 1e-6.

    Examples
    --------
    >>> log_graph_probabilities(np.array([[1.0, 0.0]])).round(2).tolist()
    [[0.0, -13.82]]
    """
    return np.log(np.maximum(distributions, MIN_GRAPH_PROBABILITY))


@dataclass(frozen=True)
class MachinePart:
    """A machine and the calibration of its scores, as plain data.

    Attributes
    ----------
    machine : MarginMachine
        Its coefficients include the weights of a blend.
    calibration : Calibration
    walk : WalkPart or None
        Graph whose class probabilities are added to the class scores, if the calibration gives
        them a weight.

    Examples
    --------
    >>> from graphmargin.margin import Kernel, train_machine
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = train_machine(X, np.array([0, 0, 1, 1]), Kernel("linear"), C=10.0)
    >>> part = MachinePart(machine, Calibration(2.0, 0.0))
    >>> part.label(X)[0].tolist(), part.probabilities(X[:1]).round(2).tolist()
    ([0, 0, 1, 1], [[1.0, 0.0]])
    """

    machine: MarginMachine
    calibration: Calibration
    walk: WalkPart | None = None

    def decision(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score for each class.

        X is a float array or CSR matrix of new rows; for a precomputed kernel, the kernel values
        between new and training rows.
        """
        scores = self.machine.scores(X, self.calibration.pair_scales)
        if self.walk is None:
            return scores
        log_graph = log_graph_probabilities(self.walk.probabilities(X))
        return scores + self.calibration.graph_weight * log_graph

    def label(self, X: Any) -> tuple[IntArray, FloatArray]:
        """Return class codes and class probabilities from one evaluation of f."""
        scores = self.decision(X)
        return predicted_codes(scores), self.calibration.probabilities(scores)

    def probabilities(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        return self.calibration.probabilities(self.decision(X))
