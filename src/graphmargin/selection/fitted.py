"""Fitted classifiers: the results of fits with fixed or chosen parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor
from graphmargin.harmonic.system import confidence_of
from graphmargin.margin.calibration import (
    Calibration,
    calibration_targets,
    fit_calibration,
    probabilities,
)
from graphmargin.margin.machine import MarginMachine, predicted_codes, sum_decision
from graphmargin.margin.margin_predictor import MarginPredictor
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import FitWarning
from graphmargin.selection.tasks import Task


@dataclass(frozen=True)
class FittedClassifier:
    """A predictor and its labels of the training rows.

    Attributes
    ----------
    task : Task
        If parameters were chosen, the task of the heaviest candidate that uses the graph, if any.
    choice : Choice or None
        None if parameters were fixed.
    predictor : MarginPredictor or HarmonicPredictor
    codes : array of shape (n,)
        Class of every training row.
    label_distributions : array of shape (n, c)
    confidence : array of shape (n,)
        Best minus second best probability.
    warnings : tuple of FitWarning
    """

    task: Task
    choice: Choice | None
    predictor: MarginPredictor | HarmonicPredictor
    codes: IntArray
    label_distributions: FloatArray
    confidence: FloatArray
    warnings: tuple[FitWarning, ...]


def calibrate_and_label(
    task: Task,
    machines: Sequence[MarginMachine],
    choice: Choice | None,
    warnings: Sequence[FitWarning],
) -> FittedClassifier:
    """Return the classifier whose function is the sum of some machines, with labels of all rows.

    Probabilities are calibrated on the held-out labels of a choice, or else on the given labels.
    Given labels are kept, and the machines predict all others.
    """
    labels, scores = task.labels, sum_decision(machines, task.X)
    calibration = None if choice is None else held_out_calibration(choice)
    if calibration is None:
        given = labels.codes[labels.labeled]
        calibration = _calibrate(scores[labels.labeled], given, len(labels.classes))
    distributions = probabilities(scores, *calibration)
    return FittedClassifier(
        task=task,
        choice=choice,
        predictor=MarginPredictor(labels.classes, tuple(machines), calibration),
        codes=np.where(labels.labeled, labels.codes, predicted_codes(scores)),
        label_distributions=distributions,
        confidence=np.asarray(confidence_of(distributions)),
        warnings=tuple(warnings),
    )


def held_out_calibration(choice: Choice) -> Calibration | None:
    """Return the calibration of a blend on held-out labels, None if no label was held out."""
    codes = choice.trials.held_out_codes
    return _calibrate(choice.scores, codes, len(choice.label_counts)) if len(codes) else None


def _calibrate(scores: FloatArray, codes: IntArray, n_classes: int) -> Calibration:
    return fit_calibration(scores, calibration_targets(np.eye(n_classes)[codes], codes))
