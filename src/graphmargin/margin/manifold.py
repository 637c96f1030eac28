"""Manifold regularization: max-margin functions that are smooth along a graph (LapSVM).

Solves ``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(h)_K^2 + gamma_u h' L h`` for ``f = h + b``,
V the hinge loss (eq. MR). The two penalties are one squared norm, that of a kernel warped by the
graph (Sindhwani, Niyogi, Belkin 2005), so that f is a supervised machine on the labeled rows.
With ``r = gamma_u / gamma``:

- *Warped kernel.* ``k~(x, x_i) = k(x, X) b_i``, the columns b_i of B from ``(I + r L K) B = E_l``
  (E_l: the unit vectors of the labeled rows). This needs no inverse of K and no difference of
  kernels.
- *Features.* For features R of the rows, ``K = R R'``, and ``R' L R = U S U'``, the warped ones are
  ``R U (1 + r S)^(-1/2)``. One eigenvalue problem of the size of the features is enough for all r.

The bias b drops out of f'Lf for ``L = D - W``. It does not for a normalized L, where h is penalized
as well.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from graphmargin._checks import check_integer, check_real
from graphmargin._rows import subtract_center
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray
from graphmargin.graph.laplacian import laplacian, quadratic_form
from graphmargin.labels import UNLABELED
from graphmargin.margin._solvers.feature_maps import (
    FeatureMap,
    explicit_features,
    rows_are_few_features,
)
from graphmargin.margin._solvers.feature_training import N_LANDMARKS
from graphmargin.margin._solvers.kernel_training import train_on_kernel, train_without_bias
from graphmargin.margin.class_weights import weights_of_rows
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.training import (
    Approximation,
    check_approximation,
    choose_center,
    train_machine,
)

MAX_WARPED = 4000
"""Largest number of rows for which "auto" uses n x n matrices, about 3 s and 500 MB."""
MAX_LABELED = 3000
"""Largest number of labeled rows whose kernel matrix is used."""
MAX_ROUNDING = 1e-3
"""Share of f that rounding may change without a warning."""
MAX_DOUBLE_ENTRIES = 2**26
"""Largest number of entries of the features in double precision, 512 MB; else single."""
MAX_GAMMA_U = 1e100
"""Largest gamma_u whose products with C and entries of L K are finite."""
TOLERANCE = 1e-6
"""Violation of the optimality conditions, in units of f; few labels make precision cheap."""


def train_manifold(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    W: sparse.csr_array,
    *,
    C: float | Sequence[float],
    gamma_us: Sequence[float],
    class_weight: Sequence[float] | None = None,
    normalized: bool = False,
    power: int = 1,
    fit_intercept: bool = True,
    approximation: Approximation = "auto",
    n_landmarks: int = N_LANDMARKS,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> list[MarginMachine]:
    """Return the manifold-regularized machine for each gamma_u (eq. MR).

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each labeled row, -1 for the others; every class 0..c-1 occurs. Several classes
        are learned one-vs-one, where rows of other classes count as unlabeled.
    kernel : Kernel
    W : csr_array of shape (n, n)
        Symmetric graph of all rows.
    C : float > 0, or a sequence of them, one for each gamma_u
        1 / (2 gamma), the weight of the hinge losses.
    gamma_us : sequence of floats >= 0
        Weights of h'Lh; 0 is the supervised machine.
    class_weight : sequence of c floats > 0, default=None
        Factors of the hinge losses of each class.
    normalized : bool, default=False
        ``D^-1/2 L D^-1/2`` in place of L.
    power : int, default=1
        L^power in place of L.
    fit_intercept : bool, default=True
        False is f = h, as in the paper.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" warps the kernel matrix of all rows. "nystroem" warps features: the rows for a
        linear kernel on dense X of up to 2,000 columns (exact), else kernel values to landmarks.
        "auto" warps the rows where they are the features, else the kernel matrix of up to 4,000
        rows, else features. On features of more than 3,000 labeled rows, the duality gap is up to
        0.2 %.
    n_landmarks : int, default=500
        The polynomial kernel gets up to twice as many, where these can span its space; all rows as
        landmarks are exact.
    n_jobs, random_state
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
        is_small = X.shape[0] <= MAX_WARPED or kernel.kind == "precomputed"
        approximation = "none" if is_small and not rows_are_few_features(X, kernel) else "nystroem"
    warped: WarpedKernel | WarpedFeatures
    if approximation == "none":
        warped = _warp_kernel(X, kernel, labeled, W, normalized, power, fit_intercept)
    else:
        warped = warp_features(
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
        machines.append(
            warped.train(ratio, codes[labeled], cost, fit_intercept, n_jobs, class_weight)
        )
        raise_if_cancelled()
    return machines


def check_gamma_u(gamma_u: Any) -> float:
    """Return gamma_u as a float, or raise ValueError."""
    hint = "; 0 is the supervised machine"
    return check_real("gamma_u", gamma_u, limits=(0.0, MAX_GAMMA_U), hint=hint)


@dataclass(frozen=True)
class WarpedKernel:
    """The kernel matrix of all rows; each r takes a factorization of an n x n matrix."""

    X: Any
    kernel: Kernel
    center: FloatArray | float
    labeled: IntArray
    K: FloatArray
    LK: FloatArray
    shift: FloatArray
    """Values subtracted from rows and columns of K, as the coefficients of f sum to zero."""

    def train(
        self,
        ratio: float,
        codes: IntArray,
        C: float,
        fit_intercept: bool,
        n_jobs: int | None,
        class_weight: Sequence[float] | None = None,
    ) -> MarginMachine:
        """Return the machine for r = `ratio` and the class codes of the labeled rows."""
        weights = weights_of_rows(class_weight, codes)
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
            machine = train_on_kernel(
                *(warped, codes), C=C, sample_weight=weights, tolerance=TOLERANCE, n_jobs=n_jobs
            )
        else:
            values, vectors = np.linalg.eigh(warped)
            features = vectors * np.sqrt(np.maximum(values, 0.0))
            machine = train_without_bias(features, codes, C=C, sample_weight=weights, n_jobs=n_jobs)
        coefficients = B[:, machine.vectors] @ machine.coefficients
        used = np.flatnonzero(coefficients.any(axis=1))
        expanded = replace(
            machine,
            kernel=self.kernel,
            vectors=used if self.kernel.kind == "precomputed" else self.X[used],
            coefficients=coefficients[used],
            intercepts=machine.intercepts - self.shift @ coefficients,
            center=self.center,
            report=replace(machine.report, form="warped kernel"),
        )
        f = warped[:, machine.vectors] @ machine.coefficients + machine.intercepts
        size = max(float(np.abs(f).max()), np.finfo(np.float64).tiny)  # rows of zeros have f = 0
        rounding = float(np.abs(expanded.pairwise(self.X[labeled]) - f).max())
        if ratio > 0:  # the change by a step of iterative refinement
            residual = coefficients + ratio * (self.LK @ coefficients)
            residual[labeled[machine.vectors]] -= machine.coefficients
            change = np.abs(self.K @ linalg.lu_solve(factors, residual))
            scale = 1 + np.abs(self.K @ coefficients) / size
            rounding = max(rounding, float((change / scale).max()))
        if rounding > MAX_ROUNDING * size:
            failure = (
                f"max-margin machine: rounding changes f by {rounding:.1e}, because kernel values "
                "or `gamma_u` are too large; center and scale the features, or lower `C` or "
                "`gamma_u`"
            )
            return replace(expanded, report=replace(expanded.report, failure=failure))
        return expanded


@dataclass(frozen=True)
class WarpedFeatures:
    """Explicit features of the labeled rows; ``R' L R = U S U'`` serves every r."""

    feature_map: FeatureMap
    S: FloatArray
    U: FloatArray
    rotated: FloatArray
    """R U at the labeled rows."""
    report_fields: Mapping[str, Any]
    """Fields of a `TrainingReport` on the features."""

    def train(
        self,
        ratio: float,
        codes: IntArray,
        C: float,
        fit_intercept: bool,
        n_jobs: int | None,
        class_weight: Sequence[float] | None = None,
    ) -> MarginMachine:
        """Return the machine for r = `ratio` and the class codes of the labeled rows."""
        weights = weights_of_rows(class_weight, codes)
        shrink = 1 / np.sqrt(1 + ratio * self.S)
        warped = self.rotated * shrink
        if not fit_intercept:
            machine = train_without_bias(warped, codes, C=C, sample_weight=weights, n_jobs=n_jobs)
        elif len(codes) <= MAX_LABELED:
            machine = train_on_kernel(
                warped @ warped.T,
                codes,
                C=C,
                sample_weight=weights,
                tolerance=TOLERANCE,
                n_jobs=n_jobs,
            )
        else:
            machine = train_machine(
                *(warped, codes, Kernel("linear")),
                C=C,
                sample_weight=weights,
                approximation="nystroem",
                n_jobs=n_jobs,
                random_state=0,
            )
        if machine.kernel.kind == "linear":
            normal = machine.collapse_linear().coefficients
        else:
            normal = warped[machine.vectors].T @ machine.coefficients
        return self.feature_map.machine_from_weights(
            self.U @ (shrink[:, None] * normal),
            machine.intercepts - np.broadcast_to(machine.center, len(normal)) @ normal,
            machine.n_classes,
            replace(machine.report, **self.report_fields),
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
    """Return the features on which machines for any gamma_u, C and labels are trained.

    The graph does not depend on the labels, so that this, the most expensive part, is done once.

    Parameters
    ----------
    X, kernel, W, normalized, power, fit_intercept, n_landmarks, n_jobs, random_state
        As in `train_manifold`; all rows of a kernel matrix are landmarks.
    labeled : array of shape (n_l,)
        Numbers of the rows that machines can learn from.

    Returns
    -------
    WarpedFeatures

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> W = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(4, 4)).tocsr()
    >>> features = warp_features(X, np.array([0, 3]), Kernel("linear"), W)
    >>> machine = features.train(20.0, np.array([0, 1]), C=10.0, fit_intercept=True, n_jobs=None)
    >>> machine.decision(X).round(3).tolist()
    [-0.738, -0.246, 0.246, 0.738]
    """
    L = laplacian(W, normalized=normalized)
    n, center = X.shape[0], _center(X, kernel, _bias_absorbs_constants(fit_intercept, normalized))
    feature_map = explicit_features(X, labeled, kernel, n_landmarks, center, random_state)
    if feature_map.basis is None:
        form = quadratic_form(L, X, center=feature_map.center, power=power, n_jobs=n_jobs)
        form /= feature_map.kernel.width**2
        labeled_features = feature_map(X[labeled])
    else:
        dtype = np.float64 if n * feature_map.dimension <= MAX_DOUBLE_ENTRIES else np.float32
        R = feature_map.transform_rows(X, np.arange(n), n_jobs=n_jobs, dtype=dtype)
        form = quadratic_form(L, R, power=power, n_jobs=n_jobs)
        labeled_features = R[labeled]
    S, U = np.linalg.eigh(form)
    rotated = labeled_features.astype(np.float64, copy=False) @ U
    return WarpedFeatures(feature_map, np.maximum(S, 0.0), U, rotated, feature_map.report_fields(X))


def _warp_kernel(
    X: Any,
    kernel: Kernel,
    labeled: IntArray,
    W: sparse.csr_array,
    normalized: bool,
    power: int,
    fit_intercept: bool,
) -> WarpedKernel:
    absorbed = _bias_absorbs_constants(fit_intercept, normalized)
    center = _center(X, kernel, absorbed)
    if kernel.kind == "precomputed":
        K = X.toarray() if sparse.issparse(X) else X
    else:
        points = subtract_center(X, center)
        K = kernel(points, points)
    K = np.array(K, dtype=np.float64, copy=kernel.kind == "precomputed" or None)
    shift = np.zeros(len(K))
    if absorbed:  # large common values would only cost digits
        typical = np.argsort(np.diag(K), kind="stable")[len(K) // 2]
        shift = K[typical].copy()
        K -= shift
        K -= (shift - shift[typical])[:, None]
    L = laplacian(W, normalized=normalized)
    LK = L @ K
    for _ in range(power - 1):
        LK = L @ LK
    return WarpedKernel(X, kernel, center, labeled, K, LK, shift)


def _bias_absorbs_constants(fit_intercept: bool, normalized: bool) -> bool:
    """Tell whether there is a bias that L does not penalize, and which absorbs constants."""
    return fit_intercept and not normalized


def _center(X: Any, kernel: Kernel, absorbed: bool) -> FloatArray | float:
    return choose_center(X, kernel) if absorbed or kernel.kind == "rbf" else 0.0
