"""Checks and scaling of rows: canonical if sparse, and of a size whose squares are finite."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import IntArray

COMMON_EXPONENT, COMMON_EXPONENT_SINGLE = 200, 40
"""Rows whose largest number is from 2^-e to 2^e are not scaled: its fourth power is finite."""
LARGEST_EXPONENT, LARGEST_EXPONENT_SINGLE = 1000, 120
"""Numbers up to 2^e can be added up without overflow."""


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


def canonical_rows(X: Any, name: str = "X") -> Any:
    """Return a sparse matrix with sorted indices and without duplicate entries, an array as it is.

    Duplicates are added up in a copy, so that the matrix of the caller does not change.
    """
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()
    X.sum_duplicates()
    if not np.isfinite(X.data).all():
        msg = f"`{name}` has duplicate entries whose sum overflows {X.dtype}; scale them down"
        raise ValueError(msg)
    return X


def common_exponent(X: Any) -> int:
    """Return the e for which ``2^-e X`` has numbers of common size; 0 if X has already.

    Examples
    --------
    >>> common_exponent(np.array([[3.0, -1.0]])), common_exponent(np.array([[2.0**900]]))
    (0, 901)
    """
    largest = largest_exponent(X)
    common = COMMON_EXPONENT_SINGLE if X.dtype == np.float32 else COMMON_EXPONENT
    return 0 if largest is None or abs(largest) <= common else largest


def largest_exponent(X: Any) -> int | None:
    """Return the smallest e with abs(x) < 2^e for all numbers x in X; None if all are 0."""
    numbers = X.data if sparse.issparse(X) else X
    largest = max(abs(float(numbers.max(initial=0.0))), abs(float(numbers.min(initial=0.0))))
    return int(np.frexp(largest)[1]) if largest > 0 else None


def scale_rows(X: Any, exponent: int) -> Any:
    """Return ``2^-exponent X``; a row that would overflow only keeps its direction.

    Multiplying by a power of two is exact, so that kernels and graphs whose width is scaled in the
    same way are the same to the last bit.

    Examples
    --------
    >>> scale_rows(np.array([[12.0, -4.0]]), 2).tolist()
    [[3.0, -1.0]]
    """
    if exponent == 0:
        return X
    return scale_each_row(X, np.maximum(row_exponents(X) - range_exponent(X), exponent))


def unit_rows(X: Any) -> Any:
    """Return X with each row multiplied by the power of two that takes its numbers below 1.

    Examples
    --------
    >>> unit_rows(np.array([[12.0, -4.0], [0.0, 0.0]])).tolist()
    [[0.75, -0.25], [0.0, 0.0]]
    """
    return scale_each_row(X, row_exponents(X))


def range_exponent(X: Any) -> int:
    """Return the e for which numbers up to 2^e do not overflow in sums of the dtype of X."""
    return LARGEST_EXPONENT_SINGLE if X.dtype == np.float32 else LARGEST_EXPONENT


def limit_rows(X: Any, limit: float) -> Any:
    """Return X with rows beyond ``2^limit`` scaled down to it by a power of two.

    Examples
    --------
    >>> limit_rows(np.array([[1.0, 0.5], [2.0**70, -(2.0**69)]]), 2).tolist()
    [[1.0, 0.5], [2.0, -1.0]]
    """
    largest = largest_exponent(X)
    if largest is None or largest <= limit:
        return X
    excess = row_exponents(X) - int(np.floor(limit))
    return scale_each_row(X, np.maximum(excess, 0))


def row_exponents(X: Any) -> IntArray:
    """Return the binary exponent of the largest number of each row."""
    sizes = abs(X).max(axis=1)
    sizes = sizes.toarray().ravel() if sparse.issparse(sizes) else np.asarray(sizes)
    exponents: IntArray = np.frexp(sizes)[1].astype(np.int64)
    return exponents


def scale_each_row(X: Any, exponents: IntArray) -> Any:
    """Return row i of X times ``2^-exponents[i]``, without intermediate overflow."""
    if not sparse.issparse(X):
        return np.ldexp(X, -exponents[:, None].astype(np.int32))
    X = X.copy()
    X.data = np.ldexp(X.data, -np.repeat(exponents, np.diff(X.indptr)).astype(np.int32))
    return X
