"""Prediction of labels for the rows of a file, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from graphmargin._typing import AnyArray, BoolArray, ProgressCallback
from graphmargin.confidence.prediction_sets import (
    coverage_warning,
    prediction_sets,
    set_thresholds,
)
from graphmargin.labeling.output_cells import label_cells, set_cells
from graphmargin.labels import UnlabeledRule, confidence_of_labels
from graphmargin.models.model_errors import ModelFileError
from graphmargin.models.model_file import load_model
from graphmargin.models.table_model import TableModel
from graphmargin.tables.column_names import check_not_taken
from graphmargin.tables.column_parsing import parse_texts, with_natural_dtype
from graphmargin.tables.format_limits import check_texts
from graphmargin.tables.invalid_cells import InvalidCells, join_invalid_cells
from graphmargin.tables.reading import read_chunks
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.writing import table_writer

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class PredictionSummary:
    """A summary of the predictions that were written.

    Attributes
    ----------
    column : str
        Name of the column of predictions.
    n_rows : int
    counts : mapping from str to int
        Number of rows that got the label of each class.
    mean_confidence : float
        NaN without rows.
    n_checked, n_right : int
        Number of rows with a given label and a predicted one, and of those that were right.
    n_left_empty : int
        Number of rows whose confidence is too low for a label.
    warnings : tuple of str
    """

    column: str
    n_rows: int
    counts: Mapping[str, int]
    mean_confidence: float
    n_checked: int
    n_right: int
    n_left_empty: int = 0
    warnings: tuple[str, ...] = ()


def load_table_model(path: Path) -> TableModel:
    """Return the model for tables in a file; a model for arrays raises `ModelFileError`."""
    model = load_model(path)
    if not isinstance(model, TableModel):
        msg = (
            f"{path} has a {model.kind} for arrays, which cannot be applied to tables; use it in "
            "Python, or make a model for tables with `graphmargin fit`"
        )
        raise ModelFileError(msg)
    return model


def predict_file(
    model: TableModel,
    source: Path,
    out: Path,
    *,
    min_confidence: float = 0.0,
    coverage: float | None = None,
    progress: ProgressCallback | None = None,
) -> PredictionSummary:
    """Write a table with predicted labels and their confidences, and return a summary.

    The table is read in chunks, so that it may be larger than memory. If it has the target as a
    column, predictions go to the column ``<target>_predicted`` and are compared with given labels.
    Rows whose confidence is below `min_confidence` get no label. With a `coverage`, the column
    ``<target>_set`` has the classes of prediction sets, for which the model needs held-out labels.

    Examples
    --------
    >>> import tempfile
    >>> import pandas as pd
    >>> from graphmargin.labeling.table_labeling import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> model = label_rows(task_of(table, "kind")).model()
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     source = Path(folder) / "new.csv"
    ...     table[["size"]].to_csv(source, index=False)
    ...     predict_file(model, source, Path(folder) / "labeled.csv").counts
    {'cat': 2, 'dog': 2}
    """
    n_rows = n_checked = n_right = n_left_empty = 0
    total, counts = 0.0, np.zeros(len(model.classes), dtype=np.int64)
    column, warning, thresholds = model.target, "", None
    invalid: dict[str, InvalidCells] = {}
    if coverage is not None:
        if model.held_out is None:
            msg = (
                "`coverage` needs held-out labels, which the model does not have; label two or "
                "more rows of a class, and fit it again"
            )
            raise TableError(msg)
        thresholds = set_thresholds(model.held_out, coverage)
        warning = coverage_warning(model.held_out, coverage)
    names = [str(name) for name in model.classes.tolist()]
    check_texts([model.target, *names], out, lambda i: "a class" if i else "the name of the target")
    with table_writer(out, like=source) as write:
        for chunk in read_chunks(source):
            column, confidence = prediction_columns(chunk.columns, model.target, source.name)
            try:
                labels, probabilities, found = model.label_with_invalid_cells(chunk)
            except TableError as wrong:
                msg = f"{source.name}: {wrong}"
                raise TableError(msg) from wrong
            join_invalid_cells(invalid, found)
            confidences = confidence_of_labels(labels, probabilities, model.classes)
            is_answered = confidences >= min_confidence
            if model.target in chunk.columns:
                is_labeled, right = compare_labels(chunk[model.target], labels, model.rule)
                n_checked += int((is_labeled & is_answered).sum())
                n_right += int((right & is_answered).sum())
            labeled = chunk.copy()  # `assign` does not accept a column named "self"
            labeled[column] = label_cells(labels, is_answered) if min_confidence > 0 else labels
            labeled[confidence] = np.round(confidences, 6)
            if thresholds is not None:
                name = f"{model.target}_set"
                check_not_taken([name], chunk.columns, source.name)
                labeled[name] = set_cells(prediction_sets(probabilities, thresholds), model.classes)
            write(labeled)
            n_rows, total = n_rows + len(chunk), total + float(confidences.sum())
            n_left_empty += int((~is_answered).sum())
            counts += (labels[is_answered, None] == model.classes).sum(axis=0)
            if progress is not None:
                progress(None, f"{n_rows:,} rows")
    return PredictionSummary(
        column=column,
        n_rows=n_rows,
        counts={str(k): int(count) for k, count in zip(model.classes, counts, strict=True)},
        mean_confidence=total / n_rows if n_rows else float("nan"),
        n_checked=n_checked,
        n_right=n_right,
        n_left_empty=n_left_empty,
        warnings=(*model.features.warnings_on(invalid), *([warning] if warning else [])),
    )


def prediction_columns(names: Iterable[str], target: str, table: str) -> tuple[str, str]:
    """Return the names of the columns for labels and confidences, which the table must not have.

    Examples
    --------
    >>> prediction_columns(["size"], "kind", "a.csv")
    ('kind', 'kind_confidence')
    >>> prediction_columns(["size", "kind"], "kind", "a.csv")
    ('kind_predicted', 'kind_confidence')
    """
    old = list(names)
    new = f"{target}_predicted" if target in old else target, f"{target}_confidence"
    check_not_taken(new, old, table)
    return new


def compare_labels(
    given: pd.Series, labels: AnyArray, rule: UnlabeledRule
) -> tuple[BoolArray, BoolArray]:
    """Return masks of the rows with a given label, and of those that were predicted right.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labels import UNLABELED_IN_TABLES
    >>> given, labels = pd.Series(["cat", None, "dog"]), np.array(["cat", "cat", "cat"])
    >>> is_labeled, right = compare_labels(given, labels, UNLABELED_IN_TABLES)
    >>> is_labeled.tolist(), right.tolist()
    ([True, False, True], [True, False, False])
    """
    import pandas as pd

    cells, bad = parse_texts(given)
    is_labeled = ~rule.mask(with_natural_dtype(given).mask(bad).to_numpy(dtype=object))
    if labels.dtype.kind in "iu":  # text may have decimals, such as 3.0
        same = pd.to_numeric(cells, errors="coerce").to_numpy(np.float64) == labels
    else:
        same = cells.to_numpy() == np.strings.strip(labels.astype(str))
    return is_labeled, is_labeled & same
