"""The search over members, and the fit of what it chose.

All members are tried on the same held-out labels. Each makes a choice among its own candidates; the
members are then weighed by the likelihood of the held-out labels, and those with enough weight are
fitted on all rows and mixed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import (
    HeldOutPredictions,
    expected_confusion,
    predictions_by_confusion,
)
from graphmargin.margin.calibration import Calibration, inverse_temperature_at_confidence
from graphmargin.search.choice import Choice
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import FitWarning, UnreachedWarning
from graphmargin.search.member import AS_GIVEN, FittedMember, Member
from graphmargin.search.predictor import (
    Predictor,
    WeightedPart,
    as_scores,
    calibrated,
    least_costly_codes,
    mixed,
)
from graphmargin.search.trials import untried
from graphmargin.search.weighing import choose, weigh


@dataclass(frozen=True)
class Fitted:
    """The result of a fit: a predictor of new rows, and labels of the training rows.

    Attributes
    ----------
    predictor : Predictor
    codes : array of shape (n,)
        Class of every training row.
    label_distributions : array of shape (n, c)
    confidence : array of shape (n,)
    choice : Choice
    held_out : HeldOutPredictions or None
        None if no label was held out.
    warnings : tuple of FitWarning
    members : dict from str to FittedMember
        The fitted members, the heaviest first.
    """

    predictor: Predictor
    codes: IntArray
    label_distributions: FloatArray
    confidence: FloatArray
    choice: Choice
    held_out: HeldOutPredictions | None
    warnings: tuple[FitWarning, ...]
    members: dict[str, FittedMember] = field(default_factory=dict)


def search(data: TrainingData, members: Member | Sequence[Member]) -> Choice:
    """Return the choice among the members, or among the candidates of a single one.

    Fixed parameters are a single candidate, which is not tried. Members that need evidence are left
    out if no label can be held out, unless there are no others.
    """
    if isinstance(members, Member):
        return _search_candidates(data, members)
    held_out = data.held_out
    if held_out is not None and not held_out.folds and held_out.validation is None:
        members = [m for m in members if not m.method.needs_held_out] or members
    return weigh([_search_candidates(data, member) for member in members])


def _search_candidates(data: TrainingData, member: Member) -> Choice:
    method, seen = member.method, data.under(member.view)
    candidates = method.candidates(seen)
    if data.held_out is None:
        (candidate,) = candidates
        trials = untried(candidate, data.n_classes)
    else:
        stage = f"trial of {len(candidates)} candidates"
        with report_stage(stage, data.execution.verbose) as progress:
            trials = method.try_(seen, candidates, progress)
    return choose(trials, data.label_counts, data.class_weight, member)


def fit(data: TrainingData, choice: Choice) -> Fitted:
    """Return what a search chose, fitted on all rows: one member, or a mixture of several.

    A single member is kept as it is. In a mixture, the class probabilities of the members are
    averaged by their weights.
    """
    if choice.member is not None:
        fitted = _fit_member(data, choice)
        predictor = Predictor(
            data.labels.classes, (WeightedPart(fitted.part, view=choice.member.view),)
        )
        return Fitted(
            predictor,
            fitted.codes,
            fitted.label_distributions,
            fitted.confidence,
            choice,
            _held_out(data, choice, fitted.label_distributions, fitted.codes),
            fitted.warnings,
            {choice.member.name: fitted},
        )
    order = [int(i) for i in np.argsort(-choice.weights, kind="stable") if choice.weights[i] > 0]
    return _mixture(data, choice, {i: _fit_member(data, choice.parts[i]) for i in order})


def _fit_member(data: TrainingData, choice: Choice) -> FittedMember:
    if choice.member is None:
        msg = "a member must be one method, not an ensemble"
        raise TypeError(msg)
    return choice.member.method.fit(data.under(choice.member.view), choice)


def _mixture(data: TrainingData, choice: Choice, fitted: dict[int, FittedMember]) -> Fitted:
    """Return the mixture of some fitted members, by their numbers in a choice."""
    labels, confidence = data.labels, _margin_confidence(choice, fitted)
    parts, distributions = [], []
    for i, member in fitted.items():
        part, calibration = choice.parts[i], None
        if part.trials.columns == "masses":
            calibration = (
                _mass_calibration(part)
                if choice.is_tested
                else untested_calibration(member.label_distributions, confidence)
            )
        view = AS_GIVEN if part.member is None else part.member.view
        parts.append(WeightedPart(member.part, float(choice.weights[i]), calibration, view))
        distributions.append(calibrated(member.label_distributions, calibration))
    costs = np.ones(1) if data.class_weight is None else np.asarray(data.class_weight)
    mixture = mixed([part.weight for part in parts], distributions)
    codes = np.where(labels.labeled, labels.codes, least_costly_codes(mixture, costs))
    return Fitted(
        Predictor(labels.classes, tuple(parts), costs),
        codes,
        mixture,
        mixture[np.arange(len(codes)), codes],
        choice,
        _held_out(data, choice, mixture, codes),
        _warnings_of([member.warnings for member in fitted.values()]),
        {choice.names[i]: member for i, member in fitted.items()},
    )


def _warnings_of(members: Sequence[Sequence[FitWarning]]) -> tuple[FitWarning, ...]:
    """Return the warnings of members, each once.

    Rows that the graph of a member does not reach are no problem if another member labels them.
    """
    all_reach = [all(w.category is not UnreachedWarning for w in warnings) for warnings in members]
    return tuple(
        dict.fromkeys(
            warning
            for warnings in members
            for warning in warnings
            if warning.category is not UnreachedWarning or not any(all_reach)
        )
    )


def held_out_predictions(choice: Choice, joint: FloatArray) -> HeldOutPredictions:
    """Return the predictions of a choice for its held-out labels, of which there are some.

    `joint` is the `expected_confusion` of the unlabeled rows.
    """
    return predictions_by_confusion(
        choice.trials.held_out_codes,
        choice.held_out_probabilities,
        choice.trials.held_out_rows,
        uniform_share=choice.uniform_share,
        joint=joint,
        weighted_codes=choice.weighted_codes,
    )


def _held_out(
    data: TrainingData, choice: Choice, distributions: FloatArray, codes: IntArray
) -> HeldOutPredictions | None:
    """Return the predictions for the held-out labels, None if no label was held out."""
    if not choice.is_tested:
        return None
    unlabeled = ~data.labels.labeled
    joint = expected_confusion(distributions[unlabeled], codes[unlabeled])
    return held_out_predictions(choice, joint)


def untested_calibration(distributions: FloatArray, confidence: float) -> Calibration | None:
    """Return a calibration of a harmonic solution from which no label could be held out, or None.

    Walks from a row end in the sink more often than at a label, and at the labels of all classes.
    Class probabilities are then underconfident, and would have little influence beside those of
    max-margin classifiers. For c classes, the calibration raises their mean confidence by the share
    ``1 - 2 / c`` of the difference to that of these classifiers. For two classes this is zero:
    two labels are too few to rely on the graph any more.

    Parameters
    ----------
    distributions : array of shape (n, c)
        Class probabilities of the harmonic solution.
    confidence : float
        Mean confidence of the max-margin classifiers; nan if there are none.

    Examples
    --------
    >>> underconfident = np.array([[0.4, 0.3, 0.3], [0.2, 0.2, 0.6]])
    >>> P = untested_calibration(underconfident, 0.8).probabilities(underconfident)
    >>> P.max(axis=1).mean().round(2)
    np.float64(0.6)
    >>> untested_calibration(underconfident, 0.4) is None
    True
    """
    mean = float(distributions.max(axis=1).mean())
    target = mean + (1 - 2 / distributions.shape[1]) * (confidence - mean)
    if not target > mean:
        return None
    return Calibration(inverse_temperature_at_confidence(as_scores(distributions), target), 0.0)


def _margin_confidence(choice: Choice, fitted: dict[int, FittedMember]) -> float:
    """Return the mean confidence of the max-margin classifiers among the members, else nan."""
    means = [
        float(member.label_distributions.max(axis=1).mean())
        for i, member in fitted.items()
        if choice.parts[i].trials.columns == "pairs"
    ]
    return float(np.mean(means)) if means else np.nan


def _mass_calibration(choice: Choice) -> Calibration:
    """Return the calibration of the class masses of a blend, not of their multiples in trials."""
    total = float((choice.weights / choice.trials.scales).sum())
    return replace(
        choice.calibration, inverse_temperature=choice.calibration.inverse_temperature * total
    )
