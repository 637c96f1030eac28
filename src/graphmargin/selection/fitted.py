"""Fitted classifiers: what a fit leaves behind, whether its parameters were fixed or chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic.predictor import HarmonicPredictor
from graphmargin.harmonic.solve import confidence_of
from graphmargin.labels import EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_calibration, probabilities
from graphmargin.margin.machine import MarginMachine, sum_decision, winner
from graphmargin.margin.predictor import MarginPredictor
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import FitWarning


@dataclass(frozen=True)
class FittedClassifier:
    """A predictor, and what it makes of the training rows.

    Attributes
    ----------
    predictor : MarginPredictor or HarmonicPredictor
    codes : array of shape (n,)
        Class of every training row.
    label_distributions : array of shape (n, c)
    confidence : array of shape (n,)
        Best minus second best probability.
    warnings : tuple of FitWarning
    """

    predictor: MarginPredictor | HarmonicPredictor
    codes: IntArray
    label_distributions: FloatArray
    confidence: FloatArray
    warnings: tuple[FitWarning, ...]


def calibrate_and_label(
    X: Any,
    labels: EncodedLabels,
    machines: Sequence[MarginMachine],
    choice: Choice | None,
    warnings: Sequence[FitWarning],
) -> FittedClassifier:
    """Return the classifier whose function is the sum of some machines.

    Its probabilities are calibrated on the held-out labels of a choice, or else on the given
    labels. Given labels are kept, all other rows get the label of the machines.
    """
    scores = sum_decision(machines, X)
    known_scores, known_codes = scores[labels.labeled], labels.codes[labels.labeled]
    if choice is not None and len(choice.trials.held_out_codes):
        known_scores, known_codes = choice.scores, choice.trials.held_out_codes
    targets = calibration_targets(np.eye(len(labels.classes))[known_codes], known_codes)
    calibration = fit_calibration(known_scores, targets)
    distributions = probabilities(scores, *calibration)
    return FittedClassifier(
        predictor=MarginPredictor(labels.classes, tuple(machines), calibration),
        codes=np.where(labels.labeled, labels.codes, winner(scores)),
        label_distributions=distributions,
        confidence=np.asarray(confidence_of(distributions)),
        warnings=tuple(warnings),
    )
