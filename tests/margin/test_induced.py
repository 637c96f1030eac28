import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.harmonic import harmonic_solution
from graphmargin.labels import encode_labels
from graphmargin.margin.induced import MIN_WEIGHT, induced_labels, supervised_labels

PATH = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
EPS = st.sampled_from([0.0, 1e-6, 0.05, 0.3, 0.9])
seeds = st.integers(0, 10**6)


def labels_of(n, n_classes, seed):
    codes = np.full(n, -1)
    codes[np.random.default_rng(seed).permutation(n)[: 2 * n_classes]] = (
        np.arange(2 * n_classes) % n_classes
    )
    return codes


@given(seed=seeds, eps=EPS, gamma_g=st.sampled_from([0.0, 0.1, 3.0]))
def test_points_are_those_of_the_sum_in_the_papers_objective(random_graph, seed, eps, gamma_g):
    codes = labels_of(16, 2, seed)
    solution = harmonic_solution(random_graph(16, seed), codes, gamma_g=gamma_g)
    induced = induced_labels(solution, eps=eps, loss_weights="equal")
    chosen = (np.abs(solution.ell) >= eps) | (codes >= 0)
    np.testing.assert_array_equal(induced.mask, chosen)
    np.testing.assert_array_equal(induced.weights, chosen.astype(float))
    np.testing.assert_array_equal(induced.codes[chosen], solution.codes[chosen])
    confident = np.abs(solution.ell) > 0
    np.testing.assert_array_equal(induced.codes[confident], solution.ell[confident] > 0)
    assert not induced.fell_back_to_given


@given(seed=seeds, eps=EPS, trust=st.sampled_from([np.inf, 2.0]))
def test_weights_are_the_confidences_of_the_same_points(random_graph, seed, eps, trust):
    codes = labels_of(16, 3, seed)
    solution = harmonic_solution(random_graph(16, seed), codes, gamma_g=0.1, c_labeled=trust)
    equal = induced_labels(solution, eps=eps, loss_weights="equal")
    induced = induced_labels(solution, eps=eps)
    np.testing.assert_array_equal(induced.mask, equal.mask)
    np.testing.assert_array_equal(induced.codes, equal.codes)
    expected = np.maximum(solution.confidence, MIN_WEIGHT)
    np.testing.assert_array_equal(induced.weights[induced.mask], expected[induced.mask])
    if np.isinf(trust):
        np.testing.assert_array_equal(induced.weights[codes >= 0], 1.0)


def test_weights_on_a_path_of_three_vertices_are_those_computed_by_hand():
    solution = harmonic_solution(PATH, ["a", None, "b"])
    for eps, weight in ((0.0, 0.5), (0.5, 0.5), (0.51, 0.0)):
        induced = induced_labels(solution, eps=eps)
        assert induced.codes.tolist() == [0, 1, 1]
        assert induced.weights.tolist() == [1.0, weight, 1.0]
        assert induced.mask.tolist() == [True, weight > 0, True]


def test_tie_counts_with_the_least_weight_only_if_eps_is_zero():
    solution = harmonic_solution(np.array([[0, 2, 0], [2, 0, 2], [0, 2, 0.0]]), [0, -1, 1])
    assert solution.confidence[1] == 0
    assert induced_labels(solution, eps=0.0).weights.tolist() == [1.0, MIN_WEIGHT, 1.0]
    assert induced_labels(solution, eps=1e-6).weights.tolist() == [1.0, 0.0, 1.0]


@pytest.mark.parametrize("loss_weights", ["confidence", "equal"])
def test_vertices_without_a_label_in_their_component_are_left_out(loss_weights):
    W = np.zeros((6, 6))
    W[:3, :3] = PATH
    W[3, 4] = W[4, 3] = 1.0
    solution = harmonic_solution(W, [0, -1, 1, -1, -1, -1])
    induced = induced_labels(solution, eps=0.0, loss_weights=loss_weights)
    assert induced.mask.tolist() == [True, True, True, False, False, False]
    assert induced.codes.tolist() == [0, 1, 1, -1, -1, -1]


def test_label_without_trust_in_a_component_of_its_own_counts():
    W = np.zeros((5, 5))
    W[:3, :3] = PATH
    W[3, 4] = W[4, 3] = 1.0
    trust = np.array([1.0, 0.0, 1.0, 0.0, 0.0])
    induced = induced_labels(harmonic_solution(W, [0, -1, 1, 1, -1], c_labeled=trust))
    assert induced.codes.tolist() == [0, 1, 1, 1, -1]
    assert induced.mask.tolist() == [True, True, True, True, False]


def test_soft_solution_may_change_a_given_label():
    # Vertex 3 says 0 amid three neighbors that say 1.
    W = np.zeros((6, 6))
    W[3, [0, 1, 2]] = W[[0, 1, 2], 3] = 5.0
    W[4, 5] = W[5, 4] = 1.0
    solution = harmonic_solution(W, [1, 1, 1, 0, 0, 0], c_labeled=1.0)
    induced = induced_labels(solution)
    assert induced.codes.tolist() == [1, 1, 1, 1, 0, 0]
    assert induced.mask.all()
    assert not induced.fell_back_to_given


@pytest.mark.parametrize("loss_weights", ["confidence", "equal"])
def test_soft_solution_that_loses_a_class_keeps_the_given_labels(loss_weights):
    W = np.zeros((5, 5))
    W[3, [0, 1, 2, 4]] = W[[0, 1, 2, 4], 3] = 5.0
    solution = harmonic_solution(W, [1, 1, 1, 0, -1], c_labeled=1.0)
    induced = induced_labels(solution, loss_weights=loss_weights)
    assert (solution.codes == 1).all(), "the solution itself is left alone"
    assert solution.problem.labels.codes.tolist() == [1, 1, 1, 0, -1]
    assert induced.fell_back_to_given
    assert induced.codes.tolist() == [1, 1, 1, 0, 1]
    assert induced.mask.all()
    expected = solution.confidence if loss_weights == "confidence" else np.ones(5)
    np.testing.assert_array_equal(induced.weights, expected)


@given(seed=seeds, eps=EPS, trust=st.sampled_from([np.inf, 1.0, 0.01]))
def test_every_class_and_every_labeled_row_has_a_weight(random_graph, seed, eps, trust):
    codes = labels_of(14, 3, seed)
    solution = harmonic_solution(random_graph(14, seed), codes, gamma_g=0.05, c_labeled=trust)
    induced = induced_labels(solution, eps=eps)
    assert induced.mask[codes >= 0].all()
    assert np.unique(induced.codes[induced.mask]).tolist() == [0, 1, 2]
    if induced.fell_back_to_given:
        np.testing.assert_array_equal(induced.codes[codes >= 0], codes[codes >= 0])
        missing = set(range(3)) - set(solution.codes[induced.mask])
        assert missing, "labels are kept only where a class would be lost"


def test_infinite_gamma_g_induces_the_given_labels_alone():
    solution = harmonic_solution(PATH, [0, -1, 1], gamma_g=np.inf)
    induced, expected = induced_labels(solution), supervised_labels(solution.problem.labels)
    np.testing.assert_array_equal(induced.codes, expected.codes)
    np.testing.assert_array_equal(induced.weights, expected.weights)


def test_supervised_labels_are_the_given_ones_with_weight_one():
    induced = supervised_labels(encode_labels(["b", None, "a", "b"]))
    assert induced.codes.tolist() == [1, -1, 0, 1]
    assert induced.weights.tolist() == [1.0, 0.0, 1.0, 1.0]
    assert induced.mask.tolist() == [True, False, True, True]
    assert not induced.fell_back_to_given
