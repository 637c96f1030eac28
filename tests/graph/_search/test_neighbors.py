from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from graphmargin.graph._search import neighbors as module
from graphmargin.graph._search import voronoi_index as cells_module
from graphmargin.graph._search.neighbors import NeighborSearch, draw_seed, nearest_neighbors


def brute_force(X, k, queries=None):
    """Return neighbors from all distances in double precision, equal distances by index."""
    X = X.astype(np.float64)
    points = X if queries is None else queries.astype(np.float64)
    squared = np.zeros((len(points), len(X)))
    for feature in range(X.shape[1]):
        squared += np.square(points[:, None, feature] - X[None, :, feature])
    if queries is None:
        np.fill_diagonal(squared, np.inf)
    indices = np.argsort(squared, axis=1, kind="stable")[:, :k]
    return indices, np.sqrt(np.take_along_axis(squared, indices, axis=1))


def assert_exact(X, k, queries=None):
    """Compare a search of cells, and one of all points, with brute force."""
    indices, distances = brute_force(X, k, queries)
    for largest in (0, len(X)):
        with patch.object(module, "MAX_COMPARED", largest):
            neighbors = nearest_neighbors(X, k, queries=queries, recall=1.0)
        np.testing.assert_array_equal(neighbors.indices, indices)
        np.testing.assert_allclose(neighbors.distances, distances, rtol=1e-12)


def normal(n, d, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d))


def test_neighbors_on_a_line_are_those_computed_by_hand():
    X = np.array([[0.0], [1.0], [3.0], [3.5]])
    neighbors = nearest_neighbors(X, 2)
    assert neighbors.indices.tolist() == [[1, 2], [0, 2], [3, 1], [2, 1]]
    assert neighbors.distances.tolist() == [[1, 3], [1, 2], [0.5, 2], [0.5, 2.5]]
    assert neighbors.recall == 1.0


integer_points = st.tuples(st.integers(2, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 3).map(float))
)


@given(X=integer_points, data=st.data())
def test_ties_and_duplicates_are_ranked_by_index(X, data):
    k = data.draw(st.integers(1, len(X) - 1))
    assert_exact(X, k)


@given(
    X=st.tuples(st.integers(2, 30), st.integers(1, 3)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.floats(-1e6, 1e6, width=32))
    )
)
def test_exact_search_equals_brute_force_on_any_floats(X):
    assert_exact(X, min(4, len(X) - 1))


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(np.indices((15, 15)).reshape(2, -1).T.astype(float), id="grid"),
        pytest.param(np.random.default_rng(0).integers(0, 2, (500, 4)).astype(float), id="cube"),
        pytest.param(np.random.default_rng(0).integers(0, 3, (900, 12)) * 0.1, id="tenths"),
        pytest.param(np.repeat(normal(40, 3), 12, axis=0), id="duplicates"),
        pytest.param(np.ones((60, 3)), id="all-rows-equal"),
        pytest.param(np.zeros((60, 3)), id="all-zero"),
        pytest.param(np.column_stack([normal(300, 2), np.full(300, 7.0)]), id="constant-column"),
        pytest.param(normal(400, 5) + 1e8, id="offset"),
        pytest.param(normal(400, 5).astype(np.float32), id="float32"),
        pytest.param((normal(400, 5) + 1e4).astype(np.float32), id="float32-offset"),
        pytest.param(np.asfortranarray(normal(400, 5)), id="Fortran-order"),
        pytest.param(normal(400, 5)[::2], id="strided"),
        pytest.param(np.vstack([normal(300, 3), np.full((1, 3), 1e10)]), id="one-outlier"),
        pytest.param(np.vstack([normal(300, 3), np.full((1, 3), 1e60)]), id="extreme-outlier"),
        pytest.param(np.vstack([normal(200, 3), normal(200, 3) + 1e7]), id="two-far-clusters"),
        pytest.param(normal(400, 5) * [1e-6, 1, 1e6, 1e-3, 1e3], id="many-scales"),
    ],
)
def test_exact_search_equals_brute_force(X):
    assert_exact(X, 6)


@pytest.mark.parametrize("exponent", [664, -664], ids=["1e200", "1e-200"])
def test_huge_and_tiny_rows_neither_overflow_nor_underflow(exponent):
    X = normal(300, 4)
    plain = nearest_neighbors(X, 5)
    scaled = nearest_neighbors(X * 2.0**exponent, 5)
    np.testing.assert_array_equal(scaled.indices, plain.indices)
    np.testing.assert_allclose(scaled.distances, plain.distances * 2.0**exponent, rtol=1e-14)


