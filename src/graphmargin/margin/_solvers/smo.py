"""Sequential minimal optimization of the dual on a kernel matrix that is in memory.

Minimizes ``b' K b / 2 - s'b`` over ``b_i = s_i a_i``, subject to ``0 <= a_i <= C_i`` and
``sum_i b_i = 0`` (the bias is free), two variables at a time: the one that violates the optimality
conditions most, and the one that then gains most to second order (Fan, Chen, Lin, JMLR 2005).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray

TOLERANCE = 1e-4
TINY = 1e-12
"""Lower bound on the curvature of a step, which is zero for two equal rows."""
MAX_ITERATIONS = 10_000_000
MAX_CACHED = 1000
"""Largest number of rows of a pair whose kernel values are copied, in their order: 8 MB."""
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
    rows, signs = np.asarray(rows), np.asarray(signs)
    positive, negative = np.flatnonzero(signs > 0), np.flatnonzero(signs < 0)
    order = np.concatenate([positive, negative])
    limits, initial = np.zeros(len(K)), None
    limits[rows] = bounds
    if start is not None:
        initial = PairColumns(np.array([0, len(rows)]), rows, signs * np.asarray(start))
    solved = solve_smo_pairs(
        K,
        [rows[positive], rows[negative]],
        np.array([[0, 1]]),
        limits,
        start=initial,
        tolerance=tolerance,
        max_iterations=max_iterations,
    )
    alpha = np.empty(len(rows))
    alpha[order] = signs[order] * solved.coefficients.values
    return SmoSolution(
        alpha,
        float(solved.biases[0]),
        int(solved.iterations[0]),
        solved.converged,
        solved.violation,
    )


class PairColumns(NamedTuple):
    """A column of numbers for each pair of classes, with entries at the rows of the pair alone.

    Attributes
    ----------
    ends : array of shape (n_pairs + 1,)
        Entries ``ends[p]`` to ``ends[p + 1]`` are those of pair p.
    rows, values : arrays
        Row number and value of each entry.
    """

    ends: IntArray
    rows: IntArray
    values: FloatArray


@dataclass(frozen=True)
class PairSolutions:
    """Solutions of the dual problems of several pairs of classes, and their accuracy.

    Attributes
    ----------
    coefficients : PairColumns
        ``s_i alpha_i`` of the rows of every pair.
    biases : array of shape (n_pairs,)
    iterations : array of shape (n_pairs,)
    converged : bool
        Whether all pairs reached the tolerance.
    violation : float
        Largest violation of the optimality conditions, in units of f.
    """

    coefficients: PairColumns
    biases: FloatArray
    iterations: IntArray
    converged: bool
    violation: float


def solve_smo_pairs(
    K: FloatArray,
    members: Sequence[IntArray],
    pairs: IntArray,
    bounds: FloatArray,
    *,
    start: PairColumns | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int = MAX_ITERATIONS,
) -> PairSolutions:
    """Return the two-class machines of several pairs of classes on the same kernel matrix.

    All of them are solved in one call of a compiled function, because small problems take less
    time than such a call.

    Parameters
    ----------
    K : array of shape (N, N)
        As in `solve_smo`.
    members : sequence of c arrays
        Rows of each class that take part; none is empty.
    pairs : array of shape (n_pairs, 2)
        Two classes each; the signs of the first one are positive.
    bounds : array of shape (N,)
        C_i > 0 for the rows that take part.
    start : PairColumns, default=None
        Initial coefficients at any rows, made feasible as in `solve_smo`.
    tolerance, max_iterations
        As in `solve_smo`, for each pair.

    Examples
    --------
    >>> X = np.array([[-1.0], [3.0], [4.0]])
    >>> members, pairs = [np.array([0]), np.array([1, 2])], np.array([[1, 0]])
    >>> solved = solve_smo_pairs(X @ X.T, members, pairs, np.full(3, 10.0))
    >>> rows, values = solved.coefficients.rows, solved.coefficients.values
    >>> rows.tolist(), values.tolist(), solved.biases.tolist()
    ([1, 2, 0], [0.125, 0.0, -0.125], [-0.5])
    """
    order = np.concatenate(members).astype(np.int64, copy=False)
    sizes = np.array([len(rows) for rows in members])
    last = np.cumsum(sizes)
    ranges, sizes_of_pairs = np.column_stack([last - sizes, last]), sizes[pairs].sum(axis=1)
    largest = int(sizes_of_pairs.max(initial=0))
    ends = np.concatenate([[0], np.cumsum(sizes_of_pairs)])
    coefficients = PairColumns(ends, np.empty(ends[-1], dtype=np.int64), np.empty(ends[-1]))
    if start is None:
        start = PairColumns(np.zeros_like(ends), order[:0], np.zeros(0))
    rows, state = np.empty(largest, dtype=np.int64), np.empty((8, largest))
    n_cached = largest if largest <= MAX_CACHED else 2
    cache, is_cached = np.empty((n_cached, largest)), np.zeros(largest, dtype=np.bool_)
    # Position of the first pair that is not finished, and whether its state is to be kept.
    resume = np.zeros(2, dtype=np.int64)
    iterations = np.zeros(len(pairs), dtype=np.int64)
    biases, violations = np.zeros(len(pairs)), np.full(len(pairs), np.inf)
    bounds = np.ascontiguousarray(bounds, dtype=np.float64)
    while resume[0] < len(pairs):
        _solve_smo_pairs(
            *(K, order, ranges, pairs, bounds, float(tolerance), max_iterations, ENTRIES_AT_ONCE),
            *(start.ends, start.rows, start.values, np.zeros(len(K))),
            *(*coefficients, biases, iterations, violations, rows, state),
            *(cache, is_cached, resume),
        )
        raise_if_cancelled()
    violation = float(violations.max(initial=0.0))
    return PairSolutions(coefficients, biases, iterations, violation <= tolerance, violation)


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
def _row_of_pair(K, rows, t, cache, is_cached, slot):  # type: ignore[no-untyped-def]
    """Return row t of the kernel matrix of the pair, in the order of its rows.

    Where the cache has a place for every row, it is filled once; else it is filled at `slot`, an
    np.int64, because the function would be compiled once for each literal number.
    """
    n = len(rows)
    if len(cache) >= n:
        slot = t
        if is_cached[t]:
            return cache[t, :n]
        is_cached[t] = True
    row, source = cache[slot, :n], K[rows[t]]
    for k in range(n):
        row[k] = source[rows[k]]
    return row


@kernel()
def _prepare(  # type: ignore[no-untyped-def]
    K, rows, n_positive, bounds, start, state, cache, is_cached
):
    """Fill `state`: the initial beta, its bounds, the diagonal of K and the residual s - K beta.

    The initial beta is made feasible: within its bounds, with equal sums in both classes.
    """
    n = len(rows)
    beta, lowest, highest, diagonal = state[0], state[1], state[2], state[3]
    residual = state[4, :n]
    positive = negative = 0.0
    for i in range(n):
        is_cached[i] = False
        bound = bounds[rows[i]]
        diagonal[i] = K[rows[i], rows[i]]
        if i < n_positive:
            lowest[i], highest[i], residual[i] = 0.0, bound, 1.0
            beta[i] = min(max(start[rows[i]], 0.0), bound)
            positive += beta[i]
        else:
            lowest[i], highest[i], residual[i] = -bound, 0.0, -1.0
            beta[i] = max(min(start[rows[i]], 0.0), -bound)
            negative -= beta[i]
    # Where the sums are equal already, variables at their bounds stay there.
    balanced = abs(positive - negative) <= 1e-12 * (positive + negative)
    least = min(positive, negative)
    for i in range(n):
        if not balanced:
            beta[i] *= least / max(positive if i < n_positive else negative, TINY)
        b = beta[i]
        if b != 0:
            row = _row_of_pair(K, rows, i, cache, is_cached, np.int64(0))
            for t in range(n):
                residual[t] -= b * row[t]


@kernel(fastmath={"nnan", "nsz"})
def _iterate(  # type: ignore[no-untyped-def]
    K, rows, state, cache, is_cached, tolerance, max_iterations
):
    """Take steps in place; return their number and the largest remaining violation.

    At an optimum, the residual s - K beta of a variable is at most the bias where it can grow, and
    at least the bias where it can fall. Loops over all variables have no branches, which would be
    hard to predict: `no_growth` and `no_fall` are infinite where a variable is at a bound.
    """
    n = len(rows)
    beta, lowest, highest, diagonal = state[0, :n], state[1, :n], state[2, :n], state[3, :n]
    residual, no_growth, no_fall, gains = state[4, :n], state[5, :n], state[6, :n], state[7, :n]
    for t in range(n):
        no_growth[t] = 0.0 if beta[t] < highest[t] else -np.inf
        no_fall[t] = 0.0 if beta[t] > lowest[t] else np.inf
    for iteration in range(max_iterations + 1):
        top = -np.inf
        for t in range(n):
            value = residual[t] + no_growth[t]
            top = value if value > top else top
        i = 0
        while residual[i] + no_growth[i] < top:
            i += 1
        row_i = _row_of_pair(K, rows, i, cache, is_cached, np.int64(0))
        own = diagonal[i]
        for t in range(n):
            gap = top - residual[t] - no_fall[t]
            gap = gap if gap > 0.0 else 0.0
            curvature = own + diagonal[t] - 2 * row_i[t]
            gains[t] = gap * gap / (curvature if curvature > TINY else TINY)
        bottom, best = np.inf, 0.0
        for t in range(n):
            value = residual[t] + no_fall[t]
            bottom = value if value < bottom else bottom
            best = gains[t] if gains[t] > best else best
        if top - bottom <= tolerance or iteration == max_iterations:
            return iteration, max(top - bottom, 0.0)
        j = 0
        while gains[j] < best:
            j += 1
        row_j = _row_of_pair(K, rows, j, cache, is_cached, np.int64(1))
        curvature = own + diagonal[j] - 2 * row_i[j]
        step = (top - residual[j]) / max(curvature, TINY)
        step = min(step, highest[i] - beta[i], beta[j] - lowest[j])
        # A step that ends at a bound ends there exactly.
        beta[i] = highest[i] if step == highest[i] - beta[i] else beta[i] + step
        beta[j] = lowest[j] if step == beta[j] - lowest[j] else beta[j] - step
        for t in (i, j):
            no_growth[t] = 0.0 if beta[t] < highest[t] else -np.inf
            no_fall[t] = 0.0 if beta[t] > lowest[t] else np.inf
        for t in range(n):
            residual[t] -= step * (row_i[t] - row_j[t])
    return max_iterations, np.inf


@kernel()
def _solve_smo_pairs(  # type: ignore[no-untyped-def]
    K,
    order,
    ranges,
    pairs,
    bounds,
    tolerance,
    max_iterations,
    max_entries,
    start_ends,
    start_rows,
    start_values,
    start,
    ends,
    column_rows,
    values,
    biases,
    iterations,
    violations,
    rows,
    state,
    cache,
    is_cached,
    resume,
):
    """Solve pair after pair, until all are solved or `max_entries` entries of K are visited.

    The pair that is interrupted is continued in the next call, from its `rows` and `state`. `start`
    is zero before and after a pair is prepared, and has the initial value of every row meanwhile.
    """
    left = max_entries
    for pair in range(resume[0], len(pairs)):
        first, second = ranges[pairs[pair, 0]], ranges[pairs[pair, 1]]
        n_positive = first[1] - first[0]
        n = n_positive + second[1] - second[0]
        if resume[1] == 0:
            for t in range(n):
                rows[t] = order[first[0] + t if t < n_positive else second[0] + t - n_positive]
            for t in range(start_ends[pair], start_ends[pair + 1]):
                start[start_rows[t]] = start_values[t]
            _prepare(K, rows[:n], n_positive, bounds, start, state, cache, is_cached)
            for t in range(start_ends[pair], start_ends[pair + 1]):
                start[start_rows[t]] = 0.0
        share = min(max(left // n, 1), max_iterations - iterations[pair])
        steps, violations[pair] = _iterate(K, rows[:n], state, cache, is_cached, tolerance, share)
        iterations[pair] += steps
        left -= (steps + 1) * n
        if violations[pair] > tolerance and iterations[pair] < max_iterations:
            resume[0], resume[1] = pair, 1
            return
        biases[pair] = _bias(state[0, :n], state[1, :n], state[2, :n], state[4, :n])
        for t in range(n):
            column_rows[ends[pair] + t], values[ends[pair] + t] = rows[t], state[0, t]
        resume[0], resume[1] = pair + 1, 0
        if left <= 0:
            return
