"""The threads of the caller reach every function that solves systems."""

import numpy as np
import pytest

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, leave_one_out, suggest_labels
from graphmargin.harmonic._solvers import iterative, system
from graphmargin.harmonic.folds import fold_solutions
from graphmargin.harmonic.solution import absorption_probabilities
from graphmargin.harmonic.suspicion import label_suspicion
from graphmargin.reports import graph_report
from tests.harmonic.problems import eliminate_nothing, first_labels


def solve_again(solution, **options):
    problem = solution.problem
    return harmonic_solution(problem.W, problem.labels.codes, gamma_g=0.01, **options).class_mass


def solve_folds(solution, **options):
    folds = fold_solutions(solution.problem, [0.01, 1.0], [np.arange(3), np.array([7])], **options)
    return np.array([solution.class_mass for solutions in folds for solution in solutions])


FUNCTIONS = {
    "harmonic_solution": solve_again,
    "fold_solutions": solve_folds,
    "leave_one_out": lambda solution, **options: leave_one_out(solution, **options).class_mass,
    "label_suspicion": lambda solution, **options: label_suspicion(solution, **options).suspicion,
    "absorption_probabilities": lambda solution, **options: absorption_probabilities(
        solution, np.arange(20, 25), **options
    ),
    "explain": lambda solution, **options: solution.explain(20, **options).shares,
    "graph_report": lambda solution, **options: (
        graph_report(solution, **options).leave_one_out_error
    ),
}


@pytest.fixture
def solution():
    X = np.random.default_rng(0).normal(size=(400, 2))
    codes = first_labels(400, np.arange(12) % 3)
    return harmonic_solution(knn_graph(X, n_neighbors=6), codes, gamma_g=0.01)


@pytest.fixture
def threads(monkeypatch):
    """Let small graphs be solved by iterations in threads, and return how many were asked for."""
    monkeypatch.setattr(system, "MIN_AGGREGATED", 100)
    monkeypatch.setattr(iterative, "MIN_ROWS_AT_ONCE", 64)
    original, n_threads = iterative.conjugate_gradients, []

    def conjugate_gradients(*system, n_jobs, **options):
        n_threads.append(n_jobs)
        return original(*system, n_jobs=n_jobs, **options)

    monkeypatch.setattr(iterative, "conjugate_gradients", conjugate_gradients)
    return n_threads


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_do_not_depend_on_the_number_of_threads(name, solution, threads, monkeypatch):
    eliminate_nothing(monkeypatch)
    results = []
    for n_jobs in (1, 2, None):
        threads.clear()
        results.append(FUNCTIONS[name](solution, n_jobs=n_jobs))
        # Folds share the threads, so that each has fewer of them.
        assert name == "fold_solutions" or set(threads) == {n_jobs}
    np.testing.assert_array_equal(results[1], results[0])
    np.testing.assert_array_equal(results[2], results[0])


def test_suggestions_do_not_depend_on_the_number_of_threads(solution):
    first, second = (suggest_labels(solution, 5, n_jobs=n_jobs) for n_jobs in (1, 2))
    np.testing.assert_array_equal(first.vertices, second.vertices)
    np.testing.assert_array_equal(first.gain, second.gain)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_do_not_depend_on_the_solver(name, solution, threads, monkeypatch):
    exact = FUNCTIONS[name](solution)
    assert threads == []
    eliminate_nothing(monkeypatch)
    atol = 1e-5 if name == "fold_solutions" else 1e-6
    np.testing.assert_allclose(FUNCTIONS[name](solution), exact, atol=atol)
    assert len(threads) > 0
