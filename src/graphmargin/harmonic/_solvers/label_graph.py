"""The walk from label to label, from which the solutions of folds and left-out labels follow.

Folds of a cross-validation differ at labeled vertices only, as do the solutions with and without a
label. What all other vertices do between two labels is the same: a walk goes from one label to
another at some rate, or ends in the sink. These rates follow from an elimination of the unlabeled
vertices, or from columns of the inverse of the system.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges, row_slices
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
from graphmargin.harmonic.problem import HarmonicProblem

Inverse = Callable[[FloatArray], FloatArray]
"""The function R -> G R for R >= 0, G the inverse of a harmonic system."""


def column_blocks(inverse: Inverse, starts: sparse.sparray) -> Iterator[tuple[slice, FloatArray]]:
    """Yield ``G starts`` in blocks of columns of 32 MB, each with the slice of its columns.

    Examples
    --------
    >>> starts = sparse.eye_array(3, format="csc")[:, [2, 0]]
    >>> [(batch, X.tolist()) for batch, X in column_blocks(lambda R: R / 4, starts)]
    [(slice(0, 2, None), [[0.0, 0.25], [0.0, 0.0], [0.25, 0.0]])]
    """
    columns = sparse.csc_array(starts)
    for batch in row_slices(columns.shape[1], 8 * columns.shape[0]):
        yield batch, inverse(columns[:, batch].toarray())


@dataclass(frozen=True)
class VertexVisits:
    """The walks that visit a vertex without a label.

    Attributes
    ----------
    vertex : int
    visits : array of shape (n,)
        Column of G at the vertex: expected time that a walk from there spends at each vertex.
    """

    vertex: int
    visits: FloatArray

    @property
    def h(self) -> FloatArray:
        """Probability that a walk from each vertex visits this one."""
        return np.asarray(self.visits / self.visits[self.vertex])


@dataclass(frozen=True)
class LabelGraph:
    """The walk from label to label: where the walk from a label meets the next one, or the sink.

    It is made by an elimination (`UnlabeledElimination`) or of columns of G (`LabelSystem`).

    Attributes
    ----------
    vertices : array of shape (m,)
        The labeled vertices.
    edges : array of shape (m, m)
        Rates at which the walk goes from one label to another, a Schur complement of L + gamma_g I.
    sink : array of shape (m,)
        Rates at which it ends in the sink.

    Examples
    --------
    A path of three vertices, whose ends have a label:

    >>> graph = LabelGraph(np.array([0, 2]), np.array([[0, 0.4], [0.4, 0]]), np.array([0.7, 0.7]))
    >>> graph.leave_one_out(np.array([0, -1, 1]), 2).round(3).tolist()
    [[0.0, 0.364], [0.364, 0.0]]
    """

    vertices: IntArray
    edges: FloatArray
    sink: FloatArray

    def leave_one_out(self, codes: IntArray, n_classes: int) -> FloatArray:
        """Return the class masses at each label without it, of shape (m, c)."""
        indicators = np.eye(n_classes)[codes[self.vertices]]
        return left_out_masses(self.edges @ indicators, self.edges.sum(axis=1) + self.sink)

    def masses(self, problem: HarmonicProblem) -> FloatArray:
        """Return the class masses and the sink mass of all m vertices, given some of the labels.

        Hard labels of the problem absorb. The masses of the others, whose labels are soft or held
        out, solve a system of their number. Like elimination, this takes no differences.
        """
        hard = problem.hard[self.vertices]
        free = np.flatnonzero(~hard)
        masses = np.zeros((len(hard), len(problem.labels.classes) + 1))
        masses[hard, problem.labels.codes[self.vertices[hard]]] = 1.0
        if len(free):
            vertices = self.vertices[free]
            codes = problem.labels.codes[vertices]
            rates = self.edges[free] @ masses
            rates[np.arange(len(free)), codes] += problem.trust[vertices]  # zero where unlabeled
            rates[:, -1] += self.sink[free] + np.where(codes < 0, problem.c_unlabeled, 0.0)
            system = HarmonicSystem(sparse.csr_array(self.edges[np.ix_(free, free)]), "direct")
            masses[free] = system.inverse(rates.sum(axis=1))(rates)
        return masses

    def with_label(self, visits: VertexVisits, absorption: FloatArray) -> LabelGraph:
        """Return the graph with one more label, given the rates of absorption before it."""
        rate = 1.0 / visits.visits[visits.vertex]
        shares = np.clip(absorption[self.vertices] * visits.visits[self.vertices], 0.0, 1.0)
        into_sink = max(0.0, 1.0 - shares.sum())
        m = len(self.vertices)
        edges = np.zeros((m + 1, m + 1))
        edges[:m, :m] = np.maximum(self.edges - rate * np.outer(shares, shares), 0.0)
        np.fill_diagonal(edges, 0.0)
        edges[m, :m] = edges[:m, m] = rate * shares
        sink = np.append(np.maximum(self.sink - rate * shares * into_sink, 0.0), rate * into_sink)
        return LabelGraph(np.append(self.vertices, visits.vertex), edges, sink)

    def without_label(self, vertex: int) -> LabelGraph:
        """Return the graph without a label, which walks then pass."""
        here = self.vertices == vertex
        row, own_sink = self.edges[here][0], float(self.sink[here][0])
        shares = row[~here] / max(row.sum() + own_sink, 1e-300)
        edges = self.edges[np.ix_(~here, ~here)] + np.outer(shares, row[~here])
        np.fill_diagonal(edges, 0.0)
        return LabelGraph(self.vertices[~here], edges, self.sink[~here] + shares * own_sink)


def left_out_masses(into_classes: FloatArray, leaving: FloatArray) -> FloatArray:
    """Return the class masses at labels without their own, given the rates of leaving for others.

    They are zero where the walk cannot leave.
    """
    masses = np.zeros_like(into_classes)
    np.divide(into_classes, leaving[:, None], out=masses, where=leaving[:, None] > 0)
    return np.clip(masses, 0.0, 1.0)


@dataclass(frozen=True)
class UnlabeledElimination:
    """The elimination of all unlabeled vertices for one gamma_g, which folds have in common.

    Attributes
    ----------
    gamma_g : float
    vertices : array of int
        Vertices that labels reach, unlabeled ones first.
    labeled : array of int
        Those of them that are labeled.
    elimination : Elimination
        Elimination of the unlabeled ones, for several gamma_g.
    lane : int
        Position of this gamma_g in it.
    """

    gamma_g: float
    vertices: IntArray
    labeled: IntArray
    elimination: Elimination
    lane: int

    def label_graph(self) -> LabelGraph:
        """Return the walk between the labeled vertices, which are left over."""
        return LabelGraph(self.labeled, *self.elimination.kept_walk(self.lane))

    def solve(self, problems: Sequence[HarmonicProblem]) -> list[SystemSolution | None]:
        """Return the solutions of problems with some of the labels; None where masses underflow.

        The masses of unlabeled vertices follow from those of labeled ones by one substitution.
        Only the solution with all labels has a residual, that of others is nan.
        """
        graph = self.label_graph()
        of_labeled = np.stack([graph.masses(problem) for problem in problems], axis=1)
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
                residual = self._residual(problem, X)
            solutions.append(SystemSolution(X, best, "direct", 0, True, residual))
        return solutions

    def _residual(self, problem: HarmonicProblem, X: FloatArray) -> float:
        """Return the largest distance of an entry from the weighted mean of its neighbors."""
        W, rates = problem.inner_edges, problem.rates(self.gamma_g)
        s = W.sum(axis=1) + rates.sum(axis=1)
        return float(violations(W, s, rates, X[:, : rates.shape[1]]).max(initial=0.0))


def eliminate_unlabeled(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    *,
    max_flops: float,
    n_jobs: int | None = None,
) -> list[UnlabeledElimination] | None:
    """Return the eliminations of unlabeled vertices for several finite gamma_g.

    None is returned where an elimination takes more than `max_flops` multiply-adds.

    Examples
    --------
    >>> from graphmargin.harmonic.problem import harmonic_problem
    >>> problem = harmonic_problem(np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]]), ["a", None, "b"])
    >>> (elimination,) = eliminate_unlabeled(problem, [0.0], max_flops=1e6)
    >>> elimination.label_graph().edges.tolist()
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
    sink_rates = np.tile(np.asarray(gammas, dtype=np.float64), (len(vertices), 1))
    sink_rates[: len(unlabeled)] += problem.c_unlabeled
    lanes = LANES if len(order.column_rows) <= MAX_FILL_OF_LANES else 1
    eliminations = map_in_threads(
        lambda part: eliminate(W, sink_rates[:, part[0] : part[1]], order),
        chunk_ranges(len(gammas), lanes),
        n_jobs=n_jobs,
    )
    return [
        UnlabeledElimination(gamma_g, vertices, labeled, eliminations[k // lanes], k % lanes)
        for k, gamma_g in enumerate(gammas)
    ]
