"""The part of a predictor that attaches new points to a graph: one more step of the walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._rows import check_magnitude
from graphmargin._typing import FloatArray, IntArray
from graphmargin.graph._search.neighbors import NeighborSearch
from graphmargin.graph.adjacency import Metric, metric_points
from graphmargin.graph.out_of_sample import Attachment, attach_by_neighbors, attach_by_weights
from graphmargin.harmonic.solution import spread_sink_mass


@dataclass(frozen=True)
class PointGraph:
    """The points of a k-NN graph, to which new points can be attached.

    Attributes
    ----------
    search : NeighborSearch
        Search among the points, scaled so that the metric is the Euclidean distance.
    width : float
        Width of the weights of edges.
    n_neighbors : int
    metric : {"euclidean", "cosine"}
    """

    search: NeighborSearch
    width: float
    n_neighbors: int
    metric: Metric


def attach(points: PointGraph | None, X: Any) -> Attachment:
    """Return the first step of the walk from new points, or from given weights of their edges."""
    if points is None:
        return attach_by_weights(X)
    check_magnitude(X, is_new=True)
    neighbors = points.search.neighbors(points.n_neighbors, metric_points(X, points.metric))
    return attach_by_neighbors(neighbors, points.width, points.search.X.shape[0])


@dataclass(frozen=True)
class WalkPart:
    """The mean of harmonic solutions on one graph, for the class probabilities of new points.

    A new point x moves to a neighbor j with probability ``w(x, x_j) / (sum_j w(x, x_j) + gamma_g)``
    and gets that neighbor's class masses. In a mean of several gamma_g, the probability of moving
    is the mean of theirs: the sink lowers the confidence, but changes no label.

    Attributes
    ----------
    class_mass : array of shape (n, c)
        Class masses of the vertices.
    sinks : tuple of (weight, rate)
        Rates at which the walk of a new point ends in the sink, and their weights in the mean.
    points : PointGraph or None
        None for a given graph, whose new points come with the weights of their edges.
    codes : array of shape (n,)
        Label of every vertex.
    majority : int
        Code of the most frequent label, for points without an edge.

    Examples
    --------
    >>> mass = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> part = WalkPart(mass, ((1.0, 1.0),), None, np.array([0, 1]), 0)
    >>> codes, distributions = part.label(np.array([[1.0, 3.0]]))
    >>> codes.tolist(), distributions.round(2).tolist()
    ([1], [[0.3, 0.7]])
    """

    class_mass: FloatArray
    sinks: tuple[tuple[float, float], ...]
    points: PointGraph | None
    codes: IntArray
    majority: int

    def label(self, X: Any) -> tuple[IntArray, FloatArray]:
        """Return labels and class probabilities of new points, with one search for neighbors."""
        attachment = attach(self.points, X)
        shares = attachment.transition @ self.class_mass
        # Neighbors that no label reaches still have a label to vote with.
        votes = attachment.transition @ np.eye(self.class_mass.shape[1])[self.codes]
        codes = np.where(shares.any(axis=1), shares.argmax(axis=1), votes.argmax(axis=1))
        codes = np.where(votes.any(axis=1), codes, self.majority)
        return codes, spread_sink_mass(shares * self._moving(attachment)[:, None])

    def probabilities(self, X: Any) -> FloatArray:
        """Return class probabilities of new points; the sink mass is divided equally."""
        attachment = attach(self.points, X)
        shares = attachment.transition @ self.class_mass
        return spread_sink_mass(shares * self._moving(attachment)[:, None])

    def _moving(self, attachment: Attachment) -> FloatArray:
        """Return the probability that a new point moves to a vertex, not into the sink."""
        moving = np.zeros(attachment.transition.shape[0])
        for weight, rate in self.sinks:
            moving += weight * attachment.move_probability(rate)
        return moving
