"""Shortlists: the classes of a row that are compared pair by pair, if classes are many.

c classes have c (c - 1) / 2 pairs, nearly all of which compare two classes that are far from a row.
With more than 30 classes, a row has a shortlist of the 20 classes whose functions have the largest
sums over all of their pairs. These sums are linear functions of kernel values, one for each class.
Only the pairs of the shortlist are evaluated and coupled. docs/design.md has the measurements.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._compilation import kernel
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.margin.pairs import class_pairs

MAX_ALL_PAIRS = 30
"""Largest number of classes of which all pairs are evaluated for every row."""
N_SHORTLISTED = 20
"""Number of classes on a shortlist."""
PairCoefficients = tuple[AnyArray, ...]
"""A row of coefficients for each pair; or, sparse, the ends of pairs, row numbers and values."""


def class_sums(
    coefficients: Any, intercepts: FloatArray, units: FloatArray | float, n_classes: int
) -> tuple[FloatArray, FloatArray]:
    """Return coefficients and intercepts of the sums of f over all pairs of each class.

    ``F_i = sum_{j > i} f_ij / u_ij - sum_{j < i} f_ji / u_ji``

    Parameters
    ----------
    coefficients : array or CSC matrix of shape (m, n_pairs)
    intercepts : array of shape (n_pairs,)
    units : array of shape (n_pairs,) or float
        u, the unit of f of every pair.
    n_classes : int

    Examples
    --------
    >>> coefficients, intercepts = class_sums(np.array([[2.0, 1.0, 0.0]]), np.ones(3), 1.0, 3)
    >>> coefficients.tolist(), intercepts.tolist()
    ([[3.0, -2.0, -1.0]], [2.0, 0.0, -2.0])
    """
    pairs, n_pairs = class_pairs(n_classes), len(intercepts)
    signs = np.broadcast_to([1.0, -1.0], (n_pairs, 2)) / np.broadcast_to(units, n_pairs)[:, None]
    ends = np.arange(0, 2 * n_pairs + 1, 2)
    incidence = sparse.csr_array((signs.ravel(), pairs.ravel(), ends), shape=(n_pairs, n_classes))
    sums = coefficients @ incidence
    return (sums.toarray() if sparse.issparse(sums) else np.asarray(sums)), intercepts @ incidence


def make_shortlists(sums: FloatArray) -> IntArray:
    """Return the classes with the largest sums of each row, in ascending order of their codes.

    Examples
    --------
    >>> make_shortlists(np.arange(40.0)[None])[0, :3].tolist()
    [20, 21, 22]
    """
    largest = np.argpartition(-sums, N_SHORTLISTED - 1, axis=1)[:, :N_SHORTLISTED]
    return np.sort(largest, axis=1)


def pair_numbers(shortlists: IntArray, n_classes: int) -> IntArray:
    """Return the numbers of the pairs of each shortlist among those of all classes.

    Examples
    --------
    >>> pair_numbers(np.array([[0, 2, 3]]), 4).tolist()  # of (0, 2), (0, 3) and (2, 3)
    [[1, 2, 5]]
    """
    first, second = class_pairs(shortlists.shape[1]).T
    i, j = shortlists[:, first], shortlists[:, second]
    return np.asarray(i * (2 * n_classes - i - 1) // 2 + j - i - 1)


def pair_values(
    V: FloatArray, columns: PairCoefficients, intercepts: FloatArray, numbers: IntArray
) -> FloatArray:
    """Return f of some pairs of classes for each row, from its kernel values.

    Parameters
    ----------
    V : array of shape (n, m)
        Kernel values of the rows.
    columns : PairCoefficients
        Coefficients of all pairs in the precision of V.
    intercepts : array of shape (n_pairs,)
    numbers : array of shape (n, q)
        Pairs of each row.

    Examples
    --------
    >>> V, coefficients = np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 2.0], [0.0, 3.0, 1.0]])
    >>> for matrix in (coefficients, sparse.csc_array(coefficients)):
    ...     columns = pair_coefficients(matrix)
    ...     pair_values(V, columns, np.ones(3), np.array([[0, 2]])).tolist()
    [[2.0, 5.0]]
    [[2.0, 5.0]]
    """
    V, result = np.ascontiguousarray(V), np.empty(numbers.shape, dtype=V.dtype)
    fill = _fill_from_sparse if len(columns) > 1 else _fill_from_dense
    fill(V, *columns, intercepts.astype(V.dtype), numbers, result)
    return result


def pair_coefficients(coefficients: Any) -> PairCoefficients:
    """Return coefficients of shape (m, n_pairs), dense or sparse, as `pair_values` takes them."""
    if not sparse.issparse(coefficients):
        return (np.ascontiguousarray(coefficients.T),)
    columns = coefficients.tocsc()
    columns.sort_indices()
    return columns.indptr.astype(np.int64), columns.indices.astype(np.int64), columns.data


@kernel()
def _fill_from_sparse(  # type: ignore[no-untyped-def]
    V, ends, rows, values, intercepts, numbers, result
):
    """Fill f of the pairs of each row; entries ``ends[p]`` to ``ends[p + 1]`` are of pair p."""
    for x in range(len(V)):
        for q in range(numbers.shape[1]):
            p = numbers[x, q]
            total = intercepts[p]
            for t in range(ends[p], ends[p + 1]):
                total += values[t] * V[x, rows[t]]
            result[x, q] = total


@kernel(fastmath={"reassoc", "contract"})
def _fill_from_dense(V, columns, intercepts, numbers, result):  # type: ignore[no-untyped-def]
    """Fill f of the pairs of each row; a row of `columns` has the coefficients of a pair."""
    for x in range(len(V)):
        for q in range(numbers.shape[1]):
            p = numbers[x, q]
            total = intercepts[p]
            for t in range(V.shape[1]):
                total += columns[p, t] * V[x, t]
            result[x, q] = total
