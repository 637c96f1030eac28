"""Training of max-margin machines, and the choice of the solver.

SMO on a small kernel matrix, LIBSVM, and coordinate descent on explicit features solve the same
problem (eq. MMGC), exactly or approximately, one pair of classes at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice
from graphmargin._rows import center_of_full_columns, subtract_center
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.margin._solvers.feature_maps import rows_are_features
from graphmargin.margin._solvers.feature_training import train_on_features
from graphmargin.margin._solvers.kernel_training import train_by_libsvm, train_on_kernel
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.pairs import MarginProblem, margin_problem

Approximation = Literal["auto", "none", "nystroem"]
APPROXIMATIONS = ("auto", "none", "nystroem")

MAX_SMO = 2000
"""Largest number of rows for which SMO on the whole kernel matrix is as fast as LIBSVM, whose
import takes half a second."""
FEW_ITERATIONS = 1_000_000
"""Iterations of SMO before LIBSVM is tried on a badly scaled problem."""
MAX_EXACT = 10_000
"""Largest number of rows for which "auto" is exact. On 20,000 letters landmarks take as long to
train and a quarter of the time to predict, and make as many errors."""
MAX_EXACT_LINEAR = 2000
"""The same number for the linear kernel on dense rows, which are its features."""
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
        features by coordinate descent. For a linear kernel on dense X, these are all rows
        themselves; else they are kernel values to 500 landmarks, and at most 200,000 rows are used,
        a sample with larger weights if there are more. "auto" is exact for up to 10,000 rows (2,000
        for a linear kernel on dense X) and for a precomputed kernel.
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
        Exact: time between O(n^2) and O(n^3), memory O(n^2) for a precomputed kernel only. With m
        landmarks: time O(n m (m + d)) and memory O(n m).

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> machine = train_machine(X, np.array([0, 1, 1]), Kernel("linear"), C=10.0)
    >>> machine.decision(X).round(3).tolist()
    [-1.0, 1.0, 2.0]
    """
    (machine,) = train_machines(
        X,
        [margin_problem(codes, C, sample_weight)],
        kernel,
        approximation=approximation,
        center=center,
        n_jobs=n_jobs,
        random_state=random_state,
        progress=progress,
    )
    return machine


def train_machines(
    X: Any,
    problems: Sequence[MarginProblem],
    kernel: Kernel,
    *,
    approximation: Approximation = "auto",
    max_exact: int | None = None,
    center: FloatArray | float | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> list[MarginMachine]:
    """Return the max-margin machines of several problems on the same rows, see `train_machine`.

    Those that learn from explicit features share them, so that their blend is one machine.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        Rows; the (n, n) kernel matrix for a precomputed kernel.
    problems : sequence of MarginProblem
        Problems for the same classes.
    max_exact : int, default=None
        Largest number of rows for which "auto" is exact; None is that of `train_machine`.
    kernel, approximation, center, n_jobs, random_state, progress
        As in `train_machine`.

    Examples
    --------
    >>> X, codes = np.array([[-1.0], [1.0], [2.0]]), np.array([0, 1, 1])
    >>> problems = [MarginProblem(codes, np.ones(3), C) for C in (0.1, 10.0)]
    >>> machines = train_machines(X, problems, Kernel("linear"))
    >>> [machine.decision(X).round(1).tolist() for machine in machines]
    [[0.5, 0.9, 1.1], [-1.0, 1.0, 2.0]]
    """
    check_approximation(approximation, kernel.kind)
    if center is None:
        used = np.flatnonzero(np.any([problem.mask for problem in problems], axis=0))
        center = choose_center(X, kernel, used)
    if max_exact is None:
        max_exact = MAX_EXACT_LINEAR if rows_are_features(X, kernel) else MAX_EXACT
    if approximation == "none" or kernel.kind == "precomputed":
        max_exact = X.shape[0]
    elif approximation == "nystroem":
        max_exact = 0
    is_exact = [np.count_nonzero(problem.mask) <= max_exact for problem in problems]
    on_features: list[MarginMachine] = []
    if not all(is_exact):
        on_features = train_on_features(
            X,
            [problem for problem, exact in zip(problems, is_exact, strict=True) if not exact],
            kernel,
            center=center,
            n_jobs=n_jobs,
            random_state=random_state,
            progress=progress,
        )
    remaining = iter(on_features)
    return [
        _train_exactly(X, problem, kernel, center, n_jobs, progress) if exact else next(remaining)
        for problem, exact in zip(problems, is_exact, strict=True)
    ]


def _train_exactly(
    X: Any,
    problem: MarginProblem,
    kernel: Kernel,
    center: FloatArray | float,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> MarginMachine:
    """Return the exact machine by the faster solver."""
    rows = np.flatnonzero(problem.mask)
    if len(rows) < X.shape[0]:
        X, problem = kernel.select_rows(X, rows), problem.at(rows)
    is_precomputed = kernel.kind == "precomputed"
    if len(rows) > MAX_SMO and not is_precomputed:
        return train_by_libsvm(X, problem, kernel, center)
    points = X if is_precomputed else subtract_center(X, center)
    machine = train_on_kernel(
        points if is_precomputed else kernel(points, points),
        problem.codes,
        C=problem.C,
        sample_weight=problem.weights,
        max_iterations=None if is_precomputed else FEW_ITERATIONS,
        n_jobs=n_jobs,
        progress=progress,
    )
    if is_precomputed:
        return replace(machine, vectors=rows[machine.vectors])
    if not machine.report.converged:
        # With kernel values of 1e12 and more, LIBSVM is slow but converges.
        return train_by_libsvm(X, problem, kernel, center)
    return replace(machine, kernel=kernel, vectors=X[machine.vectors], center=center)


def check_approximation(approximation: Any, kind: Any) -> Approximation:
    """Return the approximation, or raise ValueError unless it exists for a kind of kernel."""
    checked: Approximation = check_choice("approximation", approximation, APPROXIMATIONS)
    if approximation == "nystroem" and kind == "precomputed":
        msg = (
            "`approximation`='nystroem' needs rows to compute kernel values from, got a "
            "precomputed kernel; use 'auto' or 'none'"
        )
        raise ValueError(msg)
    return checked


def choose_center(X: Any, kernel: Kernel, rows: IntArray | None = None) -> FloatArray | float:
    """Return the median of a sample of rows if f does not depend on the center, else 0.

    The sample is drawn from all rows or from those that are given. In sparse rows, only columns
    without zeros have a center. f does not depend on the center for the RBF kernel, and for the
    linear kernel, whose bias is not penalized. Both would lose precision with rows far from the
    origin.
    """
    if kernel.kind not in ("linear", "rbf"):
        return 0.0
    if sparse.issparse(X):
        return center_of_full_columns(X if rows is None else X[rows])
    if rows is None or len(rows) == X.shape[0]:
        sample = X[:: -(-X.shape[0] // CENTER_ROWS)]
    else:
        sample = X[rows[:: -(-len(rows) // CENTER_ROWS)]]
    return np.asarray(np.median(sample, axis=0), dtype=np.float64)
