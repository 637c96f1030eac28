"""The walk between labeled vertices, from which the solutions of all folds follow.

Folds of a cross-validation differ at labeled vertices only, so all other vertices are eliminated
once for each gamma_g. What is left is a walk between labeled vertices: a dense matrix of edges, and
the rates at which eliminated vertices pass walks on to the sink. In a fold, vertices whose labels
are kept absorb; the masses of those whose labels are held out solve a small system, and the masses
of all unlabeled vertices follow by one substitution.

Like elimination itself, this takes no differences, so that every mass has a small relative error.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic._solvers.elimination import (
    LANES,
    MAX_FILL_OF_LANES,
    Elimination,
    eliminate,
    elimination_order,
)
from graphmargin.harmonic._solvers.iterative import violations
from graphmargin.harmonic._solvers.system import UNDERFLOW_MASS, HarmonicSystem, SystemSolution
from graphmargin.harmonic.problem import MAX_RATE, HarmonicProblem


@dataclass(frozen=True)
class LabelWalk:
    """The walk between labeled vertices for one gamma_g.

    Attributes
    ----------
    gamma_g : float
    W : csr_array
        Edges between the vertices that labels reach, unlabeled ones first.
    vertices : array of int
        Their numbers.
    labeled : array of int
        Those of them that are labeled.
    elimination : Elimination
        Elimination of the unlabeled ones, for several gamma_g.
    lane : int
        Position of this gamma_g in it.
    """

    gamma_g: float
    W: sparse.csr_array
    vertices: IntArray
    labeled: IntArray
    elimination: Elimination
    lane: int

    def solve(self, problems: Sequence[HarmonicProblem]) -> list[SystemSolution | None]:
        """Return the solutions of problems with some of the labels; None where masses underflow.

        Only the solution with all labels has a residual, that of others is nan.
        """
        of_labeled = np.stack([self._masses_of_labeled(problem) for problem in problems], axis=1)
        masses = self.elimination.extend(of_labeled, self.lane)
        np.clip(masses, 0.0, 1.0, out=masses)
        row = np.empty(len(problems[0].trust), dtype=np.int64)
        row[self.vertices[self.elimination.pattern.order]] = np.arange(len(masses))
        solutions: list[SystemSolution | None] = []
        for k, problem in enumerate(problems):
            X = masses[row[problem.free], k]
            best = X[:, :-1].argmax(axis=1)
            if (X[np.arange(len(X)), best] < UNDERFLOW_MASS).any():
                solutions.append(None)
                continue
            residual = np.nan
            if problem.labels.labeled[self.labeled].all():
                residual = self._residual(problem, masses[row[self.vertices], k])
            solutions.append(SystemSolution(X, best, "direct", 0, True, residual))
        return solutions

    def _masses_of_labeled(self, problem: HarmonicProblem) -> FloatArray:
        """Return the class masses and the sink mass of all labeled vertices."""
        hard = problem.hard[self.labeled]
        free = np.flatnonzero(~hard)
        masses = np.zeros((len(hard), len(problem.labels.classes) + 1))
        masses[hard, problem.labels.codes[self.labeled[hard]]] = 1.0
        if len(free):
            edges, sink_rates = self.elimination.kept_walk(self.lane)
            rates = edges[free] @ masses + self._rates(problem, self.labeled[free])
            rates[:, -1] += sink_rates[free]
            system = HarmonicSystem(sparse.csr_array(edges[np.ix_(free, free)]), "direct")
            masses[free] = system.inverse(rates.sum(axis=1))(rates)
        return masses

    def _rates(self, problem: HarmonicProblem, vertices: IntArray) -> FloatArray:
        """Return the rates at which walks at vertices without a hard label end there."""
        codes = problem.labels.codes[vertices]
        rates = np.zeros((len(vertices), len(problem.labels.classes) + 1))
        rates[np.arange(len(vertices)), codes] = problem.trust[vertices]  # zero where unlabeled
        rates[:, -1] = self.gamma_g + np.where(codes < 0, problem.c_unlabeled, 0.0)
        return rates

    def _residual(self, problem: HarmonicProblem, masses: FloatArray) -> float:
        """Return the largest distance of an entry from the weighted mean of its neighbors."""
        is_free = problem.reached[self.vertices] & ~problem.hard[self.vertices]
        rates = MAX_RATE * masses  # keeps fixed masses, whatever those of the neighbors are
        rates[is_free] = self._rates(problem, self.vertices[is_free])
        s = np.where(is_free, self.W.sum(axis=1) + rates.sum(axis=1), MAX_RATE)
        return float(violations(self.W, s, rates, masses).max())


def label_walks(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    *,
    max_flops: float,
    n_jobs: int | None = None,
) -> list[LabelWalk] | None:
    """Return the walks between labeled vertices for several finite gamma_g.

    None is returned where an elimination takes more than `max_flops` multiply-adds.

    Examples
    --------
    >>> from graphmargin.harmonic.problem import harmonic_problem
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> (walk,) = label_walks(harmonic_problem(path, ["a", None, "b"]), [0.0], max_flops=1e6)
    >>> walk.elimination.kept_walk()[0].tolist()
    [[0.0, 0.75], [0.75, 0.0]]
    """
    is_labeled = problem.labels.labeled
    unlabeled = np.flatnonzero(problem.reached & ~is_labeled)
    labeled = np.flatnonzero(problem.reached & is_labeled)
    vertices = np.concatenate([unlabeled, labeled])
    W = sparse.csr_array(problem.W[vertices][:, vertices])
    order = elimination_order(W, n_kept=len(labeled), max_flops=max_flops)
    if order is None:
        return None
    sink_rates = np.zeros((len(vertices), len(gammas)))
    sink_rates[: len(unlabeled)] = np.asarray(gammas) + problem.c_unlabeled
    lanes = LANES if len(order.column_rows) <= MAX_FILL_OF_LANES else 1
    eliminations = map_in_threads(
        lambda part: eliminate(W, sink_rates[:, part[0] : part[1]], order),
        chunk_ranges(len(gammas), lanes),
        n_jobs=n_jobs,
    )
    return [
        LabelWalk(gamma_g, W, vertices, labeled, eliminations[k // lanes], k % lanes)
        for k, gamma_g in enumerate(gammas)
    ]
