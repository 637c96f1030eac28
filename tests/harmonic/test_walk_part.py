import pickle

import numpy as np
import pytest
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor, PointGraph, WalkPart, attach
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph._search.neighbors import NeighborSearch
from graphmargin.graph.adjacency import neighbor_graph

CLASSES = np.array(["a", "b"])
MASS = np.array([[1.0, 0.0], [0.25, 0.5], [0.0, 1.0]])
CODES = np.array([0, 1, 1])


def predictor_of(*parts, majority=0):
    return HarmonicPredictor(CLASSES, parts, CODES, majority)


def test_one_step_is_that_computed_by_hand():
    """Weights 3 and 1 to the first two vertices, and a sink of rate 2."""
    predictor = predictor_of(WalkPart(MASS, ((1.0, 2.0),), None))
    mass = (3 * MASS[0] + MASS[1]) / (3 + 1 + 2)
    labels, probabilities = predictor.label(np.array([[3.0, 1.0, 0.0]]))
    assert labels.tolist() == ["a"]
    np.testing.assert_allclose(probabilities[0], mass + (1 - mass.sum()) / 2)


def test_class_masses_of_a_blend_are_added_up():
    """Masses have the weights of their parts in them, and so have the rates, one or several."""
    other = np.array([[0.0, 0.5], [0.5, 0.0], [0.25, 0.25]])
    parts = (
        WalkPart(0.75 * MASS, ((0.5, 1.0), (0.25, 12.0)), None),
        WalkPart(0.25 * other, ((0.25, 100.0),), None),
    )
    weights = np.array([[0.0, 2.0, 2.0]])
    mean = 0.75 * (MASS[1] + MASS[2]) / 2 + 0.25 * (other[1] + other[2]) / 2
    moving = 0.5 * 4 / (4 + 1) + 0.25 * 4 / (4 + 12) + 0.25 * 4 / (4 + 100)
    labels, probabilities = predictor_of(*parts).label(weights)
    assert labels.tolist() == [CLASSES[mean.argmax()]]
    np.testing.assert_allclose(probabilities[0], moving * mean + (1 - moving * mean.sum()) / 2)


@given(seed=st.integers(0, 10**6), n_parts=st.integers(1, 3))
@settings(max_examples=25)
def test_the_likeliest_class_is_the_label(seed, n_parts):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet(np.ones(n_parts))
    parts = tuple(
        WalkPart(weight * rng.dirichlet(np.ones(4), size=6)[:, :3], ((weight, rate),), None)
        for weight, rate in zip(weights, 10 ** rng.uniform(-3, 3, n_parts), strict=True)
    )
    predictor = HarmonicPredictor(np.arange(3), parts, rng.integers(3, size=6), 0)
    labels, probabilities = predictor.label(rng.exponential(size=(20, 6)))
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() >= 0
    np.testing.assert_array_equal(labels, probabilities.argmax(axis=1))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_points_without_an_edge_or_a_reached_neighbor_have_a_label(container):
    unreached = np.zeros((3, 2))
    predictor = predictor_of(WalkPart(unreached, ((1.0, 0.1),), None), majority=1)
    labels, probabilities = predictor.label(container([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert labels.tolist() == ["a", "b"], "the label of its neighbor, and the most frequent one"
    np.testing.assert_array_equal(probabilities, 0.5)


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_points_are_attached_to_their_nearest_neighbors(metric):
    X = np.array([[1.0, 0.1], [2.0, 0.1], [0.1, 1.0], [0.1, 3.0]])
    graph = neighbor_graph(X, 2, width=1.0, metric=metric)
    points = PointGraph(graph.search, graph.width, 2, metric)
    attachment = attach(points, np.array([[5.0, 0.2]]))
    near = attachment.transition.toarray()[0]
    assert set(np.flatnonzero(near)) <= {0, 1}
    assert near.sum() == pytest.approx(1.0)
    part = WalkPart(np.array([[1.0, 0.0]] * 2 + [[0.0, 1.0]] * 2), ((1.0, 0.0),), points)
    predictor = HarmonicPredictor(CLASSES, (part,), np.array([0, 0, 1, 1]), 1)
    new = np.array([[5.0, 0.2], [0.2, 5.0]])
    assert predictor.predict(new).tolist() == ["a", "b"]
    np.testing.assert_allclose(predictor.probabilities(new), np.eye(2), atol=1e-12)
    restored = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(restored.probabilities(new), predictor.probabilities(new))


def test_pickled_search_leaves_out_its_cells():
    X = np.random.default_rng(0).normal(size=(40, 2))
    search = NeighborSearch(X, seed=3)
    before = search.neighbors(4)
    assert set(search.__getstate__()) == {"X", "n_jobs", "seed"}
    restored = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(restored.neighbors(4).indices, before.indices)
