"""Maps of graphs."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.datasets import load_digits
from graphmargin.graph import knn_graph
from graphmargin.labeling.graph_layout import place, sample_for_map


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits()
    return X[:800], y[:800], knn_graph(X[:800], 5)


def test_all_labeled_rows_are_in_the_sample():
    codes = np.full(1000, -1)
    codes[::20] = 3
    rows = sample_for_map(codes, most=200)
    assert len(rows) == len(np.unique(rows)) == 200
    assert np.isin(np.arange(0, 1000, 20), rows).all()
    assert (np.diff(rows) > 0).all()


def test_of_many_labels_a_random_part_is_in_the_sample():
    rows = sample_for_map(np.zeros(1000, dtype=int), most=100)
    assert len(rows) == 100
    assert 350 < rows.mean() < 650


def test_the_whole_graph_keeps_its_edges(digits):
    X, _, W = digits
    found = place(W, X, np.arange(len(X)))
    assert len(found.edges) == W.nnz / 2
    assert (W.toarray()[tuple(found.edges.T)] > 0).all()
    assert (found.edges[:, 0] < found.edges[:, 1]).all()
    assert "in the graph" in found.method


def test_a_sample_is_joined_within_itself(digits):
    X, _, W = digits
    rows = np.arange(0, 800, 4)
    found = place(W, X, rows)
    expected = sparse.triu(knn_graph(X[rows], 5, width="binary"), 1)
    assert set(map(tuple, found.edges.tolist())) == set(zip(*expected.tocoo().coords, strict=True))
    assert "within the sample" in found.method


def test_classes_that_the_graph_tells_apart_are_apart(digits):
    X, y, W = digits
    found = place(W, X, np.arange(len(X)))
    points = np.column_stack([found.x, found.y])
    assert points.min(axis=0) == pytest.approx(0)
    assert points.max(axis=0) == pytest.approx(1)
    near = knn_graph(points, 5, width="binary").tocoo()
    same = (y[near.coords[0]] == y[near.coords[1]]).mean()
    assert same > 0.85  # 0.1 by chance, 0.57 for two principal components


def test_an_outlier_does_not_press_the_others_together(digits):
    X, _, _ = digits
    X = X.copy()
    X[0] *= 1e6
    found = place(knn_graph(X, 5), X, np.arange(len(X)))
    assert np.ptp(np.quantile(found.x, [0.1, 0.9])) > 0.4
    assert np.ptp(np.quantile(found.y, [0.1, 0.9])) > 0.4


def test_a_seed_decides_all(digits):
    X, _, W = digits
    rows = np.arange(100)
    one, again, other = (place(W, X, rows, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.x, again.x)
    assert not np.array_equal(one.x, other.x)


def test_a_graph_without_edges_is_placed():
    found = place(sparse.csr_array((9, 9)), np.eye(9), np.arange(9))
    assert found.edges.shape == (0, 2)
    assert np.ptp(found.x) == pytest.approx(1)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((12, 3)),
        np.arange(12.0)[:, None],
        np.vstack([np.zeros((6, 2)), np.full((6, 2), 1e9)]),
        sparse.csr_array(np.eye(12)[:, :2]),
    ],
    ids=["constant", "one column", "two duplicated rows", "two sparse columns"],
)
def test_poor_tables_are_placed(X):
    W = knn_graph(X, 2, width="binary")
    for rows in (np.arange(12), np.arange(5), np.arange(2)):
        found = place(W, X, rows)
        assert found.x.shape == found.y.shape == rows.shape
        assert ((found.x >= 0) & (found.x <= 1) & (found.y >= 0) & (found.y <= 1)).all()
