"""The k-NN graph in blocks: every part finds the neighbors of its rows, then all agree.

Two rows are joined if one is among the k nearest neighbors of the other. A part knows the neighbors
of its own rows; that a foreign row has chosen one of them, it is told by the part of that row. Both
parts then hold the edge, with the same weight, and from its own block each part knows which of its
rows a neighboring part will ask for, and in which order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.placing import GUESTS, HOMES, TRUE_NEIGHBORS
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.storage import Folder
from graphmargin.graph.adjacency import Metric, in_metric
from graphmargin.graph.neighbors import Neighbors, NeighborSearch, draw_seed
from graphmargin.graph.weights import Weighting

NEIGHBORS, REVERSED, POINTS, GRAPH = "neighbors", "reversed", "points", "graph"
N_DEGREES = 100_000
"""Vertices whose degrees are returned."""


@dataclass(frozen=True)
class Blocks:
    """What is known of a graph that lies in blocks.

    Attributes
    ----------
    n_parts : int
    sizes : array of shape (n_parts,)
        Vertices of each part.
    n_edges : int
        Edges, each of them once.
    n_halo : int
        Vertices that parts know of other parts, counted once for each part.
    recall : float
        Share of the true neighbors that were found, measured on a sample.
    degrees : array
        Degrees of a sample of the vertices.
    """

    n_parts: int
    sizes: IntArray
    n_edges: int
    n_halo: int
    recall: float
    degrees: FloatArray


def build_graph(
    run: Run,
    n_pieces: int,
    n_parts: int,
    *,
    n_neighbors: int,
    width: float,
    metric: Metric,
    seed: int,
) -> Blocks:
    """Write the symmetric k-NN graph in blocks, from rows that are at their homes.

    The files are ``graph/`` and ``points/``, one for each part.

    Parameters
    ----------
    run : Run
    n_pieces : int
        Of the input.
    n_parts : int
    n_neighbors : int
    width : float
        Of the weights ``exp(-d^2 / (2 width^2))``; infinite for binary ones.
    metric : {"euclidean", "cosine"}
    seed : int
    """
    notes = run.stage(
        NEIGHBORS, _find_neighbors, n_parts, n_pieces, n_parts, n_neighbors, metric, seed
    )
    sizes = np.array([int(note["size"]) for note in notes])
    asked = sum(int(note["asked"]) for note in notes)
    recall = sum(int(note["found"]) for note in notes) / max(asked, 1)
    senders = _senders([note["told"] for note in notes])
    step = -(-int(sizes.sum()) // N_DEGREES)
    joined = run.stage(GRAPH, _join, senders, n_parts, width, step)
    return Blocks(
        n_parts,
        sizes,
        n_edges=sum(int(note["n_entries"]) for note in joined) // 2,
        n_halo=sum(int(note["n_halo"]) for note in joined),
        recall=recall,
        degrees=np.concatenate([note["degrees"] for note in joined]),
    )


def _find_neighbors(
    folder: Folder,
    part: int,
    n_pieces: int,
    n_parts: int,
    n_neighbors: int,
    metric: Metric,
    seed: int,
) -> dict[str, Any]:
    """Find the neighbors of the rows of a part, among them and their guests."""
    homes = _collect(folder / HOMES, n_pieces, part)
    guests = _collect(folder / GUESTS, n_pieces, part)
    n_homes = len(homes["rows"])
    homes["owner"] = np.full(n_homes, part, dtype=np.int32)
    # In the order of the input, by which equal distances are ranked.
    order = np.argsort(np.concatenate([homes["rows"], guests["rows"]]), kind="stable")
    known = {name: np.concatenate([homes.pop(name), guests.pop(name)])[order] for name in [*homes]}
    own = np.flatnonzero(known["owner"] == part)
    rows, codes, X = known["rows"], known["codes"], known.pop("X")
    (folder / POINTS).write(file_name(part), {"X": X[own]})
    found = _neighbors(in_metric(X, metric), own, n_neighbors, seed)
    k, target = found.indices.shape[1], found.indices.ravel()
    edges = {
        "source": np.repeat(np.arange(n_homes, dtype=np.int32), k),
        "row": rows[target],
        "owner": known["owner"][target],
        "code": codes[target],
        "distance": found.distances.ravel(),
    }
    vertices = {"rows": rows[own], "codes": codes[own]}
    (folder / NEIGHBORS).write(file_name(part), {**edges, **vertices})
    told = _tell(folder / REVERSED, part, n_parts, edges, vertices)
    asked, right = _count_found(folder, rows[own], found)
    return {"size": n_homes, "told": told, "asked": asked, "found": right}


def _collect(folder: Folder, n_pieces: int, part: int) -> dict[str, AnyArray]:
    """Return what all pieces have for a part."""
    found = [folder.read(file_name(piece), part=part) for piece in range(n_pieces)]
    return {name: np.concatenate([one[name] for one in found]) for name in found[0]}


def _neighbors(X: FloatArray, own: IntArray, n_neighbors: int, seed: int) -> Neighbors:
    """Return the neighbors of some rows, fewer than asked for in a region of few rows."""
    most = min(n_neighbors, len(X) - 1)
    if most < 1 or not len(own):
        empty = np.zeros((len(own), 0))
        return Neighbors(empty.astype(np.int64), empty, 1.0)
    return NeighborSearch(X, n_jobs=1, seed=draw_seed(seed)).neighbors(most, rows=own)


def _count_found(folder: Folder, rows: IntArray, found: Neighbors) -> tuple[int, int]:
    """Return how many true neighbors of sampled rows were to be found here, and how many were."""
    truth = folder.read(TRUE_NEIGHBORS)
    _, here, asked = np.intersect1d(rows, truth["rows"], return_indices=True)
    # The distances of the truth have rounding errors of their own.
    limit = truth["distances"][asked, -1:] * (1 + 1e-6)
    return truth["distances"][asked].size, int((found.distances[here] <= limit).sum())


def _tell(
    folder: Folder,
    part: int,
    n_parts: int,
    edges: dict[str, AnyArray],
    vertices: dict[str, AnyArray],
) -> IntArray:
    """Write, cut by part, which foreign rows were chosen by whom; return their parts."""
    foreign = np.flatnonzero(edges["owner"] != part)
    order = foreign[np.argsort(edges["owner"][foreign], kind="stable")]
    start = np.searchsorted(edges["owner"][order], np.arange(n_parts + 1))
    source = edges["source"][order]
    told = {
        "target": edges["row"][order],
        "row": vertices["rows"][source],
        "code": vertices["codes"][source],
        "distance": edges["distance"][order],
    }
    folder.write(file_name(part), told, start=start)
    return np.flatnonzero(np.diff(start))


def _senders(told: Sequence[IntArray]) -> list[IntArray]:
    """Return the parts that have told something to each part, from those that each has told."""
    receiver = np.concatenate(told)
    sender = np.repeat(np.arange(len(told)), [len(parts) for parts in told])
    order = np.argsort(receiver, kind="stable")
    return np.split(sender[order], np.searchsorted(receiver[order], np.arange(1, len(told))))


def _join(
    folder: Folder, part: int, senders: IntArray, n_parts: int, width: float, step: int
) -> dict[str, Any]:
    """Write the block of a part: edges that it has chosen, and those that others have."""
    own = (folder / NEIGHBORS).read(file_name(part))
    rows, codes = own.pop("rows"), own.pop("codes")
    chosen = [own]
    for sender in senders.tolist():
        told = (folder / REVERSED).read(file_name(sender), part=part)
        told["source"] = np.searchsorted(rows, told.pop("target")).astype(np.int32)
        told["owner"] = np.full(len(told["row"]), sender, dtype=np.int32)
        chosen.append(told)
    edges = {name: np.concatenate([some[name] for some in chosen]) for name in own}
    weights = np.exp(Weighting(width).log_weights(Neighbors(rows, edges.pop("distance"), 1.0)))
    kept = weights > 0  # as on one machine, where a weight underflows there is no edge
    edges, weights = {name: array[kept] for name, array in edges.items()}, weights[kept]
    halo, column = _halo(edges, rows, part)
    block = _symmetric(edges["source"], column, weights, len(rows), len(halo["halo_rows"]))
    halo_start = np.searchsorted(halo.pop("halo_owner"), np.arange(n_parts + 1))
    send, send_start = _to_send(block, halo_start)
    (folder / GRAPH).write(
        file_name(part),
        {
            "rows": rows,
            "codes": codes,
            "indptr": block.indptr.astype(np.int64),
            "indices": block.indices.astype(np.int32),
            "data": block.data,
            **halo,
            "halo_start": halo_start,
            "send": send,
            "send_start": send_start,
        },
    )
    return {
        "n_entries": block.nnz,
        "n_halo": len(halo["halo_rows"]),
        "degrees": block.sum(axis=1)[::step],
    }


def _halo(
    edges: dict[str, AnyArray], rows: IntArray, part: int
) -> tuple[dict[str, AnyArray], IntArray]:
    """Return the foreign vertices by owner and row, and the column of every edge's target."""
    foreign = np.flatnonzero(edges["owner"] != part)
    order = foreign[np.lexsort((edges["row"][foreign], edges["owner"][foreign]))]
    row, owner = edges["row"][order], edges["owner"][order]
    is_new = np.ones(len(order), dtype=bool)
    is_new[1:] = (np.diff(row) != 0) | (np.diff(owner) != 0)
    column = np.searchsorted(rows, edges["row"])
    column[order] = len(rows) - 1 + np.cumsum(is_new)
    halo = {
        "halo_rows": row[is_new],
        "halo_owner": owner[is_new],
        "halo_codes": edges["code"][order][is_new],
    }
    return halo, column


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


def _to_send(block: sparse.csr_array, halo_start: IntArray) -> tuple[IntArray, IntArray]:
    """Return the vertices that each other part needs, by part and row, and where parts begin."""
    n_rows, n_parts = block.shape[0], len(halo_start) - 1
    outside = np.flatnonzero(block.indices >= n_rows)
    vertex = np.repeat(np.arange(n_rows), np.diff(block.indptr))[outside]
    receiver = np.searchsorted(halo_start, block.indices[outside] - n_rows, side="right") - 1
    keys = np.unique(receiver * np.int64(n_rows) + vertex)
    send_start = np.searchsorted(keys, np.arange(n_parts + 1) * np.int64(n_rows))
    return (keys % max(n_rows, 1)).astype(np.int32), send_start
