"""The walk from label to label; solutions of folds are compared in test_folds.py."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.harmonic import folds, leave_one_out
from graphmargin.harmonic._solvers.label_graph import LabelGraph, eliminate_unlabeled
from graphmargin.harmonic.folds import fold_solutions
from graphmargin.harmonic.label_updates import LabelSystem
from graphmargin.harmonic.problem import harmonic_problem
from graphmargin.harmonic.solution import solve_path
from tests.harmonic.problems import N, first_labels

CODES = first_labels(N, [0, 1, 2, 0, 1, 2])


def graph_by_elimination(problem, gamma_g):
    (elimination,) = eliminate_unlabeled(problem, [gamma_g], max_flops=1e6)
    return elimination.label_graph()


@pytest.mark.parametrize("gamma_g", [0.0, 0.3])
def test_walk_reaches_each_label_with_the_probability_of_the_whole_graph(random_graph, gamma_g):
    W = random_graph(N, 0)
    graph = graph_by_elimination(harmonic_problem(W, CODES), gamma_g)
    labeled = CODES >= 0
    A = np.diag(W.sum(axis=1) + gamma_g) - W
    to_labels = np.linalg.solve(A[~labeled][:, ~labeled], W[~labeled][:, labeled])
    through = W[labeled][:, ~labeled] @ to_labels + W[labeled][:, labeled]
    np.testing.assert_allclose(graph.edges, through - np.diag(np.diag(through)), atol=1e-12)
    ends = gamma_g + W[labeled].sum(axis=1) - through.sum(axis=1)
    np.testing.assert_allclose(graph.sink, ends, atol=1e-12)


def test_elimination_and_columns_of_the_inverse_give_the_same_graph(random_graph):
    W, gamma_g = random_graph(N, 1), 0.3
    by_elimination = graph_by_elimination(harmonic_problem(W, CODES), gamma_g)
    system = LabelSystem(sparse.csr_array(W), gamma_g)
    by_columns = system.label_graph(CODES, system.inverse(CODES >= 0))
    np.testing.assert_array_equal(by_columns.vertices, by_elimination.vertices)
    np.testing.assert_allclose(by_columns.edges, by_elimination.edges, rtol=1e-7)
    np.testing.assert_allclose(by_columns.sink, by_elimination.sink, rtol=1e-7)


@pytest.mark.parametrize("gamma_g", [0.0, 0.3, 1e4, 1e290])
def test_leaving_one_label_out_is_a_fold_of_one_label(random_graph, gamma_g):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    graph = graph_by_elimination(problem, gamma_g)
    left_out = graph.leave_one_out(CODES, 3)
    (solution,) = solve_path(problem, [gamma_g])
    np.testing.assert_allclose(left_out, leave_one_out(solution).class_mass, rtol=1e-12)
    for row, vertex in enumerate(graph.vertices):
        masses = graph.masses(problem.without_labels([vertex]))
        np.testing.assert_allclose(left_out[row], masses[row, :3], rtol=1e-12)


def test_label_that_walks_cannot_leave_has_no_mass_without_itself():
    graph = LabelGraph(np.array([0, 1]), np.zeros((2, 2)), np.array([0.0, 1.0]))
    assert graph.leave_one_out(np.array([0, 1]), 2).tolist() == [[0, 0], [0, 0]]


def test_more_than_four_gamma_g_are_eliminated_in_groups(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    gammas = [0.0, 0.01, 0.1, 1.0, 10.0, 100.0]
    for elimination in eliminate_unlabeled(problem, gammas, max_flops=1e6):
        hidden = problem.without_labels([1, 3])
        (expected,) = solve_path(hidden, [elimination.gamma_g])
        solved, complete = elimination.solve([hidden, problem])
        np.testing.assert_allclose(
            solved.X[:, :3], expected.class_mass[hidden.free], rtol=1e-9, atol=1e-300
        )
        assert complete.residual < 1e-14
        assert np.isnan(solved.residual)


def test_too_much_work_gives_no_elimination_and_the_folds_are_solved_otherwise(
    random_graph, monkeypatch
):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    assert eliminate_unlabeled(problem, [0.1], max_flops=10) is None
    (expected,) = fold_solutions(problem, [0.1], [np.array([0, 4])])
    monkeypatch.setattr(folds, "eliminate_unlabeled", lambda *_, **__: None)
    (otherwise,) = fold_solutions(problem, [0.1], [np.array([0, 4])])
    assert otherwise[0].solver == "cg"
    np.testing.assert_allclose(otherwise[0].class_mass, expected[0].class_mass, atol=1e-5)


def test_masses_that_underflow_are_solved_by_themselves():
    n = 250
    W = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n))
    problem = harmonic_problem(W, np.r_[0, 1, np.full(n - 3, -1), 1])
    (elimination,) = eliminate_unlabeled(problem, [1e6], max_flops=1e6)
    assert elimination.solve([problem.without_labels([0])]) == [None]
    ((solution,),) = fold_solutions(problem, [1e6], [np.array([0])])
    assert (solution.codes == 1).all()
