import functools
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from graphmargin import (
    HarmonicClassifier,
    harmonic_solution,
    knn_graph,
    normalize_class_mass,
)
from graphmargin.datasets import make_lattices
from graphmargin.harmonic import iterative


def blobs(seed=0, n=60, n_classes=2, distance=3.0):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + distance * np.eye(3)[truth]
    return X, truth, np.where(np.arange(n) < 4 * n_classes, truth, -1)


def two_clusters_and_a_stray_pair():
    """Clusters around 0 and 10 with labels, and two points far from both."""
    X = np.array([[0.0], [0.1], [0.3], [10.0], [10.1], [10.3], [900.0], [900.1]])
    y = np.array([0, 0, -1, 1, -1, -1, -1, -1])
    return X, y


OPTIONS = {
    "regularized": {"gamma_g": 0.1},
    "hard": {"gamma_g": 0.0},
    "supervised": {"gamma_g": np.inf},
    "soft": {"gamma_g": 0.1, "c_labeled": 2.0},
    "soft-unlabeled": {"gamma_g": 0.1, "c_labeled": 2.0, "c_unlabeled": 0.3},
    "cg": {"gamma_g": 0.1, "solver": "cg"},
}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS.keys())
def test_training_rows_get_the_harmonic_solution(options, n_classes):
    X, _, y = blobs(n_classes=n_classes)
    model = HarmonicClassifier(n_neighbors=6, **options).fit(X, y)
    solution = harmonic_solution(knn_graph(X, 6), y, **options)
    np.testing.assert_array_equal(model.graph_.toarray(), knn_graph(X, 6).toarray())
    np.testing.assert_array_equal(model.confidence_, solution.confidence)
    np.testing.assert_array_equal(model.label_distributions_, solution.label_distributions)
    np.testing.assert_array_equal(model.harmonic_solution_.class_mass, solution.class_mass)
    assert model.n_iter_ == solution.iterations
    known = solution.codes != -1
    np.testing.assert_array_equal(model.transduction_[known], solution.codes[known])


@pytest.mark.parametrize("priors", [True, [0.2, 0.8]], ids=["from-labels", "given"])
def test_class_mass_is_normalized_on_request(priors):
    X, _, y = blobs()
    W = knn_graph(X, 6)
    model = HarmonicClassifier(gamma_g=0.1, n_neighbors=6, class_mass_normalization=priors)
    model.fit(X, y)
    expected = normalize_class_mass(
        harmonic_solution(W, y, gamma_g=0.1), None if priors is True else priors
    )
    np.testing.assert_array_equal(model.label_distributions_, expected.label_distributions)
    np.testing.assert_array_equal(model.confidence_, expected.confidence)
    np.testing.assert_array_equal(model.transduction_, expected.codes)


def test_priors_move_new_points_too():
    X, _, y = blobs(distance=1.0)
    new = np.random.default_rng(1).normal(size=(200, 3)) + 0.5
    shares = [
        np.mean(
            HarmonicClassifier(gamma_g=0.01, n_neighbors=6, class_mass_normalization=priors)
            .fit(X, y)
            .predict(new)
        )
        for priors in ([0.9, 0.1], [0.5, 0.5], [0.1, 0.9])
    ]
    assert shares[0] < shares[1] < shares[2]


@pytest.mark.parametrize(
    ("width", "weight"),
    [
        pytest.param(2.0, lambda d: np.exp(-(d**2) / 8), id="number"),
        # K = 1, and the standard deviation of 0, 1, 4, 6 is sqrt(5.6875).
        pytest.param("paper", lambda d: np.exp(-(d**2) / (2 * 5.6875)), id="paper"),
        pytest.param("binary", np.ones_like, id="binary"),
    ],
)
@pytest.mark.parametrize(("gamma_g", "c_unlabeled"), [(0.0, 0.0), (0.5, 0.0), (0.5, 0.25)], ids=str)
def test_new_point_by_hand(width, weight, gamma_g, c_unlabeled):
    """Four points on a line, k = 2: the new point at 3 looks at 4 (distance 1) and 1 (2)."""
    X = np.array([[0.0], [1.0], [4.0], [6.0]])
    y = ["a", None, None, "b"]
    model = HarmonicClassifier(gamma_g=gamma_g, c_unlabeled=c_unlabeled, n_neighbors=2, width=width)
    model.fit(X, y)
    mass = model.harmonic_solution_.class_mass
    near, far = weight(np.array([1.0, 2.0]))
    sink = gamma_g + c_unlabeled
    expected = (near * mass[2] + far * mass[1]) / (near + far + sink)
    lost = 1 - expected.sum()
    np.testing.assert_allclose(model.predict_proba([[3.0]])[0], expected + lost / 2, rtol=1e-12)
    if width != "binary":  # where the two neighbors are a tie
        assert model.predict([[3.0]])[0] == ("a" if expected[0] > expected[1] else "b")


