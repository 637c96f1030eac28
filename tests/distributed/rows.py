"""Rows in row ranges, as if they had been read, and graphs in partitions."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.handles import GraphBlock, PartitionedGraph, Rows, StoredRows
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.ingest import TableSummary
from graphmargin.graph.adjacency import check_graph


def write_rows(folder: Folder, X: FloatArray, codes: IntArray, n_ranges: int) -> TableSummary:
    offsets = np.linspace(0, len(X), n_ranges + 1).astype(np.int64)
    n_classes = int(codes.max()) + 1
    counts = np.zeros((n_ranges, n_classes), dtype=np.int64)
    for i, (first, last) in enumerate(pairwise(offsets)):
        here = codes[first:last].astype(np.int32)
        StoredRows(folder).write(i, Rows(X[first:last], here))
        counts[i] = np.bincount(here[here >= 0], minlength=n_classes)
    moments = X.mean(axis=0), X.std(axis=0)
    return TableSummary(offsets, np.arange(n_classes), counts, *moments, X.dtype)


def mixture(n: int, *, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Return n x 16, three classes of ten clusters each that hardly overlap."""
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(size=(30, 16))
    cluster = random.integers(30, size=n)
    return centers[cluster] + 0.4 * random.normal(size=(n, 16)), cluster % 3


def assembled(folder: Folder, n_partitions: int, n_rows: int) -> sparse.csr_array:
    """Return the whole graph from its blocks."""
    entries = []
    for partition in range(n_partitions):
        block = PartitionedGraph(folder).read(partition, GraphBlock)
        source = np.repeat(block.rows, np.diff(block.indptr))
        target = np.concatenate([block.rows, block.halo_rows])[block.indices]
        entries.append((block.data, source, target))
    data, source, target = (np.concatenate(arrays) for arrays in zip(*entries, strict=True))
    return sparse.csr_array((data, (source, target)), shape=(n_rows, n_rows))


def write_graph(folder, W, codes, owner, n_partitions):
    """Write the blocks of a symmetric W, whose vertex i lies in partition ``owner[i]``."""
    W, codes, owner = check_graph(W), np.asarray(codes, dtype=np.int32), np.asarray(owner)
    for number in range(n_partitions):
        rows = np.flatnonzero(owner == number)
        edges = sparse.coo_array(W[rows])
        is_away = owner[edges.col] != number
        halo = np.unique(edges.col[is_away])
        halo = halo[np.argsort(owner[halo], kind="stable")]
        # Each row once for every partition that it has a neighbor in, sorted by partition.
        sent = np.unique(np.column_stack([owner[edges.col], edges.row])[is_away], axis=0)
        W_block = sparse.csr_array(W[rows][:, np.concatenate([rows, halo])])
        partitions = np.arange(n_partitions + 1)
        block = GraphBlock(
            rows=rows,
            codes=codes[rows],
            indptr=W_block.indptr.astype(np.int64),
            indices=W_block.indices.astype(np.int32),
            data=W_block.data.astype(np.float64),
            halo_rows=halo,
            halo_codes=codes[halo],
            halo_start=np.searchsorted(owner[halo], partitions),
            send=sent[:, 1].astype(np.int32),
            send_start=np.searchsorted(sent[:, 0], partitions),
        )
        PartitionedGraph(folder).write(number, block)


def read_whole(records, fields, owner, n_partitions):
    """Return a record of each partition in the order of the vertices."""
    stored = records.read_all(n_partitions, fields)
    order = np.argsort(owner, kind="stable")
    inverse = np.empty_like(order)
    inverse[order] = np.arange(len(order))
    return fields._make(array[inverse] for array in stored)
