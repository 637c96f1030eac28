"""The live answer: a harmonic solution, suggestions and an estimate that follow the labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    estimate_accuracy,
    predictions_for,
)
from graphmargin.confidence.label_errors import LabelErrors, label_errors
from graphmargin.graph.adjacency import knn_graph
from graphmargin.harmonic._solvers.label_graph import Inverse, LabelGraph, VertexVisits
from graphmargin.harmonic.label_updates import LabelSystem, inverse_after
from graphmargin.harmonic.solution import conditional_distributions, spread_sink_mass
from graphmargin.harmonic.suggestion import (
    CandidatePool,
    draw_pool,
    pick_labels,
    reason_for,
)
from graphmargin.labels import UNLABELED
from graphmargin.selection.families import N_NEIGHBORS

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
"""Share of left-out labels that are predicted right from which on the graph questions others.

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
class _Change:
    """A change of one label, by which pools and label graphs follow."""

    passage: VertexVisits
    absorption: FloatArray
    """Rates of absorption before the change."""
    is_labeled: bool


class Live:
    """The live answer of a table, which one thread at a time may change.

    Parameters
    ----------
    X : array of shape (n, d)
        Features of the rows.
    """

    def __init__(self, X: FloatArray) -> None:
        W = knn_graph(X, min(N_NEIGHBORS, len(X) - 1), random_state=0)
        degrees = np.asarray(W.sum(axis=1))
        unit = float(np.median(degrees[degrees > 0])) if degrees.any() else 1.0
        self.system = LabelSystem(W, SINK_RATE * unit)
        self._solution = self.system.solve(np.full(len(X), UNLABELED), 0)
        self._inverse = self.system.inverse(np.zeros(len(X), dtype=np.bool_))
        self._changes: list[_Change] = []
        """Changes since `_inverse` was computed."""
        self._pool: CandidatePool | None = None
        self._pool_age = 0
        self._label_graph: LabelGraph | None = None
        self._since: list[_Change] | None = None
        """Changes while work in the background is under way; None if there is no such work."""
        self._queue: tuple[QueuedRow, ...] = ()

    def follow(
        self, codes: IntArray, names: Sequence[str], active: BoolArray, is_open: BoolArray
    ) -> LiveAnswer:
        """Return the answer for labels.

        Parameters
        ----------
        codes : array of shape (n,)
            Class of each label, -1 without a label.
        names : sequence of c str
            Names of all classes.
        active : mask of shape (c,)
            Classes that were not merged into another.
        is_open : mask of shape (n,)
            Rows that may be offered.
        """
        self._add_columns(len(names))
        rows = np.flatnonzero(self._solution.codes != codes)
        if len(rows) <= MAX_UPDATES:
            for row in rows:
                self._change_label(int(row), int(codes[row]))
        else:
            self._solution = self.system.solve(codes, len(names))
            self._set_inverse(self.system.inverse(codes != UNLABELED))
            self._pool = self._label_graph = self._since = None
        mass = self._solution.class_mass[:, active]
        distributions = np.zeros(self._solution.class_mass.shape)
        distributions[:, active] = conditional_distributions(_at_least_two(mass))[
            :, : mass.shape[1]
        ]
        self._queue = self._suggest(mass, np.array(names, dtype=object)[active], is_open)
        estimate, errors = self._left_out(active, distributions)
        return LiveAnswer(distributions, self._queue, estimate, errors)

    def _add_columns(self, n_classes: int) -> None:
        mass = self._solution.class_mass
        if mass.shape[1] != n_classes:  # undoing a new class removes a column without labels
            wide = np.zeros((len(mass), n_classes))
            shared = min(mass.shape[1], n_classes)
            wide[:, :shared] = mass[:, :shared]
            self._solution = replace(self._solution, class_mass=wide)

    def _change_label(self, row: int, code: int) -> None:
        before = self._solution
        labeled = before.codes != UNLABELED
        if any(change.passage.vertex == row for change in self._changes):
            self._set_inverse(self.system.inverse(labeled))
        inverse = self._inverse_now()
        self._solution, passage = self.system.change_label(before, inverse, row, code)
        was_labeled, is_labeled = bool(labeled[row]), code != UNLABELED
        if was_labeled and is_labeled:
            return  # the same rows have a label
        absorption = self.system.absorption(labeled)
        change = _Change(passage, absorption, is_labeled)
        self._changes.append(change)
        if self._since is not None:
            self._since.append(change)
        self._pool = _follow_pool(self._pool, change)
        self._label_graph = _follow_label_graph(self._label_graph, change)
        self._pool_age += 1

    def _set_inverse(self, inverse: Inverse) -> None:
        self._inverse, self._changes = inverse, []

    def _inverse_now(self) -> Inverse:
        changes = [(change.passage, change.is_labeled) for change in self._changes]
        return inverse_after(self._inverse, changes)

    def _suggest(
        self, mass: FloatArray, names: AnyArray, is_open: BoolArray
    ) -> tuple[QueuedRow, ...]:
        """Return the rows to label next; without a pool, those of before that are still open."""
        if self._pool is None:
            return tuple(queued for queued in self._queue if is_open[queued.row])
        mass, names = _at_least_two(mass), np.append(names, ["another class"] * 2)
        pool = self._pool
        visits = pool.visits.copy()
        closed = np.flatnonzero(~is_open[pool.candidates])
        visits[closed, closed] = 0.0
        picks = pick_labels(replace(pool, visits=visits), spread_sink_mass(mass), N_QUEUED)
        component = self.system.component
        reached = np.isin(component, component[self._solution.codes != UNLABELED])
        return tuple(
            QueuedRow(pick.vertex, reason_for(pick, mass, names, component, reached))
            for pick in picks
        )

    def _left_out(
        self, active: BoolArray, distributions: FloatArray
    ) -> tuple[AccuracyEstimate | None, LabelErrors | None]:
        """Return the estimated accuracy, and labels that look wrong, by leaving each label out."""
        graph, codes = self._label_graph, self._solution.codes
        used = np.unique(codes[codes != UNLABELED])
        if graph is None or len(used) < 2 or np.bincount(codes[codes >= 0]).max() < 2:
            return None, None
        columns = np.flatnonzero(active)
        mass = graph.leave_one_out(codes, len(active))[:, columns]
        held_out = predictions_for(
            np.searchsorted(columns, codes[graph.vertices]),
            conditional_distributions(mass),
            graph.vertices,
            doubt=0.0,
            unlabeled=distributions[codes == UNLABELED][:, columns],
        )
        estimate = estimate_accuracy(held_out)
        is_reliable = estimate.n_right >= MIN_RELIABLE * estimate.n_held_out
        return estimate, label_errors(held_out, columns) if is_reliable else None

    def explain(self, row: int, n: int) -> list[tuple[int, float]]:
        """Return the labeled rows at which most walks from a row end, with their shares."""
        solution, inverse = self._solution, self._inverse_now()
        labels = np.flatnonzero(solution.codes != UNLABELED)
        if not len(labels) or solution.codes[row] != UNLABELED:
            return []
        walk = self.system.walk(solution, inverse)
        visits = walk.visits(np.array([row]), np.arange(len(solution.codes)))[0]
        shares = self.system.W[labels] @ visits
        best = np.argsort(-shares, kind="stable")[:n]
        return [(int(labels[k]), float(shares[k])) for k in best if shares[k] > 0]

    def pending_work(self, is_open: BoolArray) -> Callable[[], Callable[[], bool]] | None:
        """Return work that makes the next answers better or faster, None if there is none.

        The work changes nothing and may run in another thread. It returns a function that takes
        its result over, with all changes of labels since, and tells whether the answer is new.
        """
        solution = self._solution
        labeled = solution.codes != UNLABELED
        is_drawn = self._pool is not None and self._pool_age < POOL_LABELS
        if is_drawn and self._pool is not None:
            n_open = int(is_open[self._pool.candidates].sum())
            is_drawn = n_open >= min(MIN_OPEN_CANDIDATES, int(is_open.sum()))
        limit = MAX_LEFT_OUT if self.system.is_direct else MAX_LEFT_OUT_ITERATIVE
        needs_graph = self._label_graph is None and 2 <= labeled.sum() <= limit
        if is_drawn and not needs_graph:
            return None
        since: list[_Change] = []
        self._since = since

        def work() -> Callable[[], bool]:
            inverse = self.system.inverse(labeled)
            pool = graph = None
            if not is_drawn:
                walk = self.system.walk(solution, inverse)
                walk = replace(walk, class_mass=_at_least_two(solution.class_mass))
                random = np.random.RandomState(int(labeled.sum()))
                pool = draw_pool(
                    *(walk, is_open & ~labeled, self.system.component, N_CANDIDATES, random),
                    n_sampled=N_SAMPLED,
                )
            if needs_graph:
                graph = self.system.label_graph(solution.codes, inverse)

            def install() -> bool:
                if self._since is not since:
                    return False  # many labels came meanwhile, and all is computed again
                self._inverse, self._changes = inverse, list(since)
                new_pool, new_graph = pool, graph
                for change in since:
                    new_pool = _follow_pool(new_pool, change)
                    new_graph = _follow_label_graph(new_graph, change)
                if new_pool is not None:
                    self._pool, self._pool_age = new_pool, len(since)
                if new_graph is not None:
                    self._label_graph = new_graph
                self._since = None
                return pool is not None or graph is not None

            return install

        return work


def _at_least_two(mass: FloatArray) -> FloatArray:
    """Return class masses with columns of zeros for classes that are not known yet.

    The sink mass, which is spread over the classes, then tells which rows stand for many.
    """
    missing = max(0, 2 - mass.shape[1])
    return np.column_stack([mass, np.zeros((len(mass), missing))]) if missing else mass


def _follow_pool(pool: CandidatePool | None, change: _Change) -> CandidatePool | None:
    if pool is None:
        return None
    vertex, visits = change.passage.vertex, change.passage.visits
    return pool.labeled(vertex, visits) if change.is_labeled else pool.unlabeled(vertex, visits)


def _follow_label_graph(graph: LabelGraph | None, change: _Change) -> LabelGraph | None:
    if graph is None:
        return None
    if change.is_labeled:
        return graph.with_label(change.passage, change.absorption)
    return graph.without_label(change.passage.vertex)
