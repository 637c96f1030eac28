import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph._search.neighbors import NeighborSearch
from graphmargin.graph.adjacency import neighbor_graph
from graphmargin.harmonic.walk_part import PointGraph, WalkPart, attach

MASS = np.array([[1.0, 0.0], [0.25, 0.5], [0.0, 1.0]])
CODES = np.array([0, 1, 1])


def part_of(mass, *sinks, majority=0):
    """Return a part on a given graph."""
    return WalkPart(mass, sinks, None, CODES, majority)


def test_one_step_is_that_computed_by_hand():
    """Weights 3 and 1 to the first two vertices, and a sink of rate 2."""
    mass = (3 * MASS[0] + MASS[1]) / (3 + 1 + 2)
    codes, probabilities = part_of(MASS, (1.0, 2.0)).label(np.array([[3.0, 1.0, 0.0]]))
    assert codes.tolist() == [0]
    np.testing.assert_allclose(probabilities[0], mass + (1 - mass.sum()) / 2)


def test_probability_of_moving_is_the_mean_of_all_rates():
    weights = np.array([[0.0, 2.0, 2.0]])
    mean = (MASS[1] + MASS[2]) / 2
    moving = 0.5 * 4 / (4 + 1) + 0.25 * 4 / (4 + 12) + 0.25 * 4 / (4 + 100)
    part = part_of(MASS, (0.5, 1.0), (0.25, 12.0), (0.25, 100.0))
    codes, probabilities = part.label(weights)
    assert codes.tolist() == [mean.argmax()]
    np.testing.assert_allclose(probabilities[0], moving * mean + (1 - moving * mean.sum()) / 2)


@given(seed=st.integers(0, 10**6), n_sinks=st.integers(1, 3))
@settings(max_examples=25)
def test_the_likeliest_class_is_the_label(seed, n_sinks):
    rng = np.random.default_rng(seed)
    rates = 10 ** rng.uniform(-3, 3, n_sinks)
    sinks = tuple(zip(rng.dirichlet(np.ones(n_sinks)), rates, strict=True))
    mass = rng.dirichlet(np.ones(4), size=6)[:, :3]
    part = WalkPart(mass, sinks, None, rng.integers(3, size=6), 0)
    weights = rng.exponential(size=(20, 6))
    codes, probabilities = part.label(weights)
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert probabilities.min() >= 0
    np.testing.assert_array_equal(codes, probabilities.argmax(axis=1))
    np.testing.assert_array_equal(part.probabilities(weights), probabilities)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_points_without_an_edge_or_a_reached_neighbor_have_a_label(container):
    part = part_of(np.zeros((3, 2)), (1.0, 0.1), majority=1)
    codes, probabilities = part.label(container([[1.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))
    assert codes.tolist() == [0, 1], "the label of its neighbor, and the most frequent one"
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
    codes = np.array([0, 0, 1, 1])
    part = WalkPart(np.eye(2)[codes], ((1.0, 0.0),), points, codes, 1)
    new = np.array([[5.0, 0.2], [0.2, 5.0]])
    predicted, probabilities = part.label(new)
    assert predicted.tolist() == [0, 1]
    np.testing.assert_allclose(probabilities, np.eye(2), atol=1e-12)
    restored = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(restored.probabilities(new), probabilities)


def test_pickled_search_leaves_out_its_cells():
    X = np.random.default_rng(0).normal(size=(40, 2))
    search = NeighborSearch(X, seed=3)
    before = search.neighbors(4)
    assert set(search.__getstate__()) == {"X", "n_jobs", "seed"}
    restored = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(restored.neighbors(4).indices, before.indices)
