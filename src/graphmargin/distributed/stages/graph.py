"""The stage that builds the k-NN graph, a block of rows for each partition.

There is an edge between two rows if one is among the k nearest neighbors of the other. A partition
finds the neighbors of the rows that it owns. If such a neighbor belongs to another partition, it
sends that partition a reverse edge. Both partitions then have the edge, with the same weight. From
its block, each knows the vertices that another one needs, and their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.handles import (
    ExactNeighbors,
    GraphBlock,
    OwnedRows,
    PartitionedGraph,
    PartitionedPoints,
    PartitionRows,
    Points,
    QueryNeighbors,
    ReplicatedRows,
    StoredRecords,
    Vertices,
    concatenate_records,
    sort_by_receiver,
    take_rows,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.graph._search.neighbors import Neighbors, NeighborSearch, draw_seed
from graphmargin.graph.adjacency import metric_points
from graphmargin.graph.weights import log_weights
from graphmargin.search.parameters import GraphParameters

N_DEGREES = 100_000
"""Number of vertices whose degrees are returned."""


@dataclass(frozen=True)
class GraphSummary:
    """Summary of a partitioned graph.

    Attributes
    ----------
    n_partitions : int
    recall : float
        Share of the exact neighbors that are in the graph, measured on a sample.
    degrees : array
        Degrees of a sample of the vertices.
    """

    n_partitions: int
    recall: float
    degrees: FloatArray


class Edges(NamedTuple):
    """Edges of a partition: its vertex, and the row, owner and label of a neighbor."""

    source: IntArray
    row: IntArray
    owner: IntArray
    code: IntArray
    distance: FloatArray


class ChosenEdges(StoredRecords):
    """The `Edges` to the nearest neighbors of the vertices of each partition."""

    name = "neighbors"


class PartitionVertices(StoredRecords):
    """The `Vertices` of each partition."""

    name = "vertices"


class ReverseEdge(NamedTuple):
    """Edges for another partition: its row, and the row and label of the neighbor."""

    target: IntArray
    row: IntArray
    code: IntArray
    distance: FloatArray


class ReverseEdges(StoredRecords):
    """The `ReverseEdge`s that each partition sends, cut by the partition that receives them."""

    name = "reverse-edges"


def build_graph(
    run: Run, n_ranges: int, n_partitions: int, graph: GraphParameters, width: float, seed: int
) -> GraphSummary:
    """Write the symmetric k-NN graph as `PartitionedGraph` and `PartitionedPoints`.

    Parameters
    ----------
    run : Run
        Its folder has the `OwnedRows` and `ReplicatedRows`.
    n_ranges : int
        Number of row ranges of the input.
    n_partitions : int
    graph : GraphParameters
    width : float
        Width of the weights ``exp(-d^2 / (2 width^2))``.
    seed : int
    """
    searches = run.stage(
        ChosenEdges.name, _find_neighbors, n_partitions, n_ranges, n_partitions, graph, seed
    )
    n_rows = sum(int(result["size"]) for result in searches)
    n_exact = sum(int(result["n_exact"]) for result in searches)
    recall = sum(int(result["n_found"]) for result in searches) / max(n_exact, 1)
    senders = _sending_partitions([result["receivers"] for result in searches])
    step = -(-n_rows // N_DEGREES)
    blocks = run.stage(PartitionedGraph.name, _build_block, senders, n_partitions, width, step)
    degrees = np.concatenate([result["degrees"] for result in blocks])
    return GraphSummary(n_partitions, recall, degrees)


def _find_neighbors(
    folder: Folder,
    partition: int,
    n_ranges: int,
    n_partitions: int,
    graph: GraphParameters,
    seed: int,
) -> dict[str, Any]:
    """Write the edges to the neighbors of the rows of a partition, replicas among them."""
    owned = OwnedRows(folder).read_all(n_ranges, PartitionRows, part=partition)
    replicas = ReplicatedRows(folder).read_all(n_ranges, PartitionRows, part=partition)
    # In the order of the input, which decides between equal distances.
    order = np.argsort(np.concatenate([owned.rows, replicas.rows]), kind="stable")
    X, codes, rows, owner = take_rows(concatenate_records([owned, replicas]), order)
    del owned, replicas
    is_owned = np.flatnonzero(owner == partition)
    PartitionedPoints(folder).write(partition, Points(X[is_owned]))
    points = metric_points(X, graph.metric)
    neighbors = _nearest_neighbors(points, is_owned, graph.n_neighbors, seed)
    k, target = neighbors.indices.shape[1], neighbors.indices.ravel()
    edges = Edges(
        source=np.repeat(np.arange(len(is_owned), dtype=np.int32), k),
        row=rows[target],
        owner=owner[target],
        code=codes[target],
        distance=neighbors.distances.ravel(),
    )
    vertices = Vertices(rows[is_owned], codes[is_owned])
    ChosenEdges(folder).write(partition, edges)
    PartitionVertices(folder).write(partition, vertices)
    receivers = _send_reverse_edges(folder, partition, n_partitions, edges, vertices)
    n_exact, n_found = _count_exact_neighbors(folder, vertices.rows, neighbors)
    return {"size": len(is_owned), "receivers": receivers, "n_exact": n_exact, "n_found": n_found}


def _nearest_neighbors(X: FloatArray, rows: IntArray, n_neighbors: int, seed: int) -> Neighbors:
    """Return the nearest neighbors of some rows, all other rows if X has too few."""
    n_neighbors = min(n_neighbors, len(X) - 1)
    if n_neighbors < 1 or not len(rows):
        empty = np.zeros((len(rows), 0))
        return Neighbors(empty.astype(np.int64), empty, 1.0)
    return NeighborSearch(X, n_jobs=1, seed=draw_seed(seed)).neighbors(n_neighbors, rows=rows)


def _count_exact_neighbors(folder: Folder, rows: IntArray, neighbors: Neighbors) -> tuple[int, int]:
    """Return how many exact neighbors the sampled rows have, and how many of them were found."""
    exact = ExactNeighbors(folder).read(0, QueryNeighbors)
    _, vertex, query = np.intersect1d(rows, exact.rows, return_indices=True)
    # The exact distances have other rounding errors.
    limit = exact.distances[query, -1:] * (1 + 1e-6)
    return exact.distances[query].size, int((neighbors.distances[vertex] <= limit).sum())


def _send_reverse_edges(
    folder: Folder, partition: int, n_partitions: int, edges: Edges, vertices: Vertices
) -> IntArray:
    """Write the edges to other partitions, cut by receiver, and return the receivers."""
    crossing = take_rows(edges, edges.owner != partition)
    order, start = sort_by_receiver(crossing.owner, n_partitions)
    source, row, _, _, distance = take_rows(crossing, order)
    sent = ReverseEdge(row, vertices.rows[source], vertices.codes[source], distance)
    ReverseEdges(folder).write(partition, sent, start=start)
    return np.flatnonzero(np.diff(start))


def _sending_partitions(receivers: Sequence[IntArray]) -> list[IntArray]:
    """Return the partitions that send edges to each partition, from the receivers of each."""
    receiver = np.concatenate(receivers)
    sender = np.repeat(np.arange(len(receivers)), [len(numbers) for numbers in receivers])
    order = np.argsort(receiver, kind="stable")
    return np.split(sender[order], np.searchsorted(receiver[order], np.arange(1, len(receivers))))


def _build_block(
    folder: Folder, partition: int, senders: IntArray, n_partitions: int, width: float, step: int
) -> dict[str, Any]:
    """Write the block of a partition from its edges and the reverse edges of others."""
    vertices = PartitionVertices(folder).read(partition, Vertices)
    all_edges = [ChosenEdges(folder).read(partition, Edges)]
    for sender in senders.tolist():
        target, row, code, distance = ReverseEdges(folder).read(sender, ReverseEdge, part=partition)
        source = np.searchsorted(vertices.rows, target).astype(np.int32)
        owner = np.full(len(row), sender, dtype=np.int32)
        all_edges.append(Edges(source, row, owner, code, distance))
    edges, rows = concatenate_records(all_edges), vertices.rows
    weights = np.exp(log_weights(edges.distance, width))
    is_edge = weights > 0  # as on one machine, there is no edge if its weight underflows
    edges, weights = take_rows(edges, is_edge), weights[is_edge]
    halo, column = _halo(edges, rows, partition)
    W = _symmetric_block(edges.source, column, weights, len(rows), len(halo.row))
    halo_start = np.searchsorted(halo.owner, np.arange(n_partitions + 1))
    send, send_start = _sent_vertices(W, halo_start)
    block = GraphBlock(
        *vertices,
        W.indptr.astype(np.int64),
        W.indices.astype(np.int32),
        W.data,
        halo.row,
        halo.code,
        halo_start,
        send,
        send_start,
    )
    PartitionedGraph(folder).write(partition, block)
    return {"degrees": W.sum(axis=1)[::step]}


def _halo(edges: Edges, rows: IntArray, partition: int) -> tuple[Edges, IntArray]:
    """Return one edge to each vertex of the halo, by owner and row, and the columns of targets."""
    crossing = np.flatnonzero(edges.owner != partition)
    order = crossing[np.lexsort((edges.row[crossing], edges.owner[crossing]))]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(edges.row[order]) != 0) | (np.diff(edges.owner[order]) != 0)
    column = np.searchsorted(rows, edges.row)
    column[order] = len(rows) - 1 + np.cumsum(is_new)
    return take_rows(edges, order[is_new]), column


def _symmetric_block(
    source: IntArray, column: IntArray, weights: FloatArray, n_rows: int, n_halo: int
) -> sparse.csr_array:
    """Return the block with every edge once in each of its rows.

    Both ends of an edge compute the same distance, so that an edge that was found from both ends
    has one weight.
    """
    inside = np.flatnonzero(column < n_rows)
    n_columns = n_rows + n_halo
    keys = np.concatenate(
        [
            source * np.int64(n_columns) + column,
            column[inside] * np.int64(n_columns) + source[inside],
        ]
    )
    keys, first = np.unique(keys, return_index=True)
    data = np.concatenate([weights, weights[inside]])[first]
    indptr = np.searchsorted(keys, np.arange(n_rows + 1) * np.int64(n_columns))
    indices = keys % max(n_columns, 1)
    return sparse.csr_array((data, indices, indptr), shape=(n_rows, n_columns))


def _sent_vertices(W: sparse.csr_array, halo_start: IntArray) -> tuple[IntArray, IntArray]:
    """Return the vertices that each other partition needs, sorted, and where its own begin."""
    n_rows, n_partitions = W.shape[0], len(halo_start) - 1
    outside = np.flatnonzero(W.indices >= n_rows)
    vertex = np.repeat(np.arange(n_rows), np.diff(W.indptr))[outside]
    receiver = np.searchsorted(halo_start, W.indices[outside] - n_rows, side="right") - 1
    keys = np.unique(receiver * np.int64(n_rows) + vertex)
    send_start = np.searchsorted(keys, np.arange(n_partitions + 1) * np.int64(n_rows))
    return (keys % max(n_rows, 1)).astype(np.int32), send_start
