"""Training of max-margin machines, and the choice of the solver.

SMO on a small kernel matrix, LIBSVM, and coordinate descent on explicit features solve the same
problem (eq. MMGC), exactly or approximately, one pair of classes at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice, check_random_state
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.margin.coordinate_descent import (
    MAX_EPOCHS,
    RELATIVE_GAP,
    LinearSolution,
    solve_linear,
)
from graphmargin.margin.feature_maps import (
    landmark_features,
    row_features,
    rows_are_features,
    stratified_sample,
)
from graphmargin.margin.fixed_bias_descent import FixedBiasSolution, solve_fixed_bias
from graphmargin.margin.kernels import LIBSVM_KERNELS, Kernel
from graphmargin.margin.machine import MarginMachine, Solver, TrainingReport, subtract_center
from graphmargin.margin.smo import MAX_ITERATIONS, TOLERANCE, SmoSolution, solve_smo

if TYPE_CHECKING:
    from sklearn.svm import SVC

Approximation = Literal["auto", "none", "nystroem"]
APPROXIMATIONS = ("auto", "none", "nystroem")

MAX_SMO = 500
"""Largest number of rows for which SMO on the whole kernel matrix is faster than LIBSVM."""
FEW_ITERATIONS = 1_000_000
"""Iterations of SMO before LIBSVM is tried on a badly scaled problem."""
MAX_EXACT = 10_000
"""Largest number of rows for which "auto" is exact. On 20,000 letters landmarks take as long to
train and a quarter of the time to predict, and make as many errors."""
MAX_EXACT_LINEAR = 2000
"""The same number for the linear kernel on dense rows, which are its features."""
N_LANDMARKS = 500
"""Number of landmarks. On letters, 98.4 % (300), 99.2 % (600) and 99.5 % (1000) of the predictions
are the exact ones."""
MAX_FEATURE_ROWS = 200_000
"""Largest number of rows to learn from by landmark features; of more rows, a sample is drawn."""
LINEAR_GAP = RELATIVE_GAP / 5
"""Relative gap for rows that are features themselves: these are few and exact."""
CENTER_ROWS = 100_000
"""Number of rows, at most, whose median is the center."""


def train_machine(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    *,
    C: float,
    sample_weight: FloatArray | None = None,
    approximation: Approximation = "auto",
    center: FloatArray | float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> MarginMachine:
    """Return the max-margin machine on rows X with class codes 0..c-1.

    Solves ``min sum_i V(f, x_i, y_i) + gamma norm(f)_K^2`` (eq. MMGC) with
    ``C = 1 / (2 gamma)`` and a bias that is not penalized.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Training rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each row; every class 0..c-1 occurs.
    kernel : Kernel
    C : float > 0
        Weight of the hinge losses.
    sample_weight : array of shape (n,), default=None
        Factors >= 0 of the losses.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        "none" is exact: by SMO or LIBSVM, whichever is faster. "nystroem" learns from explicit
        features by coordinate descent: the rows themselves for a linear kernel on dense X, else
        the kernel values to 500 landmarks; of more than 200,000 rows, a sample of that size with
        larger weights is used. "auto" is exact for up to 10,000 rows (2,000 if the kernel is
        linear and X dense) and for a precomputed kernel.
    center : array of shape (d,), default=None
        Subtracted from all rows, for kernels for which f does not depend on it; None is that of
        `choose_center`. Machines that are to be blended need a common one.
    n_jobs : int, default=None
        Number of threads; None takes as many as BLAS would, -1 all cores. The machine does not
        depend on it.
    random_state : int, RandomState or None
        Seed of the landmarks and of the order of the rows in coordinate descent.
    progress : callable, default=None
        Called with the finished share and a message.

    Returns
    -------
    MarginMachine
        Exact: time between O(n^2) and O(n^3), memory O(n^2) for a callable or precomputed kernel
        only. With m landmarks: time O(n m (m + d)) and memory O(n m).

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> machine = train_machine(X, np.array([0, 1, 1]), Kernel("linear"), C=10.0)
    >>> machine.decision(X).round(3).tolist()
    [-1.0, 1.0, 2.0]
    """
    check_approximation(approximation, kernel.kind)
    if kernel.kind == "precomputed":
        return train_on_kernel(
            X, codes, C=C, sample_weight=sample_weight, n_jobs=n_jobs, progress=progress
        )
    weights = _check_sample_weight(codes, sample_weight)
    max_exact = MAX_EXACT_LINEAR if rows_are_features(X, kernel) else MAX_EXACT
    center = choose_center(X, kernel) if center is None else center
    if approximation == "nystroem" or (approximation == "auto" and len(codes) > max_exact):
        return _train_on_features(
            X, codes, kernel, C, weights, center, n_jobs, random_state, progress
        )
    in_libsvm = not callable(kernel.kind) and kernel.kind in LIBSVM_KERNELS
    if len(codes) > MAX_SMO and in_libsvm:
        return _train_by_libsvm(X, codes, kernel, C, weights, center)
    points = subtract_center(X, center)
    machine = train_on_kernel(
        kernel(points, points),
        codes,
        C=C,
        sample_weight=weights,
        max_iterations=FEW_ITERATIONS,
        n_jobs=n_jobs,
        progress=progress,
    )
    if not machine.report.converged and in_libsvm:
        # With kernel values of 1e12 and more, LIBSVM is slow but converges.
        return _train_by_libsvm(X, codes, kernel, C, weights, center)
    return replace(machine, kernel=kernel, vectors=X[machine.vectors], center=center)


def check_approximation(approximation: Any, kind: Any) -> None:
    """Raise ValueError unless the approximation exists for a kind of kernel."""
    check_choice("approximation", approximation, APPROXIMATIONS)
    if approximation == "nystroem" and not callable(kind) and kind == "precomputed":
        msg = (
            "`approximation`='nystroem' needs rows to compute kernel values from, got a "
            "precomputed kernel; use 'auto' or 'none'"
        )
        raise ValueError(msg)


def train_on_kernel(
    K: Any,
    codes: IntArray,
    *,
    C: float,
    sample_weight: FloatArray | None = None,
    start: MarginMachine | None = None,
    tolerance: float = TOLERANCE,
    max_iterations: int | None = None,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> MarginMachine:
    """Return the exact machine for a kernel matrix in memory, by SMO for each pair of classes.

    Parameters
    ----------
    K : array or sparse matrix of shape (n, n)
    codes, C, sample_weight, n_jobs, progress
        As in `train_machine`.
    start : MarginMachine, default=None
        A machine for the same rows and classes with another C, other labels or another kernel
        matrix. The solution is the same; a more similar machine saves more iterations.
    tolerance : float > 0
        Violation of the optimality conditions, in units of f, at which to stop.
    max_iterations : int, default=None
        Largest number of iterations for a pair of classes; None is 10,000,000.

    Returns
    -------
    MarginMachine
        Its vectors are row numbers.

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> machine = train_on_kernel(X @ X.T, np.array([0, 1, 1]), C=0.1)
    >>> machine = train_on_kernel(X @ X.T, np.array([0, 1, 1]), C=10.0, start=machine)
    >>> machine.decision(X @ X.T).round(3).tolist()
    [-1.0, 1.0, 2.0]
    """
    if sparse.issparse(K):
        K = K.toarray()
    K = np.ascontiguousarray(K, dtype=np.float64)
    bounds = C * _check_sample_weight(codes, sample_weight)
    pairs = list(_class_pairs(codes, bounds))
    initial = np.zeros((len(codes), len(pairs)))
    if start is not None:
        initial[start.vectors] = start.coefficients * (C / start.report.C)

    def solve(pair: int) -> SmoSolution:
        rows, signs = pairs[pair]
        return solve_smo(
            K,
            rows,
            signs,
            bounds[rows],
            start=signs * initial[rows, pair],
            tolerance=tolerance,
            max_iterations=max_iterations or MAX_ITERATIONS,
        )

    if len(pairs) == 1 and progress is None:  # starting threads would take longer than many fits
        solutions = [solve(0)]
    else:
        solutions = map_in_threads(solve, range(len(pairs)), n_jobs=n_jobs, progress=progress)
    duals = [signs * solved.alpha for (_, signs), solved in zip(pairs, solutions, strict=True)]
    intercepts = np.array([solution.bias for solution in solutions])
    return _machine_of_rows("smo", C, codes, pairs, solutions, duals, intercepts)


def train_without_bias(
    F: FloatArray,
    codes: IntArray,
    *,
    C: float,
    sample_weight: FloatArray | None = None,
    n_jobs: int | None = None,
) -> MarginMachine:
    """Return the exact machine ``f(x) = w.phi(x)``, without a bias, on features of the rows.

    Solves ``min sum_i V(f, x_i, y_i) + gamma norm(w)^2`` with ``C = 1 / (2 gamma)``.

    Parameters
    ----------
    F : array of shape (n, r)
        Features phi(x_i); F F' is the kernel matrix of the machine that is returned.
    codes, C, sample_weight, n_jobs
        As in `train_machine`.

    Returns
    -------
    MarginMachine
        Its vectors are row numbers.

    Examples
    --------
    >>> X = np.array([[-1.0], [2.0]])
    >>> machine = train_without_bias(X, np.array([0, 1]), C=10.0)
    >>> machine.decision(X @ X.T).round(3).tolist()
    [-1.0, 2.0]
    """
    bounds = C * _check_sample_weight(codes, sample_weight)
    pairs = list(_class_pairs(codes, bounds))

    def solve(pair: tuple[IntArray, FloatArray]) -> FixedBiasSolution:
        rows, signs = pair
        limits = signs * bounds[rows]
        return solve_fixed_bias(F[rows], signs, np.minimum(limits, 0.0), np.maximum(limits, 0.0))

    solutions = map_in_threads(solve, pairs, n_jobs=n_jobs)
    duals, intercepts = [solution.beta for solution in solutions], np.zeros(len(pairs))
    return _machine_of_rows("coordinate descent", C, codes, pairs, solutions, duals, intercepts)


def _machine_of_rows(
    solver: Solver,
    C: float,
    codes: IntArray,
    pairs: Sequence[tuple[IntArray, FloatArray]],
    solutions: Sequence[SmoSolution | FixedBiasSolution],
    duals: Sequence[FloatArray],
    intercepts: FloatArray,
) -> MarginMachine:
    """Return the machine on row numbers, from the signed dual variables of every pair."""
    worst = max(solutions, key=lambda solution: solution.violation)
    failure = ""
    if not worst.converged:
        failure = _failure_message(
            f"the optimality conditions are violated by {worst.violation:.1e}"
        )
    coefficients = np.zeros((len(codes), len(pairs)))
    for pair, ((rows, _), dual) in enumerate(zip(pairs, duals, strict=True)):
        coefficients[rows, pair] = dual
    support = np.flatnonzero(coefficients.any(axis=1))
    return MarginMachine(
        Kernel("precomputed"),
        support,
        coefficients[support],
        intercepts,
        n_classes=int(codes.max()) + 1,
        center=0.0,
        report=TrainingReport(solver, C, len(codes), failure=failure),
    )


def _train_by_libsvm(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    C: float,
    weights: FloatArray,
    center: FloatArray | float,
) -> MarginMachine:
    """Return the exact machine by LIBSVM, which needs no n x n kernel matrix."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    svm = SVC(
        C=C,
        kernel=LIBSVM_KERNELS[str(kernel.kind)],
        gamma=0.5 if kernel.kind == "rbf" else 1.0,
        degree=kernel.degree,
        coef0=kernel.coef0,
        tol=TOLERANCE,
        max_iter=MAX_ITERATIONS,
    )
    points = subtract_center(X, center) / kernel.width
    if sparse.issparse(points):  # LIBSVM takes 32-bit indices only
        points.indices, points.indptr = points.indices.astype("i4"), points.indptr.astype("i4")
    with warnings.catch_warnings():  # the report has the failure, and its reader warns
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            svm.fit(points, codes, sample_weight=weights)
        except ValueError as error:  # raised where its solution is not finite
            msg = (
                f"LIBSVM finds no finite solution with C={C:.3g}: the numbers in `X` are too large "
                f"for the `width` {kernel.width:.3g}; center and scale the features"
            )
            raise ValueError(msg) from error
    failure = ""
    if svm.fit_status_:
        failure = _failure_message(f"LIBSVM did not converge in {MAX_ITERATIONS:,} iterations")
    return MarginMachine(
        kernel,
        X[svm.support_],
        *_pair_coefficients(svm),
        n_classes=len(svm.classes_),
        center=center,
        report=TrainingReport("libsvm", C, len(codes), failure=failure),
    )


