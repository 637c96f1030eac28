"""Labels for new rows, chunk by chunk."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphmargin._typing import AnyArray, BoolArray, Progress
from graphmargin.models.errors import ModelFileError
from graphmargin.models.model_file import load_model
from graphmargin.models.table_model import TableModel
from graphmargin.tables.errors import TableError
from graphmargin.tables.reading import read_chunks
from graphmargin.tables.writing import table_writer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Predicted:
    """What was written.

    Attributes
    ----------
    column : str
        Of the labels.
    n_rows : int
    counts : mapping from str to int
        Rows of each class.
    mean_confidence : float
        nan for no rows.
    n_checked, n_right : int
        Rows whose label was in the table, and those of them that were predicted right.
    """

    column: str
    n_rows: int
    counts: Mapping[str, int]
    mean_confidence: float
    n_checked: int
    n_right: int


def load_table_model(path: Path) -> TableModel:
    """Return the model of tables in a file; others have no names of columns."""
    model = load_model(path)
    if not isinstance(model, TableModel):
        msg = (
            f"{path} holds a {type(model).__name__}, which knows no columns of tables; make a "
            "model by `graphmargin fit`, or use this one from Python"
        )
        raise ModelFileError(msg)
    return model


def predict_file(
    model: TableModel, source: Path, out: Path, *, progress: Progress | None = None
) -> Predicted:
    """Write a table with the labels of its rows and their confidences; a chunk is in memory.

    If the table has a column of the target, it stays, predictions go to ``<target>_predicted``, and
    those of rows with a label are counted as right or wrong.
    """
    n_rows = n_checked = n_right = 0
    total, counts = 0.0, np.zeros(len(model.classes), dtype=np.int64)
    column = model.target
    with table_writer(out) as write:
        for chunk in read_chunks(source):
            column, confidence = _new_columns(chunk, model.target, source.name)
            try:
                labels, sure = model.label(chunk)
            except TableError as wrong:
                start = f", counting rows from {n_rows + 1:,}" if n_rows else ""
                msg = f"{source.name}{start}: {wrong}"
                raise TableError(msg) from wrong
            if model.target in chunk.columns:
                known, right = _check(chunk[model.target], labels)
                n_checked, n_right = n_checked + int(known.sum()), n_right + int(right.sum())
            write(chunk.assign(**{column: labels, confidence: np.round(sure, 6)}))
            n_rows, total = n_rows + len(chunk), total + float(sure.sum())
            counts += (labels[:, None] == model.classes).sum(axis=0)
            if progress is not None:
                progress(None, f"{n_rows:,} rows")
    return Predicted(
        column=column,
        n_rows=n_rows,
        counts={str(k): int(count) for k, count in zip(model.classes, counts, strict=True)},
        mean_confidence=total / n_rows if n_rows else float("nan"),
        n_checked=n_checked,
        n_right=n_right,
    )


def _new_columns(chunk: pd.DataFrame, target: str, name: str) -> tuple[str, str]:
    """Return the names of the columns to add, none of which may be there."""
    column = f"{target}_predicted" if target in chunk.columns else target
    for new in (column, f"{target}_confidence"):
        if new in chunk.columns:
            msg = f"{name} has a column {new!r}, which the result needs: rename it"
            raise TableError(msg)
    return column, f"{target}_confidence"


def _check(given: pd.Series, labels: AnyArray) -> tuple[BoolArray, BoolArray]:
    """Return which rows have a label, and which of them were predicted right."""
    known = given.notna().to_numpy() & (given.astype(str).str.strip() != "").to_numpy()
    if labels.dtype.kind in "iu":  # an empty cell makes floats of integers
        import pandas as pd

        same = pd.to_numeric(given, errors="coerce").to_numpy(np.float64) == labels
    else:
        same = given.astype(str).str.strip().to_numpy() == labels.astype(str)
    return known, known & same
