"""Rows move to the regions they live in, and visit those where they may be neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import NearestNeighbors

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.ingest import ROWS, Table, rows_at
from graphmargin.distributed.regions import load_regions, make_regions, sample_size, with_reach
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.storage import Folder
from graphmargin.graph.adjacency import Metric, in_metric

TRUTH, HOMES, GUESTS = "truth", "homes", "guests"
REGIONS, QUERIES, TRUE_NEIGHBORS = "regions.pack", "queries.pack", "true-neighbors.pack"
N_QUERIES = 1000
"""Rows whose true neighbors are found, to tune the reach of guests and to measure the recall."""
FOUND_BY_GUESTS = 0.99
"""Share of the true neighbors that meet in a region."""


def place_rows(
    run: Run, table: Table, n_parts: int, *, n_neighbors: int, metric: Metric, seed: int
) -> float:
    """Write every row to its home and to the regions that it visits, cut by region.

    Returns the number of regions that a row is known in, on average.

    The files are ``homes/`` and ``guests/``, one for each piece of the input: `X`, `codes` and
    `rows`, guests with the region that is their home as `owner`.
    """
    if not run.folder.exists(REGIONS):
        _make_regions(run, table, n_parts, n_neighbors, metric, seed)
    notes = run.stage(HOMES, _place, table.offsets[:-1].tolist(), metric)
    visits = sum(int(note["n_guests"]) for note in notes)
    return 1 + visits / table.n_rows


def _make_regions(
    run: Run, table: Table, n_parts: int, n_neighbors: int, metric: Metric, seed: int
) -> None:
    random = np.random.default_rng(seed)
    wanted = max(sample_size(n_parts), N_QUERIES)
    sample = np.sort(random.choice(table.n_rows, min(wanted, table.n_rows), replace=False))
    X = in_metric(rows_at(run, table, sample)[0], metric)
    regions = make_regions(X, n_parts, seed)
    chosen = np.sort(random.choice(len(sample), min(N_QUERIES, len(sample)), replace=False))
    queries = X[chosen]
    neighbors = _true_neighbors(run, table, sample[chosen], queries, n_neighbors, metric)
    distinct, place = np.unique(neighbors, return_inverse=True)
    points = in_metric(rows_at(run, table, distinct)[0], metric)
    regions = with_reach(regions, queries, points[place.reshape(neighbors.shape)], FOUND_BY_GUESTS)
    regions.save(run.folder, REGIONS)  # last: it tells that all of this is done


def _true_neighbors(
    run: Run,
    table: Table,
    rows: IntArray,
    queries: FloatArray,
    n_neighbors: int,
    metric: Metric,
) -> IntArray:
    """Return the rows that are nearest to some of them; their distances are written."""
    run.folder.write(QUERIES, {"rows": rows, "X": queries})
    offsets = table.offsets[:-1].tolist()
    notes = run.stage(TRUTH, _nearest_in_piece, offsets, n_neighbors, metric)
    found = np.concatenate([note["found"] for note in notes], axis=1)
    distances = np.concatenate([note["distances"] for note in notes], axis=1)
    order = np.lexsort((found, distances))[:, :n_neighbors]
    nearest = np.take_along_axis(distances, order, axis=1)
    run.folder.write(TRUE_NEIGHBORS, {"rows": rows, "distances": nearest})
    return np.take_along_axis(found, order, axis=1)


def _nearest_in_piece(
    folder: Folder, number: int, offset: int, n_neighbors: int, metric: Metric
) -> dict[str, Any]:
    """Return the nearest rows of a piece for every query, none of which is its own neighbor."""
    asked = folder.read(QUERIES)
    X = in_metric((folder / ROWS).read(file_name(number), ["X"])["X"], metric)
    most = min(n_neighbors + 1, len(X))
    if not most:
        empty = np.zeros((len(asked["rows"]), 0))
        return {"found": empty.astype(np.int64), "distances": empty}
    search = NearestNeighbors(n_neighbors=most, algorithm="brute", n_jobs=1).fit(X)
    distances, found = search.kneighbors(asked["X"])
    found = found.astype(np.int64) + offset
    return {
        "found": found,
        "distances": np.where(found == asked["rows"][:, None], np.inf, distances),
    }


def _place(folder: Folder, number: int, offset: int, metric: Metric) -> dict[str, Any]:
    """Sort the rows of a piece by region."""
    table = (folder / ROWS).read(file_name(number))
    regions = load_regions(folder, REGIONS)
    homes, guest, host = regions.guests(in_metric(table["X"], metric))
    table["rows"] = offset + np.arange(len(homes))
    _write_sorted(folder / HOMES, number, table, homes, regions.n_regions)
    guests = {name: array[guest] for name, array in table.items()}
    guests["owner"] = homes[guest]
    _write_sorted(folder / GUESTS, number, guests, host, regions.n_regions)
    return {"n_guests": np.array(len(guest))}


def _write_sorted(
    folder: Folder, number: int, arrays: dict[str, AnyArray], receiver: IntArray, n: int
) -> None:
    """Write rows, cut by who is to read them."""
    order = np.argsort(receiver, kind="stable")
    start = np.searchsorted(receiver[order], np.arange(n + 1))
    named = {name: array[order] for name, array in arrays.items()}
    folder.write(file_name(number), named, start=start)
