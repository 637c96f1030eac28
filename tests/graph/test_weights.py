import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph._search.neighbors import nearest_neighbors
from graphmargin.graph.weights import (
    feature_std,
    log_weights,
    log_weights_of_points,
    numeric_width,
    paper_width,
)

POINTS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 6.0]])


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(normal(300, 4) * [1, 2, 3, 0], id="float64"),
        pytest.param(normal(300, 4) + 1e8, id="offset"),
        pytest.param((normal(300, 4) + 100).astype(np.float32), id="float32"),
    ],
)
def test_spread_is_the_standard_deviation(X):
    expected = X.astype(np.float64).std(axis=0)
    np.testing.assert_allclose(feature_std(X), expected, rtol=1e-10, atol=1e-15)


def test_spread_of_sparse_and_huge_points_is_accurate():
    X = np.where(normal(200, 3) > 0.5, normal(200, 3, seed=1), 0.0)
    np.testing.assert_allclose(feature_std(sparse.csr_array(X)), X.std(axis=0), rtol=1e-12)
    np.testing.assert_allclose(feature_std(X * 1e100), X.std(axis=0) * 1e100, rtol=1e-12)


def test_paper_width_is_that_computed_by_hand():
    # Standard deviations of (0, 2, 0) and (0, 0, 6) are sqrt(8)/3 and 3 sqrt(8)/3.
    sigma = (np.sqrt(8) / 3 + np.sqrt(8)) / 2
    assert paper_width(POINTS) == pytest.approx(np.sqrt(2) * sigma, rel=1e-14)


def test_constant_features_count_in_the_paper_width():
    X = np.column_stack([[0.0, 2.0], [5.0, 5.0], [5.0, 5.0], [5.0, 5.0]])
    assert paper_width(X) == pytest.approx(np.sqrt(4) * 0.25)


def test_paper_width_of_equal_rows_is_one():
    assert paper_width(np.full((4, 3), 7.0)) == 1.0


@given(scale=st.floats(1e-3, 1e3), shift=st.floats(-1e3, 1e3))
def test_paper_width_moves_with_the_scale_but_not_with_the_origin(scale, shift):
    assert paper_width(scale * POINTS + shift) == pytest.approx(scale * paper_width(POINTS))


def test_weights_of_one_width_are_those_computed_by_hand():
    squared = np.array([[4, 36], [4, 40], [36, 40]])
    K, sigma = 2, (np.sqrt(8) / 3 + np.sqrt(8)) / 2
    expected = {"paper": -squared / (2 * K * sigma**2), 4.0: -squared / 32}
    for width, logarithms in expected.items():
        distances = nearest_neighbors(POINTS, 2).distances
        log_w = log_weights(distances, numeric_width(POINTS, width))
        np.testing.assert_allclose(log_w, logarithms, rtol=1e-14)


def test_log_weights_of_far_points_do_not_underflow():
    np.testing.assert_allclose(log_weights(np.array([[1e3], [0.0]]), 1.0), [[-5e5], [0.0]])


def test_where_logarithms_overflow_a_new_point_has_its_nearest_neighbors():
    distances = np.array([[1e200, 1e200, 2e200], [1.0, 2.0, 1e200]])
    lowest = np.finfo(np.float64).min
    expected = [[lowest, lowest, -np.inf], [-0.5, -2.0, -np.inf]]
    np.testing.assert_array_equal(log_weights_of_points(distances, 1.0), expected)


@pytest.mark.parametrize("width", ["papr", "Paper", 0, 0.0, -1, -0.5, np.nan, True, None, [1.0]])
def test_unknown_or_non_positive_width_is_refused(width):
    with pytest.raises(ValueError, match=r"`width` must be > 0, got .*; use 'paper' or a positive"):
        numeric_width(POINTS, width)
    with pytest.raises(ValueError, match="`width` must be finite, got inf"):
        numeric_width(POINTS, np.inf)
