"""The live answer: a harmonic solution, suggestions and an estimate that follow the labels.

`LiveState` is frozen, and every label more or less gives a new one. `LiveModel` holds the newest
state for two threads: one updates it after each decision, the other refreshes it meanwhile.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    estimate_accuracy,
    predictions_for,
)
from graphmargin.confidence.label_errors import LabelErrors, label_errors
from graphmargin.graph.adjacency import knn_graph
from graphmargin.harmonic.label_updates import LabelSystem, LiveSolution, inverse_after
from graphmargin.harmonic.solution import conditional_distributions, spread_sink_mass
from graphmargin.harmonic.solvers import Inverse, LabelGraph, VertexVisits
from graphmargin.harmonic.suggestion import (
    CandidatePool,
    draw_pool,
    pick_labels,
    reason_for,
)
from graphmargin.labels import UNLABELED
from graphmargin.search.parameters import N_NEIGHBORS
from graphmargin.studio.session import Session

SINK_RATE = 0.03
"""The gamma_g of the live answer, in units of the median degree."""
MAX_UPDATES = 4
"""Largest number of labels at once that are updates; more are solved from scratch."""
POOL_LABELS = 10
"""Number of labels after which candidates are drawn again."""
N_CANDIDATES, N_SAMPLED = 200, 2_000
"""Sizes of the pool, smaller than in `suggest_labels`, because it is used after every label."""
MIN_OPEN_CANDIDATES = 30
N_QUEUED = 6
MIN_RELIABLE = 0.8
"""Smallest share of left-out labels predicted right with which the graph questions others.

