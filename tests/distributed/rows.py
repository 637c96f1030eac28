"""Rows in pieces, as if they had been read."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.blocks import GRAPH
from graphmargin.distributed.ingest import ROWS, Table
from graphmargin.distributed.run import file_name
from graphmargin.distributed.storage import Folder


def write_rows(folder: Folder, X: FloatArray, codes: IntArray, n_pieces: int) -> Table:
    offsets = np.linspace(0, len(X), n_pieces + 1).astype(np.int64)
    n_classes = int(codes.max()) + 1
    counts = np.zeros((n_pieces, n_classes), dtype=np.int64)
    for i, (first, last) in enumerate(pairwise(offsets)):
        here = codes[first:last].astype(np.int32)
        (folder / ROWS).write(file_name(i), {"X": X[first:last], "codes": here})
        counts[i] = np.bincount(here[here >= 0], minlength=n_classes)
    return Table(offsets, np.arange(n_classes), counts, X.mean(axis=0), X.std(axis=0), X.dtype)


def mixture(n: int, *, seed: int = 0) -> tuple[FloatArray, IntArray]:
    """Return n x 16, three classes of ten clusters each that hardly overlap."""
    random = np.random.default_rng(seed)
    centers = np.random.default_rng(0).normal(size=(30, 16))
    cluster = random.integers(30, size=n)
    return centers[cluster] + 0.4 * random.normal(size=(n, 16)), cluster % 3


def assembled(folder: Folder, n_parts: int, n_rows: int) -> sparse.csr_array:
    """Return the whole graph from its blocks."""
    entries = []
    for part in range(n_parts):
        block = (folder / GRAPH).read(file_name(part))
        source = np.repeat(block["rows"], np.diff(block["indptr"]))
        target = np.concatenate([block["rows"], block["halo_rows"]])[block["indices"]]
        entries.append((block["data"], source, target))
    data, source, target = (np.concatenate(some) for some in zip(*entries, strict=True))
    return sparse.csr_array((data, (source, target)), shape=(n_rows, n_rows))
