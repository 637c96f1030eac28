"""Annealing of semi-supervised machines: minima of a smooth objective with a growing weight.

For ``f = H v + bias`` with one weight for each column of H, of which the last one is not penalized,

``S(v) = norm(w)^2 / 2 + sum_l c_i h(s_i f_i) + u sum_u exp(-3 f_i^2)``

has a smooth hinge loss h, quadratic between 1/2 and 3/2 by default, for labeled rows and a bump for
unlabeled ones (Chapelle, Zien, AISTATS 2005). For a small u it is nearly convex. Its minimum is
followed while u grows, by L-BFGS in compiled code: the problems of pairs of classes are small and
many.
"""

from __future__ import annotations

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._typing import BoolArray, FloatArray, IntArray

FIRST_WEIGHT, STAGE_RATIO = 0.05, 3.2
"""Weight of all unlabeled rows in the first stage, relative to all labels; ratio of two stages."""
BIAS_REACH = 10.0
"""Factor that keeps the penalty of a step of the bias small beside the losses of a class."""
SMOOTHNESS = 0.5
"""Half the width of the interval on which the smooth hinge loss is quadratic, by default."""
STEEPNESS = 3.0
"""Factor of f^2 in the bump. Wider bumps at first gave a lower J, and more errors on tables."""
MAX_DOUBLE = 2**17
"""Largest number of features of the rows of a pair that are in double precision: 1 MB, which fits
into a cache. L-BFGS is not compiled for single precision unless a table needs it."""
MAX_ITERATIONS = 200
"""Largest number of steps of L-BFGS in a stage."""
MEMORY = 8
"""Number of steps from which L-BFGS estimates the curvature."""
MAX_TRIES = 20
"""Largest number of step lengths that are tried along a direction."""
SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9
"""Wolfe's conditions: shares of the first slope, for the decrease and for the slope of a step."""


def anneal(
    H: FloatArray,
    signs: FloatArray,
    costs: FloatArray,
    weights: FloatArray,
    start: FloatArray,
    bias: float,
    *,
    tolerances: tuple[float, float],
    smoothness: float = SMOOTHNESS,
) -> FloatArray:
    """Return the minima of S for ascending weights of the unlabeled rows, each from the last one.

    Stages with smaller weights come first, and are in between.

    Parameters
    ----------
    H : array of shape (n, r + 1)
        Features, float32 or float64; the weight of the last column is not penalized.
    signs : array of shape (n,)
        1, -1, or 0 for unlabeled.
    costs : array of shape (n,)
        c, which unlabeled rows ignore.
    weights : array of shape (m,)
        Values of u, ascending.
    start : array of shape (r + 1,)
        Initial v.
    bias : float
    tolerances : tuple of two floats
        Decrease of S in a step, relative to S, at which a stage with one of the weights ends, and
        at which another stage ends.
    smoothness : float > 0
        Half the width of the interval on which h is quadratic.

    Returns
    -------
    array of shape (m, r + 1)
        Time O(n r) for each of some ten steps in a stage, memory O(n + r).

    Examples
    --------
    The bias is free. Two unlabeled rows move the boundary away from themselves:

    >>> H = np.array([[-2.0, 1.0], [2.0, 1.0], [0.0, 1.0], [0.5, 1.0]])
    >>> signs, costs = np.array([-1.0, 1.0, 0.0, 0.0]), np.ones(4)
    >>> u = np.array([0.0, 0.1])
    >>> path = anneal(H, signs, costs, u, np.zeros(2), 0.0, tolerances=(1e-6, 1e-6))
    >>> (-path[:, 1] / path[:, 0]).round(1).tolist()
    [-0.0, -0.2]
    """
    path, _ = _follow(
        np.ascontiguousarray(H), signs, costs, weights, start, bias, tolerances, smoothness
    )
    return path


