"""What a column of a table is: numbers, a category, a date, text, a vector, or of no use."""

from __future__ import annotations

import re
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from pandas.tseries.api import guess_datetime_format

from graphmargin.tables.columns import AN_ID, Role
from graphmargin.tables.meanings import (
    dates,
    is_date_type,
    is_number_type,
    numbers,
    plain,
    texts,
    vectors,
)

if TYPE_CHECKING:
    from graphmargin._typing import FloatArray

MAX_CATEGORIES = 40
DATE_SAMPLE = 1000
"""Cells whose format is guessed."""

_ID_NAME = re.compile(
    r"(?:^|[_\W])(?:id|uuid|guid|key|index|idx)(?:$|[_\W])|[a-z](?:Id|ID)$|^column 1$|^unnamed",
    flags=re.ASCII,
)


@dataclass(frozen=True)
class ColumnReading:
    """A column, read as what it is.

    Attributes
    ----------
    role : Role
    values : array or Series
        Numbers with NaN, a matrix whose missing rows are NaN, dates, or text. None if left out.
    note : str
        Why it is left out.
    layout : str or None
        Format of dates that are text.
    """

    role: Role
    values: Any = None
    note: str = ""
    layout: str | None = None


def read_column(column: pd.Series) -> ColumnReading:
    """Return what a column is, with its values.

    Of no use are constants, columns without values, and IDs: whole numbers that all differ and
    are consecutive or have a name like that of an ID, and single words that all differ.

    Examples
    --------
    >>> read_column(pd.Series(["red", "blue", "red"], name="color")).role
    'category'
    >>> read_column(pd.Series([17, 4, 9], name="user_id")).note
    'an ID: all values differ'
    """
    column = plain(column)
    if column.isna().all():
        return _left_out("no values")
    if is_number_type(column):
        return _number(column)
    if is_date_type(column):
        return _date(column, None)
    first = column.dropna().iloc[0]
    if isinstance(first, list | tuple | np.ndarray):
        return _embedding(column)
    cells, bad = texts(column)
    if bad.any():
        kind = type(column[bad].iloc[0]).__name__
        return _left_out(f"not understood: cells of type {kind}")
    if cells.isna().all():
        return _left_out("no values")
    return _text(cells)


def _left_out(note: str) -> ColumnReading:
    return ColumnReading("left out", note=note)


def _number(column: pd.Series) -> ColumnReading:
    values, _ = numbers(column)
    present = values[~np.isnan(values)]
    if not present.size:
        return _left_out("no values")
    if present.size == values.size:
        if (present == present[0]).all():
            return _left_out("constant")
        if pd.api.types.is_integer_dtype(column.dtype) and _is_id(column):
            return _left_out(AN_ID)
    return ColumnReading("number", values)


def _is_id(column: pd.Series) -> bool:
    """Whether whole numbers all differ, and are consecutive or are called an ID."""
    is_consecutive = int(column.max()) - int(column.min()) == len(column) - 1
    return bool((is_consecutive or _is_id_name(column.name)) and column.is_unique)


def _is_id_name(name: object) -> bool:
    text = str(name)
    return bool(_ID_NAME.search(text) or _ID_NAME.search(text.lower()))


def _date(column: pd.Series, layout: str | None) -> ColumnReading:
    values, bad = dates(column, layout)
    if bad.any():
        return _left_out("dates out of range")
    if values.nunique(dropna=False) == 1:
        return _left_out("constant")
    return ColumnReading("date", values, layout=layout)


def _embedding(column: pd.Series) -> ColumnReading:
    values, bad = vectors(column)
    present = values[~np.isnan(values).all(axis=1)]
    if bad.any() or not len(present):
        return _left_out("not understood: not lists of finite numbers of the same length")
    if (present == present[0]).all():
        return _left_out("constant")
    return ColumnReading("embedding", values)


def _text(cells: pd.Series) -> ColumnReading:
    values, bad = numbers(cells)
    if not bad.any() and not np.isnan(values).all():
        return _number(_whole_if_possible(values, cells))
    if cells.dropna().str.startswith("[").all() and not vectors(cells)[1].any():
        return _embedding(cells)
    if (layout := _layout(cells)) is not None:
        return _date(cells, layout)
    n_distinct = cells.nunique()
    n_missing = int(cells.isna().sum())
    if n_distinct == 1 and not n_missing:
        return _left_out("constant")
    has_words = cells.str.contains(r"\s").mean() > 0.5
    if n_distinct == len(cells) - n_missing and (not has_words or _is_id_name(cells.name)):
        return _left_out(AN_ID)
    if has_words and n_distinct > min(MAX_CATEGORIES, len(cells) / 2):
        return ColumnReading("text", cells)
    return ColumnReading("category", cells)


def _whole_if_possible(values: FloatArray, cells: pd.Series) -> pd.Series:
    """Return numbers as integers where they are, since only these can be IDs."""
    is_whole = np.isfinite(values).all() and (values == np.round(values)).all()
    is_exact = is_whole and np.abs(values).max() < 2**53
    return pd.Series(values.astype(int) if is_exact else values, name=cells.name)


def _layout(cells: pd.Series) -> str | None:
    """Return the format of dates, month first if both orders fit; None if they are not dates."""
    given = cells.dropna()
    sample = given.sample(min(DATE_SAMPLE, len(given)), random_state=0)
    for day_first in (False, True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that a cell fits one order alone
            layouts = {guess_datetime_format(cell, dayfirst=day_first) for cell in sample}
        layout = layouts.pop() if len(layouts) == 1 else None
        if isinstance(layout, str) and not dates(cells, layout)[1].any():
            return layout
    return None
