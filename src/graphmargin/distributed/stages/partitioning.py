"""Rows move to the partitions that own them, and replicas to those where they may be neighbors."""

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
    cut_by,
    taken,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.ingest import TableSummary, read_sample
from graphmargin.distributed.stages.partition_map import (
    FILE,
    load_partition_map,
    make_partition_map,
    sample_size,
    with_replica_radius,
)
from graphmargin.graph.adjacency import Metric, metric_points
from graphmargin.selection.parameters import GraphParameters

N_QUERIES = 1000
"""Rows whose exact neighbors are found, to choose the radius and to measure the recall."""
REPLICA_RECALL = 0.99
"""Share of the exact neighbors of a row that its partition owns or has a replica of."""


def partition_rows(
    run: Run, table: TableSummary, n_partitions: int, graph: GraphParameters, seed: int
) -> float:
    """Write every row to the partition that owns it and to those with a replica of it.

    Returns the number of partitions that a row is in, on average. The rows are `OwnedRows` and
    `ReplicatedRows`, a record for each row range of the input.
    """
    if not run.folder.exists(FILE):
        _make_partition_map(run, table, n_partitions, graph, seed)
    results = run.stage(OwnedRows.name, _partition, table.offsets[:-1].tolist(), graph.metric)
    n_replicas = sum(int(result["n_replicas"]) for result in results)
    return 1 + n_replicas / table.n_rows


def _make_partition_map(
    run: Run, table: TableSummary, n_partitions: int, graph: GraphParameters, seed: int
) -> None:
    random = np.random.default_rng(seed)
    wanted = max(sample_size(n_partitions), N_QUERIES)
    sample = np.sort(random.choice(table.n_rows, min(wanted, table.n_rows), replace=False))
    X = metric_points(read_sample(run, table, sample).X, graph.metric)
    partitions = make_partition_map(X, n_partitions, seed)
    chosen = np.sort(random.choice(len(sample), min(N_QUERIES, len(sample)), replace=False))
    queries = X[chosen]
    neighbors = _exact_neighbors(run, table, sample[chosen], queries, graph)
    distinct, place = np.unique(neighbors, return_inverse=True)
    points = metric_points(read_sample(run, table, distinct).X, graph.metric)
    partitions = with_replica_radius(
        partitions, queries, points[place.reshape(neighbors.shape)], REPLICA_RECALL
    )
    partitions.save(run.folder)  # last: it tells that all of this is done


def _exact_neighbors(
    run: Run, table: TableSummary, rows: IntArray, queries: FloatArray, graph: GraphParameters
) -> IntArray:
    """Return the rows that are nearest to some of them; their distances are written."""
    offsets = table.offsets[:-1].tolist()
    shared = run.cluster.share("queries", (rows, queries))
    results = run.stage(
        "exact neighbors", _nearest_in_range, offsets, shared, graph.n_neighbors, graph.metric
    )
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
    n_neighbors: int,
    metric: Metric,
) -> dict[str, Any]:
    """Return the nearest rows of a row range for every query, none of which is its own neighbor."""
    rows, queries = shared
    X = metric_points(StoredRows(folder).read(number, Points).X, metric)
    most = min(n_neighbors + 1, len(X))
    if not most:
        empty = np.zeros((len(rows), 0))
        return {"rows": empty.astype(np.int64), "distances": empty}
    search = NearestNeighbors(n_neighbors=most, algorithm="brute", n_jobs=1).fit(X)
    distances, nearest = search.kneighbors(queries)
    nearest = nearest.astype(np.int64) + offset
    is_itself = nearest == rows[:, None]
    return {"rows": nearest, "distances": np.where(is_itself, np.inf, distances)}


def _partition(folder: Folder, number: int, offset: int, metric: Metric) -> dict[str, Any]:
    """Write the rows of a row range by partition."""
    rows = StoredRows(folder).read(number, Rows)
    partitions = load_partition_map(folder)
    owner, replica, host = partitions.replicas(metric_points(rows.X, metric))
    owned = PartitionRows(*rows, offset + np.arange(len(owner)), owner)
    order, start = cut_by(owner, partitions.n_partitions)
    OwnedRows(folder).write(number, taken(owned, order), start=start)
    order, start = cut_by(host, partitions.n_partitions)
    ReplicatedRows(folder).write(number, taken(owned, replica[order]), start=start)
    return {"n_replicas": np.array(len(replica))}
