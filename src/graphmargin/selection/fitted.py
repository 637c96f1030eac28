"""Fitted classifiers: the results of fits with fixed or chosen parameters."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import (
    HeldOutPredictions,
    expected_confusion,
    predictions_by_confusion,
)
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor, WalkPart
from graphmargin.margin.calibration import (
    Calibration,
    calibrate_pairs,
    calibration_targets,
    fit_calibration,
)
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.machine import MarginMachine, predicted_codes, sum_pairwise
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
        Probability that the label is right; for harmonic classifiers, abs(l).
    warnings : tuple of FitWarning
    held_out : HeldOutPredictions or None
        None if no label was held out.
    """

    task: Task
    choice: Choice | None
    predictor: MarginPredictor | HarmonicPredictor
    codes: IntArray
    label_distributions: FloatArray
    confidence: FloatArray
    warnings: tuple[FitWarning, ...]
    held_out: HeldOutPredictions | None


@dataclass(frozen=True)
class GraphProbabilities:
    """Logarithms of class probabilities by the graphs of a blend.

    Attributes
    ----------
    at_rows : array of shape (n, c)
        At the training rows.
    at_held_out : array of shape (h, c)
        At the held-out labels, solved without them.
    parts : tuple of WalkPart
        The graphs, to which new rows can be attached.
    """

    at_rows: FloatArray
    at_held_out: FloatArray
    parts: tuple[WalkPart, ...]


def calibrate_and_label(
    task: Task,
    machines: Sequence[MarginMachine],
    choice: Choice | None,
    warnings: Sequence[FitWarning],
    graph: GraphProbabilities | None = None,
) -> FittedClassifier:
    """Return the classifier whose function is the sum of some machines, with labels of all rows.

    Probabilities are calibrated on the held-out labels of a choice, or else on the given labels.
    Given labels are kept, and the machines predict all others, together with the graph if this
    makes the held-out labels likelier.
    """
    labels, pairwise = task.labels, sum_pairwise(machines, task.X)
    n_classes = len(labels.classes)
    if choice is not None and choice.is_tested:
        calibration = held_out_calibration(choice, graph, task.parameters.class_weight)
    else:
        given = labels.codes[labels.labeled]
        targets = calibration_targets(np.eye(n_classes)[given], given)
        calibration = calibrate_pairs(
            pairwise[labels.labeled], targets, task.parameters.class_weight
        )
    scores = class_scores(pairwise, n_classes, calibration.pair_scales)
    parts: tuple[WalkPart, ...] = ()
    if graph is not None and calibration.graph_weight > 0:
        scores = scores + calibration.graph_weight * graph.at_rows
        parts = graph.parts
    codes = np.where(labels.labeled, labels.codes, predicted_codes(scores))
    distributions = calibration.probabilities(scores)
    held_out = None
    if choice is not None and choice.is_tested:
        unlabeled = ~labels.labeled
        joint = expected_confusion(distributions[unlabeled], codes[unlabeled])
        held_out = held_out_predictions(choice, calibration, joint, graph)
    return FittedClassifier(
        task=task,
        choice=choice,
        predictor=MarginPredictor(labels.classes, tuple(machines), calibration, parts),
        codes=codes,
        label_distributions=distributions,
        confidence=distributions[np.arange(len(codes)), codes],
        warnings=tuple(warnings),
        held_out=held_out,
    )


def held_out_calibration(
    choice: Choice,
    graph: GraphProbabilities | None = None,
    class_weight: Sequence[float] | None = None,
) -> Calibration:
    """Return the calibration of a blend, fitted to its held-out labels, of which there are some."""
    targets = np.eye(len(choice.label_counts))[choice.trials.held_out_codes]
    log_graph = None if graph is None else graph.at_held_out
    calibration = fit_calibration(choice.cross_fitted_scores, targets, log_graph, class_weight)
    return replace(calibration, pair_scales=choice.weights @ choice.trials.pair_scales)


def held_out_predictions(
    choice: Choice,
    calibration: Calibration,
    joint: FloatArray,
    graph: GraphProbabilities | None = None,
) -> HeldOutPredictions:
    """Return the predictions of a blend for its held-out labels, of which there are some.

    Parameters
    ----------
    choice : Choice
    calibration : Calibration
    joint : array of shape (c, c)
        `expected_confusion` of the unlabeled rows.
    graph : GraphProbabilities or None
    """
    trials, scores = choice.trials, choice.cross_fitted_scores
    if graph is not None and calibration.graph_weight > 0:
        scores = scores + calibration.graph_weight * graph.at_held_out
    probabilities, weighted_codes = calibration.probabilities(scores), None
    if calibration.offsets.any():
        weighted_codes = predicted_codes(scores)
    return predictions_by_confusion(
        trials.held_out_codes,
        probabilities,
        trials.held_out_rows,
        doubt=calibration.doubt,
        joint=joint,
        weighted_codes=weighted_codes,
    )
