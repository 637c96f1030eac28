import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, suggest_labels, suggestion
from graphmargin.harmonic.elimination import elimination_order
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
def test_gains_are_those_of_fits_with_every_answer(random_graph, y, options):
    W = random_graph(N, 0)
    found = suggest_labels(harmonic_solution(W, y, **options), 3)
    labels = np.unique(y[y >= 0])
    trust = np.broadcast_to(options.get("c_labeled", np.inf), N).copy()
    same = {"c_unlabeled": options.get("c_unlabeled", 0.0), "gamma_g": found.gamma_g}
    for vertex, gain in zip(found.vertices, found.gain, strict=True):
        gains, now = refit_gains(W, y, trust, labels=labels, **same)
        assert gain == pytest.approx(gains[vertex], abs=1e-10)
        assert gain == pytest.approx(gains.max(), abs=1e-10)
        y, trust = with_label(y, trust, vertex, labels[now[vertex].argmax()])


def test_path_by_hand(path_graph):
    # Of a - . - . - . - b, the middle knows least, and both its neighbors ask it.
    found = suggest_labels(harmonic_solution(path_graph(5), ["a", "", "", "", "b"]), 1)
    gamma_g = 0.01 * 2
    h = 1 / (2 + gamma_g)
    near, middle = h / (1 - 2 * h * h), h * h / (1 - 2 * h * h)
    assert found.gamma_g == pytest.approx(gamma_g)
    assert found.vertices.tolist() == [2]
    np.testing.assert_allclose(found.class_mass, [[middle, middle]])
    np.testing.assert_allclose(found.sink_mass, [1 - 2 * middle])
    assert found.rows[0] == pytest.approx(1 + 2 * h)
    # After "a" in the middle, one neighbor has "a" on both sides, the other "a" and "b".
    sink = 1 - 2 * h
    best_before = near * (1 - h * h) + (1 - near * (1 - h * h) - h * middle) / 2
    after = (2 * h + sink / 2) + (h + sink / 2)
    assert found.gain[0] == pytest.approx(0.5 + after - 2 * best_before)


def test_rate_of_the_sink_is_kept_within_its_range(random_graph):
    W = random_graph(N, 0)
    unit = np.median(W.sum(axis=1))
    for given_rate, used in [(0.0, 0.01), (0.03, 0.03), (7.0, 0.1), (np.inf, 0.1)]:
        found = suggest_labels(harmonic_solution(W, TWO, gamma_g=given_rate * unit), 1)
        assert found.gamma_g == pytest.approx(used * unit)


def test_weights_have_no_unit(random_graph):
    W = random_graph(N, 1)
    found = suggest_labels(harmonic_solution(W, THREE, gamma_g=0.1), 5)
    scaled = suggest_labels(harmonic_solution(1e6 * W, THREE, gamma_g=1e5), 5)
    assert scaled.vertices.tolist() == found.vertices.tolist()
    np.testing.assert_allclose(scaled.gain, found.gain, rtol=1e-9)
    assert scaled.reasons == found.reasons


@given(seed=st.integers(0, 30), n=st.integers(1, 40))
def test_suggestions_are_unlabeled_different_and_worth_something(random_graph, seed, n):
    y = np.where(np.random.default_rng(seed).random(N) < 0.7, -1, np.arange(N) % 3)
    y[:2] = [0, 1]
    W = random_graph(N, seed)
    found = suggest_labels(harmonic_solution(W, y), n)
    assert len(found.vertices) == min(n, (y < 0).sum()) == len(set(found.vertices))
    assert (y[found.vertices] < 0).all()
    assert len(found.reasons) == len(found.gain) == len(found.rows) == len(found.vertices)
    assert (found.gain > 0).all()
    now = harmonic_solution(W, y, gamma_g=found.gamma_g).label_distributions
    assert found.gain[0] <= (1 - now.max(axis=1)).sum() + 1e-12  # no more than are expected
    assert (found.rows >= 1 - 1e-9).all()
    assert (found.confidence >= 0).all()
    np.testing.assert_allclose(found.class_mass.sum(axis=1) + found.sink_mass, 1.0)


@given(seed=st.integers(0, 30))
def test_order_of_the_vertices_does_not_matter(random_graph, seed):
    W, order = random_graph(N, seed), np.random.default_rng(seed).permutation(N)
    found = suggest_labels(harmonic_solution(W, THREE), 6)
    permuted = suggest_labels(harmonic_solution(W[np.ix_(order, order)], THREE[order]), 6)
    assert order[permuted.vertices].tolist() == found.vertices.tolist()
    np.testing.assert_allclose(permuted.gain, found.gain, atol=1e-10)


def blobs(n_blobs, size, seed=0):
    random = np.random.default_rng(seed)
    centers = 100 * np.arange(n_blobs)[:, None] * np.ones(2)
    return knn_graph(np.repeat(centers, size, axis=0) + random.normal(size=(n_blobs * size, 2)), 5)


