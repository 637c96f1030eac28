"""One labeling session: decisions, their journal, and the answers that follow them."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import numpy as np

from graphmargin._typing import IntArray
from graphmargin.labeling.graph_layout import force_layout
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.studio.background_fit import BackgroundFit
from graphmargin.studio.journal import open_journal
from graphmargin.studio.journal_file import NotSavedError
from graphmargin.studio.journal_lines import entry_values
from graphmargin.studio.live import LiveAnswer, LiveModel
from graphmargin.studio.session import Decision, Session, clean_name, decide
from graphmargin.studio.snapshot import Snapshot, make_snapshot
from graphmargin.studio.table_view import TableView
from graphmargin.tables.row_hashes import hash_rows
from graphmargin.tables.target import check_class_name

_logger = logging.getLogger(__name__)

MAX_CHANGES = 64
"""Number of versions for which the changed rows are kept."""


class Studio:
    """The session of a table, which several threads may use.

    Attributes
    ----------
    task : LabelingTask
    path : Path
    view : TableView
    notes : tuple of str
        What the person should know about the journal.
    snapshot : Snapshot
        The newest version; reading it needs no lock.
    live : LiveModel
    fit : BackgroundFit
    map : bytes or None
        Positions of all rows on the map; None until they are computed.
    listeners : list of callables
        Functions of a version, which are called in any thread.
    """

    def __init__(self, task: LabelingTask, path: Path) -> None:
        self.task, self.path = task, path
        self.view = TableView(task, path.parent)
        self.listeners: list[Callable[[int], None]] = []
        self.map: bytes | None = None
        self._lock = threading.RLock()
        self._background = ThreadPoolExecutor(1, thread_name_prefix="studio")
        self._changes: deque[IntArray] = deque(maxlen=MAX_CHANGES)
        self._hashes = hash_rows(task.table, leave_out=task.target.name)
        self._opened = opened = open_journal(path, task, self._hashes)
        self.notes = opened.notes
        self.live = LiveModel(task.X)
        self.fit = BackgroundFit(task, self._publish_again)
        self.snapshot = make_snapshot(
            opened.session, self.live.update(opened.session), self.fit.state
        )
        self._refresh()
        self._in_background(self._compute_map)

    def close(self) -> None:
        """End all computations and close the journal."""
        self.fit.cancel()
        self._background.shutdown(cancel_futures=True)
        with self._lock:
            self._opened.close()

    def decide(self, decision: Decision) -> Snapshot:
        """Apply a decision, write it to the journal, and return the new snapshot.

        Nothing that can fail follows the journal, which would differ from the session.
        """
        with self._lock:
            if decision.action in ("add_class", "rename_class"):
                self._check_name(decision)
            session = decide(self.snapshot.session, decision)
            now = self._next(session, self.live.update(session))
            try:
                self._opened.journal.append(entry_values(decision, self._hashes))
            except NotSavedError:
                self.live.update(self.snapshot.session)
                raise
            self._publish(now)
        self._in_background(self._refresh)
        return now

    def _check_name(self, decision: Decision) -> None:
        """Raise an error if labels of a class with this name would not be read again."""
        renamed = decision.label if decision.action == "rename_class" else None
        active = self.snapshot.session.active
        others = [known.name for known in active if known.code != renamed]
        check_class_name(clean_name(decision.name), others, self.task.target.rule)

    def changed_since(self, version: int) -> IntArray | None:
        """Return the rows that changed since a version, None if that is not known any more."""
        with self._lock:
            changes, n_versions = list(self._changes), self.snapshot.version - version
        if not 0 <= n_versions <= len(changes):
            return None
        recent = changes[len(changes) - n_versions :]
        return np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *recent]))

    def wait_for_background(self) -> None:
        """Wait until the work that follows decisions is done."""
        self._background.submit(lambda: None).result()

    def _in_background(self, work: Callable[[], None]) -> None:
        def report(ended: Future[None]) -> None:
            if not ended.cancelled() and (error := ended.exception()) is not None:
                _logger.error("work in the background failed", exc_info=error)

        self._background.submit(work).add_done_callback(report)

    def _refresh(self) -> None:
        while self.live.refresh(self.snapshot.session):
            with self._lock:
                session = self.snapshot.session
                self._publish(self._next(session, self.live.update(session)))

    def _compute_map(self) -> None:
        W = self.live.state.system.W
        layout = force_layout(W, self.task.X, np.arange(len(self.task.X)))
        self.map = np.column_stack([layout.x, layout.y]).astype("<f4").tobytes()
        self._publish_again()

    def _publish_again(self) -> None:
        """Publish the same answers with another state of the map or of the automatic choice."""
        with self._lock:
            self._publish(self._next(self.snapshot.session, self.snapshot.live))

    def _next(self, session: Session, live: LiveAnswer) -> Snapshot:
        """Return the snapshot that follows the newest one."""
        is_map_ready = self.map is not None
        return make_snapshot(
            session, live, self.fit.state, self.snapshot, is_map_ready=is_map_ready
        )

    def _publish(self, now: Snapshot) -> None:
        """Make a snapshot the newest one, and tell all listeners."""
        self._changes.append(np.flatnonzero((self.snapshot.packed != now.packed).any(axis=1)))
        self.snapshot = now
        for listener in list(self.listeners):
            listener(now.version)
