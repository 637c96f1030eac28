"""Iterative solvers of ``(diag(s) - W) X = B``, for graphs whose fill is too large."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges
from graphmargin._compilation import kernel
from graphmargin._threads import ThreadPool, raise_if_cancelled
from graphmargin._typing import BoolArray, FloatArray, ProgressCallback
from graphmargin.harmonic._solvers.elimination import csr_arrays

DirectionUpdate = Callable[[FloatArray, FloatArray, FloatArray, FloatArray, ThreadPool], FloatArray]
"""A function of (P, R, squares, rho_before, pool) that updates the search directions P in place.

It sets P to ``Z + P rho / rho_before`` and returns ``rho = diag(R'Z)``, where Z is the
preconditioned residual R, and `squares` is diag(R'R).
"""
Refine = Callable[[FloatArray, Callable[[], FloatArray]], FloatArray | None]

TOLERANCE = 1e-10
MIN_ROWS_AT_ONCE = 4096
N_BLOCKS = 16
LANES = 4
"""Number of columns is a multiple of this, the length of a vector register."""


@dataclass(frozen=True)
class IterativeSolution:
    """The result of an iteration: its solution, and whether it converged."""

    X: FloatArray
    iterations: int
    converged: bool


def conjugate_gradients(
    W: sparse.csr_array,
    s: FloatArray,
    B: FloatArray,
    *,
    update: DirectionUpdate | None = None,
    tol: float = TOLERANCE,
    refine: Refine | None = None,
    max_iter: int = 10_000,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> IterativeSolution:
    """Return the solution of all columns by preconditioned conjugate gradients.

    Iterates on ``(I - s^-1/2 W s^-1/2) (s^1/2 X) = s^-1/2 B``, whose numbers are of order one
    whatever the scale of the weights; `update` preconditions it.
    Each column has its own step lengths, and ends when its violation ``max_i abs(r_i) / s_i``, the
    largest distance of an entry of X from the mean of its neighbors, is at most `tol`; columns end
    in groups of four.

    Parameters
    ----------
    W, s, B
        The system.
    update : callable, default=None
        Computes the next directions, see `DirectionUpdate`; None has no preconditioner.
    tol : float
    refine : callable, default=None
        Called with the violations and a function that returns X whenever all columns but the last
        meet `tol`. It returns the final tolerance of each column, or None to be called again after
        the next iteration. Until then, no column ends.
    max_iter : int
    n_jobs : int, default=None
        Number of threads; the result does not depend on it.
    progress : callable, default=None
    """
    given = B.shape[1]
    matrix = csr_arrays(symmetric_scaling(W, s))
    root = np.sqrt(s)
    R = pad_columns(B)
    R /= root[:, None]
    n, columns = R.shape
    X = np.zeros((n, columns))
    blocks = chunk_ranges(n, max(MIN_ROWS_AT_ONCE, -(-n // N_BLOCKS)))
    update = update or _plain_update(blocks)
    tols = np.full(columns, tol)
    first_violation: float | None = None
    with ThreadPool(n_jobs if len(blocks) > 1 else 1) as pool:
        active = np.arange(columns)
        X_now, P, AP = X, np.zeros((n, columns)), np.empty((n, columns))
        squares = np.einsum("ic,ic->c", R, R)
        violation = np.abs(R / root[:, None]).max(axis=0, initial=0.0)
        violations = violation.copy()
        rho_before: FloatArray = np.ones(columns)
        for iteration in range(max_iter + 1):
            raise_if_cancelled()
            if progress is not None:
                first_violation = first_violation or violation.max(initial=0.0)
                progress(*log_progress(first_violation, violation.max(initial=0.0), tols.min()))
            violations[active] = violation
            if refine is not None and (violations[: given - 1] <= tol).all():
                refined = refine(violations[:given], lambda: X[:, :given] / root[:, None])
                if refined is not None:
                    tols[:given], refine = refined, None
            remaining = _remaining(violation, tols[active]) if refine is None else violation >= 0
            if not remaining.all():
                X[:, active] = X_now
                active = active[remaining]
                # One after the other, so that the memory of each is free for the next.
                AP = np.empty((n, len(active)))
                P = P.compress(remaining, axis=1)
                R = R.compress(remaining, axis=1)
                X_now = X_now.compress(remaining, axis=1)
                squares, rho_before = squares[remaining], rho_before[remaining]
            if not len(active) or iteration == max_iter:
                X[:, active] = X_now
                np.divide(X, root[:, None], out=X)
                return IterativeSolution(X[:, :given], iteration, not len(active))
            rho = update(P, R, squares, rho_before, pool)
            curvature = sum(pool.run(lambda rows: apply(*matrix, P, AP, *rows), blocks))  # noqa: B023
            step = safe_divide(rho, curvature)
            rho_before = rho
            parts = pool.run(lambda rows: advance(X_now, R, P, AP, step, root, *rows), blocks)  # noqa: B023
            squares = np.sum([part[0] for part in parts], axis=0)
            violation = np.max([part[1] for part in parts], axis=0)
    raise AssertionError  # the loop returns


def pad_columns(B: FloatArray) -> FloatArray:
    """Return B in row order, with columns of zeros up to a multiple of the lanes."""
    wide = np.zeros((B.shape[0], -(-B.shape[1] // LANES) * LANES))
    wide[:, : B.shape[1]] = B
    return wide


def _remaining(violation: FloatArray, tols: FloatArray) -> BoolArray:
    """Return the mask of the columns that continue, with others that fill up the lanes."""
    if (violation <= tols).all():
        return np.zeros(len(violation), dtype=bool)
    n_unsolved = (violation > tols).sum()
    n_remaining = min(len(violation), -(-n_unsolved // LANES) * LANES)
    remaining = np.zeros(len(violation), dtype=bool)
    remaining[np.argsort(tols - violation, kind="stable")[:n_remaining]] = True
    return remaining


def safe_divide(numerator: FloatArray, denominator: FloatArray) -> FloatArray:
    """Return numerator / denominator, and zero where the denominator is zero."""
    return np.divide(numerator, denominator, out=np.zeros(len(numerator)), where=denominator > 0)


def log_progress(first: float, now: float, goal: float) -> tuple[float | None, str]:
    """Return the progress to the goal, on a logarithmic scale, and a message."""
    message = f"violation {now:.1e}"
    if now <= goal or first <= goal:
        return 1.0, message
    return max(0.0, float(np.log(first / now) / np.log(first / goal))), message


def _plain_update(blocks: list[tuple[int, int]]) -> DirectionUpdate:
    """Return the update of directions without a preconditioner."""

    def update(
        P: FloatArray, R: FloatArray, squares: FloatArray, rho_before: FloatArray, pool: ThreadPool
    ) -> FloatArray:
        keep = safe_divide(squares, rho_before)
        pool.run(lambda rows: scale_and_add(P, R, keep, *rows), blocks)
        return squares

    return update


@kernel()
def scale_and_add(P, Z, keep, first, last):  # type: ignore[no-untyped-def]
    """Set P to ``Z + P diag(keep)`` for some rows."""
    for i in range(first, last):
        for c in range(P.shape[1]):
            P[i, c] = Z[i, c] + keep[c] * P[i, c]


@kernel()
def apply(indptr, indices, data, P, AP, first, last):  # type: ignore[no-untyped-def]
    """Set AP to ``P - S P`` for some rows; return their part of diag(P' AP).

    S may have more columns than rows: the further rows of P are fixed values.
    """
    columns = P.shape[1]
    curvature = np.zeros(columns)
    for i in range(first, last):
        for c in range(columns):
            AP[i, c] = P[i, c]
        for p in range(indptr[i], indptr[i + 1]):
            j, weight = indices[p], data[p]
            for c in range(columns):
                AP[i, c] -= weight * P[j, c]
        for c in range(columns):
            curvature[c] += P[i, c] * AP[i, c]
    return curvature


@kernel()
def advance(X, R, P, AP, step, root, first, last):  # type: ignore[no-untyped-def]
    """Take a step for some rows; return their part of diag(R'R) and their largest violations."""
    columns = P.shape[1]
    squares = np.zeros(columns)
    violation = np.zeros(columns)
    for i in range(first, last):
        scale = 1 / root[i]
        for c in range(columns):
            X[i, c] += step[c] * P[i, c]
            r = R[i, c] - step[c] * AP[i, c]
            R[i, c] = r
            squares[c] += r * r
            violation[c] = max(violation[c], abs(r) * scale)
    return squares, violation


def violations(W: sparse.csr_array, s: FloatArray, B: FloatArray, X: FloatArray) -> FloatArray:
    """Return ``max_i abs(x_i - (W x + b)_i / s_i)`` of every column."""
    largest, mean = np.zeros(X.shape[1]), np.empty(X.shape[1])
    B, X = np.ascontiguousarray(B), np.ascontiguousarray(X)
    _violations(*csr_arrays(W), s, B, X, mean, largest)
    return largest


@kernel()
def _violations(indptr, indices, data, s, B, X, mean, largest):  # type: ignore[no-untyped-def]
    for i in range(X.shape[0]):
        for c in range(X.shape[1]):
            mean[c] = B[i, c]
        for p in range(indptr[i], indptr[i + 1]):
            j, weight = indices[p], data[p]
            for c in range(X.shape[1]):
                mean[c] += weight * X[j, c]
        for c in range(X.shape[1]):
            largest[c] = max(largest[c], abs(X[i, c] - mean[c] / s[i]))


def symmetric_scaling(W: sparse.csr_array, s: FloatArray) -> sparse.csr_array:
    """Return ``s^-1/2 W s^-1/2``."""
    scale = 1 / np.sqrt(s)
    data = W.data * np.repeat(scale, np.diff(W.indptr))
    data *= scale[W.indices]
    return sparse.csr_array((data, W.indices, W.indptr), shape=W.shape)


def gauss_seidel(
    W: sparse.csr_array,
    s: FloatArray,
    B: FloatArray,
    *,
    start: FloatArray | None = None,
    tol: float = TOLERANCE,
    max_iter: int = 2_000,
    progress: ProgressCallback | None = None,
) -> IterativeSolution:
    """Return the limit of sweeps ``x_i <- (sum_j w_ij x_j + b_i) / s_i``, down and up.

    All numbers are positive, so each entry converges with a small *relative* error even where
    walks rarely reach a label and X decays to 1e-100, so that a stop by a norm would not determine
    the arg max. The stop is component-wise: the largest relative change, extrapolated by the
    observed rate of convergence, must be below `tol`. This takes fewer than
    ``log(tol) / log(rho)`` sweeps, ``rho = max_i d_i / (d_i + gamma_g)``, once every vertex is
    reached from a label.
    """
    matrix = csr_arrays(sparse.csr_array(sparse.diags_array(1 / s).tocsr() @ W))
    given = B.shape[1]
    Q = pad_columns(B / s[:, None])
    X = Q.copy() if start is None else pad_columns(start)
    last_change = np.inf
    for iteration in range(1, max_iter + 1):
        raise_if_cancelled()
        change = _sweep(*matrix, X, Q)
        rate = change / last_change if np.isfinite(last_change) else 1.0
        last_change = change
        if progress is not None:
            progress(None, f"sweep {iteration}: relative change {change:.1e}")
        if change == 0 or (rate < 1 and change * rate / (1 - rate) <= tol):
            return IterativeSolution(X[:, :given], iteration, converged=True)
    return IterativeSolution(X[:, :given], max_iter, converged=False)


@kernel()
def _sweep(indptr, indices, data, X, Q):  # type: ignore[no-untyped-def]
    """Set X to ``P X + Q`` in place, down and up; return the largest relative change going up."""
    n, columns = X.shape
    largest = 0.0
    row = np.empty(columns)
    for k in range(2 * n):
        i = k if k < n else 2 * n - 1 - k
        for c in range(columns):
            row[c] = Q[i, c]
        for p in range(indptr[i], indptr[i + 1]):
            j, weight = indices[p], data[p]
            for c in range(columns):
                row[c] += weight * X[j, c]
        for c in range(columns):
            if k >= n and row[c] > 0:
                largest = max(largest, abs(row[c] - X[i, c]) / row[c])
            X[i, c] = row[c]
    return largest
