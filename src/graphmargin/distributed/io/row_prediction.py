"""Predictions for the rows of Parquet files, which are written to Parquet files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from graphmargin._rows import MAGNITUDES
from graphmargin._typing import AnyArray, FloatArray, ProgressCallback
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.output import (
    LabeledBatch,
    Layout,
    atomic_folder,
    check_empty,
    check_not_in_input,
    id_layout,
    write_range,
)
from graphmargin.distributed.io.parquet_files import check_types
from graphmargin.distributed.io.row_encoder import EncodedColumns, RowEncoder
from graphmargin.distributed.io.row_ranges import RowRange, open_source
from graphmargin.labeling.prediction import PredictionSummary, compare_labels, prediction_columns
from graphmargin.labels import UNLABELED_IN_PYTHON, UnlabeledRule, confidence_of_labels
from graphmargin.models.table_model import TableModel
from graphmargin.search.predictor import Predictor
from graphmargin.tables.invalid_cells import InvalidCells, join_invalid_cells
from graphmargin.tables.reading import to_frame
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures

ROWS_PER_FILE = 1 << 20
"""Largest number of rows of a file of predictions."""
DIGITS = 6


@dataclass(frozen=True)
class RowPredictor:
    """A predictor with the encoder of the columns that it needs.

    Attributes
    ----------
    encoder : RowEncoder
    predictor : Predictor
        A predictor whose classes are the labels.
    target : str
        Column of the labels.
    rule : UnlabeledRule
        The rule that says which cells of that column are unlabeled.

    Examples
    --------
    >>> from graphmargin import HarmonicClassifier
    >>> from graphmargin.distributed.io.row_encoder import NumberColumns
    >>> X = np.array([[1.0], [1.1], [5.0], [5.1]])
    >>> classifier = HarmonicClassifier(n_neighbors=1).fit(X, ["cat", None, "dog", None])
    >>> size = NumberColumns(("size",), np.dtype(np.float64))
    >>> predictor = RowPredictor(size, classifier.predictor_, "kind")
    >>> predictor.label(pa.table({"size": [5, 1]}), first_row=0)[0].tolist()
    ['dog', 'cat']
    """

    encoder: RowEncoder
    predictor: Predictor
    target: str
    rule: UnlabeledRule = UNLABELED_IN_PYTHON

    @classmethod
    def of_table(cls, model: TableModel) -> RowPredictor:
        """Return the predictor of a table model."""
        return cls(EncodedColumns(model.features), model.predictor, model.target, model.rule)

    @property
    def features(self) -> TableFeatures | None:
        """Features of columns of any kind; None if columns of numbers are taken as they are."""
        return self.encoder.features if isinstance(self.encoder, EncodedColumns) else None

    def label(
        self, table: pa.Table, first_row: int
    ) -> tuple[AnyArray, FloatArray, dict[str, InvalidCells]]:
        """Return the label of each row, the probability that it is right, and the invalid cells.

        These are by column, without their rows. Messages count rows from `first_row`.
        """
        if isinstance(self.encoder, EncodedColumns):
            X, found = self.encoder.transform_with_invalid_cells(table, first_row)
        else:
            X, found = self.encoder.transform(table, first_row), {}
        is_bad = ~(np.abs(X) <= MAGNITUDES[X.dtype.name][1])
        if is_bad.any():
            row, column = np.argwhere(is_bad)[0].tolist()
            msg = (
                f"feature {self.encoder.columns[column]!r} has {X[row, column]} in row "
                f"{first_row + row + 1:,}; fill missing and replace huge values, or drop these rows"
            )
            raise TableError(msg)
        labels, probabilities = self.predictor.label(X)
        confidence = confidence_of_labels(labels, probabilities, self.predictor.classes)
        return labels, confidence, {k: replace(cells, rows=()) for k, cells in found.items()}


def predict_parquet(
    cluster: Cluster,
    model: RowPredictor,
    data: Any,
    out: Folder,
    *,
    columns: Sequence[str] | None = None,
    progress: ProgressCallback | None = None,
) -> PredictionSummary:
    """Write the predicted labels of the rows of Parquet files, with their confidences, in order.

    The task of each row range writes a file ``part-NNNNNN.parquet``. If the table has a column of
    the target, the predictions of labeled rows are counted as right or wrong. If a task fails, all
    files are removed.

    Parameters
    ----------
    cluster : Cluster
    model : RowPredictor
    data : str, Path or a sequence of them
        See `open_source`.
    out : Folder
        New or empty. In an object store, the file ``_SUCCESS`` says that all files are there.
    columns : sequence of str, default=None
        Columns of the input to copy, such as the id; if empty, the number of each row takes their
        place. None copies all columns, as the command `predict` does; if the table has a column of
        the target, predictions then go to ``<target>_predicted``.
    progress : callable, default=None

    Raises
    ------
    TableError
        If the table lacks columns of the model, or a cell cannot be read.
    InputError
        If `out` is not empty, or is in a folder of `data`.
    """
    check_empty(out)
    check_not_in_input(out, data)
    source = open_source(data, ROWS_PER_FILE)
    schema = source.schema
    copied = schema.names if columns is None else columns
    target = [model.target] if model.target in schema.names else []
    needed = list(dict.fromkeys([*model.encoder.columns, *copied, *target]))
    check_types(source.files, needed)
    if columns is None:
        names = prediction_columns(schema.names, model.target, source.files[0].url)
        layout = Layout(schema, *names, digits=DIGITS)
    else:
        layout = id_layout(schema, model.target, columns)
    shared = cluster.share("model", model)
    items = list(enumerate(zip(source.row_ranges, source.offsets.tolist(), strict=False)))
    with atomic_folder(out) as folder:
        results = cluster.run(
            "predicting", _predict_range, items, shared, needed, layout, folder, progress=progress
        )
    invalid: dict[str, InvalidCells] = {}
    for result in results:
        join_invalid_cells(invalid, result["invalid"])
    n_rows = source.n_rows
    counts = np.sum([result["counts"] for result in results], axis=0)
    return PredictionSummary(
        column=layout.label,
        n_rows=n_rows,
        counts={
            str(k): int(count) for k, count in zip(model.predictor.classes, counts, strict=True)
        },
        mean_confidence=sum(result["confidence"] for result in results) / n_rows,
        n_checked=sum(result["n_checked"] for result in results),
        n_right=sum(result["n_right"] for result in results),
        warnings=() if model.features is None else model.features.warnings_on(invalid),
    )


def _predict_range(
    item: tuple[int, tuple[RowRange, int]],
    model: RowPredictor,
    columns: list[str],
    layout: Layout,
    out: Folder,
) -> dict[str, Any]:
    """Write the labels of a row range, and return counts of them."""
    number, (row_range, first_row) = item
    classes = model.predictor.classes
    counts = np.zeros(len(classes), dtype=np.int64)
    total, n_checked, n_right = 0.0, 0, 0
    invalid: dict[str, InvalidCells] = {}

    def label_batch(batch: pa.Table, first: int) -> LabeledBatch:
        nonlocal total, n_checked, n_right
        try:
            labels, confidence, found = model.label(batch, row_range.first_row + first)
        except TableError as error:
            msg = f"{row_range.url}: {error}"
            raise TableError(msg) from error
        join_invalid_cells(invalid, found)
        counts[:] += (labels[:, None] == classes).sum(axis=0)
        total += float(confidence.sum())
        if model.target in batch.column_names:
            given = to_frame(batch.select([model.target]))[model.target]
            is_labeled, is_right = compare_labels(given, labels, model.rule)
            n_checked, n_right = n_checked + int(is_labeled.sum()), n_right + int(is_right.sum())
        return pa.array(labels.tolist()), confidence, None

    write_range(out, number, (row_range, first_row), layout, columns, label_batch)
    return {
        "counts": counts,
        "confidence": total,
        "n_checked": n_checked,
        "n_right": n_right,
        "invalid": invalid,
    }
