"""The stage that sends rows to the partitions that own them or have a replica of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.handles import (
    ExactNeighbors,
    OwnedRows,
    PartitionRows,
    Points,
    QueryNeighbors,
    ReplicatedRows,
    Rows,
    StoredRows,
    sort_by_receiver,
    take_rows,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.ingest import TableSummary, read_sample
from graphmargin.distributed.stages.partition_map import (
    load_partition_map,
    make_partition_map,
    sample_size,
    with_replica_radius,
)
from graphmargin.graph.adjacency import Metric, metric_points
from graphmargin.search.parameters import GraphParameters

N_QUERIES = 1000
"""Number of rows whose exact neighbors are found, for the radius and the recall."""
REPLICA_RECALL = 0.99
"""Share of the exact neighbors of a row that its partition owns or has a replica of."""


def partition_rows(
    run: Run, table: TableSummary, n_partitions: int, graph: GraphParameters, seed: int
) -> float:
    """Write `OwnedRows` and `ReplicatedRows`, and return how many partitions an average row is in.

    Both have a record for each row range of the input.
    """
    run.run_once(
        "partition map", lambda: _make_partition_map(run, table, n_partitions, graph, seed)
    )
    results = run.stage(OwnedRows.name, _partition, table.offsets[:-1].tolist(), graph.metric)
    n_replicas = sum(int(result["n_replicas"]) for result in results)
    return 1 + n_replicas / table.n_rows


def _make_partition_map(
    run: Run, table: TableSummary, n_partitions: int, graph: GraphParameters, seed: int
) -> None:
    random = np.random.default_rng(seed)
    n_sampled = min(max(sample_size(n_partitions), N_QUERIES), table.n_rows)
    sample = np.sort(random.choice(table.n_rows, n_sampled, replace=False))
    X = metric_points(read_sample(run, table, sample).X, graph.metric)
    partitions = make_partition_map(X, n_partitions, seed)
    chosen = np.sort(random.choice(len(sample), min(N_QUERIES, len(sample)), replace=False))
    queries = X[chosen]
    neighbors = _exact_neighbors(run, table, sample[chosen], queries, graph)
    distinct, index = np.unique(neighbors, return_inverse=True)
    points = metric_points(read_sample(run, table, distinct).X, graph.metric)
    partitions = with_replica_radius(
        partitions, queries, points[index.reshape(neighbors.shape)], REPLICA_RECALL
    )
    partitions.save(run.folder)


def _exact_neighbors(
    run: Run, table: TableSummary, rows: IntArray, queries: FloatArray, graph: GraphParameters
) -> IntArray:
    """Return the rows nearest to each query, and write their distances as `ExactNeighbors`."""
    offsets = table.offsets[:-1].tolist()
    shared = run.cluster.share("queries", (rows, queries))
    results = run.stage("exact neighbors", _nearest_in_range, offsets, shared, graph)
    nearest = np.concatenate([result["rows"] for result in results], axis=1)
    distances = np.concatenate([result["distances"] for result in results], axis=1)
    order = np.lexsort((nearest, distances))[:, : graph.n_neighbors]
    distances = np.take_along_axis(distances, order, axis=1)
    ExactNeighbors(run.folder).write(0, QueryNeighbors(rows, queries, distances))
    return np.take_along_axis(nearest, order, axis=1)


def _nearest_in_range(
    folder: Folder,
    number: int,
    offset: int,
    shared: tuple[IntArray, FloatArray],
    graph: GraphParameters,
) -> dict[str, Any]:
    """Return the rows of a row range that are nearest to each query, other than the query."""
    rows, queries = shared
    X = metric_points(StoredRows(folder).read(number, Points).X, graph.metric)
    n_nearest = min(graph.n_neighbors + 1, len(X))
    if not n_nearest:
        empty = np.zeros((len(rows), 0))
        return {"rows": empty.astype(np.int64), "distances": empty}
    search = NearestNeighbors(n_neighbors=n_nearest, algorithm="brute", n_jobs=1).fit(X)
    distances, nearest = search.kneighbors(queries)
    nearest = nearest.astype(np.int64) + offset
    is_itself = nearest == rows[:, None]
    return {"rows": nearest, "distances": np.where(is_itself, np.inf, distances)}


def _partition(folder: Folder, number: int, offset: int, metric: Metric) -> dict[str, Any]:
    """Write the rows of a row range for the partitions that own them or have a replica."""
    stored = StoredRows(folder).read(number, Rows)
    partitions = load_partition_map(folder)
    owner, replicated, receiver = partitions.replicas(metric_points(stored.X, metric))
    rows = PartitionRows(*stored, offset + np.arange(len(owner)), owner)
    order, start = sort_by_receiver(owner, partitions.n_partitions)
    OwnedRows(folder).write(number, take_rows(rows, order), start=start)
    order, start = sort_by_receiver(receiver, partitions.n_partitions)
    ReplicatedRows(folder).write(number, take_rows(rows, replicated[order]), start=start)
    return {"n_replicas": np.array(len(replicated))}
