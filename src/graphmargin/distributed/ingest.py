"""From Parquet to arrays: points, codes of classes, and what is known of all rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.classes import LabelColumn, codes_of, find_classes
from graphmargin.distributed.identity import check_ids
from graphmargin.distributed.points import Points
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.sampling import apportion, draw
from graphmargin.distributed.source import Piece, Source, batches_of, shown_at
from graphmargin.distributed.storage import Folder
from graphmargin.graph.weights import feature_spread
from graphmargin.labels import UNLABELED
from graphmargin.tables.errors import TableError

ROWS = "rows"
"""Folder of the points and codes, a pack for each piece."""


@dataclass(frozen=True)
class Table:
    """What is known of all rows; the rows themselves are in packs, see `ROWS`.

    Attributes
    ----------
    offsets : array of shape (n_pieces + 1,)
        Number of the first row of each piece, and of all rows.
    classes : array of shape (c,)
        Sorted: text, int64 or bool.
    label_counts : array of shape (n_pieces, c)
        Labels of each class in each piece.
    mean, spread : array of shape (d,)
        Mean and standard deviation of every feature.
    dtype : dtype
        Of the points: float32 or float64.
    """

    offsets: IntArray
    classes: AnyArray
    label_counts: IntArray
    mean: FloatArray
    spread: FloatArray
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """Rows of the table."""
        return int(self.offsets[-1])

    @property
    def n_pieces(self) -> int:
        """Packs that hold the rows."""
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        """Numbers in a point."""
        return len(self.mean)

    @property
    def n_labeled(self) -> int:
        """Rows with a label."""
        return int(self.label_counts.sum())


@dataclass(frozen=True)
class Moments:
    """Number, mean and standard deviation of points; merges are exact but for rounding.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [6.0]])
    >>> merged = moments_of(X[:1]).merged(moments_of(X[1:]))
    >>> merged.mean.tolist(), bool(np.isclose(merged.spread[0], X.std()))
    ([3.0], True)
    """

    n: int
    mean: FloatArray
    spread: FloatArray

    def merged(self, other: Moments) -> Moments:
        """Return the moments of both sets of points (Chan, Golub, LeVeque 1979)."""
        n = self.n + other.n
        own, step = self.n / n, other.mean - self.mean
        within = np.hypot(np.sqrt(own) * self.spread, np.sqrt(1 - own) * other.spread)
        spread = np.hypot(within, np.sqrt(own * (1 - own)) * step)
        return Moments(n, self.mean + (1 - own) * step, spread)


def moments_of(X: FloatArray) -> Moments:
    """Return the moments of at least one point, in double precision and without a copy."""
    return Moments(len(X), X.mean(axis=0, dtype=np.float64), feature_spread(X))


def ingest(
    run: Run,
    source: Source,
    points: Points,
    label: LabelColumn,
    id: str | None = None,
) -> Table:
    """Read a table once into packs that all stages share, and return what is known of it.

    Before that, the column of labels is read alone to know the classes, and the ids, if any, to
    know that they differ.

    Parameters
    ----------
    run : Run
    source : Source
    points : Points
        What the features are, see `choose_points`.
    label : LabelColumn
    id : str or None
        Column that names the rows.

    Raises
    ------
    TableError
        If a feature is missing or infinite, an id is missing or there twice, or the labels are
        no classes: one line with the column, the value, the file and the row.
    """
    classes, counts = find_classes(run, source, label)
    if id is not None:
        check_ids(run, source, id)
    shared = run.cluster.share("features", points)
    notes = run.stage(ROWS, _read_rows, source.pieces, shared, label, id, classes)
    total, *others = (Moments(int(note["n"]), note["mean"], note["spread"]) for note in notes)
    for other in others:
        total = total.merged(other)
    return Table(source.offsets, classes, counts, total.mean, total.spread, points.dtype)


def rows_at(run: Run, table: Table, rows: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the points and codes of a sample of rows, by their sorted numbers.

    Workers read only those parts of the packs that hold some of them.
    """
    found = run.cluster.run(
        "rows of a sample", _read_some, _by_piece(table, rows), run.folder / ROWS
    )
    return (
        np.concatenate([np.zeros((0, table.n_features), table.dtype), *(X for X, _ in found)]),
        np.concatenate([np.zeros(0, np.int32), *(codes for _, codes in found)]),
    )


