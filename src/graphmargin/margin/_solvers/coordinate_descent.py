"""Dual coordinate descent for machines of two classes on explicit features.

Solves ``min norm(w)^2 / 2 + b^2 / (2 B) + sum_i C_i V(f, x_i, s_i)`` for ``f(x) = w.(x - m) + b``,
V the hinge loss and s_i in {-1, 1}, one dual variable at a time (Hsieh, Chang, Lin, Keerthi,
Sundararajan, ICML 2008). The bias of the machine is not penalized, but here it is, slightly. So m
is the midpoint between the means of the two classes, where f should be about zero, and in the end
the best b for the final w is computed exactly.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray

RELATIVE_GAP = 0.01
MAX_EPOCHS = 2000
EPOCHS_BEFORE_FIRST_CHECK = 16
"""Epochs before the first check of all rows. Rows that seem to be at the optimum are skipped."""
SKIPPED_FROM = 0.1
"""Share of the largest violation from which `solve_centered` skips rows, see `descend`.

A tenth takes half the visits of one, and as many epochs. The checks find rows skipped too early.
"""
BIAS_SHARE, BIAS_REACH = 0.1, 10.0
"""Two terms of B: a share of the mean of norm(x - m)^2, and `BIAS_REACH` over a total weight.

A larger share takes more epochs and changes little. The second term lets the bias
``b = B sum_i s_i alpha_i`` grow large enough where C is tiny: the sum should be small compared with
the largest one that the smaller class allows.
"""
ENTRIES_AT_ONCE = 2**27
"""Entries of the features to visit between two checks for cancellation: about 0.2 s."""


@dataclass(frozen=True)
class LinearSolution:
    """A machine ``f(x) = weights.x + bias`` and its certificate.

    Attributes
    ----------
    weights : array of shape (m,)
    bias : float
    alpha : array of shape (n,)
        Dual variables, float32.
    primal, dual : float
        Objectives with the penalized bias; the optimum lies between them.
    epochs : int
    converged : bool
    """

    weights: FloatArray
    bias: float
    alpha: FloatArray
    primal: float
    dual: float
    epochs: int
    converged: bool

    @property
    def gap(self) -> float:
        """Duality gap as a share of the primal objective."""
        return (self.primal - self.dual) / self.primal


@dataclass(frozen=True)
class LinearProblem:
    """The problem of two classes on some rows of the features, centered at a point m.

    Attributes
    ----------
    F : array of shape (N, m)
        Features, float32, C-contiguous.
    rows : array of shape (n,)
        Rows of F that take part, int64.
    signs : array of shape (n,)
        1 or -1 for each of these rows, float32. A class may have no row here, if other processes
        have some.
    bounds : array of shape (n,)
        C_i > 0, the weight of the loss of each row, float32.
    center : array of shape (m,)
        m, float32.
    squares, center_products : array of shape (n,)
        norm(x - m)^2 and (x - m).m of each row.
    """

    F: FloatArray
    rows: IntArray
    signs: FloatArray
    bounds: FloatArray
    center: FloatArray
    squares: FloatArray
    center_products: FloatArray

    def balance(self, alpha: FloatArray) -> float:
        """Return ``sum_i s_i alpha_i``; the bias is B times this sum."""
        return float(self.signs @ alpha.astype(np.float64))

    def offset(self, weights: FloatArray, bias: float) -> float:
        """Return ``b - w.m``, the value of f at a row of zeros."""
        return bias - float(weights @ self.center.astype(np.float64))


def centered_problem(
    F: FloatArray, rows: IntArray, signs: FloatArray, bounds: FloatArray, center: FloatArray
) -> LinearProblem:
    """Return the problem on some rows of the features, centered at a point."""
    return LinearProblem(F, rows, signs, bounds, center, *_center_products(F, rows, center))


def solve_centered(
    problem: LinearProblem,
    *,
    start: FloatArray | None = None,
    relative_gap: float = RELATIVE_GAP,
    max_epochs: int = MAX_EPOCHS,
    seed: int = 0,
) -> LinearSolution:
    """Return the machine of two classes on some rows of the features.

    Parameters
    ----------
    problem : LinearProblem
        Both classes have rows, and f should be about zero at the center.
    start : array of shape (n,), default=None
        Initial dual variables, clipped to the bounds; None is zero.
    relative_gap : float > 0
        Duality gap, as a share of the primal objective, at which to stop.
    max_epochs : int
        Largest number of passes over the rows.
    seed : int
        Seed of the order of the rows, which is new in each epoch.

    Returns
    -------
    LinearSolution
        Time O(n m) an epoch, memory O(n + m).

    Examples
    --------
    >>> F = np.array([[-1.0], [3.0]], dtype=np.float32)
    >>> signs, bounds = np.array([-1, 1], np.float32), np.full(2, 10, np.float32)
    >>> problem = centered_problem(F, np.arange(2), signs, bounds, np.ones(1, np.float32))
    >>> solution = solve_centered(problem)
    >>> solution.weights.round(2).tolist(), solution.alpha.round(3).tolist()
    ([0.5], [0.125, 0.125])
    """
    F, rows, signs, bounds = problem.F, problem.rows, problem.signs, problem.bounds
    random = np.random.default_rng(seed)
    bias_square = bias_feature_square(
        float(problem.squares.mean()),
        min(float(bounds[signs > 0].sum()), float(bounds[signs < 0].sum())),
    )
    alpha = np.zeros(len(rows), dtype=np.float32)
    weights, offset = np.zeros(F.shape[1], dtype=np.float32), 0.0
    if start is not None:
        alpha = np.clip(start, 0, bounds).astype(np.float32)
        weights = _weighted_sum(F, rows, signs * alpha, problem.center)
        offset = problem.offset(weights, bias_square * problem.balance(alpha))
    epochs, primal, dual = 0, np.inf, 0.0
    f, active = np.empty(len(rows)), np.arange(len(rows))
    while dual < (1 - relative_gap) * primal and epochs < max_epochs:
        n_epochs = min(epochs_before_check(epochs), max_epochs - epochs)
        done, _ = descend(
            *(problem, bias_square, alpha, weights, offset, n_epochs, random),
            active=active,
            skipped_from=SKIPPED_FROM,
        )
        epochs += done
        bias = bias_square * problem.balance(alpha)
        offset = problem.offset(weights, bias)
        losses, total, active = _check(F, rows, signs, bounds, alpha, weights, offset, f)
        penalty = squared_norm_penalty(weights, bias, bias_square)
        primal, dual = penalty + losses, total - penalty
    return LinearSolution(
        weights,
        float(offset + best_shift(f, signs, bounds)),
        alpha,
        primal,
        dual,
        epochs,
        bool(dual >= (1 - relative_gap) * primal),
    )


def values_at(F: FloatArray, rows: IntArray, weights: FloatArray, offset: float) -> FloatArray:
    """Return ``f(x) = w.x + offset`` for some rows of the features."""
    return np.asarray(_values(F, rows, weights, offset))


def hinge_losses(f: FloatArray, signs: FloatArray, bounds: FloatArray) -> float:
    """Return ``sum_i C_i V(f, x_i, s_i)``."""
    return float(bounds @ np.maximum(1 - signs * f, 0.0))


def bias_feature_square(mean_square: float, least: float) -> float:
    """Return B, from the mean of norm(x - m)^2 and the smaller total weight of the two classes."""
    return BIAS_SHARE * mean_square + BIAS_REACH / least


def squared_norm_penalty(weights: FloatArray, bias: float, bias_square: float) -> float:
    """Return ``norm(w)^2 / 2 + b^2 / (2 B)``."""
    return (float(np.square(weights, dtype=np.float64).sum()) + bias**2 / bias_square) / 2


def epochs_before_check(epochs: int) -> int:
    """Return how many epochs to run before all rows are checked, after `epochs` of them.

    The number doubles, because a check of all rows is expensive.
    """
    return max(EPOCHS_BEFORE_FIRST_CHECK, epochs)


def descend(
    problem: LinearProblem,
    bias_square: float,
    alpha: FloatArray,
    weights: FloatArray,
    offset: float,
    n_epochs: int,
    random: np.random.Generator,
    *,
    active: IntArray | None = None,
    skipped_from: float = 1.0,
) -> tuple[int, IntArray]:
    """Improve the dual variables and the weights, in place.

    Rows that seem to be at the optimum are skipped in later epochs; once all are, this returns.

    Parameters
    ----------
    problem : LinearProblem
    bias_square : float
        B.
    alpha : array of shape (n,)
        Dual variables, float32.
    weights : array of shape (m,)
        w, float32: ``sum_i s_i alpha_i (x_i - m)`` over these rows and any others.
    offset : float
        ``b - w.m`` for these weights.
    n_epochs : int
        Largest number of passes over the rows.
    random : numpy.random.Generator
        Generator of the order of the rows.
    active : array, default=None
        Positions, among the n rows, of those to visit; None is all.
    skipped_from : float in (0, 1]
        A row at a bound is skipped if its gradient points there by this share of the largest
        violation in the last epoch; with less than one, some rows are skipped too early.

    Returns
    -------
    epochs : int
    active : array
        Positions, among the n rows, of those that do not seem to be at the optimum.
    """
    curvature = problem.squares + np.float32(bias_square)
    offset_rates = bias_square - problem.center_products
    current_offset = np.array([offset])
    order = np.arange(len(problem.rows)) if active is None else active.copy()
    state = np.array([0, 0, 0, len(order)])
    limits = np.array([-np.inf, np.inf, np.inf, -np.inf])
    seed = random.integers(1, 2**64, size=1, dtype=np.uint64)
    at_once = max(1, ENTRIES_AT_ONCE // problem.F.shape[1])
    while state[0] < n_epochs and state[3] > 0:
        _descend(
            *(problem.F, problem.rows, problem.signs, problem.bounds, curvature, problem.center),
            *(offset_rates, alpha, weights, current_offset),
            *(order, state, limits, seed, skipped_from, n_epochs, at_once),
        )
        raise_if_cancelled()
    return int(state[0]), order[: state[3]]


def best_shift(f: FloatArray, signs: FloatArray, bounds: FloatArray) -> float:
    """Return the t that minimizes ``sum_i C_i max(1 - s_i (f_i + t), 0)``.

    The slope in t starts at minus the total weight of the positive rows and jumps by C_i at
    ``s_i - f_i``. The minimum is where it reaches zero, or the midpoint of the interval where
    it is zero.
    """
    breaks = signs - f
    order = np.argsort(breaks, kind="stable")
    weight = bounds.astype(np.float64)
    slope = np.cumsum(weight[order]) - weight[signs > 0].sum()
    rounding = 1e-9 * weight.sum()
    first, last = np.searchsorted(slope, [-rounding, rounding], side="right")
    return float(breaks[order[[first, min(last, len(order) - 1)]]].mean())


@kernel(fastmath=True)
def _center_products(F, rows, center):  # type: ignore[no-untyped-def]
    """Return norm(x - m)^2 and (x - m).m for every row."""
    n, d = len(rows), F.shape[1]
    squares = np.empty(n, np.float32)
    products = np.empty(n)
    for i in range(n):
        square, dot = np.float32(0), np.float32(0)
        for k in range(d):
            gap = F[rows[i], k] - center[k]
            square += gap * gap
            dot += gap * center[k]
        squares[i] = square
        products[i] = dot
    return squares, products


@kernel(fastmath=True)
def _weighted_sum(F, rows, factors, center):  # type: ignore[no-untyped-def]
    """Return the sum of the rows minus the center, each times its factor."""
    total = np.zeros(F.shape[1])
    for i in range(len(rows)):
        if factors[i] != 0:
            for k in range(F.shape[1]):
                total[k] += factors[i] * (F[rows[i], k] - center[k])
    return total.astype(np.float32)


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _descend(  # type: ignore[no-untyped-def]
    F,
    rows,
    signs,
    bounds,
    curvature,
    center,
    offset_rates,
    alpha,
    weights,
    offset,
    order,
    state,
    limits,
    seed,
    skipped_from,
    n_epochs,
    max_visits,
):
    """Update alpha, weights and offset in place for some epochs, at most `max_visits` rows.

    A row at a bound whose gradient is beyond the limits is likely to stay there, and is not visited
    again. A step changes the offset ``b - w.m`` at the row's offset rate.

    `order` begins with the rows of the epoch. `state` has the number of finished epochs, the
    position in the order, the number of rows for the next epoch, and of those in this one; an epoch
    that is interrupted is continued in the next call. `limits` has the limits by
    the gradients of the last epoch, and the smallest and the largest gradient of this one.
    """
    d = F.shape[1]
    for _ in range(max_visits):
        if state[1] == 0:  # shuffle the rows, by the generator xorshift
            for last in range(state[3] - 1, 0, -1):
                seed[0] ^= seed[0] << np.uint64(13)
                seed[0] ^= seed[0] >> np.uint64(7)
                seed[0] ^= seed[0] << np.uint64(17)
                other = np.int64((seed[0] >> np.uint64(1)) % np.uint64(last + 1))
                order[last], order[other] = order[other], order[last]
            limits[2], limits[3] = np.inf, -np.inf
        i = order[state[1]]
        state[1] += 1
        x = F[rows[i]]
        f = np.float32(0)
        for k in range(d):
            f += weights[k] * x[k]
        gradient = signs[i] * (f + offset[0]) - 1
        old = alpha[i]
        at_optimum = False
        if old <= 0:
            at_optimum = gradient > limits[1]
            gradient = min(gradient, 0.0)
        elif old >= bounds[i]:
            at_optimum = gradient < limits[0]
            gradient = max(gradient, 0.0)
        if not at_optimum:
            order[state[2]] = i
            state[2] += 1
            limits[2] = min(limits[2], gradient)
            limits[3] = max(limits[3], gradient)
            new = min(max(np.float32(old - gradient / curvature[i]), np.float32(0)), bounds[i])
            if new != old:
                alpha[i] = new
                step = signs[i] * (new - old)
                for k in range(d):
                    weights[k] += step * (x[k] - center[k])
                offset[0] += step * offset_rates[i]
        if state[1] == state[3]:
            state[0] += 1
            state[1], state[3], state[2] = 0, state[2], 0
            limits[0] = skipped_from * limits[2] if limits[2] < 0 else -np.inf
            limits[1] = skipped_from * limits[3] if limits[3] > 0 else np.inf
            if state[0] == n_epochs or state[3] == 0:
                return


@kernel(fastmath=True)
def _check(F, rows, signs, bounds, alpha, weights, offset, f):  # type: ignore[no-untyped-def]
    """Fill f; return the sum of the losses, that of alpha, and the rows not at their optimum."""
    losses, total = 0.0, 0.0
    active, n_active = np.empty(len(rows), np.int64), 0
    for i in range(len(rows)):
        dot = np.float32(0)
        for k in range(F.shape[1]):
            dot += weights[k] * F[rows[i], k]
        f[i] = dot + offset
        gradient = signs[i] * f[i] - 1
        losses += bounds[i] * max(-gradient, 0.0)
        total += alpha[i]
        if (alpha[i] > 0 or gradient < 0) and (alpha[i] < bounds[i] or gradient > 0):
            active[n_active] = i
            n_active += 1
    return losses, total, active[:n_active]


@kernel(fastmath=True)
def _values(F, rows, weights, offset):  # type: ignore[no-untyped-def]
    """Return f for the rows."""
    f = np.empty(len(rows))
    for i in range(len(rows)):
        dot = np.float32(0)
        for k in range(F.shape[1]):
            dot += weights[k] * F[rows[i], k]
        f[i] = dot + offset
    return f