def test_new_point_by_hand_with_self_tuning_weights():
    """w(x, x_j) = exp(-d^2 / (s s_j)), s the distance to the k-th neighbor."""
    X = np.array([[0.0], [1.0], [4.0], [6.0]])
    model = HarmonicClassifier(gamma_g=0.5, n_neighbors=2, width="self-tuning")
    model.fit(X, ["a", None, None, "b"])
    mass = model.harmonic_solution_.class_mass
    # Neighbors of 8 are 6 and 4, at distances 2 and 4; second neighbors of 6 and 4: 5 and 3.
    near, far = np.exp(-(2.0**2) / (4 * 5)), np.exp(-(4.0**2) / (4 * 3))
    expected = (near * mass[3] + far * mass[2]) / (near + far + 0.5)
    lost = 1 - expected.sum()
    np.testing.assert_allclose(model.predict_proba([[8.0]])[0], expected + lost / 2, rtol=1e-12)
    assert model.predict([[8.0]]).tolist() == ["b"]


def test_whole_solution_by_hand():
    """A path a - ? - b with unit weights: l = 0 in the middle, less mass with a sink."""
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    y = ["a", None, "b"]
    model = HarmonicClassifier(gamma_g=2.0, affinity="precomputed").fit(W, y)
    np.testing.assert_allclose(model.harmonic_solution_.class_mass[1], [0.25, 0.25])
    # A new vertex with weight 3 to a and 1 to the middle; the sink takes 2 / (3 + 1 + 2).
    np.testing.assert_allclose(
        model.predict_proba([[3.0, 1.0, 0.0]])[0],
        np.array([3 + 0.25, 0.25]) / 6 + (1 - 3.5 / 6) / 2,
    )
    assert model.predict([[3.0, 1.0, 0.0], [0.0, 1.0, 3.0]]).tolist() == ["a", "b"]


@pytest.mark.parametrize("gamma_g", [0.0, 0.1, np.inf])
@pytest.mark.parametrize("width", ["paper", "self-tuning", "binary", 0.5])
def test_far_away_points_get_the_nearest_label_and_finite_probabilities(gamma_g, width):
    """All weights of these points underflow; the nearest neighbor still counts most."""
    X, y = two_clusters_and_a_stray_pair()
    X, y = X[:6], np.array([0, 0, 0, 1, 1, 1])
    model = HarmonicClassifier(gamma_g=gamma_g, n_neighbors=2, width=width).fit(X, y)
    new = np.array([[-1e6], [-1e3], [1e3], [1e6]])
    assert model.predict(new).tolist() == [0, 0, 1, 1]
    probabilities = model.predict_proba(new)
    assert np.isfinite(probabilities).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)


def test_far_away_points_are_certain_without_a_sink():
    """With gamma_g = 0 every walk ends at a label, however small the weights are."""
    X, y = two_clusters_and_a_stray_pair()
    model = HarmonicClassifier(gamma_g=0.0, n_neighbors=2, width=1.0).fit(X[:6], y[:6])
    np.testing.assert_allclose(model.predict_proba([[-1e4], [1e4]]), np.eye(2), atol=1e-12)


def test_far_away_points_are_uncertain_with_a_sink():
    X, y = two_clusters_and_a_stray_pair()
    model = HarmonicClassifier(gamma_g=0.1, n_neighbors=2, width=1.0).fit(X[:6], y[:6])
    np.testing.assert_allclose(model.predict_proba([[-1e4], [1e4]]), 0.5)


def test_new_point_between_equal_neighbors_is_undecided():
    model = HarmonicClassifier(gamma_g=0.1, n_neighbors=1, width=1.0)
    model.fit([[0.0], [0.1], [2.0], [2.1]], [0, 0, 1, 1])
    model.set_params(n_neighbors=4)
    np.testing.assert_allclose(model.predict_proba([[1.05]]), 0.5)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("gamma_g", [0.0, 0.2])
