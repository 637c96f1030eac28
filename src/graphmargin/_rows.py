"""Checks of rows: frames, canonical if sparse, and of a size whose squares do not overflow."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray

CENTER_ROWS = 1000
"""Number of rows whose median is the center of many rows."""
MAGNITUDES = {"float32": (1e-15, 1e15), "float64": (1e-100, 1e100)}
"""Range of the largest number of rows, by their type: all classifiers work at both ends."""


def is_frame(X: Any) -> bool:
    """Tell whether X is a frame of pandas, polars or Arrow: columns with names.

    Examples
    --------
    >>> import pandas as pd
    >>> is_frame(pd.DataFrame({"size": [1.0]})), is_frame([[1.0]])
    (True, False)
    """
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(X, getattr(pandas, "DataFrame", ())):
        return True
    return hasattr(X, "to_pandas") and (hasattr(X, "columns") or hasattr(X, "column_names"))


def check_not_lazy(X: Any, name: str = "X") -> None:
    """Raise TypeError if X is a lazy frame of polars, which has no rows yet."""
    if hasattr(X, "collect_schema") and not is_frame(X):
        msg = f"`{name}` is a lazy frame, whose rows are not computed yet; pass `{name}.collect()`"
        raise TypeError(msg)


def check_no_mask(X: Any, name: str = "X") -> None:
    """Raise ValueError if X is an array with masked entries, which have no value to use."""
    if isinstance(X, np.ma.MaskedArray) and np.ma.getmaskarray(X).any():
        n_masked = int(np.ma.getmaskarray(X).sum())
        msg = (
            f"`{name}` must have no masked entries, got {n_masked:,}; fill them in, or leave out "
            "their rows or columns"
        )
        raise ValueError(msg)


@contextmanager
def errors_name_argument(name: str) -> Iterator[None]:
    """Name the argument in the errors that NumPy, SciPy or scikit-learn raise in the block.

    Examples
    --------
    >>> with errors_name_argument("X"):
    ...     _ = np.array([["a"]]).astype(float)
    Traceback (most recent call last):
    ValueError: `X` must be a matrix of finite numbers: could not convert string to float: np.str_('a')
    """  # noqa: E501 - an error is one line
    try:
        # scikit-learn finds NaN by a sum, and casts numbers that overflow.
        with np.errstate(invalid="ignore", over="ignore"):
            yield
    except (ValueError, TypeError, OverflowError) as error:
        if re.search(rf"\b{name}\b", str(error)):
            raise
        msg = f"`{name}` must be a matrix of finite numbers: {error}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(msg) from error


def canonical_rows(X: Any) -> Any:
    """Return a sparse matrix with sorted indices and without duplicate entries, an array as it is.

    Duplicates are added up in a copy, so that the matrix of the caller does not change.
    """
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    if not np.isfinite(X.data).all():
        msg = f"`X` has duplicate entries whose sum overflows {X.dtype}; scale them down"
        raise ValueError(msg)
    return X


def check_magnitude(X: Any, *, is_new: bool = False) -> None:
    """Raise ValueError if the squares of the numbers in X overflow or vanish.

    Rows of zeros are valid. New rows may be small, because training rows have set the scale.

    Examples
    --------
    >>> check_magnitude(np.array([[3e150, 1.0]]))
    Traceback (most recent call last):
    ValueError: `X` has numbers of size 3e+150, whose squares overflow; divide the features by 3e+150
    """  # noqa: E501 - an error is one line
    size = largest_magnitude(X)
    low, high = MAGNITUDES[X.dtype.name]
    if size > high:
        problem = "overflow"
    elif 0 < size < low and not is_new:
        problem = "vanish"
    else:
        return
    in_single, or_double = "", ""
    if X.dtype == np.float32:
        in_single, or_double = " in single precision", ", or pass double precision"
    msg = (
        f"`X` has numbers of size {size:.0e}, whose squares {problem}{in_single}; divide the "
        f"features by {size:.0e}{or_double}"
    )
    raise ValueError(msg)


def largest_magnitude(X: Any) -> float:
    """Return the largest absolute value of the numbers in X, 0 if it has none.

    Examples
    --------
    >>> largest_magnitude(sparse.csr_array([[0.0, -3.0], [2.0, 0.0]]))
    3.0
    """
    numbers = X.data if sparse.issparse(X) else X
    return max(float(numbers.max(initial=0.0)), -float(numbers.min(initial=0.0)))


def unit_rows(X: Any) -> Any:
    """Return the rows of X scaled to unit length; rows of zeros stay.

    scikit-learn's `normalize` takes a row below 1e-6 in single precision for zero.

    Examples
    --------
    >>> unit_rows(np.array([[3e-9, -4e-9], [0.0, 0.0]])).round(2).tolist()
    [[0.6, -0.8], [0.0, 0.0]]
    """
    norms = np.sqrt(squared_norms(X))
    norms = np.where(norms > 0, norms, 1.0).astype(X.dtype)
    if not sparse.issparse(X):
        return X / norms[:, None]
    X = X.copy()
    X.data /= np.repeat(norms, np.diff(X.indptr))
    return X


def squared_norms(X: Any) -> FloatArray:
    """Return the squared length of every row, in double precision.

    Examples
    --------
    >>> squared_norms(np.array([[3.0, -4.0]])).tolist()
    [25.0]
    """
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1), dtype=np.float64).ravel()
    return np.asarray(np.einsum("nd,nd->n", X, X, dtype=np.float64))


def subtract_center(X: Any, center: FloatArray | float) -> Any:
    """Return the rows of X minus the center; sparse rows stay sparse if most of the center is 0.

    Examples
    --------
    >>> X = sparse.csr_array([[1e8, 0.0, 0.0], [1e8, 2.0, 0.0]])
    >>> subtract_center(X, np.array([1e8, 0.0, 0.0])).toarray().tolist()
    [[0.0, 0.0, 0.0], [0.0, 2.0, 0.0]]
    """
    if isinstance(center, float):
        return X
    if not sparse.issparse(X):
        return (X - center).astype(X.dtype, copy=False)
    columns, n = np.flatnonzero(center), X.shape[0]
    if n * len(columns) > np.count_nonzero(X.data):
        return (X.toarray() - center).astype(X.dtype, copy=False)
    shifts = np.tile(center[columns], n).astype(X.dtype)
    ends = len(columns) * np.arange(n + 1)
    return X - sparse.csr_array((shifts, np.tile(columns, n), ends), shape=X.shape)


def center_of_full_columns(X: sparse.csr_array) -> FloatArray | float:
    """Return the medians of columns in which a sample of sparse rows has no zero, else 0.

    Squared distances of sparse rows are differences of their squared norms, so that a column of
    large and nearly equal numbers hides all others. Without its median, it does not, and rows stay
    as sparse as they are. The center is 0.0 if every column has a zero.

    Examples
    --------
    >>> center_of_full_columns(sparse.csr_array([[5.0, 0.0], [7.0, 1.0]])).tolist()
    [6.0, 0.0]
    """
    sample = X[:: max(1, -(-X.shape[0] // CENTER_ROWS))]
    counts = np.bincount(sample.indices[sample.data != 0], minlength=X.shape[1])
    full = np.flatnonzero(counts == sample.shape[0])
    if not len(full) or not sample.shape[0]:
        return 0.0
    center = np.zeros(X.shape[1])
    center[full] = np.median(sample[:, full].toarray(), axis=0)
    return center