def draw_rows(run: Run, table: Table, quotas: IntArray, n_unlabeled: int, seed: int) -> IntArray:
    """Return the sorted numbers of random rows: so many of each class, and without a label.

    Parameters
    ----------
    run : Run
    table : Table
    quotas : array of shape (c,)
        Labeled rows to draw of each class; all, if there are no more.
    n_unlabeled : int
    seed : int
    """
    n_rows = np.diff(table.offsets)
    counts = np.column_stack([table.label_counts, n_rows - table.label_counts.sum(axis=1)])
    drawn = apportion(counts, np.append(quotas, n_unlabeled), seed)
    items = [(i, int(table.offsets[i]), drawn[i], seed) for i in np.flatnonzero(drawn.any(axis=1))]
    found = run.cluster.run("drawing rows", _draw, items, run.folder / ROWS)
    return np.concatenate([np.zeros(0, dtype=np.int64), *found])


def _by_piece(table: Table, rows: IntArray) -> list[tuple[int, IntArray]]:
    """Return the pieces that hold some of the sorted rows, with the rows' numbers in them."""
    edges = np.searchsorted(rows, table.offsets)
    return [
        (i, rows[edges[i] : edges[i + 1]] - table.offsets[i])
        for i in np.flatnonzero(np.diff(edges)).tolist()
    ]


def _read_some(item: tuple[int, IntArray], folder: Folder) -> tuple[AnyArray, AnyArray]:
    number, rows = item
    found = folder.read(file_name(number), rows=rows)
    return found["X"], found["codes"]


def _draw(item: tuple[int, int, IntArray, int], folder: Folder) -> IntArray:
    number, first, quotas, seed = item
    codes = folder.read(file_name(number), ["codes"])["codes"]
    strata = np.where(codes == UNLABELED, len(quotas) - 1, codes)
    return first + draw(strata, quotas, [seed, number])


def _read_rows(
    folder: Folder,
    number: int,
    piece: Piece,
    points: Points,
    label: LabelColumn,
    id: str | None,
    classes: AnyArray,
) -> dict[str, Any]:
    X = np.empty((piece.n_rows, points.n_features), points.dtype)
    codes = np.empty(piece.n_rows, np.int32)
    first = 0
    for batch in batches_of(piece, [*points.columns, label.name]):
        rows = slice(first, first + batch.num_rows)
        try:
            X[rows] = points.transform(batch, piece.first_row + first)
        except TableError as error:
            msg = f"{piece.url}: {error}"
            raise TableError(msg) from error
        values, found = label.encode(batch.column(label.name), piece, first)
        codes[rows] = codes_of(values, classes)[found]
        first = rows.stop
    _check_finite(X, piece, points, id)
    (folder / ROWS).write(file_name(number), {"X": X, "codes": codes})
    moments = moments_of(X)
    return {"n": moments.n, "mean": moments.mean, "spread": moments.spread}


def _check_finite(X: FloatArray, piece: Piece, points: Points, id: str | None) -> None:
    # NaN is the least and the largest of its column, so that no mask of X is needed.
    bad = np.flatnonzero(~np.isfinite(X.min(axis=0)) | ~np.isfinite(X.max(axis=0)))
    if not len(bad):
        return
    column = int(bad[0])
    is_bad = ~np.isfinite(X[:, column])
    row = int(np.argmax(is_bad))
    name = "" if id is None else f" (id {shown_at(piece, id, row)})"
    msg = (
        f"feature {points.columns[column]!r} has {int(is_bad.sum()):,} missing or "
        f"infinite values, first {X[row, column]} in {piece.where(row)}{name}; fill them, or "
        "drop these rows"
    )
    raise TableError(msg)
