import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.preprocessing import normalize

from graphmargin.graph import knn_graph
from graphmargin.graph._search.neighbors import nearest_neighbors
from graphmargin.graph.adjacency import check_graph


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def assert_clean(W):
    assert isinstance(W, sparse.csr_array)
    assert W.dtype == np.float64
    assert W.has_sorted_indices
    assert W.has_canonical_format
    assert (W.data > 0).all()
    assert (W.diagonal() == 0).all()
    assert (W != W.T).nnz == 0


def test_graph_of_four_points_is_that_computed_by_hand():
    # 0 - 1 - 2 and 2 - 3: point 3 chooses 2, which does not choose 3.
    W = knn_graph([[0.0], [1.0], [2.5], [5.0]], 1, width=1.0).toarray()
    expected = np.zeros((4, 4))
    for i, j, gap in [(0, 1, 1.0), (1, 2, 1.5), (2, 3, 2.5)]:
        expected[i, j] = expected[j, i] = np.exp(-(gap**2) / 2)
    np.testing.assert_allclose(W, expected, rtol=1e-14)


def test_paper_weights_use_the_mean_spread_of_the_features():
    X = normal(50, 3) * [1, 2, 5]
    W = knn_graph(X, 4).tocoo()
    K, sigma = 3, X.std(axis=0).mean()
    squared = np.square(X[W.row] - X[W.col]).sum(axis=1)
    np.testing.assert_allclose(W.data, np.exp(-squared / (2 * K * sigma**2)), rtol=1e-12)


@pytest.mark.parametrize("width", ["paper", 0.5])
def test_edges_join_neighbors_in_either_direction(width):
    X = normal(120, 3)
    neighbors = nearest_neighbors(X, 5).indices
    directed = np.zeros((120, 120), dtype=bool)
    np.put_along_axis(directed, neighbors, values=True, axis=1)
    W = knn_graph(X, 5, width=width)
    np.testing.assert_array_equal(W.toarray() > 0, directed | directed.T)
    assert_clean(W)


@given(
    X=st.tuples(st.integers(2, 25), st.integers(1, 3)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.integers(0, 4).map(float))
    ),
    width=st.sampled_from(["paper", 1.0]),
    metric=st.sampled_from(["euclidean", "cosine"]),
    data=st.data(),
)
def test_graph_is_clean_and_has_enough_edges(X, width, metric, data):
    k = data.draw(st.integers(1, len(X) - 1))
    W = knn_graph(X, k, width=width, metric=metric)
    assert_clean(W)
    assert W.shape == (len(X), len(X))
    assert W.nnz <= 2 * len(X) * k
    assert W.data.max() <= 1
    assert (np.diff(W.indptr) >= k).all()


def test_equal_rows_make_a_graph_of_unit_weights():
    W = knn_graph(np.full((6, 2), 3.0), 2)
    assert (W.data == 1).all()
    assert_clean(W)


def test_point_beyond_the_range_of_doubles_is_isolated():
    W = knn_graph([[0.0], [1.0], [100.0]], 1, width=1.0)
    assert np.diff(W.indptr).tolist() == [1, 1, 0]
    assert W.nnz == 2


@pytest.mark.parametrize("width", ["paper", 1.5])
def test_float32_and_float64_give_the_same_graph(width):
    X = normal(300, 5)
    single = knn_graph(X.astype(np.float32), 5, width=width)
    double = knn_graph(X, 5, width=width)
    np.testing.assert_array_equal(single.indices, double.indices)
    np.testing.assert_array_equal(single.indptr, double.indptr)
    np.testing.assert_allclose(single.data, double.data, rtol=1e-5)


@pytest.mark.parametrize(
    "convert",
    [
        pytest.param(pd.DataFrame, id="DataFrame"),
        pytest.param(sparse.csr_array, id="csr_array"),
        pytest.param(sparse.coo_matrix, id="coo_matrix"),
        pytest.param(np.ndarray.tolist, id="list"),
        pytest.param(np.asfortranarray, id="Fortran-order"),
    ],
)
def test_containers_give_the_graph_of_the_array(convert):
    X = normal(80, 4)
    expected, W = knn_graph(X, 3), knn_graph(convert(X), 3)
    np.testing.assert_array_equal(W.indices, expected.indices)
    np.testing.assert_allclose(W.data, expected.data, rtol=1e-12)


@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@pytest.mark.parametrize("width", ["paper", 0.5])
def test_cosine_equals_normalizing_first(make, width):
    X = normal(100, 4) * np.linspace(1, 50, 100)[:, None]
    cosine = knn_graph(make(X), 3, metric="cosine", width=width)
    euclidean = knn_graph(make(normalize(X)), 3, width=width)
    np.testing.assert_allclose(cosine.toarray(), euclidean.toarray(), rtol=1e-12)
    scaled = knn_graph(make(7 * X), 3, metric="cosine", width=width)
    np.testing.assert_allclose(cosine.toarray(), scaled.toarray(), rtol=1e-9)


def test_zero_rows_are_neighbors_of_each_other_in_cosine():
    X = np.vstack([np.zeros((3, 4)), normal(20, 4)])
    W = knn_graph(X, 2, metric="cosine", width=1.0)
    np.testing.assert_allclose(W[:3, :3].toarray(), 1 - np.eye(3))
    assert_clean(W)
    one_zero_row = knn_graph(X[2:], 2, metric="cosine", width=1.0)[[0]]
    assert one_zero_row.nnz >= 2
    np.testing.assert_allclose(one_zero_row.data, np.exp(-0.5))  # all unit vectors are at 1


