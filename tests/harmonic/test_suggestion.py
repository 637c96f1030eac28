import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, suggest_labels, suggestion
from graphmargin.harmonic._solvers.elimination import elimination_order
from tests.harmonic.problems import MIXED, N, first_labels

TWO = first_labels(N, [0, 1, 0, 0, 1])
THREE = first_labels(N, [0, 1, 2, 0, 1, 2])
PROBLEMS = [
    pytest.param(TWO, {"gamma_g": 0.1}, id="two-classes"),
    pytest.param(THREE, {"gamma_g": 0.1}, id="three-classes"),
    pytest.param(THREE, {"gamma_g": 0.0}, id="no-sink"),
    pytest.param(THREE, {"gamma_g": np.inf}, id="supervised"),
    pytest.param(THREE, {"gamma_g": 0.1, "c_labeled": 2.0}, id="soft"),
    pytest.param(TWO, {"gamma_g": 0.1, "c_labeled": MIXED, "c_unlabeled": 0.2}, id="mixed-pulled"),
]


def with_label(y, trust, vertex, label):
    """Return labels and trust with one more label, a hard one."""
    y, trust = y.copy(), trust.copy()
    y[vertex], trust[vertex] = label, np.inf
    return y, trust


def refit_gains(W, y, trust, *, labels, **options):
    """Return the expected number of errors that each label saves, from a fit for each answer."""

    def risk(y, trust):
        distributions = harmonic_solution(W, y, c_labeled=trust, **options).label_distributions
        return (1 - distributions.max(axis=1))[y < 0].sum()

    now = harmonic_solution(W, y, c_labeled=trust, **options).label_distributions
    risk_now = risk(y, trust)
    gains = np.full(len(y), -np.inf)
    for k in np.flatnonzero(y < 0):
        after = [risk(*with_label(y, trust, k, label)) for label in labels]
        gains[k] = risk_now - now[k] @ after
    return gains, now


@pytest.mark.parametrize(("y", "options"), PROBLEMS)
def test_gains_are_those_of_fits_with_every_possible_label(random_graph, y, options):
    W = random_graph(N, 0)
    suggestions = suggest_labels(harmonic_solution(W, y, **options), 3)
    labels = np.unique(y[y >= 0])
    trust = np.broadcast_to(options.get("c_labeled", np.inf), N).copy()
    same = {"c_unlabeled": options.get("c_unlabeled", 0.0), "gamma_g": suggestions.gamma_g}
    for vertex, gain in zip(suggestions.vertices, suggestions.gain, strict=True):
        gains, now = refit_gains(W, y, trust, labels=labels, **same)
        assert gain == pytest.approx(gains[vertex], abs=1e-10)
        assert gain == pytest.approx(gains.max(), abs=1e-10)
        y, trust = with_label(y, trust, vertex, labels[now[vertex].argmax()])


def test_path_is_that_computed_by_hand(path_graph):
    # Of a - . - . - . - b, the middle knows least, and both its neighbors ask it.
    suggestions = suggest_labels(harmonic_solution(path_graph(5), ["a", "", "", "", "b"]), 1)
    gamma_g = 0.01 * 2
    h = 1 / (2 + gamma_g)
    near, middle = h / (1 - 2 * h * h), h * h / (1 - 2 * h * h)
    assert suggestions.gamma_g == pytest.approx(gamma_g)
    assert suggestions.vertices.tolist() == [2]
    np.testing.assert_allclose(suggestions.class_mass, [[middle, middle]])
    np.testing.assert_allclose(suggestions.sink_mass, [1 - 2 * middle])
    assert suggestions.rows[0] == pytest.approx(1 + 2 * h)
    # After "a" in the middle, one neighbor has "a" on both sides, the other "a" and "b".
    sink = 1 - 2 * h
    best_before = near * (1 - h * h) + (1 - near * (1 - h * h) - h * middle) / 2
    after = (2 * h + sink / 2) + (h + sink / 2)
    assert suggestions.gain[0] == pytest.approx(0.5 + after - 2 * best_before)


def test_rate_of_the_sink_is_kept_within_its_range(random_graph):
    W = random_graph(N, 0)
    unit = np.median(W.sum(axis=1))
    for given_rate, used in [(0.0, 0.01), (0.03, 0.03), (7.0, 0.1), (np.inf, 0.1)]:
        suggestions = suggest_labels(harmonic_solution(W, TWO, gamma_g=given_rate * unit), 1)
        assert suggestions.gamma_g == pytest.approx(used * unit)


