"""Kernels with the paper's width, each evaluated by one BLAS product."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin._rows import largest_magnitude, squared_norms
from graphmargin._typing import FloatArray, IntArray

KernelName = Literal["linear", "poly", "rbf", "precomputed"]
KERNELS = ("linear", "poly", "rbf", "precomputed")
MIN_WIDTH = 1e-150
"""Smallest width by whose square we can divide; its inverse is the largest we can square."""
MAX_SINGLE_NORM = 64.0
"""Largest squared norm, in units of the width, for which float32 gives RBF values to 1e-5."""
MAX_VALUE_SHARE = 1e-3
"""Largest value of kernels and machines, as a share of the largest number of their type."""
MATRIX_LIMITS = (1e-30, 1e30)
"""Range of the largest value of a kernel matrix that machines are trained on."""

COEF0_HINT = "; with a negative value the kernel is not positive semidefinite"


@dataclass(frozen=True)
class Kernel:
    """A Mercer kernel k(x, z) of width omega (the paper's sqrt(K) sigma).

    - linear: ``x.z / omega^2``
    - poly: ``(x.z / omega^2 + coef0)^degree``, by default the paper's cubic kernel
    - rbf: ``exp(-norm(x - z)^2 / (2 omega^2))``
    - precomputed: rows hold the kernel values themselves

    Dividing by the squared width makes linear and polynomial kernels independent of the units of
    the features, and C comparable between kernels.

    Examples
    --------
    >>> kernel = Kernel("poly", width=2.0)
    >>> kernel(np.array([[2.0, 2.0]]), np.array([[1.0, 3.0]])).tolist()
    [[27.0]]
    """

    kind: KernelName
    width: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        check_choice("kernel", self.kind, KERNELS)
        check_real("width", self.width, positive=True)
        if not MIN_WIDTH <= self.width <= 1 / MIN_WIDTH:
            msg = (
                f"`width` must be from {MIN_WIDTH} to {1 / MIN_WIDTH}, so that its square is "
                f"finite, got {self.width:.3g}; change the unit of the features"
            )
            raise ValueError(msg)
        check_integer("degree", self.degree, low=1)
        check_real("coef0", self.coef0, hint=COEF0_HINT)

    def __call__(self, X: Any, Z: Any) -> FloatArray:
        """Return the matrix of kernel values between the rows of X and Z."""
        if self.kind == "precomputed":
            msg = "a precomputed kernel cannot be evaluated on rows; take columns of its matrix"
            raise TypeError(msg)
        if self.kind == "rbf":
            return self._rbf(X, Z)
        values = _products(X, Z)
        values /= self.width**2
        if self.kind == "linear":
            return values
        values += self.coef0
        powers = values.copy()
        for _ in range(self.degree - 1):
            powers *= values
        return powers

    def check_range(self, X: Any) -> None:
        """Raise ValueError if kernel values between rows of X overflow."""
        if self.kind == "precomputed":
            return
        size, degree = largest_magnitude(X), self.degree if self.kind == "poly" else 1
        with np.errstate(over="ignore"):
            product = X.shape[1] * np.square(size / np.float64(self.width))
            bound = np.power(max(product, self.coef0), degree)
        if bound > MAX_VALUE_SHARE * np.finfo(X.dtype).max:
            msg = (
                f"`width`={self.width:.3g} is too small, or `degree` or `coef0` too large, for "
                f"rows of `X` with numbers up to {size:.3g}: kernel values overflow; center and "
                "scale the features"
            )
            raise ValueError(msg)

    def select_rows(self, X: Any, rows: IntArray) -> Any:
        """Return some rows of X for this kernel; of a kernel matrix, the same columns as well."""
        return X[rows][:, rows] if self.kind == "precomputed" else X[rows]

    def diagonal(self, X: Any) -> FloatArray:
        """Return k(x, x) of the rows of X.

        Examples
        --------
        >>> Kernel("poly", width=2.0).diagonal(np.array([[2.0, 2.0]])).tolist()
        [27.0]
        """
        if self.kind == "rbf":
            return np.ones(X.shape[0])
        squares = squared_norms(X) / self.width**2
        return squares if self.kind == "linear" else (squares + self.coef0) ** self.degree

    def _rbf(self, X: Any, Z: Any) -> FloatArray:
        """Return exp(x.z - x.x / 2 - z.z / 2) of rows in units of the width, by one product.

        Single precision is kept where the norms are so small that the difference is accurate.
        """
        first, second = (squared_norms(rows) / (2 * self.width**2) for rows in (X, Z))
        if max(first.max(initial=0.0), second.max(initial=0.0)) > MAX_SINGLE_NORM:
            X, Z = X.astype(np.float64, copy=False), Z.astype(np.float64, copy=False)
        values = _products(X, Z)
        values /= self.width**2
        values -= first[:, None].astype(values.dtype)
        values -= second.astype(values.dtype)
        np.minimum(values, 0, out=values)
        return np.exp(values, out=values)


def check_kernel_matrix(K: Any) -> None:
    """Raise ValueError unless K can be a kernel matrix."""
    if K.shape[0] != K.shape[1]:
        msg = f"`X` must be a square kernel matrix for kernel='precomputed', got {K.shape}"
        raise ValueError(msg)
    if abs(K - K.T).max() > 1e-6 * abs(K).max():
        msg = "`X` must be a symmetric kernel matrix for kernel='precomputed'"
        raise ValueError(msg)
    size, (low, high) = largest_magnitude(K), MATRIX_LIMITS
    if size > 0 and not low <= size <= high:
        msg = (
            f"`X` must be a kernel matrix whose largest value is from {low} to {high}, got "
            f"{size:.3g}; rescale it, and C inversely"
        )
        raise ValueError(msg)
    least = K.diagonal().min()
    if least < 0:
        msg = f"`X` must be a kernel matrix, with k(x, x) >= 0, got {least} on its diagonal"
        raise ValueError(msg)


def _products(X: Any, Z: Any) -> FloatArray:
    """Return X Z' as a new dense array, in single precision if both are."""
    products = X @ Z.T
    return products.toarray() if sparse.issparse(products) else np.asarray(products)
