"""Harmonic solutions that follow labels: a label more or less is an update of rank one.

All vertices are in the system. A label absorbs at 1e9 times the rate of leaving its vertex, and
every walk ends in the sink at some time, so that the system is regular without a single label. Let
G be its inverse while vertex i has no label, and ``h_j = G_ji / G_ii`` the probability that a walk
from j passes i. If the masses at i become m, all others become

``l'_j = l_j + h_j (m - l_i)``:

for a new label, m is the indicator of its class; without its label, m is what the others induce. A
single column of G tells h.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.graph.laplacian import components
from graphmargin.harmonic._solvers.system import HARD_LABEL_RATE, HarmonicSystem
from graphmargin.harmonic.suggestion import LabelWalk
from graphmargin.labels import UNLABELED

Inverse = Callable[[FloatArray], FloatArray]

COLUMN_TOLERANCE = 1e-8
"""Tolerance of a column of G on graphs too large for the direct solver, relative to its size."""


@dataclass(frozen=True)
class Passage:
    """The walks that pass a vertex without a label.

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
        """Probability that a walk from each vertex passes this one."""
        return np.asarray(self.visits / self.visits[self.vertex])


def inverse_after(inverse: Inverse, changes: Sequence[tuple[Passage, bool]]) -> Inverse:
    """Return the function R -> G R after some labels came (True) or went, by updates of rank one.

    With v the column of G at vertex i while it has no label, a label at i makes G of it
    ``G - v v' / v_i``. A vertex whose own label is among the changes needs a new `inverse`, because
    its column would be zero.

    Examples
    --------
    >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]))
    >>> walks, nothing = LabelSystem(path, gamma_g=0.5), np.zeros(3, dtype=bool)
    >>> before, after = walks.inverse(nothing), walks.inverse(np.array([True, False, False]))
    >>> change = (walks.passage(before, 0, is_labeled=False), True)
    >>> R = np.array([[0.0], [1.0], [0.0]])
    >>> bool(np.allclose(inverse_after(before, [change])(R), after(R)))
    True
    """

    def updated(R: FloatArray) -> FloatArray:
        X = inverse(R)
        for passage, has_come in changes:
            effect = np.outer(passage.h, passage.visits @ R)
            X = np.maximum(X - effect, 0.0) if has_come else X + effect
        return X

    return updated


@dataclass(frozen=True)
class LiveSolution:
    """Labels and the class masses that they induce.

    Attributes
    ----------
    codes : array of shape (n,)
        Classes of the labels, -1 without a label.
    class_mass : array of shape (n, c)
    """

    codes: IntArray
    class_mass: FloatArray


