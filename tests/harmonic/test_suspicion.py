import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic.suspicion import label_suspicion
from tests.harmonic.problems import MIXED, N, first_labels

TWO = first_labels(N, [0, 1, 0, 0, 1, 1, 0, 1])
THREE = first_labels(N, [0, 1, 2, 0, 1, 2, 0, 1])
SETTINGS = [
    pytest.param({}, id="hard"),
    pytest.param({"gamma_g": 0.3}, id="regularized"),
    pytest.param({"gamma_g": 100.0}, id="strongly-regularized"),
    pytest.param({"c_labeled": 2.0}, id="soft"),
    pytest.param({"c_labeled": MIXED, "gamma_g": 0.3, "c_unlabeled": 0.4}, id="mixed-pulled"),
]


def clusters(n_clusters, size, weak=0.0):
    """Return cliques of unit weights, neighbors joined by a weak edge between two vertices."""
    W = np.kron(np.eye(n_clusters), np.ones((size, size)))
    for first in range(size, len(W), size):
        W[first, first - 1] = W[first - 1, first] = weak
    return W


@pytest.mark.parametrize("gamma_g", [0.0, 0.5, 4.0])
def test_suspicion_on_a_star_is_that_computed_by_hand(gamma_g):
    star = np.zeros((4, 4))
    star[0, 1:] = star[1:, 0] = [3, 2, 1]
    result = label_suspicion(harmonic_solution(star, ["a", "a", "b", "c"], gamma_g=gamma_g))
    # The center moves to "a", "b", "c" at rates 3, 2, 1; a leaf of weight w asks the center only.
    third = gamma_g / 3
    leaf = {w: (w + third) / (w + 2 * third) for w in (3, 2, 1)}
    expected = [(2 + third) / (5 + 2 * third), 1 - leaf[3], leaf[2], leaf[1]]
    np.testing.assert_allclose(result.suspicion, expected, atol=1e-15)
    assert result.suggested_labels.tolist() == ["a"] * 4
    assert result.order.tolist() == [2, 3, 0, 1]


@pytest.mark.parametrize("options", SETTINGS)
@pytest.mark.parametrize("codes", [TWO, THREE], ids=["two-classes", "three-classes"])
def test_suspicion_compares_the_given_class_with_the_best_other_one(random_graph, options, codes):
    W = random_graph(N, 0)
    result = label_suspicion(harmonic_solution(W, codes, **options))
    assert result.vertices.tolist() == list(range(8))
    assert result.given.tolist() == codes[:8].tolist()
    for row, vertex in enumerate(result.vertices):
        hidden = codes.copy()
        hidden[vertex] = -1
        refit = harmonic_solution(W, hidden, **options)
        shares = refit.label_distributions[vertex]
        own, other = shares[codes[vertex]], np.delete(shares, codes[vertex]).max()
        assert result.suspicion[row] == pytest.approx(other / (other + own), abs=1e-12)
        assert result.suggested[row] == refit.codes[vertex]


@given(seed=st.integers(0, 10**6), gamma_g=st.sampled_from([0.0, 1e-3, 1.0, 1e4]))
def test_suspicion_above_one_half_suggests_another_label(random_graph, seed, gamma_g):
    result = label_suspicion(harmonic_solution(random_graph(N, seed), THREE, gamma_g=gamma_g))
    assert ((result.suspicion >= 0) & (result.suspicion <= 1)).all()
    clear = np.abs(result.suspicion - 0.5) > 1e-9
    np.testing.assert_array_equal(
        (result.suspicion > 0.5)[clear], (result.suggested != result.given)[clear]
    )
    assert (np.diff(result.suspicion[result.order]) <= 0).all()


@pytest.mark.parametrize("options", [{}, {"gamma_g": 0.01}, {"c_labeled": 1.0}])
@pytest.mark.parametrize("n_clusters", [2, 3])
def test_wrong_label_in_a_clean_cluster_comes_first(options, n_clusters):
    W = clusters(n_clusters, 6, weak=0.05)
    labels = np.repeat(np.array(["ant", "bee", "cow"])[:n_clusters], 6)
    labels[[1, 7]] = ""
    labels[9] = "ant"
    result = label_suspicion(harmonic_solution(W, labels, **options))
    top = result.order[0]
    assert result.vertices[top] == 9
    assert result.suspicion[top] > 0.9
    assert (result.given_labels[top], result.suggested_labels[top]) == ("ant", "bee")
    assert (np.delete(result.suspicion, top) < 0.5).all()


def test_label_without_trust_has_a_suspicion_but_no_influence(path_graph):
    W = sparse.block_diag([path_graph(2), path_graph(2)])
    trust = [np.inf, 0.0, 1.0, 1.0]
    result = label_suspicion(harmonic_solution(W, ["a", "b", "a", "b"], c_labeled=trust))
    assert result.suspicion.tolist() == pytest.approx([0.5, 1.0, 1.0, 1.0])
    assert result.suggested_labels.tolist() == ["", "a", "b", "a"]


@pytest.mark.parametrize("classes", [["a", "b"], ["a", "b", "c"]])
@pytest.mark.parametrize("options", [{}, {"gamma_g": 0.5}, {"c_labeled": 2.0}])
def test_label_that_others_do_not_reach_has_suspicion_one_half(path_graph, options, classes):
    W = sparse.block_diag([path_graph(4), path_graph(2), sparse.csr_array((1, 1)), path_graph(2)])
    y = ["a", "", "", "a", "b", "", classes[-1], "a", "b"]
    result = label_suspicion(harmonic_solution(W, y, **options))
    assert result.vertices.tolist() == [0, 3, 4, 6, 7, 8]
    assert (result.suspicion[2:4] == 0.5).all()
    assert (result.suspicion[:2] < 0.5).all()
    assert (result.suspicion[4:] > 0.5).all()
    assert result.suggested_labels.tolist() == ["a", "a", "", "", "b", "a"]
    assert result.vertices[result.order].tolist() == [7, 8, 4, 6, 0, 3]


def test_sink_pulls_the_suspicion_to_one_half(random_graph):
    W = random_graph(N, 0)
    result = [
        label_suspicion(harmonic_solution(W, THREE, gamma_g=g))
        for g in (1e2, 1e4, 1e6, 1e290, np.inf)
    ]
    distances = [np.abs(labels.suspicion - 0.5).max() for labels in result]
    assert distances == sorted(distances, reverse=True)
    assert distances[0] < 0.1
    assert distances[-1] == 0.0
    assert (result[-1].suggested == -1).all()
    assert result[-1].vertices[result[-1].order].tolist() == list(range(8))


def test_printed_form_lists_the_most_suspicious_first():
    W = sparse.block_diag([clusters(2, 4), np.zeros((1, 1))])
    y = [3, 3, 3, 3, 7, 3, 7, 7, 7]
    assert str(label_suspicion(harmonic_solution(W, y))).splitlines() == [
        "1 of 9 labels have a suspicion above 0.5",
        "vertex 5: given '3', suggested '7', suspicion 1.000",
        "vertex 8: given '7', no other label can be reached, suspicion 0.500",
        "vertex 4: given '7', suggested '7', suspicion 0.333",
        "vertex 6: given '7', suggested '7', suspicion 0.333",
        "vertex 7: given '7', suggested '7', suspicion 0.333",
    ]
