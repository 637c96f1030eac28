"""Manifold regularization: max-margin functions that are smooth along a graph (LapSVM).

Solves ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(h)_K^2 + gamma_u h' L h`` for ``f = h + b``,
V the hinge loss (eq. MR). The two penalties are one squared norm, that of a kernel which the graph
has warped (Sindhwani, Niyogi, Belkin 2005), so the machine is an ordinary one on the labeled rows.
With ``r = gamma_u / gamma``:

- *Warped kernel.* ``k~(x, x_i) = k(x, X) b_i``, the columns b_i of B from ``(I + r L K) B = E_l``
  (E_l: the unit vectors of the labeled rows). Neither an inverse of K nor a difference of kernels.
- *Features.* For features R of the rows, ``K = R R'``, and ``R' L R = U S U'``, the warped ones are
  ``R U (1 + r S)^(-1/2)``. One eigenvalue problem, as large as there are features, serves every r.

The bias b drops out of f'Lf for ``L = D - W``. It does not for a normalized L; there too, the
penalty is on h.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from graphmargin._checks import check_integer, check_real
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.graph.laplacian import laplacian, quadratic_form
from graphmargin.labels import UNLABELED
from graphmargin.margin.feature_maps import FeatureMap, explicit_features, few_row_features
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, centered
from graphmargin.margin.training import (
    N_LANDMARKS,
    Approximation,
    center_of,
    check_approximation,
    train_machine,
    train_on_kernel,
    train_without_bias,
)

MAX_WARPED = 4000
"""Rows up to which "auto" solves with n x n matrices: about 3 s and 500 MB for 4,000 rows."""
MAX_LABELED = 3000
"""Labeled rows up to which their kernel matrix is used."""
MAX_LOST = 1e-3
"""Share of f that rounding may change without a warning."""
MAX_DOUBLE = 2**26
"""Entries of the features that are kept in double precision, 512 MB; more are in single."""
MAX_GAMMA_U = 1e100
"""The largest gamma_u that can be multiplied by C and by entries of L K."""
TOLERANCE = 1e-6
"""Violation of optimality, in units of f: labels are few, so precision is cheap."""


def train_manifold(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    W: sparse.csr_array,
    *,
    C: float | Sequence[float],
    gamma_us: Sequence[float],
    normalized: bool = False,
    power: int = 1,
    fit_intercept: bool = True,
    approximation: Approximation = "auto",
    n_landmarks: int = N_LANDMARKS,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> list[MarginMachine]:
    """Return the manifold-regularized machine for each gamma_u (eq. MR).

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each labeled row, -1 for the others; every class 0..c-1 occurs. Several classes
        are one-vs-one, and the rows of other classes count as unlabeled there.
    kernel : Kernel
    W : csr_array of shape (n, n)
        Symmetric graph of all rows.
    C : float > 0, or a sequence of them, one for each gamma_u
        1 / (2 gamma), the weight of the hinge losses.
    gamma_us : sequence of floats >= 0
        Weights of h'Lh; 0 is the supervised machine.
    normalized : bool, default=False
        ``D^-1/2 L D^-1/2`` in place of L.
    power : int, default=1
        L^power in place of L.
    fit_intercept : bool, default=True
        False is f = h, as in the paper.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" warps the kernel matrix of all rows. "nystroem" warps features: the rows for a
        linear kernel on dense X of up to 2,000 columns (exact), else kernel values to landmarks.
        "auto" takes the rows where they are the features, then the kernel matrix for up to 4,000
        rows. On features of more than 3,000 labeled rows, the machine is right to a duality gap
        of 0.2 %.
    n_landmarks : int, default=500
        More for the cubic kernel, up to twice as many, where these can span its space; all rows
        as landmarks are exact.
    n_jobs, random_state, progress
        As in `train_machine`.

    Returns
    -------
    list of MarginMachine
        In the order of `gamma_us`. Warped kernel: time O(n^3) a value, memory O(n^2). Features:
        time O(n r^2) for all values and O(r^2 n_l) for each, memory O(n r).

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> W = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(4, 4)).tocsr()
    >>> machines = train_manifold(
    ...     X, np.array([0, -1, -1, 1]), Kernel("linear"), W, C=10.0, gamma_us=[0.0, 1.0]
    ... )
    >>> [machine.decision(X).round(3).tolist() for machine in machines]
    [[-1.0, -0.333, 0.333, 1.0], [-0.738, -0.246, 0.246, 0.738]]
    """
    costs = np.broadcast_to(C, len(gamma_us)).tolist()
    ratios = [2 * cost * check_gamma_u(g) for cost, g in zip(costs, gamma_us, strict=True)]
    check_approximation(approximation, kernel.kind)
    power = check_integer("power", power, low=1)
    n_landmarks = check_integer("n_landmarks", n_landmarks, low=1)
    labeled = np.flatnonzero(codes != UNLABELED)
    if approximation == "auto":
        small = X.shape[0] <= MAX_WARPED or kernel.kind == "precomputed"
        approximation = "none" if small and not few_row_features(X, kernel) else "nystroem"
    form: WarpedKernel | WarpedFeatures
    if approximation == "none":
        form = _warp_kernel(X, kernel, labeled, W, normalized, power, fit_intercept)
    else:
        form = warp_features(
            X,
            labeled,
            kernel,
            W,
            normalized=normalized,
            power=power,
            fit_intercept=fit_intercept,
            n_landmarks=n_landmarks,
            n_jobs=n_jobs,
            random_state=random_state,
        )
    machines = []
    for cost, ratio in zip(costs, ratios, strict=True):
        machines.append(form.machine(ratio, codes[labeled], cost, fit_intercept, n_jobs))
        if progress is not None:
            progress(len(machines) / len(ratios), "")
        raise_if_cancelled()
    return machines


def check_gamma_u(gamma_u: Any) -> float:
    """Return gamma_u as a float, or say what it must be."""
    hint = "; 0 is the supervised machine"
    return check_real("gamma_u", gamma_u, limits=(0.0, MAX_GAMMA_U), hint=hint)


@dataclass(frozen=True)
class WarpedKernel:
    """The kernel matrix of all rows, to be warped: n x n matrices, a factorization for each r."""

    X: Any
    kernel: Kernel
    center: FloatArray | float
    labeled: IntArray
    K: FloatArray
    LK: FloatArray
    shared: FloatArray
    """Means subtracted from rows and columns of K, as the coefficients of f sum to zero."""

    def machine(
        self, ratio: float, codes: IntArray, C: float, fit_intercept: bool, n_jobs: int | None
    ) -> MarginMachine:
        """Return the machine for r = `ratio` and the class codes of the labeled rows."""
        n, labeled = len(self.K), self.labeled
        B = np.zeros((n, len(labeled)))
        B[labeled, np.arange(len(labeled))] = 1.0
        if ratio > 0:
            system = ratio * self.LK
            system[np.diag_indices(n)] += 1.0
            factors = linalg.lu_factor(system, overwrite_a=True)
            B = linalg.lu_solve(factors, B)
        warped = self.K[labeled] @ B
        warped = (warped + warped.T) / 2
        if fit_intercept:
            machine = train_on_kernel(warped, codes, C=C, tolerance=TOLERANCE, n_jobs=n_jobs)
        else:
            values, vectors = np.linalg.eigh(warped)
            features = vectors * np.sqrt(np.maximum(values, 0.0))
            machine = train_without_bias(features, codes, C=C, n_jobs=n_jobs)
        coefficients = B[:, machine.vectors] @ machine.coefficients
        used = np.flatnonzero(coefficients.any(axis=1))
        expanded = replace(
            machine,
            kernel=self.kernel,
            vectors=used if self.kernel.kind == "precomputed" else self.X[used],
            coefficients=coefficients[used],
            intercepts=machine.intercepts - self.shared @ coefficients,
            center=self.center,
            report=replace(machine.report, form="warped kernel"),
        )
        f = warped[:, machine.vectors] @ machine.coefficients + machine.intercepts
        size = max(float(np.abs(f).max()), np.finfo(np.float64).tiny)  # rows of zeros have f = 0
        lost = float(np.abs(expanded.pairwise(self.X[labeled]) - f).max())
        if ratio > 0:  # by a step of iterative refinement
            residual = coefficients + ratio * (self.LK @ coefficients)
            residual[labeled[machine.vectors]] -= machine.coefficients
            moved = np.abs(self.K @ linalg.lu_solve(factors, residual))
            known = 1 + np.abs(self.K @ coefficients) / size
            lost = max(lost, float((moved / known).max()))
        if lost > MAX_LOST * size:
            failure = (
                f"max-margin machine: rounding moves f by {lost:.1e}, as kernel values or gamma_u "
                "are too large; scale the features and subtract their means, or lower C or gamma_u"
            )
            return replace(expanded, report=replace(expanded.report, failure=failure))
        return expanded


@dataclass(frozen=True)
class WarpedFeatures:
    """Explicit features of the labeled rows, to be warped: ``R' L R = U S U'`` serves every r."""

    feature_map: FeatureMap
    S: FloatArray
    U: FloatArray
    rotated: FloatArray
    """R U at the labeled rows."""
    described: Mapping[str, Any]
    """The description of the features in a report."""

    def machine(
        self, ratio: float, codes: IntArray, C: float, fit_intercept: bool, n_jobs: int | None
    ) -> MarginMachine:
        """Return the machine for r = `ratio` and the class codes of the labeled rows."""
        shrink = 1 / np.sqrt(1 + ratio * self.S)
        warped = self.rotated * shrink
        if not fit_intercept:
            machine = train_without_bias(warped, codes, C=C, n_jobs=n_jobs)
        elif len(codes) <= MAX_LABELED:
            machine = train_on_kernel(
                warped @ warped.T, codes, C=C, tolerance=TOLERANCE, n_jobs=n_jobs
            )
        else:
            machine = train_machine(
                *(warped, codes, Kernel("linear")),
                C=C,
                approximation="nystroem",
                n_jobs=n_jobs,
                random_state=0,
            )
        if machine.kernel.kind == "linear":
            weights = machine.collapsed().coefficients
        else:
            weights = warped[machine.vectors].T @ machine.coefficients
        return self.feature_map.machine(
            self.U @ (shrink[:, None] * weights),
            machine.intercepts - np.broadcast_to(machine.center, len(weights)) @ weights,
            machine.n_classes,
            replace(machine.report, **self.described),
        )


def warp_features(
    X: Any,
    labeled: IntArray,
    kernel: Kernel,
    W: sparse.csr_array,
    *,
    normalized: bool = False,
    power: int = 1,
    fit_intercept: bool = True,
    n_landmarks: int = N_LANDMARKS,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> WarpedFeatures:
    """Return the features from which machines for any gamma_u, C and labels are trained.

    The graph does not see the labels, so that this, the most expensive part, is done once.

    Parameters
    ----------
    X, kernel, W, normalized, power, fit_intercept, n_landmarks, n_jobs, random_state
        As in `train_manifold`, but a kernel matrix may be given, too: all its rows are landmarks.
    labeled : array of shape (n_l,)
        Rows that machines can learn from.

    Returns
    -------
    WarpedFeatures

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> W = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(4, 4)).tocsr()
    >>> form = warp_features(X, np.array([0, 3]), Kernel("linear"), W)
    >>> machine = form.machine(20.0, np.array([0, 1]), C=10.0, fit_intercept=True, n_jobs=None)
    >>> machine.decision(X).round(3).tolist()
    [-0.738, -0.246, 0.246, 0.738]
    """
    L = laplacian(W, normalized=normalized)
    n, center = X.shape[0], _center(X, kernel, _absorbs(fit_intercept, normalized))
    feature_map = explicit_features(X, labeled, kernel, n_landmarks, center, random_state)
    if feature_map.basis is None:
        form = quadratic_form(L, X, center=feature_map.center, power=power, n_jobs=n_jobs)
        form /= feature_map.kernel.width**2
        plain = feature_map(X[labeled])
    else:
        dtype = np.float64 if n * feature_map.dimension <= MAX_DOUBLE else np.float32
        R = feature_map.table(X, np.arange(n), n_jobs=n_jobs, dtype=dtype)
        form = quadratic_form(L, R, power=power, n_jobs=n_jobs)
        plain = R[labeled]
    S, U = np.linalg.eigh(form)
    rotated = plain.astype(np.float64, copy=False) @ U
    return WarpedFeatures(feature_map, np.maximum(S, 0.0), U, rotated, feature_map.described(X))


def _warp_kernel(
    X: Any,
    kernel: Kernel,
    labeled: IntArray,
    W: sparse.csr_array,
    normalized: bool,
    power: int,
    fit_intercept: bool,
) -> WarpedKernel:
    absorbed = _absorbs(fit_intercept, normalized)
    center = _center(X, kernel, absorbed)
    if kernel.kind == "precomputed":
        K = X.toarray() if sparse.issparse(X) else X
    else:
        points = centered(X, center)
        K = kernel(points, points)
    K = np.array(K, dtype=np.float64, copy=kernel.kind == "precomputed" or None)
    shared = np.zeros(len(K))
    if absorbed:  # what all rows share with a typical one would only cost digits
        typical = np.argsort(np.diag(K), kind="stable")[len(K) // 2]
        shared = K[typical].copy()
        K -= shared
        K -= (shared - shared[typical])[:, None]
    L = laplacian(W, normalized=normalized)
    LK = L @ K
    for _ in range(power - 1):
        LK = L @ LK
    return WarpedKernel(X, kernel, center, labeled, K, LK, shared)


def _absorbs(fit_intercept: bool, normalized: bool) -> bool:
    """Tell whether constants are absorbed by the bias: there is one, and L does not see it."""
    return fit_intercept and not normalized


def _center(X: Any, kernel: Kernel, absorbed: bool) -> FloatArray | float:
    return center_of(X, kernel) if absorbed or kernel.kind == "rbf" else 0.0