def _train_on_features(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    C: float,
    weights: FloatArray,
    center: FloatArray | float,
    n_jobs: int | None,
    random_state: Any,
    progress: ProgressCallback | None,
) -> MarginMachine:
    """Return the machine on explicit features: the rows, or kernel values to landmarks.

    The losses of rows drawn from a class are weighted to represent the whole class.
    """
    random = check_random_state(random_state)
    used = np.flatnonzero(weights > 0)
    if rows_are_features(X, kernel):
        feature_map = row_features(kernel, np.broadcast_to(center, X.shape[1]))
        relative_gap = LINEAR_GAP
    else:
        if len(used) > MAX_FEATURE_ROWS:
            used = used[stratified_sample(codes[used], MAX_FEATURE_ROWS, random)]
            share = np.bincount(codes[used], weights[used]) / np.bincount(codes, weights)
            weights = weights / share[codes]
        chosen = used[stratified_sample(codes[used], N_LANDMARKS, random)]
        landmarks = X[chosen]
        precision = np.float64 if sparse.issparse(X) else landmark_precision(kernel)
        feature_map = landmark_features(kernel, landmarks.astype(precision, copy=False), center)
        relative_gap = RELATIVE_GAP
    features = feature_map.transform_rows(X, used, n_jobs=n_jobs)
    bounds = C * weights[used]
    seed = int(random.randint(2**31 - 1))

    def solve(pair: tuple[IntArray, FloatArray]) -> LinearSolution:
        rows, signs = pair
        return solve_linear(
            features, rows, signs, bounds[rows], relative_gap=relative_gap, seed=seed
        )

    pairs = list(_class_pairs(codes[used], bounds))
    solutions = map_in_threads(solve, pairs, n_jobs=n_jobs, progress=progress)
    gap = max(solution.gap for solution in solutions)
    converged = all(solution.converged for solution in solutions)
    failure = "" if converged else gap_message(gap)
    fields = feature_map.report_fields(X)
    return feature_map.machine_from_weights(
        np.column_stack([solution.weights for solution in solutions]),
        np.array([solution.bias for solution in solutions]),
        int(codes.max()) + 1,
        TrainingReport("coordinate descent", C, len(used), gap=gap, failure=failure, **fields),
    )


