"""What the graph says about a label when that label is hidden, without solving n_l times."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from graphmargin._blocks import row_blocks
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.harmonic.solve import HarmonicSystem
from graphmargin.labels import UNLABELED, decode_labels

Inverse = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class LeaveOneOut:
    """For every labeled vertex, the solution there if its own label were unknown.

    Attributes
    ----------
    vertices : array of shape (n_l,)
        The labeled vertices, ascending.
    class_mass : array of shape (n_l, c)
        Class masses without the own label; zero where undefined.
    codes : array of shape (n_l,)
        Arg max of `class_mass`; -1 where undefined.
    given : array of shape (n_l,)
        Codes of the given labels.
    defined : array of shape (n_l,)
        False where no other label can be reached.
    """

    classes: AnyArray
    vertices: IntArray
    class_mass: FloatArray
    codes: IntArray
    given: IntArray
    defined: BoolArray

    @property
    def labels(self) -> AnyArray:
        """The label that the others induce, or the marker for unlabeled where undefined."""
        return decode_labels(self.classes, self.codes)

    @property
    def error(self) -> float:
        """Share of labels that the others get wrong; an undefined one counts as wrong."""
        return float((self.codes != self.given).mean())


def leave_one_out(solution: HarmonicSolution) -> LeaveOneOut:
    """Return the leave-one-out solution at every labeled vertex in closed form.

    With M = L + gamma_g I and S its Schur complement on the hard labels,
    ``LOO_i = y_i - (S y)_i / S_ii``. Here this is written without differences of large numbers:
    with x_ji the probability that the walk from neighbor j is absorbed at i,
    ``LOO_i = sum_j w_ij (f_j - x_ji y_i) / (gamma_g + c_u + sum_j w_ij (1 - x_ji))``. A soft label
    of trust c_i gives ``(f_i - c_i G_ii y_i) / (1 - (c_i - c_u) G_ii)``, G the inverse of the
    system.

    One factorization (or block iteration) and one right-hand side for each label.

    Examples
    --------
    >>> from graphmargin.harmonic import harmonic_solution
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> leave_one_out(harmonic_solution(path, ["a", "b", "b"])).labels.tolist()
    ['b', 'b', 'b']
    """
    problem, gamma_g = solution.problem, solution.gamma_g
    vertices = np.flatnonzero(problem.labels.labeled)
    given = problem.labels.codes[vertices]
    class_mass = np.zeros((len(vertices), len(solution.classes)))
    defined = _reaches_another_label(problem, vertices)
    if np.isfinite(gamma_g):
        system = HarmonicSystem(
            problem.inner_edges, "direct" if solution.solver in ("direct", "none") else "cg"
        )
        inverse = system.inverse(problem.rates(gamma_g).sum(axis=1))
        hard = problem.hard[vertices]
        class_mass[hard] = _without_hard(solution, inverse, vertices[hard])
        class_mass[~hard] = _without_soft(solution, inverse, vertices[~hard])
    class_mass[~defined] = 0.0
    codes = np.where(class_mass.any(axis=1), class_mass.argmax(axis=1), UNLABELED)
    defined = codes != UNLABELED
    return LeaveOneOut(solution.classes, vertices, class_mass, codes, given, defined)


def _without_hard(solution: HarmonicSolution, inverse: Inverse, vertices: IntArray) -> FloatArray:
    """Return the class masses at vertices whose hard label is hidden, one at a time."""
    problem = solution.problem
    own = problem.labels.one_hot
    to_free = problem.W[vertices][:, problem.free].tocsr()
    to_hard = problem.W[vertices][:, np.flatnonzero(problem.hard)].tocsr()
    mass = to_hard @ own[problem.hard] + to_free @ solution.class_mass[problem.free]
    leaving = solution.gamma_g + problem.c_unlabeled + to_hard.sum(axis=1)
    for batch in row_blocks(len(vertices), 8 * len(problem.free)):
        edges = to_free[batch].tocsr()
        at_vertex = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
        x = inverse(edges.T.toarray())[edges.indices, at_vertex]
        back = np.bincount(at_vertex, edges.data * x, minlength=edges.shape[0])
        leaving[batch] += np.bincount(at_vertex, edges.data * (1 - x), minlength=edges.shape[0])
        mass[batch] -= back[:, None] * own[vertices[batch]]
    return _ratio(mass, leaving)


def _without_soft(solution: HarmonicSolution, inverse: Inverse, vertices: IntArray) -> FloatArray:
    """Return the class masses at vertices whose soft label is hidden, one at a time."""
    problem = solution.problem
    mass = solution.class_mass[vertices]
    leaving = np.zeros(len(vertices))
    reached = np.flatnonzero(np.isin(vertices, problem.free))
    for batch in row_blocks(len(reached), 8 * len(problem.free)):
        rows = reached[batch]
        here = vertices[rows]
        place, columns = np.searchsorted(problem.free, here), np.arange(len(here))
        unit = np.zeros((len(problem.free), len(here)))
        unit[place, columns] = 1.0
        G = inverse(unit)[place, columns]
        trust = problem.trust[here]
        mass[rows] -= (trust * G)[:, None] * problem.labels.one_hot[here]
        leaving[rows] = 1 - (trust - problem.c_unlabeled) * G
    return _ratio(mass, leaving)


def _ratio(mass: FloatArray, leaving: FloatArray) -> FloatArray:
    """Return mass / leaving as probabilities; zero where the walk cannot leave."""
    leaving = leaving[:, None]
    ratio = np.divide(mass, leaving, out=np.zeros_like(mass), where=leaving > 0)
    return np.clip(ratio, 0.0, 1.0)


def _reaches_another_label(problem: HarmonicProblem, vertices: IntArray) -> BoolArray:
    others = problem.labels_in_component[vertices] - (problem.trust[vertices] > 0)
    return np.asarray(others > 0)
