"""Training of semi-supervised machines: features of all rows, then pairs of classes.

Of several classes, a pair learns from its labels and from those unlabeled rows that the supervised
machine gives to one of the two: the others would only be pushed away from a boundary that does not
concern them. (So are they in one-vs-rest, where a single boundary has to go around every class.)
"""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from graphmargin._checks import check_random_state, check_real
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED
from graphmargin.margin.feature_maps import explicit_features
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.margin.s3vm import (
    SemiSupervisedSolution,
    SemiSupervisedSolver,
    solve_semi_supervised,
)
from graphmargin.margin.training import (
    MAX_FEATURE_ROWS,
    N_LANDMARKS,
    Approximation,
    center_of,
    check_approximation,
    train_machine,
)

MAX_EXACT = 1000
"""Rows up to which "auto" has all of them as landmarks."""
MAX_DOUBLE = 2**24
"""Entries of the features that are kept in double precision, 128 MB; more are in single."""


def train_semi_supervised(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    *,
    C: float,
    gamma_u: float,
    class_prior: FloatArray | None = None,
    solver: SemiSupervisedSolver = "gradient",
    approximation: Approximation = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> tuple[MarginMachine, list[SemiSupervisedSolution]]:
    """Return the semi-supervised machine on rows X (eq. S3VM), and how it was found.

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
    class_prior : array of shape (c,), default=None
        Shares of the classes among the unlabeled rows, which fix the mean of f there; None
        leaves it free.
    solver : {"gradient", "cccp"}, default="gradient"
        See `solve_semi_supervised`.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        Features are the rows for a linear kernel on dense X, else kernel values to landmarks:
        all rows with "none", 500 of them with "nystroem", and "auto" takes all of up to 1,000.
        Of more than 200,000 unlabeled rows, that many stand for the others.
    n_jobs, random_state, progress
        As in `train_machine`.

    Returns
    -------
    machine : MarginMachine
    solutions : list of SemiSupervisedSolution
        One for each pair of classes, positive for the first.

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> machine, _ = train_semi_supervised(
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
    feature_map = explicit_features(X, labeled, kernel, n_landmarks, center_of(X, kernel), random)
    double = len(used) * feature_map.dimension <= MAX_DOUBLE
    dtype = np.float64 if double else np.float32
    F = feature_map.table(X, used, n_jobs=n_jobs, dtype=dtype)
    n_classes, given = int(codes.max()) + 1, codes[used]
    likely = given if n_classes == 2 else _completed(F, given, C, n_jobs)

    def solve(pair: tuple[int, int]) -> SemiSupervisedSolution:
        first, second = pair
        rows = np.flatnonzero((likely == first) | (likely == second) | (likely == UNLABELED))
        signs = (given[rows] == first).astype(np.int64) - (given[rows] == second)
        mean = None
        if class_prior is not None:
            both = class_prior[[first, second]]
            mean = float((both[0] - both[1]) / both.sum())
        return solve_semi_supervised(
            F if len(rows) == len(F) else F[rows],
            signs,
            C=C,
            gamma_u=gamma_u,
            mean=mean,
            solver=solver,
        )

    pairs = list(combinations(range(n_classes), 2))
    solutions = map_in_threads(solve, pairs, n_jobs=n_jobs, progress=progress)
    failure = ""
    if not all(solution.converged for solution in solutions):
        failure = "semi-supervised SVM: not converged; scale the features, or lower C or `gamma_u`"
    described = feature_map.described(X)
    machine = feature_map.machine(
        np.column_stack([solution.weights for solution in solutions]),
        np.array([solution.bias for solution in solutions]),
        n_classes,
        TrainingReport("coordinate descent", C, len(used), failure=failure, **described),
    )
    return machine, solutions


def _completed(F: FloatArray, codes: IntArray, C: float, n_jobs: int | None) -> IntArray:
    """Return the given classes, and for unlabeled rows those of the supervised machine."""
    labeled = codes != UNLABELED
    machine = train_machine(
        F[labeled], codes[labeled], Kernel("linear"), C=C, n_jobs=n_jobs, random_state=0
    )
    return np.where(labeled, codes, machine.decision(F).argmax(axis=1))
