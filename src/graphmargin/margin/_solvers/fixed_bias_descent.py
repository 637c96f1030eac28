"""Coordinate descent for the dual of a machine on explicit features whose bias is fixed.

Minimizes ``D(b) = norm(F'b)^2 / 2 - t'b`` subject to ``lowest <= b <= highest``, one variable at a
time. Between rounds of coordinate descent, conjugate gradients (More, Toraldo, SIAM J. Optimization
1991) update all variables between their bounds at once, because coordinate descent alone converges
slowly where rows are alike. With hinge losses, ``b_i = s_i alpha_i`` lies between 0 and s_i C_i,
and ``t_i = s_i - m`` where m is the bias; then ``f(x) = w.x + m`` with ``w = F'b``. The residual
``t - F w`` is in units of f and measures optimality: at an optimum it is at most zero where b_i can
grow, and at least zero where b_i can fall.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray

TOLERANCE = 1e-6
MAX_EPOCHS = 20_000
EPOCHS_BETWEEN_CHECKS = 16
"""Epochs between two checks of all rows. In between, rows that seem to be at the optimum are
skipped."""
MAX_CONJUGATE_STEPS, CONJUGATE_REDUCTION = 50, 0.01
"""Conjugate gradients on a face end after so many steps, or at this reduction of the residual."""
MAX_HALVINGS = 20
TINY = 1e-14
"""Share of norm(b)^2 below which norm(F'b)^2 counts as zero curvature."""
ENTRIES_AT_ONCE = 2**26
"""Entries of the features to visit between two checks for cancellation: about 0.2 s."""


@dataclass(frozen=True)
class FixedBiasSolution:
    """A point in the box and its certificate.

    Attributes
    ----------
    beta : array of shape (n,)
    weights : array of shape (r,)
        F'b.
    primal, dual : float
        ``norm(w)^2 / 2 + sum_i max(lowest_i r_i, highest_i r_i)`` with ``r = t - F w``, and
        ``-D(b)``; the optimum of both lies between them.
    violation : float
        Largest violation of the optimality conditions, in units of f.
    epochs : int
    converged : bool
    """

    beta: FloatArray
    weights: FloatArray
    primal: float
    dual: float
    violation: float
    epochs: int
    converged: bool


def solve_fixed_bias(
    F: FloatArray,
    targets: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
    *,
    start: FloatArray | None = None,
    tolerance: float = TOLERANCE,
    max_epochs: int = MAX_EPOCHS,
) -> FixedBiasSolution:
    """Return the minimum of ``norm(F'b)^2 / 2 - t'b`` in the box ``lowest <= b <= highest``.

    Parameters
    ----------
    F : array of shape (n, r)
        Features, float32 or float64; all sums are in double precision.
    targets : array of shape (n,)
        t.
    lowest, highest : arrays of shape (n,)
        Finite; where they are equal, b is fixed.
    start : array of shape (n,), default=None
        Initial b, clipped to the box; None starts at the point of the box that is nearest to 0.
    tolerance : float > 0
        Violation of the optimality conditions at which to stop.
    max_epochs : int
        Largest number of passes over the rows, in a random order.

    Returns
    -------
    FixedBiasSolution
        Time O(n r) an epoch, memory O(n + r).

    Examples
    --------
    >>> F = np.array([[2.0], [-1.0]])
    >>> low, high = np.array([0.0, -9.0]), np.array([9.0, 0.0])
    >>> solution = solve_fixed_bias(F, np.array([1.0, -1.0]), low, high)
    >>> solution.weights.tolist(), solution.beta.tolist()
    ([1.0], [0.0, -1.0])
    """
    F = np.ascontiguousarray(F)
    targets, lowest, highest = (
        np.ascontiguousarray(array, dtype=np.float64) for array in (targets, lowest, highest)
    )
    n, r = F.shape
    beta: FloatArray = np.zeros(n) if start is None else np.asarray(start, dtype=np.float64)
    beta = np.clip(beta, lowest, highest)
    random = np.random.default_rng(0)
    curvature = np.einsum("nr,nr->n", F, F, dtype=np.float64)
    at_once = max(1, ENTRIES_AT_ONCE // max(r, 1))
    every, epochs = np.arange(n), 0
    weights, values = _products(F, every, beta)
    violation = _violation(targets - values, beta, lowest, highest)
    while violation > tolerance and epochs < max_epochs:
        active, limits = every, np.array([-np.inf, np.inf])
        for _ in range(min(EPOCHS_BETWEEN_CHECKS, max_epochs - epochs)):
            extremes = np.array([np.inf, -np.inf])
            active_parts = []
            for order in np.array_split(random.permutation(active), 1 + len(active) // at_once):
                active_parts.append(
                    _descend(
                        *(F, targets, lowest, highest, curvature, beta, weights),
                        *(order, limits, extremes),
                    )
                )
                raise_if_cancelled()
            epochs += 1
            active = np.concatenate(active_parts)
            if max(-extremes[0], extremes[1]) <= tolerance / 2:  # the weights have rounding errors
                break
            is_bound = [extremes[0] < 0, extremes[1] > 0]
            limits = np.where(is_bound, extremes, [-np.inf, np.inf])
        weights, values = _products(F, every, beta)
        violation = _violation(targets - values, beta, lowest, highest)
        if violation > tolerance:
            beta = _cross_face(F, targets - values, beta, lowest, highest)
            weights, values = _products(F, every, beta)
            violation = _violation(targets - values, beta, lowest, highest)
    residual = targets - values
    penalty = float(weights @ weights) / 2
    losses = np.maximum(lowest * residual, highest * residual)
    return FixedBiasSolution(
        beta,
        weights,
        penalty + float(losses.sum()),
        float(targets @ beta) - penalty,
        violation,
        epochs,
        violation <= tolerance,
    )


def _violation(
    residual: FloatArray, beta: FloatArray, lowest: FloatArray, highest: FloatArray
) -> float:
    """Return the largest violation of the optimality conditions."""
    can_grow, can_fall = residual[beta < highest], -residual[beta > lowest]
    return float(max(can_grow.max(initial=0.0), can_fall.max(initial=0.0)))


def _cross_face(
    F: FloatArray,
    residual: FloatArray,
    beta: FloatArray,
    lowest: FloatArray,
    highest: FloatArray,
) -> FloatArray:
    """Return a point with a smaller D on the face of the box that beta lies on.

    Conjugate gradients solve for the variables between their bounds. The step is clipped to the
    box, and halved until D decreases.
    """
    free = np.flatnonzero((beta > lowest) & (beta < highest))
    remaining = residual[free]
    square = float(remaining @ remaining)
    goal = CONJUGATE_REDUCTION**2 * square
    step, direction = np.zeros(len(free)), remaining
    for _ in range(MAX_CONJUGATE_STEPS):
        if square <= goal:
            break
        weights, image = _products(F, free, direction)
        curvature = float(weights @ weights)
        if curvature <= TINY * float(direction @ direction):  # D decreases until a bound is reached
            break
        step = step + square / curvature * direction
        remaining = remaining - square / curvature * image
        before, square = square, float(remaining @ remaining)
        direction = remaining + square / before * direction
        raise_if_cancelled()
    for halving in range(MAX_HALVINGS):
        target = np.clip(beta[free] + step / 2**halving, lowest[free], highest[free])
        clipped = target - beta[free]
        weights, _ = _products(F, free, clipped)
        if float(weights @ weights) / 2 < float(residual[free] @ clipped):
            beta = beta.copy()
            beta[free] += clipped
            return np.clip(beta, lowest, highest)
    return beta


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _products(F, rows, beta):  # type: ignore[no-untyped-def]
    """Return ``w = F'b`` for a b that is zero outside of the rows, and F w at the rows."""
    r = F.shape[1]
    weights = np.zeros(r)
    for i in range(len(rows)):
        if beta[i] != 0:
            x = F[rows[i]]
            for k in range(r):
                weights[k] += beta[i] * x[k]
    values = np.empty(len(rows))
    for i in range(len(rows)):
        x = F[rows[i]]
        dot = 0.0
        for k in range(r):
            dot += weights[k] * x[k]
        values[i] = dot
    return weights, values


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _descend(  # type: ignore[no-untyped-def]
    F, targets, lowest, highest, curvature, beta, weights, order, limits, extremes
):
    """Update beta and weights in place, row by row; return the rows to visit again.

    A row at a bound whose residual is beyond the limits of the last epoch is likely to stay there.
    `extremes` becomes the smallest and the largest residual.
    """
    active = np.empty(len(order), np.int64)
    n_active, r = 0, F.shape[1]
    for i in order:
        dot = 0.0
        for k in range(r):
            dot += weights[k] * F[i, k]
        residual = targets[i] - dot
        old = beta[i]
        if old >= highest[i]:
            if residual > limits[1] or old <= lowest[i]:
                continue
            residual = min(residual, 0.0)
        elif old <= lowest[i]:
            if residual < limits[0]:
                continue
            residual = max(residual, 0.0)
        active[n_active] = i
        n_active += 1
        extremes[0] = min(extremes[0], residual)
        extremes[1] = max(extremes[1], residual)
        if residual == 0:
            continue
        if curvature[i] > 0:
            new = min(max(old + residual / curvature[i], lowest[i]), highest[i])
        else:  # for a row of zeros, D is linear in b_i
            new = highest[i] if residual > 0 else lowest[i]
        step = new - old
        if step != 0:
            beta[i] = new
            for k in range(r):
                weights[k] += step * F[i, k]
    return active[:n_active]
