"""The column of labels of a table, which is read in parts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from graphmargin._typing import AnyArray, IntArray
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.row_ranges import RowRange, Source, read_batches
from graphmargin.labels import UNLABELED, UnlabeledRule
from graphmargin.tables.table_errors import TableError

STAGE = "classes"
MAX_CLASSES = 10_000
"""Number of different values above which a column does not have classes."""
MAX_LABEL_LENGTH = 1_000
"""Number of characters above which a text is not a label."""
_KINDS = {"U": "text", "i": "whole numbers", "b": "truth values"}

Label = str | int | bool


@dataclass(frozen=True)
class LabelColumn:
    """The column of labels, and the rule that says which of its cells are unlabeled.

    Whole numbers are read as integers, whatever their type is.

    Examples
    --------
    >>> from graphmargin.labels import UNLABELED_IN_PYTHON, UNLABELED_IN_TABLES
    >>> row_range = RowRange("a.parquet", 0, 1, 0, 4, 0)
    >>> column = LabelColumn("y", UNLABELED_IN_PYTHON)
    >>> values, codes = column.encode(pa.chunked_array([[3.0, None, -1.0, 7.0]]), row_range, 0)
    >>> [values[code] for code in codes]
    [3, None, None, 7]
    >>> column = LabelColumn("y", UNLABELED_IN_TABLES)
    >>> values, codes = column.encode(pa.chunked_array([[" cat", "-1", " ", "nan"]]), row_range, 0)
    >>> [values[code] for code in codes]
    ['cat', '-1', None, None]
    """

    name: str
    rule: UnlabeledRule

    def encode(
        self, column: pa.ChunkedArray, row_range: RowRange, first: int
    ) -> tuple[list[Label | None], IntArray]:
        """Return the distinct labels of some rows, None for unlabeled, and the index of each row's.

        `first` is the number of the first of these rows in its row range.

        Raises
        ------
        TableError
            If a cell cannot be a label; the message has the file and the row.
        """
        if pa.types.is_nested(column.type):
            msg = (
                f"label {self.name!r} is {column.type} in {row_range.url}; labels are text, whole "
                "numbers or truth values"
            )
            raise TableError(msg)
        encoded = column.combine_chunks().dictionary_encode()
        codes = encoded.indices.fill_null(len(encoded.dictionary)).to_numpy(zero_copy_only=False)
        _check_class_count(len(encoded.dictionary), self.name, row_range)
        values = encoded.dictionary.to_pylist()
        for code, value in enumerate(values):
            if not _is_class(value):
                rows = np.flatnonzero(codes == code)
                msg = (
                    f"label {self.name!r} has {str(value)[:60]!r} in {len(rows):,} rows, first in "
                    f"{row_range.describe_row(first + int(rows[0]))}, which is not a class; labels "
                    f"are text of up to {MAX_LABEL_LENGTH:,} characters, whole numbers or truth "
                    f"values, and unlabeled is {self.rule.description}"
                )
                raise TableError(msg)
        return [*map(self._label_of, values), None], codes

    def _label_of(self, value: Any) -> Label | None:
        label: Label | float | Decimal | None = self.rule.label_of(value)
        return int(label) if isinstance(label, float | Decimal) else label


def find_classes(run: Run, source: Source, label: LabelColumn) -> tuple[AnyArray, IntArray]:
    """Return the sorted classes, and the number of labels of each class in each row range.

    Only the column of labels is read.

    Raises
    ------
    TableError
        If there are no labels, a single class, or labels of different types.

    Returns
    -------
    classes : array of shape (c,)
        Text, int64 or bool.
    counts : array of shape (n_ranges, c)
    """
    results = run.stage(STAGE, _count_labels, source.row_ranges, label)
    values = [result["values"] for result in results]
    first = next((i for i, labels in enumerate(values) if len(labels)), None)
    if first is None:
        msg = (
            f"label {label.name!r} has no labels: all {source.n_rows:,} rows are unlabeled "
            f"({label.rule.description}); label a few rows"
        )
        raise TableError(msg)
    for i, labels in enumerate(values):
        if len(labels) and labels.dtype.kind != values[first].dtype.kind:
            msg = (
                f"label {label.name!r} has {_example(values[first])} in "
                f"{source.row_ranges[first].url}, but {_example(labels)} in "
                f"{source.row_ranges[i].url}; write all labels with the same type"
            )
            raise TableError(msg)
    classes = np.unique(np.concatenate([labels for labels in values if len(labels)]))
    if len(classes) < 2:
        msg = (
            f"all labels of {label.name!r} are {classes.tolist()[0]!r}; label rows of at least two "
            "classes"
        )
        raise TableError(msg)
    counts = np.zeros((len(results), len(classes)), dtype=np.int64)
    for row, result in zip(counts, results, strict=True):
        if len(result["values"]):
            row[np.searchsorted(classes, result["values"])] = result["counts"]
    return classes, counts


def class_codes(values: Sequence[Label | None], classes: AnyArray) -> IntArray:
    """Return the index of each label in the sorted classes, -1 for None.

    Examples
    --------
    >>> class_codes(["dog", None, "cat"], np.array(["cat", "dog"])).tolist()
    [1, -1, 0]
    """
    code_of = {value: i for i, value in enumerate(classes.tolist())}
    codes = [UNLABELED if value is None else code_of[value] for value in values]
    return np.array(codes, dtype=np.int32)


def _count_labels(
    folder: Folder,  # noqa: ARG001 - the task writes nothing
    number: int,  # noqa: ARG001
    row_range: RowRange,
    label: LabelColumn,
) -> dict[str, AnyArray]:
    counts: Counter[Label] = Counter()
    first = 0
    for batch in read_batches(row_range, [label.name]):
        values, codes = label.encode(batch.column(0), row_range, first)
        numbers = np.bincount(codes, minlength=len(values)).tolist()
        for value, count in zip(values, numbers, strict=True):
            if value is not None:
                counts[value] += count
        _check_class_count(len(counts), label.name, row_range)
        first += batch.num_rows
    return {"values": np.array(list(counts)), "counts": np.array(list(counts.values()), np.int64)}


def _check_class_count(n_values: int, label: str, row_range: RowRange) -> None:
    if n_values > MAX_CLASSES:
        msg = (
            f"label {label!r} has more than {MAX_CLASSES:,} different values in {row_range.url}, "
            "so that it cannot be a column of classes; pass another `label`"
        )
        raise TableError(msg)


def _is_class(value: Any) -> bool:
    """Tell whether a value can be a class, or can mean unlabeled."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, str):
        # NumPy drops NULs at the end of text, so that two classes could become one.
        return len(value) <= MAX_LABEL_LENGTH and not value.endswith("\0")
    if not isinstance(value, int | float | Decimal):
        return False
    if math.isnan(value):
        return True
    return math.isfinite(value) and value == int(value) and -(2**63) <= value < 2**63


def _example(values: AnyArray) -> str:
    return f"{_KINDS[values.dtype.kind]} such as {values.tolist()[0]!r}"
