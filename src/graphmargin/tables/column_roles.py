"""Roles of columns: numbers, categories, dates, text, vectors, or left out."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from graphmargin._typing import FloatArray
from graphmargin.tables.column_names import ID_NOTE, Role
from graphmargin.tables.column_parsing import (
    INTEGER_PATTERN,
    MIN_MAGNITUDE,
    NumberFormat,
    is_date_type,
    is_number_type,
    parse_dates,
    parse_numbers,
    parse_texts,
    parse_vectors,
    with_natural_dtype,
)
from graphmargin.tables.invalid_cells import InvalidCells, invalid_cells
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.text_formats import (
    TextDates,
    TextNumbers,
    find_dates,
    find_numbers,
)

MAX_CATEGORIES = 40
"""Largest number of values of a category that have a feature each."""
_ID_NAME = re.compile(
    r"(?:^|[_\W])(?:id|uuid|guid|key|index|idx)(?:$|[_\W])|[a-z](?:Id|ID)$|^column 1$|^unnamed",
    flags=re.ASCII,
)


@dataclass(frozen=True)
class ColumnReading:
    """The role of a column, and its parsed values.

    Attributes
    ----------
    role : Role
    values : array or Series
        Numbers with NaN, a matrix whose missing rows are NaN, dates, or text. None if left out.
    note : str
        Why it is left out, or how its text was parsed.
    number_format, date_format : str or None
        Format of numbers or dates that are text.
    invalid : InvalidCells or None
        Cells that are neither numbers nor dates where nearly all others are; they are missing.
    """

    role: Role
    values: Any = None
    note: str = ""
    number_format: NumberFormat | None = None
    date_format: str | None = None
    invalid: InvalidCells | None = None

    @property
    def n_missing(self) -> int:
        """Number of empty cells."""
        missing = np.asarray(pd.isna(self.values))
        n = int((missing if missing.ndim == 1 else missing.all(axis=1)).sum())
        return n if self.invalid is None else n - self.invalid.n_cells


def read_column(column: pd.Series, *, keep: bool = False, category: bool = False) -> ColumnReading:
    """Return the role of a column, and its values.

    Constants, columns without values and IDs are left out. IDs are integers that all differ and
    are consecutive or have a name like that of an ID, and single words that all differ. With
    `keep`, a column that looks like an ID is used.

    If nearly all cells of a text column are numbers, or dates, the column has that role, and the
    other cells are missing. With `category`, the column is a category whatever its cells are, and
    so is a column of numbers that has pandas' type for categories. Texts of this type are never
    read as numbers or dates.

    Raises
    ------
    TableError
        If a column with `category` has lists or other objects.

    Examples
    --------
    >>> read_column(pd.Series(["red", "blue", "red"], name="color")).role
    'category'
    >>> read_column(pd.Series([17, 4, 9], name="user_id")).note
    'an ID: all values differ'
    >>> read_column(pd.Series([17, 4, 9], name="user_id"), keep=True).role
    'number'
    >>> read_column(pd.Series([1, 4, 4], name="cylinders"), category=True).role
    'category'
    >>> ages = pd.Series([*["31", "47", "52"] * 10, "oops"], name="age")
    >>> read_column(ages).role, read_column(ages).invalid.rows
    ('number', (31,))
    """
    is_categorical = isinstance(column.dtype, pd.CategoricalDtype)
    if is_categorical:
        category |= not pd.api.types.is_string_dtype(column.cat.categories.dtype)
    column = with_natural_dtype(column)
    if column.isna().all():
        return _left_out("no values")
    if category:
        return _read_category(column)
    if is_number_type(column):
        is_bool = pd.api.types.is_bool_dtype(column.dtype)
        values, _ = parse_numbers(column)
        return _read_numbers(column, values, "boolean" if is_bool else "plain", keep=keep)
    if is_date_type(column):
        values, bad = parse_dates(column, None)
        if bad.any():
            return _left_out("dates out of range")
        return _read_dates(column, TextDates(None, values, bad))
    first = column.dropna().iloc[0]
    if isinstance(first, list | tuple | np.ndarray):
        return _read_vectors(column)
    cells, bad = parse_texts(column)
    if bad.any():
        kind = type(column[bad].iloc[0]).__name__
        return _left_out(f"cells of type {kind} cannot be used")
    if cells.isna().all():
        return _left_out("no values")
    cells.attrs = column.attrs
    return _read_words(cells, "", keep=keep) if is_categorical else _read_texts(cells, keep=keep)


def _left_out(note: str) -> ColumnReading:
    return ColumnReading("left out", note=note)


def _read_category(column: pd.Series) -> ColumnReading:
    """Return the reading of a column that the user calls a category."""
    cells, bad = parse_texts(column)
    if bad.any():
        kind = type(column[bad].iloc[0]).__name__
        msg = (
            f"`category`: column {column.name!r} has cells of type {kind}, which cannot be "
            "categories; name another column"
        )
        raise TableError(msg)
    if cells.nunique(dropna=False) == 1:
        return _left_out("no values" if cells.isna().all() else "constant")
    return ColumnReading("category", cells)


def _read_numbers(
    column: pd.Series, values: FloatArray, number_format: NumberFormat, *, keep: bool
) -> ColumnReading:
    values = np.where(np.abs(values) < MIN_MAGNITUDE, 0.0, values)
    present = values[~np.isnan(values)]
    if not present.size:
        return _left_out("no values")
    if present.size == values.size:
        if (present == present[0]).all():
            return _left_out("constant")
        if not keep and _is_id(column, values):
            return _left_out(ID_NOTE)
    is_notable = number_format not in ("plain", "boolean")
    return ColumnReading("number", values, number_format if is_notable else "", number_format)


def _is_id(column: pd.Series, values: FloatArray) -> bool:
    """Return whether the values are distinct integers that are consecutive or named like IDs."""
    is_consecutive = values.max() - values.min() == len(values) - 1
    if not (is_consecutive or _is_id_name(column.name)) or not column.is_unique:
        return False
    if is_number_type(column):
        return bool(pd.api.types.is_integer_dtype(column.dtype))
    return bool(column.str.contains(INTEGER_PATTERN).all())


def _is_id_name(name: object) -> bool:
    text = str(name)
    return bool(_ID_NAME.search(text) or _ID_NAME.search(text.lower()))


def _read_dates(column: pd.Series, dates: TextDates) -> ColumnReading:
    if not dates.bad.any() and dates.values.nunique(dropna=False) == 1:
        return _left_out("constant")
    return ColumnReading(
        "date",
        dates.values,
        date_format=dates.date_format,
        invalid=invalid_cells(column, dates.bad),
    )


def _read_vectors(column: pd.Series) -> ColumnReading:
    values, bad = parse_vectors(column)
    present = values[~np.isnan(values).all(axis=1)]
    if bad.any() or not len(present):
        return _left_out("the lists are not finite numbers of the same length")
    if (present == present[0]).all():
        return _left_out("constant")
    return ColumnReading("embedding", values)


def _read_texts(cells: pd.Series, *, keep: bool) -> ColumnReading:
    numbers = find_numbers(cells)
    if numbers is not None and not numbers.bad.any():
        return _read_numbers(cells, numbers.values, numbers.number_format, keep=keep)
    if cells.dropna().str.startswith("[").all() and not parse_vectors(cells)[1].any():
        return _read_vectors(cells)
    dates = find_dates(cells)
    if dates is not None and not dates.bad.any():
        return _read_dates(cells, dates)
    if numbers is not None:
        if numbers.code:
            return _read_words(cells, f"codes such as {numbers.code!r}", keep=keep)
        if _has_nearly_numbers(cells, numbers, keep=keep):
            reading = _read_numbers(cells, numbers.values, numbers.number_format, keep=keep)
            return replace(reading, invalid=invalid_cells(cells, numbers.bad))
    elif dates is not None and dates.values.nunique() > 1:
        return _read_dates(cells, dates)
    return _read_words(cells, "", keep=keep)


def _has_nearly_numbers(cells: pd.Series, numbers: TextNumbers, *, keep: bool) -> bool:
    """Return whether numbers beside invalid cells are a feature: neither an ID, nor all equal."""
    span = np.nanmax(numbers.values) - np.nanmin(numbers.values)
    is_whole = cells[~numbers.bad].dropna().str.contains(INTEGER_PATTERN).all()
    is_id = is_whole and cells.is_unique and (span < len(cells) or _is_id_name(cells.name))
    return bool(span != 0 and (keep or not is_id))


def _read_words(cells: pd.Series, note: str, *, keep: bool) -> ColumnReading:
    """Return the reading of a column of neither numbers nor dates; `note` is that of a category."""
    n_distinct = cells.nunique()
    n_missing = int(cells.isna().sum())
    if n_distinct == 1 and not n_missing:
        return _left_out("constant")
    has_words = cells.str.contains(r"\s").mean() > 0.5
    all_differ = n_distinct == len(cells) - n_missing
    if all_differ and not keep and (not has_words or _is_id_name(cells.name)):
        return _left_out(ID_NOTE)
    if has_words and n_distinct > min(MAX_CATEGORIES, len(cells) / 2):
        return ColumnReading("text", cells)
    return ColumnReading("category", cells, note)
