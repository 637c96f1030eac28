"""A graph in the plane: which rows to show, and where."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray, IntArray
from graphmargin.graph.adjacency import knn_graph

MOST_POINTS = 1500
"""Points up to which a map is quick to draw, and its file small."""
NEIGHBORS = 5
"""Neighbors within a sample that a point is joined with."""
STEPS = 300
"""Moves of all points."""
N_REPULSIVE = 16
"""Points drawn at random, in each step, that push a point away."""
REPULSION = 20.0
"""Strength of the push against that of a single edge."""
LONGEST = 4.0
"""Length of a move, at most, in units in which joined points are about 1 apart."""
SPREAD = 6.0
"""Side of the square in which points start, in the same units."""


@dataclass(frozen=True)
class GraphLayout:
    """Points of a graph in the plane.

    Attributes
    ----------
    x, y : array of shape (m,)
        In [0, 1].
    edges : array of shape (e, 2)
        Pairs of points that are joined, by their place among them, the smaller one first.
    method : str
        How the points were placed, in words.
    """

    x: FloatArray
    y: FloatArray
    edges: IntArray
    method: str


def sample_for_map(codes: IntArray, most: int = MOST_POINTS) -> IntArray:
    """Return which rows a map shows: labeled ones first, then others at random, ascending.

    Labeled rows are what a person looks for, so they are all kept, up to `most`. Of more rows than
    that, those that are kept are drawn at random.

    Parameters
    ----------
    codes : array of shape (n,)
        Given labels, -1 for unlabeled.
    most : int, default=1500

    Examples
    --------
    >>> rows = sample_for_map(np.array([-1, -1, 0, -1, 1, -1]), most=3)
    >>> len(rows), 2 in rows, 4 in rows
    (3, True, True)
    """
    order = np.random.default_rng(0).permutation(len(codes))
    labeled_first = order[np.argsort(codes[order] < 0, kind="stable")]
    return np.sort(labeled_first[:most])


def place(W: sparse.csr_array, X: Any, rows: IntArray, random_state: int = 0) -> GraphLayout:
    """Return rows of a graph in the plane, such that neighbors are near each other.

    Edges pull with ``2 d / (1 + d^2)`` at distance d and other points push with
    ``2 / (d (1 + d^2))``, as in t-SNE and UMAP; the start are the ranks of the rows along their
    first two principal components (of sparse rows, singular vectors), so that far classes are far
    apart and outliers are not. The push is estimated from a few points at a time, and steps become
    smaller: the cost is linear in the number of points and edges, 0.7 s for 1,500.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        The graph. Its weights play no role here, as their range is too large for a picture.
    X : array or sparse matrix of shape (n, d)
        Points of the graph.
    rows : array of shape (m,)
        Two or more to be shown. A few rows of many have hardly an edge between them: unless these
        are all, they are joined with their nearest neighbors in X among themselves.
    random_state : int, default=0

    Examples
    --------
    Two clusters stay two clusters:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3)) + np.repeat([[0.0], [50.0]], 20, axis=0)
    >>> found = place(knn_graph(X, 3), X, np.arange(40))
    >>> points = np.column_stack([found.x, found.y])
    >>> gap = np.linalg.norm(points[:20].mean(axis=0) - points[20:].mean(axis=0))
    >>> bool(gap > 2 * points[:20].std())
    True
    """
    sampled = len(rows) < W.shape[0]
    points = X[rows]
    graph = knn_graph(points, min(NEIGHBORS, len(rows) - 1), width="binary") if sampled else W
    edges = np.column_stack(sparse.triu(graph, 1).tocoo().coords).astype(np.int64)
    rng = np.random.default_rng(random_state)
    plane = _relaxed(_start(points, rng), edges, rng)
    low, high = plane.min(axis=0), plane.max(axis=0)
    plane = (plane - low) / np.where(high > low, high - low, 1.0)
    joined = "nearest neighbors within the sample" if sampled else "neighbors in the graph"
    method = f"{joined} attract each other, all others repel; distances across the map mean little"
    return GraphLayout(plane[:, 0], plane[:, 1], edges, method)


def _start(points: Any, rng: np.random.Generator) -> FloatArray:
    """Return ranks along two principal components, with a jitter that tells equal rows apart."""
    n_components, seed = min(2, *points.shape), int(rng.integers(2**31))
    centered = points if sparse.issparse(points) else points - points.mean(axis=0)
    from sklearn.utils.extmath import randomized_svd

    components, *_ = randomized_svd(centered, n_components, random_state=seed)
    plane = np.zeros((len(components), 2))
    ranks = components.argsort(axis=0, kind="stable").argsort(axis=0)
    plane[:, :n_components] = ranks / len(components)
    return np.asarray(SPREAD * (plane + rng.normal(scale=1e-3, size=plane.shape)))


def _relaxed(plane: FloatArray, edges: IntArray, rng: np.random.Generator) -> FloatArray:
    """Return the points after they were pulled by edges and pushed by others."""
    n, (a, b) = len(plane), edges.T
    for step in range(STEPS):
        apart = plane[a] - plane[b]
        pull = 2 * apart / (1 + _square(apart))
        apart = plane - plane[rng.integers(n, size=(N_REPULSIVE, n))]
        square = _square(apart)
        push = 2 * apart / ((1e-3 + square) * (1 + square))
        move = REPULSION * push.clip(-LONGEST, LONGEST).mean(axis=0)
        for axis in (0, 1):
            move[:, axis] += np.bincount(b, pull[:, axis], n) - np.bincount(a, pull[:, axis], n)
        too_long = np.maximum(1, np.sqrt(_square(move)) / LONGEST)
        plane = plane + 0.5 * (1 - step / STEPS) * move / too_long
    return plane


def _square(vectors: FloatArray) -> FloatArray:
    return np.asarray((vectors**2).sum(axis=-1, keepdims=True))
