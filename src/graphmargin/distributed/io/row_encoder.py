"""Encoders of rows: which columns of a table are features, and how they become numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from graphmargin._typing import FloatArray
from graphmargin.distributed.io.parquet_files import check_columns, plain_schema
from graphmargin.tables.column_names import format_names
from graphmargin.tables.reading import to_frame
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures


@dataclass(frozen=True)
class NumberColumns:
    """An encoder that takes columns of numbers as they are.

    Examples
    --------
    >>> encoder = NumberColumns(("x", "y"), np.dtype(np.float64))
    >>> encoder.transform(pa.table({"x": [1, 2], "y": [True, None]})).tolist()
    [[1.0, 1.0], [2.0, nan]]
    """

    columns: tuple[str, ...]
    dtype: np.dtype[Any]

    @property
    def n_features(self) -> int:
        """Number of features: one for each column."""
        return len(self.columns)

    def transform(self, table: pa.Table, first_row: int = 0) -> FloatArray:  # noqa: ARG002 - as `EncodedColumns`
        """Return the columns as an array, NaN where they are missing."""
        X = np.empty((table.num_rows, len(self.columns)), self.dtype)
        kind = pa.from_numpy_dtype(self.dtype)
        for i, name in enumerate(self.columns):
            column = table.column(name)
            _check_numbers(name, column.type)
            X[:, i] = column.cast(kind).to_numpy()
        return X


@dataclass(frozen=True)
class EncodedColumns:
    """An encoder of columns of any kind, which was learned from a sample of the table.

    Examples
    --------
    >>> from graphmargin.tables.table_features import fit_features
    >>> table = pa.table({"color": ["red", "blue", "red", "red"], "where": ["here"] * 4})
    >>> encoder = EncodedColumns(fit_features(to_frame(table)))
    >>> encoder.columns, encoder.transform(table).shape
    (('color',), (4, 2))
    """

    features: TableFeatures

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns that are of use."""
        return tuple(use.name for use in self.features.columns if use.n_features)

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the encoded rows."""
        return np.dtype(np.float64)

    @property
    def n_features(self) -> int:
        """Number of features of an encoded row."""
        return self.features.n_features

    def transform(self, table: pa.Table, first_row: int = 0) -> FloatArray:
        """Return the features of every row; messages count rows from `first_row`."""
        frame = to_frame(table)
        frame.index = range(first_row, first_row + len(frame))
        return self.features.transform(frame)


RowEncoder: TypeAlias = NumberColumns | EncodedColumns
"""Turns rows of a table into arrays of numbers; small enough to be sent to workers."""


def choose_encoder(
    schema: pa.Schema,
    features: Sequence[str] | TableFeatures | None,
    *,
    label: str,
    id: str | None,
    where: str,
) -> RowEncoder:
    """Return the encoder of the features that a user wants, after a check that the table has them.

    Parameters
    ----------
    schema : Schema
        Columns of the table.
    features : sequence of str, TableFeatures or None
        Columns of numbers, which are taken as they are; or fitted features of columns of any
        kind. None is all columns of numbers but `label` and `id`.
    label : str
    id : str or None
    where : str
        Name of the table in messages.

    Raises
    ------
    TableError
        If a column is missing, is named twice, or has no numbers, or the columns cannot be what
        they should be.

    Examples
    --------
    >>> schema = pa.schema({"x": pa.float32(), "result": pa.string(), "y": pa.int64()})
    >>> choose_encoder(schema, None, label="y", id=None, where="a.parquet")
    NumberColumns(columns=('x',), dtype=dtype('float32'))
    """
    check_columns(schema, [label, *([] if id is None else [id])], where)
    schema = plain_schema(schema)
    if id is not None and pa.types.is_nested(schema.field(id).type):
        msg = f"`id` {id!r} is {schema.field(id).type} in {where}; name a column of plain values"
        raise TableError(msg)
    chosen: RowEncoder
    if isinstance(features, TableFeatures):
        chosen = EncodedColumns(features)
    else:
        chosen = _numbers(schema, features, {label, id}, where)
    check_columns(schema, chosen.columns, where)
    for role, name in (("label", label), ("id", id)):
        if name in chosen.columns:
            msg = f"`features` has {name!r}, which is `{role}`; leave it out of the features"
            raise TableError(msg)
    return chosen


def _numbers(
    schema: pa.Schema, features: Sequence[str] | None, others: set[str | None], where: str
) -> NumberColumns:
    if features is None:
        names = [f.name for f in schema if _is_number(f.type) and f.name not in others]
        if not names:
            has = format_names(schema.names)
            msg = f"{where} has no column of numbers for features; it has: {has}"
            raise TableError(msg)
    else:
        names = _listed_once(features)
    check_columns(schema, names, where)
    for name in names:
        if name not in others:
            _check_numbers(name, schema.field(name).type, f" in {where}")
    kinds = {schema.field(name).type for name in names}
    is_single = kinds <= {pa.float32(), pa.float16()}
    return NumberColumns(tuple(names), np.dtype(np.float32 if is_single else np.float64))


def _listed_once(features: Sequence[str]) -> list[str]:
    if isinstance(features, str):
        msg = f"`features` must be a list of names, got {features!r}; write [{features!r}]"
        raise TableError(msg)
    if not isinstance(features, Iterable):
        msg = f"`features` must be a list of names, got {features!r}"
        raise TableError(msg)
    names = list(features)
    if not names:
        msg = "`features` names no column; name some, or pass None for all columns of numbers"
        raise TableError(msg)
    twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if twice is not None:
        msg = f"`features` has {twice!r} twice; name it once"
        raise TableError(msg)
    return names


def _check_numbers(name: str, kind: pa.DataType, where: str = "") -> None:
    if not _is_number(kind):
        msg = f"feature {name!r} is {kind}{where}, not numbers; {_way_out(kind)}"
        raise TableError(msg)


def _is_number(kind: pa.DataType) -> bool:
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean
    return any(test(kind) for test in tests)


def _way_out(kind: pa.DataType) -> str:
    if pa.types.is_temporal(kind):
        return "write the time as a number, such as days since a date, or leave the column out"
    return "encode it as numbers, such as one column for each category, or leave it out"