def test_huge_values_give_the_graph_of_the_scaled_ones():
    X = normal(60, 3)
    np.testing.assert_allclose(
        knn_graph(X * 1e99, 4).toarray(), knn_graph(X, 4).toarray(), rtol=1e-9
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"metric": "manhattan"}, "`metric` must be one of 'euclidean', 'cosine', got 'manhattan'"),
        ({"recall": 2.0}, r"`recall` must be in \(0, 1\], got 2.0"),
        ({"width": "wide"}, "`width` must be > 0, got 'wide'"),
        *(
            ({"n_neighbors": value}, f"`n_neighbors` must be an integer >= 1, got {value!r}")
            for value in (0, -1, 2.5, True, "3", None)
        ),
    ],
)
def test_unknown_options_are_refused(options, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(normal(10, 2), **{"n_neighbors": 2, **options})


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([[0.0], [np.nan], [1.0]], "contains NaN"),
        ([[0.0], [np.inf], [1.0]], "contains infinity"),
        ([[0.0]], "minimum of 2 is required"),
        ([0.0, 1.0], "Expected 2D array"),
    ],
)
def test_bad_points_are_refused(X, message):
    with pytest.raises(ValueError, match=message):
        knn_graph(X, 1)


GRAPH = np.array([[0.0, 2.0, 0.0], [2.0, 0.0, 0.5], [0.0, 0.5, 0.0]])


@pytest.mark.parametrize(
    "convert",
    [
        np.asarray,
        np.ndarray.tolist,
        pd.DataFrame,
        sparse.csr_array,
        sparse.csr_matrix,
        sparse.csc_array,
        sparse.coo_array,
        sparse.lil_array,
        sparse.dok_array,
        sparse.bsr_array,
        sparse.dia_array,
    ],
)
def test_every_format_of_a_graph_is_accepted(convert):
    W = check_graph(convert(GRAPH), 3)
    assert_clean(W)
    np.testing.assert_array_equal(W.toarray(), GRAPH)


@pytest.mark.parametrize("dtype", [bool, np.int64, np.float32])
def test_weights_become_double_precision(dtype):
    W = check_graph((GRAPH > 0).astype(dtype))
    assert_clean(W)
    np.testing.assert_array_equal(W.toarray(), GRAPH > 0)


def test_loops_and_explicit_zeros_are_dropped():
    W = check_graph(GRAPH + np.diag([5.0, 0.0, 1.0]))
    np.testing.assert_array_equal(W.toarray(), GRAPH)
    zeros = sparse.csr_array((np.zeros(2), ([0, 1], [1, 0])), shape=(2, 2))
    assert check_graph(zeros).nnz == 0


def test_duplicate_entries_are_summed_and_indices_sorted():
    rows, columns = [0, 0, 1, 1, 2, 1], [1, 1, 0, 2, 1, 0]
    W = check_graph(sparse.coo_array((np.full(6, 0.5), (rows, columns)), shape=(3, 3)))
    assert_clean(W)
    np.testing.assert_array_equal(W.toarray(), [[0, 1, 0], [1, 0, 0.5], [0, 0.5, 0]])
    unsorted = sparse.csr_array(([2.0, 0.5, 2.0, 0.5], [1, 2, 0, 1], [0, 1, 3, 4]), shape=(3, 3))
    assert not unsorted.has_sorted_indices
    W = check_graph(unsorted)
    assert_clean(W)
    np.testing.assert_array_equal(W.toarray(), GRAPH)


def test_rounding_in_the_symmetry_is_repaired():
    rough = GRAPH.copy()
    rough[0, 1] *= 1 + 1e-12
    W = check_graph(rough)
    assert_clean(W)
    assert W[0, 1] == W[1, 0] == rough[0, 1]


def test_input_is_not_modified():
    given_graph = sparse.csr_array(GRAPH + np.eye(3))
    before = given_graph.copy()
    W = check_graph(given_graph)
    W.data[:] = 7.0
    assert given_graph.nnz == before.nnz
    np.testing.assert_array_equal(given_graph.toarray(), before.toarray())
    dense = GRAPH + np.eye(3)
    check_graph(dense)
    np.testing.assert_array_equal(dense, GRAPH + np.eye(3))


@pytest.mark.parametrize(
    ("W", "message"),
    [
        (np.ones((2, 3)), r"`W` must be square, got shape \(2, 3\)"),
        (np.ones(3), r"`W` must be square, got shape \(3,\)"),
        ([[0, 1.0], [0.5, 0]], "`W` must be symmetric, got a difference of 0.5 between w_ij and"),
        ([[0, 1.0], [0, 0]], "`W` must be symmetric, got a difference of 1"),
        ([[0, -1.0], [-1.0, 0]], "`W` must be non-negative, got a weight of -1.0"),
        ([[0, np.nan], [np.nan, 0]], "`W` must be finite, got NaN or infinity"),
        ([[0, np.inf], [np.inf, 0]], "`W` must be finite, got NaN or infinity"),
        ([[np.nan, 1.0], [1.0, 0]], "`W` must be finite, got NaN or infinity"),
        (GRAPH, r"one row for each of the 2 samples, got shape \(3, 3\)"),
    ],
)
@pytest.mark.parametrize("make", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_error_names_what_is_wrong_with_a_graph(make, W, message):
    with pytest.raises(ValueError, match=message):
        check_graph(make(np.asarray(W)), 2)
