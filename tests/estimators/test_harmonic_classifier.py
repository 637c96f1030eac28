import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.datasets import make_lattices
from graphmargin.estimators import HarmonicClassifier
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from tests.estimators.problems import assert_sound, blobs

OPTIONS = {
    "regularized": ({"gamma_g": 0.1}, 2),
    "hard": ({"gamma_g": 0.0}, 3),
    "supervised": ({"gamma_g": np.inf}, 2),
    "soft": ({"gamma_g": 0.1, "c_labeled": 2.0}, 3),
    "soft-unlabeled": ({"gamma_g": 0.1, "c_labeled": 2.0, "c_unlabeled": 0.3}, 2),
    "priors": ({"gamma_g": 0.1, "class_mass_normalization": True}, 2),
    "given-priors": ({"gamma_g": 0.1, "class_mass_normalization": [0.2, 0.8]}, 2),
}


@pytest.mark.parametrize(("options", "n_classes"), OPTIONS.values(), ids=OPTIONS.keys())
def test_training_rows_get_the_harmonic_solution(options, n_classes):
    X, _, y = blobs(n_classes)
    options = dict(options)
    model = HarmonicClassifier(n_neighbors=6, **options).fit(X, y)
    priors = options.pop("class_mass_normalization", False)
    solution = harmonic_solution(knn_graph(X, 6), y, **options)
    np.testing.assert_array_equal(model.harmonic_solution_.class_mass, solution.class_mass)
    if priors is not False:
        solution = normalize_class_mass(solution, None if priors is True else priors)
    np.testing.assert_array_equal(model.graph_.toarray(), knn_graph(X, 6).toarray())
    np.testing.assert_array_equal(model.confidence_, solution.confidence)
    np.testing.assert_array_equal(model.label_distributions_, solution.label_distributions)
    assert model.n_iter_ == solution.iterations
    labeled_rows = solution.codes != -1
    np.testing.assert_array_equal(model.transduction_[labeled_rows], solution.codes[labeled_rows])


# New points: one more step of the walk


@pytest.mark.parametrize(
    ("width", "weight", "gamma_g", "c_unlabeled"),
    [
        pytest.param(2.0, lambda d: np.exp(-(d**2) / 8), 0.5, 0.25, id="number"),
        # K = 1, and the standard deviation of 0, 1, 4, 6 is sqrt(5.6875).
        pytest.param("paper", lambda d: np.exp(-(d**2) / (2 * 5.6875)), 0.5, 0.0, id="paper"),
    ],
)
def test_new_point_has_the_masses_computed_by_hand(width, weight, gamma_g, c_unlabeled):
    """Four points on a line, k = 2: the new point at 8 looks at 6 (distance 2) and 4 (4)."""
    X = np.array([[0.0], [1.0], [4.0], [6.0]])
    model = HarmonicClassifier(gamma_g=gamma_g, c_unlabeled=c_unlabeled, n_neighbors=2, width=width)
    model.fit(X, ["a", None, None, "b"])
    mass = model.harmonic_solution_.class_mass
    near, far = weight(np.array([2.0, 4.0]))
    expected = (near * mass[3] + far * mass[2]) / (near + far + gamma_g + c_unlabeled)
    lost = 1 - expected.sum()
    np.testing.assert_allclose(model.predict_proba([[8.0]])[0], expected + lost / 2, rtol=1e-12)
    assert model.predict([[8.0]]).tolist() == ["b"]


LINE = np.array([[0.0], [0.1], [0.3], [10.0], [10.1], [10.3]])


@pytest.mark.parametrize("width", ["paper", 0.5])
def test_far_away_points_get_the_nearest_label_and_finite_probabilities(width):
    """All weights of these points underflow; the nearest neighbor still counts most."""
    for gamma_g in (0.0, 0.1, np.inf):
        model = HarmonicClassifier(gamma_g=gamma_g, n_neighbors=2, width=width)
        model.fit(LINE, [0, 0, 0, 1, 1, 1])
        new = np.array([[-1e6], [-1e3], [1e3], [1e6]])
        assert model.predict(new).tolist() == [0, 0, 1, 1]
        probabilities = model.predict_proba(new)
        assert np.isfinite(probabilities).all()
        np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
        if gamma_g == 0:  # every walk ends at a label, however small the weights are
            np.testing.assert_allclose(probabilities, np.eye(2)[[0, 0, 1, 1]], atol=1e-12)


# Graphs that are given


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
def test_precomputed_graph_equals_the_graph_of_the_points(container):
    X, _, y = blobs()
    W = knn_graph(X, 6)
    from_points = HarmonicClassifier(gamma_g=0.2, n_neighbors=6).fit(X, y)
    model = HarmonicClassifier(gamma_g=0.2, affinity="precomputed").fit(container(W.toarray()), y)
    np.testing.assert_array_equal(model.transduction_, from_points.transduction_)
    np.testing.assert_array_equal(model.confidence_, from_points.confidence_)
    assert model.n_features_in_ == len(X)
    assert model.graph_recall_ is None

    new = X[::4] + 0.1
    squared = ((new[:, None] - X[None]) ** 2).sum(axis=2)
    width = np.sqrt(4) * X.std(axis=0).mean()
    kth = np.sort(squared, axis=1)[:, [5]]
    weights = np.where(squared <= kth, np.exp(-squared / (2 * width**2)), 0.0)
    np.testing.assert_array_equal(model.predict(container(weights)), from_points.predict(new))
    np.testing.assert_allclose(
        model.predict_proba(container(weights)), from_points.predict_proba(new), rtol=1e-9
    )


