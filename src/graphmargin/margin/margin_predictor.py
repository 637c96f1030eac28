"""The predictor of max-margin classifiers: a sum of machines and a calibration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._rows import scale_rows
from graphmargin._typing import AnyArray, FloatArray
from graphmargin.margin.calibration import Calibration, probabilities
from graphmargin.margin.machine import MarginMachine, predicted_codes, sum_decision


@dataclass(frozen=True)
class MarginPredictor:
    """The classes, machines and calibration that predictions need, as plain data.

    Attributes
    ----------
    classes : array of shape (c,)
    machines : tuple of MarginMachine
        f is their sum. Coefficients include the weights of a blend; the heaviest comes first.
    calibration : Calibration
    exponent : int
        Rows are multiplied by ``2^-exponent`` first, as the training rows were; 0 unless these had
        huge or tiny numbers.

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
    exponent: int = 0

    def decision(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score for each class.

        X is a float array or CSR matrix of new rows; for a precomputed kernel, the kernel values
        between new and training rows.
        """
        return sum_decision(self.machines, scale_rows(X, self.exponent))

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted label of every row."""
        return np.asarray(self.classes[predicted_codes(self.decision(X))])

    def probabilities(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        return probabilities(self.decision(X), *self.calibration)

    def label(self, X: Any) -> tuple[AnyArray, FloatArray]:
        """Return labels and class probabilities from one evaluation of f."""
        scores = self.decision(X)
        labels = np.asarray(self.classes[predicted_codes(scores)])
        return labels, probabilities(scores, *self.calibration)
