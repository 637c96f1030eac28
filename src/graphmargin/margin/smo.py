"""Sequential minimal optimization of the dual on a kernel matrix that is in memory.

Minimizes ``b' K b / 2 - s'b`` over ``b_i = s_i a_i``, subject to ``0 <= a_i <= C_i`` and
``sum_i b_i = 0`` (the bias is free), two variables at a time: the one that violates the optimality
conditions most, and the one that then gains most to second order (Fan, Chen, Lin, JMLR 2005).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray

TOLERANCE = 1e-4
TINY = 1e-12
"""Lower bound on the curvature of a step, which is zero for two equal rows."""
MAX_ITERATIONS = 10_000_000
ENTRIES_AT_ONCE = 2**26
"""Entries of the kernel matrix to visit between two checks for cancellation: about 0.1 s."""


@dataclass(frozen=True)
class SmoSolution:
    """A solution of the dual problem, and its accuracy.

    Attributes
    ----------
    alpha : array of shape (n,)
        ``f(x) = sum_i s_i alpha_i k(x_i, x) + bias``.
    bias : float
    iterations : int
    converged : bool
    violation : float
        Largest violation of the optimality conditions, in units of f.
    """

    alpha: FloatArray
    bias: float
    iterations: int
    converged: bool
    violation: float


def solve_smo(
    K: FloatArray,
    rows: IntArray,
    signs: FloatArray,
    bounds: FloatArray,
    *,
    start: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> SmoSolution:
    """Return the two-class machine on some rows of a kernel matrix.

    Parameters
    ----------
    K : array of shape (N, N)
        Symmetric positive semidefinite, float64, C-contiguous.
    rows : array of shape (n,)
        Rows and columns of K that take part.
    signs : array of shape (n,)
        1 or -1 for each of these rows; both occur.
    bounds : array of shape (n,)
        C_i > 0, the weight of the loss of each row.
    start : array of shape (n,), default=None
        Initial alpha, such as the solution for another C times the ratio of both. It is made
        feasible: clipped to the bounds, and the class with the larger sum is scaled down.
    tolerance : float > 0
        Violation of the optimality conditions at which to stop.
    max_iterations : int

    Returns
    -------
    SmoSolution
        Time O(n) an iteration, of which there are O(n) or more; memory O(n) beyond K.

    Examples
    --------
    >>> X = np.array([[-1.0], [3.0]])
    >>> solution = solve_smo(X @ X.T, np.arange(2), np.array([-1.0, 1.0]), np.full(2, 10.0))
    >>> solution.alpha.tolist(), solution.bias
    ([0.125, 0.125], -0.5)
    """
    rows = np.ascontiguousarray(rows, dtype=np.int64)
    signs = np.asarray(signs, dtype=np.float64)
    bounds = np.asarray(bounds, dtype=np.float64)
    before = np.zeros(len(rows)) if start is None else np.asarray(start, dtype=np.float64)
    state = np.empty((5, len(rows)))
    _prepare(K, rows, signs, bounds, before, state)
    beta, lowest, highest, diagonal, residual = state
    at_once = max(1, ENTRIES_AT_ONCE // len(rows))
    iterations, violation = 0, np.inf
    while violation > tolerance and iterations < max_iterations:
        share = min(at_once, max_iterations - iterations)
        steps, violation = _iterate(
            K, rows, diagonal, lowest, highest, beta, residual, float(tolerance), share
        )
        iterations += steps
        raise_if_cancelled()
    bias = float(_bias(beta, lowest, highest, residual))
    return SmoSolution(
        signs * beta, bias, iterations, bool(violation <= tolerance), float(violation)
    )


@kernel()
def _bias(beta, lowest, highest, residual):  # type: ignore[no-untyped-def]
    """Return the mean residual of free variables, else the midpoint of the feasible interval.

    A variable that rounding keeps one ulp away from its bound is not free.
    """
    total, n_free, low, high = 0.0, 0, -np.inf, np.inf
    for i in range(len(beta)):
        margin = TINY * (highest[i] - lowest[i])
        can_grow, can_fall = beta[i] < highest[i] - margin, beta[i] > lowest[i] + margin
        if can_grow:
            low = max(low, residual[i])
        if can_fall:
            high = min(high, residual[i])
        if can_grow and can_fall:
            total += residual[i]
            n_free += 1
    return total / n_free if n_free else (low + high) / 2


@kernel()
def _prepare(K, rows, signs, bounds, start, state):  # type: ignore[no-untyped-def]
    """Fill `state`: the initial beta, its bounds, the diagonal of K and the residual s - K beta.

    The initial beta is made feasible: within its bounds, with equal sums in both classes.
    """
    n = len(rows)
    beta, lowest, highest, diagonal, residual = state[0], state[1], state[2], state[3], state[4]
    positive = negative = 0.0
    for i in range(n):
        beta[i] = min(max(start[i], 0.0), bounds[i])
        if signs[i] > 0:
            positive += beta[i]
        else:
            negative += beta[i]
        lowest[i], highest[i] = min(signs[i] * bounds[i], 0.0), max(signs[i] * bounds[i], 0.0)
        diagonal[i] = K[rows[i], rows[i]]
        residual[i] = signs[i]
    # Where the sums are equal already, variables at their bounds stay there.
    balanced = abs(positive - negative) <= 1e-12 * (positive + negative)
    least = min(positive, negative)
    for i in range(n):
        if not balanced:
            beta[i] *= least / max(positive if signs[i] > 0 else negative, TINY)
        beta[i] *= signs[i]
        if beta[i] != 0:
            row = K[rows[i]]
            for t in range(n):
                residual[t] -= beta[i] * row[rows[t]]


@kernel()
def _iterate(  # type: ignore[no-untyped-def]
    K, rows, diagonal, lowest, highest, beta, residual, tolerance, max_iterations
):
    """Take steps in place; return their number and the largest remaining violation.

    At an optimum, the residual s - K beta of a variable is at most the bias where it can grow, and
    at least the bias where it can fall.
    """
    n = len(rows)
    i = -1
    for t in range(n):
        if beta[t] < highest[t] and (i < 0 or residual[t] > residual[i]):
            i = t
    for iteration in range(max_iterations + 1):
        top = residual[i]
        row_i = K[rows[i]]
        j, bottom, best = -1, np.inf, 0.0
        for t in range(n):
            if beta[t] > lowest[t]:
                bottom = min(bottom, residual[t])
                gap = top - residual[t]
                if gap > 0:
                    curvature = diagonal[i] + diagonal[t] - 2 * row_i[rows[t]]
                    gain = gap * gap / max(curvature, TINY)
                    if gain > best:
                        j, best = t, gain
        if top - bottom <= tolerance or iteration == max_iterations:
            return iteration, max(top - bottom, 0.0)
        row_j = K[rows[j]]
        curvature = diagonal[i] + diagonal[j] - 2 * row_i[rows[j]]
        step = (top - residual[j]) / max(curvature, TINY)
        step = min(step, highest[i] - beta[i], beta[j] - lowest[j])
        # A step that ends at a bound ends there exactly.
        beta[i] = highest[i] if step == highest[i] - beta[i] else beta[i] + step
        beta[j] = lowest[j] if step == beta[j] - lowest[j] else beta[j] - step
        i, top = -1, -np.inf
        for t in range(n):
            residual[t] -= step * (row_i[rows[t]] - row_j[rows[t]])
            if residual[t] > top and beta[t] < highest[t]:
                i, top = t, residual[t]
    return max_iterations, np.inf
