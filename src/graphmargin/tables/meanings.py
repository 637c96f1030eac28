"""Columns read as numbers, dates, text or vectors, whatever type they have.

Each function returns the values and a mask of cells that have another meaning; missing cells are
never among these. The same functions decide what a column is and read it again in new tables.
"""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pandas.api import types

from graphmargin._typing import BoolArray, FloatArray
from graphmargin.tables.cells import numbers_in

LARGEST = 1e100
"""Numbers beyond it count as infinite: their squares would be."""


def plain(column: pd.Series) -> pd.Series:
    """Return a column whose type says what its cells are, where there is such a type.

    Examples
    --------
    >>> plain(pd.Series([True, None], dtype=object)).dtype
    BooleanDtype
    """
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(column.cat.categories.dtype)
    if isinstance(column.dtype, pd.ArrowDtype):
        column = column.astype(object)
    if column.dtype == object:
        column = column.convert_dtypes()
    return column


def is_number_type(column: pd.Series) -> bool:
    """Whether the type of the column is numbers, truth values or durations.

    Examples
    --------
    >>> is_number_type(pd.Series([True])), is_number_type(pd.Series(["1"]))
    (True, False)
    """
    dtype = column.dtype
    return (
        types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)
    ) or types.is_timedelta64_dtype(dtype)


def is_date_type(column: pd.Series) -> bool:
    """Whether the cells of the column are dates, or dates with a time of day.

    Examples
    --------
    >>> is_date_type(pd.Series([datetime.date(2024, 5, 1)]))
    True
    """
    if column.dtype == object:
        return all(isinstance(cell, datetime.date) for cell in column.dropna())
    return bool(types.is_datetime64_any_dtype(column.dtype))


def numbers(column: pd.Series) -> tuple[FloatArray, BoolArray]:
    """Return a column as numbers, NaN where missing.

    Examples
    --------
    >>> numbers(pd.Series(["1.5", "x", None]))
    (array([1.5, nan, nan]), array([False,  True, False]))
    """
    column = plain(column)
    if types.is_timedelta64_dtype(column.dtype):
        return column.dt.total_seconds().to_numpy(dtype=float), np.zeros(len(column), bool)
    if is_number_type(column):
        return column.to_numpy(dtype=float, na_value=np.nan), np.zeros(len(column), bool)
    if is_date_type(column):
        return np.full(len(column), np.nan), column.notna().to_numpy()
    cells, bad = texts(column)
    values, unread = numbers_in(pa.array(cells, type=pa.string(), from_pandas=True))
    return (
        values.to_numpy(zero_copy_only=False).astype(float),
        bad | unread.to_numpy(zero_copy_only=False),
    )


def texts(column: pd.Series) -> tuple[pd.Series, BoolArray]:
    """Return a column as text without blanks at its ends; blank cells are missing.

    Examples
    --------
    >>> texts(pd.Series([" a", "", 3, [1]]))[0].tolist()
    ['a', nan, '3', nan]
    """
    column = plain(column)
    bad = np.zeros(len(column), bool)
    if not types.is_string_dtype(column.dtype) or column.dtype == object:
        if column.dtype == object or types.is_complex_dtype(column.dtype):
            bad = column.notna().to_numpy() & ~column.map(_is_scalar).to_numpy(dtype=bool)
            column = column.mask(bad)
        column = column.astype(object).map(str, na_action="ignore")
    stripped = column.astype("str").str.strip()
    return stripped.mask(stripped == ""), bad


def dates(column: pd.Series, layout: str | None) -> tuple[pd.Series, BoolArray]:
    """Return a column as dates without a time zone (UTC), NaT where missing.

    Parameters
    ----------
    column : Series
    layout : str or None
        Format of text in the manner of `strptime`; None is ISO 8601.

    Examples
    --------
    >>> values, bad = dates(pd.Series(["13.2.2024", "x"]), "%d.%m.%Y")
    >>> values[0].date().isoformat(), bad.tolist()
    ('2024-02-13', [False, True])
    """
    column = plain(column)
    if is_number_type(column):
        return pd.Series(
            pd.NaT, index=column.index, dtype="datetime64[us]"
        ), column.notna().to_numpy()
    if is_date_type(column):
        cells, bad = column, np.zeros(len(column), bool)
        values = pd.to_datetime(column, errors="coerce", utc=True)
    else:
        cells, bad = texts(column)
        # pandas takes "today" for a date.
        dated = cells.where(cells.str.contains(r"\d"))
        values = pd.to_datetime(dated, format=layout or "ISO8601", errors="coerce", utc=True)
    # Microseconds reach all years from 1 to 9999, nanoseconds only 1677 to 2262.
    values = values.dt.tz_localize(None).dt.as_unit("us")
    return values, bad | (values.isna() & cells.notna()).to_numpy()


def vectors(column: pd.Series, width: int | None = None) -> tuple[FloatArray, BoolArray]:
    """Return a column of lists as a matrix; rows of missing cells, and only they, are NaN.

    Parameters
    ----------
    column : Series
        Of lists, arrays, or text with JSON lists.
    width : int or None
        Numbers in each list; None is that of the first one.

    Examples
    --------
    >>> vectors(pd.Series([[1, 2], None, "[3, 4]", [5]], dtype=object))[0].tolist()
    [[1.0, 2.0], [nan, nan], [3.0, 4.0], [nan, nan]]
    """
    present = np.flatnonzero(column.notna())
    rows = [_vector(cell) for cell in column.iloc[present]]
    if width is None:
        width = next((len(row) for row in rows if row is not None), 0)
    fits = np.array([row is not None and len(row) == width for row in rows], dtype=bool)
    values = np.full((len(column), width), np.nan)
    if fits.any():
        values[present[fits]] = np.stack(
            [row for row, fit in zip(rows, fits, strict=True) if row is not None and fit]
        )
    bad = np.zeros(len(column), bool)
    bad[present[~fits]] = True
    is_missing = np.isnan(values).all(axis=1)
    return values, bad | (~(np.abs(values) <= LARGEST).all(axis=1) & ~is_missing)


def _is_scalar(cell: object) -> bool:
    return pd.api.types.is_scalar(cell) and not isinstance(cell, bytes | complex)


def _vector(cell: Any) -> FloatArray | None:
    """Return the numbers of a list; None if it is none."""
    if isinstance(cell, str):
        if not cell.lstrip().startswith("["):
            return None
        try:
            cell = json.loads(cell)
        except (ValueError, RecursionError):
            return None
    if not isinstance(cell, list | tuple | np.ndarray):
        return None
    try:
        row = np.asarray(cell, dtype=float)
    except (ValueError, TypeError):
        return None
    return row if row.ndim == 1 and len(row) else None
