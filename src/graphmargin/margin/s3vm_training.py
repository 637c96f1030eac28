"""Training of semi-supervised SVMs: features of all rows, then pairs of classes.

With several classes, a pair learns from its labels and from those unlabeled rows that the
supervised machine assigns to one of the two. Other rows would only push away a boundary that does
not concern them, as they do in one-vs-rest, where a single boundary has to go around every class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from graphmargin._checks import check_random_state, check_real
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED
from graphmargin.margin._solvers.annealing import anneal_pairs
from graphmargin.margin._solvers.feature_maps import FeatureMap, explicit_features
from graphmargin.margin._solvers.feature_training import (
    MAX_FEATURE_ROWS,
    N_LANDMARKS,
    feature_precision,
)
from graphmargin.margin._solvers.kernel_training import train_on_kernel
from graphmargin.margin.class_weights import weights_of_rows
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, predicted_codes
from graphmargin.margin.pairs import class_pairs
from graphmargin.margin.s3vm import MAX_KERNEL, S3VMSolution, solve_s3vm
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
SMOOTH_TOLERANCES = 1e-4, 1e-3
"""Tolerances of smooth machines, for the values of gamma_u asked for, and in other stages."""
MAX_PAIR_ROWS, MAX_ROWS_OF_PAIRS, MIN_PAIR_ROWS = 2000, 150_000, 100
"""Largest number of unlabeled rows of a pair of classes and of all pairs, unless a pair has few."""


@dataclass(frozen=True)
class PairProblem:
    """The rows of a pair of classes and their signs, 1 for the first class and 0 for unlabeled."""

    rows: IntArray
    signs: IntArray
    factor: float
    """Number of unlabeled rows that each of these represents."""
    class_weight: tuple[float, float]
    mean: float | None


def train_s3vm(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    *,
    C: Sequence[float],
    gamma_us: Sequence[float],
    class_weight: Sequence[float] | None = None,
    class_prior: FloatArray | None = None,
    approximation: Approximation = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> list[tuple[MarginMachine, list[S3VMSolution]]]:
    """Return semi-supervised machines on rows X (eq. S3VM) and the solutions of their pairs.

    All machines share their features, and those with the same C the path of growing gamma_u.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each labeled row, -1 for the others; every class 0..c-1 occurs.
    kernel : Kernel
    C : sequence of m floats > 0
        1 / (2 gamma), the weight of the hinge losses of each machine.
    gamma_us : sequence of m floats >= 0
        Weight of the hat losses of each machine; 0 is the supervised machine.
    class_weight : sequence of c floats > 0, default=None
        Factors of the hinge losses of each class; the hat losses of unlabeled rows have none.
    class_prior : array of shape (c,), default=None
        Shares of the classes among the unlabeled rows, which fix the mean of f there; None
        leaves it free.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        Features are the rows for a linear kernel on dense X, else kernel values to landmarks:
        all rows with "none", 500 of them with "nystroem", and all of up to 1,000 with "auto".
        Of more than 2,000 unlabeled rows of a pair of classes, or 150,000 of all pairs, a sample
        with larger weights is used.
    n_jobs, random_state, progress
        As in `train_machine`.

    Returns
    -------
    list of m pairs of MarginMachine and list of S3VMSolution
        A solution for each pair of classes, with f positive for the first one.

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> [(machine, _)] = train_s3vm(
    ...     X, np.array([0, -1, -1, -1, -1, 1]), Kernel("linear"), C=[10.0], gamma_us=[1.0]
    ... )
    >>> machine.decision(X).round(2).tolist()
    [-2.2, -1.4, -1.0, 1.0, 1.4, 1.8]
    """
    check_approximation(approximation, kernel.kind)
    for gamma_u in gamma_us:
        check_real("gamma_u", gamma_u, hint="; 0 is the supervised machine")
    random = check_random_state(random_state)
    feature_map, used = _feature_map(X, codes, kernel, MAX_FEATURE_ROWS, approximation, random)
    double = len(used) * feature_map.dimension <= MAX_DOUBLE_ENTRIES
    dtype = np.float64 if double else np.float32
    F = feature_map.transform_rows(X, used, n_jobs=n_jobs, dtype=dtype)
    factor = _represented(codes, used)
    n_classes, given = int(codes.max()) + 1, codes[used]
    costs = [1.0] * n_classes if class_weight is None else class_weight
    paths = [(value, np.flatnonzero(np.asarray(C) == value)) for value in dict.fromkeys(C)]
    assignments = []
    for value, machines in paths:
        completed = given
        if n_classes > 2:
            supervised = train_supervised(F, given, C=value, class_weight=costs, n_jobs=n_jobs)
            completed = complete(F, given, *supervised)
        problems = pair_problems(given, completed, costs, class_prior, random)
        assignments += [(value, machines, problem) for problem in problems]

    def solve(assignment: tuple[float, IntArray, PairProblem]) -> list[S3VMSolution]:
        value, machines, problem = assignment
        return solve_s3vm(
            F if len(problem.rows) == len(F) else F[problem.rows],
            problem.signs,
            C=value,
            gamma_us=[factor * problem.factor * gamma_us[m] for m in machines],
            class_weight=problem.class_weight,
            mean=problem.mean,
        )

    solved = map_in_threads(solve, assignments, n_jobs=n_jobs, progress=progress)
    by_machine: list[list[S3VMSolution]] = [[] for _ in C]
    for (_, machines, _), solutions in zip(assignments, solved, strict=True):
        for m, solution in zip(machines, solutions, strict=True):
            by_machine[m].append(solution)
    fields = feature_map.report_fields(X)
    trained = []
    for value, solutions in zip(C, by_machine, strict=True):
        failure = ""
        if not all(solution.converged for solution in solutions):
            failure = (
                "semi-supervised SVM: the solver did not converge; scale the features, or lower "
                "`C` or `gamma_u`"
            )
        machine = feature_map.machine_from_weights(
            np.column_stack([solution.weights for solution in solutions]),
            np.array([solution.bias for solution in solutions]),
            n_classes,
            TrainingReport("coordinate descent", value, len(used), failure=failure, **fields),
        )
        trained.append((machine, solutions))
    return trained


def train_smooth(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    *,
    C: Sequence[float],
    gamma_us: Sequence[float],
    class_weight: Sequence[float] | None = None,
    class_prior: FloatArray | None = None,
    approximation: Approximation = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
) -> list[MarginMachine]:
    """Return machines that minimize the smooth objective of `anneal`, in a fraction of the time.

    The parameters are those of `train_s3vm`. Of more than 1,000 unlabeled rows for each class, a
    sample with larger weights is used, of fewer if classes are more than twelve.

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> (machine,) = train_smooth(
    ...     X, np.array([0, -1, -1, -1, -1, 1]), Kernel("linear"), C=[10.0], gamma_us=[1.0]
    ... )
    >>> machine.decision(X).round(1).tolist()
    [-2.9, -1.9, -1.3, 1.3, 1.9, 2.4]
    """
    check_approximation(approximation, kernel.kind)
    n_classes = int(codes.max()) + 1
    n_pairs = n_classes * (n_classes - 1) // 2
    limit = min(MAX_PAIR_ROWS, MAX_ROWS_OF_PAIRS // n_pairs) * n_classes // 2
    random = check_random_state(random_state)
    feature_map, used = _feature_map(X, codes, kernel, limit, approximation, random)
    functions = anneal_features(
        feature_map.transform_rows(X, used, n_jobs=n_jobs, dtype=feature_precision(kernel)),
        codes[used],
        C=C,
        gamma_us=[_represented(codes, used) * gamma_u for gamma_u in gamma_us],
        class_weight=class_weight,
        class_prior=class_prior,
        tolerances=SMOOTH_TOLERANCES,
        n_jobs=n_jobs,
    )
    fields = feature_map.report_fields(X)
    return [
        feature_map.machine_from_weights(
            *function, n_classes, TrainingReport("L-BFGS", value, len(used), **fields)
        )
        for value, function in zip(C, functions, strict=True)
    ]


def anneal_features(
    F: FloatArray,
    codes: IntArray,
    *,
    C: Sequence[float],
    gamma_us: Sequence[float],
    class_weight: Sequence[float] | None,
    class_prior: FloatArray | None,
    tolerances: tuple[float, float],
    n_jobs: int | None,
) -> list[tuple[FloatArray, FloatArray]]:
    """Return weights (r, n_pairs) and intercepts (n_pairs,) of m machines on features F.

    They minimize the smooth objective of `anneal`; those with ``gamma_u = 0`` are supervised
    machines, at which paths of growing gamma_u with the same C start.
    """
    is_supervised = (codes != UNLABELED).all()
    costs = [1.0] * (int(codes.max()) + 1) if class_weight is None else class_weight
    values = np.where(is_supervised, 0.0, gamma_us)
    functions = {}
    for value in set(C):
        supervised = train_supervised(F, codes, C=value, class_weight=costs, n_jobs=n_jobs)
        functions[value, 0.0] = supervised
        positive = np.unique([g for c, g in zip(C, values, strict=True) if c == value and g > 0])
        if not len(positive):
            continue
        weights, intercepts = anneal_pairs(
            F,
            codes,
            complete(F, codes, *supervised),
            *supervised,
            costs=value * np.asarray(costs),
            hat_losses=value * positive,
            means=None if class_prior is None else _pair_means(class_prior),
            tolerances=tolerances,
        )
        annealed = zip(weights, intercepts, strict=True)
        functions |= {(value, g): f for g, f in zip(positive.tolist(), annealed, strict=True)}
    return [functions[key] for key in zip(C, values.tolist(), strict=True)]


def _feature_map(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    max_unlabeled: int,
    approximation: Approximation,
    random: np.random.RandomState,
) -> tuple[FeatureMap, IntArray]:
    """Return a feature map, and the rows to train on: all labeled ones and a sample of others."""
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    if len(unlabeled) > max_unlabeled and kernel.kind != "precomputed":
        unlabeled = random.permutation(unlabeled)[:max_unlabeled]
    exact = approximation == "none" or (approximation == "auto" and len(codes) <= MAX_EXACT)
    feature_map = explicit_features(
        X, labeled, kernel, len(codes) if exact else N_LANDMARKS, choose_center(X, kernel), random
    )
    return feature_map, np.sort(np.concatenate([labeled, unlabeled]))


def _represented(codes: IntArray, used: IntArray) -> float:
    """Return the number of unlabeled rows that each of those in a sample represents."""
    return float((codes == UNLABELED).sum() / max(1, (codes[used] == UNLABELED).sum()))


def _pair_means(class_prior: FloatArray) -> FloatArray:
    """Return the mean of f over the unlabeled rows of each pair, from the shares of its classes."""
    first, second = class_prior[class_pairs(len(class_prior))].T
    return np.asarray((first - second) / (first + second))


def pair_problems(
    codes: IntArray,
    completed: IntArray,
    class_weight: Sequence[float],
    class_prior: FloatArray | None,
    random: np.random.RandomState,
) -> Iterator[PairProblem]:
    """Yield the problem of each pair of classes.

    `completed` has the classes that the supervised machine predicts for unlabeled rows, or -1 where
    they belong to the only pair. A pair has a sample of at most 2,000 unlabeled rows, and all pairs
    together of about 150,000.
    """
    pairs = list(combinations(range(len(class_weight)), 2))
    means = [None] * len(pairs) if class_prior is None else _pair_means(class_prior).tolist()
    limit = min(MAX_PAIR_ROWS, max(MIN_PAIR_ROWS, MAX_ROWS_OF_PAIRS // len(pairs)))
    for (first, second), mean in zip(pairs, means, strict=True):
        rows = np.flatnonzero(np.isin(completed, [first, second, UNLABELED]))
        factor, is_unlabeled = 1.0, codes[rows] == UNLABELED
        n_unlabeled = int(is_unlabeled.sum())
        if n_unlabeled > limit:
            factor = n_unlabeled / limit
            drawn = random.choice(rows[is_unlabeled], limit, replace=False)
            rows = np.sort(np.concatenate([rows[~is_unlabeled], drawn]))
        signs = (codes[rows] == first).astype(np.int64) - (codes[rows] == second)
        costs = (class_weight[first], class_weight[second])
        yield PairProblem(rows, signs, factor, costs, mean)


def train_supervised(
    F: FloatArray,
    codes: IntArray,
    *,
    C: float,
    class_weight: Sequence[float],
    n_jobs: int | None,
) -> tuple[FloatArray, FloatArray]:
    """Return weights (r, n_pairs) and intercepts (n_pairs,) of the machine of labeled rows."""
    labeled = np.flatnonzero(codes != UNLABELED)
    given, rows = codes[labeled], F[labeled]
    costs = weights_of_rows(class_weight, given)
    if len(labeled) <= MAX_KERNEL:
        rows = rows.astype(np.float64, copy=False)
        machine = train_on_kernel(rows @ rows.T, given, C=C, sample_weight=costs, n_jobs=n_jobs)
        return rows[machine.vectors].T @ machine.coefficients, machine.intercepts
    machine = train_machine(
        rows, given, Kernel("linear"), C=C, sample_weight=costs, n_jobs=n_jobs, random_state=0
    ).collapse_linear()
    weights = machine.coefficients
    return weights, machine.intercepts - np.broadcast_to(machine.center, F.shape[1]) @ weights


def complete(
    F: FloatArray, codes: IntArray, weights: FloatArray, intercepts: FloatArray
) -> IntArray:
    """Return the given classes, and those that the supervised machine predicts elsewhere."""
    unlabeled = codes == UNLABELED
    pairwise = F[unlabeled] @ weights + intercepts
    completed = codes.copy()
    completed[unlabeled] = predicted_codes(class_scores(pairwise, int(codes.max()) + 1))
    return completed
