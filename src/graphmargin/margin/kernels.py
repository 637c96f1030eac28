"""Kernels with the paper's width, evaluated as one BLAS product."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import euclidean_distances

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin._typing import FloatArray

KernelFunction = Callable[[Any, Any], FloatArray]
KernelName = Literal["linear", "cubic", "rbf", "precomputed"]
KERNELS = ("linear", "cubic", "rbf", "precomputed")


@dataclass(frozen=True)
class Kernel:
    """A Mercer kernel k(x, z) of width omega (the paper's sqrt(K) sigma).

    - linear: ``x.z / omega^2``
    - cubic: ``(x.z / omega^2 + coef0)^degree``
    - rbf: ``exp(-norm(x - z)^2 / (2 omega^2))``
    - precomputed: rows hold the kernel values themselves
    - a callable ``function(X, Z)`` that returns the matrix of kernel values

    Dividing by the squared width makes linear and cubic kernels independent of the units of the
    features, and C comparable between kernels.

    Examples
    --------
    >>> kernel = Kernel("cubic", width=2.0)
    >>> kernel(np.array([[2.0, 2.0]]), np.array([[1.0, 3.0]])).tolist()
    [[27.0]]
    """

    kind: KernelName | KernelFunction
    width: float = 1.0
    degree: int = 3
    coef0: float = 1.0

    def __post_init__(self) -> None:
        """Check the parameters."""
        if not callable(self.kind):
            check_choice("kernel", self.kind, KERNELS, " or a callable")
        check_real("width", self.width, positive=True)
        check_integer("degree", self.degree, low=1)
        check_real("coef0", self.coef0, hint="; a negative one gives no kernel")

    def __call__(self, X: Any, Z: Any) -> FloatArray:
        """Return the matrix of kernel values between the rows of X and Z."""
        if callable(self.kind):
            values = np.asarray(self.kind(X, Z), dtype=np.float64)
            expected = (X.shape[0], Z.shape[0])
            if values.shape != expected or not np.isfinite(values).all():
                finite = "" if np.isfinite(values).all() else ", with NaN or infinity"
                msg = (
                    f"`kernel` must return finite values of shape {expected} for X and Z, got "
                    f"shape {values.shape}{finite}"
                )
                raise ValueError(msg)
            return values
        if self.kind == "precomputed":
            msg = "a precomputed kernel has no values between rows; take columns of the matrix"
            raise TypeError(msg)
        if self.kind == "rbf":
            squared = euclidean_distances(X, Z, squared=True)
            return np.asarray(np.exp(squared * (-0.5 / self.width**2)))
        products = X @ Z.T
        if sparse.issparse(products):
            products = products.toarray()
        products = np.asarray(products, dtype=np.float64) / self.width**2
        return products if self.kind == "linear" else (products + self.coef0) ** self.degree
