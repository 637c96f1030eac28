"""Columns from cells that are Python objects, as JSON and Excel have them."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import pandas as pd

Kinds: TypeAlias = frozenset[str]

_BIG = 2**63


def kinds_of(cells: Iterable[object]) -> Kinds:
    """Return what the cells of a column are: their type decides, missing ones have no say.

    Kinds of chunks of a column are united before `column_of` is called, so that all chunks get
    the type of the whole column.

    Examples
    --------
    >>> sorted(kinds_of([1, None, 2.5]))
    ['integer', 'number']
    """
    return frozenset(_kind(cell) for cell in cells if not _is_missing(cell))


def column_of(cells: Sequence[object], kinds: Kinds) -> pd.Series:
    """Return a typed column.

    Whole numbers, truth values and dates keep their type beside missing cells. Lists of numbers
    become arrays. Numbers beside text are text, as in a CSV file.

    Examples
    --------
    >>> column_of([1, None], frozenset({"integer"})).dtype
    Int64Dtype()
    >>> column_of([1, "a"], frozenset({"integer", "text"})).tolist()
    ['1', 'a']
    """
    values = [None if _is_missing(cell) else cell for cell in cells]
    if kinds <= {"text"}:
        return pd.Series(values, dtype="str")
    if kinds == {"truth"}:
        return pd.Series(values, dtype="boolean")
    if kinds == {"integer"}:
        return pd.Series(values, dtype="Int64")
    if kinds <= {"integer", "number", "large integer"} and "number" in kinds:
        return pd.Series(values, dtype="float64")
    if kinds == {"date"}:
        return pd.Series(values, dtype="datetime64[us]")
    if "list" in kinds or "other" in kinds:
        return pd.Series([_array(value) for value in values], dtype=object)
    return pd.Series([None if value is None else str(value) for value in values], dtype="str")


def _is_missing(cell: object) -> bool:
    return cell is None or (isinstance(cell, float) and np.isnan(cell))


def _kind(cell: object) -> str:
    if isinstance(cell, bool):
        return "truth"
    if isinstance(cell, int):
        return "integer" if -_BIG <= cell < _BIG else "large integer"
    if isinstance(cell, float):
        return "number"
    if isinstance(cell, str):
        return "text"
    if isinstance(cell, datetime.date):
        return "date"
    return "list" if isinstance(cell, list) else "other"


def _array(cell: object) -> object:
    """Return a list of numbers as an array, everything else as it is."""
    if not isinstance(cell, list):
        return cell
    if not kinds_of(cell) <= {"integer", "number"}:
        return cell
    return np.array([np.nan if item is None else item for item in cell], dtype=float)