def _class_pairs(codes: IntArray, bounds: FloatArray) -> Iterator[tuple[IntArray, FloatArray]]:
    """Yield the rows of each pair of classes and their signs."""
    members = rows_by_class(codes, bounds, int(codes.max()) + 1)
    for first, second in combinations(members, 2):
        yield pair_rows(first, second)


def rows_by_class(codes: IntArray, bounds: FloatArray, n_classes: int) -> list[IntArray]:
    """Return the rows of each class whose losses have a positive weight."""
    return [np.flatnonzero((codes == c) & (bounds > 0)) for c in range(n_classes)]


def pair_rows(first: IntArray, second: IntArray) -> tuple[IntArray, FloatArray]:
    """Return the rows of two classes, and their signs: 1 for the first class, else -1."""
    return np.concatenate([first, second]), np.repeat([1.0, -1.0], [len(first), len(second)])


def _check_sample_weight(codes: IntArray, sample_weight: FloatArray | None) -> FloatArray:
    """Return the weight of each loss, or raise ValueError."""
    if sample_weight is None:
        return np.ones(len(codes))
    weights = np.asarray(sample_weight, dtype=np.float64)
    if not weights.min() >= 0 or not np.bincount(codes, weights).min() > 0:
        msg = "`sample_weight` must be >= 0, with a positive weight in every class"
        raise ValueError(msg)
    return weights