def anneal_pairs(
    F: FloatArray,
    codes: IntArray,
    completed: IntArray,
    weights: FloatArray,
    intercepts: FloatArray,
    *,
    pairs: IntArray,
    costs: FloatArray,
    hat_losses: FloatArray,
    means: FloatArray | None,
    tolerances: tuple[float, float],
    smoothness: float = SMOOTHNESS,
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return annealed machines of some pairs of classes, and whether the solver converged.

    A pair learns from the rows that belong to one of its classes by `completed`.

    Parameters
    ----------
    F : array of shape (n, r)
        Features, float32 or float64. A small problem is solved in double precision.
    codes, completed : arrays of shape (n,)
        Class of each labeled row, -1 for the others; and a class for each of them.
    weights, intercepts : arrays of shape (r, n_pairs) and (n_pairs,)
        Machines to start from.
    pairs : array of shape (n_pairs, 2)
        The classes of each pair.
    costs : array of shape (c,)
        Weight of the losses of labels of each class.
    hat_losses : array of shape (m,)
        Weights of the losses of unlabeled rows, ascending.
    means : array of shape (n_pairs,) or None
        Mean of f over the unlabeled rows of a pair; None leaves it free.
    tolerances, smoothness
        As in `anneal`.

    Returns
    -------
    weights, intercepts : arrays of shape (m, r, n_pairs) and (m, n_pairs)
    converged : array of shape (m,)
        True if all pairs reached the tolerance.

    Examples
    --------
    >>> F = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> codes = np.array([1, -1, -1, -1, -1, 0])
    >>> weights, intercepts, converged = anneal_pairs(
    ...     F,
    ...     codes,
    ...     np.array([1, 1, 1, 0, 0, 0]),
    ...     np.array([[0.4]]),
    ...     np.array([0.2]),
    ...     pairs=np.array([[0, 1]]),
    ...     costs=np.full(2, 10.0),
    ...     hat_losses=np.array([1.0, 10.0]),
    ...     means=None,
    ...     tolerances=(1e-4, 1e-3),
    ... )
    >>> (-intercepts / weights[:, 0]).round(1).tolist()  # the boundaries
    [[-0.2], [-0.3]]
    >>> converged.tolist()
    [True, True]
    """
    order = np.argsort(completed, kind="stable")
    members = np.split(order, np.searchsorted(completed[order], np.arange(1, len(costs))))
    costs, r = np.asarray(costs, dtype=np.float64), F.shape[1]
    paths = np.empty((len(pairs), len(hat_losses), r + 1))
    converged = np.empty((len(pairs), len(hat_losses)), dtype=np.bool_)
    for p, (first, second) in enumerate(pairs.tolist()):
        rows = np.concatenate([members[first], members[second]])
        given, is_free = codes[rows], means is None
        labeled = given >= 0
        signs = np.where(given == first, 1.0, -1.0) * labeled
        bounds = np.where(labeled, costs[given], 0.0)
        H, center = _centered(F[rows], signs, bounds, is_free)
        start = np.append(weights[:, p], 0.0)
        bias = intercepts[p] + start[:r] @ center if means is None else means[p]
        paths[p], converged[p] = _follow(
            H, signs, bounds, hat_losses, start, bias, tolerances, smoothness
        )
        paths[p, :, r] = bias + H[0, r] * paths[p, :, r] - paths[p, :, :r] @ center
    return paths[:, :, :-1].transpose(1, 2, 0), paths[:, :, -1].T, np.asarray(converged.all(axis=0))


def _centered(
    F: FloatArray, signs: FloatArray, bounds: FloatArray, is_free: bool
) -> tuple[FloatArray, FloatArray]:
    """Return features minus the mean of unlabeled rows, with a column for the bias; and the mean.

    This column has the bias as its weight: the larger its entries, the smaller the penalty of a
    step of the bias. They are 0 where the bias is not free. Without unlabeled rows, the mean is
    that of all rows.
    """
    n, r = F.shape
    H = np.empty((n, r + 1), dtype=np.float64 if n * (r + 1) <= MAX_DOUBLE else F.dtype)
    labeled = signs != 0
    center = F[labeled.all() | ~labeled].mean(axis=0, dtype=np.float64).astype(H.dtype)
    np.subtract(F, center, out=H[:, :r])
    H[:, r] = 0.0
    if is_free:
        spread = np.square(H[labeled], dtype=np.float64).sum() / labeled.sum()
        least = min(bounds[signs > 0].sum(), bounds[signs < 0].sum())
        H[:, r] = np.sqrt(spread + BIAS_REACH / least)
    return H, center.astype(np.float64)


def _follow(
    H: FloatArray,
    signs: FloatArray,
    costs: FloatArray,
    weights: FloatArray,
    start: FloatArray,
    bias: float,
    tolerances: tuple[float, float],
    smoothness: float,
) -> tuple[FloatArray, BoolArray]:
    """Return the minima of S for ascending weights, and whether they converged."""
    n, size = H.shape
    tolerance, rough = tolerances
    v = np.array(start, dtype=np.float64)
    path, converged = np.empty((len(weights), size)), np.empty(len(weights), dtype=np.bool_)
    # Kernels get their memory from here, because allocations take long to compile.
    memory = (np.empty((3, n)), np.empty((3, size)))
    memory += (np.empty((2, MEMORY, size)), np.empty((2, MEMORY)))
    fixed = (float(smoothness), float(bias))
    is_labeled = signs != 0
    stage = FIRST_WEIGHT * float(costs[is_labeled].sum()) / max(1, n - int(is_labeled.sum()))
    for m, weight in enumerate(np.asarray(weights, dtype=np.float64).tolist()):
        while stage < weight:
            _minimize(H, signs, costs, stage, *fixed, rough, v, *memory)
            stage *= STAGE_RATIO
        stage = max(stage, STAGE_RATIO * weight)
        converged[m] = _minimize(H, signs, costs, weight, *fixed, tolerance, v, *memory)
        path[m] = v
    return path, converged


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _multiply(H, v, out):  # type: ignore[no-untyped-def]
    """Write H v to `out`."""
    for i in range(H.shape[0]):
        dot = 0.0
        for k in range(H.shape[1]):
            dot += H[i, k] * v[k]
        out[i] = dot


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _gradient(H, slopes, v, out):  # type: ignore[no-untyped-def]
    """Write ``w + H' slopes`` to `out`."""
    size = H.shape[1]
    for k in range(size - 1):
        out[k] = v[k]
    out[size - 1] = 0.0
    for i in range(H.shape[0]):
        slope = slopes[i]
        if slope != 0:
            for k in range(size):
                out[k] += slope * H[i, k]


@kernel(fastmath={"reassoc", "contract", "nsz"})
def _dot(a, b):  # type: ignore[no-untyped-def]
    total = 0.0
    for k in range(len(a)):
        total += a[k] * b[k]
    return total


@kernel()
def _losses(f, image, t, signs, costs, weight, smoothness, slopes):  # type: ignore[no-untyped-def]
    """Return the losses at f + t image and their derivative by t; write those by f to `slopes`."""
    total, slope = 0.0, 0.0
    for i in range(len(f)):
        value = f[i] + t * image[i]
        derivative = 0.0
        if signs[i] == 0:
            square = STEEPNESS * value * value
            if square < 40 and weight > 0:
                bump = weight * np.exp(-square)
                total += bump
                derivative = -2 * STEEPNESS * value * bump
        else:
            missing = 1 + smoothness - signs[i] * value
            if missing > 0:
                bent = min(missing, 2 * smoothness)
                total += costs[i] * bent * (missing - bent / 2) / (2 * smoothness)
                derivative = -costs[i] * signs[i] * bent / (2 * smoothness)
        slopes[i] = derivative
        slope += derivative * image[i]
    return total, slope


@kernel()
def _minimize(  # type: ignore[no-untyped-def]
    H, signs, costs, weight, smoothness, bias, tolerance, v, by_row, by_column, history, products
):
    """Minimize S from v in place, and return whether it converged."""
    f, image, slopes = by_row[0], by_row[1], by_row[2]
    gradient, before, direction = by_column[0], by_column[1], by_column[2]
    steps, changes = history[0], history[1]
    scales, shares = products[0], products[1]
    size, last = len(v), len(v) - 1
    _multiply(H, v, f)
    for i in range(len(f)):
        f[i] += bias
        image[i] = 0.0
    losses, _ = _losses(f, image, 0.0, signs, costs, weight, smoothness, slopes)
    square = _dot(v[:last], v[:last])
    value = square / 2 + losses
    _gradient(H, slopes, v, gradient)
    n_stored, newest = 0, -1
    for _ in range(MAX_ITERATIONS):
        # The two loops of L-BFGS: direction = - inverse curvature * gradient.
        for k in range(size):
            direction[k] = -gradient[k]
        for j in range(n_stored):
            at = (newest - j) % MEMORY
            shares[at] = _dot(steps[at], direction) / scales[at]
            for k in range(size):
                direction[k] -= shares[at] * changes[at, k]
        if n_stored > 0:
            unit = scales[newest] / _dot(changes[newest], changes[newest])
            for k in range(size):
                direction[k] *= unit
        for j in range(n_stored - 1, -1, -1):
            at = (newest - j) % MEMORY
            share = shares[at] - _dot(changes[at], direction) / scales[at]
            for k in range(size):
                direction[k] += share * steps[at, k]
        slope = _dot(gradient, direction)
        if not slope < 0:
            return True
        _multiply(H, direction, image)
        cross = _dot(v[:last], direction[:last])
        curvature = _dot(direction[:last], direction[:last])
        # A step length between `low` and `high` that satisfies Wolfe's conditions.
        t, low, high = 1.0, 0.0, np.inf
        if n_stored == 0:
            t = min(1.0, 1 / np.sqrt(-slope))
        trial = value
        for _ in range(MAX_TRIES):
            losses, derivative = _losses(f, image, t, signs, costs, weight, smoothness, slopes)
            trial = (square + t * (2 * cross + t * curvature)) / 2 + losses
            derivative += cross + t * curvature
            if trial > value + SUFFICIENT_DECREASE * t * slope:
                high = t
            elif derivative < CURVATURE * slope:
                low = t
            else:
                break
            t = (low + high) / 2 if high < np.inf else 2 * t
        if not trial < value:
            return True
        newest = (newest + 1) % MEMORY
        for k in range(size):
            before[k] = gradient[k]
            steps[newest, k] = t * direction[k]
            v[k] += steps[newest, k]
        for i in range(len(f)):
            f[i] += t * image[i]
        _gradient(H, slopes, v, gradient)
        for k in range(size):
            changes[newest, k] = gradient[k] - before[k]
        scales[newest] = _dot(steps[newest], changes[newest])
        n_stored = min(n_stored + 1, MEMORY) if scales[newest] > 0 else 0
        square = _dot(v[:last], v[:last])
        decrease = value - trial
        value = trial
        if decrease <= tolerance * abs(value):
            return True
    return False
