"""Edges from new points to the vertices of a graph, and the first step of their walk."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray
from graphmargin.graph._search.neighbors import Neighbors
from graphmargin.graph.weights import log_weights_of_points


@dataclass(frozen=True)
class Attachment:
    """One step of the random walk from new points into the graph.

    Attributes
    ----------
    transition : csr_array of shape (m, n)
        Probability of moving to each vertex, given that the walk moves; rows sum to one. The row
        of a point without an edge is zero.
    log_degrees : array of shape (m,)
        Logarithm of the total weight of a new point's edges, which does not underflow for distant
        points.
    """

    transition: sparse.csr_array
    log_degrees: FloatArray

    def move_probability(self, sink: float) -> FloatArray:
        """Return ``d / (d + sink)``, the probability that the walk moves to a vertex."""
        if sink == 0:
            return np.isfinite(self.log_degrees).astype(np.float64)
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + sink * np.exp(-self.log_degrees)))


def attach_by_neighbors(neighbors: Neighbors, width: float, n: int) -> Attachment:
    """Return the attachment of new points to their neighbors among the n vertices of a graph.

    Examples
    --------
    >>> neighbors = Neighbors(np.array([[1, 0]]), np.array([[0.0, 2.0]]), recall=1.0)
    >>> attachment = attach_by_neighbors(neighbors, width=1.0, n=3)
    >>> attachment.transition.toarray().round(3).tolist()
    [[0.119, 0.881, 0.0]]
    """
    log_weights = log_weights_of_points(neighbors.distances, width)
    largest = log_weights.max(axis=1, keepdims=True)
    relative = np.exp(log_weights - largest)
    total = relative.sum(axis=1, keepdims=True)
    m, k = log_weights.shape
    transition = sparse.csr_array(
        ((relative / total).ravel(), neighbors.indices.ravel(), np.arange(0, m * k + 1, k)),
        shape=(m, n),
    )
    return Attachment(transition, (largest + np.log(total))[:, 0])


def attach_by_weights(weights: Any) -> Attachment:
    """Return the attachment of new points by given non-negative weights of shape (m, n).

    Examples
    --------
    >>> attach_by_weights(np.array([[1.0, 3.0], [0.0, 0.0]])).transition.toarray().tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    weights = sparse.csr_array(weights, dtype=np.float64, copy=True)
    if weights.nnz and weights.data.min() < 0:
        msg = f"weights of edges to new points must be non-negative, got {weights.data.min()}"
        raise ValueError(msg)
    weights.eliminate_zeros()
    # Relative to the largest weight of a row, sums and their inverses are finite.
    largest = weights.max(axis=1).toarray().ravel()
    weights.data /= np.repeat(largest, np.diff(weights.indptr))
    total = weights.sum(axis=1)
    with np.errstate(divide="ignore"):
        log_degrees = np.log(largest) + np.log(total)
    weights.data /= np.repeat(total, np.diff(weights.indptr))
    return Attachment(weights, log_degrees)
