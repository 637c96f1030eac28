"""Encoders of the rows of a table as arrays of numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from graphmargin._typing import FloatArray
from graphmargin.distributed.io.parquet_files import check_columns, decoded_schema
from graphmargin.tables.column_names import format_names
from graphmargin.tables.invalid_cells import InvalidCells
from graphmargin.tables.reading import to_frame
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures


@dataclass(frozen=True)
class NumberColumns:
    """An encoder that returns columns of numbers as they are.

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
        """Return the columns as an array, with NaN for missing values."""
        X = np.empty((table.num_rows, len(self.columns)), self.dtype)
        kind = pa.from_numpy_dtype(self.dtype)
        for i, name in enumerate(self.columns):
            column = table.column(name)
            _check_numbers(name, column.type)
            X[:, i] = column.cast(kind).to_numpy()
        return X


@dataclass(frozen=True)
class EncodedColumns:
    """An encoder of columns of any kind, which was fitted on a sample of the table.

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
        """Names of the columns that become features."""
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
        return self.transform_with_invalid_cells(table, first_row)[0]

    def transform_with_invalid_cells(
        self, table: pa.Table, first_row: int
    ) -> tuple[FloatArray, dict[str, InvalidCells]]:
        """Return the result of `transform`, and the cells that it takes as missing, by column."""
        frame = to_frame(table)
        frame.index = range(first_row, first_row + len(frame))
        return self.features.transform_with_invalid_cells(frame)


RowEncoder: TypeAlias = NumberColumns | EncodedColumns
"""An encoder of rows as arrays of numbers, which is sent to workers."""


def choose_encoder(
    schema: pa.Schema,
    features: Sequence[str] | TableFeatures | None,
    *,
    label: str,
    id: str | None,
    where: str,
) -> RowEncoder:
    """Return the encoder of the features of a fit, after a check that the table has them.

    Parameters
    ----------
    schema : Schema
        Columns of the table.
    features : sequence of str, TableFeatures or None
        Columns of numbers, which are taken as they are; or fitted features of columns of any
        kind. None is all columns of numbers except for `label` and `id`.
    label : str
    id : str or None
    where : str
        Name of the table in messages.

    Raises
    ------
    TableError
        If a column is missing, is listed twice, does not have numbers, or is `label` or `id`.

    Examples
    --------
    >>> schema = pa.schema({"x": pa.float32(), "result": pa.string(), "y": pa.int64()})
    >>> choose_encoder(schema, None, label="y", id=None, where="a.parquet")
    NumberColumns(columns=('x',), dtype=dtype('float32'))
    """
    check_columns(schema, [label, *([] if id is None else [id])], where)
    schema = decoded_schema(schema)
    if id is not None and pa.types.is_nested(schema.field(id).type):
        msg = f"`id` {id!r} is {schema.field(id).type} in {where}; pass a column of simple values"
        raise TableError(msg)
    encoder: RowEncoder
    if isinstance(features, TableFeatures):
        encoder = EncodedColumns(features)
    else:
        encoder = _number_columns(schema, features, {label, id}, where)
    check_columns(schema, encoder.columns, where)
    for role, name in (("label", label), ("id", id)):
        if name in encoder.columns:
            msg = f"`features` has {name!r}, which is `{role}`; leave it out of the features"
            raise TableError(msg)
    return encoder


def _number_columns(
    schema: pa.Schema, features: Sequence[str] | None, others: set[str | None], where: str
) -> NumberColumns:
    """Return the encoder of some columns of numbers, or of all of them except for `others`."""
    if features is None:
        names = [f.name for f in schema if _is_number(f.type) and f.name not in others]
        if not names:
            has = format_names(schema.names)
            msg = f"{where} has no column of numbers for features; it has: {has}"
            raise TableError(msg)
    else:
        names = _checked_names(features)
    check_columns(schema, names, where)
    for name in names:
        if name not in others:
            _check_numbers(name, schema.field(name).type, f" in {where}")
    kinds = {schema.field(name).type for name in names}
    is_single = kinds <= {pa.float32(), pa.float16()}
    return NumberColumns(tuple(names), np.dtype(np.float32 if is_single else np.float64))


def _checked_names(features: Sequence[str]) -> list[str]:
    """Return the names of the columns as a list, which has at least one and each of them once."""
    if isinstance(features, str) or not isinstance(features, Iterable):
        hint = f"; pass [{features!r}]" if isinstance(features, str) else ""
        msg = f"`features` must be a list of names, got {features!r}{hint}"
        raise TableError(msg)
    names = list(features)
    if not names:
        msg = "`features` is empty; pass some columns, or None for all columns of numbers"
        raise TableError(msg)
    duplicate = next((name for i, name in enumerate(names) if name in names[:i]), None)
    if duplicate is not None:
        msg = f"`features` has {duplicate!r} twice; pass each column once"
        raise TableError(msg)
    return names


def _check_numbers(name: str, kind: pa.DataType, where: str = "") -> None:
    if not _is_number(kind):
        msg = f"feature {name!r} is {kind}{where}, and not a number; {_encoding_hint(kind)}"
        raise TableError(msg)


def _is_number(kind: pa.DataType) -> bool:
    tests = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean
    return any(test(kind) for test in tests)


def _encoding_hint(kind: pa.DataType) -> str:
    if pa.types.is_temporal(kind):
        return "convert it to a number, such as days since a date, or leave it out"
    return "encode it as numbers, such as one column for each category, or leave it out"
