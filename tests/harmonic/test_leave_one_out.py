import numpy as np
import pytest
from scipy import sparse

from graphmargin import _blocks
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, leave_one_out, normalize_class_mass
from tests.harmonic.problems import MIXED, N, eliminate_nothing, first_labels

CODES = first_labels(N, [0, 1, 2, 0, 1, 2, 0, 1])
SETTINGS = [
    pytest.param({}, id="hard"),
    pytest.param({"gamma_g": 0.3}, id="regularized"),
    pytest.param({"gamma_g": 1e-6}, id="hardly-regularized"),
    pytest.param({"gamma_g": 100.0}, id="strongly-regularized"),
    pytest.param({"c_labeled": 2.0}, id="soft"),
    pytest.param({"c_labeled": 2.0, "gamma_g": 0.3}, id="soft-regularized"),
    pytest.param({"c_labeled": 500.0}, id="nearly-hard"),
    pytest.param({"c_labeled": MIXED}, id="mixed"),
    pytest.param({"c_labeled": MIXED, "gamma_g": 0.3}, id="mixed-regularized"),
    pytest.param({"c_unlabeled": 0.4}, id="pulled"),
    pytest.param({"c_unlabeled": 0.4, "c_labeled": 2.0, "gamma_g": 0.1}, id="soft-pulled"),
    pytest.param({"c_unlabeled": 0.4, "c_labeled": MIXED, "gamma_g": 0.1}, id="mixed-pulled"),
]


def without(W, codes, vertex, **options):
    """Return class masses and code of a vertex after hiding its label and solving again."""
    hidden = codes.copy()
    hidden[vertex] = -1
    solution = harmonic_solution(W, hidden, **options)
    np.testing.assert_array_equal(solution.classes, np.unique(codes[codes >= 0]))
    return solution.class_mass[vertex], solution.codes[vertex]


def assert_equals_new_solutions(left_out, W, codes, rtol=1e-11, atol=1e-15, **options):
    for row, vertex in enumerate(left_out.vertices):
        mass, code = without(W, codes, vertex, **options)
        np.testing.assert_allclose(left_out.class_mass[row], mass, rtol=rtol, atol=atol)
        second, best = np.sort(mass)[-2:]
        if best - second > 1e-6 * best:
            assert left_out.codes[row] == code


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("seed", range(3))
def test_closed_form_equals_solutions_without_each_label(random_graph, options, seed):
    W = random_graph(N, seed)
    left_out = leave_one_out(harmonic_solution(W, CODES, **options))
    assert left_out.vertices.tolist() == list(range(8))
    assert left_out.given.tolist() == CODES[:8].tolist()
    assert left_out.defined.all()
    assert_equals_new_solutions(left_out, W, CODES, **options)


@pytest.mark.parametrize("options", SETTINGS[:3] + SETTINGS[7:9])
def test_closed_form_does_not_depend_on_the_solver(random_graph, monkeypatch, options):
    W = random_graph(N, 0)
    eliminate_nothing(monkeypatch)
    left_out = leave_one_out(harmonic_solution(W, CODES, **options))
    monkeypatch.undo()
    assert_equals_new_solutions(left_out, W, CODES, rtol=1e-6, atol=1e-6, **options)


def test_closed_form_is_that_of_the_schur_complement(random_graph):
    W, gamma_g = random_graph(N, 5), 0.2
    labeled = CODES >= 0
    M = np.diag(W.sum(axis=1) + gamma_g) - W
    S = M[np.ix_(labeled, labeled)] - M[np.ix_(labeled, ~labeled)] @ np.linalg.solve(
        M[np.ix_(~labeled, ~labeled)], M[np.ix_(~labeled, labeled)]
    )
    Y = np.eye(3)[CODES[labeled]]
    expected = Y - S @ Y / np.diag(S)[:, None]
    left_out = leave_one_out(harmonic_solution(W, CODES, gamma_g=gamma_g))
    np.testing.assert_allclose(left_out.class_mass, expected, atol=1e-12)


@pytest.mark.parametrize("gamma_g", [0.0, 1e-6, 1.0, 1e4])
@pytest.mark.parametrize(
    "c_labeled", [np.inf, 1.0, 1e10, MIXED], ids=["hard", "1", "1e10", "mixed"]
)
def test_weights_of_any_size_lose_no_digits(random_graph, c_labeled, gamma_g):
    for seed in range(3):
        W = np.triu(random_graph(N, seed))
        W *= 10 ** np.random.default_rng(seed).uniform(-20, 0, (N, N))
        options = {"gamma_g": gamma_g, "c_labeled": c_labeled}
        left_out = leave_one_out(harmonic_solution(W + W.T, CODES, **options))
        for row, vertex in enumerate(left_out.vertices):
            mass, _ = without(W + W.T, CODES, vertex, **options)
            np.testing.assert_allclose(left_out.class_mass[row], mass, atol=1e-11 * mass.max())


