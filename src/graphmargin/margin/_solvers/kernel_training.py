"""Training of exact max-margin machines: SMO on a kernel matrix, LIBSVM, and without a bias."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse

from graphmargin._rows import subtract_center
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.margin._solvers.fixed_bias_descent import FixedBiasSolution, solve_fixed_bias
from graphmargin.margin._solvers.shortlists import MAX_ALL_PAIRS
from graphmargin.margin._solvers.smo import (
    MAX_ITERATIONS,
    TOLERANCE,
    PairColumns,
    PairSolutions,
    solve_smo_pairs,
)
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, Solver, TrainingReport
from graphmargin.margin.pairs import (
    MarginProblem,
    class_pairs,
    failure_message,
    margin_problem,
    pair_rows,
    rows_by_class,
)

if TYPE_CHECKING:
    from sklearn.svm import SVC

MAX_PARTS = 64
"""Largest number of groups of pairs of classes that threads solve one by one."""


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
    problem = margin_problem(codes, C, sample_weight)
    members = rows_by_class(codes, problem.weights, problem.n_classes)
    pairs, bounds = class_pairs(problem.n_classes), problem.bounds
    initial = None if start is None else _columns_of(start, C / start.report.C)

    def solve(part: IntArray) -> PairSolutions:
        columns = initial
        if initial is not None:
            columns = initial._replace(ends=initial.ends[part[0] : part[-1] + 2])
        return solve_smo_pairs(
            K,
            members,
            pairs[part],
            bounds,
            start=columns,
            tolerance=tolerance,
            max_iterations=min(max_iterations or MAX_ITERATIONS, MAX_ITERATIONS),
        )

    if progress is None and (n_jobs == 1 or len(pairs) == 1):  # threads take time to start
        solutions = [solve(np.arange(len(pairs)))]
    else:
        parts = np.array_split(np.arange(len(pairs)), min(len(pairs), MAX_PARTS))
        solutions = map_in_threads(solve, parts, n_jobs=n_jobs, progress=progress)
    return _machine_of_rows(
        "smo",
        problem,
        _matrix_of([solution.coefficients for solution in solutions], len(codes)),
        np.concatenate([solution.biases for solution in solutions]),
        max(solution.violation for solution in solutions),
        all(solution.converged for solution in solutions),
    )


def _columns_of(machine: MarginMachine, factor: float) -> PairColumns:
    """Return the coefficients of a machine on row numbers times a factor, pair by pair."""
    coefficients, vectors = machine.coefficients, np.asarray(machine.vectors, dtype=np.int64)
    if sparse.issparse(coefficients):
        ends = coefficients.indptr.astype(np.int64)
        return PairColumns(ends, vectors[coefficients.indices], factor * coefficients.data)
    m, n_pairs = coefficients.shape
    ends = m * np.arange(n_pairs + 1)
    return PairColumns(ends, np.tile(vectors, n_pairs), (factor * coefficients).T.ravel())


def _matrix_of(columns: Sequence[PairColumns], n_rows: int) -> Any:
    """Return columns as a matrix, which is sparse if classes are so many that it is mostly zero."""
    sizes = np.concatenate([np.diff(part.ends) for part in columns])
    rows = np.concatenate([part.rows for part in columns])
    values = np.concatenate([part.values for part in columns])
    pairs = np.repeat(np.arange(len(sizes)), sizes)
    if len(sizes) > MAX_ALL_PAIRS * (MAX_ALL_PAIRS - 1) // 2:
        kept = values != 0
        ends = np.concatenate([[0], np.cumsum(np.bincount(pairs[kept], minlength=len(sizes)))])
        matrix = sparse.csc_array((values[kept], rows[kept], ends), shape=(n_rows, len(sizes)))
        matrix.sort_indices()  # once, as SciPy would do it in place in the middle of other work
        return matrix
    dense = np.zeros((n_rows, len(sizes)))
    dense[rows, pairs] = values
    return dense


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
    problem = margin_problem(codes, C, sample_weight)
    members = rows_by_class(codes, problem.weights, problem.n_classes)
    pairs = [pair_rows(*rows) for rows in combinations(members, 2)]

    def solve(pair: tuple[IntArray, FloatArray]) -> FixedBiasSolution:
        rows, signs = pair
        limits = signs * problem.bounds[rows]
        return solve_fixed_bias(F[rows], signs, np.minimum(limits, 0.0), np.maximum(limits, 0.0))

    solutions = map_in_threads(solve, pairs, n_jobs=n_jobs)
    columns = [
        PairColumns(np.array([0, len(rows)]), rows, solution.beta)
        for (rows, _), solution in zip(pairs, solutions, strict=True)
    ]
    return _machine_of_rows(
        "coordinate descent",
        problem,
        _matrix_of(columns, len(codes)),
        np.zeros(len(pairs)),
        max(solution.violation for solution in solutions),
        all(solution.converged for solution in solutions),
    )


def _machine_of_rows(
    solver: Solver,
    problem: MarginProblem,
    coefficients: Any,
    intercepts: FloatArray,
    violation: float,
    converged: bool,
) -> MarginMachine:
    """Return the machine on row numbers, from the signed dual variables of every pair."""
    failure = ""
    if not converged:
        failure = failure_message(f"the optimality conditions are violated by {violation:.1e}")
    if sparse.issparse(coefficients):
        is_used = np.bincount(coefficients.indices, minlength=coefficients.shape[0]) > 0
        support, positions = np.flatnonzero(is_used), np.cumsum(is_used) - 1
        coefficients = sparse.csc_array(
            (coefficients.data, positions[coefficients.indices], coefficients.indptr),
            shape=(len(support), len(intercepts)),
        )
    else:
        support = np.flatnonzero(coefficients.any(axis=1))
        coefficients = coefficients[support]
    return MarginMachine(
        Kernel("precomputed"),
        support,
        coefficients,
        intercepts,
        n_classes=problem.n_classes,
        center=0.0,
        report=TrainingReport(solver, problem.C, len(problem.codes), failure=failure),
    )


def train_by_libsvm(
    X: Any, problem: MarginProblem, kernel: Kernel, center: FloatArray | float
) -> MarginMachine:
    """Return the exact machine by LIBSVM, which needs no n x n kernel matrix.

    X, the kernel, which must not be precomputed, and the center are as in `train_machine`.

    Examples
    --------
    >>> X, problem = np.array([[-1.0], [3.0]]), MarginProblem(np.arange(2), np.ones(2), 10.0)
    >>> train_by_libsvm(X, problem, Kernel("linear"), 0.0).decision(X).tolist()
    [-1.0, 1.0]
    """
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.svm import SVC

    svm = SVC(
        C=problem.C,
        kernel=kernel.kind,
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
            svm.fit(points, problem.codes, sample_weight=problem.weights)
        except ValueError as error:  # raised where its solution is not finite
            msg = (
                f"LIBSVM finds no finite solution with C={problem.C:.3g}: the numbers in `X` are "
                f"too large for the `width` {kernel.width:.3g}; center and scale the features"
            )
            raise ValueError(msg) from error
    failure = ""
    if svm.fit_status_:
        failure = failure_message(f"LIBSVM did not converge in {MAX_ITERATIONS:,} iterations")
    return MarginMachine(
        kernel,
        X[svm.support_],
        *_pair_coefficients(svm),
        n_classes=problem.n_classes,
        center=center,
        report=TrainingReport("libsvm", problem.C, len(problem.codes), failure=failure),
    )


def _pair_coefficients(svm: SVC) -> tuple[Any, FloatArray]:
    """Return LIBSVM's dual coefficients with a column for each pair of classes.

    LIBSVM stores for a support vector of class i its c-1 coefficients against the other classes,
    skipping i. scikit-learn flips the sign for two classes.
    """
    dual, n_classes = svm.dual_coef_, len(svm.classes_)
    if sparse.issparse(dual):  # (c - 1, m) numbers, mostly not zero
        dual = dual.toarray()
    sign = -1.0 if n_classes == 2 else 1.0
    ends = np.concatenate([[0], np.cumsum(svm.n_support_)])
    members = [np.arange(*range_) for range_ in pairwise(ends)]
    columns = [
        PairColumns(
            np.array([0, len(members[i]) + len(members[j])]),
            np.concatenate([members[i], members[j]]),
            sign * np.concatenate([dual[j - 1, members[i]], dual[i, members[j]]]),
        )
        for i, j in class_pairs(n_classes)
    ]
    return _matrix_of(columns, int(ends[-1])), sign * svm.intercept_
