"""The rows that candidates are tried on: all of them, or a sample with its own graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._checks import check_random_state
from graphmargin._typing import FloatArray, IntArray
from graphmargin.graph.adjacency import NeighborGraph
from graphmargin.harmonic._solvers.elimination import elimination_order
from graphmargin.harmonic.problem import HarmonicProblem, make_harmonic_problem
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin._solvers.feature_maps import stratified_sample
from graphmargin.selection.execution import Execution
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.tasks import Task, build_graph

MAX_TRIAL_ROWS = 20_000
"""Largest number of unlabeled rows in the graph of trials; of more rows, a sample is drawn."""
MAX_ELIMINATED_ROWS = 50_000
"""The same where the graph has so little fill that it is solved directly.

Such graphs have few dimensions, in which a sample is sparser and prefers a larger gamma_g.
"""
MAX_LABELED = 1000
"""Largest number of labeled rows that candidates learn from and are tested on in a sample."""
MIN_LABELED_PER_CLASS = 10
"""Labeled rows of each class that are always taken, so that no fold holds out all of them."""
MAX_UNLABELED = 1000
"""Largest number of unlabeled rows all of which trial machines learn from.

These machines are then the blend: nothing has to be trained again on all rows.
"""
N_SAMPLED, N_SAMPLED_PER_CLASS = 500, 50
"""Unlabeled rows in a sample of more: at least 500, and 50 for each class while below 1,000."""


@dataclass(frozen=True)
class TrialRows:
    """Rows that candidates are tried on, with the folds among them.

    Attributes
    ----------
    numbers : array of int
        Their numbers among all rows.
    X : array or CSR matrix, or a kernel matrix of all rows
    labels : EncodedLabels
    graph : NeighborGraph or None
        Their graph; None if it was given.
    problem : HarmonicProblem
    folds : list of arrays
        Positions among these rows whose labels are held out.
    """

    numbers: IntArray
    X: Any
    labels: EncodedLabels
    graph: NeighborGraph | None
    problem: HarmonicProblem
    folds: list[IntArray]


def draw_trial_rows(task: Task, held_out: HeldOutLabels, execution: Execution) -> TrialRows:
    """Return all rows of a task, or a sample if they are many and their graph is not given."""
    labels, parameters = task.labels, task.parameters
    n_unlabeled, limit = (~labels.labeled).sum(), MAX_TRIAL_ROWS
    is_sampled = parameters.graph is not None and n_unlabeled > limit
    if is_sampled and elimination_order(task.W) is not None:
        limit = MAX_ELIMINATED_ROWS
    if parameters.graph is None or n_unlabeled <= limit:
        every, folds = np.arange(task.X.shape[0]), [np.sort(fold) for fold in held_out.folds]
        return TrialRows(every, task.X, labels, task.graph, task.problem, folds)
    rows, _ = sample_rows(labels.codes, check_random_state(execution.seed), limit)
    sampled = EncodedLabels(labels.classes, labels.codes[rows])
    graph = build_graph(task.X[rows], parameters.graph, execution)
    trust = parameters.c_labeled
    if np.ndim(trust) > 0:
        trust = np.asarray(trust)[rows]
    problem = make_harmonic_problem(
        graph.W, sampled, c_labeled=trust, c_unlabeled=parameters.c_unlabeled
    )
    folds = [np.flatnonzero(np.isin(rows, fold)) for fold in held_out.folds]
    return TrialRows(rows, task.X[rows], sampled, graph, problem, folds)


def sample_rows(
    codes: IntArray, random: np.random.RandomState, max_unlabeled: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Return a sample of rows for trial machines, and the number of rows that each represents.

    It has up to 1,000 labeled rows, or ten of each class. By default, all of up to 1,000 unlabeled
    rows are in it, and of more, 50 for each class, but not fewer than 500 or more than 1,000.

    Examples
    --------
    >>> rows, factors = sample_rows(np.array([0, -1, 1, -1]), np.random.RandomState(0), 1)
    >>> rows.tolist(), factors.tolist()
    ([0, 2, 3], [1.0, 1.0, 2.0])
    """
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    n_classes = int(codes.max()) + 1
    limit = max(MAX_LABELED, MIN_LABELED_PER_CLASS * n_classes)
    if len(labeled) > limit:
        labeled = labeled[stratified_sample(codes[labeled], limit, random)]
    if len(unlabeled) > (max_unlabeled or MAX_UNLABELED):
        size = min(max(N_SAMPLED, N_SAMPLED_PER_CLASS * n_classes), MAX_UNLABELED)
        unlabeled = random.choice(unlabeled, max_unlabeled or size, replace=False)
    rows = np.sort(np.concatenate([labeled, unlabeled]))
    kinds = codes - UNLABELED  # a row represents those of its class, or unlabeled ones
    factors = np.bincount(kinds) / np.maximum(1, np.bincount(kinds[rows]))
    return rows, factors[kinds[rows]]
