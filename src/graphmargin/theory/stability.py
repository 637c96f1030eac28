"""Stability coefficients of the soft harmonic solution, and the transductive error they imply.

The soft solution minimizes ``(l - y)' C (l - y) + l' Q l`` with ``Q = L + gamma_g I``, trust c_l in
each of the n_l labels and c_u elsewhere. Dividing by c_l gives the problem of Lemma 2, in which
c_l = 1; all formulas below are in these units. Two facts are used throughout:

- ``abs(l_i) <= t = 1 / (1 + gamma_g)``, because the largest value occurs at a label;
- removing the label of vertex i changes l by ``(y_i - (1 - c_u) l'_i) (C + Q)^-1 e_i``, l' being
  the solution without it, and no entry of ``(C + Q)^-1 e_i`` exceeds the i-th.
"""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph
from scipy.sparse.linalg import ArpackNoConvergence, eigsh

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin.graph.adjacency import check_graph
from graphmargin.graph.laplacian import components, laplacian
from graphmargin.theory.capacity import check_probability

Stability = Literal["graph", "spectral", "lemma"]
STABILITIES = ("graph", "spectral", "lemma")
MAX_DENSE = 32
"""Largest number of vertices for a dense eigensolver; Lanczos fails on one to three."""
LANCZOS_TOLERANCE = 1e-8
MAX_RESTARTS = 100
"""Largest number of restarts of Lanczos, which fails where eigenvalues are very close."""
ROUNDING = 1e-12


def transductive_error(beta: float, n_labeled: int, delta: float) -> float:
    """Return ``beta + sqrt(2 ln(2 / delta) / n_l) (n_l beta + 4)``, Delta_T of Lemma 2.

    With probability ``1 - delta`` over n_l labels at random vertices, the mean of
    ``(l_i - y_i)^2`` over all vertices exceeds that over the labels by at most this error, if no
    such loss changes by more than beta when one labeled example is replaced.

    Parameters
    ----------
    beta : float >= 0
        See `stability_coefficient`.
    n_labeled : int >= 1
    delta : float in (0, 1)

    Examples
    --------
    >>> round(transductive_error(0.001, 10_000, 0.05), 3)
    0.381
    """
    beta = check_real("beta", beta, finite=False)
    n_labeled = check_integer("n_labeled", n_labeled, low=1)
    check_probability("delta", delta)
    return beta + math.sqrt(2 * math.log(2 / delta) / n_labeled) * (n_labeled * beta + 4)


def laplacian_eigenvalues(W: Any) -> tuple[float, float]:
    """Return the smallest eigenvalue of ``L = D - W`` and an upper bound of the largest.

    The smallest is exactly 0, with the constant vector as its eigenvector. The bound is the result
    of Lanczos plus the norm of its residual, but at most the largest d_i + d_j of an edge (Anderson
    and Morley), which is also the bound where Lanczos does not converge.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric, non-negative graph.

    Notes
    -----
    Lanczos starts at a random vector with a fixed seed. It could miss the largest eigenvalue only
    if that vector were orthogonal to its eigenvectors. The relative error is about 1e-8; the cost
    is dozens to hundreds of products with L.

    Examples
    --------
    >>> smallest, largest = laplacian_eigenvalues([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    >>> smallest, round(largest, 9)
    (0.0, 3.0)
    """
    W = check_graph(W)
    if not W.nnz:
        return 0.0, 0.0
    degrees = W.sum(axis=1)
    rows, columns = W.nonzero()
    limit = float((degrees[rows] + degrees[columns]).max())
    # Weights may have any size; the solvers get degrees of order one.
    L = laplacian(W / limit)
    if W.shape[0] <= MAX_DENSE:
        values, vectors = np.linalg.eigh(L.toarray())
    else:
        start = np.random.default_rng(0).normal(size=W.shape[0])
        try:
            values, vectors = eigsh(
                L, k=1, which="LA", v0=start, tol=LANCZOS_TOLERANCE, maxiter=MAX_RESTARTS
            )
        except ArpackNoConvergence:
            return 0.0, limit
    residual = np.linalg.norm(L @ vectors[:, -1] - values[-1] * vectors[:, -1])
    return 0.0, limit * min(float(values[-1] + residual) * (1 + ROUNDING), 1.0)


