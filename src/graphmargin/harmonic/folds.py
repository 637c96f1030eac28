"""Harmonic solutions without held-out labels, of all folds together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic._solvers.elimination import MAX_FLOPS
from graphmargin.harmonic._solvers.label_graph import UnlabeledElimination, eliminate_unlabeled
from graphmargin.harmonic._solvers.system import (
    EMPTY_SOLUTION,
    HARD_LABEL_RATE,
    HarmonicSystem,
)
from graphmargin.harmonic.problem import HarmonicProblem, check_gamma_g
from graphmargin.harmonic.solution import HarmonicSolution, assemble_solution, solve_path

FLOPS_PER_MASS = 1000
"""Cost of an iteration, in multiply-adds for each mass of all folds."""
FOLD_TOLERANCE = 1e-6
"""Distance from the mean of neighbors at which iterations end if labels are held out."""
BATCH_MEMORY = 500_000_000
"""Largest size in bytes of the solutions that are computed together."""


def fold_solutions(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    folds: Sequence[IntArray],
    *,
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Iterator[list[HarmonicSolution]]:
    """Yield the solutions for several gamma_g, without the held-out labels of each fold.

    Where the fill is affordable, unlabeled vertices are eliminated once for each gamma_g, and folds
    are solved on the labeled ones (`LabelGraph`). Else, all vertices are free in all folds, and a
    hard label that a fold keeps absorbs at a huge rate: the systems then differ in their rates
    alone and share a coarse graph. Iterations end when labels are certain if none is held out, else
    earlier: their masses agree with those of `solve_path` to about 1e-5, all others to 1e-8.

    Parameters
    ----------
    problem : HarmonicProblem
        Problem with all labels.
    gammas : sequence of float >= 0
    folds : sequence of arrays
        Labeled vertices whose labels are held out.
    n_jobs, progress
        As in `harmonic_solution`.

    Yields
    ------
    list of HarmonicSolution
        A solution for each gamma_g. As many folds are solved at a time as fit into 500 MB.

    Examples
    --------
    >>> from graphmargin.harmonic.problem import harmonic_problem
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> problem = harmonic_problem(path, ["a", "b", "b"])
    >>> folds = [np.array([0]), np.array([1, 2])]
    >>> [[s.labels.tolist() for s in path] for path in fold_solutions(problem, [0.0], folds)]
    [[['b', 'b', 'b']], [['a', 'a', 'a']]]
    """
    values = [check_gamma_g(gamma_g) for gamma_g in gammas]
    finite = sorted({value for value in values if np.isfinite(value)})
    solve = _solver_of_folds(problem, finite, len(folds), n_jobs)
    memory = 8 * len(problem.trust) * (len(problem.labels.classes) + 1) * max(1, len(finite))
    for first, last in chunk_ranges(len(folds), max(1, BATCH_MEMORY // memory)):
        if progress is not None:
            progress(first / len(folds), f"fold {first + 1} of {len(folds)}")
        problems = [problem.without_labels(rows) for rows in folds[first:last]]
        for fold, solutions in zip(problems, solve(problems), strict=True):
            yield [
                solutions[value]
                if value in solutions
                else assemble_solution(fold, value, EMPTY_SOLUTION)
                for value in values
            ]


FoldSolver = Callable[[Sequence[HarmonicProblem]], list[dict[float, HarmonicSolution]]]
"""A function that solves problems with some of the labels for all finite gamma_g."""


def _solver_of_folds(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    n_folds: int,
    n_jobs: int | None,
) -> FoldSolver:
    n_masses = len(problem.trust) * len(problem.labels.classes) * n_folds
    max_flops = max(MAX_FLOPS, FLOPS_PER_MASS * n_masses)
    eliminations = eliminate_unlabeled(problem, gammas, max_flops=max_flops, n_jobs=n_jobs)
    if eliminations is not None:
        return _solver_by_elimination(eliminations, n_jobs)
    return _solver_by_rates(problem, gammas, n_jobs)


def _solver_by_elimination(
    eliminations: Sequence[UnlabeledElimination], n_jobs: int | None
) -> FoldSolver:
    """Return the solver on labeled vertices, all others being eliminated."""

    def solve(folds: Sequence[HarmonicProblem]) -> list[dict[float, HarmonicSolution]]:
        solutions: list[dict[float, HarmonicSolution]] = [{} for _ in folds]
        by_gamma = map_in_threads(lambda one: one.solve(folds), eliminations, n_jobs=n_jobs)
        for elimination, solved in zip(eliminations, by_gamma, strict=True):
            gamma_g = elimination.gamma_g
            for fold, result, of_fold in zip(folds, solved, solutions, strict=True):
                if result is not None:
                    of_fold[gamma_g] = assemble_solution(fold, gamma_g, result)
                else:
                    (of_fold[gamma_g],) = solve_path(fold, [gamma_g], n_jobs=n_jobs)
        return solutions

    return solve


def _solver_by_rates(
    problem: HarmonicProblem, gammas: Sequence[float], n_jobs: int | None
) -> FoldSolver:
    """Return the solver on all vertices that labels reach, which differ in their rates alone."""
    vertices = np.flatnonzero(problem.reached)
    edges = sparse.csr_array(problem.W[vertices][:, vertices])
    degrees = np.asarray(edges.sum(axis=1))
    # An elimination for each fold would take longer than iterations.
    system = HarmonicSystem(edges, "cg", n_jobs=n_jobs)
    n_labels, n_classes = problem.labels.labeled.sum(), len(problem.labels.classes)

    def solve(folds: Sequence[HarmonicProblem]) -> list[dict[float, HarmonicSolution]]:
        solutions: list[dict[float, HarmonicSolution]] = [{} for _ in folds]
        lacks_labels = [fold.labels.labeled.sum() < n_labels for fold in folds]
        for tol in (None, FOLD_TOLERANCE):
            part = [
                (fold, gamma_g, of_fold)
                for fold, lacks, of_fold in zip(folds, lacks_labels, solutions, strict=True)
                if lacks == (tol is not None)
                for gamma_g in gammas
            ]
            rates = [_rates(fold, vertices, degrees, gamma_g) for fold, gamma_g, _ in part]
            solved = system.solve(rates, n_classes, tol=tol)
            for (fold, gamma_g, of_fold), result in zip(part, solved, strict=True):
                rows = np.searchsorted(vertices, fold.free)
                free = replace(result, X=result.X[rows], best=result.best[rows])
                of_fold[gamma_g] = assemble_solution(fold, gamma_g, free)
        return solutions

    return solve


def _rates(
    problem: HarmonicProblem, vertices: IntArray, degrees: FloatArray, gamma_g: float
) -> FloatArray:
    """Return the rates of absorption of all vertices, those with a hard label included."""
    hard = problem.hard[vertices]
    leaving = gamma_g + degrees
    hard_rate = HARD_LABEL_RATE * np.where(leaving > 0, leaving, 1.0)
    trust = np.where(hard, hard_rate, problem.trust[vertices])
    sink = gamma_g + np.where(problem.labels.labeled[vertices], 0.0, problem.c_unlabeled)
    # In a component whose labels are all held out, the walk would never end, or only in a sink that
    # is small compared with the weights.
    ending = np.where(degrees > 0, degrees, 1.0)
    sink = np.where(problem.reached[vertices], sink, np.maximum(sink, ending))
    return np.column_stack([trust[:, None] * problem.labels.one_hot[vertices], sink])
