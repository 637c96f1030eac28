"""The predictor of max-margin classifiers: a sum of machines, a calibration, and the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray
from graphmargin.harmonic.harmonic_predictor import WalkPart, walk_distributions
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.machine import MarginMachine, predicted_codes, sum_pairwise

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
class MarginPredictor:
    """The classes, machines and calibration that predictions need, as plain data.

    Attributes
    ----------
    classes : array of shape (c,)
    machines : tuple of MarginMachine
        f is their sum. Coefficients include the weights of a blend; the heaviest comes first.
    calibration : Calibration
    graph : tuple of WalkPart
        Graphs whose class probabilities are added to the class scores, if the calibration gives
        them a weight; empty else.

    Examples
    --------
    >>> from graphmargin.margin import Kernel, train_machine
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> machine = train_machine(X, np.array([0, 0, 1, 1]), Kernel("linear"), C=10.0)
    >>> predictor = MarginPredictor(np.array(["low", "high"]), (machine,), Calibration(2.0, 0.0))
    >>> predictor.predict(X).tolist()
    ['low', 'low', 'high', 'high']
    >>> predictor.probabilities(X[:1]).round(2).tolist()
    [[1.0, 0.0]]
    """

    classes: AnyArray
    machines: tuple[MarginMachine, ...]
    calibration: Calibration
    graph: tuple[WalkPart, ...] = ()

    def decision(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score for each class.

        X is a float array or CSR matrix of new rows; for a precomputed kernel, the kernel values
        between new and training rows.
        """
        calibration, n_classes = self.calibration, len(self.classes)
        pairwise = sum_pairwise(self.machines, X)
        scores = class_scores(pairwise, n_classes, calibration.pair_scales)
        if not self.graph:
            return scores
        log_graph = log_graph_probabilities(walk_distributions(self.graph, X, n_classes))
        return scores + calibration.graph_weight * log_graph

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted label of every row."""
        return np.asarray(self.classes[predicted_codes(self.decision(X))])

    def probabilities(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        return self.calibration.probabilities(self.decision(X))

    def label(self, X: Any) -> tuple[AnyArray, FloatArray]:
        """Return labels and class probabilities from one evaluation of f."""
        scores = self.decision(X)
        labels = np.asarray(self.classes[predicted_codes(scores)])
        return labels, self.calibration.probabilities(scores)
