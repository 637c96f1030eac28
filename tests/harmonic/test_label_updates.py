"""Solutions that follow labels agree with solutions from scratch."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.datasets import load_digits
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, leave_one_out
from graphmargin.harmonic._solvers import elimination
from graphmargin.harmonic.label_updates import LabelSystem

GAMMA_G = 0.05


def fresh(W, codes):
    return harmonic_solution(W, codes, gamma_g=GAMMA_G)


def labels_in_turn(seed, n, n_classes):
    """Return vertices with a label, or -1 to remove it, such that all kinds of changes occur."""
    rng = np.random.default_rng(seed)
    vertices = rng.permutation(n)[:12]
    changes = [(int(v), int(k % n_classes)) for k, v in enumerate(vertices)]
    again = [(changes[1][0], 0), (changes[2][0], -1), (changes[5][0], 2), (changes[0][0], -1)]
    return [*changes, *again, (changes[2][0], 1)]


@pytest.fixture(scope="module")
def digits_graph():
    return knn_graph(load_digits()[0][:900], 5)


@pytest.fixture(params=["direct", "iterative"])
def walks(request, digits_graph, monkeypatch):
    if request.param == "iterative":
        monkeypatch.setitem(elimination.elimination_order.__kwdefaults__, "max_flops", 0)
    system = LabelSystem(digits_graph, GAMMA_G)
    assert system.is_direct == (request.param == "direct")
    return system


def test_labels_that_come_go_and_change_agree_with_fresh_solutions(walks, digits_graph):
    codes = np.full(900, -1)
    solution = walks.solve(codes, 3)
    assert not solution.class_mass.any()
    graph = None
    for vertex, code in labels_in_turn(0, 900, 3):
        labeled = solution.codes >= 0
        before, inverse = solution.codes[vertex], walks.inverse(labeled)
        solution, visits = walks.change_label(solution, inverse, vertex, code)
        if graph is None:
            graph = walks.label_graph(solution.codes, walks.inverse(solution.codes >= 0))
        elif before >= 0 and code < 0:
            graph = graph.without_label(vertex)
        elif before < 0:
            graph = graph.with_label(visits, walks.absorption(labeled))
        if len(np.unique(solution.codes[solution.codes >= 0])) < 3:
            continue
        expected = fresh(digits_graph, solution.codes)
        assert np.abs(solution.class_mass - expected.class_mass).max() < 1e-6
        order = np.argsort(graph.vertices)
        left_out = graph.leave_one_out(solution.codes, 3)[order]
        assert np.abs(left_out - leave_one_out(expected).class_mass).max() < 1e-5


def test_many_labels_at_once_are_solved_from_scratch(walks, digits_graph):
    codes = np.where(np.arange(900) % 20 == 0, np.arange(900) % 3, -1)
    solution = walks.solve(codes, 3)
    expected = fresh(digits_graph, codes)
    assert np.abs(solution.class_mass - expected.class_mass).max() < 1e-6
    graph = walks.label_graph(codes, walks.inverse(codes >= 0))
    left_out = graph.leave_one_out(codes, 3)
    assert np.abs(left_out - leave_one_out(expected).class_mass).max() < 1e-6


def test_a_pool_that_follows_a_label_is_that_of_the_new_walk(walks):
    from graphmargin.harmonic.suggestion import draw_pool

    codes = np.where(np.arange(900) % 90 == 0, np.arange(900) % 4, -1)
    solution, inverse = walks.solve(codes, 4), walks.inverse(codes >= 0)
    pool = draw_pool(walks.walk(solution), codes < 0, walks.component, 30, np.random.RandomState(0))
    vertex = int(pool.candidates[3])
    after, visits = walks.change_label(solution, inverse, vertex, 2)
    followed = pool.labeled(vertex, visits.visits)
    expected = walks.walk(after).visits(pool.candidates, pool.rows)
    tol = 1e-7 if walks.is_direct else 2e-3
    scale = np.diag(pool.visits)[:, None]
    others = pool.candidates != vertex
    assert np.abs((followed.visits - expected) / scale)[others].max() < tol
    assert followed.weights[pool.rows == vertex] == 0


def test_vertices_without_edges_have_no_mass():
    walks = LabelSystem(sparse.csr_array((4, 4)), 1.0)
    solution = walks.solve(np.array([0, -1, -1, -1]), 2)
    assert solution.class_mass.tolist() == [[1, 0], [0, 0], [0, 0], [0, 0]]
    solution, _ = walks.change_label(solution, walks.inverse(solution.codes >= 0), 1, 1)
    assert solution.class_mass.tolist() == [[1, 0], [0, 1], [0, 0], [0, 0]]