def gap_message(gap: float) -> str:
    """Return the message for coordinate descent that stopped before its gap was small."""
    return _failure_message(f"the relative duality gap is {gap:.1e} after {MAX_EPOCHS:,} epochs")


def _failure_message(reason: str) -> str:
    return f"max-margin machine: {reason}; scale the features or lower C"


def landmark_precision(kernel: Kernel) -> type[np.float32 | np.float64]:
    """Return the precision of landmarks among dense rows: single for the RBF kernel, else double.

    Other kernels are unbounded, and have small eigenvalues that matter beside large ones.
    """
    return np.float32 if kernel.kind == "rbf" else np.float64


def choose_center(X: Any, kernel: Kernel) -> FloatArray | float:
    """Return the median of a sample of dense rows if f does not depend on the center, else 0.

    It does not for the linear kernel, whose bias is not penalized, and for the RBF kernel. Both
    would lose precision with rows far from the origin.
    """
    if kernel.kind not in ("linear", "rbf") or sparse.issparse(X):
        return 0.0
    sample = X[:: -(-X.shape[0] // CENTER_ROWS)]
    return np.asarray(np.median(sample, axis=0), dtype=np.float64)


def _pair_coefficients(svm: SVC) -> tuple[FloatArray, FloatArray]:
    """Return LIBSVM's dual coefficients with a column for each pair of classes.

    LIBSVM stores for a support vector of class i its c-1 coefficients against the other classes,
    skipping i. scikit-learn flips the sign for two classes.
    """
    dual, n_classes = svm.dual_coef_, len(svm.classes_)
    if sparse.issparse(dual):  # (c - 1, m) numbers, mostly not zero
        dual = dual.toarray()
    sign = -1.0 if n_classes == 2 else 1.0
    owner = np.repeat(np.arange(n_classes), svm.n_support_)
    first, second = np.triu_indices(n_classes, 1)
    coefficients = np.zeros((len(owner), len(first)))
    for pair, (i, j) in enumerate(zip(first, second, strict=True)):
        coefficients[owner == i, pair] = dual[j - 1, owner == i]
        coefficients[owner == j, pair] = dual[i, owner == j]
    return sign * coefficients, sign * svm.intercept_
