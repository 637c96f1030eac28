"""Snapshots: a session, and what the live answer or the automatic choice says about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.confidence.label_errors import LabelErrors
from graphmargin.labels import UNLABELED
from graphmargin.reports.advice import SessionAdvice, session_advice
from graphmargin.studio.background_fit import FitResult, FitState
from graphmargin.studio.live import LiveAnswer
from graphmargin.studio.session import KEPT, SKIPPED, UNSURE, Decision, Session

CHANGE_WINDOW = 20
"""Number of labels over which changes of predicted labels are counted."""
MAX_QUESTIONS = 5
QUESTION = 4
"""Flag of a row whose label is asked about, beside those of `session`."""


@dataclass(frozen=True)
class Question:
    """A label that looks wrong."""

    row: int
    label: int
    expected: int
    probability: float


@dataclass(frozen=True)
class Estimate:
    """The estimated accuracy on unlabeled rows, with a 95 % interval."""

    accuracy: float
    low: float
    high: float
    source: str


@dataclass(frozen=True)
class Snapshot:
    """All that the page shows of one version of the session."""

    version: int
    session: Session
    live: LiveAnswer
    fit: FitState
    stale_labels: int
    """Number of labels that differ from those of the last automatic choice."""
    shown: str
    """The source of the predictions: "automatic" if no label is stale, otherwise "live"."""
    distributions: FloatArray
    predicted: IntArray
    """Code of each label or, without one, of the predicted class; -1 if nothing is known."""
    confidence: FloatArray
    questions: tuple[Question, ...]
    estimate: Estimate | None
    history: tuple[tuple[int, float, float, float], ...]
    """Number of labels, accuracy and interval of the live answers so far."""
    recent: tuple[tuple[int, AnyArray], ...]
    """Number of labels and predicted codes of the live answers to the last labels."""
    advice: SessionAdvice
    is_map_ready: bool
    packed: AnyArray
    """Four bytes for each row: label, predicted class (255 is no class), confidence and flags."""

    def next_row(self, decision: Decision) -> int | None:
        """Return the row to show after a decision: the next one, or the one that came back."""
        steps = {"undo": self.session.undone, "redo": self.session.done}.get(decision.action)
        if steps and len(steps[-1].rows) == 1:
            return int(steps[-1].rows[0])
        return self.live.queue[0].row if self.live.queue else None


def make_snapshot(
    session: Session,
    live: LiveAnswer,
    fit: FitState,
    before: Snapshot | None = None,
    *,
    is_map_ready: bool = False,
) -> Snapshot:
    """Return the snapshot of a session that follows an earlier one."""
    labels, n_labels = session.labels, session.n_labels
    stale = 0 if fit.result is None else int((fit.result.session.labels != labels).sum())
    shown = live if fit.result is None or stale else fit.result
    confidence = shown.distributions.max(axis=1, initial=0.0)
    predicted = np.where(confidence > 0, _best(shown.distributions), UNLABELED)
    if n_labels == 0:
        predicted, confidence = np.full_like(predicted, UNLABELED), np.zeros_like(confidence)
    predicted = np.where(labels == UNLABELED, predicted, labels)
    confidence = np.where(labels == UNLABELED, confidence, 1.0)
    questions = _questions(session, shown.errors)
    history = before.history if before else ()
    if live.estimate and (before is None or live is not before.live):
        earlier = (point for point in history if point[0] < n_labels)
        history = (*earlier, (n_labels, live.estimate.accuracy, *live.estimate.interval))
    recent = _recent(before.recent if before else (), n_labels, _best(live.distributions))
    advice = session_advice(
        [known.name for known in session.active],
        [int((labels == known.code).sum()) for known in session.active],
        n_open=int(session.is_open.sum()),
        n_questions=len(questions),
        changed=_change_share(recent),
        window=CHANGE_WINDOW,
    )
    flags = session.marks & (UNSURE | SKIPPED)
    flags[[question.row for question in questions]] |= QUESTION
    columns = (labels, predicted, np.round(255 * confidence), flags)
    packed = np.column_stack([column.astype(np.uint8) for column in columns])  # -1 becomes 255
    return Snapshot(
        version=before.version + 1 if before else 0,
        session=session,
        live=live,
        fit=fit,
        stale_labels=stale,
        shown="live" if shown is live else "automatic",
        distributions=shown.distributions,
        predicted=predicted,
        confidence=confidence,
        questions=questions,
        estimate=_estimate(live, shown),
        history=history,
        recent=recent,
        advice=advice,
        is_map_ready=is_map_ready,
        packed=packed,
    )


def _best(distributions: FloatArray) -> IntArray:
    if not distributions.shape[1]:
        return np.zeros(len(distributions), dtype=np.int64)
    return np.asarray(distributions.argmax(axis=1))


def _estimate(live: LiveAnswer, shown: LiveAnswer | FitResult) -> Estimate | None:
    """Return the estimate of what is shown; without held-out labels, that of the live answer."""
    if shown is not live and shown.estimate:
        return Estimate(shown.estimate.accuracy, *shown.estimate.interval, "held-out")
    if live.estimate:
        return Estimate(live.estimate.accuracy, *live.estimate.interval, "leave-one-out")
    return None


def _questions(session: Session, errors: LabelErrors | None) -> tuple[Question, ...]:
    """Return the labels that look wrong and were not confirmed, the most suspicious one first."""
    if errors is None:
        return ()
    listed = [k for k in errors.listed if not session.marks[errors.rows[k]] & KEPT]
    return tuple(
        Question(
            int(errors.rows[k]),
            int(errors.given_labels[k]),
            int(errors.suggested_labels[k]),
            float(errors.probability[k]),
        )
        for k in listed[:MAX_QUESTIONS]
    )


def _recent(
    before: tuple[tuple[int, AnyArray], ...], n_labels: int, predicted: IntArray
) -> tuple[tuple[int, AnyArray], ...]:
    """Return the predictions with fewer labels, of which one is before the window, and the last."""
    earlier = [each for each in before if each[0] < n_labels]
    n_outside = sum(n_labels - count >= CHANGE_WINDOW for count, _ in earlier)
    return (*earlier[max(0, n_outside - 1) :], (n_labels, predicted.astype(np.uint8)))


def _change_share(recent: tuple[tuple[int, AnyArray], ...]) -> float | None:
    """Return the share of rows whose label changed over the last labels, None before that."""
    (n_first, first), (n_last, last) = recent[0], recent[-1]
    return float((first != last).mean()) if n_last - n_first >= CHANGE_WINDOW else None
