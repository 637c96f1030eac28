"""The Laplacian of a graph, and its connected components."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from graphmargin._checks import check_integer
from graphmargin._typing import IntArray


def laplacian(W: sparse.csr_array, *, normalized: bool = False, power: int = 1) -> sparse.csr_array:
    """Return the graph Laplacian ``L = D - W``, ``d_i = sum_j w_ij`` (below eq. HFS).

    Parameters
    ----------
    W : csr_array of shape (n, n)
        Symmetric, non-negative.
    normalized : bool, default=False
        ``D^-1/2 L D^-1/2`` instead; the row of an isolated vertex is zero in both.
    power : int, default=1
        ``L^power``: higher powers penalize functions that are not smooth beyond neighbors.

    Examples
    --------
    >>> laplacian(sparse.csr_array([[0.0, 2.0], [2.0, 0.0]])).toarray().tolist()
    [[2.0, -2.0], [-2.0, 2.0]]
    """
    power = check_integer("power", power, low=1)
    degrees = W.sum(axis=1)
    L = sparse.diags_array(degrees).tocsr() - W
    if normalized:
        with np.errstate(divide="ignore"):
            root = np.where(degrees > 0, 1 / np.sqrt(degrees), 0.0)
        scale = sparse.diags_array(root).tocsr()
        L = scale @ L @ scale
    result = L
    for _ in range(power - 1):
        result = result @ L
    return sparse.csr_array(result)


def components(W: sparse.csr_array) -> IntArray:
    """Return the number of the connected component of every vertex.

    Examples
    --------
    >>> components(sparse.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).tolist()
    [0, 0, 1]
    """
    return np.asarray(csgraph.connected_components(W, directed=False)[1])
