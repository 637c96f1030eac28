"""Layout of a graph in the plane, for a map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges
from graphmargin._compilation import kernel
from graphmargin._threads import ThreadPool, raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray
from graphmargin.graph.adjacency import knn_graph
from graphmargin.harmonic.solvers import csr_arrays

MAX_POINTS = 1500
"""Largest number of points on a map, so that it is quick to draw and its file is small."""
N_NEIGHBORS = 5
"""Number of neighbors that a point is joined with within a sample."""
WIDE = 1e200
"""Width with which these neighbors have an edge, however far away they are."""
N_STEPS = 300
"""Number of steps, in each of which all points move."""
N_REPULSIVE = 16
"""Number of random points that repel a point in each step."""
REPULSION = 20.0
"""Strength of the repulsion, relative to the attraction of a single edge."""
MAX_MOVE = 4.0
"""Largest length of a move, in units in which joined points are at a distance of about 1."""
MIN_ROWS_AT_ONCE, N_BLOCKS = 2_000, 16
"""Smallest number of points that a thread moves at a time, and largest number of such blocks."""
START_WIDTH = 6.0
"""Side of the square with the initial points, in the same units."""


@dataclass(frozen=True)
class GraphLayout:
    """Points of a graph in the plane.

    Attributes
    ----------
    x, y : array of shape (m,)
        Coordinates in [0, 1].
    edges : array of shape (e, 2)
        Pairs of points that are joined, by their index, the smaller one first.
    method : str
        A sentence on how the coordinates were computed.
    """

    x: FloatArray
    y: FloatArray
    edges: IntArray
    method: str


def sample_for_map(codes: IntArray, max_points: int = MAX_POINTS) -> IntArray:
    """Return the rows that a map shows, in ascending order.

    All labeled rows are shown, up to `max_points`, because a person looks for them first; random
    unlabeled rows fill up the map. If there are more labeled rows, a random sample is shown.

    Parameters
    ----------
    codes : array of shape (n,)
        Given labels, -1 for unlabeled.
    max_points : int, default=1500

    Examples
    --------
    >>> rows = sample_for_map(np.array([-1, -1, 0, -1, 1, -1]), max_points=3)
    >>> len(rows), 2 in rows, 4 in rows
    (3, True, True)
    """
    order = np.random.default_rng(0).permutation(len(codes))
    labeled_first = order[np.argsort(codes[order] < 0, kind="stable")]
    return np.sort(labeled_first[:max_points])


def force_layout(W: sparse.csr_array, X: Any, rows: IntArray, random_state: int = 0) -> GraphLayout:
    """Return a layout of rows in the plane, in which neighbors are near each other.

    Edges attract with the force ``2 d / (1 + d^2)`` at distance d, and other points repel with
    ``2 / (d (1 + d^2))``, as in t-SNE and UMAP. The initial points are the ranks of the rows along
    their first two principal components (singular vectors of sparse rows), so that distant classes
    are far from each other, but outliers are not. The repulsion is estimated from a few random
    points in each step. The cost is linear in the number of points and edges.

    Parameters
    ----------
    W : csr_array of shape (n, n)
        The graph. Its weights are not used, as their range is too large for a picture.
    X : array or sparse matrix of shape (n, d)
        Points of the graph.
    rows : array of shape (m,)
        Two or more rows to be shown. A sample of the rows has hardly any edges of the graph, so
        that its points are joined with their nearest neighbors within the sample.
    random_state : int, default=0

    Examples
    --------
    Two clusters of points are two clusters in the plane:

    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(40, 3)) + np.repeat([[0.0], [50.0]], 20, axis=0)
    >>> layout = force_layout(knn_graph(X, 3), X, np.arange(40))
    >>> points = np.column_stack([layout.x, layout.y])
    >>> gap = np.linalg.norm(points[:20].mean(axis=0) - points[20:].mean(axis=0))
    >>> bool(gap > 2 * points[:20].std())
    True
    """
    sampled = len(rows) < W.shape[0]
    points = X[rows]
    graph = knn_graph(points, min(N_NEIGHBORS, len(rows) - 1), width=WIDE) if sampled else W
    edges = np.column_stack(sparse.triu(graph, 1).tocoo().coords).astype(np.int64)
    rng = np.random.default_rng(random_state)
    plane = _relax(_initial_points(points, rng), edges, random_state)
    low, high = plane.min(axis=0), plane.max(axis=0)
    plane = (plane - low) / np.where(high > low, high - low, 1.0)
    joined = "nearest neighbors within the sample" if sampled else "neighbors in the graph"
    method = f"{joined} attract each other, all others repel; long distances mean little"
    return GraphLayout(plane[:, 0], plane[:, 1], edges, method)


def _initial_points(points: Any, rng: np.random.Generator) -> FloatArray:
    """Return ranks along two principal components, with a jitter that separates equal rows."""
    n_components, seed = min(2, *points.shape), int(rng.integers(2**31))
    centered = points if sparse.issparse(points) else points - points.mean(axis=0)
    from sklearn.utils.extmath import randomized_svd

    components, *_ = randomized_svd(centered, n_components, random_state=seed)
    plane = np.zeros((len(components), 2))
    ranks = components.argsort(axis=0, kind="stable").argsort(axis=0)
    plane[:, :n_components] = ranks / len(components)
    return np.asarray(START_WIDTH * (plane + rng.normal(scale=1e-3, size=plane.shape)))


def _relax(plane: FloatArray, edges: IntArray, seed: int) -> FloatArray:
    """Return the points after they have moved by attraction and repulsion."""
    n = len(plane)
    graph = sparse.csr_array((np.ones(len(edges)), tuple(edges.T)), shape=(n, n))
    graph = sparse.csr_array(graph + graph.T)
    indptr, indices, _ = csr_arrays(graph)
    blocks = chunk_ranges(n, max(MIN_ROWS_AT_ONCE, -(-n // N_BLOCKS)))
    here, there = np.ascontiguousarray(plane), np.empty_like(plane)
    with ThreadPool(None if len(blocks) > 1 else 1) as pool:
        for step in range(N_STEPS):
            raise_if_cancelled()
            rate = 0.5 * (1 - step / N_STEPS)
            numbers = np.uint64(seed * N_STEPS + step)
            pool.run(lambda rows: _move(indptr, indices, here, there, rate, numbers, *rows), blocks)  # noqa: B023
            here, there = there, here
    return here


@kernel()
def _move(indptr, indices, here, there, rate, numbers, first, last):  # type: ignore[no-untyped-def]
    """Set `there` to some points after a step; `numbers` is the seed of their random repulsion."""
    n = len(here)
    for i in range(first, last):
        x, y = here[i, 0], here[i, 1]
        move_x = move_y = 0.0
        # A generator of random numbers for each point, so that blocks and threads do not matter.
        state = (np.uint64(i) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15) + numbers
        for _ in range(N_REPULSIVE):
            state += np.uint64(0x9E3779B97F4A7C15)
            z = (state ^ (state >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
            z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
            z ^= z >> np.uint64(31)
            j = np.int64(z % np.uint64(n))
            dx, dy = x - here[j, 0], y - here[j, 1]
            square = dx * dx + dy * dy
            push = 2.0 / ((1e-3 + square) * (1.0 + square))
            move_x += min(max(push * dx, -MAX_MOVE), MAX_MOVE)
            move_y += min(max(push * dy, -MAX_MOVE), MAX_MOVE)
        move_x *= REPULSION / N_REPULSIVE
        move_y *= REPULSION / N_REPULSIVE
        for p in range(indptr[i], indptr[i + 1]):
            j = indices[p]
            dx, dy = here[j, 0] - x, here[j, 1] - y
            pull = 2.0 / (1.0 + dx * dx + dy * dy)
            move_x += pull * dx
            move_y += pull * dy
        shrinkage = max(1.0, np.sqrt(move_x * move_x + move_y * move_y) / MAX_MOVE)
        there[i, 0] = x + rate * move_x / shrinkage
        there[i, 1] = y + rate * move_y / shrinkage
