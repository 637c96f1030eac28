"""Maps of graphs."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.datasets import load_digits
from graphmargin.graph import knn_graph
from graphmargin.labeling.graph_layout import force_layout, sample_for_map


@pytest.fixture(scope="module")
def digits():
    X, y = load_digits()
    return X[:800], y[:800], knn_graph(X[:800], 5)


def test_all_labeled_rows_are_in_the_sample():
    codes = np.full(1000, -1)
    codes[::20] = 3
    rows = sample_for_map(codes, max_points=200)
    assert len(rows) == len(np.unique(rows)) == 200
    assert np.isin(np.arange(0, 1000, 20), rows).all()
    assert (np.diff(rows) > 0).all()


def test_of_many_labels_a_random_part_is_in_the_sample():
    rows = sample_for_map(np.zeros(1000, dtype=int), max_points=100)
    assert len(rows) == 100
    assert 350 < rows.mean() < 650


def test_the_whole_graph_keeps_its_edges(digits):
    X, _, W = digits
    layout = force_layout(W, X, np.arange(len(X)))
    assert len(layout.edges) == W.nnz / 2
    assert (W.toarray()[tuple(layout.edges.T)] > 0).all()
    assert (layout.edges[:, 0] < layout.edges[:, 1]).all()
    assert "in the graph" in layout.method


def test_a_sample_is_joined_within_itself(digits):
    X, _, W = digits
    rows = np.arange(0, 800, 4)
    layout = force_layout(W, X, rows)
    expected = sparse.triu(knn_graph(X[rows], 5), 1)
    assert set(map(tuple, layout.edges.tolist())) == set(zip(*expected.tocoo().coords, strict=True))
    assert "within the sample" in layout.method


def test_a_row_far_away_is_joined_within_a_sample(digits):
    X, _, W = digits
    X = X.copy()
    X[0, 0] = 1e9  # beyond the paper's width, so that weights of its edges underflow
    layout = force_layout(W, X, np.arange(100))
    assert (layout.edges == 0).any()


def test_classes_that_the_graph_separates_are_separate_on_the_map(digits):
    X, y, W = digits
    layout = force_layout(W, X, np.arange(len(X)))
    points = np.column_stack([layout.x, layout.y])
    assert points.min(axis=0) == pytest.approx(0)
    assert points.max(axis=0) == pytest.approx(1)
    near = knn_graph(points, 5).tocoo()
    same = (y[near.coords[0]] == y[near.coords[1]]).mean()
    assert same > 0.85  # 0.1 by chance, 0.57 for two principal components


def test_an_outlier_does_not_squeeze_the_other_points(digits):
    X, _, _ = digits
    X = X.copy()
    X[0] *= 1e6
    layout = force_layout(knn_graph(X, 5), X, np.arange(len(X)))
    assert np.ptp(np.quantile(layout.x, [0.1, 0.9])) > 0.4
    assert np.ptp(np.quantile(layout.y, [0.1, 0.9])) > 0.4


def test_the_layout_depends_on_the_seed_only(digits):
    X, _, W = digits
    rows = np.arange(100)
    first, again, other = (force_layout(W, X, rows, random_state=seed) for seed in (1, 1, 2))
    assert np.array_equal(first.x, again.x)
    assert not np.array_equal(first.x, other.x)


def test_a_graph_without_edges_has_a_layout():
    layout = force_layout(sparse.csr_array((9, 9)), np.eye(9), np.arange(9))
    assert layout.edges.shape == (0, 2)
    assert np.ptp(layout.x) == pytest.approx(1)


@pytest.mark.parametrize(
    "X",
    [
        np.ones((12, 3)),
        np.arange(12.0)[:, None],
        np.vstack([np.zeros((6, 2)), np.full((6, 2), 1e9)]),
        sparse.csr_array(np.eye(12)[:, :2]),
    ],
    ids=["constant", "first column", "two duplicated rows", "two sparse columns"],
)
def test_degenerate_tables_have_a_layout(X):
    W = knn_graph(X, 2)
    for rows in (np.arange(12), np.arange(5), np.arange(2)):
        layout = force_layout(W, X, rows)
        assert layout.x.shape == layout.y.shape == rows.shape
        assert ((layout.x >= 0) & (layout.x <= 1) & (layout.y >= 0) & (layout.y <= 1)).all()