def test_every_cluster_without_a_label_is_asked_once_before_any_is_asked_again():
    y = np.full(200, -1)
    y[[0, 1]] = [0, 1]
    found = suggest_labels(harmonic_solution(blobs(5, 40), y), 4)
    assert sorted(found.vertices // 40) == [1, 2, 3, 4]
    assert set(found.reasons) == {"no label reaches its cluster of 40 rows"}


def test_a_cluster_is_worth_its_size():
    W = np.zeros((16, 16))
    W[:3, :3] = W[3:13, 3:13] = W[13:15, 13:15] = 1.0
    found = suggest_labels(harmonic_solution(W, [0, 1, *[-1] * 14], gamma_g=1e-6), 3)
    assert found.vertices[0] in range(3, 13)
    assert found.rows[0] > 9
    isolated = suggest_labels(harmonic_solution(W, [0, 1, *[-1] * 14]), 14)
    reason = isolated.reasons[isolated.vertices.tolist().index(15)]
    assert reason == "no label reaches it, and it has no neighbors"


def test_large_cluster_without_a_label_is_a_candidate_of_a_large_graph(path_graph, monkeypatch):
    monkeypatch.setattr(suggestion, "CANDIDATES", 5)
    n = 500
    W = np.zeros((n + 20, n + 20))
    W[:n, :n] = path_graph(n).toarray()
    W[n:, n:] = 1.0
    y = np.full(n + 20, -1)
    y[:n:20] = np.arange(25) % 2
    for seed in range(5):
        found = suggest_labels(harmonic_solution(W, y), 1, random_state=seed)
        assert found.vertices[0] >= n


def test_sample_stands_for_all_vertices(monkeypatch):
    # Vertices of a clique are alike, so that any sample of them counts the same errors.
    n = 120
    y = first_labels(n, np.arange(6) % 3)
    solution = harmonic_solution(np.ones((n, n)), y)
    exact = suggest_labels(solution, 5)
    monkeypatch.setattr(suggestion, "SAMPLE", 20)
    monkeypatch.setattr(suggestion, "CANDIDATES", 30)
    sampled = suggest_labels(solution, 5)
    np.testing.assert_allclose(sampled.gain, exact.gain, rtol=1e-9)
    np.testing.assert_allclose(sampled.rows, exact.rows, rtol=1e-9)


def test_large_graphs_are_walked_instead_of_factorized(monkeypatch):
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
    monkeypatch.setattr(suggestion, "SAMPLE", 20)
    monkeypatch.setattr(suggestion, "CANDIDATES", 30)
    y = first_labels(300, [0, 1, 0, 1])
    solution = harmonic_solution(blobs(2, 150), y)
    found = [suggest_labels(solution, 5, random_state=seed) for seed in (0, 0, 1)]
    assert found[0].vertices.tolist() == found[1].vertices.tolist()
    assert found[0].gain.tolist() == found[1].gain.tolist()
    assert found[0].vertices.tolist() != found[2].vertices.tolist()


@pytest.mark.parametrize(
    ("y", "reason"),
    [
        # Mass 1 / (2 + gamma_g) of each class with gamma_g = 0.04; then 4 / 5.05 of "a".
        (["a", "b", "", "", ""], "between 'a' (49%) and 'b' (49%); stands for about 2 rows"),
        (["a", "b", "a", "a", "a", ""], "probably 'a' (79%); stands for about 1 row"),
    ],
    ids=["between", "probably"],
)
def test_reasons_say_what_is_known(y, reason):
    W = np.ones((len(y), len(y)))
    assert suggest_labels(harmonic_solution(W, y), 1).reasons[0] == reason


def test_far_from_all_labels_is_said(path_graph):
    y = ["a", "b", *[""] * 60]
    found = suggest_labels(harmonic_solution(path_graph(62), y, gamma_g=0.2), 1)
    assert found.vertices[0] > 5
    assert found.reasons[0].startswith("far from all labels (")
    assert found.reasons[0].endswith(f"stands for about {round(found.rows[0])} rows")


def test_printed_lines_have_vertices_in_order(random_graph):
    found = suggest_labels(harmonic_solution(random_graph(N, 0), TWO), 3)
    lines = str(found).splitlines()
    assert lines[0] == f"3 labels would save about {found.gain.sum():.1f} errors"
    assert [line.split(":")[0] for line in lines[1:]] == [f"vertex {v}" for v in found.vertices]


def test_nothing_is_suggested_where_all_have_labels(random_graph):
    found = suggest_labels(harmonic_solution(random_graph(6, 0), [0, 1, 0, 1, 0, 1]), 3)
    assert len(found.vertices) == len(found.gain) == len(found.reasons) == 0
    assert found.class_mass.shape == (0, 2)


@pytest.mark.parametrize("n", [0, -1, 2.5, True, "20"], ids=repr)
def test_number_of_suggestions_is_checked(random_graph, n):
    solution = harmonic_solution(random_graph(N, 0), TWO)
    with pytest.raises(ValueError, match="`n` must be an integer >= 1"):
        suggest_labels(solution, n)