@pytest.mark.parametrize(
    "queries",
    [
        pytest.param(normal(70, 3, seed=1), id="other-points"),
        pytest.param(normal(250, 3)[:50], id="the-points-themselves"),
        pytest.param(1e9 * normal(20, 3, seed=2), id="far-away"),
        pytest.param(normal(1, 3, seed=3), id="one"),
    ],
)
@pytest.mark.parametrize("k", [1, 7, 250])
def test_queries_may_differ_from_the_points(queries, k):
    assert_exact(normal(250, 3), k, queries)


@pytest.mark.parametrize("largest", [0, 1_000])
@pytest.mark.parametrize("block", [1, 7, 100])
def test_result_does_not_depend_on_the_block_size(monkeypatch, block, largest):
    monkeypatch.setattr(module, "MAX_COMPARED", largest)
    X = np.random.default_rng(0).integers(0, 3, (400, 9)) * 0.1
    whole = nearest_neighbors(X, 5)
    monkeypatch.setattr(cells_module, "QUERIES_AT_ONCE", block)
    monkeypatch.setattr(cells_module, "ROWS_AT_ONCE", 10 * block)
    blocks = nearest_neighbors(X, 5)
    np.testing.assert_array_equal(blocks.indices, whole.indices)
    np.testing.assert_array_equal(blocks.distances, whole.distances)


@pytest.mark.parametrize("recall", [1.0, 0.9])
def test_result_does_not_depend_on_the_number_of_threads(recall):
    X = np.random.default_rng(0).integers(0, 4, (9_000, 32)) * 0.1
    first, second = (
        nearest_neighbors(X, 5, recall=recall, n_jobs=n_jobs, random_state=0) for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(second.indices, first.indices)
    np.testing.assert_array_equal(second.distances, first.distances)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_equal_dense_rows(make):
    rng = np.random.default_rng(0)
    X = np.where(rng.random((300, 40)) < 0.15, rng.random((300, 40)), 0.0)
    dense, neighbors = nearest_neighbors(X, 5), nearest_neighbors(make(X), 5)
    np.testing.assert_array_equal(neighbors.indices, dense.indices)
    np.testing.assert_allclose(neighbors.distances, dense.distances, rtol=1e-12)
    queries = X[:20] + 0.01
    dense = nearest_neighbors(X, 5, queries=queries)
    for points, probes in [(make(X), make(queries)), (X, make(queries)), (make(X), queries)]:
        neighbors = nearest_neighbors(points, 5, queries=probes)
        np.testing.assert_array_equal(neighbors.indices, dense.indices)
        np.testing.assert_allclose(neighbors.distances, dense.distances, rtol=1e-12)


def test_sparse_duplicates_are_ranked_by_index_among_few_ties():
    X = np.repeat(np.eye(6), 4, axis=0)
    neighbors = nearest_neighbors(sparse.csr_array(X), 3)
    np.testing.assert_array_equal(neighbors.indices, brute_force(X, 3)[0])
    assert (neighbors.distances == 0).all()


def clustered(n=5_000, d=16):
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(25, d))
    return centers[rng.integers(0, 25, n)] + rng.normal(size=(n, d))


def share_found(exact, neighbors):
    """Return the share of the exact neighbors that an approximate search found."""
    rows = zip(exact.indices, neighbors.indices, strict=True)
    return np.mean([np.isin(expected, row) for expected, row in rows])


@pytest.mark.parametrize("asked", [0.9, 0.99])
def test_requested_recall_is_reached_and_reported(asked):
    X = clustered()
    exact = nearest_neighbors(X, 10, recall=1.0)
    neighbors = nearest_neighbors(X, 10, recall=asked, random_state=0)
    true_recall = share_found(exact, neighbors)
    assert asked <= neighbors.recall < 1.0
    # The estimate is a lower bound of what is neighbors in the sample, up to the error of sampling.
    assert neighbors.recall - 0.01 < true_recall < 1.0
    squared = np.square(X[:, None] - X[neighbors.indices]).sum(axis=2)
    np.testing.assert_allclose(neighbors.distances, np.sqrt(squared), rtol=1e-12)
    assert (neighbors.indices != np.arange(len(X))[:, None]).all()


