from __future__ import annotations

import numpy as np
import pytest

from graphmargin.distributed.engine.handles import (
    Codes,
    GraphBlock,
    PartitionedGraph,
    PartitionedPoints,
    Points,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages.graph import build_graph
from graphmargin.distributed.stages.partitioning import partition_rows
from graphmargin.graph import knn_graph
from graphmargin.graph.adjacency import metric_points
from graphmargin.graph.weights import paper_width
from graphmargin.search.parameters import GraphParameters
from tests.distributed.rows import assembled, mixture, write_rows


def build(
    cluster, folder, X, codes, *, n_ranges=3, n_partitions=4, k=5, metric="euclidean", width=None
):
    run = Run(Folder(str(folder)), cluster)
    table = write_rows(run.folder, X, codes, n_ranges)
    width = paper_width(metric_points(X, metric)) if width is None else width
    options = GraphParameters(k, width, metric)
    replication = partition_rows(run, table, n_partitions, options, 0)
    summary = build_graph(run, n_ranges, n_partitions, options, width, 0)
    return run, replication, summary


def sizes(run, n_partitions):
    graph = PartitionedGraph(run.folder)
    return np.array([len(graph.read(number, Codes).codes) for number in range(n_partitions)])


def some_labels(y, share=0.02):
    return np.where(np.random.default_rng(1).random(len(y)) < share, y, -1)


@pytest.fixture(scope="module")
def problem():
    X, y = mixture(6_000)
    return X, some_labels(y)


@pytest.fixture(scope="module")
def built(cluster, problem, tmp_path_factory):
    return build(cluster, tmp_path_factory.mktemp("run"), *problem)


def test_the_blocks_hold_most_edges_of_the_graph_with_their_weights(problem, built):
    X, _ = problem
    run, _, summary = built
    W, whole = assembled(run.folder, summary.n_partitions, len(X)), knn_graph(X, 5)
    in_both = W.multiply(whole > 0)
    assert in_both.nnz > 0.98 * max(W.nnz, whole.nnz)
    assert abs(in_both - whole.multiply(W > 0)).max() == 0
    assert abs(W - W.T).max() == 0
    assert W.diagonal().max() == 0
    assert summary.recall > 0.97
    assert abs(summary.recall - in_both.nnz / whole.nnz) < 0.01
    np.testing.assert_allclose(np.sort(summary.degrees), np.sort(W.sum(axis=1)))


def test_every_row_is_owned_by_one_partition_with_its_point_and_label(problem, built):
    X, codes = problem
    run, _, summary = built
    seen = []
    for partition in range(summary.n_partitions):
        block = PartitionedGraph(run.folder).read(partition, GraphBlock)
        points = PartitionedPoints(run.folder).read(partition, Points).X
        np.testing.assert_array_equal(points, X[block.rows])
        np.testing.assert_array_equal(block.codes, codes[block.rows])
        np.testing.assert_array_equal(block.halo_codes, codes[block.halo_rows])
        assert (np.diff(block.rows) > 0).all()
        seen.append(block.rows)
    np.testing.assert_array_equal(np.sort(np.concatenate(seen)), np.arange(len(X)))


def test_a_partition_sends_the_vertices_that_are_in_the_halo_of_others(built):
    run, _, summary = built
    graph = PartitionedGraph(run.folder)
    blocks = [graph.read(partition, GraphBlock) for partition in range(summary.n_partitions)]
    for p, sender in enumerate(blocks):
        for q, receiver in enumerate(blocks):
            sent = sender.send[sender.send_start[q] : sender.send_start[q + 1]]
            waits = slice(*receiver.halo_start[p : p + 2])
            np.testing.assert_array_equal(sender.rows[sent], receiver.halo_rows[waits])
    assert sum(len(block.halo_rows) for block in blocks) > 0


def test_one_partition_is_the_graph_of_one_machine(cluster, problem, tmp_path):
    X, codes = problem
    run, replication, summary = build(cluster, tmp_path, X, codes, n_partitions=1)
    W = assembled(run.folder, 1, len(X))
    assert replication == 1
    assert summary.recall == 1
    assert abs(W - knn_graph(X, 5)).max() == 0


def test_ties_and_duplicates_agree_with_one_machine(cluster, tmp_path):
    X = np.random.default_rng(0).integers(4, size=(3_000, 3)).astype(np.float64)
    codes = np.where(np.arange(3_000) < 20, np.arange(3_000) % 2, -1)
    run, _, summary = build(cluster, tmp_path, X, codes, n_partitions=3)
    W = assembled(run.folder, 3, len(X))
    assert abs(W - W.T).max() == 0
    # All 64 places have some 47 rows each, so that every neighbor is a duplicate.
    assert W.data.min() == 1
    assert summary.recall == 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_cosine_is_euclidean_for_rows_of_unit_length(cluster, problem, tmp_path, dtype):
    X, codes = problem
    X = X[:2_000].astype(dtype)
    run, _, _ = build(cluster, tmp_path, X, codes[:2_000], n_partitions=2, metric="cosine")
    W, whole = assembled(run.folder, 2, len(X)), knn_graph(X, 5, metric="cosine")
    in_both = W.multiply(whole > 0)
    assert in_both.nnz > 0.97 * max(W.nnz, whole.nnz)
    np.testing.assert_allclose(in_both.data, whole.multiply(W > 0).data, rtol=1e-6)


def test_binary_weights_are_one(cluster, problem, tmp_path):
    X, codes = problem
    run, _, _ = build(cluster, tmp_path, X[:2_000], codes[:2_000], n_partitions=2, width=np.inf)
    assert set(assembled(run.folder, 2, 2_000).data.tolist()) == {1.0}


def test_far_clusters_are_joined_by_no_edge_where_weights_underflow(cluster, tmp_path):
    X = np.concatenate([np.zeros((3, 1)), 1e3 + np.zeros((3, 1))])
    codes = np.array([0, -1, -1, 1, -1, -1])
    run, _, _ = build(cluster, tmp_path, X, codes, n_partitions=2, k=4, width=1.0)
    W = assembled(run.folder, 2, 6)
    assert W[:3, 3:].nnz == 0
    assert W[:3, :3].nnz == 6


def test_empty_row_ranges_and_small_partitions_have_a_graph(cluster, tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 2))
    codes = np.array([0, 1] + [-1] * 10)
    run, _, _ = build(cluster, tmp_path, X, codes, n_ranges=20, n_partitions=6)
    assert sizes(run, 6).sum() == 12
    W = assembled(run.folder, 6, 12)
    assert abs(W - W.T).max() == 0
    assert W.nnz > 0


def test_equal_rows_have_a_graph(cluster, tmp_path):
    codes = np.array([0, 1] + [-1] * 98)
    run, _, _ = build(cluster, tmp_path, np.ones((100, 2)), codes, n_partitions=4, width=1.0)
    assert sizes(run, 4).tolist().count(0) == 3
    W = assembled(run.folder, 4, 100)
    assert abs(W - knn_graph(np.ones((100, 2)), 5, width=1.0)).max() == 0
