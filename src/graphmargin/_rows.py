"""Checks of rows: canonical if sparse, and of a size whose squares neither overflow nor vanish."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray

MAGNITUDES = {"float32": (1e-15, 1e15), "float64": (1e-100, 1e100)}
"""Range of the largest number of rows, by their type: all classifiers work at both ends."""


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
