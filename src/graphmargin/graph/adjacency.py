"""The symmetric k-NN graph W of some points, and the check of a given graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice
from graphmargin._rows import (
    canonical_rows,
    check_magnitude,
    check_no_mask,
    errors_name_argument,
    unit_rows,
)
from graphmargin._typing import ProgressCallback
from graphmargin.graph._search.neighbors import Neighbors, NeighborSearch, draw_seed
from graphmargin.graph.weights import Width, log_weights, numeric_width

Metric = Literal["euclidean", "cosine"]
METRICS = ("euclidean", "cosine")

SYMMETRY_TOLERANCE = 1e-8
MAX_TOTAL_WEIGHT = 1e290
"""Largest sum of all weights of a graph for which solvers do not overflow."""


@dataclass(frozen=True)
class NeighborGraph:
    """A k-NN graph, with the search and the width that attach new points to it."""

    W: sparse.csr_array
    search: NeighborSearch
    """Search among the rows, scaled so that the metric is the Euclidean distance."""
    width: float
    recall: float
    """Share of the true nearest neighbors that was found, measured on a sample; 1 is exact."""


def knn_graph(
    X: Any,
    n_neighbors: int = 5,
    *,
    width: Width = "paper",
    metric: Metric = "euclidean",
    recall: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> sparse.csr_array:
    """Return the symmetric k-nearest-neighbor graph W of the rows of X.

    Vertices i and j are connected if one is among the k nearest neighbors of the other, with the
    paper's weight ``w_ij = exp(-norm(x_i - x_j)^2 / (2 K sigma^2))`` (Section 6.2).

    Parameters
    ----------
    X : array, DataFrame or CSR matrix of shape (n, K)
    n_neighbors : int, default=5
        k, in 1..n-1.
    width : "paper" or positive float, default="paper"
        sqrt(K) sigma as in the paper, or a number in its place.
    metric : {"euclidean", "cosine"}, default="euclidean"
        Cosine is Euclidean on rows scaled to unit length.
    recall : float in (0, 1], default=None
        Share of the true nearest neighbors to be found; 1 is exact. None is exact for up to 50,000
        points and wherever an exact search visits few points, and 0.99 elsewhere.
    n_jobs : int, default=None
        Number of threads; None takes as many as BLAS would, -1 all cores. The result does not
        depend on it.
    random_state : int, RandomState or None, default=None
        Seed of the approximate search.

    Returns
    -------
    csr_array of shape (n, n)
        Symmetric, zero diagonal, at most 2 n k entries. Weights below the smallest positive
        double (distances beyond about 38 widths) are no edges.

    Notes
    -----
    Equal distances are ranked by index. Duplicate rows are neighbors of weight 1, constant features
    count in K as in the paper, and no row is its own neighbor.

    Examples
    --------
    >>> W = knn_graph([[0.0], [1.0], [3.0]], n_neighbors=1, width=1.0)
    >>> W.toarray().round(3).tolist()
    [[0.0, 0.607, 0.0], [0.607, 0.0, 0.135], [0.0, 0.135, 0.0]]
    """
    from sklearn.utils import check_array

    check_no_mask(X)
    kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "input_name": "X"}
    with errors_name_argument("X"):
        X = canonical_rows(check_array(X, ensure_min_samples=2, **kinds))
    check_magnitude(X)
    return neighbor_graph(
        X,
        n_neighbors,
        width=width,
        metric=metric,
        recall=recall,
        n_jobs=n_jobs,
        random_state=random_state,
    ).W


def neighbor_graph(
    X: Any,
    n_neighbors: int,
    *,
    width: Width,
    metric: Metric,
    recall: float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> NeighborGraph:
    """Return the k-NN graph of validated X, with its search and width; see `knn_graph`."""
    points = metric_points(X, metric)
    search = NeighborSearch(points, n_jobs=n_jobs, seed=draw_seed(random_state))
    neighbors = search.neighbors(n_neighbors, recall=recall, progress=progress)
    number = numeric_width(points, width)
    return NeighborGraph(symmetric_graph(neighbors, number), search, number, neighbors.recall)


def symmetric_graph(neighbors: Neighbors, width: float) -> sparse.csr_array:
    """Return W, in which two points are connected if one is a neighbor of the other."""
    n, k = neighbors.indices.shape
    directed = sparse.csr_array(
        (
            np.exp(log_weights(neighbors.distances, width)).ravel(),
            neighbors.indices.ravel(),
            np.arange(0, n * k + 1, k),
        ),
        shape=(n, n),
    )
    W = directed.maximum(directed.T).tocsr()
    W.eliminate_zeros()
    W.sort_indices()
    return W


def metric_points(X: Any, metric: Metric) -> Any:
    """Return points whose Euclidean distance is the metric: for cosine, rows of unit length."""
    check_choice("metric", metric, METRICS)
    if metric == "euclidean":
        return X
    return unit_rows(X)


def check_graph(W: Any, n_samples: int | None = None) -> sparse.csr_array:
    """Return a given graph as a validated CSR array, or raise ValueError.

    It must be square (of size `n_samples`, if given), finite, non-negative and symmetric. Loops are
    dropped, because they cancel in L = D - W.

    Examples
    --------
    >>> check_graph([[0.0, 2.0], [2.0, 5.0]]).toarray().tolist()
    [[0.0, 2.0], [2.0, 0.0]]
    """
    check_no_mask(W, "W")
    with errors_name_argument("W"):
        if np.iscomplexobj(W):
            msg = "`W` must have real weights, got complex numbers; pass their absolute values"
            raise ValueError(msg)
        W = sparse.csr_array(W, dtype=np.float64, copy=True)
    if W.ndim != 2 or W.shape[0] != W.shape[1]:
        msg = f"`W` must be square, got shape {W.shape}"
        raise ValueError(msg)
    if n_samples is not None and W.shape[0] != n_samples:
        msg = f"`W` must have one row for each of the {n_samples} samples, got shape {W.shape}"
        raise ValueError(msg)
    W.sum_duplicates()
    if not np.isfinite(W.data).all():
        msg = "`W` must be finite, got NaN or infinity; drop such edges"
        raise ValueError(msg)
    with np.errstate(over="ignore"):
        total = W.sum()
    if total > MAX_TOTAL_WEIGHT:
        msg = (
            f"`W` has weights up to {W.data.max():.3g}, whose sum overflows; divide all weights, "
            "and `gamma_g`, by the same number"
        )
        raise ValueError(msg)
    if W.nnz and W.data.min() < 0:
        msg = f"`W` must be non-negative, got a weight of {W.data.min()}; drop such edges"
        raise ValueError(msg)
    asymmetry = abs(W - W.T)
    if asymmetry.nnz and asymmetry.max() > 0:
        if asymmetry.max() > SYMMETRY_TOLERANCE * W.max():
            msg = (
                f"`W` must be symmetric, got a difference of {asymmetry.max():.3g} between w_ij "
                "and w_ji; use W.maximum(W.T)"
            )
            raise ValueError(msg)
        W = W.maximum(W.T).tocsr()
    W.setdiag(0.0)
    W.eliminate_zeros()
    W.sort_indices()
    return W
