"""Training of semi-supervised SVMs: features of all rows, then pairs of classes.

With several classes, a pair learns from its labels and from those unlabeled rows that the
supervised machine assigns to one of the two. Other rows would only push away a boundary that does
not concern them, as they do in one-vs-rest, where a single boundary has to go around every class.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np

from graphmargin._checks import check_random_state, check_real
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED
from graphmargin.margin.class_weights import weights_of_rows
from graphmargin.margin.feature_maps import explicit_features
from graphmargin.margin.feature_training import MAX_FEATURE_ROWS, N_LANDMARKS
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.margin.s3vm import (
    S3VMSolution,
    S3VMSolver,
    solve_s3vm,
)
from graphmargin.margin.training import (
    Approximation,
    check_approximation,
    choose_center,
    train_machine,
)

MAX_EXACT = 1000
"""Largest number of rows of which "auto" takes all as landmarks."""
MAX_DOUBLE_ENTRIES = 2**24
"""Largest number of entries of the features in double precision, 128 MB; else single."""


def train_s3vm(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    *,
    C: float,
    gamma_u: float,
    class_weight: Sequence[float] | None = None,
    class_prior: FloatArray | None = None,
    solver: S3VMSolver = "gradient",
    approximation: Approximation = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> tuple[MarginMachine, list[S3VMSolution]]:
    """Return the semi-supervised machine on rows X (eq. S3VM) and the solutions of its pairs.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each labeled row, -1 for the others; every class 0..c-1 occurs.
    kernel : Kernel
    C : float > 0
        1 / (2 gamma), the weight of the hinge losses.
    gamma_u : float >= 0
        Weight of the hat losses; 0 is the supervised machine.
    class_weight : sequence of c floats > 0, default=None
        Factors of the hinge losses of each class; the hat losses of unlabeled rows have none.
    class_prior : array of shape (c,), default=None
        Shares of the classes among the unlabeled rows, which fix the mean of f there; None
        leaves it free.
    solver : {"gradient", "cccp"}, default="gradient"
        See `solve_s3vm`.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        Features are the rows for a linear kernel on dense X, else kernel values to landmarks:
        all rows with "none", 500 of them with "nystroem", and all of up to 1,000 with "auto".
        Of more than 200,000 unlabeled rows, a sample of that size with larger weights is used.
    n_jobs, random_state, progress
        As in `train_machine`.

    Returns
    -------
    machine : MarginMachine
    solutions : list of S3VMSolution
        A solution for each pair of classes, with f positive for the first one.

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> machine, _ = train_s3vm(
    ...     X, np.array([0, -1, -1, -1, -1, 1]), Kernel("linear"), C=10.0, gamma_u=1.0
    ... )
    >>> machine.decision(X).round(2).tolist()
    [-2.2, -1.4, -1.0, 1.0, 1.4, 1.8]
    """
    check_approximation(approximation, kernel.kind)
    gamma_u = check_real("gamma_u", gamma_u, hint="; 0 is the supervised machine")
    random = check_random_state(random_state)
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    if len(unlabeled) > MAX_FEATURE_ROWS and kernel.kind != "precomputed":
        gamma_u *= len(unlabeled) / MAX_FEATURE_ROWS
        unlabeled = random.permutation(unlabeled)[:MAX_FEATURE_ROWS]
    used = np.sort(np.concatenate([labeled, unlabeled]))
    exact = approximation == "none" or (approximation == "auto" and len(codes) <= MAX_EXACT)
    n_landmarks = len(codes) if exact else N_LANDMARKS
    feature_map = explicit_features(
        X, labeled, kernel, n_landmarks, choose_center(X, kernel), random
    )
    double = len(used) * feature_map.dimension <= MAX_DOUBLE_ENTRIES
    dtype = np.float64 if double else np.float32
    F = feature_map.transform_rows(X, used, n_jobs=n_jobs, dtype=dtype)
    n_classes, given = int(codes.max()) + 1, codes[used]
    costs = [1.0] * n_classes if class_weight is None else class_weight
    completed = given if n_classes == 2 else _predict_unlabeled(F, given, C, costs, n_jobs)

    def solve(pair: tuple[int, int]) -> S3VMSolution:
        first, second = pair
        rows = np.flatnonzero(np.isin(completed, [first, second, UNLABELED]))
        signs = (given[rows] == first).astype(np.int64) - (given[rows] == second)
        mean = None
        if class_prior is not None:
            both = class_prior[[first, second]]
            mean = float((both[0] - both[1]) / both.sum())
        return solve_s3vm(
            F if len(rows) == len(F) else F[rows],
            signs,
            C=C,
            gamma_u=gamma_u,
            class_weight=(costs[first], costs[second]),
            mean=mean,
            solver=solver,
        )

    pairs = list(combinations(range(n_classes), 2))
    solutions = map_in_threads(solve, pairs, n_jobs=n_jobs, progress=progress)
    failure = ""
    if not all(solution.converged for solution in solutions):
        failure = (
            "semi-supervised SVM: the solver did not converge; scale the features, or lower `C` or "
            "`gamma_u`"
        )
    fields = feature_map.report_fields(X)
    machine = feature_map.machine_from_weights(
        np.column_stack([solution.weights for solution in solutions]),
        np.array([solution.bias for solution in solutions]),
        n_classes,
        TrainingReport("coordinate descent", C, len(used), failure=failure, **fields),
    )
    return machine, solutions


def _predict_unlabeled(
    F: FloatArray, codes: IntArray, C: float, class_weight: Sequence[float], n_jobs: int | None
) -> IntArray:
    """Return the given classes, and those that the supervised machine predicts elsewhere."""
    labeled = codes != UNLABELED
    machine = train_machine(
        F[labeled],
        codes[labeled],
        Kernel("linear"),
        C=C,
        sample_weight=weights_of_rows(class_weight, codes[labeled]),
        n_jobs=n_jobs,
        random_state=0,
    )
    return np.where(labeled, codes, machine.decision(F).argmax(axis=1))
