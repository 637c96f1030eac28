"""Harmonic solutions without held-out labels, of all folds with one elimination order."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy import sparse

from graphmargin._blocks import chunk_ranges
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.problem import HarmonicProblem, check_gamma_g
from graphmargin.harmonic.solution import HarmonicSolution, assemble_solution
from graphmargin.harmonic.system import (
    EMPTY_SOLUTION,
    HARD_LABEL_RATE,
    HarmonicSystem,
    Solver,
    SystemSolution,
)

BATCH_MEMORY = 500_000_000
"""Largest size in bytes of the solutions that are computed together."""


def fold_solutions(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    folds: Sequence[IntArray],
    *,
    solver: Solver = "auto",
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> Iterator[list[HarmonicSolution]]:
    """Yield the solutions for several gamma_g, without the held-out labels of each fold.

    The free vertices depend on the fold, and so would the matrix of eq. reg HFS. Here all vertices
    are free in all folds, and a hard label that a fold keeps absorbs at a huge rate. The systems
    then differ in their rates alone, so that one elimination order (or one coarse graph) serves
    all of them. Masses agree with those of `solve_path` to about 1e-8.

    Parameters
    ----------
    problem : HarmonicProblem
        Problem with all labels.
    gammas : sequence of float >= 0
    folds : sequence of arrays
        Labeled vertices whose labels are held out.
    solver, n_jobs, progress
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
    vertices = np.flatnonzero(problem.reached)
    edges = sparse.csr_array(problem.W[vertices][:, vertices])
    degrees = np.asarray(edges.sum(axis=1))
    system = HarmonicSystem(edges, solver, n_jobs=n_jobs)
    n_classes = len(problem.labels.classes)
    memory = 8 * len(vertices) * (n_classes + 1) * max(1, len(finite))
    for first, last in chunk_ranges(len(folds), max(1, BATCH_MEMORY // memory)):
        if progress is not None:
            progress(first / len(folds), f"fold {first + 1} of {len(folds)}")
        problems = [problem.without_labels(rows) for rows in folds[first:last]]
        rates = [_rates(fold, vertices, degrees, value) for fold in problems for value in finite]
        solved = iter(system.solve(rates, n_classes) if rates else [])
        for fold in problems:
            rows = np.searchsorted(vertices, fold.free)
            solutions = {value: _select_rows(next(solved), rows) for value in finite}
            yield [
                assemble_solution(fold, value, solutions.get(value, EMPTY_SOLUTION))
                for value in values
            ]


def _select_rows(solved: SystemSolution, rows: IntArray) -> SystemSolution:
    return replace(solved, X=solved.X[rows], best=solved.best[rows])


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