def stability_coefficient(
    W: Any,
    n_labeled: int,
    *,
    gamma_g: float,
    c_labeled: float = 1.0,
    c_unlabeled: float = 0.0,
    stability: Stability = "graph",
) -> float:
    """Return beta, a bound on the change of a loss ``(l_i - y_i)^2`` when one example changes.

    - "graph" is proved here: ``min(4 t, 4 (1 + t) (1 + (1 - c_u) t) g)`` with
      ``t = 1 / (1 + gamma_g)``, and g an upper bound on what a unit label adds to any vertex,
      whichever vertices are labeled: ``1 / g = 1 - c_u + min_i 1 / r_i`` and
      ``r_i = 1 / (n_c (gamma_g + c_u)) + D_i + mean(D)`` (at most ``1 / (gamma_g + c_u)``), D
      being the distances to a vertex of the same component of n_c vertices along edges of length
      1 / w. It is small where the weight of a label is small compared with the edges around it.
    - "spectral" is the coefficient in the proof of Lemma 2: ``2 (sqrt(2) / (m + 1)
      + sqrt(2 n_l) (1 / sqrt(c_u) - 1) M / (m + 1)^2)`` with the extreme eigenvalues
      ``m = gamma_g`` and ``M = lambda_M(L) + gamma_g`` of Q.
    - "lemma" is its upper bound in the statement, with ``gamma_g^2 + 1`` in place of
      ``(m + 1)^2``.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric, non-negative graph.
    n_labeled : int >= 1
        n_l, which "graph" does not depend on.
    gamma_g : float >= 0
    c_labeled : float > 0, default=1
        Trust in every label, finite. The formulas are for ``c_labeled = 1``; W, gamma_g and c_u
        are divided by it.
    c_unlabeled : float >= 0, default=0
        c_u, below `c_labeled`. With 0, "spectral" and "lemma" are inf.
    stability : {"graph", "spectral", "lemma"}, default="graph"

    Notes
    -----
    "spectral" and "lemma" assume ``norm((C^-1 Q + I)^-1) <= 1 / (m + 1)``, which is true of the
    eigenvalues but not of the norm, as this matrix is not symmetric. They fail where
    ``c_u << w << sqrt(c_u)``: on two vertices of opposite labels with w = 1e-8, c_u = 1e-12 and
    gamma_g = 0, moving the label from one to the other changes a loss by 4, but they are 2.89. They
    hold wherever they are at least 4 t, as every loss is in ``[(1 - t)^2, (1 + t)^2]``. They are
    useless in a bound: the losses at the labels are at least ``(1 - t)^2``, and
    ``(1 - t)^2 + 2 sqrt(2) t > 1``.

    "graph" holds for a label that moves to another vertex, changes its sign, or both.

    Examples
    --------
    >>> triangle = np.ones((3, 3))
    >>> options = {"gamma_g": 3.0, "c_unlabeled": 0.25}
    >>> stability_coefficient(triangle, 2, **options)  # 4 t
    1.0
    >>> round(stability_coefficient(triangle, 2, stability="spectral", **options), 3)
    2.207
    >>> round(stability_coefficient(triangle, 2, stability="lemma", **options), 3)
    3.107
    >>> clique = 100 * np.ones((50, 50))
    >>> round(stability_coefficient(clique, 2, **options), 3)
    0.151
    """
    n_labeled = check_integer("n_labeled", n_labeled, low=1)
    check_choice("stability", stability, STABILITIES)
    hint = "; with `inf` no label is propagated, and there is nothing to bound"
    gamma_g = check_real("gamma_g", gamma_g, hint=hint)
    hint = "; the bound is for soft labels: use a finite `c_labeled`, such as 1"
    c_labeled = check_real("c_labeled", c_labeled, positive=True, hint=hint)
    c_unlabeled = check_real("c_unlabeled", c_unlabeled, finite=False)
    if c_unlabeled >= c_labeled:
        msg = (
            f"`c_unlabeled` must be below `c_labeled` = {c_labeled!r}, got {c_unlabeled!r}; lower "
            "`c_unlabeled`, or raise `c_labeled`"
        )
        raise ValueError(msg)
    g, c_u, W = gamma_g / c_labeled, c_unlabeled / c_labeled, check_graph(W)
    if stability == "graph":
        t = 1 / (1 + g)
        return 4 * min(t, (1 + t) * (1 + (1 - c_u) * t) * _largest_gain(W, c_labeled, g, c_u))
    if c_u == 0:
        return math.inf
    largest = laplacian_eigenvalues(W)[1] / c_labeled + g
    square = (g + 1) ** 2 if stability == "spectral" else g**2 + 1
    change = math.sqrt(2 * n_labeled) * (1 / math.sqrt(c_u) - 1) * largest / square
    return 2 * (math.sqrt(2) / (g + 1) + change)


def _largest_gain(W: sparse.csr_array, c_labeled: float, gamma_g: float, c_u: float) -> float:
    """Return an upper bound on all entries of (C + Q)^-1 e_i, for all i and all labels at i.

    The i-th entry is the largest, and labels elsewhere lower it: it is at most that of
    ``(Q + c_u I + (1 - c_u) e_i e_i')^-1``, which is ``1 / (1 / r_i + 1 - c_u)`` with r_i the
    diagonal of ``(Q + c_u I)^-1``. As the constant vector 1 of a component is an eigenvector,
    ``r_i = 1 / (n_c (gamma_g + c_u)) + norm(e_i - 1 / n_c)^2``, in the norm of the inverse. The
    second term is at most the mean resistance between i and the other vertices of its component,
    and a resistance is at most the length of a path, here through the vertex of largest degree.
    """
    sink = gamma_g + c_u
    if sink == 0:
        return 1.0
    component = components(W)
    sizes = np.bincount(component)
    order = np.lexsort((W.sum(axis=1), component))
    centers = order[np.cumsum(sizes) - 1]
    with np.errstate(over="ignore"):
        lengths = sparse.csr_array((c_labeled / W.data, W.indices, W.indptr), shape=W.shape)
    distance = csgraph.dijkstra(lengths, indices=centers, min_only=True)
    mean = np.bincount(component, weights=distance) / sizes
    r = (1 / (sizes * sink) + mean)[component] + distance
    return float((1 / (np.maximum(1 / r, sink) + 1 - c_u)).max())
