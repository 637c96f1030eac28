"""The predictor of harmonic solutions: one more step of the walk, from new points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._rows import check_magnitude
from graphmargin._typing import AnyArray, FloatArray, IntArray
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
        Width of the edges' weights.
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
    """The part of a blend that uses one graph.

    Attributes
    ----------
    class_mass : array of shape (n, c)
        Class masses of the vertices, times the weight of this part.
    sinks : tuple of (weight, rate)
        Rates at which the walk of a new point ends in the sink, and their weights in the blend;
        the weights of all parts sum to 1.
    points : PointGraph or None
        None for a precomputed graph, whose new points come with the weights of their edges.
    """

    class_mass: FloatArray
    sinks: tuple[tuple[float, float], ...]
    points: PointGraph | None

    def move_probability(self, attachment: Attachment) -> FloatArray:
        """Return the weighted probability that a new point moves to a vertex, not into the sink."""
        moving = np.zeros(attachment.transition.shape[0])
        for weight, rate in self.sinks:
            moving += weight * attachment.move_probability(rate)
        return moving


def walk_distributions(parts: Sequence[WalkPart], X: Any, n_classes: int) -> FloatArray:
    """Return the class probabilities of new points by one more step of the walk.

    The class masses of all parts are added up, and the sink's share is spread evenly.

    Examples
    --------
    >>> part = WalkPart(np.array([[1.0, 0.0], [0.0, 1.0]]), ((1.0, 1.0),), None)
    >>> walk_distributions([part], np.array([[1.0, 3.0]]), 2).round(2).tolist()
    [[0.3, 0.7]]
    """
    attachments = [attach(part.points, X) for part in parts]
    shares, moving = _first_step(parts, attachments, n_classes)
    return spread_sink_mass(shares * moving[:, None])


def _first_step(
    parts: Sequence[WalkPart], attachments: Sequence[Attachment], n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return the class masses that new points move to, and the probability that they move."""
    shares = np.zeros((attachments[0].transition.shape[0], n_classes))
    moving = np.zeros(len(shares))
    for part, attachment in zip(parts, attachments, strict=True):
        shares += attachment.transition @ part.class_mass
        moving += part.move_probability(attachment)
    return shares, moving


@dataclass(frozen=True)
class HarmonicPredictor:
    """The data that predictions of a harmonic classifier need.

    A new point x moves to a neighbor j with probability ``w(x, x_j) / (sum_j w(x, x_j) + gamma_g)``
    and gets that neighbor's class masses. In a blend, the masses of all parts are added up, and the
    probability of moving is their mean: the sink lowers the confidence, but changes no label.

    Attributes
    ----------
    classes : array of shape (c,)
    parts : tuple of WalkPart
        The graphs of the blend, the heaviest first.
    codes : array of shape (n,)
        Label of every vertex.
    majority : int
        Code of the most frequent label, for points without an edge.

    Examples
    --------
    >>> part = WalkPart(np.array([[1.0, 0.0], [0.0, 1.0]]), ((1.0, 1.0),), None)
    >>> predictor = HarmonicPredictor(np.array(["a", "b"]), (part,), np.array([0, 1]), 0)
    >>> predictor.predict(np.array([[1.0, 3.0]])).tolist()
    ['b']
    >>> predictor.probabilities(np.array([[1.0, 3.0]])).round(2).tolist()
    [[0.3, 0.7]]
    """

    classes: AnyArray
    parts: tuple[WalkPart, ...]
    codes: IntArray
    majority: int

    def predict(self, X: Any) -> AnyArray:
        """Return the label of new points, by the class masses of their neighbors."""
        return self.label(X)[0]

    def probabilities(self, X: Any) -> FloatArray:
        """Return class probabilities of new points; the sink mass is divided equally."""
        return self.label(X)[1]

    def label(self, X: Any) -> tuple[AnyArray, FloatArray]:
        """Return labels and class probabilities of new points, with one search for neighbors."""
        n_classes = len(self.classes)
        attachments = [attach(part.points, X) for part in self.parts]
        shares, moving = _first_step(self.parts, attachments, n_classes)
        votes = np.zeros_like(shares)
        for attachment in attachments:
            # Neighbors that no label reaches still have a label to vote with.
            votes += attachment.transition @ np.eye(n_classes)[self.codes]
        codes = np.where(shares.any(axis=1), shares.argmax(axis=1), votes.argmax(axis=1))
        codes = np.where(votes.any(axis=1), codes, self.majority)
        return np.asarray(self.classes[codes]), spread_sink_mass(shares * moving[:, None])