def test_unit_of_the_weights_does_not_matter(random_graph):
    W = random_graph(N, 1)
    suggestions = suggest_labels(harmonic_solution(W, THREE, gamma_g=0.1), 5)
    scaled = suggest_labels(harmonic_solution(1e6 * W, THREE, gamma_g=1e5), 5)
    assert scaled.vertices.tolist() == suggestions.vertices.tolist()
    np.testing.assert_allclose(scaled.gain, suggestions.gain, rtol=1e-9)
    assert scaled.reasons == suggestions.reasons


@given(seed=st.integers(0, 30), n=st.integers(1, 40))
def test_suggestions_are_unlabeled_and_distinct_and_have_a_gain(random_graph, seed, n):
    y = np.where(np.random.default_rng(seed).random(N) < 0.7, -1, np.arange(N) % 3)
    y[:2] = [0, 1]
    W = random_graph(N, seed)
    suggestions = suggest_labels(harmonic_solution(W, y), n)
    assert len(suggestions.vertices) == min(n, (y < 0).sum()) == len(set(suggestions.vertices))
    assert (y[suggestions.vertices] < 0).all()
    assert (
        len(suggestions.reasons)
        == len(suggestions.gain)
        == len(suggestions.rows)
        == len(suggestions.vertices)
    )
    assert (suggestions.gain > 0).all()
    now = harmonic_solution(W, y, gamma_g=suggestions.gamma_g).label_distributions
    assert suggestions.gain[0] <= (1 - now.max(axis=1)).sum() + 1e-12  # no more than are expected
    assert (suggestions.rows >= 1 - 1e-9).all()
    assert (suggestions.confidence >= 0).all()
    np.testing.assert_allclose(suggestions.class_mass.sum(axis=1) + suggestions.sink_mass, 1.0)


@given(seed=st.integers(0, 30))
def test_order_of_the_vertices_does_not_matter(random_graph, seed):
    W, order = random_graph(N, seed), np.random.default_rng(seed).permutation(N)
    suggestions = suggest_labels(harmonic_solution(W, THREE), 6)
    permuted = suggest_labels(harmonic_solution(W[np.ix_(order, order)], THREE[order]), 6)
    assert order[permuted.vertices].tolist() == suggestions.vertices.tolist()
    np.testing.assert_allclose(permuted.gain, suggestions.gain, atol=1e-10)


def blobs(n_blobs, size, seed=0):
    random = np.random.default_rng(seed)
    centers = 100 * np.arange(n_blobs)[:, None] * np.ones(2)
    return knn_graph(np.repeat(centers, size, axis=0) + random.normal(size=(n_blobs * size, 2)), 5)


def test_every_cluster_without_a_label_is_suggested_once_before_any_is_again():
    y = np.full(200, -1)
    y[[0, 1]] = [0, 1]
    suggestions = suggest_labels(harmonic_solution(blobs(5, 40), y), 4)
    assert sorted(suggestions.vertices // 40) == [1, 2, 3, 4]
    assert set(suggestions.reasons) == {"no label reaches its cluster of 40 rows"}


def test_gain_of_a_cluster_is_its_size():
    W = np.zeros((16, 16))
    W[:3, :3] = W[3:13, 3:13] = W[13:15, 13:15] = 1.0
    suggestions = suggest_labels(harmonic_solution(W, [0, 1, *[-1] * 14], gamma_g=1e-6), 3)
    assert suggestions.vertices[0] in range(3, 13)
    assert suggestions.rows[0] > 9
    isolated = suggest_labels(harmonic_solution(W, [0, 1, *[-1] * 14]), 14)
    reason = isolated.reasons[isolated.vertices.tolist().index(15)]
    assert reason == "no label reaches it, and it has no neighbors"


def test_large_cluster_without_a_label_is_a_candidate_of_a_large_graph(path_graph, monkeypatch):
    monkeypatch.setattr(suggestion, "MIN_CANDIDATES", 5)
    n = 500
    W = np.zeros((n + 20, n + 20))
    W[:n, :n] = path_graph(n).toarray()
    W[n:, n:] = 1.0
    y = np.full(n + 20, -1)
    y[:n:20] = np.arange(25) % 2
    for seed in range(5):
        suggestions = suggest_labels(harmonic_solution(W, y), 1, random_state=seed)
        assert suggestions.vertices[0] >= n


def test_sample_represents_all_vertices(monkeypatch):
    # Vertices of a clique are alike, so that any sample of them counts the same errors.
    n = 120
    y = first_labels(n, np.arange(6) % 3)
    solution = harmonic_solution(np.ones((n, n)), y)
    exact = suggest_labels(solution, 5)
    monkeypatch.setattr(suggestion, "ERROR_SAMPLE", 20)
    monkeypatch.setattr(suggestion, "MIN_CANDIDATES", 30)
    sampled = suggest_labels(solution, 5)
    np.testing.assert_allclose(sampled.gain, exact.gain, rtol=1e-9)
    np.testing.assert_allclose(sampled.rows, exact.rows, rtol=1e-9)


def test_large_graphs_are_solved_by_pushes(monkeypatch):
    y = np.full(300, -1)
    y[[0, 50, 100, 150]] = [0, 1, 2, 0]
    points = np.random.default_rng(0).normal(size=(300, 2))
    solution = harmonic_solution(knn_graph(points, 5), y)
    exact = suggest_labels(solution, 3)
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 10)
    walked = suggest_labels(solution, 3)
    assert walked.vertices.tolist() == exact.vertices.tolist()
    np.testing.assert_allclose(walked.gain, exact.gain, rtol=0.02)
    np.testing.assert_allclose(walked.rows, exact.rows, rtol=0.02)
    np.testing.assert_allclose(walked.class_mass, exact.class_mass, atol=0.01)


