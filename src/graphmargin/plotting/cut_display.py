"""Display of a max-margin graph cut of points in the plane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.graph.adjacency import neighbor_graph
from graphmargin.harmonic.solvers import confidence_of
from graphmargin.harmonic.walk_part import PointGraph, attach
from graphmargin.plotting._matplotlib import (
    BAND_COLOR,
    check_plane,
    class_legend,
    class_style,
    get_axes,
    mix_with_white,
    outline_given,
    scatter_classes,
)

REGION_STRENGTH = 0.22
"""Strength of the color of a region."""


@dataclass(kw_only=True, eq=False, repr=False)
class CutDisplay:
    """Regions of a max-margin graph cut in the plane, and the points that it learned from.

    The black line is the decision boundary of f. Points that f was trained on are filled; hollow
    points have a confidence below eps and were left out. In the yellow band, a new point would be
    left out as well: the confidence of the harmonic solution, one step of the walk further, is
    below eps. Create it with `from_estimator`.

    Parameters
    ----------
    x1, x2 : array of shape (g,)
        Axes of the grid.
    regions : array of shape (g, g)
        Class that f predicts for each point of the grid; rows are along x2.
    confidence : array of shape (g, g)
        Confidence of the harmonic solution at each point of the grid.
    eps : float
        Smallest confidence of a point to learn from.
    points : array of shape (n, 2)
    codes : array of shape (n,)
        Induced class of each point, -1 for none.
    labeled, learned : array of bool of shape (n,)
        Whether the label of a point was given, and whether f was trained on it.
    classes : array of shape (c,)

    Attributes
    ----------
    ax_, figure_
        Axes and figure that it was drawn into.
    surface_ : QuadMesh
        The regions.
    boundaries_ : list of QuadContourSet
        The boundary of the region of each class; for two classes, a single one.
    band_ : QuadContourSet or None
        None if no point of the grid has a confidence below eps.
    points_ : list of PathCollection
        A collection for each class in `codes`, in their order.
    given_ : PathCollection
        Rings around the given labels.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, _, W = make_lattices()
    >>> model = MaxMarginGraphCut(kernel="poly", gamma_g=0.1, C=10.0, eps=0.01).fit(X, y, W=W)
    >>> display = CutDisplay.from_estimator(model, X, resolution=50).plot(ax=Figure().subplots())
    >>> display.regions.shape, display.band_ is not None
    ((50, 50), True)
    """

    x1: FloatArray
    x2: FloatArray
    regions: IntArray
    confidence: FloatArray
    eps: float
    points: FloatArray
    codes: IntArray
    labeled: BoolArray
    learned: BoolArray
    classes: AnyArray

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: npt.ArrayLike, *, resolution: int = 200, margin: float = 0.08
    ) -> CutDisplay:
        """Return the display of a classifier of two features.

        Points of the grid are connected to their nearest rows of X as in `knn_graph`, also if the
        graph of the rows was given.

        Parameters
        ----------
        estimator : MaxMarginGraphCut
            Fitted on X.
        X : array-like of shape (n, 2)
        resolution : int, default=200
            Number of points of the grid along each axis.
        margin : float, default=0.08
            Margin around the points, as a share of their extent.
        """
        check_is_fitted(estimator, "training_mask_")
        solution = estimator.harmonic_solution_
        points = check_plane("X", X, len(solution.codes))
        low, high = points.min(axis=0), points.max(axis=0)
        border = margin * (high - low)
        x1, x2 = np.linspace(low - border, high + border, resolution).T
        grid = np.column_stack([axis.ravel() for axis in np.meshgrid(x1, x2)])
        k, metric = estimator.n_neighbors, estimator.metric
        graph = neighbor_graph(points, k, width=estimator.width, metric=metric)
        attachment = attach(PointGraph(graph.search, graph.width, k, metric), grid)
        sink = solution.gamma_g + solution.problem.c_unlabeled
        moving = attachment.move_probability(sink)[:, None]
        mass = (attachment.transition @ solution.class_mass) * moving
        regions = np.searchsorted(estimator.classes_, estimator.predict(grid))
        return cls(
            x1=x1,
            x2=x2,
            regions=regions.reshape(resolution, resolution),
            confidence=confidence_of(mass).reshape(resolution, resolution),
            eps=estimator.eps,
            points=points,
            codes=solution.codes,
            labeled=solution.problem.labels.labeled,
            learned=estimator.training_mask_,
            classes=estimator.classes_,
        )

    def plot(self, ax: Any = None, *, size: float = 22.0) -> CutDisplay:
        """Draw regions, boundary, band and points.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw into; None creates new ones.
        size : float, default=22
            Area of a point, in points squared.
        """
        self.ax_, self.figure_ = get_axes(ax)
        from matplotlib.patches import Patch

        n_classes = len(self.classes)
        colors = mix_with_white(
            [class_style(k)[0] for k in range(n_classes)], np.full(n_classes, REGION_STRENGTH)
        )
        self.surface_ = self.ax_.pcolormesh(self.x1, self.x2, colors[self.regions], zorder=0)
        self.band_ = None
        extra = []
        if (self.confidence < self.eps).any():
            levels = [-1.0, self.eps]
            self.band_ = self.ax_.contourf(
                self.x1, self.x2, self.confidence, levels, colors=[BAND_COLOR], zorder=1
            )
            extra.append(Patch(facecolor=BAND_COLOR, label=rf"confidence < {self.eps:g}"))
        # The regions of two classes have the same boundary.
        around = [1] if n_classes == 2 else range(n_classes)
        self.boundaries_ = [
            self.ax_.contour(
                self.x1, self.x2, self.regions == k, [0.5], colors="black", linewidths=1.2, zorder=2
            )
            for k in around
            if 0 < (self.regions == k).mean() < 1
        ]
        self.points_ = scatter_classes(
            self.ax_, self.points, self.codes, self.learned.astype(np.float64), size
        )
        self.given_ = outline_given(self.ax_, self.points[self.labeled], size)
        class_legend(self.ax_, self.codes, self.classes, extra)
        return self
