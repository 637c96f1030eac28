import numpy as np
import pytest
from graphmargin.selection.grids import (
    VARIANCE_ROWS,
    c_grid,
    gamma_g_grid,
    gamma_g_grid_of_degrees,
    gamma_u_grid,
    label_counts,
    prior_grid,
)
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin import Kernel

powers = pytest.mark.parametrize("power", [-8, -1, 7])


def points(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def labels_of(*counts):
    """Return labels with these numbers of each class, and three unlabeled rows."""
    codes = np.repeat(np.arange(len(counts)), counts)
    return EncodedLabels(np.arange(len(counts)), np.append(codes, [UNLABELED] * 3))


# gamma_g: in units of the degrees


@powers
def test_gamma_g_grows_with_the_weights(power):
    W = knn_graph(points())
    np.testing.assert_allclose(gamma_g_grid(10.0**power * W), 10.0**power * np.array(grid_of(W)))


def grid_of(W):
    """Return the grid from the degrees as the docstring tells."""
    unit = 10.0 ** np.floor(np.log10(np.median(W.toarray().sum(axis=1))))
    return [np.inf, 10 * unit, unit, unit / 10, unit / 100]


@given(weight=st.floats(1e-6, 1e6))
def test_typical_degree_is_within_the_gamma_g_grid(weight):
    gammas = gamma_g_grid(sparse.csr_array(weight * (np.ones((4, 4)) - np.eye(4))))
    assert gammas[0] == np.inf
    assert all(np.diff(gammas[1:]) < 0)
    assert gammas[-1] < 3 * weight <= gammas[1] * (1 + 1e-9)


def test_vertices_without_edges_do_not_count_for_gamma_g():
    W = knn_graph(points())
    alone = sparse.block_diag([W, sparse.csr_array((200, 200))]).tocsr()
    assert gamma_g_grid(sparse.csr_array(alone)) == gamma_g_grid(W)


def test_sample_of_the_degrees_has_the_grid_of_the_graph():
    W = knn_graph(points())
    assert gamma_g_grid_of_degrees(np.asarray(W.sum(axis=1))[::2]) == gamma_g_grid(W)


def test_graph_without_edges_has_a_gamma_g_grid():
    assert gamma_g_grid(sparse.csr_array((3, 3))) == [np.inf, 10.0, 1.0, 0.1, 0.01]


# C: in units of the kernel


@powers
@pytest.mark.parametrize(("kind", "exponent"), [("precomputed", 1), ("linear", 2), ("rbf", 0)])
def test_c_falls_as_the_kernel_grows_with_the_units(power, kind, exponent):
    X, unit = points(), 10.0**power
    X = X @ X.T if kind == "precomputed" else X
    once, scaled = (c_grid(a * X, Kernel(kind, width=a if kind == "rbf" else 1)) for a in (1, unit))
    np.testing.assert_allclose(scaled, unit**-exponent * np.array(once))


@given(variance=st.floats(1e-9, 1e9))
def test_c_is_a_power_of_ten_near_the_inverse_variance(variance):
    K = 2 * variance * np.eye(2)  # mean of the diagonal minus mean of all: half of 2 variance
    grid = c_grid(K, Kernel("precomputed"))
    exponent = np.log10(grid[0])
    assert exponent == pytest.approx(round(exponent), abs=1e-9)
    assert abs(exponent - (-np.log10(variance) - 0.25)) <= 0.5 + 1e-9
    np.testing.assert_allclose(grid, grid[0] * np.array([1, 10, 100]))


def test_c_does_not_depend_on_the_origin():
    X = points()
    shifted = c_grid(X + 100.0, Kernel("linear"))
    assert shifted == c_grid(X, Kernel("linear"))
    K = X @ X.T
    assert c_grid(K + 7.0, Kernel("precomputed")) == c_grid(K, Kernel("precomputed"))


def test_c_of_a_matrix_is_that_of_its_kernel():
    X = points()
    X -= X.mean(axis=0)
    matrix, rows = c_grid(X @ X.T, Kernel("precomputed")), c_grid(X, Kernel("linear"))
    assert matrix == rows == c_grid(sparse.csr_array(X), Kernel("linear"))
    assert c_grid(sparse.csr_array(X @ X.T), Kernel("precomputed")) == matrix


@given(
    value=st.floats(-1e9, 1e9, width=32),
    n=st.integers(1, 50),
    dtype=st.sampled_from([np.float64, np.float32]),
)
def test_c_of_rows_that_are_all_the_same_does_not_come_from_rounding(value, n, dtype):
    same = np.full((n, n), value, dtype=dtype)
    for kind in ("precomputed", "linear", "rbf"):
        assert c_grid(same, Kernel(kind)) == [1.0, 10.0, 100.0]


def test_c_of_many_rows_is_that_of_a_regular_sample():
    X = points(n=3 * VARIANCE_ROWS - 1)
    assert c_grid(X, Kernel("rbf")) == c_grid(X[::3], Kernel("rbf"))


# gamma_u: in units of the number of rows


def test_gamma_u_starts_with_supervised_learning():
    assert gamma_u_grid(200) == [0.0, 0.0005, 0.005, 0.05, 0.5]
    np.testing.assert_allclose(gamma_u_grid(600), np.array(gamma_u_grid(200)) / 3, rtol=1e-12)


# Priors


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ((1, 1), [False, (2, 2)]),
        ((5, 1), [False, (6, 2)]),
        ((3, 3), [False, (4, 4)]),
        ((4, 3), [False]),
        ((7, 1, 1), [False, (8, 2, 2)]),
        ((8, 1, 1), [False]),
    ],
)
def test_priors_are_candidates_for_three_labels_a_class_or_less(counts, expected):
    assert prior_grid(labels_of(*counts)) == expected
    assert label_counts(labels_of(*counts)).tolist() == list(counts)