def test_precomputed_graph_keeps_the_lattices_apart():
    _, y, y_true, W = make_lattices()
    for gamma_g in (0.01, "auto"):
        model = HarmonicClassifier(gamma_g=gamma_g, affinity="precomputed").fit(W, y)
        np.testing.assert_array_equal(model.transduction_, y_true)
        # As a new point, each vertex sees its own neighbors.
        np.testing.assert_array_equal(model.predict(W), y_true)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_new_point_without_any_weight_gets_the_most_frequent_label(container):
    W = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    model = HarmonicClassifier(affinity="precomputed").fit(W, ["a", "b", "b"])
    new = container(np.zeros((2, 3)))
    assert model.predict(new).tolist() == ["b", "b"]
    np.testing.assert_array_equal(model.predict_proba(new), 0.5)


def test_components_without_a_label_get_that_of_the_nearest_row():
    X, y = np.vstack([LINE, [[900.0], [900.1]]]), [0, 0, -1, 1, -1, -1, -1, -1]
    model = HarmonicClassifier(n_neighbors=1, width=1.0)
    with pytest.warns(UserWarning, match="2 of 8 rows are in components of the graph"):
        model.fit(X, y)
    assert model.transduction_.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]
    np.testing.assert_array_equal(model.confidence_[6:], 0.0)
    np.testing.assert_array_equal(model.label_distributions_[6:], 0.5)
    assert (model.confidence_[:6] > 0).all()
    # A new point whose neighbors know nothing follows them.
    assert model.predict([[901.0]]).tolist() == [1]
    np.testing.assert_array_equal(model.predict_proba([[901.0]]), [[0.5, 0.5]])


def test_components_without_a_label_get_the_most_frequent_one_on_a_precomputed_graph():
    W = np.kron(np.eye(3), [[0.0, 1.0], [1.0, 0.0]])
    model = HarmonicClassifier(affinity="precomputed")
    with pytest.warns(UserWarning, match="2 of 6 rows are in components"):
        model.fit(W, ["b", None, "a", "a", None, None])
    assert model.transduction_.tolist() == ["b", "b", "a", "a", "a", "a"]
    assert model.predict(W).tolist() == ["b", "b", "a", "a", "a", "a"]
    np.testing.assert_array_equal(model.confidence_[4:], 0.0)


def test_supervised_limit_gives_unlabeled_rows_the_nearest_given_label():
    X, y = np.vstack([LINE, [[900.0], [900.1]]]), np.array([0, 0, -1, 1, -1, -1, -1, -1])
    model = HarmonicClassifier(gamma_g=np.inf, n_neighbors=1, width=1.0).fit(X, y)
    np.testing.assert_array_equal(model.confidence_, y != -1)
    assert model.transduction_.tolist() == [0, 0, 0, 1, 1, 1, 1, 1]


# Metrics


def test_cosine_metric_ignores_the_length_of_rows():
    X, _, y = blobs()
    X = X + 1.0
    lengths = np.random.default_rng(2).uniform(0.1, 10.0, size=(len(X), 1))
    model = HarmonicClassifier(metric="cosine").fit(X, y)
    scaled = HarmonicClassifier(metric="cosine").fit(lengths * X, y)
    np.testing.assert_allclose(scaled.confidence_, model.confidence_, rtol=1e-9)
    np.testing.assert_allclose(scaled.predict_proba(X), model.predict_proba(5 * X), rtol=1e-9)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    np.testing.assert_allclose(
        model.confidence_, HarmonicClassifier().fit(unit, y).confidence_, rtol=1e-9
    )


@given(
    seed=st.integers(0, 2**32 - 1),
    n_classes=st.integers(2, 4),
    gamma_g=st.sampled_from([0.0, 1e-3, 0.1, 10.0, np.inf, "auto", [0.1, 5.0]]),
    n_neighbors=st.sampled_from([2, 4, 6]),
    width=st.sampled_from(["paper", 0.3]),
)
@settings(max_examples=30)
def test_probabilities_are_distributions_that_agree_with_the_prediction(
    seed, n_classes, gamma_g, n_neighbors, width
):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(40, 2))
    y = np.where(np.arange(40) < 3 * n_classes, np.arange(40) % n_classes, -1)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*without a label", UserWarning)
        model = HarmonicClassifier(gamma_g=gamma_g, n_neighbors=n_neighbors, width=width).fit(X, y)
    new = rng.normal(size=(30, 2)) * 2
    probabilities = model.predict_proba(new)
    assert_sound(model, new)
    if gamma_g != np.inf:
        best = np.sort(probabilities, axis=1)
        clear = best[:, -1] - best[:, -2] > 1e-12
        np.testing.assert_array_equal(
            model.predict(new)[clear], probabilities.argmax(axis=1)[clear]
        )
