"""Labels for the rows of new tables, from Parquet to Parquet."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from graphmargin._typing import AnyArray, FloatArray, ProgressCallback
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.files import check_types
from graphmargin.distributed.output import (
    Layout,
    all_or_nothing,
    check_new,
    check_outside,
    ids_layout,
    kept_of,
    parquet_writer,
    part_name,
)
from graphmargin.distributed.points import EncodedColumns, NumberColumns, numbered_frame
from graphmargin.distributed.source import Piece, Source, batches_of, open_source
from graphmargin.distributed.storage import Folder
from graphmargin.harmonic.solve import confidence_of
from graphmargin.labeling.prediction import Predicted, check_labels, new_columns
from graphmargin.labels import UNLABELED_IN_PYTHON, UnlabeledRule
from graphmargin.models.array_model import Predictor
from graphmargin.models.table_model import TableModel
from graphmargin.tables.errors import TableError
from graphmargin.tables.reading import to_frame

ROWS_OF_A_PART = 1 << 20
"""Rows of a file of predictions, of which a batch is in memory at a time."""
DIGITS = 6


class Labeler(Protocol):
    """A model that knows the columns it needs."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""

    @property
    def classes(self) -> AnyArray:
        """All labels."""

    @property
    def target(self) -> str:
        """Name of the column of labels."""

    @property
    def rule(self) -> UnlabeledRule:
        """Which cells of that column have no label."""

    def label(self, table: pa.Table, first_row: int) -> tuple[AnyArray, FloatArray]:
        """Return the label of each row and its confidence; rows count from `first_row`."""


@dataclass(frozen=True)
class LabelerOfTables:
    """A model of tables as a `Labeler`."""

    model: TableModel

    @property
    def columns(self) -> tuple[str, ...]:
        """Those that are of use."""
        return EncodedColumns(self.model.features).columns

    @property
    def classes(self) -> AnyArray:
        """All labels."""
        return self.model.classes

    @property
    def target(self) -> str:
        """Name of the column of labels."""
        return self.model.target

    @property
    def rule(self) -> UnlabeledRule:
        """Which cells of that column have no label."""
        return self.model.rule

    def label(self, table: pa.Table, first_row: int) -> tuple[AnyArray, FloatArray]:
        """Return the label of each row and its confidence."""
        return self.model.label(numbered_frame(table, first_row))


@dataclass(frozen=True)
class LabelerOfNumbers:
    """A predictor for columns of numbers, as a `Labeler`.

    Examples
    --------
    >>> from graphmargin import HarmonicClassifier
    >>> X = np.array([[1.0], [1.1], [5.0], [5.1]])
    >>> classifier = HarmonicClassifier(n_neighbors=1).fit(X, ["cat", None, "dog", None])
    >>> labeler = LabelerOfNumbers(classifier.predictor_, ("size",), "kind")
    >>> labeler.label(pa.table({"size": [5, 1]}), first_row=0)[0].tolist()
    ['dog', 'cat']
    """

    predictor: Predictor
    columns: tuple[str, ...]
    target: str
    rule: UnlabeledRule = UNLABELED_IN_PYTHON

    @property
    def classes(self) -> AnyArray:
        """All labels."""
        return self.predictor.classes

    def label(self, table: pa.Table, first_row: int) -> tuple[AnyArray, FloatArray]:
        """Return the label of each row and its confidence."""
        X = NumberColumns(self.columns, np.dtype(np.float64)).transform(table, first_row)
        bad = ~np.isfinite(X)
        if bad.any():
            row, column = np.argwhere(bad)[0].tolist()
            msg = (
                f"feature {self.columns[column]!r} has {X[row, column]} in row "
                f"{first_row + row + 1:,}; fill missing and infinite values, or drop these rows"
            )
            raise TableError(msg)
        labels, probabilities = self.predictor.label(X)
        return labels, np.asarray(confidence_of(probabilities))