@pytest.mark.parametrize("gamma_g", [0.0, 1.0, 1e290])
@pytest.mark.parametrize(
    "c_labeled", [np.inf, 1e-290, 1.0, 1e290, np.geomspace(1e-290, 1e290, N)], ids=str
)
@pytest.mark.parametrize("c_unlabeled", [0.0, 1e290])
def test_rates_of_any_size_lose_no_digits(random_graph, c_labeled, gamma_g, c_unlabeled):
    options = {"gamma_g": gamma_g, "c_labeled": c_labeled, "c_unlabeled": c_unlabeled}
    W = random_graph(N, 0)
    left_out = leave_one_out(harmonic_solution(W, CODES, **options))
    for row, vertex in enumerate(left_out.vertices):
        mass, _ = without(W, CODES, vertex, **options)
        np.testing.assert_allclose(left_out.class_mass[row], mass, rtol=1e-11, atol=1e-300)


def test_masses_that_were_changed_afterwards_do_not_count(random_graph):
    solution = harmonic_solution(random_graph(N, 0), CODES, gamma_g=0.1)
    left_out = leave_one_out(normalize_class_mass(solution, [0.2, 0.3, 0.5]))
    np.testing.assert_array_equal(left_out.class_mass, leave_one_out(solution).class_mass)


def test_labels_in_blocks_have_the_same_masses(random_graph, monkeypatch):
    solution = harmonic_solution(random_graph(N, 0), CODES, c_labeled=MIXED, gamma_g=0.1)
    together = leave_one_out(solution).class_mass
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", 600)
    np.testing.assert_allclose(leave_one_out(solution).class_mass, together, rtol=1e-12)


def test_path_is_that_computed_by_hand(path_graph):
    solution = harmonic_solution(path_graph(5), ["a", "", "b", "", "a"])
    left_out = leave_one_out(solution)
    # The ends see "b" only, the middle sees "a" on both sides.
    np.testing.assert_allclose(left_out.class_mass, [[0, 1], [1, 0], [0, 1]], atol=1e-15)
    assert left_out.labels.tolist() == ["b", "a", "b"]
    assert left_out.error == 1.0


@pytest.mark.parametrize("options", [{}, {"gamma_g": 0.5}, {"c_labeled": 2.0}])
def test_label_alone_in_its_component_is_undefined_and_counts_as_wrong(path_graph, options):
    W = sparse.block_diag([path_graph(4), path_graph(2), sparse.csr_array((1, 1))])
    y = ["a", "", "", "a", "b", "", "b"]
    left_out = leave_one_out(harmonic_solution(W, y, **options))
    assert left_out.vertices.tolist() == [0, 3, 4, 6]
    assert left_out.defined.tolist() == [True, True, False, False]
    assert left_out.codes.tolist() == [0, 0, -1, -1]
    assert left_out.labels.tolist() == ["a", "a", "", ""]
    assert (left_out.class_mass[2:] == 0).all()
    assert left_out.error == 0.5


def test_label_beside_one_without_trust_is_undefined(path_graph):
    W = sparse.block_diag([path_graph(2), path_graph(2)])
    left_out = leave_one_out(
        harmonic_solution(W, [0, 1, 0, 1], c_labeled=[np.inf, 0, np.inf, np.inf])
    )
    # Vertex 1 has a label that does not count, so that vertex 0 has nobody to ask.
    assert left_out.defined.tolist() == [False, True, True, True]
    np.testing.assert_allclose(left_out.class_mass[1], [1, 0])


def test_all_vertices_may_be_labeled(random_graph):
    W = random_graph(9, 0)
    codes = np.arange(9) % 3
    left_out = leave_one_out(harmonic_solution(W, codes))
    votes = W @ np.eye(3)[codes] / W.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(left_out.class_mass, votes, rtol=1e-12)


def test_infinite_gamma_g_leaves_everything_undefined(random_graph):
    left_out = leave_one_out(harmonic_solution(random_graph(N, 0), CODES, gamma_g=np.inf))
    assert not left_out.defined.any()
    assert (left_out.codes == -1).all()
    assert left_out.error == 1.0


@pytest.mark.parametrize("gamma_g", [1e4, 1e6])
@pytest.mark.parametrize("c_labeled", [np.inf, 3.0], ids=["hard", "soft"])
def test_other_labels_are_ranked_where_their_mass_is_tiny(gamma_g, c_labeled):
    codes = first_labels(30, [0, 0, 1, 1, 2, 2])
    for seed in (12, 13, 31, 40):  # of the first 60, where differences of masses lose the order
        W = knn_graph(np.random.default_rng(seed).normal(size=(30, 2)), 3)
        options = {"gamma_g": gamma_g, "c_labeled": c_labeled}
        left_out = leave_one_out(harmonic_solution(W, codes, **options))
        for row, vertex in enumerate(left_out.vertices):
            mass, code = without(W, codes, vertex, **options)
            second, best = np.sort(mass)[-2:]
            if best - second > 1e-6 * best:
                assert left_out.codes[row] == code


@pytest.mark.parametrize("weak", [1e-9, 1e-14, 1e-20])
def test_cluster_on_weak_edges_depends_on_them_without_its_label(weak):
    W = np.zeros((6, 6))
    W[0, 1] = W[0, 2] = W[1, 2] = W[0, 3] = 1.0
    W[1, 4], W[2, 5] = weak, 2 * weak
    left_out = leave_one_out(harmonic_solution(W + W.T, [-1, -1, -1, 0, 1, 2]))
    assert left_out.vertices[0] == 3
    assert left_out.defined[0]
    np.testing.assert_allclose(left_out.class_mass[0], [0, 1 / 3, 2 / 3], atol=1e-6)
