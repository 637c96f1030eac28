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
from graphmargin.studio.journal import entry_line, journal_path, open_journal
from graphmargin.studio.live import LiveAnswer, LiveModel
from graphmargin.studio.session import Decision, DecisionError, Session, decide
from graphmargin.studio.snapshot import Snapshot, make_snapshot
from graphmargin.studio.table_view import TableView
from graphmargin.tables.row_hashes import hash_rows

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
        opened = open_journal(journal_path(path), task, self._hashes)
        self._journal, self.notes = opened.journal, opened.notes
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
            self._journal.close()

    def decide(self, decision: Decision) -> Snapshot:
        """Apply a decision, write it to the journal, and return the new snapshot."""
        with self._lock:
            if decision.action in ("add_class", "rename_class"):
                self._check_name(decision.name)
            session = decide(self.snapshot.session, decision)
            self._journal.append(entry_line(decision, self._hashes))
            now = self._publish(session, self.live.update(session))
        self._in_background(self._refresh)
        return now

    def _check_name(self, name: str) -> None:
        if self.task.target.rule.is_unlabeled(name.strip()):
            msg = f"{name.strip()!r} means unlabeled in this table; choose another name"
            raise DecisionError(msg)

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
                self._publish(session, self.live.update(session))

    def _compute_map(self) -> None:
        W = self.live.state.system.W
        layout = force_layout(W, self.task.X, np.arange(len(self.task.X)))
        self.map = np.column_stack([layout.x, layout.y]).astype("<f4").tobytes()
        self._publish_again()

    def _publish_again(self) -> None:
        """Publish the same answers with another state of the map or of the automatic choice."""
        with self._lock:
            self._publish(self.snapshot.session, self.snapshot.live)

    def _publish(self, session: Session, live: LiveAnswer) -> Snapshot:
        """Make a new snapshot, and tell all listeners."""
        with self._lock:
            before, is_map_ready = self.snapshot, self.map is not None
            now = make_snapshot(session, live, self.fit.state, before, is_map_ready=is_map_ready)
            self._changes.append(np.flatnonzero((before.packed != now.packed).any(axis=1)))
            self.snapshot = now
            for listener in list(self.listeners):
                listener(now.version)
        return now
