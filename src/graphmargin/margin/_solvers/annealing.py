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
MAX_DOUBLE = 2**18
"""Largest number of features of the rows of a pair for which they are in double precision: 2 MB,
which fits into a cache. Kernels are compiled for single precision only if a table is larger."""
MAX_ITERATIONS = 200
"""Largest number of steps of L-BFGS in a stage."""
MEMORY = 8
"""Number of steps from which L-BFGS estimates the curvature."""
MAX_TRIES = 20
"""Largest number of step lengths that are tried along a direction."""
SUFFICIENT_DECREASE, CURVATURE = 1e-4, 0.9
"""Wolfe's conditions: shares of the first slope, for the decrease and for the slope of a step."""


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
        Features, float32 or float64; if they are few, all computations are in double precision.
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
    tolerances : tuple of two floats
        Decrease of S in a step, relative to S, at which a stage with one of the weights ends, and
        at which another stage ends.
    smoothness : float > 0
        Half the width of the interval on which h is quadratic.

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
    n_classes, n_pairs, r = len(costs), len(pairs), F.shape[1]
    sizes = np.bincount(completed, minlength=n_classes)
    largest = int(sizes[pairs].sum(axis=1).max(initial=0))
    is_small = largest * (r + 1) <= MAX_DOUBLE
    F = np.ascontiguousarray(F, dtype=np.float64 if is_small else F.dtype)
    paths = np.empty((n_pairs, len(hat_losses), r + 1))
    converged = np.empty((n_pairs, len(hat_losses)), dtype=np.bool_)
    _anneal_pairs(
        F,
        codes,
        np.argsort(completed, kind="stable"),
        np.concatenate([[0], np.cumsum(sizes)]),
        pairs,
        np.ascontiguousarray(np.vstack([weights, intercepts]).T),
        np.asarray(costs, dtype=np.float64),
        np.asarray(hat_losses, dtype=np.float64),
        np.full(n_pairs, np.nan) if means is None else means,
        *map(float, (*tolerances, smoothness)),
        # Kernels get their memory from here, because allocations take long to compile.
        np.empty((largest, r + 1), dtype=F.dtype),
        np.empty((5, largest)),
        np.empty((5, r + 1)),
        np.empty((2, MEMORY, r + 1)),
        np.empty((2, MEMORY)),
        paths,
        converged,
    )
    return paths[:, :, :-1].transpose(1, 2, 0), paths[:, :, -1].T, np.asarray(converged.all(axis=0))


@kernel()
def _anneal_pairs(  # type: ignore[no-untyped-def]
    F,
    codes,
    order,
    ends,
    pairs,
    starts,
    costs,
    hat_losses,
    means,
    tolerance,
    rough,
    smoothness,
    features,
    by_row,
    by_column,
    history,
    products,
    paths,
    converged,
):
    """Write weights and intercepts of all pairs to `paths`, for each weight of hat losses.

    The rows of class k are ``order[ends[k]:ends[k + 1]]``; a mean that is nan is free.
    """
    r = F.shape[1]
    center, v = by_column[3], by_column[4]
    for p in range(len(pairs)):
        n = 0
        total, n_unlabeled = 0.0, 0
        for s in range(2):
            for e in range(ends[pairs[p, s]], ends[pairs[p, s] + 1]):
                code = codes[order[e]]
                sign = cost = 0.0
                if code >= 0:
                    sign = 1.0 if code == pairs[p, 0] else -1.0
                    cost = costs[code]
                    total += cost
                else:
                    n_unlabeled += 1
                by_row[3, n], by_row[4, n] = sign, cost
                for k in range(r):
                    features[n, k] = F[order[e], k]
                n += 1
        H, signs, bounds = features[:n], by_row[3, :n], by_row[4, :n]
        bias = means[p]
        is_free = np.isnan(bias)
        _center_rows(H, signs, bounds, is_free, center)
        if is_free:
            bias = starts[p, r] + _dot(starts[p], center)
        for k in range(r):
            v[k] = starts[p, k]
        v[r] = 0.0
        stage = FIRST_WEIGHT * total / max(1, n_unlabeled)
        for m in range(len(hat_losses)):
            is_last = False
            while not is_last:
                is_last = not stage < hat_losses[m]
                weight = hat_losses[m] if is_last else stage
                least = tolerance if is_last else rough
                converged[p, m] = _minimize(
                    *(H, signs, bounds, weight, smoothness, bias, least),
                    *(v, by_row, by_column, history, products),
                )
                stage = max(stage, STAGE_RATIO * weight)
            for k in range(r):
                paths[p, m, k] = v[k]
            paths[p, m, r] = bias + H[0, r] * v[r] - _dot(v, center)


@kernel()
def _center_rows(H, signs, bounds, is_free, center):  # type: ignore[no-untyped-def]
    """Subtract from H the mean of its unlabeled rows; fill the last column, and its `center` by 0.

    This column has the bias as its weight: the larger its entries, the smaller the penalty of a
    step of the bias. They are 0 where the bias is not free. Without unlabeled rows, the mean is
    that of all rows.
    """
    n, r = H.shape[0], H.shape[1] - 1
    n_labeled = 0
    positive, negative = 0.0, 0.0
    for i in range(n):
        n_labeled += signs[i] != 0
        if signs[i] > 0:
            positive += bounds[i]
        elif signs[i] < 0:
            negative += bounds[i]
    for k in range(r + 1):
        center[k] = 0.0
    share = 1.0 / (n if n_labeled == n else n - n_labeled)
    for i in range(n):
        if signs[i] == 0 or n_labeled == n:
            for k in range(r):
                center[k] += share * H[i, k]
    spread = 0.0
    for i in range(n):
        for k in range(r):
            H[i, k] -= center[k]
        if signs[i] != 0:
            for k in range(r):
                spread += H[i, k] * H[i, k]
    entry = np.sqrt(spread / n_labeled + BIAS_REACH / min(positive, negative)) if is_free else 0.0
    for i in range(n):
        H[i, r] = entry


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
    n = len(signs)
    f, image, slopes = by_row[0, :n], by_row[1, :n], by_row[2, :n]
    gradient, before, direction = by_column[0], by_column[1], by_column[2]
    steps, changes = history[0], history[1]
    scales, shares = products[0], products[1]
    size, last = len(v), len(v) - 1
    _multiply(H, v, f)
    for i in range(n):
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
        for i in range(n):
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
