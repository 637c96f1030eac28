"""Suspicion of given labels: the evidence of the other labels against each of them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.harmonic.leave_one_out import leave_one_out
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.harmonic.system import Solver
from graphmargin.labels import UNLABELED, decode_labels

PRINTED = 5
"""Labels that a printed result lists."""


@dataclass(frozen=True)
class LabelSuspicion:
    """The evidence of the other labels against the own label of every labeled vertex.

    Attributes
    ----------
    vertices : array of shape (n_l,)
        The labeled vertices, ascending.
    given : array of shape (n_l,)
        Codes of the given labels.
    suggested : array of shape (n_l,)
        Codes of the labels that the others induce, which may be the given ones; -1 where no
        other label can be reached.
    suspicion : array of shape (n_l,)
        In [0, 1]: 0 where the others confirm the label, 1 where they contradict it, 0.5 where
        they are undecided or out of reach. It is above 0.5 where the others prefer another label.

    Examples
    --------
    >>> from graphmargin import harmonic_solution, label_suspicion
    >>> W = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> suspicion = label_suspicion(harmonic_solution(W, ["a", "b", "a", "a"]))
    >>> suspicion.vertices[suspicion.order].tolist()
    [0, 1, 2, 3]
    >>> suspicion.suspicion.round(2).tolist()
    [1.0, 1.0, 0.5, 0.0]
    """

    classes: AnyArray
    vertices: IntArray
    given: IntArray
    suggested: IntArray
    suspicion: FloatArray

    @property
    def given_labels(self) -> AnyArray:
        """The given labels."""
        return np.asarray(self.classes[self.given])

    @property
    def suggested_labels(self) -> AnyArray:
        """The labels that the others induce, or the marker for unlabeled where there is none."""
        return decode_labels(self.classes, self.suggested)

    @property
    def order(self) -> IntArray:
        """Rows from the most to the least suspicious: ``vertices[order]`` are the vertices."""
        return np.argsort(-self.suspicion, kind="stable")

    def __str__(self) -> str:
        """Return how many labels are doubted, and a line for each of the top five."""
        doubted = np.count_nonzero(self.suspicion > 0.5)
        lines = [f"{doubted} of {len(self.vertices)} labels have a suspicion above 0.5"]
        given, suggested = self.given_labels, self.suggested_labels
        for row in self.order[:PRINTED]:
            suggestion = f"suggested {str(suggested[row])!r}"
            if self.suggested[row] == UNLABELED:
                suggestion = "no other label in reach"
            lines.append(
                f"vertex {self.vertices[row]}: given {str(given[row])!r}, {suggestion}, "
                f"suspicion {self.suspicion[row]:.3f}"
            )
        return "\n".join(lines)


def label_suspicion(
    solution: HarmonicSolution, *, solver: Solver = "auto", n_jobs: int | None = None
) -> LabelSuspicion:
    """Return how strongly the other labels speak against each given one.

    Let p_k be the mass of class k at a labeled vertex when its own label is hidden
    (`leave_one_out`), the sink's mass being spread evenly over the classes. With g the given class,

    ``suspicion = max_{k != g} p_k / (p_g + max_{k != g} p_k)``,

    which is ``1 - p_g`` for two classes. Walks into the sink know nothing and pull it to 0.5,
    its value where no other label can be reached.

    Soft solutions are judged by their own trust in the other labels. Of gamma_g, small positive
    values are good (0.001 to 0.1 with the weights of `knn_graph`); from 1 on, much of the evidence
    goes down the sink. The cost is that of `leave_one_out`.

    Parameters
    ----------
    solution : HarmonicSolution
    solver, n_jobs
        As in `harmonic_solution`; they need not be those of the solution.

    Examples
    --------
    Two clusters, joined by a weak edge, and a wrong label in the second one:

    >>> from graphmargin.harmonic import harmonic_solution
    >>> W = np.kron(np.eye(2), np.ones((4, 4)))
    >>> W[3, 4] = W[4, 3] = 0.1
    >>> y = ["cat", "cat", "cat", "cat", "dog", "cat", "dog", "dog"]
    >>> found = label_suspicion(harmonic_solution(W, y, gamma_g=0.01))
    >>> found.vertices[found.order].tolist()
    [5, 4, 6, 7, 3, 0, 1, 2]
    >>> print(found)
    1 of 8 labels have a suspicion above 0.5
    vertex 5: given 'cat', suggested 'dog', suspicion 0.998
    vertex 4: given 'dog', suggested 'dog', suspicion 0.355
    vertex 6: given 'dog', suggested 'dog', suspicion 0.334
    vertex 7: given 'dog', suggested 'dog', suspicion 0.334
    vertex 3: given 'cat', suggested 'cat', suspicion 0.034
    """
    left_out = leave_one_out(solution, solver=solver, n_jobs=n_jobs)
    mass, rows = left_out.class_mass, np.arange(len(left_out.vertices))
    sink = np.clip(1.0 - mass.sum(axis=1, keepdims=True), 0.0, 1.0)
    others = mass + sink / mass.shape[1]
    own = others[rows, left_out.given]
    others[rows, left_out.given] = 0.0
    best = others.max(axis=1)
    # Own mass and that of the best other class do not vanish together, for all masses sum to one.
    return LabelSuspicion(
        left_out.classes, left_out.vertices, left_out.given, left_out.codes, best / (own + best)
    )