class LabelSystem:
    """A graph on which labels come and go.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative graph without a diagonal.
    gamma_g : float > 0
        Rate of the sink.
    n_jobs : int, default=None
        Number of threads.

    Examples
    --------
    A path, of which both ends get a label and one loses it:

    >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]))
    >>> walks = LabelSystem(path, gamma_g=0.5)
    >>> solution = walks.solve(np.array([0, -1, -1]), 2)
    >>> inverse = walks.inverse(solution.codes >= 0)
    >>> both, _ = walks.change_label(solution, inverse, 2, 1)
    >>> both.class_mass[1].round(3).tolist()
    [0.4, 0.4]
    >>> inverse = walks.inverse(both.codes >= 0)
    >>> one, _ = walks.change_label(both, inverse, 2, -1)
    >>> bool(np.allclose(one.class_mass, solution.class_mass))
    True
    """

    def __init__(self, W: sparse.csr_array, gamma_g: float, *, n_jobs: int | None = None) -> None:
        self.W, self.gamma_g, self.n_jobs = W, gamma_g, n_jobs
        self.component = components(W)
        self._leaving = np.asarray(W.sum(axis=1)) + gamma_g
        self._system = HarmonicSystem(W, "auto", n_jobs=n_jobs)

    @property
    def is_direct(self) -> bool:
        """Tell whether systems are factorized; otherwise they are solved by iterations."""
        return self._system.solver == "direct"

    def absorption(self, labeled: BoolArray) -> FloatArray:
        """Return the rates at which walks end, given the vertices with a label."""
        return np.where(labeled, HARD_LABEL_RATE * self._leaving, self.gamma_g)

    def inverse(self, labeled: BoolArray) -> Inverse:
        """Return the function R -> G R for R >= 0, given the vertices with a label."""
        return self._system.inverse(self.absorption(labeled), tol=COLUMN_TOLERANCE)

    def solve(self, codes: IntArray, n_classes: int) -> LiveSolution:
        """Return the solution for labels, -1 without a label; no class is needed."""
        labeled = codes != UNLABELED
        class_mass = np.zeros((len(codes), n_classes))
        if labeled.any():
            used, columns = np.unique(codes[labeled], return_inverse=True)
            rates = np.zeros((len(codes), len(used) + 1))
            rates[labeled, columns] = self.absorption(labeled)[labeled]
            rates[:, -1] = np.where(labeled, 0.0, self.gamma_g)
            (solved,) = self._system.solve([rates], len(used))
            class_mass[:, used] = solved.X[:, :-1]
            class_mass[labeled] = np.eye(n_classes)[codes[labeled]]
        return LiveSolution(codes, class_mass)

    def passage(self, inverse: Inverse, vertex: int, *, is_labeled: bool) -> Passage:
        """Return the walks that pass a vertex if it has no label, given `inverse` as it is now.

        The column of a vertex with a label is a multiple of that without it, whose entry at the
        vertex itself follows from its neighbors.
        """
        start = np.zeros((self.W.shape[0], 1))
        start[vertex] = 1.0
        visits = inverse(start)[:, 0]
        if is_labeled:
            edges = self.W[[vertex]]
            h = visits / visits[vertex]
            rate = self.gamma_g + float(edges.data @ (1.0 - h[edges.indices]))
            visits = h / rate
        return Passage(vertex, visits)

    def change_label(
        self, solution: LiveSolution, inverse: Inverse, vertex: int, code: int
    ) -> tuple[LiveSolution, Passage]:
        """Return the solution with another label at a vertex, -1 for none, and its passage.

        `inverse` is that of the labels of the solution. The cost is that of one column of G.
        """
        before = int(solution.codes[vertex])
        passage = self.passage(inverse, vertex, is_labeled=before != UNLABELED)
        mass, h = solution.class_mass, passage.h
        if code == UNLABELED:
            edges = self.W[[vertex]]
            new = edges.data @ mass[edges.indices]
            new[before] -= edges.data @ h[edges.indices]
            new = np.clip(new * passage.visits[vertex], 0.0, 1.0)
        else:
            new = np.eye(mass.shape[1])[code]
        mass = np.clip(mass + np.outer(h, new - mass[vertex]), 0.0, 1.0)
        codes = solution.codes.copy()
        codes[vertex] = code
        labeled = codes != UNLABELED
        mass[labeled] = np.eye(mass.shape[1])[codes[labeled]]
        return LiveSolution(codes, mass), passage

    def walk(self, solution: LiveSolution, inverse: Inverse | None = None) -> LabelWalk:
        """Return the walk for suggestions; two classes count, also if there are fewer labels."""
        labeled = solution.codes != UNLABELED
        absorption, exact = self.absorption(labeled), None
        if self.is_direct:
            exact = self.inverse(labeled) if inverse is None else inverse
        return LabelWalk(self.W, absorption, solution.class_mass, self.gamma_g, exact, self.n_jobs)

    def label_graph(self, codes: IntArray, inverse: Inverse) -> LabelGraph:
        """Return the graph between labels, at the cost of a column of G for each of them."""
        vertices = np.flatnonzero(codes != UNLABELED)
        rates = self.absorption(codes != UNLABELED)[vertices]
        to_label = self.W[vertices]
        edges = np.zeros((len(vertices), len(vertices)))
        for batch in row_slices(len(vertices), 8 * len(codes)):
            starts = np.zeros((len(codes), batch.stop - batch.start))
            starts[vertices[batch], np.arange(starts.shape[1])] = rates[batch]
            edges[:, batch] = to_label @ inverse(starts)
        leaving = self._leaving[vertices]
        own = np.diag(edges).copy()  # walks that come back before they meet another label
        np.fill_diagonal(edges, 0.0)
        sink = np.maximum(leaving - own - edges.sum(axis=1), 0.0)
        return LabelGraph(vertices, (edges + edges.T) / 2, sink)


@dataclass(frozen=True)
class LabelGraph:
    """The walk from label to label: where the walk from a label meets the next one, or the sink.

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
    >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]))
    >>> walks = LabelSystem(path, gamma_g=0.5)
    >>> codes = np.array([0, -1, 1])
    >>> graph = walks.label_graph(codes, walks.inverse(codes >= 0))
    >>> graph.leave_one_out(codes, 2).round(3).tolist()
    [[0.0, 0.364], [0.364, 0.0]]
    """

    vertices: IntArray
    edges: FloatArray
    sink: FloatArray

    def with_label(self, passage: Passage, absorption: FloatArray) -> LabelGraph:
        """Return the graph with one more label, given the rates of absorption before it."""
        rate = 1.0 / passage.visits[passage.vertex]
        shares = np.clip(absorption[self.vertices] * passage.visits[self.vertices], 0.0, 1.0)
        into_sink = max(0.0, 1.0 - shares.sum())
        m = len(self.vertices)
        edges = np.zeros((m + 1, m + 1))
        edges[:m, :m] = np.maximum(self.edges - rate * np.outer(shares, shares), 0.0)
        np.fill_diagonal(edges, 0.0)
        edges[m, :m] = edges[:m, m] = rate * shares
        sink = np.append(np.maximum(self.sink - rate * shares * into_sink, 0.0), rate * into_sink)
        return LabelGraph(np.append(self.vertices, passage.vertex), edges, sink)

    def without_label(self, vertex: int) -> LabelGraph:
        """Return the graph without a label, which walks then pass."""
        here = self.vertices == vertex
        row, own_sink = self.edges[here][0], float(self.sink[here][0])
        shares = row[~here] / max(row.sum() + own_sink, 1e-300)
        edges = self.edges[np.ix_(~here, ~here)] + np.outer(shares, row[~here])
        np.fill_diagonal(edges, 0.0)
        return LabelGraph(self.vertices[~here], edges, self.sink[~here] + shares * own_sink)

    def leave_one_out(self, codes: IntArray, n_classes: int) -> FloatArray:
        """Return the class masses at each label without it, of shape (m, c)."""
        indicators = np.eye(n_classes)[codes[self.vertices]]
        leaving = self.edges.sum(axis=1) + self.sink
        return np.asarray(self.edges @ indicators / np.maximum(leaving, 1e-300)[:, None])
