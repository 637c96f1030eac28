"""Choosing gamma_g and C: graphmargin beside fitting every candidate on its own.

All systems have the same candidates and the same folds of held-out labels. Labels are those of the
max-margin function, on which candidates are tested; computing them does not count.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import parallel_config
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, ParameterGrid
from sklearn.svm import SVC

from benchmarks.adapter import Outcome, System
from benchmarks.problems import Problem
from graphmargin import LabeledKFold, MaxMarginGraphCut, harmonic_solution, knn_graph
from graphmargin.graph.weights import paper_width
from graphmargin.margin.induced import induced_labels

Grid = dict[str, list[float]]

FIXED = {"gamma_g": 0.1, "C": 10.0}
"""The single fit, in the middle of the grids."""

AUTO_GRID: Grid = {"gamma_g": [np.inf, 10.0, 1.0, 0.1, 0.01], "C": [1.0, 10.0, 100.0]}
"""Candidates that "auto" stands for on the letter table."""

FULL_GRID: Grid = {"gamma_g": [*np.logspace(-3, 3, 12).tolist(), np.inf], "C": [1.0, 10.0, 100.0]}

FOLDS = LabeledKFold(5, random_state=0)


def n_fits(grid: Grid) -> int:
    """Return how often `GridSearchCV` fits: every candidate in every fold, and the best again."""
    return len(ParameterGrid(grid)) * FOLDS.n_splits + 1


def _model(problem: Problem, k: int, **parameters: Any) -> MaxMarginGraphCut:
    return MaxMarginGraphCut(n_neighbors=k, metric=problem.metric, random_state=0, **parameters)


def _outcome(problem: Problem, fitted: Any) -> Outcome:
    return Outcome(lambda: fitted.predict(problem.X))


def _fixed(problem: Problem, k: int) -> Outcome:
    return _outcome(problem, _model(problem, k, **FIXED).fit(problem.X, problem.y_few))


def _auto(problem: Problem, k: int) -> Outcome:
    return _outcome(problem, _model(problem, k).fit(problem.X, problem.y_few))


def _search(problem: Problem, k: int) -> Outcome:
    lists = _model(problem, k, **FULL_GRID, class_mass_normalization=False, cv=FOLDS)
    return _outcome(problem, lists.fit(problem.X, problem.y_few))


def grid_search(problem: Problem, k: int, grid: Grid, n_jobs: int | None = None) -> GridSearchCV:
    """Return scikit-learn's search, fitted; rows whose label is held out are not in the graph."""
    search = GridSearchCV(
        _model(problem, k, **FIXED), grid, cv=FOLDS, n_jobs=n_jobs, error_score="raise"
    )
    return search.fit(problem.X, problem.y_few)


def _naive(problem: Problem, k: int) -> Outcome:
    return _outcome(problem, grid_search(problem, k, AUTO_GRID))


def _naive_full(problem: Problem, k: int) -> Outcome:
    return _outcome(problem, grid_search(problem, k, FULL_GRID))


def _naive_in_processes(problem: Problem, k: int) -> Outcome:
    with parallel_config("loky", inner_max_num_threads=1):  # no more threads than the others have
        return _outcome(problem, grid_search(problem, k, FULL_GRID, n_jobs=-1))


def _one_fit_of(problem: Problem, k: int) -> Outcome:
    """Fit and test one candidate in one fold, from which the time of the search is estimated."""
    train, test = next(FOLDS.split(problem.X, problem.y_few))
    model = _model(problem, k, **FIXED).fit(problem.X[train], problem.y_few[train])
    model.score(problem.X[test], problem.y_few[test])
    return Outcome(None, stands_for=n_fits(AUTO_GRID))


def _loop_with_svc(problem: Problem, k: int) -> Outcome:
    """Search by a loop over machines that share one graph and one kernel matrix."""
    X, y_few = problem.X, problem.y_few
    W = knn_graph(X, k, metric=problem.metric, random_state=0)
    K = rbf_kernel(X, gamma=0.5 / paper_width(X) ** 2)

    def machines(y_left: Any, gamma_g: float, Cs: list[float]) -> tuple[Any, list[SVC]]:
        solution = harmonic_solution(W, y_left, gamma_g=gamma_g)
        learned = induced_labels(solution)
        rows = np.flatnonzero(learned.mask)
        labels = solution.problem.labels.classes[learned.codes[rows]]
        block, weights = K[np.ix_(rows, rows)], learned.weights[rows]
        svms = [SVC(C=C, kernel="precomputed", break_ties=True) for C in Cs]
        return rows, [svm.fit(block, labels, sample_weight=weights) for svm in svms]

    scores = np.zeros((len(FULL_GRID["gamma_g"]), len(FULL_GRID["C"])))
    for y_left, tested in FOLDS.split_labels(y_few):
        for i, gamma_g in enumerate(FULL_GRID["gamma_g"]):
            rows, svms = machines(y_left, gamma_g, FULL_GRID["C"])
            block = K[np.ix_(tested, rows)]
            scores[i] += [svm.score(block, y_few[tested]) for svm in svms]
    i, j = np.unravel_index(scores.argmax(), scores.shape)
    rows, (best,) = machines(y_few, FULL_GRID["gamma_g"][i], [FULL_GRID["C"][j]])
    return Outcome(lambda: best.predict(K[:, rows]))


LETTER_ROWS = 20_000

SELECTION_SYSTEMS: dict[str, System] = {
    "MaxMarginGraphCut, fixed gamma_g and C": System(_fixed, warm_up_rows=LETTER_ROWS),
    "MaxMarginGraphCut, automatic": System(_auto, warm_up_rows=LETTER_ROWS),
    "GridSearchCV, 15 candidates (estimate: 76 x one fit)": System(
        _one_fit_of, warm_up_rows=LETTER_ROWS
    ),
    "GridSearchCV, 15 candidates": System(_naive),
    "MaxMarginGraphCut, 39 candidates": System(_search),
    "GridSearchCV, 39 candidates": System(_naive_full),
    "GridSearchCV, 39 candidates, in processes": System(_naive_in_processes),
    "loop over scikit-learn SVC, 39 candidates": System(_loop_with_svc),
}
