"""One labeling session: decisions, the journal, the live answer, and the automatic choice."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from graphmargin._errors import InputError, one_line
from graphmargin._files import default_output, file_stem
from graphmargin._threads import cancellable, n_threads
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray, ProgressCallback
from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.confidence.label_errors import LabelErrors, label_errors
from graphmargin.labeling.graph_layout import force_layout
from graphmargin.labeling.labeled_table import LabeledTable, label_rows
from graphmargin.labeling.labeling_task import LabelingTask, relabel
from graphmargin.reports.advice import SessionAdvice, session_advice
from graphmargin.studio.journal import entry_line, journal_path, open_journal
from graphmargin.studio.live import Live, LiveAnswer
from graphmargin.studio.session import (
    KEPT,
    NO_CLASS,
    SKIPPED,
    UNSURE,
    Decision,
    DecisionError,
    Session,
    decide,
    label_names,
)
from graphmargin.studio.table_view import TableView, select_rows
from graphmargin.tables.row_hashes import hash_rows

_logger = logging.getLogger(__name__)

CHANGE_WINDOW = 20
"""Number of labels over which changes of predicted labels are counted."""
MAX_CHANGES = 64
"""Number of versions for which the changed rows are kept."""
MAX_QUESTIONS = 5
QUESTION = 4
"""Flag of a row whose label is asked about, beside those of `session`."""


@dataclass(frozen=True)
class FitState:
    """The automatic choice: idle, running, done or failed."""

    fit: str = "idle"
    progress: float = 0.0
    stage: str = ""
    error: str | None = None


@dataclass(frozen=True)
class AutomaticResult:
    """A labeled table, and the labels from which it was computed."""

    labels: AnyArray
    labeled: LabeledTable
    distributions: FloatArray
    errors: LabelErrors | None
    """Labels that look wrong; its classes are the numbers of columns of `distributions`."""


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
    shown: str
    distributions: FloatArray
    predicted: IntArray
    confidence: FloatArray
    questions: tuple[Question, ...]
    estimate: Estimate | None
    history: tuple[tuple[int, float, float, float], ...]
    advice: SessionAdvice
    fit: FitState
    stale_labels: int
    is_map_ready: bool
    packed: AnyArray
    """Four bytes for each row: label, predicted class, confidence and flags."""


class Studio:
    """The session of a table, which several threads may use.

    Attributes
    ----------
    snapshot : Snapshot
        The newest version; reading it needs no lock.
    """

    def __init__(self, task: LabelingTask, path: Path, *, notes: tuple[str, ...] = ()) -> None:
        self.task, self.path = task, path
        self.view = TableView(task, path.parent)
        self.listeners: list[Callable[[int], None]] = []
        self.exports: dict[str, Path] = {}
        self.map: bytes | None = None
        self._lock = threading.RLock()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="studio")
        self._stop_fit = threading.Event()
        self._fit_thread: threading.Thread | None = None
        self._fit = FitState()
        self._automatic: AutomaticResult | None = None
        self._history: tuple[tuple[int, float, float, float], ...] = ()
        self._past: deque[tuple[int, AnyArray]] = deque(maxlen=CHANGE_WINDOW + 1)
        self._changes: deque[tuple[int, IntArray]] = deque(maxlen=MAX_CHANGES)
        self._hashes = hash_rows(task.table, leave_out=task.target.name)
        opened = open_journal(journal_path(path), task, self._hashes)
        self._journal, self.notes = opened.journal, (*notes, *opened.notes)
        self._live = Live(task.X)
        self._session = opened.session
        self.snapshot = self._new_snapshot(0, self._follow(), None)
        self._catch_up()
        self._in_background(self._compute_map)

    def close(self) -> None:
        """End all computations and close the journal."""
        self.cancel_fit()
        self._background.shutdown(cancel_futures=True)
        with self._lock:
            self._journal.close()

    def decide(self, decision: Decision) -> Snapshot:
        """Apply a decision, write it to the journal, and return the new snapshot."""
        with self._lock:
            if decision.action in ("add_class", "rename_class"):
                self._check_name(decision.name)
            after = decide(self._session, decision)
            self._journal.append(entry_line(decision, self._hashes))
            self._session = after
            now = self._publish(self._follow())
        self._in_background(self._catch_up)
        return now

    def _check_name(self, name: str) -> None:
        if self.task.target.rule.is_unlabeled(name.strip()):
            msg = f"{name.strip()!r} means unlabeled in this table; choose another name"
            raise DecisionError(msg)

    def _in_background(self, work: Callable[[], None]) -> None:
        def report(ended: Future[None]) -> None:
            if not ended.cancelled() and (error := ended.exception()) is not None:
                _logger.error("work in the background failed", exc_info=error)

        self._background.submit(work).add_done_callback(report)

    def settle(self) -> None:
        """Wait until the work that follows decisions is done."""
        self._background.submit(lambda: None).result()

    def rows_of(self, options: Mapping[str, Any]) -> IntArray:
        """Return the rows that pass a filter, see `select_rows`."""
        now = self.snapshot
        questions = {question.row for question in now.questions}
        return select_rows(
            self.view, now.session, now.predicted, now.confidence, questions, options
        )

    def next_row(self, decision: Decision) -> int | None:
        """Return the row to show after a decision: the next one, or the one that came back."""
        now = self.snapshot
        steps = {"undo": now.session.undone, "redo": now.session.done}.get(decision.action)
        if steps and len(steps[-1].rows) == 1:
            return int(steps[-1].rows[0])
        return now.live.queue[0].row if now.live.queue else None

    def explain(self, row: int, n: int) -> list[tuple[int, float]]:
        """Return the labeled rows at which most walks from a row end, with their shares."""
        with self._lock:
            return self._live.explain(row, n)

    def changed_since(self, version: int) -> IntArray | None:
        """Return the rows that changed since a version, None if that is not known any more."""
        with self._lock:
            changes, now = list(self._changes), self.snapshot.version
        if version > now or version < now - len(changes):
            return None
        parts = [rows for number, rows in changes if number > version]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *parts]))

    # The answer

    @property
    def _is_open(self) -> BoolArray:
        """Mask of the rows that may be offered: without a label, neither skipped nor unsure."""
        marked = self._session.marks & (UNSURE | SKIPPED)
        return np.asarray((self._session.labels == NO_CLASS) & (marked == 0))

    def _follow(self) -> LiveAnswer:
        """Return the live answer to the labels as they are now."""
        session = self._session
        codes = session.labels.astype(np.int64) - 1
        names = [known.name for known in session.classes]
        active = np.array([known.is_active for known in session.classes], dtype=np.bool_)
        return self._live.follow(codes, names, active, self._is_open)

    def _catch_up(self) -> None:
        """Do the work that follows decisions in the background, and publish its result."""
        while True:
            with self._lock:
                work = self._live.pending_work(self._is_open)
            if work is None:
                return
            install = work()
            with self._lock:
                if install():
                    self._publish(self._follow())

    def _publish(self, live: LiveAnswer) -> Snapshot:
        """Make a new snapshot, and tell all listeners."""
        with self._lock:
            before = self.snapshot
            after = self._new_snapshot(before.version + 1, live, before)
            rows = np.flatnonzero((before.packed != after.packed).any(axis=1))
            self._changes.append((after.version, rows))
            self.snapshot = after
        for listener in list(self.listeners):
            listener(after.version)
        return after

    def _new_snapshot(self, version: int, live: LiveAnswer, before: Snapshot | None) -> Snapshot:
        session, automatic = self._session, self._automatic
        labels = session.labels
        stale = 0 if automatic is None else int((automatic.labels != labels).sum())
        is_current = automatic is not None and stale == 0
        distributions = automatic.distributions if automatic and is_current else live.distributions
        confidence = distributions.max(axis=1, initial=0.0)
        predicted = np.where(confidence > 0, _best(distributions) + 1, NO_CLASS)
        predicted = np.where(labels != NO_CLASS, labels, predicted).astype(np.int64)
        confidence = np.where(labels != NO_CLASS, 1.0, confidence)
        if not (labels != NO_CLASS).any():
            predicted, confidence = np.zeros_like(predicted), np.zeros_like(confidence)
        errors = automatic.errors if automatic and is_current else live.errors
        questions = _questions(session, errors)
        estimate = self._estimate(live, is_current)
        n_labels = int((labels != NO_CLASS).sum())
        if live.estimate is not None and (before is None or live is not before.live):
            point = (n_labels, live.estimate.accuracy, *live.estimate.interval)
            earlier = [each for each in self._history if each[0] < n_labels]
            self._history = (*earlier, point)
        changed = self._change_share(n_labels, _best(live.distributions))
        advice = session_advice(
            [known.name for known in session.active],
            [int((labels == known.number).sum()) for known in session.active],
            n_open=int(self._is_open.sum()),
            n_questions=len(questions),
            changed=changed,
            window=CHANGE_WINDOW,
        )
        flags = session.marks & (UNSURE | SKIPPED)
        flags[[question.row for question in questions]] |= QUESTION
        packed = np.column_stack([labels, predicted, np.round(255 * confidence), flags]).astype(
            np.uint8
        )
        return Snapshot(
            version=version,
            session=session,
            live=live,
            shown="automatic" if is_current else "live",
            distributions=distributions,
            predicted=predicted,
            confidence=confidence,
            questions=questions,
            estimate=estimate,
            history=self._history,
            advice=advice,
            fit=self._fit,
            stale_labels=stale,
            is_map_ready=self.map is not None,
            packed=packed,
        )

    def _estimate(self, live: LiveAnswer, is_automatic: bool) -> Estimate | None:
        found, source = live.estimate, "leave-one-out"
        if is_automatic and self._automatic is not None:
            held_out = self._automatic.labeled.fitted.held_out
            if held_out is not None:
                found, source = estimate_accuracy(held_out), "held-out"
        if found is None:
            return None
        return Estimate(found.accuracy, *found.interval, source)

    def _change_share(self, n_labels: int, predicted: IntArray) -> float | None:
        """Return the share of rows whose label changed over the last labels, None before that."""
        while self._past and self._past[-1][0] >= n_labels:
            self._past.pop()
        self._past.append((n_labels, predicted.astype(np.uint8)))
        first, then = self._past[0]
        while len(self._past) > 1 and n_labels - self._past[1][0] >= CHANGE_WINDOW:
            self._past.popleft()
            first, then = self._past[0]
        if n_labels - first < CHANGE_WINDOW:
            return None
        return float((then != self._past[-1][1]).mean())

    # The map and the automatic choice, in threads of their own

    def _compute_map(self) -> None:
        layout = force_layout(self._live.system.W, self.task.X, np.arange(len(self.task.X)))
        points = np.column_stack([layout.x, layout.y]).astype("<f4")
        self.map = points.tobytes()
        self._publish(self.snapshot.live)

    def start_fit(self) -> Snapshot:
        """Start the automatic choice on the labels as they are now, unless it is running."""
        with self._lock:
            if self._fit.fit == "running":
                return self.snapshot
            self._fit, self._stop_fit = FitState("running", stage="start"), threading.Event()
            session, stop = self._session, self._stop_fit
            self._fit_thread = threading.Thread(
                target=self._run_fit, args=(session, stop), name="studio-fit", daemon=True
            )
            self._fit_thread.start()
            return self._publish(self.snapshot.live)

    def cancel_fit(self) -> Snapshot:
        """Cancel the automatic choice, and wait for its end."""
        self._stop_fit.set()
        if self._fit_thread is not None:
            self._fit_thread.join()
        return self.snapshot

    def _run_fit(self, session: Session, stop: threading.Event) -> None:
        try:
            with cancellable(stop):
                task = relabel(self.task, label_names(session))
                # A core is left to the live answer.
                n_jobs = max(1, n_threads(None) - 1)
                labeled = label_rows(task, n_jobs=n_jobs, listener=self._fit_listener)
            result = _automatic_result(labeled, session)
            state = FitState("done", 1.0)
        except CancelledError:
            result, state = None, FitState("idle")
        except (InputError, ValueError, MemoryError) as error:
            result, state = None, FitState("failed", error=one_line(error))
        with self._lock:
            self._fit = state
            if result is not None:
                self._automatic = result
            self._publish(self.snapshot.live)

    def _fit_listener(self, name: str) -> ProgressCallback:
        def report(share: float | None, message: str) -> None:  # noqa: ARG001 - not shown
            shown = self._fit
            share = shown.progress if share is None else share
            if name == shown.stage and abs(share - shown.progress) < 0.05:
                return
            with self._lock:
                self._fit = FitState("running", share, name)
                self._publish(self.snapshot.live)

        return report

    # Export

    def export(self, what: str) -> Path:
        """Write the labeled table, the model or the report beside the table; return its path."""
        if what not in ("table", "model", "report"):
            msg = f"`what` must be table, model or report, got {what!r}"
            raise DecisionError(msg)
        labeled = self._current_labeled()
        from graphmargin.labeling.labeling_task import check_new_columns
        from graphmargin.labeling.summary import summarize
        from graphmargin.labeling.table_report import report_on
        from graphmargin.models import save_model
        from graphmargin.report.labeling_page import write_labeling_page
        from graphmargin.tables.writing import table_writer

        table = default_output(self.path, "labeled")
        ending = {"table": "", "model": ".graphmargin", "report": ".html"}[what]
        path = table.with_name(file_stem(table.name) + ending) if ending else table
        if what == "table":
            check_new_columns(labeled.task)
            with table_writer(path, like=self.path) as write:
                write(labeled.table)
        elif what == "model":
            save_model(labeled.model(**summarize(labeled).details), path)
        else:
            write_labeling_page(report_on(labeled), path)
        self.exports[path.name] = path
        return path

    def _current_labeled(self) -> LabeledTable:
        """Return the table labeled by the automatic choice on the labels as they are now."""
        while True:
            automatic, labels = self._automatic, self._session.labels
            if automatic is not None and (automatic.labels == labels).all():
                return automatic.labeled
            self.start_fit()
            if self._fit_thread is not None:
                self._fit_thread.join()
            if self._fit.fit == "failed":
                raise DecisionError(self._fit.error)
            if self._fit.fit == "idle":
                msg = "the automatic choice was cancelled; export again"
                raise DecisionError(msg)


def _best(distributions: FloatArray) -> IntArray:
    if not distributions.shape[1]:
        return np.zeros(len(distributions), dtype=np.int64)
    return np.asarray(distributions.argmax(axis=1))


def _questions(session: Session, errors: LabelErrors | None) -> tuple[Question, ...]:
    """Return the labels that look wrong and were not confirmed, the most suspicious one first."""
    if errors is None:
        return ()
    listed = [k for k in errors.listed if not session.marks[errors.rows[k]] & KEPT]
    return tuple(
        Question(
            int(errors.rows[k]),
            int(errors.given_labels[k]) + 1,
            int(errors.suggested_labels[k]) + 1,
            float(errors.probability[k]),
        )
        for k in listed[:MAX_QUESTIONS]
    )


def _automatic_result(labeled: LabeledTable, session: Session) -> AutomaticResult:
    """Return a labeled table in terms of the classes of the session."""
    numbers = {known.name: known.number for known in session.active}
    columns = np.array([numbers[str(name)] - 1 for name in labeled.task.target.classes.tolist()])
    distributions = np.zeros((len(session.labels), len(session.classes)))
    distributions[:, columns] = labeled.fitted.label_distributions
    held_out = labeled.fitted.held_out
    errors = None if held_out is None else label_errors(held_out, columns)
    return AutomaticResult(session.labels, labeled, distributions, errors)