def predict_parquet(
    cluster: Cluster,
    model: Labeler,
    data: Any,
    out: Folder,
    *,
    columns: Sequence[str] | None = None,
    progress: ProgressCallback | None = None,
) -> Predicted:
    """Write the labels of the rows of Parquet files and their confidences, in the same order.

    A task for each piece reads it batch by batch and writes ``part-NNNNNN.parquet``. If the table
    has a column of the target, predictions of rows with a label are counted as right or wrong. If
    anything fails, nothing is left.

    Parameters
    ----------
    cluster : Cluster
    model : Labeler
    data : str, Path or a sequence of them
        See `open_source`.
    out : Folder
        New or empty. In an object store, the file ``_SUCCESS`` says that all is there.
    columns : sequence of str, default=None
        Columns of the input to keep, such as the id; the number of the row if empty. None is all,
        as the command `predict` has it: then predictions do not take the place of a column of
        the target, but go to ``<target>_predicted``.
    progress : callable, default=None

    Raises
    ------
    TableError
        If the table has not the columns of the model, or a cell cannot be read.
    InputError
        If `out` holds something, or is in a folder of `data`.
    """
    check_new(out)
    check_outside(out, data)
    source = open_source(data, ROWS_OF_A_PART)
    layout = _layout(source, model, columns)
    read = _needed(source.schema.names, model, columns)
    held = cluster.share("model", model)
    firsts = source.offsets.tolist()
    items = [(i, piece, firsts[i]) for i, piece in enumerate(source.pieces)]
    with all_or_nothing(out) as folder:
        notes = cluster.run(
            "predicting", _predict, items, held, read, layout, folder, progress=progress
        )
    n_rows = source.n_rows
    counts = np.sum([note["counts"] for note in notes], axis=0)
    return Predicted(
        column=layout.label,
        n_rows=n_rows,
        counts={str(k): int(count) for k, count in zip(model.classes, counts, strict=True)},
        mean_confidence=sum(note["confidence"] for note in notes) / n_rows,
        n_checked=sum(note["n_checked"] for note in notes),
        n_right=sum(note["n_right"] for note in notes),
    )


def _layout(source: Source, model: Labeler, columns: Sequence[str] | None) -> Layout:
    """Return the columns to write, after a check that those to read are in all files."""
    schema, where = source.schema, source.files[0].url
    check_types(source.files, _needed(schema.names, model, columns))
    if columns is None:
        label, confidence = new_columns(schema.names, model.target, where)
        return Layout(schema, label, confidence, digits=DIGITS)
    return ids_layout(schema, model.target, columns)


def _needed(names: Sequence[str], model: Labeler, columns: Sequence[str] | None) -> list[str]:
    """Return the columns to read."""
    kept = names if columns is None else columns
    target = [model.target] if model.target in names else []
    return list(dict.fromkeys([*model.columns, *kept, *target]))


def _predict(
    item: tuple[int, Piece, int], model: Labeler, columns: list[str], layout: Layout, out: Folder
) -> dict[str, Any]:
    """Write the labels of a piece, and return what to count."""
    number, piece, first_row = item
    counts = np.zeros(len(model.classes), dtype=np.int64)
    confidence, n_checked, n_right, done = 0.0, 0, 0, 0
    with parquet_writer(out, part_name(number)) as write:
        for batch in batches_of(piece, columns):
            try:
                labels, sure = model.label(batch, piece.first_row + done)
            except TableError as error:
                msg = f"{piece.url}: {error}"
                raise TableError(msg) from error
            kept = kept_of(batch, layout.kept, first_row + done, piece.url)
            write(layout.table(kept, pa.array(labels.tolist()), sure, None))
            counts += (labels[:, None] == model.classes).sum(axis=0)
            confidence += float(sure.sum())
            if model.target in batch.column_names:
                given = to_frame(batch.select([model.target]))[model.target]
                known, right = check_labels(given, labels, model.rule)
                n_checked, n_right = n_checked + int(known.sum()), n_right + int(right.sum())
            done += batch.num_rows
    return {
        "counts": counts,
        "confidence": confidence,
        "n_checked": n_checked,
        "n_right": n_right,
    }