def test_recall_holds_for_embeddings():
    rng = np.random.default_rng(0)
    topics = rng.normal(size=(40, 384))[rng.integers(0, 40, 3_000)]
    X = (topics + 0.7 * rng.normal(size=(3_000, 384))).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    exact, neighbors = (nearest_neighbors(X, 5, recall=r, random_state=0) for r in (1.0, 0.95))
    true_recall = share_found(exact, neighbors)
    assert neighbors.recall >= 0.95
    assert true_recall > neighbors.recall - 0.01


def test_recall_holds_for_new_queries():
    X, queries = clustered(), clustered(4_000) + 0.1
    exact = nearest_neighbors(X, 5, queries=queries, recall=1.0)
    neighbors = nearest_neighbors(X, 5, queries=queries, recall=0.95, random_state=0)
    true_recall = share_found(exact, neighbors)
    assert 0.94 < true_recall < 1.0
    assert 0.95 <= neighbors.recall < 1.0


def test_approximate_search_repeats_with_the_seed_and_from_call_to_call():
    X = clustered(2_000)
    first, second = (nearest_neighbors(X, 5, recall=0.9, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.indices, second.indices)
    search = NeighborSearch(X, seed=draw_seed(3))
    for _ in range(2):
        neighbors = search.neighbors(5, recall=0.9)
        np.testing.assert_array_equal(neighbors.indices, first.indices)


def test_approximate_search_fills_every_row_when_cells_are_small():
    X = np.vstack([clustered(2_000, 3), np.full((3, 3), 1e4)])
    neighbors = nearest_neighbors(X, 60, recall=0.5, random_state=0)
    assert np.isfinite(neighbors.distances).all()
    assert neighbors.indices.min() >= 0
    assert neighbors.indices.max() < len(X)


@pytest.mark.parametrize(("limit", "is_exact"), [(1_999, False), (2_000, True)])
def test_search_is_exact_up_to_a_number_of_points(monkeypatch, limit, is_exact):
    monkeypatch.setattr(module, "MAX_EXACT", limit)
    monkeypatch.setattr(module, "EXACT_WORK", 0)
    neighbors = nearest_neighbors(clustered(2_000), 3, random_state=0)
    assert (neighbors.recall == 1.0) == is_exact


def test_search_is_exact_wherever_few_points_are_visited(monkeypatch):
    monkeypatch.setattr(module, "MAX_EXACT", 10)
    X = normal(2_000, 2)
    neighbors = nearest_neighbors(X, 3, random_state=0)
    assert neighbors.recall == 1.0
    np.testing.assert_array_equal(neighbors.indices, brute_force(X, 3)[0])


def test_sparse_points_are_searched_exactly(monkeypatch):
    monkeypatch.setattr(module, "MAX_EXACT", 10)
    assert nearest_neighbors(sparse.csr_array(normal(20, 2)), 3).recall == 1.0


@pytest.mark.parametrize("recall", [0, -0.5, 1.1, np.nan, "high"])
def test_recall_out_of_range_is_named(recall):
    with pytest.raises(ValueError, match=r"`recall` must be in \(0, 1\], got .*; an exact search"):
        nearest_neighbors(np.eye(5), 2, recall=recall)


def test_queries_far_beyond_the_data_do_not_overflow():
    X = normal(50, 2)
    queries = np.array([[1e200, 0.0], [0.0, -1e30], [0.1, 0.1]])
    neighbors = nearest_neighbors(X, 2, queries=queries)
    assert neighbors.indices[0].tolist() == [0, 1]  # all are as far away as a double can tell
    np.testing.assert_allclose(neighbors.distances[:2, 0], [1e200, 1e30], rtol=1e-12)
    np.testing.assert_array_equal(neighbors.indices[2], brute_force(X, 2, queries[2:])[0][0])


@pytest.mark.parametrize(("n_neighbors", "queries"), [(5, None), (6, None), (6, np.zeros((1, 2)))])
def test_too_many_neighbors_are_refused(n_neighbors, queries):
    message = f"`n_neighbors` must be below the number of points, got n_neighbors={n_neighbors}"
    with pytest.raises(ValueError, match=message):
        nearest_neighbors(np.zeros((5, 2)), n_neighbors, queries=queries)


@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_search_for_some_rows_equals_that_for_all_rows(form):
    X = np.random.default_rng(0).normal(size=(500, 4))
    X = sparse.csr_array(X) if form == "sparse" else X
    rows = np.array([3, 40, 41, 499])
    search = NeighborSearch(X, seed=0)
    selected, complete = search.neighbors(3, rows=rows), search.neighbors(3)
    np.testing.assert_array_equal(selected.indices, complete.indices[rows])
    np.testing.assert_array_equal(selected.distances, complete.distances[rows])
