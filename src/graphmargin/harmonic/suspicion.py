"""Suspicion of given labels by the graph alone: the evidence of the other labels against each."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.harmonic.leave_one_out import leave_one_out
from graphmargin.harmonic.solution import HarmonicSolution, spread_sink_mass
from graphmargin.labels import UNLABELED, decode_labels

N_PRINTED = 5
"""Number of labels that a printed result lists."""


@dataclass(frozen=True)
class LabelSuspicion:
    """The evidence of the other labels against the given label of every labeled vertex.

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
        In [0, 1]: 0 where the others confirm the label, 1 where they contradict it, 0.5 where they
        are undecided or cannot be reached. It is above 0.5 where they prefer another label.

    Examples
    --------
    >>> from graphmargin import harmonic_solution
    >>> from graphmargin.harmonic.suspicion import label_suspicion
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
        """The labels that the others induce, or the marker of unlabeled rows if there is none."""
        return decode_labels(self.classes, self.suggested)

    @property
    def order(self) -> IntArray:
        """Rows from the most to the least suspicious: ``vertices[order]`` are the vertices."""
        return np.argsort(-self.suspicion, kind="stable")

    def __str__(self) -> str:
        """Return the number of suspicious labels, and a line for each of the top five."""
        n_suspicious = np.count_nonzero(self.suspicion > 0.5)
        lines = [f"{n_suspicious} of {len(self.vertices)} labels have a suspicion above 0.5"]
        given, suggested = self.given_labels, self.suggested_labels
        for row in self.order[:N_PRINTED]:
            suggestion = f"suggested {str(suggested[row])!r}"
            if self.suggested[row] == UNLABELED:
                suggestion = "no other label can be reached"
            lines.append(
                f"vertex {self.vertices[row]}: given {str(given[row])!r}, {suggestion}, "
                f"suspicion {self.suspicion[row]:.3f}"
            )
        return "\n".join(lines)


def label_suspicion(solution: HarmonicSolution, *, n_jobs: int | None = None) -> LabelSuspicion:
    """Return how strongly the other labels contradict each given one, by the graph alone.

    It is no probability: where classes are no clusters, it contradicts many labels that are right.
    `label_errors` of a classifier whose parameters were chosen has the probability that a label is
    wrong.

    Let p_k be the mass of class k at a labeled vertex without its own label (`leave_one_out`),
    where the sink mass is divided equally among the classes. With g the given class,

    ``suspicion = max_{k != g} p_k / (p_g + max_{k != g} p_k)``,

    which is ``1 - p_g`` for two classes. Walks into the sink carry no information and pull it to
    0.5, its value where no other label can be reached.

    Soft solutions use their trust in the other labels. Small positive values of gamma_g are good
    (0.001 to 0.1 with the weights of `knn_graph`); from 1 on, too many walks end in the sink. The
    cost is that of `leave_one_out`.

    Parameters
    ----------
    solution : HarmonicSolution
    n_jobs : int, default=None
        Number of threads, as in `harmonic_solution`.

    Examples
    --------
    Two clusters that a weak edge connects, and a wrong label in the second one:

    >>> from graphmargin.harmonic import harmonic_solution
    >>> W = np.kron(np.eye(2), np.ones((4, 4)))
    >>> W[3, 4] = W[4, 3] = 0.1
    >>> y = ["cat", "cat", "cat", "cat", "dog", "cat", "dog", "dog"]
    >>> suspicion = label_suspicion(harmonic_solution(W, y, gamma_g=0.01))
    >>> suspicion.vertices[suspicion.order].tolist()
    [5, 4, 6, 7, 3, 0, 1, 2]
    >>> print(suspicion)
    1 of 8 labels have a suspicion above 0.5
    vertex 5: given 'cat', suggested 'dog', suspicion 0.998
    vertex 4: given 'dog', suggested 'dog', suspicion 0.355
    vertex 6: given 'dog', suggested 'dog', suspicion 0.334
    vertex 7: given 'dog', suggested 'dog', suspicion 0.334
    vertex 3: given 'cat', suggested 'cat', suspicion 0.034
    """
    left_out = leave_one_out(solution, n_jobs=n_jobs)
    others, rows = spread_sink_mass(left_out.class_mass), np.arange(len(left_out.vertices))
    given_mass = others[rows, left_out.given]
    others[rows, left_out.given] = 0.0
    best = others.max(axis=1)
    # The denominator is positive, because all masses sum to one.
    suspicion = best / (given_mass + best)
    return LabelSuspicion(
        left_out.classes, left_out.vertices, left_out.given, left_out.codes, suspicion
    )
