import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from graphmargin import _blocks
from graphmargin.graph import components, laplacian
from graphmargin.graph.laplacian import quadratic_form

TRIANGLE_AND_ISOLATED = sparse.csr_array(
    np.array([[0, 1, 2, 0], [1, 0, 3, 0], [2, 3, 0, 0], [0, 0, 0, 0.0]])
)

graphs = (
    st.integers(1, 9)
    .flatmap(
        lambda n: arrays(
            np.float64, (n, n), elements=st.sampled_from([0.0, 0.0, 1e-6, 0.3, 1.0, 50.0])
        )
    )
    .map(lambda A: np.triu(A, 1) + np.triu(A, 1).T)
)


def test_laplacian_is_that_computed_by_hand():
    L = laplacian(TRIANGLE_AND_ISOLATED)
    assert isinstance(L, sparse.csr_array)
    assert L.toarray().tolist() == [[3, -1, -2, 0], [-1, 4, -3, 0], [-2, -3, 5, 0], [0, 0, 0, 0]]


def test_normalized_laplacian_is_that_computed_by_hand():
    degrees = np.array([3.0, 4.0, 5.0])
    L = laplacian(TRIANGLE_AND_ISOLATED, normalized=True).toarray()
    expected = laplacian(TRIANGLE_AND_ISOLATED).toarray()[:3, :3]
    np.testing.assert_allclose(L[:3, :3], expected / np.sqrt(np.outer(degrees, degrees)))
    np.testing.assert_array_equal(L[3], 0)
    np.testing.assert_array_equal(L[:, 3], 0)


@given(W=graphs)
def test_rows_sum_to_zero_and_the_form_is_the_sum_over_edges(W):
    L = laplacian(sparse.csr_array(W)).toarray()
    scale = max(1.0, W.max())
    np.testing.assert_allclose(L.sum(axis=1), 0, atol=1e-12 * scale)
    np.testing.assert_array_equal(L, L.T)
    f = np.linspace(-1, 2, len(W)) ** 3
    by_edges = (W * np.square(f[:, None] - f)).sum() / 2
    np.testing.assert_allclose(f @ L @ f, by_edges, rtol=1e-9, atol=1e-11 * scale)
    assert np.linalg.eigvalsh(L).min() >= -1e-11 * scale


@given(W=graphs)
def test_normalized_eigenvalues_are_between_zero_and_two(W):
    L = laplacian(sparse.csr_array(W), normalized=True).toarray()
    np.testing.assert_allclose(L, L.T, atol=1e-15)
    eigenvalues = np.linalg.eigvalsh(L)
    assert eigenvalues.min() >= -1e-12
    assert eigenvalues.max() <= 2 + 1e-12
    np.testing.assert_allclose(L @ np.sqrt(W.sum(axis=1)), 0, atol=1e-12)


@pytest.mark.parametrize("normalized", [False, True])
@pytest.mark.parametrize("power", [1, 2, 5])
def test_power_is_the_matrix_power(normalized, power):
    L = laplacian(TRIANGLE_AND_ISOLATED, normalized=normalized).toarray()
    powered = laplacian(TRIANGLE_AND_ISOLATED, normalized=normalized, power=power)
    np.testing.assert_allclose(powered.toarray(), np.linalg.matrix_power(L, power), atol=1e-12)


@pytest.mark.parametrize("power", [0, -1, 1.5, True, "2"])
def test_power_must_be_a_positive_integer(power):
    with pytest.raises(ValueError, match=f"`power` must be an integer >= 1, got {power!r}"):
        laplacian(TRIANGLE_AND_ISOLATED, power=power)


def test_two_paths_and_a_point_are_three_components():
    W = np.zeros((6, 6))
    W[0, 3] = W[3, 0] = W[1, 4] = W[4, 1] = W[4, 5] = W[5, 4] = 1e-300
    assert components(sparse.csr_array(W)).tolist() == [0, 1, 2, 0, 1, 1]


@pytest.mark.parametrize("power", [1, 2, 3, 4])
@pytest.mark.parametrize("block_bytes", [1, 2000, 2**25])
def test_quadratic_form_is_the_dense_product(random_graph, power, block_bytes, monkeypatch):
    monkeypatch.setattr(_blocks, "BLOCK_BYTES", block_bytes)
    L = laplacian(sparse.csr_array(random_graph(60, seed=0)))
    R = np.random.default_rng(1).normal(size=(60, 7))
    expected = R.T @ np.linalg.matrix_power(L.toarray(), power) @ R
    form = quadratic_form(L, R, power=power)
    np.testing.assert_allclose(form, expected, rtol=1e-10, atol=1e-10 * np.abs(expected).max())
    np.testing.assert_array_equal(form, form.T)
    np.testing.assert_array_equal(form, quadratic_form(L, np.asfortranarray(R), power=power))
    np.testing.assert_array_equal(form, quadratic_form(L, R, power=power, n_jobs=1))


def test_quadratic_form_of_single_precision_is_that_of_the_rounded_rows(random_graph):
    L = laplacian(sparse.csr_array(random_graph(60, seed=0)))
    R = 1e4 + np.random.default_rng(1).normal(size=(60, 3)).astype(np.float32)
    form = quadratic_form(L, R)
    assert form.dtype == np.float64
    np.testing.assert_allclose(form, quadratic_form(L, R.astype(np.float64)), rtol=1e-12)
    assert np.linalg.eigvalsh(form).min() > 0


@pytest.mark.parametrize("power", [1, 2, 3])
def test_quadratic_form_subtracts_the_center(random_graph, power):
    L = laplacian(sparse.csr_array(random_graph(60, seed=0)), normalized=True)
    R = np.random.default_rng(1).normal(size=(60, 3))
    center = np.array([1.0, -2.0, 3.0])
    np.testing.assert_allclose(
        quadratic_form(L, R, center=center, power=power),
        quadratic_form(L, R - center, power=power),
        rtol=1e-10,
    )
