"""The walk between labeled vertices; its solutions are compared in test_folds.py."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.harmonic import folds
from graphmargin.harmonic._solvers.label_walk import label_walks
from graphmargin.harmonic.folds import fold_solutions
from graphmargin.harmonic.problem import harmonic_problem
from graphmargin.harmonic.solution import solve_path
from tests.harmonic.problems import N, first_labels

CODES = first_labels(N, [0, 1, 2, 0, 1, 2])


@pytest.mark.parametrize("gamma_g", [0.0, 0.3])
def test_walk_reaches_each_label_with_the_probability_of_the_whole_graph(random_graph, gamma_g):
    W = random_graph(N, 0)
    (walk,) = label_walks(harmonic_problem(W, CODES), [gamma_g], max_flops=1e6)
    edges, sink = walk.elimination.kept_walk()
    labeled = CODES >= 0
    A = np.diag(W.sum(axis=1) + gamma_g) - W
    to_labels = np.linalg.solve(A[~labeled][:, ~labeled], W[~labeled][:, labeled])
    through = W[labeled][:, ~labeled] @ to_labels + W[labeled][:, labeled]
    np.testing.assert_allclose(edges, through - np.diag(np.diag(through)), atol=1e-12)
    ends = W[labeled].sum(axis=1) - through.sum(axis=1)
    np.testing.assert_allclose(sink, ends, atol=1e-12)


def test_more_than_four_gamma_g_are_eliminated_in_groups(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    gammas = [0.0, 0.01, 0.1, 1.0, 10.0, 100.0]
    for walk in label_walks(problem, gammas, max_flops=1e6):
        hidden = problem.without_labels([1, 3])
        (expected,) = solve_path(hidden, [walk.gamma_g])
        solved, complete = walk.solve([hidden, problem])
        np.testing.assert_allclose(
            solved.X[:, :3], expected.class_mass[hidden.free], rtol=1e-9, atol=1e-300
        )
        assert complete.residual < 1e-14
        assert np.isnan(solved.residual)


def test_too_much_work_gives_no_walk_and_the_folds_are_solved_otherwise(random_graph, monkeypatch):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    assert label_walks(problem, [0.1], max_flops=10) is None
    (expected,) = fold_solutions(problem, [0.1], [np.array([0, 4])])
    monkeypatch.setattr(folds, "label_walks", lambda *_, **__: None)
    (otherwise,) = fold_solutions(problem, [0.1], [np.array([0, 4])])
    assert otherwise[0].solver == "cg"
    np.testing.assert_allclose(otherwise[0].class_mass, expected[0].class_mass, atol=1e-5)


def test_masses_that_underflow_are_solved_by_themselves():
    n = 250
    W = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n))
    problem = harmonic_problem(W, np.r_[0, 1, np.full(n - 3, -1), 1])
    (walk,) = label_walks(problem, [1e6], max_flops=1e6)
    assert walk.solve([problem.without_labels([0])]) == [None]
    ((solution,),) = fold_solutions(problem, [1e6], [np.array([0])])
    assert (solution.codes == 1).all()
