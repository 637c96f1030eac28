"""The automatic choice of `graphmargin label`, in a thread of its own."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import CancelledError
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._errors import InputError, one_line
from graphmargin._threads import cancellable, n_threads
from graphmargin._typing import FloatArray, ProgressCallback
from graphmargin.confidence.held_out_predictions import AccuracyEstimate, estimate_accuracy
from graphmargin.confidence.label_errors import LabelErrors, label_errors
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.labeling_task import LabelingTask, relabel
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.studio.session import Session, label_names

MIN_PROGRESS = 0.05
"""Smallest progress within a stage that is reported."""


@dataclass(frozen=True)
class FitResult:
    """The table labeled by the automatic choice, and the session whose labels it used."""

    session: Session
    labeled: LabeledTable
    distributions: FloatArray
    """Class probabilities, with a column for each class of the session."""
    estimate: AccuracyEstimate | None
    errors: LabelErrors | None
    """Labels that look wrong; its classes are the numbers of columns."""


@dataclass(frozen=True)
class FitState:
    """The status of the automatic choice (idle, running, done or failed), and its last result."""

    status: str = "idle"
    progress: float = 0.0
    stage: str = ""
    error: str | None = None
    result: FitResult | None = None


class BackgroundFit:
    """The automatic choice on a table, one fit at a time.

    Parameters
    ----------
    task : LabelingTask
    on_change : callable
        Called without arguments after each change of `state`, in the thread of the fit.

    Attributes
    ----------
    state : FitState
    """

    def __init__(self, task: LabelingTask, on_change: Callable[[], object]) -> None:
        self.state = FitState()
        self._task, self._on_change = task, on_change
        self._lock = threading.Lock()
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, session: Session) -> None:
        """Start a fit on the labels of a session, unless one is running."""
        with self._lock:
            if self.state.status == "running":
                return
            self.state = FitState("running", stage="start", result=self.state.result)
            self._stop = threading.Event()
            self._thread = threading.Thread(
                target=self._run, args=(session, self._stop), name="studio-fit", daemon=True
            )
            self._thread.start()
        self._on_change()

    def cancel(self) -> None:
        """Cancel the fit, and wait for its end."""
        self._stop.set()
        self.wait()

    def wait(self) -> None:
        """Wait for the end of the fit."""
        if self._thread is not None:
            self._thread.join()

    def _run(self, session: Session, stop: threading.Event) -> None:
        last = self.state.result
        try:
            with cancellable(stop):
                task = relabel(self._task, label_names(session))
                # A core is left to the live answer.
                n_jobs = max(1, n_threads(None) - 1)
                labeled = label_rows(task, n_jobs=n_jobs, listener=self._listener)
            self.state = FitState("done", 1.0, result=_result(labeled, session))
        except CancelledError:
            self.state = FitState("idle", result=last)
        except (InputError, ValueError, MemoryError) as error:
            self.state = FitState("failed", error=one_line(error), result=last)
        self._on_change()

    def _listener(self, stage: str) -> ProgressCallback:
        def report(share: float | None, message: str) -> None:  # noqa: ARG001 - not shown
            before = self.state
            share = before.progress if share is None else share
            if stage != before.stage or abs(share - before.progress) >= MIN_PROGRESS:
                self.state = replace(before, progress=share, stage=stage)
                self._on_change()

        return report


def _result(labeled: LabeledTable, session: Session) -> FitResult:
    codes = {known.name: known.code for known in session.active}
    columns = np.array([codes[str(name)] for name in labeled.task.target.classes.tolist()])
    distributions = np.zeros((len(session.labels), len(session.classes)))
    distributions[:, columns] = labeled.fitted.label_distributions
    held_out = labeled.fitted.held_out
    if held_out is None:
        return FitResult(session, labeled, distributions, None, None)
    estimate, errors = estimate_accuracy(held_out), label_errors(held_out, columns)
    return FitResult(session, labeled, distributions, estimate, errors)
