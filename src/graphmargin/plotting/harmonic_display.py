"""Display of a graph with its labels and their confidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.plotting._matplotlib import (
    check_plane,
    class_legend,
    get_axes,
    outline_given,
    scatter_classes,
)

MIN_STRENGTH = 0.15
"""Strength of the color of a vertex of confidence zero."""


@dataclass(kw_only=True, eq=False, repr=False)
class HarmonicDisplay:
    """Edges and vertices of a graph, in the color of the induced label, pale if it is uncertain.

    Given labels have a black ring, and vertices that no label reaches are gray. Create it with
    `from_solution` or `from_estimator`.

    Parameters
    ----------
    coordinates : array of shape (n, 2)
        Position of each vertex.
    edges : array of shape (e, 2)
        Pairs of vertices.
    codes : array of shape (n,)
        Induced class of each vertex, -1 for none.
    confidence : array of shape (n,)
        Confidence of each vertex, in [0, 1].
    labeled : array of shape (n,)
        Whether the label was given.
    classes : array of shape (c,)

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was drawn into.
    edges_ : LineCollection
    vertices_ : list of PathCollection
        A collection for each induced class, in their order, and one for vertices without a class.
    given_ : PathCollection
        The rings around given labels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from graphmargin.datasets import make_lattices
    >>> from graphmargin.harmonic import harmonic_solution
    >>> X, y, _, W = make_lattices()
    >>> solution = harmonic_solution(W, y, gamma_g=0.01)
    >>> display = HarmonicDisplay.from_solution(solution, X).plot(ax=Figure().subplots())
    >>> len(display.edges_.get_segments()), len(display.given_.get_offsets())
    (360, 2)
    """

    coordinates: FloatArray
    edges: IntArray
    codes: IntArray
    confidence: FloatArray
    labeled: BoolArray
    classes: AnyArray

    @classmethod
    def from_solution(
        cls, solution: HarmonicSolution, coordinates: npt.ArrayLike
    ) -> HarmonicDisplay:
        """Return the display of a harmonic solution.

        Parameters
        ----------
        solution : HarmonicSolution
        coordinates : array-like of shape (n, 2)
            Positions, such as X with two columns, or any layout of the graph.
        """
        points = check_plane("coordinates", coordinates, len(solution.codes))
        problem = solution.problem
        edges = np.column_stack(sparse.triu(problem.W, 1).tocoo().coords)
        return cls(
            coordinates=points,
            edges=edges,
            codes=solution.codes,
            confidence=solution.confidence,
            labeled=problem.labels.labeled,
            classes=solution.classes,
        )

    @classmethod
    def from_estimator(cls, estimator: Any, coordinates: npt.ArrayLike) -> HarmonicDisplay:
        """Return the display of the harmonic solution of a fitted classifier.

        Parameters
        ----------
        estimator : MaxMarginGraphCut or HarmonicClassifier
        coordinates : array-like of shape (n, 2)
            Positions of the training rows.
        """
        check_is_fitted(estimator, "harmonic_solution_")
        return cls.from_solution(estimator.harmonic_solution_, coordinates)

    def plot(self, ax: Any = None, *, size: float = 24.0) -> HarmonicDisplay:
        """Draw the graph.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None creates new ones.
        size : float, default=24
            Area of a vertex, in points squared.
        """
        self.ax_ = get_axes(ax)
        self.figure_ = self.ax_.figure
        from matplotlib.collections import LineCollection

        lines = list(self.coordinates[self.edges])
        self.edges_ = LineCollection(lines, colors="0.55", linewidths=0.6, alpha=0.5, zorder=1)
        self.ax_.add_collection(self.edges_)
        strength = MIN_STRENGTH + (1 - MIN_STRENGTH) * np.clip(self.confidence, 0.0, 1.0)
        self.vertices_ = scatter_classes(self.ax_, self.coordinates, self.codes, strength, size)
        self.given_ = outline_given(self.ax_, self.coordinates[self.labeled], size)
        class_legend(self.ax_, self.codes, self.classes)
        return self
