"""The live answer: harmonic solutions, suggestions and estimates that follow the labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.graph.adjacency import knn_graph
from graphmargin.harmonic.leave_one_out import leave_one_out
from graphmargin.harmonic.solution import HarmonicSolution, spread_sink_mass, solve_path
from graphmargin.harmonic.problem import make_harmonic_problem
from graphmargin.harmonic.suggestion import suggest_labels
from graphmargin.labels import EncodedLabels
from graphmargin.labeling.labeling_task import N_NEIGHBORS
from graphmargin.selection.held_out_predictions import (
    AccuracyEstimate,
    estimate_accuracy,
    predictions_for,
)
from graphmargin.selection.label_errors import LabelErrors, label_errors


@dataclass(frozen=True)
class QueuedRow:
    row: int
    reason: str


@dataclass(frozen=True)
class LiveAnswer:
    distributions: FloatArray
    queue: tuple[QueuedRow, ...]
    estimate: AccuracyEstimate | None
    errors: LabelErrors | None
    solution: HarmonicSolution | None


class Live:
    def __init__(self, X: FloatArray) -> None:
        self.W = knn_graph(X, min(N_NEIGHBORS, len(X) - 1), random_state=0)
        degrees = np.asarray(self.W.sum(axis=1))
        self.gamma_g = 0.03 * float(np.median(degrees[degrees > 0])) if degrees.any() else 1.0

    def follow(self, labels: AnyArray, active: BoolArray, is_open: BoolArray) -> LiveAnswer:
        n, c = len(labels), len(active)
        codes = labels.astype(np.int64) - 1
        used = np.unique(codes[codes >= 0])
        distributions = np.zeros((n, c))
        distributions[:, active] = 1 / max(1, active.sum())
        if len(used) < 2:
            rows = np.flatnonzero(is_open & (codes < 0))[:10]
            queue = tuple(QueuedRow(int(r), "no row has a label yet") for r in rows)
            distributions[codes >= 0] = 0
            distributions[codes >= 0, codes[codes >= 0]] = 1
            return LiveAnswer(distributions, queue, None, None, None)
        encoded = EncodedLabels(used, np.where(codes >= 0, np.searchsorted(used, codes), -1))
        problem = make_harmonic_problem(self.W, encoded, c_labeled=np.inf, c_unlabeled=0.0)
        (solution,) = solve_path(problem, [self.gamma_g])
        mass = np.zeros((n, c))
        mass[:, used] = solution.class_mass
        distributions[:, active] = spread_sink_mass(mass[:, active])
        suggestions = suggest_labels(solution, 10)
        queue = tuple(
            QueuedRow(int(r), reason)
            for r, reason in zip(suggestions.vertices, suggestions.reasons, strict=True)
            if is_open[r]
        )
        left = leave_one_out(solution)
        P = spread_sink_mass(left.class_mass)
        held = predictions_for(
            left.given,
            P,
            left.vertices,
            doubt=0.0,
            unlabeled=solution.label_distributions[codes < 0],
        )
        return LiveAnswer(
            distributions, queue, estimate_accuracy(held), label_errors(held, used), solution
        )

    def explain(self, row: int, n: int) -> list[tuple[int, float]]:
        return []
