"""What the graph says about a label when that label is hidden, without solving n_l times."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._blocks import row_blocks
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.harmonic.solve import HarmonicSystem
from graphmargin.labels import UNLABELED, decode_labels


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
        hard = problem.hard[vertices]
        _hard(solution, system, vertices[hard], class_mass, np.flatnonzero(hard))
        _soft(solution, system, vertices[~hard], class_mass, np.flatnonzero(~hard))
    class_mass[~defined] = 0.0
    codes = np.where(class_mass.any(axis=1), class_mass.argmax(axis=1), UNLABELED)
    defined = codes != UNLABELED
    return LeaveOneOut(solution.classes, vertices, class_mass, codes, given, defined)


def _hard(
    solution: HarmonicSolution,
    system: HarmonicSystem,
    vertices: IntArray,
    class_mass: FloatArray,
    rows: IntArray,
) -> None:
    problem = solution.problem
    own = problem.labels.one_hot
    absorption = problem.rates(solution.gamma_g).sum(axis=1)
    to_free = problem.W[vertices][:, problem.free].tocsr()
    to_hard = problem.W[vertices][:, np.flatnonzero(problem.hard)].tocsr()
    fixed = to_hard @ own[problem.hard]
    leaving = solution.gamma_g + problem.c_unlabeled + to_hard.sum(axis=1)
    f = solution.class_mass[problem.free]
    for batch in row_blocks(len(vertices), 8 * len(problem.free)):
        edges = to_free[batch].tocsr()
        returns = system.inverse_times(absorption, edges.T.toarray())
        at_edges = np.repeat(np.arange(edges.shape[0]), np.diff(edges.indptr))
        x = returns[edges.indices, at_edges]
        back = np.bincount(at_edges, edges.data * x, minlength=edges.shape[0])
        away = np.bincount(at_edges, edges.data * (1 - x), minlength=edges.shape[0])
        mass = fixed[batch] + edges @ f - back[:, None] * own[vertices[batch]]
        total = leaving[batch] + away
        with np.errstate(divide="ignore", invalid="ignore"):
            class_mass[rows[batch]] = np.where(
                total[:, None] > 0, np.clip(mass / total[:, None], 0.0, 1.0), 0.0
            )


def _soft(
    solution: HarmonicSolution,
    system: HarmonicSystem,
    vertices: IntArray,
    class_mass: FloatArray,
    rows: IntArray,
) -> None:
    problem = solution.problem
    place = np.searchsorted(problem.free, vertices)
    reached = np.isin(vertices, problem.free)
    vertices, rows, place = vertices[reached], rows[reached], place[reached]
    absorption = problem.rates(solution.gamma_g).sum(axis=1)
    for batch in row_blocks(len(vertices), 8 * len(problem.free)):
        columns = np.arange(len(place[batch]))
        unit = np.zeros((len(problem.free), len(columns)))
        unit[place[batch], columns] = 1.0
        G = system.inverse_times(absorption, unit)[place[batch], columns]
        trust = problem.trust[vertices[batch]]
        own = problem.labels.one_hot[vertices[batch]]
        mass = solution.class_mass[vertices[batch]] - (trust * G)[:, None] * own
        left = 1 - (trust - problem.c_unlabeled) * G
        with np.errstate(divide="ignore", invalid="ignore"):
            class_mass[rows[batch]] = np.where(
                left[:, None] > 0, np.clip(mass / left[:, None], 0.0, 1.0), 0.0
            )


def _reaches_another_label(problem: HarmonicProblem, vertices: IntArray) -> BoolArray:
    others = problem.labels_in_component[vertices] - (problem.trust[vertices] > 0)
    return np.asarray(others > 0)
