"""Updates of harmonic solutions: to add or remove a label is an update of rank one.

All vertices are in the system. A label absorbs at 1e9 times the rate of leaving its vertex, and
every walk ends in the sink at some time, so that the system is regular without a single label. Let
G be its inverse while vertex i has no label, and ``h_j = G_ji / G_ii`` the probability that a walk
from j passes i. If the masses at i become m, all others become

``l'_j = l_j + h_j (m - l_i)``:

for a new label, m is the indicator of its class; without its label, m is what the others induce. A
single column of G tells h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.graph.laplacian import components
from graphmargin.harmonic._solvers.label_graph import (
    Inverse,
    LabelGraph,
    VertexVisits,
    column_blocks,
)
from graphmargin.harmonic._solvers.system import HARD_LABEL_RATE, HarmonicSystem
from graphmargin.harmonic.suggestion import CandidateWalk
from graphmargin.labels import UNLABELED

COLUMN_TOLERANCE = 1e-8
"""Tolerance of a column of G on graphs too large for the direct solver, relative to its size."""


def inverse_after(inverse: Inverse, changes: Sequence[tuple[VertexVisits, bool]]) -> Inverse:
    """Return the function R -> G R after labels were added (True) or removed.

    With v the column of G at vertex i while it has no label, a label at i makes G of it
    ``G - v v' / v_i``, an update of rank one. A vertex whose own label is among the changes needs a
    new `inverse`, because its column would be zero.

    Examples
    --------
    >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]))
    >>> walks, nothing = LabelSystem(path, gamma_g=0.5), np.zeros(3, dtype=bool)
    >>> before, after = walks.inverse(nothing), walks.inverse(np.array([True, False, False]))
    >>> change = (walks.visits_of(before, 0, is_labeled=False), True)
    >>> R = np.array([[0.0], [1.0], [0.0]])
    >>> bool(np.allclose(inverse_after(before, [change])(R), after(R)))
    True
    """

    def updated(R: FloatArray) -> FloatArray:
        X = inverse(R)
        for changed, is_added in changes:
            effect = np.outer(changed.h, changed.visits @ R)
            X = np.maximum(X - effect, 0.0) if is_added else X + effect
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
    """A graph whose labels are added and removed one by one.

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
    Both ends of a path get a label, and one of them loses it:

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

    def visits_of(self, inverse: Inverse, vertex: int, *, is_labeled: bool) -> VertexVisits:
        """Return the walks that visit a vertex if it has no label, given `inverse` as it is now.

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
        return VertexVisits(vertex, visits)

    def change_label(
        self, solution: LiveSolution, inverse: Inverse, vertex: int, code: int
    ) -> tuple[LiveSolution, VertexVisits]:
        """Return the solution with another label at a vertex, -1 for none, and its visits.

        `inverse` is that of the labels of the solution. The cost is that of one column of G.
        """
        before = int(solution.codes[vertex])
        changed = self.visits_of(inverse, vertex, is_labeled=before != UNLABELED)
        mass, h = solution.class_mass, changed.h
        if code == UNLABELED:
            edges = self.W[[vertex]]
            new = edges.data @ mass[edges.indices]
            new[before] -= edges.data @ h[edges.indices]
            new = np.clip(new * changed.visits[vertex], 0.0, 1.0)
        else:
            new = np.eye(mass.shape[1])[code]
        mass = np.clip(mass + np.outer(h, new - mass[vertex]), 0.0, 1.0)
        codes = solution.codes.copy()
        codes[vertex] = code
        labeled = codes != UNLABELED
        mass[labeled] = np.eye(mass.shape[1])[codes[labeled]]
        return LiveSolution(codes, mass), changed

    def walk(self, solution: LiveSolution, inverse: Inverse | None = None) -> CandidateWalk:
        """Return the walk for suggestions; two classes count, also if there are fewer labels."""
        labeled = solution.codes != UNLABELED
        absorption, exact = self.absorption(labeled), None
        if self.is_direct:
            exact = self.inverse(labeled) if inverse is None else inverse
        mass = solution.class_mass
        return CandidateWalk(self.W, absorption, mass, self.gamma_g, exact, self.n_jobs)

    def label_graph(self, codes: IntArray, inverse: Inverse) -> LabelGraph:
        """Return the graph between labels, at the cost of a column of G for each of them.

        Examples
        --------
        >>> path = sparse.csr_array(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0.0]]))
        >>> walks, codes = LabelSystem(path, gamma_g=0.5), np.array([0, -1, 1])
        >>> graph = walks.label_graph(codes, walks.inverse(codes >= 0))
        >>> graph.edges.round(3).tolist(), graph.sink.round(3).tolist()
        ([[0.0, 0.4], [0.4, 0.0]], [0.7, 0.7])
        """
        labeled = codes != UNLABELED
        vertices = np.flatnonzero(labeled)
        starts = sparse.diags_array(self.absorption(labeled)).tocsc()[:, vertices]
        to_labels = self.W[vertices]
        edges = np.zeros((len(vertices), len(vertices)))
        for batch, shares in column_blocks(inverse, starts):
            edges[:, batch] = to_labels @ shares
        np.fill_diagonal(edges, 0.0)  # walks that return to their label before any other
        into_sink = inverse(np.where(labeled, 0.0, self.gamma_g)[:, None])[:, 0]
        return LabelGraph(vertices, (edges + edges.T) / 2, self.gamma_g + to_labels @ into_sink)
