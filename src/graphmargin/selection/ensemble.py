"""Ensembles: several families of classifiers, weighed on the same held-out labels.

Each family makes a choice among its own candidates. The families are then weighed by the likelihood
that their blends give to held-out labels (`ensemble_choice`), and their class probabilities are
averaged.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import (
    HeldOutPredictions,
    expected_confusion,
    predictions_by_confusion,
)
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor
from graphmargin.labels import EncodedLabels
from graphmargin.margin.calibration import Calibration, fit_calibration, sharpness_at_confidence
from graphmargin.margin.mixture_predictor import (
    MixturePart,
    MixturePredictor,
    as_scores,
    calibrated,
    least_costly_codes,
    mixed,
)
from graphmargin.selection.choice import Choice
from graphmargin.selection.ensemble_choice import EnsembleChoice, weigh
from graphmargin.selection.execution import Execution, FitWarning
from graphmargin.selection.families import Family, TriedFamily, try_family
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.tasks import Task, make_tasks


@dataclass(frozen=True)
class FittedEnsemble:
    """A fitted ensemble: a mixture of fitted families, and its labels of the training rows.

    Attributes
    ----------
    choice : EnsembleChoice
    members : dict from str to FittedClassifier
        The fitted families that were not left out, the heaviest first.
    tried : dict from str to TriedFamily
        All families, with their trials.
    predictor, codes, label_distributions, confidence, warnings, held_out
        As in `FittedClassifier`.
    """

    choice: EnsembleChoice
    members: dict[str, FittedClassifier]
    tried: dict[str, TriedFamily]
    predictor: MixturePredictor
    codes: IntArray
    label_distributions: FloatArray
    confidence: FloatArray
    warnings: tuple[FitWarning, ...]
    held_out: HeldOutPredictions | None


def fit_ensemble(
    X: Any,
    labels: EncodedLabels,
    families: Sequence[Family],
    held_out: HeldOutLabels,
    execution: Execution,
) -> FittedEnsemble:
    """Return the mixture of the families that held-out labels support, fitted on all rows.

    Equal graphs under the same metric are built once. Families are weighed by `family_weights`, and
    those with less than a tenth of the largest weight are not fitted.
    """
    if not held_out.folds and held_out.validation is None:
        patient = [family for family in families if not family.waits_for_evidence]
        families = patient or families
    tasks = _tasks_of_families(X, labels, families, execution)
    tried = [
        try_family(family, of_family, held_out, execution)
        for family, of_family in zip(families, tasks, strict=True)
    ]
    calibrations, probabilities = zip(*map(_calibrated_on_held_out, tried), strict=True)
    choice = weigh(tried, probabilities)
    order = [int(i) for i in np.argsort(-choice.weights, kind="stable") if choice.weights[i] > 0]
    fitted = {i: tried[i].fit(execution) for i in order}
    confidence = _margin_confidence(fitted.values())
    parts, distributions = [], []
    for i in order:
        predictor = fitted[i].predictor
        calibration = None
        if isinstance(predictor, HarmonicPredictor):
            calibration = (
                _mass_calibration(tried[i].choice, calibrations[i])
                if choice.is_tested
                else untested_calibration(fitted[i].label_distributions, confidence)
            )
        weight, scale = float(choice.weights[i]), families[i].metric.feature_scale
        parts.append(MixturePart(predictor, weight, calibration, scale))
        distributions.append(calibrated(fitted[i].label_distributions, calibration))
    class_weight = families[0].parameters[0].class_weight
    costs = np.ones(1) if class_weight is None else np.asarray(class_weight, dtype=np.float64)
    mixture = mixed([part.weight for part in parts], distributions)
    predicted = least_costly_codes(mixture, costs)
    codes = np.where(labels.labeled, labels.codes, predicted)
    doubts = [0.0 if c is None else c.doubt for c in calibrations]
    warnings = {warning: None for i in order for warning in fitted[i].warnings}
    return FittedEnsemble(
        choice=choice,
        members={choice.names[i]: fitted[i] for i in order},
        tried={part.family.name: part for part in tried},
        predictor=MixturePredictor(labels.classes, tuple(parts), costs),
        codes=codes,
        label_distributions=mixture,
        confidence=mixture[np.arange(len(codes)), codes],
        warnings=tuple(warnings),
        held_out=_held_out(choice, mixture, codes, labels, costs, float(choice.weights @ doubts)),
    )


def _tasks_of_families(
    X: Any, labels: EncodedLabels, families: Sequence[Family], execution: Execution
) -> list[list[Task]]:
    """Return the tasks of each family; those under the same metric share rows and graphs."""
    tasks: list[list[Task]] = [[] for _ in families]
    for metric in {id(family.metric): family.metric for family in families}.values():
        numbers = [i for i, family in enumerate(families) if family.metric is metric]
        owners = [i for i in numbers for _ in families[i].parameters]
        parameters = [p for i in numbers for p in families[i].parameters]
        made = make_tasks(metric.scale(X), labels, None, parameters, execution)
        for i, task in zip(owners, made, strict=True):
            tasks[i].append(task)
    return tasks


def _calibrated_on_held_out(part: TriedFamily) -> tuple[Calibration | None, FloatArray]:
    """Return the calibration of a family's blend, and its probabilities of the held-out labels.

    There is no calibration if no label was held out.
    """
    choice, n_classes = part.choice, len(part.choice.label_counts)
    if not choice.is_tested:
        return None, np.zeros((0, n_classes))
    scores, log_graph = choice.cross_fitted_scores, part.held_out_log_graph
    targets = np.eye(n_classes)[choice.trials.held_out_codes]
    calibration = fit_calibration(scores, targets, log_graph)
    if log_graph is not None:
        scores = scores + calibration.graph_weight * log_graph
    return calibration, calibration.probabilities(scores)


def untested_calibration(distributions: FloatArray, confidence: float) -> Calibration | None:
    """Return a calibration of a harmonic solution from which no label could be held out, or None.

    Walks from a row end in the sink more often than at a label, and at the labels of all classes.
    Class probabilities are then modest, and would hardly count beside those of max-margin
    classifiers. For c classes, the calibration raises their mean confidence by the share ``1 - 2 /
    c`` of the difference to that of these classifiers: two labels are too few to rely on the graph
    any more.

    Parameters
    ----------
    distributions : array of shape (n, c)
        Class probabilities of the harmonic solution.
    confidence : float
        Mean confidence of the max-margin classifiers; nan if there are none.

    Examples
    --------
    >>> modest = np.array([[0.4, 0.3, 0.3], [0.2, 0.2, 0.6]])
    >>> untested_calibration(modest, 0.8).probabilities(modest).max(axis=1).mean().round(2)
    np.float64(0.6)
    >>> untested_calibration(modest, 0.4) is None
    True
    """
    own = float(distributions.max(axis=1).mean())
    target = own + (1 - 2 / distributions.shape[1]) * (confidence - own)
    if not target > own:
        return None
    return Calibration(sharpness_at_confidence(as_scores(distributions), target), 0.0)


def _margin_confidence(members: Iterable[FittedClassifier]) -> float:
    """Return the mean confidence of the max-margin classifiers among the members, else nan."""
    means = [
        float(member.label_distributions.max(axis=1).mean())
        for member in members
        if not isinstance(member.predictor, HarmonicPredictor)
    ]
    return float(np.mean(means)) if means else np.nan


def _mass_calibration(choice: Choice, calibration: Calibration | None) -> Calibration | None:
    """Return the calibration of the class masses of a blend, not of their multiples in trials."""
    if calibration is None:
        return None
    total = float((choice.weights / choice.trials.scales).sum())
    return replace(calibration, sharpness=calibration.sharpness * total)


def _held_out(
    choice: EnsembleChoice,
    mixture: FloatArray,
    codes: IntArray,
    labels: EncodedLabels,
    class_weight: FloatArray,
    doubt: float,
) -> HeldOutPredictions | None:
    if not choice.is_tested:
        return None
    unlabeled = ~labels.labeled
    weighted_codes = None
    if len(class_weight) > 1:
        weighted_codes = least_costly_codes(choice.held_out_probabilities, class_weight)
    return predictions_by_confusion(
        choice.held_out_codes,
        choice.held_out_probabilities,
        choice.held_out_rows,
        doubt=doubt,
        joint=expected_confusion(mixture[unlabeled], codes[unlabeled]),
        weighted_codes=weighted_codes,
    )
