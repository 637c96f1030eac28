"""The VC dimension of a class of functions, and the inductive error that it implies."""

from __future__ import annotations

import math
from typing import Any

from graphmargin._checks import check_integer, check_real
from graphmargin.margin.kernels import Kernel


def inductive_error(h: float, n: int, eta: float) -> float:
    """Return ``sqrt((h (ln(2 n / h) + 1) - ln(eta / 4)) / n)``, the inductive error of Lemma 1.

    With probability ``1 - eta`` over n independent points, the risk of every function of a class of
    VC dimension h exceeds its risk on these points by at most this error.

    Parameters
    ----------
    h : float > 0
        VC dimension; inf is allowed.
    n : int >= 1
        Number of points.
    eta : float in (0, 1)

    Notes
    -----
    The logarithm bounds the number of ways in which 2 n points can be split for ``h <= 2 n`` only;
    with fewer points, the formula would decrease. There the error is inf, so that it decreases in
    n and in eta everywhere.

    Examples
    --------
    >>> round(inductive_error(3, 10_000, 0.05), 3)
    0.058
    >>> inductive_error(float("inf"), 10_000, 0.05)
    inf
    """
    h = check_real("vc_dimension", h, positive=True, finite=False)
    n = check_integer("n", n, low=1)
    check_probability("eta", eta)
    if h > 2 * n:
        return math.inf
    return math.sqrt((h * (math.log(2 * n / h) + 1) - math.log(eta / 4)) / n)


def vc_dimension(kernel: Any, n_features: int) -> float:
    """Return the VC dimension of ``sgn(f(x) + b)`` with f from the space of a kernel.

    It is the dimension of the space of functions ``f + b``: d + 1 for the linear kernel, the number
    C(d + p, p) of monomials up to degree p for ``(x.z + coef0)^p``, the number C(d + p - 1, p) of
    monomials of degree p plus one for the bias if coef0 = 0, and inf for the RBF kernel. The margin
    is not used, although a large one makes the class smaller.

    Parameters
    ----------
    kernel : Kernel or {"linear", "poly", "rbf"}
    n_features : int >= 1

    Examples
    --------
    >>> vc_dimension("linear", 16), vc_dimension("poly", 16), vc_dimension("rbf", 16)
    (17, 969, inf)
    """
    kernel = kernel if isinstance(kernel, Kernel) else Kernel(kernel)
    d, p = check_integer("n_features", n_features, low=1), kernel.degree
    if kernel.kind == "linear":
        return d + 1
    if kernel.kind == "rbf":
        return math.inf
    if kernel.kind == "poly":
        return math.comb(d + p, p) if kernel.coef0 > 0 else math.comb(d + p - 1, p) + 1
    msg = (
        "`kernel` must be linear, poly or rbf for its VC dimension to be known, got "
        f"{kernel.kind!r}; pass `vc_dimension`, the dimension of its feature space plus one"
    )
    raise ValueError(msg)


def check_probability(name: str, value: Any) -> None:
    """Raise ValueError unless a probability of failure is in (0, 1)."""
    if check_real(name, value, positive=True, finite=False) >= 1:
        msg = (
            f"`{name}` must be in (0, 1), got {value!r}; it is the probability that the bound fails"
        )
        raise ValueError(msg)
