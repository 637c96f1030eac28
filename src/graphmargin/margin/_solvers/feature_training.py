"""Training of max-margin machines on explicit features, several of them on the same features.

Machines that are to be blended have the same rows and kernel, and differ in their labels, in the
weights of the losses or in C. They share landmarks, features and class means, and for each pair of
classes the dual variables of one machine are the start of the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_random_state
from graphmargin._rows import MAGNITUDES, largest_magnitude
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.margin._solvers.coordinate_descent import (
    MAX_EPOCHS,
    RELATIVE_GAP,
    LinearProblem,
    LinearSolution,
    solve_centered,
)
from graphmargin.margin._solvers.feature_maps import (
    FeatureMap,
    landmark_features,
    row_features,
    rows_are_features,
    stratified_sample,
)
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.margin.pairs import (
    MarginProblem,
    class_pairs,
    failure_message,
    pair_rows,
    rows_by_class,
)

N_LANDMARKS = 500
"""Number of landmarks. On letters, 98.4 % (300), 99.2 % (600) and 99.5 % (1000) of the predictions
are the exact ones."""
MAX_FEATURE_ROWS = 200_000
"""Largest number of rows to learn from by landmark features; of more rows, a sample is drawn."""
LINEAR_GAP = RELATIVE_GAP / 5
"""Relative gap for rows that are features themselves: these are few and exact."""


def train_on_features(
    X: Any,
    problems: Sequence[MarginProblem],
    kernel: Kernel,
    *,
    center: FloatArray | float,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> list[MarginMachine]:
    """Return machines on the same explicit features: the rows, or kernel values to landmarks.

    Rows that are features themselves are all used. With landmarks, a sample of more than 200,000
    rows is drawn, in which the losses of a class are weighted to represent the whole class.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
    problems : sequence of MarginProblem
        Problems on these rows, for the same classes.
    kernel, center, n_jobs, random_state, progress
        As in `graphmargin.margin.training.train_machine`.

    Returns
    -------
    list of MarginMachine
        With m landmarks, it takes time O(n m (m + d)) and memory O(n m).

    Examples
    --------
    >>> X = np.array([[-1.0], [1.0], [2.0]])
    >>> problem = MarginProblem(np.array([0, 1, 1]), np.ones(3), 10.0)
    >>> (machine,) = train_on_features(X, [problem], Kernel("linear"), center=0.0)
    >>> machine.decision(X).round(1).tolist()
    [-1.0, 1.0, 2.0]
    """
    random = check_random_state(random_state)
    strata = _common_codes(problems)
    used = np.flatnonzero(strata >= 0)
    if rows_are_features(X, kernel):
        feature_map = row_features(kernel, np.broadcast_to(center, X.shape[1]))
        relative_gap = LINEAR_GAP
    else:
        if len(used) > MAX_FEATURE_ROWS:
            used = used[stratified_sample(strata[used], MAX_FEATURE_ROWS, random)]
            used = _with_all_classes(used, problems)
            problems = [_represent_all(problem, used) for problem in problems]
        chosen = used[stratified_sample(strata[used], N_LANDMARKS, random)]
        precision = np.float64 if sparse.issparse(X) else landmark_precision(kernel, X)
        landmarks = X[chosen].astype(precision, copy=False)
        feature_map = landmark_features(kernel, landmarks, center)
        relative_gap = RELATIVE_GAP
    used = used[np.argsort(strata[used], kind="stable")]  # the rows of a pair are near in memory
    features = feature_map.transform_rows(X, used, n_jobs=n_jobs)
    seed = int(random.randint(2**31 - 1))
    problems = [problem.at(used) for problem in problems]
    solutions = _solve_centered_pairs(features, problems, relative_gap, seed, n_jobs, progress)
    fields = feature_map.report_fields(X)
    return [
        _machine(feature_map, problem, [pair[i] for pair in solutions], fields)
        for i, problem in enumerate(problems)
    ]


def _common_codes(problems: Sequence[MarginProblem]) -> IntArray:
    """Return the class of each row in the first problem that learns from it, -1 if none does."""
    codes = np.full(len(problems[0].codes), -1)
    for problem in reversed(problems):
        mask = problem.mask
        codes[mask] = problem.codes[mask]
    return codes


def _with_all_classes(rows: IntArray, problems: Sequence[MarginProblem]) -> IntArray:
    """Return a sample of rows with those of classes that a problem would otherwise lack."""
    parts = [rows]
    for problem in problems:
        present = np.unique(problem.codes[rows[problem.mask[rows]]])
        parts.append(np.flatnonzero(problem.mask & ~np.isin(problem.codes, present)))
    return np.unique(np.concatenate(parts))


def _represent_all(problem: MarginProblem, rows: IntArray) -> MarginProblem:
    """Return the problem with larger weights of some rows, which represent their classes."""
    codes, weights = np.where(problem.mask, problem.codes, 0), problem.weights
    share = np.bincount(codes[rows], weights[rows]) / np.bincount(codes, weights)
    return MarginProblem(codes, weights / share[codes], problem.C)


@dataclass(frozen=True)
class _ClassMeans:
    """Class means of the features, and their products with all rows, in double precision."""

    means: FloatArray
    products: FloatArray
    squares: FloatArray

    def pair_problem(
        self, F: FloatArray, pair: IntArray, rows: IntArray, signs: FloatArray, bounds: FloatArray
    ) -> LinearProblem:
        """Return the problem of two classes, centered at the midpoint of their means."""
        center = self.means[pair].mean(axis=0)
        products, square = self.products[np.ix_(rows, pair)].mean(axis=1), center @ center
        return LinearProblem(
            F,
            rows,
            signs.astype(np.float32),
            bounds.astype(np.float32),
            center.astype(np.float32),
            np.maximum(self.squares[rows] - 2 * products + square, 0.0).astype(np.float32),
            products - square,
        )


def _class_means(F: FloatArray, problems: Sequence[MarginProblem]) -> list[_ClassMeans]:
    """Return the class means of each problem: one product with all rows serves all pairs."""
    n, n_classes = len(F), problems[0].n_classes
    indicators = []
    for problem in problems:
        used = np.flatnonzero(problem.mask)
        entries = (np.ones(len(used)), (used, problem.codes[used]))
        indicators.append(sparse.csr_array(entries, shape=(n, n_classes)))
    indicator = sparse.hstack(indicators, format="csr")
    means, squares = np.zeros((indicator.shape[1], F.shape[1])), np.empty(n)
    products = np.empty((n, len(means)))
    blocks = list(row_slices(n, 16 * F.shape[1]))
    for rows in blocks:
        means += indicator[rows].T @ F[rows].astype(np.float64)
    means /= indicator.sum(axis=0)[:, None]
    for rows in blocks:
        block = F[rows].astype(np.float64)
        products[rows] = block @ means.T
        squares[rows] = np.einsum("nd,nd->n", block, block)
    return [
        _ClassMeans(means[classes], products[:, classes], squares)
        for classes in (
            slice(first, first + n_classes) for first in range(0, len(means), n_classes)
        )
    ]


def _solve_centered_pairs(
    F: FloatArray,
    problems: Sequence[MarginProblem],
    relative_gap: float,
    seed: int,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> list[list[LinearSolution]]:
    """Return the solutions of all problems for each pair of classes.

    The dual variables of a pair, as shares of their bounds, are the start of the next problem. The
    problem with the largest C comes first: to get away from bounds takes longer than to reach them.
    """
    n_classes = problems[0].n_classes
    class_means = _class_means(F, problems)
    members = [rows_by_class(problem.codes, problem.weights, n_classes) for problem in problems]
    bounds = [problem.bounds for problem in problems]
    order = sorted(range(len(problems)), key=lambda i: -problems[i].C)

    def solve(pair: IntArray) -> list[LinearSolution]:
        solutions: dict[int, LinearSolution] = {}
        shares = np.zeros(len(F), dtype=np.float32)
        for i in order:
            rows, signs = pair_rows(*(members[i][c] for c in pair))
            problem = class_means[i].pair_problem(F, pair, rows, signs, bounds[i][rows])
            start = signs * shares[rows] * problem.bounds if solutions else None
            solution = solve_centered(problem, start=start, relative_gap=relative_gap, seed=seed)
            shares[rows] = problem.signs * solution.alpha / problem.bounds
            solutions[i] = solution
        return [solutions[i] for i in range(len(problems))]

    return map_in_threads(solve, class_pairs(n_classes), n_jobs=n_jobs, progress=progress)


def _machine(
    feature_map: FeatureMap,
    problem: MarginProblem,
    solutions: Sequence[LinearSolution],
    report_fields: dict[str, Any],
) -> MarginMachine:
    """Return the machine of a problem, from the solutions of its pairs."""
    gap = max(solution.gap for solution in solutions)
    converged = all(solution.converged for solution in solutions)
    report = TrainingReport(
        "coordinate descent",
        problem.C,
        int(np.count_nonzero(problem.weights)),
        gap=gap,
        failure="" if converged else gap_message(gap),
        **report_fields,
    )
    return feature_map.machine_from_weights(
        np.column_stack([solution.weights for solution in solutions]),
        np.array([solution.bias for solution in solutions]),
        problem.n_classes,
        report,
    )


def gap_message(gap: float) -> str:
    """Return the message for coordinate descent that stopped before its gap was small."""
    return failure_message(f"the relative duality gap is {gap:.1e} after {MAX_EPOCHS:,} epochs")


def feature_precision(kernel: Kernel) -> type[np.float32 | np.float64]:
    """Return the precision of features: single for the RBF kernel, else double.

    Other kernels are unbounded, and have small eigenvalues that matter beside large ones.
    """
    return np.float32 if kernel.kind == "rbf" else np.float64


def landmark_precision(kernel: Kernel, X: Any) -> type[np.float32 | np.float64]:
    """Return the precision of landmarks among dense rows, that of the features if they fit in."""
    low, high = MAGNITUDES["float32"]
    fits_single = low <= kernel.width <= high and largest_magnitude(X) <= high
    return feature_precision(kernel) if fits_single else np.float64
