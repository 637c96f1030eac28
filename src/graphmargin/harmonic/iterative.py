"""Iterative solvers of ``(diag(s) - W) X = B``, for graphs whose fill is too large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray

Preconditioner = Callable[[FloatArray], FloatArray]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Iterate:
    """Where an iteration ended."""

    X: FloatArray
    iterations: int
    converged: bool


def conjugate_gradients(
    W: sparse.csr_array,
    s: FloatArray,
    B: FloatArray,
    *,
    start: FloatArray | None = None,
    precondition: Preconditioner | None = None,
    tol: float = 1e-10,
    max_iter: int = 10_000,
    progress: Progress | None = None,
) -> Iterate:
    """Solve all columns at once by preconditioned conjugate gradients.

    Iterates on ``(I - s^-1/2 W s^-1/2) (s^1/2 X) = s^-1/2 B``, whose numbers are of order one
    whatever the scale of the weights; `precondition` approximates the inverse of its matrix.
    Each column keeps its own step lengths and leaves as soon as ``max_i abs(r_i) / s_i <= tol``,
    the largest distance of an entry of X from the mean of its neighbors.
    """
    root = np.sqrt(s)[:, None]
    scaled = symmetric_scaling(W, s)
    X = np.zeros_like(B) if start is None else start * root
    R = B / root - X + scaled @ X
    active = np.arange(B.shape[1])
    iteration = 0
    P = np.zeros_like(R)
    rho = np.ones(B.shape[1])
    while True:
        violation = np.abs(R / root).max(axis=0, initial=0.0)
        if progress is not None:
            progress(f"iteration {iteration}: violation {violation.max(initial=0.0):.1e}")
        going_on = violation > tol
        active, R, P, rho = active[going_on], R[:, going_on], P[:, going_on], rho[going_on]
        if not len(active) or iteration == max_iter:
            return Iterate(X / root, iteration, not len(active))
        Z = R if precondition is None else precondition(R)
        rho_next = np.einsum("ic,ic->c", R, Z)
        P = Z + P * (rho_next / rho)
        rho = rho_next
        AP = P - scaled @ P
        step = rho / np.einsum("ic,ic->c", P, AP)
        X[:, active] += P * step
        R = R - AP * step
        iteration += 1


def symmetric_scaling(W: sparse.csr_array, s: FloatArray) -> sparse.csr_array:
    """Return ``s^-1/2 W s^-1/2``."""
    scale = sparse.diags_array(1 / np.sqrt(s)).tocsr()
    return sparse.csr_array(scale @ W @ scale)


def jacobi(
    W: sparse.csr_array,
    s: FloatArray,
    B: FloatArray,
    *,
    start: FloatArray | None = None,
    tol: float = 1e-10,
    max_iter: int = 3_000,
    progress: Progress | None = None,
) -> Iterate:
    """Iterate ``X <- (W X + B) / s`` until every single entry has settled.

    All numbers are positive, so each entry converges with a small *relative* error even where
    the walk hardly ever meets a label and X decays to 1e-100: there, a stop by a norm leaves the
    arg max to chance. The stop is component-wise: the largest relative change, times what the
    observed rate of convergence says is still to come, must be below `tol`. Needs about
    ``log(tol) / log(rho)`` sweeps, ``rho = max_i d_i / (d_i + gamma_g)``.
    """
    P = sparse.diags_array(1 / s).tocsr() @ W
    Q = B / s[:, None]
    X = Q.copy() if start is None else start
    last_change = np.inf
    for iteration in range(1, max_iter + 1):
        updated = P @ X
        updated += Q
        change = _relative_change(X, updated)
        X = updated
        rate = change / last_change if np.isfinite(last_change) else 1.0
        last_change = change
        if progress is not None:
            progress(f"sweep {iteration}: relative change {change:.1e}")
        if change == 0 or (rate < 1 and change * rate / (1 - rate) <= tol):
            return Iterate(X, iteration, converged=True)
    return Iterate(X, max_iter, converged=False)


def algebraic_multigrid(W: sparse.csr_array, s: FloatArray) -> Preconditioner:
    """Return a smoothed-aggregation preconditioner of ``I - s^-1/2 W s^-1/2`` from pyamg."""
    try:
        import pyamg
    except ImportError as error:
        msg = "`solver`='amg' needs pyamg; pip install 'graphmargin[amg]'"
        raise ImportError(msg) from error
    identity = sparse.eye_array(len(s), format="csr")
    matrix = sparse.csr_matrix(identity - symmetric_scaling(W, s))
    cycle = pyamg.smoothed_aggregation_solver(
        matrix, B=np.sqrt(s)[:, None], symmetry="symmetric"
    ).aspreconditioner()

    def precondition(R: FloatArray) -> FloatArray:
        return np.column_stack([cycle @ column for column in R.T])

    return precondition


def _relative_change(old: FloatArray, new: FloatArray) -> float:
    with np.errstate(invalid="ignore", divide="ignore"):
        change: Any = np.abs(new - old) / new
    return float(np.nanmax(change, initial=0.0))