def test_draws_depend_on_the_random_state_alone(monkeypatch):
    monkeypatch.setattr(suggestion, "ERROR_SAMPLE", 20)
    monkeypatch.setattr(suggestion, "MIN_CANDIDATES", 30)
    y = first_labels(300, [0, 1, 0, 1])
    solution = harmonic_solution(blobs(2, 150), y)
    suggestions = [suggest_labels(solution, 5, random_state=seed) for seed in (0, 0, 1)]
    assert suggestions[0].vertices.tolist() == suggestions[1].vertices.tolist()
    assert suggestions[0].gain.tolist() == suggestions[1].gain.tolist()
    assert suggestions[0].vertices.tolist() != suggestions[2].vertices.tolist()


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        # Mass 1 / (2 + gamma_g) of each class with gamma_g = 0.04; then 4 / 5.05 of "a".
        (["a", "b", "", "", ""], "between 'a' (49%) and 'b' (49%); represents about 2 rows"),
        (["a", "b", "a", "a", "a", ""], "probably 'a' (79%); represents about 1 row"),
    ],
    ids=["between", "probably"],
)
def test_reasons_name_the_likely_classes(y, reason):
    W = np.ones((len(y), len(y)))
    assert suggest_labels(harmonic_solution(W, y), 1).reasons[0] == reason


def test_reason_of_a_distant_vertex_names_the_distance(path_graph):
    y = ["a", "b", *[""] * 60]
    suggestions = suggest_labels(harmonic_solution(path_graph(62), y, gamma_g=0.2), 1)
    assert suggestions.vertices[0] > 5
    assert suggestions.reasons[0].startswith("far from all labels (")
    assert suggestions.reasons[0].endswith(f"represents about {round(suggestions.rows[0])} rows")


def test_printed_lines_have_vertices_in_order(random_graph):
    suggestions = suggest_labels(harmonic_solution(random_graph(N, 0), TWO), 3)
    lines = str(suggestions).splitlines()
    assert lines[0] == f"3 labels would save about {suggestions.gain.sum():.1f} errors"
    assert [line.split(":")[0] for line in lines[1:]] == [
        f"vertex {v}" for v in suggestions.vertices
    ]


def test_nothing_is_suggested_where_all_have_labels(random_graph):
    suggestions = suggest_labels(harmonic_solution(random_graph(6, 0), [0, 1, 0, 1, 0, 1]), 3)
    assert len(suggestions.vertices) == len(suggestions.gain) == len(suggestions.reasons) == 0
    assert suggestions.class_mass.shape == (0, 2)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "20"], ids=repr)
def test_number_of_suggestions_is_checked(random_graph, n):
    solution = harmonic_solution(random_graph(N, 0), TWO)
    with pytest.raises(ValueError, match="`n` must be an integer >= 1"):
        suggest_labels(solution, n)
