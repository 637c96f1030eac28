"""The Laplacian of a graph, its quadratic form, and the connected components."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from graphmargin._blocks import row_slices
from graphmargin._checks import check_integer
from graphmargin._compilation import kernel
from graphmargin._threads import map_in_threads, raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray

N_SUMS = 16
"""Number of partial sums of a quadratic form, so that rounding does not depend on threads."""


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


def quadratic_form(
    L: sparse.csr_array,
    R: FloatArray,
    *,
    center: FloatArray | float = 0.0,
    power: int = 1,
    n_jobs: int | None = None,
) -> FloatArray:
    """Return ``R' L^power R`` of shape (r, r), in double precision.

    For one column f this is f'Lf, half of ``sum_ij w_ij (f_i - f_j)^2``. Half of the powers are
    applied to R, and the products are added up block by block. Power 1 takes no memory of the size
    of R.

    Parameters
    ----------
    L : csr_array of shape (n, n)
        Symmetric, positive semidefinite; so is the result.
    R : array of shape (n, r)
    center : array of shape (r,), default=0.0
        Subtracted from the rows of R. For L = D - W, this only improves the precision.
    power : int, default=1
        Power of L; L^power is not formed, because it is not sparse.
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.

    Examples
    --------
    >>> L = sparse.csr_array([[1.0, -1.0], [-1.0, 1.0]])
    >>> quadratic_form(L, np.array([[1.0], [3.0]])).tolist()
    [[4.0]]
    """
    R = np.ascontiguousarray(R)
    n, r = R.shape
    blocks = list(row_slices(n, 16 * r))
    shift = np.array(np.broadcast_to(center, r), dtype=np.float64)
    for _ in range(power // 2):
        R, shift = _products(L, R, shift, blocks, n_jobs), np.zeros(r)

    def partial_sum(part: list[slice]) -> FloatArray:
        total = np.zeros((r, r))
        for rows in part:
            centered = R[rows] - shift
            total += centered.T @ (_product(L, R, shift, rows) if power % 2 else centered)
            raise_if_cancelled()
        return total

    parts = [blocks[first::N_SUMS] for first in range(N_SUMS)]
    total = np.sum(map_in_threads(partial_sum, parts, n_jobs=n_jobs), axis=0)
    return np.asarray((total + total.T) / 2)


def _products(
    L: sparse.csr_array, R: FloatArray, shift: FloatArray, blocks: list[slice], n_jobs: int | None
) -> FloatArray:
    """Return L (R - shift) in the precision of R."""
    result = np.empty_like(R)

    def fill(rows: slice) -> None:
        result[rows] = _product(L, R, shift, rows)

    map_in_threads(fill, blocks, n_jobs=n_jobs)
    return result


def _product(L: sparse.csr_array, R: FloatArray, shift: FloatArray, rows: slice) -> FloatArray:
    """Return some rows of L (R - shift), without SciPy's copy of a float32 R in float64."""
    product = np.zeros((rows.stop - rows.start, R.shape[1]))
    _add_products(L.indptr, L.indices, L.data, R, shift, rows.start, product)
    return product


@kernel()
def _add_products(indptr, indices, data, R, shift, first, out):  # type: ignore[no-untyped-def]
    for i in range(out.shape[0]):
        for e in range(indptr[first + i], indptr[first + i + 1]):
            weight = data[e]
            for k in range(R.shape[1]):
                out[i, k] += weight * (R[indices[e], k] - shift[k])


def components(W: sparse.csr_array) -> IntArray:
    """Return the index of the connected component of every vertex.

    Examples
    --------
    >>> components(sparse.csr_array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])).tolist()
    [0, 0, 1]
    """
    return np.asarray(csgraph.connected_components(W, directed=False)[1])
