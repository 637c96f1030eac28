"""The k-NN graph in blocks: every partition finds the neighbors of its rows, then all agree.

Two rows are joined if one is among the k nearest neighbors of the other. A partition knows the
neighbors of its own rows. If a row of another partition has chosen one of them, the partition of
that row sends a reverse edge. Both partitions then hold the edge, with the same weight, and from
its own block each partition knows which of its rows another one will ask for, and in which order.
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
    Records,
    ReplicatedRows,
    Vertices,
    cut_by,
    joined,
    taken,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.graph.adjacency import Metric, metric_points
from graphmargin.graph.neighbors import Neighbors, NeighborSearch, draw_seed
from graphmargin.graph.weights import Weighting
from graphmargin.selection.parameters import GraphParameters

N_DEGREES = 100_000
"""Vertices whose degrees are returned."""


@dataclass(frozen=True)
class GraphSummary:
    """Summary of a graph that lies in blocks.

    Attributes
    ----------
    n_partitions : int
    recall : float
        Share of the exact neighbors that were found, measured on a sample.
    degrees : array
        Degrees of a sample of the vertices.
    """

    n_partitions: int
    recall: float
    degrees: FloatArray


class Edges(NamedTuple):
    """Edges of a partition: an own vertex, and the row, owner and label of a neighbor."""

    source: IntArray
    row: IntArray
    owner: IntArray
    code: IntArray
    distance: FloatArray


class ChosenEdges(Records):
    """The `Edges` to the nearest neighbors of the rows of each partition."""

    name = "neighbors"


class PartitionVertices(Records):
    """The `Vertices` of each partition."""

    name = "vertices"


class ReverseEdge(NamedTuple):
    """Rows that a vertex of another partition has chosen: target, and what the target needs."""

    target: IntArray
    row: IntArray
    code: IntArray
    distance: FloatArray


class ReverseEdges(Records):
    """The `ReverseEdge`s that each partition sends, cut by the partition that receives them."""

    name = "reverse-edges"


def build_graph(
    run: Run, n_ranges: int, n_partitions: int, graph: GraphParameters, width: float, seed: int
) -> GraphSummary:
    """Write the symmetric k-NN graph as `PartitionedGraph` and `PartitionedPoints`.

    Parameters
    ----------
    run : Run
        Its folder has the rows by partition.
    n_ranges : int
        Number of row ranges of the input.
    n_partitions : int
    graph : GraphParameters
    width : float
        Width of the weights ``exp(-d^2 / (2 width^2))``; infinite for binary ones.
    seed : int
    """
    searches = run.stage(
        ChosenEdges.name,
        _find_neighbors,
        n_partitions,
        n_ranges,
        n_partitions,
        graph.n_neighbors,
        graph.metric,
        seed,
    )
    n_rows = sum(int(result["size"]) for result in searches)
    n_exact = sum(int(result["n_exact"]) for result in searches)
    recall = sum(int(result["n_found"]) for result in searches) / max(n_exact, 1)
    senders = _sending_partitions([result["receivers"] for result in searches])
    step = -(-n_rows // N_DEGREES)
    blocks = run.stage(PartitionedGraph.name, _join_edges, senders, n_partitions, width, step)
    degrees = np.concatenate([result["degrees"] for result in blocks])
    return GraphSummary(n_partitions, recall, degrees)


def _find_neighbors(
    folder: Folder,
    partition: int,
    n_ranges: int,
    n_partitions: int,
    n_neighbors: int,
    metric: Metric,
    seed: int,
) -> dict[str, Any]:
    """Write the neighbors of the rows of a partition, among them and the replicas of others."""
    owned = OwnedRows(folder).read_all(n_ranges, PartitionRows, part=partition)
    replicas = ReplicatedRows(folder).read_all(n_ranges, PartitionRows, part=partition)
    # In the order of the input, by which equal distances are ranked.
    order = np.argsort(np.concatenate([owned.rows, replicas.rows]), kind="stable")
    X, codes, rows, owner = taken(joined([owned, replicas]), order)
    del owned, replicas
    own = np.flatnonzero(owner == partition)
    PartitionedPoints(folder).write(partition, Points(X[own]))
    neighbors = _nearest(metric_points(X, metric), own, n_neighbors, seed)
    k, target = neighbors.indices.shape[1], neighbors.indices.ravel()
    edges = Edges(
        source=np.repeat(np.arange(len(own), dtype=np.int32), k),
        row=rows[target],
        owner=owner[target],
        code=codes[target],
        distance=neighbors.distances.ravel(),
    )
    vertices = Vertices(rows[own], codes[own])
    ChosenEdges(folder).write(partition, edges)
    PartitionVertices(folder).write(partition, vertices)
    receivers = _send_reverse_edges(folder, partition, n_partitions, edges, vertices)
    n_exact, n_found = _count_found(folder, vertices.rows, neighbors)
    return {"size": len(own), "receivers": receivers, "n_exact": n_exact, "n_found": n_found}


def _nearest(X: FloatArray, own: IntArray, n_neighbors: int, seed: int) -> Neighbors:
    """Return the neighbors of some rows, fewer than wanted in a partition of few rows."""
    most = min(n_neighbors, len(X) - 1)
    if most < 1 or not len(own):
        empty = np.zeros((len(own), 0))
        return Neighbors(empty.astype(np.int64), empty, 1.0)
    return NeighborSearch(X, n_jobs=1, seed=draw_seed(seed)).neighbors(most, rows=own)


def _count_found(folder: Folder, rows: IntArray, neighbors: Neighbors) -> tuple[int, int]:
    """Return how many exact neighbors the sampled rows have, and how many of them were found."""
    exact = ExactNeighbors(folder).read(0, QueryNeighbors)
    _, here, sampled = np.intersect1d(rows, exact.rows, return_indices=True)
    # The exact distances have rounding errors of their own.
    limit = exact.distances[sampled, -1:] * (1 + 1e-6)
    return exact.distances[sampled].size, int((neighbors.distances[here] <= limit).sum())


def _send_reverse_edges(
    folder: Folder, partition: int, n_partitions: int, edges: Edges, vertices: Vertices
) -> IntArray:
    """Write the edges that cross to other partitions, cut by these; return these."""
    crossing = taken(edges, edges.owner != partition)
    order, start = cut_by(crossing.owner, n_partitions)
    source, row, _, _, distance = taken(crossing, order)
    sent = ReverseEdge(row, vertices.rows[source], vertices.codes[source], distance)
    ReverseEdges(folder).write(partition, sent, start=start)
    return np.flatnonzero(np.diff(start))


def _sending_partitions(receivers: Sequence[IntArray]) -> list[IntArray]:
    """Return the partitions that have sent edges to each one, from those that each has sent to."""
    receiver = np.concatenate(receivers)
    sender = np.repeat(np.arange(len(receivers)), [len(some) for some in receivers])
    order = np.argsort(receiver, kind="stable")
    return np.split(sender[order], np.searchsorted(receiver[order], np.arange(1, len(receivers))))


def _join_edges(
    folder: Folder, partition: int, senders: IntArray, n_partitions: int, width: float, step: int
) -> dict[str, Any]:
    """Write the block of a partition: edges that it has chosen, and those that others have."""
    vertices = PartitionVertices(folder).read(partition, Vertices)
    chosen = [ChosenEdges(folder).read(partition, Edges)]
    for sender in senders.tolist():
        target, row, code, distance = ReverseEdges(folder).read(sender, ReverseEdge, part=partition)
        source = np.searchsorted(vertices.rows, target).astype(np.int32)
        owner = np.full(len(row), sender, dtype=np.int32)
        chosen.append(Edges(source, row, owner, code, distance))
    edges, rows = joined(chosen), vertices.rows
    weights = np.exp(Weighting(width).log_weights(Neighbors(rows, edges.distance, 1.0)))
    kept = weights > 0  # as on one machine, where a weight underflows there is no edge
    edges, weights = taken(edges, kept), weights[kept]
    halo, column = _halo(edges, rows, partition)
    W = _symmetric(edges.source, column, weights, len(rows), len(halo.row))
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
    """Return an edge to each vertex of the halo, by owner and row, and the columns of targets."""
    crossing = np.flatnonzero(edges.owner != partition)
    order = crossing[np.lexsort((edges.row[crossing], edges.owner[crossing]))]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(edges.row[order]) != 0) | (np.diff(edges.owner[order]) != 0)
    column = np.searchsorted(rows, edges.row)
    column[order] = len(rows) - 1 + np.cumsum(is_new)
    return taken(edges, order[is_new]), column


def _symmetric(
    source: IntArray, column: IntArray, weights: FloatArray, n_rows: int, n_halo: int
) -> sparse.csr_array:
    """Return the block with every edge once in each row that it joins.

    Both ends of an edge have computed the same distance, so that an edge which was chosen twice
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
    """Return the vertices that each other partition needs, by partition and row, and the starts."""
    n_rows, n_partitions = W.shape[0], len(halo_start) - 1
    outside = np.flatnonzero(W.indices >= n_rows)
    vertex = np.repeat(np.arange(n_rows), np.diff(W.indptr))[outside]
    receiver = np.searchsorted(halo_start, W.indices[outside] - n_rows, side="right") - 1
    keys = np.unique(receiver * np.int64(n_rows) + vertex)
    send_start = np.searchsorted(keys, np.arange(n_partitions + 1) * np.int64(n_rows))
    return (keys % max(n_rows, 1)).astype(np.int32), send_start