def test_precomputed_graph_equals_the_graph_of_the_points(container, gamma_g):
    X, _, y = blobs()
    W = knn_graph(X, 6)
    from_points = HarmonicClassifier(gamma_g=gamma_g, n_neighbors=6).fit(X, y)
    model = HarmonicClassifier(gamma_g=gamma_g, affinity="precomputed")
    model.fit(container(W.toarray()), y)
    np.testing.assert_array_equal(model.transduction_, from_points.transduction_)
    np.testing.assert_array_equal(model.confidence_, from_points.confidence_)
    assert model.n_features_in_ == len(X)

    new = X[::4] + 0.1
    squared = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    width = np.sqrt(3) * X.std(axis=0).mean()
    kth = np.sort(squared, axis=1)[:, [5]]
    weights = np.where(squared <= kth, np.exp(-squared / (2 * width**2)), 0.0)
    np.testing.assert_array_equal(model.predict(container(weights)), from_points.predict(new))
    np.testing.assert_allclose(
        model.predict_proba(container(weights)), from_points.predict_proba(new), rtol=1e-9
    )


def test_precomputed_graph_keeps_the_lattices_apart():
    _, y, y_true, W = make_lattices()
    model = HarmonicClassifier(gamma_g=0.01, affinity="precomputed").fit(W, y)
    np.testing.assert_array_equal(model.transduction_, y_true)
    # As a new point, each vertex sees its own neighbors.
    np.testing.assert_array_equal(model.predict(W), y_true)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_new_point_without_any_weight_gets_the_most_frequent_label(container):
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    model = HarmonicClassifier(gamma_g=0.1, affinity="precomputed").fit(W, ["a", "b", "b"])
    new = container(np.zeros((2, 3)))
    assert model.predict(new).tolist() == ["b", "b"]
    np.testing.assert_array_equal(model.predict_proba(new), 0.5)


def test_components_without_a_label_get_that_of_the_nearest_row_and_a_warning():
    X, y = two_clusters_and_a_stray_pair()
    model = HarmonicClassifier(gamma_g=0.1, n_neighbors=1, width=1.0)
    message = "2 of 8 points are in components of the graph without a label"
    with pytest.warns(UserWarning, match=message) as caught:
        model.fit(X, y)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert model.transduction_.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    np.testing.assert_array_equal(model.confidence_[6:], 0.0)
    np.testing.assert_array_equal(model.label_distributions_[6:], 0.5)
    assert (model.confidence_[:6] > 0).all()
    # A new point whose neighbors know nothing follows them.
    assert model.predict([[901.0]]).tolist() == [1]
    np.testing.assert_array_equal(model.predict_proba([[901.0]]), [[0.5, 0.5]])


def test_components_without_a_label_get_the_most_frequent_one_on_a_precomputed_graph():
    W = np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]])
    y = ["b", None, "a", "a", None, None]
    model = HarmonicClassifier(gamma_g=0.1, affinity="precomputed")
    with pytest.warns(UserWarning, match="2 of 6 points are in components"):
        model.fit(W, y)
    assert model.transduction_.tolist() == ["b", "b", "a", "a", "a", "a"]
    assert model.predict(W).tolist() == ["b", "b", "a", "a", "a", "a"]
    np.testing.assert_array_equal(model.confidence_[4:], 0.0)


def test_no_warning_where_every_component_has_a_label():
    X, y = two_clusters_and_a_stray_pair()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = HarmonicClassifier(gamma_g=0.1, n_neighbors=1, width=1.0).fit(X[:6], y[:6])
    assert model.transduction_.tolist() == [0, 0, 0, 1, 1, 1]


def test_supervised_limit_labels_nothing_by_the_graph_and_does_not_warn():
    X, y = two_clusters_and_a_stray_pair()
    model = HarmonicClassifier(gamma_g=np.inf, n_neighbors=1, width=1.0).fit(X, y)
    np.testing.assert_array_equal(model.confidence_, y != -1)
    # What is left is the label of the nearest labeled row.
    assert model.transduction_.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


@pytest.mark.parametrize("solver", ["cg"])
def test_solution_that_did_not_converge_is_a_warning(monkeypatch, solver):
    impatient = functools.partial(iterative.conjugate_gradients, max_iter=2)
    monkeypatch.setattr(iterative, "conjugate_gradients", impatient)
    _, y, _, W = make_lattices()
    model = HarmonicClassifier(gamma_g=0.001, affinity="precomputed", solver=solver)
    message = "harmonic solution: stopped after 2 iterations without convergence"
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        model.fit(W, y)
    assert caught[0].filename == __file__
    assert "try solver='direct'" in str(caught[0].message)
    assert model.n_iter_ == 2
    assert not model.harmonic_solution_.converged


