"""Leave-one-out solutions at the labeled vertices, in closed form."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic._solvers.label_graph import column_blocks, left_out_masses
from graphmargin.harmonic._solvers.system import HarmonicSystem
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, decode_labels


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
    ``LOO_i = y_i - (S y)_i / S_ii``. Written as the walk from label to label this needs no
    differences, which would lose digits where label i dominates the others. Let ``e_ij`` be the
    rate at which the walk that leaves label i ends at another label j, and ``k_i`` that at which it
    ends in the sink, without a label at i. Then

    ``LOO_i = sum_j e_ij y_j / (k_i + sum_j e_ij)``.

    The walk of a hard label starts at its neighbors, that of a soft one at its own vertex. The sums
    over labels of one class take a right-hand side for each label, so that there is no array of all
    ``e_ij``, and a factorization or a block iteration for all of them. A soft label takes another
    right-hand side if `c_unlabeled` is positive. The solution itself is not used, except for its
    problem and gamma_g.

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
    problem = solution.problem
    vertices = np.flatnonzero(problem.labels.labeled)
    given = problem.labels.codes[vertices]
    class_mass: FloatArray = np.zeros((len(vertices), len(solution.classes)))
    if np.isfinite(solution.gamma_g):
        class_mass = _left_out(problem, solution.gamma_g, n_jobs)
    n_others = problem.labels_in_component[vertices] - (problem.trust[vertices] > 0)
    class_mass[n_others == 0] = 0.0
    codes = np.where(class_mass.any(axis=1), class_mass.argmax(axis=1), UNLABELED)
    return LeaveOneOut(solution.classes, vertices, class_mass, codes, given)


def _left_out(problem: HarmonicProblem, gamma_g: float, n_jobs: int | None) -> FloatArray:
    """Return the class masses at all labeled vertices, each without its own label."""
    labeled = np.flatnonzero(problem.labels.labeled)
    hard, given = problem.hard[labeled], problem.labels.codes[labeled]
    rates, n_classes = problem.rates(gamma_g), len(problem.labels.classes)
    inverse = HarmonicSystem(problem.inner_edges, n_jobs=n_jobs).inverse(rates.sum(axis=1))
    starts = sparse.csc_array(problem.edges_to_labels(np.ones(len(problem.free))))
    into = starts.T @ inverse(rates)
    into_classes, leaving = into[:, :n_classes], into[:, n_classes:].sum(axis=1)

    # Of the given class, only the walks count that end at other labels.
    ends = sparse.csc_array(problem.label_rates)
    left, met = (np.flatnonzero(np.diff(edges.indptr)) for edges in (starts, ends))
    for batch in row_slices(len(left), 8 * (len(problem.free) + len(met))):
        labels = left[batch]
        is_other = (given[met, None] == given[labels]) & (met[:, None] != labels)
        share = inverse(ends[:, met] @ is_other.astype(np.float64))
        into_classes[labels, given[labels]] = starts[:, labels].multiply(share).sum(axis=0)

    between_hard = problem.W[labeled[hard]][:, labeled[hard]]
    into_classes[hard] += between_hard @ problem.labels.one_hot[labeled[hard]]
    leaving += into_classes.sum(axis=1) + np.where(hard, gamma_g + problem.c_unlabeled, 0.0)
    if problem.c_unlabeled > 0:  # which now pulls the vertices of soft labels, too
        soft = left[~hard[left]]
        for batch, visits in column_blocks(inverse, starts[:, soft]):
            own_visits = starts[:, soft[batch]].multiply(visits).sum(axis=0)
            leaving[soft[batch]] += problem.c_unlabeled * own_visits
    return left_out_masses(into_classes, leaving)