Where classes are no clusters, it would contradict many labels that are right.
"""
MAX_LEFT_OUT, MAX_LEFT_OUT_ITERATIVE = 3_000, 500
"""Largest number of labels that are left out one by one, by elimination and by iterations."""


@dataclass(frozen=True)
class QueuedRow:
    """A row to label next, and why."""

    row: int
    reason: str


@dataclass(frozen=True)
class LiveAnswer:
    """Class probabilities of all rows, rows to label next, and an estimate of the accuracy.

    Attributes
    ----------
    distributions : array of shape (n, c)
        Class probabilities, with a column for each class; those of merged classes are zero.
    queue : tuple of QueuedRow
    estimate : AccuracyEstimate or None
    errors : LabelErrors or None
        Labels that look wrong; its classes are the numbers of columns.
    """

    distributions: FloatArray
    queue: tuple[QueuedRow, ...]
    estimate: AccuracyEstimate | None
    errors: LabelErrors | None


@dataclass(frozen=True)
class LabelChange:
    """A row that got or lost its label."""

    visits: VertexVisits
    absorption: FloatArray
    """Rates of absorption before the change."""
    is_labeled: bool


@dataclass(frozen=True)
class LiveState:
    """The harmonic solution for some labels, and what makes the next solutions fast.

    Attributes
    ----------
    system : LabelSystem
    solution : LiveSolution
    inverse : callable
        The function R -> G R for the labels before `changes`.
    changes : tuple of LabelChange
    pool : CandidatePool or None
        Rows that may be suggested; None until they are drawn.
    pool_age : int
        Number of changes since then.
    label_graph : LabelGraph or None
    queue : tuple of QueuedRow
        The rows that were suggested last.
    """

    system: LabelSystem
    solution: LiveSolution
    inverse: Inverse
    changes: tuple[LabelChange, ...] = ()
    pool: CandidatePool | None = None
    pool_age: int = 0
    label_graph: LabelGraph | None = None
    queue: tuple[QueuedRow, ...] = ()

    @property
    def labeled(self) -> BoolArray:
        """Mask of the rows with a label."""
        return np.asarray(self.solution.codes != UNLABELED)

    @property
    def current_inverse(self) -> Inverse:
        """The function R -> G R for the labels of the solution."""
        changes = [(change.visits, change.is_labeled) for change in self.changes]
        return inverse_after(self.inverse, changes)

    def with_labels(self, codes: IntArray, n_classes: int) -> LiveState:
        """Return the state for other labels: a few changes are updates, many are solved anew.

        Parameters
        ----------
        codes : array of shape (n,)
            Class of each label, -1 without a label.
        n_classes : int
        """
        rows = np.flatnonzero(self.solution.codes != codes)
        if len(rows) > MAX_UPDATES:
            solution = self.system.solve(codes, n_classes)
            inverse = self.system.inverse(codes != UNLABELED)
            return LiveState(self.system, solution, inverse, queue=self.queue)
        state = self._with_columns(n_classes)
        for row in rows:
            state = state.with_label(int(row), int(codes[row]))
        return state

    def _with_columns(self, n_classes: int) -> LiveState:
        """Return the state with a column for each class; undoing a new class removes its column."""
        if self.solution.class_mass.shape[1] == n_classes:
            return self
        mass = self.solution.class_mass[:, :n_classes]
        class_mass = np.zeros((len(mass), n_classes))
        class_mass[:, : mass.shape[1]] = mass
        return replace(self, solution=replace(self.solution, class_mass=class_mass))

    def with_label(self, row: int, code: int) -> LiveState:
        """Return the state with another label of a row, -1 for none."""
        state, labeled = self, self.labeled
        if any(change.visits.vertex == row for change in self.changes):
            state = replace(self, inverse=self.system.inverse(labeled), changes=())
        inverse = state.current_inverse
        solution, visits = self.system.change_label(self.solution, inverse, row, code)
        state = replace(state, solution=solution)
        if labeled[row] and code != UNLABELED:
            return state  # the same rows have a label
        absorption = self.system.absorption(labeled)
        if code != UNLABELED:
            # The updated inverse is zero at labels of `changes`, where walks end as they arrive.
            ends = self.system.W @ visits.visits / absorption
            visits = replace(visits, visits=np.where(labeled, ends, visits.visits))
        return state.apply(LabelChange(visits, absorption, code != UNLABELED))

    def apply(self, change: LabelChange) -> LiveState:
        """Return the state with inverse, candidates and label graph after a change."""
        visits, pool, graph = change.visits, self.pool, self.label_graph
        if pool is not None:
            update = pool.labeled if change.is_labeled else pool.unlabeled
            pool = update(visits.vertex, visits.visits)
        if graph is not None and change.is_labeled:
            graph = graph.with_label(visits, change.absorption)
        elif graph is not None:
            graph = graph.without_label(visits.vertex)
        changes, age = (*self.changes, change), self.pool_age + 1
        return replace(self, changes=changes, pool=pool, pool_age=age, label_graph=graph)

    def needs_refresh(self, is_open: BoolArray) -> bool:
        """Tell whether `refreshed` would make the next answers better."""
        return self._needs_pool(is_open) or self._needs_label_graph

    def _needs_pool(self, is_open: BoolArray) -> bool:
        if self.pool is None or self.pool_age >= POOL_LABELS:
            return True
        n_open = int(is_open[self.pool.candidates].sum())
        return n_open < min(MIN_OPEN_CANDIDATES, int(is_open.sum()))

    @property
    def _needs_label_graph(self) -> bool:
        limit = MAX_LEFT_OUT if self.system.is_direct else MAX_LEFT_OUT_ITERATIVE
        return self.label_graph is None and 2 <= int(self.labeled.sum()) <= limit

    def refreshed(self, is_open: BoolArray) -> LiveState:
        """Return the state with a new inverse, new candidates if necessary, and a label graph.

        Parameters
        ----------
        is_open : mask of shape (n,)
            Rows that may be suggested.
        """
        system, solution, labeled = self.system, self.solution, self.labeled
        inverse = system.inverse(labeled)
        state = replace(self, inverse=inverse, changes=())
        if self._needs_pool(is_open):
            walk = system.walk(solution, inverse)
            walk = replace(walk, class_mass=_at_least_two(solution.class_mass))
            random = np.random.RandomState(int(labeled.sum()))
            pool = draw_pool(
                walk,
                is_open & ~labeled,
                system.component,
                N_CANDIDATES,
                random,
                n_sampled=N_SAMPLED,
            )
            state = replace(state, pool=pool, pool_age=0)
        if self._needs_label_graph:
            state = replace(state, label_graph=system.label_graph(solution.codes, inverse))
        return state

    def with_refreshed(self, refreshed: LiveState, before: LiveState) -> LiveState:
        """Return this state with what was refreshed in an earlier one, and the changes since.

        If the system was solved anew meanwhile, `refreshed` is of no use any more.
        """
        if self.inverse is not before.inverse:
            return self
        for change in self.changes[len(before.changes) :]:
            refreshed = refreshed.apply(change)
        return replace(refreshed, solution=self.solution, queue=self.queue)

    def answer(self, session: Session) -> LiveAnswer:
        """Return the answer for the labels of a session, which are those of the solution."""
        active = np.array([known.is_active for known in session.classes], dtype=np.bool_)
        mass = self.solution.class_mass[:, active]
        distributions = np.zeros(self.solution.class_mass.shape)
        distributions[:, active] = conditional_distributions(_at_least_two(mass))[
            :, : mass.shape[1]
        ]
        queue = self._suggest(mass, session)
        estimate, errors = self._left_out(active, distributions)
        return LiveAnswer(distributions, queue, estimate, errors)

    def _suggest(self, mass: FloatArray, session: Session) -> tuple[QueuedRow, ...]:
        """Return the rows to label next; without a pool, those of before that are still open."""
        is_open, pool = session.is_open, self.pool
        if pool is None:
            return tuple(queued for queued in self.queue if is_open[queued.row])
        names = np.array([*(known.name for known in session.active), *["another class"] * 2])
        mass = _at_least_two(mass)
        visits = pool.visits.copy()
        closed = np.flatnonzero(~is_open[pool.candidates])
        visits[closed, closed] = 0.0
        picks = pick_labels(replace(pool, visits=visits), spread_sink_mass(mass), N_QUEUED)
        component = self.system.component
        reached = np.isin(component, component[self.labeled])
        return tuple(
            QueuedRow(pick.vertex, reason_for(pick, mass, names, component, reached))
            for pick in picks
        )

    def _left_out(
        self, active: BoolArray, distributions: FloatArray
    ) -> tuple[AccuracyEstimate | None, LabelErrors | None]:
        """Return the estimated accuracy, and labels that look wrong, by leaving each label out."""
        graph, codes = self.label_graph, self.solution.codes
        counts = np.bincount(codes[self.labeled])
        if graph is None or np.count_nonzero(counts) < 2 or counts.max() < 2:
            return None, None
        columns = np.flatnonzero(active)
        mass = graph.leave_one_out(codes, len(active))[:, columns]
        held_out = predictions_for(
            np.searchsorted(columns, codes[graph.vertices]),
            conditional_distributions(mass),
            graph.vertices,
            uniform_share=0.0,
            unlabeled=distributions[~self.labeled][:, columns],
        )
        estimate = estimate_accuracy(held_out)
        is_reliable = estimate.n_right >= MIN_RELIABLE * estimate.n_held_out
        return estimate, label_errors(held_out, columns) if is_reliable else None

    def explain(self, row: int, n: int) -> list[tuple[int, float]]:
        """Return the labeled rows at which most walks from a row end, with their shares."""
        labels = np.flatnonzero(self.labeled)
        if not len(labels) or self.labeled[row]:
            return []
        walk = self.system.walk(self.solution, self.current_inverse)
        visits = walk.visits(np.array([row]), np.arange(len(self.labeled)))[0]
        shares = self.system.W[labels] @ visits
        best = np.argsort(-shares, kind="stable")[:n]
        return [(int(labels[k]), float(shares[k])) for k in best if shares[k] > 0]


def unlabeled_state(X: FloatArray) -> LiveState:
    """Return the state of rows with these features before any label."""
    W = knn_graph(X, min(N_NEIGHBORS, len(X) - 1), random_state=0)
    degrees = np.asarray(W.sum(axis=1))
    unit = float(np.median(degrees[degrees > 0])) if degrees.any() else 1.0
    system = LabelSystem(W, SINK_RATE * unit)
    solution = system.solve(np.full(len(X), UNLABELED), 0)
    return LiveState(system, solution, system.inverse(np.zeros(len(X), dtype=np.bool_)))


def _at_least_two(mass: FloatArray) -> FloatArray:
    """Return class masses with columns of zeros for classes that are not known yet.

    The sink mass is spread over the classes, and then shows which rows represent many.
    """
    missing = max(0, 2 - mass.shape[1])
    return np.column_stack([mass, np.zeros((len(mass), missing))]) if missing else mass


class LiveModel:
    """The newest live state of a table.

    Parameters
    ----------
    X : array of shape (n, d)
        Features of the rows.
    """

    def __init__(self, X: FloatArray) -> None:
        self.state = unlabeled_state(X)
        self._lock = threading.Lock()

    def update(self, session: Session) -> LiveAnswer:
        """Return the answer for the labels of a session, which becomes the newest state."""
        codes = session.labels.astype(np.int64)
        with self._lock:
            state = self.state.with_labels(codes, len(session.classes))
            answer = state.answer(session)
            self.state = replace(state, queue=answer.queue)
        return answer

    def refresh(self, session: Session) -> bool:
        """Compute anew what updates have made stale, and tell whether there was anything.

        Labels may change meanwhile, by calls of `update` in another thread.
        """
        before = self.state
        if not before.needs_refresh(session.is_open):
            return False
        refreshed = before.refreshed(session.is_open)
        with self._lock:
            self.state = self.state.with_refreshed(refreshed, before)
        return True