@pytest.mark.parametrize("solver", ["auto", "direct", "cg", "gauss-seidel"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_every_solver_gives_the_same_answer(solver, n_classes):
    X, _, y = blobs(n_classes=n_classes, n=90)
    expected = HarmonicClassifier(gamma_g=0.05, n_neighbors=6, solver="direct").fit(X, y)
    model = HarmonicClassifier(gamma_g=0.05, n_neighbors=6, solver=solver).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, expected.transduction_)
    np.testing.assert_allclose(model.confidence_, expected.confidence_, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(X), atol=1e-5)


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    gamma_g=st.sampled_from([0.0, 1e-3, 0.1, 10.0, np.inf]),
)
@settings(max_examples=40)
def test_probabilities_are_distributions_that_agree_with_the_prediction(seed, n_classes, gamma_g):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 3 * n_classes, np.arange(40) % n_classes, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a label", UserWarning)
        model = HarmonicClassifier(gamma_g=gamma_g, n_neighbors=4).fit(X, y)
    new = rng.normal(size=(30, 2)) * 2
    for distributions in (model.label_distributions_, model.predict_proba(new)):
        assert np.isfinite(distributions).all()
        assert distributions.min() >= 0
        np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
    if np.isfinite(gamma_g):
        probabilities = model.predict_proba(new)
        best = np.sort(probabilities, axis=1)
        clear = best[:, -1] - best[:, -2] > 1e-12
        np.testing.assert_array_equal(
            model.predict(new)[clear], probabilities.argmax(axis=1)[clear]
        )


def test_refit_with_another_affinity_forgets_the_points():
    X, _, y = blobs()
    W = knn_graph(X, 6).toarray()
    model = HarmonicClassifier(gamma_g=0.1, n_neighbors=6).fit(X, y)
    model.set_params(affinity="precomputed").fit(W, y)
    fresh = HarmonicClassifier(gamma_g=0.1, affinity="precomputed").fit(W, y)
    np.testing.assert_array_equal(model.predict_proba(W), fresh.predict_proba(W))
    model.set_params(affinity="knn").fit(X[:, :2], y)
    fresh = HarmonicClassifier(gamma_g=0.1, n_neighbors=6).fit(X[:, :2], y)
    np.testing.assert_array_equal(model.predict_proba(X[:, :2]), fresh.predict_proba(X[:, :2]))


def test_cosine_metric_ignores_the_length_of_rows():
    X, _, y = blobs()
    X = X + 1.0
    lengths = np.random.default_rng(2).uniform(0.1, 10.0, size=(len(X), 1))
    model = HarmonicClassifier(gamma_g=0.1, metric="cosine").fit(X, y)
    scaled = HarmonicClassifier(gamma_g=0.1, metric="cosine").fit(lengths * X, y)
    np.testing.assert_allclose(scaled.confidence_, model.confidence_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict_proba(X), model.predict_proba(5 * X), rtol=1e-9)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    euclidean = HarmonicClassifier(gamma_g=0.1).fit(unit, y)
    np.testing.assert_allclose(model.confidence_, euclidean.confidence_, rtol=1e-9)


def test_soft_labels_can_be_overruled():
    """One wrong label among many right ones, on a complete graph."""
    W = np.ones((8, 8)) - np.eye(8)
    y = ["b", "a", "b", "b", "b", "b", None, None]
    trusting = HarmonicClassifier(gamma_g=0.01, affinity="precomputed").fit(W, y)
    assert trusting.transduction_[1] == "a"
    doubting = HarmonicClassifier(gamma_g=0.01, c_labeled=0.1, affinity="precomputed").fit(W, y)
    assert doubting.transduction_.tolist() == ["b"] * 8
    trust = np.where(np.arange(8) == 1, np.inf, 0.1)
    mixed = HarmonicClassifier(gamma_g=0.01, c_labeled=trust, affinity="precomputed").fit(W, y)
    assert mixed.transduction_[1] == "a"


def test_recall_of_the_graph_is_reported(monkeypatch):
    rng = np.random.default_rng(0)
    X = (3 * rng.normal(size=(20, 30)))[rng.integers(0, 20, 2_000)] + rng.normal(size=(2_000, 30))
    y = np.where(np.arange(2_000) < 200, np.arange(2_000) % 2, -1)
    assert HarmonicClassifier().fit(X, y).graph_recall_ == 1.0
    assert (
        HarmonicClassifier(affinity="precomputed").fit(np.ones((4, 4)), y[198:202]).graph_recall_
        is None
    )
    monkeypatch.setattr("graphmargin.graph.neighbors.MAX_EXACT", 100)
    monkeypatch.setattr("graphmargin.graph.neighbors.EXACT_WORK", 0)
    assert 0.99 <= HarmonicClassifier(random_state=0).fit(X, y).graph_recall_ < 1.0
