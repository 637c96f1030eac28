"""Ingestion of a table: encoded rows and codes of labels on storage, and their summary."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._rows import MAGNITUDES
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.engine.handles import Codes, Rows, StoredRows, concatenate_records
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.sampling import allocate_sample, draw_sample
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.label_column import LabelColumn, class_codes, find_classes
from graphmargin.distributed.io.row_encoder import RowEncoder
from graphmargin.distributed.io.row_ranges import RowRange, Source, format_cell, read_batches
from graphmargin.graph.weights import feature_std
from graphmargin.labels import UNLABELED
from graphmargin.tables.table_errors import TableError


@dataclass(frozen=True)
class TableSummary:
    """Summary of all rows; the rows themselves are on storage, see `StoredRows`.

    Attributes
    ----------
    offsets : array of shape (n_ranges + 1,)
        Number of the first row of each row range, followed by the number of all rows.
    classes : array of shape (c,)
        The sorted classes: text, int64 or bool.
    label_counts : array of shape (n_ranges, c)
        Number of labels of each class in each row range.
    mean, spread : array of shape (d,)
        Mean and standard deviation of every feature.
    dtype : dtype
        Type of the encoded rows: float32 or float64.
    """

    offsets: IntArray
    classes: AnyArray
    label_counts: IntArray
    mean: FloatArray
    spread: FloatArray
    dtype: np.dtype[Any]

    @property
    def n_rows(self) -> int:
        """Number of rows of the table."""
        return int(self.offsets[-1])

    @property
    def n_ranges(self) -> int:
        """Number of row ranges."""
        return len(self.offsets) - 1

    @property
    def n_features(self) -> int:
        """Number of features of an encoded row."""
        return len(self.mean)

    @property
    def n_labeled(self) -> int:
        """Number of rows with a label."""
        return int(self.label_counts.sum())


@dataclass(frozen=True)
class Moments:
    """Number, mean and standard deviation of points.

    Examples
    --------
    >>> X = np.array([[1.0], [2.0], [6.0]])
    >>> merged = compute_moments(X[:1]).merge(compute_moments(X[1:]))
    >>> merged.mean.tolist(), bool(np.isclose(merged.spread[0], X.std()))
    ([3.0], True)
    """

    n: int
    mean: FloatArray
    spread: FloatArray

    def merge(self, other: Moments) -> Moments:
        """Return the moments of both sets of points (Chan, Golub, LeVeque 1979)."""
        n = self.n + other.n
        share, step = self.n / n, other.mean - self.mean
        within = np.hypot(np.sqrt(share) * self.spread, np.sqrt(1 - share) * other.spread)
        spread = np.hypot(within, np.sqrt(share * (1 - share)) * step)
        return Moments(n, self.mean + (1 - share) * step, spread)


def compute_moments(X: FloatArray) -> Moments:
    """Return the moments of one or more points, in double precision and without copying X."""
    return Moments(len(X), X.mean(axis=0, dtype=np.float64), feature_std(X))


def ingest(
    run: Run, source: Source, encoder: RowEncoder, label: LabelColumn, id: str | None = None
) -> TableSummary:
    """Write the encoded rows of a table as `StoredRows`, and return their summary.

    The column of labels is read first, to find the classes. The column `id` is for messages only.

    Raises
    ------
    TableError
        If a feature is missing, infinite or too large, or a label is not a class: one line with
        the column, the value, the file and the row.
    """
    classes, counts = find_classes(run, source, label)
    shared = run.cluster.share("features", encoder)
    results = run.stage(
        StoredRows.name, _ingest_range, source.row_ranges, shared, label, id, classes
    )
    total, *others = (
        Moments(int(result["n"]), result["mean"], result["spread"]) for result in results
    )
    for other in others:
        total = total.merge(other)
    size, (smallest, _) = np.hypot(total.mean, total.spread).max(), MAGNITUDES[encoder.dtype.name]
    if 0 < size < smallest:
        msg = f"the features have numbers of size {size:.0e}, whose squares vanish; change the unit"
        raise TableError(msg)
    return TableSummary(source.offsets, classes, counts, total.mean, total.spread, encoder.dtype)


def read_sample(run: Run, table: TableSummary, rows: IntArray) -> Rows:
    """Return the rows with the given sorted numbers, and their labels."""
    edges = np.searchsorted(rows, table.offsets)
    items = [
        (i, rows[edges[i] : edges[i + 1]] - table.offsets[i])
        for i in np.flatnonzero(np.diff(edges)).tolist()
    ]
    samples: list[Rows] = run.cluster.run("rows of a sample", _read_rows, items, run.folder)
    return concatenate_records(
        [Rows(np.zeros((0, table.n_features), table.dtype), np.zeros(0, np.int32)), *samples]
    )


def draw_rows(
    run: Run, table: TableSummary, quotas: IntArray, n_unlabeled: int, seed: int
) -> IntArray:
    """Return the sorted numbers of random rows: `quotas` of each class, and unlabeled ones.

    All rows of a class are drawn if it has fewer than its quota.
    """
    n_rows = np.diff(table.offsets)
    counts = np.column_stack([table.label_counts, n_rows - table.label_counts.sum(axis=1)])
    drawn = allocate_sample(counts, np.append(quotas, n_unlabeled), seed)
    items = [(i, int(table.offsets[i]), drawn[i], seed) for i in np.flatnonzero(drawn.any(axis=1))]
    samples = run.cluster.run("drawing rows", _draw_rows, items, run.folder)
    return np.concatenate([np.zeros(0, dtype=np.int64), *samples])


def _read_rows(item: tuple[int, IntArray], folder: Folder) -> Rows:
    number, rows = item
    return StoredRows(folder).read(number, Rows, rows=rows)


def _draw_rows(item: tuple[int, int, IntArray, int], folder: Folder) -> IntArray:
    number, first, quotas, seed = item
    codes = StoredRows(folder).read(number, Codes).codes
    strata = np.where(codes == UNLABELED, len(quotas) - 1, codes)
    return first + draw_sample(strata, quotas, [seed, number])


def _ingest_range(
    folder: Folder,
    number: int,
    row_range: RowRange,
    encoder: RowEncoder,
    label: LabelColumn,
    id: str | None,
    classes: AnyArray,
) -> dict[str, Any]:
    """Write the encoded rows and codes of a row range, and return their moments."""
    X = np.empty((row_range.n_rows, encoder.n_features), encoder.dtype)
    codes = np.empty(row_range.n_rows, np.int32)
    first = 0
    for batch in read_batches(row_range, [*encoder.columns, label.name]):
        rows = slice(first, first + batch.num_rows)
        try:
            X[rows] = encoder.transform(batch, row_range.first_row + first)
        except TableError as error:
            msg = f"{row_range.url}: {error}"
            raise TableError(msg) from error
        values, indices = label.encode(batch.column(label.name), row_range, first)
        codes[rows] = class_codes(values, classes)[indices]
        first = rows.stop
    _check_values(X, row_range, encoder, id)
    StoredRows(folder).write(number, Rows(X, codes))
    return vars(compute_moments(X))


def _check_values(X: FloatArray, row_range: RowRange, encoder: RowEncoder, id: str | None) -> None:
    _, largest = MAGNITUDES[X.dtype.name]
    # The minimum of a column with NaN is NaN, so that no mask as large as X is needed.
    is_valid = (X.min(axis=0) >= -largest) & (X.max(axis=0) <= largest)
    if is_valid.all():
        return
    column = int(np.argmin(is_valid))
    is_bad = ~(np.abs(X[:, column]) <= largest)
    row = int(np.argmax(is_bad))
    row_id = "" if id is None else f" (id {format_cell(row_range, id, row)})"
    msg = (
        f"feature {encoder.columns[column]!r} has {int(is_bad.sum()):,} values that are missing or "
        f"larger than {largest:.0e}, first {X[row, column]} in {row_range.describe_row(row)}"
        f"{row_id}; fill them, drop these rows, or change the unit"
    )
    raise TableError(msg)
