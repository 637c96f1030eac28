"""Landmark features against the kernel that they stand for."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.margin import Kernel
from graphmargin.margin._solvers.feature_maps import (
    explicit_features,
    kernel_features,
    landmark_features,
    stratified_sample,
)
from tests.margin.problems import KERNELS, every_kernel


def points(n=60, d=3, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


@every_kernel
def test_features_of_landmarks_have_their_kernel_values(kernel):
    Z = points()
    features = landmark_features(kernel, Z)(Z)
    assert features.dtype == np.float64
    K = kernel(Z, Z)
    np.testing.assert_allclose(features @ features.T, K, atol=1e-4 * K.max())


@pytest.mark.parametrize(("kind", "dimension"), [("linear", 3), ("poly", 20)])
def test_enough_landmarks_are_exact_in_a_space_of_finite_dimension(kind, dimension):
    """(x.z + 1)^3 of three features has (3 + 3 choose 3) = 20 monomials."""
    X, kernel = points(seed=1), KERNELS[kind]
    feature_map = landmark_features(kernel, points(40, seed=2))
    assert feature_map.basis.shape == (40, dimension)
    K = kernel(X, X)
    np.testing.assert_allclose(feature_map(X) @ feature_map(X).T, K, atol=1e-4 * K.max())
    assert feature_map.approximation_error(X) < 1e-4


def test_error_is_the_share_of_the_diagonal_that_is_missed():
    X, kernel = points(seed=3), KERNELS["rbf"]
    Z = X[:5]
    residual = kernel(X, X) - kernel(X, Z) @ np.linalg.solve(kernel(Z, Z), kernel(Z, X))
    error = landmark_features(kernel, Z).approximation_error(X)
    assert error == pytest.approx(np.diag(residual).mean(), rel=1e-4)


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf"])
def test_sparse_and_single_precision_rows_have_the_features_of_dense_ones(kind):
    X, kernel = points(), KERNELS[kind]
    X[np.abs(X) < 0.5] = 0.0

    def products(rows):
        features = landmark_features(kernel, rows[:30])(rows)
        return features @ features.T

    expected = products(X)
    np.testing.assert_allclose(products(sparse.csr_array(X)), expected, rtol=1e-3, atol=1e-3)
    # Single precision drops more of the small eigenvalues.
    single = products(X.astype(np.float32))
    np.testing.assert_allclose(single, expected, atol=0.03 * expected.max())


@pytest.mark.parametrize("kind", ["linear", "poly", "rbf"])
def test_duplicates_and_constant_features_are_harmless(kind):
    Z = np.repeat(np.array([[1.0, 2.0, 7.0], [3.0, 1.0, 7.0]]), 10, axis=0).astype(np.float32)
    feature_map = landmark_features(KERNELS[kind], Z)
    assert feature_map.basis.shape == (20, 2)
    K = KERNELS[kind](Z, Z)
    np.testing.assert_allclose(feature_map(Z) @ feature_map(Z).T, K, atol=1e-3 * K.max())


def test_error_of_rows_without_a_norm_is_zero():
    kernel = Kernel("linear")
    assert landmark_features(kernel, np.eye(2)).approximation_error(np.zeros((3, 2))) == 0.0


@given(
    counts=st.lists(st.integers(1, 30), min_size=1, max_size=6),
    n_rows=st.integers(1, 120),
    seed=st.integers(0, 2**32 - 1),
)
def test_sample_is_as_even_as_the_classes_allow(counts, n_rows, seed):
    codes = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(counts)), counts))
    rows = stratified_sample(codes, n_rows, seed)
    assert len(rows) == min(n_rows, len(codes))
    assert np.all(np.diff(rows) > 0)
    drawn = np.bincount(codes[rows], minlength=len(counts))
    exhausted = drawn == counts
    # A class from which rows are left has given as many as any other, up to one.
    if not exhausted.all():
        assert drawn.max() <= drawn[~exhausted].min() + len(counts)
        assert drawn[~exhausted].min() >= drawn[exhausted].max(initial=0) - len(counts)


@pytest.mark.parametrize(
    ("n_labeled", "n_landmarks", "n_among_labeled"),
    [(30, 20, 15), (30, 40, 30), (30, 100, 30), (990, 500, 490), (3, 2000, 3)],
)
def test_landmarks_come_from_labeled_and_other_rows(n_labeled, n_landmarks, n_among_labeled):
    X, labeled = points(1000), np.arange(n_labeled)
    feature_map = explicit_features(X, labeled, KERNELS["rbf"], n_landmarks, 0.0, random_state=0)
    distinct = {tuple(row) for row in feature_map.landmarks}
    assert len(distinct) == min(n_landmarks, 1000)
    assert len(distinct & {tuple(row) for row in X[labeled]}) == n_among_labeled


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_features_of_a_kernel_matrix_have_its_values_as_products(container):
    X, new = points(), points(5, seed=9)
    K = KERNELS["rbf"](X, X)
    feature_map = kernel_features(container(K))
    np.testing.assert_allclose(feature_map(K) @ feature_map(K).T, K, atol=1e-8)
    values = KERNELS["rbf"](new, X)
    np.testing.assert_allclose(feature_map(values) @ feature_map(K).T, values, atol=1e-4)


def test_landmarks_are_distinct_rows():
    X = np.repeat(points(30), 40, axis=0)
    feature_map = explicit_features(X, np.arange(80), KERNELS["poly"], 20, 0.0, random_state=0)
    assert len(np.unique(feature_map.landmarks, axis=0)) == len(feature_map.landmarks) == 25
    assert feature_map.approximation_error(X) < 1e-6


def test_linear_features_of_dense_rows_are_the_rows():
    X, center = points(), np.array([1.0, 2.0, 3.0])
    feature_map = explicit_features(X, np.arange(3), KERNELS["linear"], 500, center, random_state=0)
    np.testing.assert_allclose(feature_map(X), (X - center) / 1.5)
    assert feature_map.dimension == 3
    landmarks = explicit_features(
        sparse.csr_array(X), np.arange(3), KERNELS["linear"], 50, 0.0, random_state=0
    )
    assert landmarks.landmarks.shape == (50, 3)
    assert landmarks.approximation_error(X) < 1e-6
