"""Leave-one-out solutions at the labeled vertices, in closed form."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic._solvers.system import HarmonicSystem
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, decode_labels

Inverse = Callable[[FloatArray], FloatArray]


@dataclass(frozen=True)
class LeaveOneOut:
    """The solution at every labeled vertex without its own label.

    Attributes
    ----------
    vertices : array of shape (n_l,)
        The labeled vertices, ascending.
    class_mass : array of shape (n_l, c)
        Class masses without the vertex's own label; zero where undefined.
    codes : array of shape (n_l,)
        Arg max of `class_mass`; -1 where undefined.
    given : array of shape (n_l,)
        Codes of the given labels.

    Examples
    --------
    >>> from graphmargin import harmonic_solution, leave_one_out
    >>> W = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> left_out = leave_one_out(harmonic_solution(W, ["a", "", "a", "b"]))
    >>> left_out.vertices.tolist(), left_out.labels.tolist()
    ([0, 2, 3], ['a', 'b', 'a'])
    >>> round(left_out.error, 2)
    0.67
    """

    classes: AnyArray
    vertices: IntArray
    class_mass: FloatArray
    codes: IntArray
    given: IntArray

    @property
    def defined(self) -> BoolArray:
        """False where no other label can be reached."""
        return np.asarray(self.codes != UNLABELED)

    @property
    def labels(self) -> AnyArray:
        """The label that the others induce, or the marker of unlabeled rows where undefined."""
        return decode_labels(self.classes, self.codes)

    @property
    def error(self) -> float:
        """Share of labels that the others predict wrong; an undefined one counts as wrong."""
        return float((self.codes != self.given).mean())


def leave_one_out(solution: HarmonicSolution, *, n_jobs: int | None = None) -> LeaveOneOut:
    """Return the leave-one-out solution at every labeled vertex in closed form.

    With M = L + gamma_g I and S its Schur complement on the hard labels,
    ``LOO_i = y_i - (S y)_i / S_ii``. Written as a walk this needs no differences, which would
    lose digits where label i dominates the others. Let ``h_j`` be the class masses of vertex j
    without those that end at label i, and ``t_j`` their sum with the sink mass. Then

    - ``LOO_i = sum_j w_ij h_j / (gamma_g + c_u + sum_j w_ij t_j)`` for a hard label,
    - ``LOO_i = h_i / (t_i + c_u G_ii)`` for a soft one, G the inverse of the system.

    Only the column of the given class differs between h and the solution. This takes one
    factorization (or block iteration) and one or two right-hand sides for each label.

    Parameters
    ----------
    solution : HarmonicSolution
    n_jobs : int, default=None
        Number of threads, as in `harmonic_solution`.

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
    if np.isfinite(gamma_g):
        system = HarmonicSystem(problem.inner_edges, n_jobs=n_jobs)
        inverse = system.inverse(problem.rates(gamma_g).sum(axis=1))
        hard = problem.hard[vertices]
        class_mass[hard] = _hard_masses(solution, inverse, vertices[hard])
        class_mass[~hard] = _soft_masses(solution, inverse, vertices[~hard])
    class_mass[~_reaches_another_label(problem, vertices)] = 0.0
    codes = np.where(class_mass.any(axis=1), class_mass.argmax(axis=1), UNLABELED)
    return LeaveOneOut(solution.classes, vertices, class_mass, codes, given)


def _hard_masses(solution: HarmonicSolution, inverse: Inverse, vertices: IntArray) -> FloatArray:
    """Return the class masses at vertices without their hard label, one at a time."""
    problem, codes = solution.problem, solution.problem.labels.codes
    hard = np.flatnonzero(problem.hard)
    to_free = problem.W[vertices][:, problem.free].tocsr()
    to_hard = problem.W[vertices][:, hard].tocsr()
    from_hard = to_hard @ problem.labels.one_hot[hard]
    mass = np.empty_like(from_hard)
    leaving = solution.gamma_g + problem.c_unlabeled + from_hard.sum(axis=1)
    f, sink = solution.class_mass[problem.free], solution.sink_mass[problem.free]
    class_rates = problem.class_rates
    for batch in row_slices(len(vertices), 8 * len(problem.free)):
        edges, given = to_free[batch].tocsr(), codes[vertices[batch]]
        at = np.repeat(np.arange(len(given)), np.diff(edges.indptr))
        # Rates into the given class, at the neighbors without those into the left-out label.
        rates = class_rates[:, given]
        rates[edges.indices, at] = _rates_without(
            problem, edges.indices, vertices[batch][at], given[at]
        )
        h = f[edges.indices]
        h[np.arange(len(at)), given[at]] = inverse(rates)[edges.indices, at]
        t = h.sum(axis=1) + sink[edges.indices]
        to_vertex = sparse.csr_array((edges.data, (at, np.arange(len(at)))), (len(given), len(at)))
        mass[batch] = from_hard[batch] + to_vertex @ h
        leaving[batch] += to_vertex @ t
    return _probabilities(mass, leaving)


def _rates_without(
    problem: HarmonicProblem, neighbors: IntArray, left_out: IntArray, codes: IntArray
) -> FloatArray:
    """Return rates of free vertices into classes without left-out vertices, pair by pair."""
    hard = np.flatnonzero(problem.hard)
    edges = sparse.coo_array(problem.boundary_edges[neighbors])
    pair, label = edges.coords[0], hard[edges.coords[1]]
    counts = (label != left_out[pair]) & (problem.labels.codes[label] == codes[pair])
    rates = np.bincount(pair[counts], edges.data[counts], minlength=len(neighbors))
    vertices = problem.free[neighbors]
    return np.asarray(rates + problem.trust[vertices] * (problem.labels.codes[vertices] == codes))


def _soft_masses(solution: HarmonicSolution, inverse: Inverse, vertices: IntArray) -> FloatArray:
    """Return the class masses at vertices without their soft label, one at a time."""
    problem = solution.problem
    mass = solution.class_mass[vertices]
    leaving = np.zeros(len(vertices))
    reached = np.flatnonzero(np.isin(vertices, problem.free))
    class_rates, hard_rates = problem.class_rates, problem.hard_rates
    for batch in row_slices(len(reached), 16 * len(problem.free)):
        rows = reached[batch]
        here, columns = vertices[rows], np.arange(len(rows))
        position, given = np.searchsorted(problem.free, here), problem.labels.codes[here]
        rates = class_rates[:, given]
        rates[position, columns] = hard_rates[position, given]
        mass[rows, given] = inverse(rates)[position, columns]
        leaving[rows] = mass[rows].sum(axis=1) + solution.sink_mass[here]
        if problem.c_unlabeled > 0:
            unit = np.zeros_like(rates)
            unit[position, columns] = 1.0
            leaving[rows] += problem.c_unlabeled * inverse(unit)[position, columns]
    return _probabilities(mass, leaving)


def _probabilities(mass: FloatArray, leaving: FloatArray) -> FloatArray:
    """Return mass / leaving as probabilities, zero where the walk cannot leave."""
    leaving = leaving[:, None]
    ratio = np.divide(mass, leaving, out=np.zeros_like(mass), where=leaving > 0)
    return np.clip(ratio, 0.0, 1.0)


def _reaches_another_label(problem: HarmonicProblem, vertices: IntArray) -> BoolArray:
    others = problem.labels_in_component[vertices] - (problem.trust[vertices] > 0)
    return np.asarray(others > 0)
