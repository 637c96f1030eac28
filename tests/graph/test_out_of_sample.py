import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph._search.neighbors import Neighbors
from graphmargin.graph.out_of_sample import attach_by_neighbors, attach_by_weights


def test_transition_probabilities_are_weights_over_their_sum():
    neighbors = Neighbors(np.array([[2, 0], [1, 2]]), np.array([[1.0, 2.0], [0.0, 3.0]]), 1.0)
    attachment = attach_by_neighbors(neighbors, 2.0, 4)
    weights = np.exp(-np.square(neighbors.distances) / 8)
    expected = np.zeros((2, 4))
    np.put_along_axis(expected, neighbors.indices, weights / weights.sum(1, keepdims=True), axis=1)
    np.testing.assert_allclose(attachment.transition.toarray(), expected, rtol=1e-14)
    np.testing.assert_allclose(attachment.log_degrees, np.log(weights.sum(axis=1)), rtol=1e-14)


def test_distant_points_have_transitions_although_their_weights_underflow():
    neighbors = Neighbors(np.array([[0, 1]]), np.array([[1e4, 1e4 + 1e-4]]), 1.0)
    attachment = attach_by_neighbors(neighbors, 1.0, 2)
    # d^2 / 2 differs by 1 between the two neighbors.
    np.testing.assert_allclose(
        attachment.transition.toarray(), [[1 / (1 + np.exp(-1)), 1 / (1 + np.e)]], rtol=1e-6
    )
    assert attachment.log_degrees[0] == pytest.approx(-5e7, rel=1e-6)
    assert attachment.move_probability(1e-6).tolist() == [0.0]
    assert attachment.move_probability(0.0).tolist() == [1.0]


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array, sparse.coo_array])
def test_weights_are_given_as_arrays_or_sparse_matrices(form):
    weights = np.array([[1.0, 0.0, 3.0], [0.0, 0.0, 0.0]])
    attachment = attach_by_weights(form(weights))
    np.testing.assert_allclose(attachment.transition.toarray(), [[0.25, 0, 0.75], [0, 0, 0]])
    np.testing.assert_allclose(attachment.move_probability(4.0), [0.5, 0.0])
    np.testing.assert_allclose(attachment.move_probability(0.0), [1.0, 0.0])


def test_negative_weights_are_refused():
    with pytest.raises(ValueError, match=r"must be non-negative, got -2\.0"):
        attach_by_weights(np.array([[1.0, -2.0]]))
