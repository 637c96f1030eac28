"""Checks that the format of a file can store a table, before the table is written."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from graphmargin.tables.cell_values import nested_as_json, python_cells
from graphmargin.tables.file_formats import Format, format_of
from graphmargin.tables.table_errors import TableError

EXCEL_ROWS, EXCEL_COLUMNS = 1_048_576, 16_384
"""Size of a sheet of Excel, with the header."""
EXCEL_CHARACTERS = 32_767
"""Largest length of a text in a cell of Excel."""
_BAD_CHARACTERS: dict[Format, str] = {
    "csv": r"\x00",
    "tsv": r"\x00",
    # XML has no other control characters, and its readers replace a carriage return by a line feed.
    "excel": r"[\x00-\x08\x0b-\x1f\x{fffe}\x{ffff}]",
}
_NAMES: dict[Format, str] = {"csv": "CSV", "tsv": "TSV", "excel": "Excel"}
_WRITE_PARQUET = "choose a name that ends in .parquet"


def check_storable(table: pd.DataFrame, path: Path) -> None:
    r"""Raise `TableError` if a file of the format of `path` cannot store a table.

    What is written can be read again. CSV and TSV have no NUL, Excel has no control characters and
    limits on rows, columns and the length of text, and no format has half of a surrogate pair.

    Examples
    --------
    >>> check_storable(pd.DataFrame({"x": ["a", "a\0b"]}), Path("a.csv"))
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.csv: CSV cannot store the character '\x00' in row 2 of column 'x'; choose a name that ends in .parquet
    """  # noqa: E501 - an error is one line
    if format_of(path) == "excel":
        for n, limit, what in (
            (len(table) + 1, EXCEL_ROWS, "rows"),
            (table.shape[1], EXCEL_COLUMNS, "columns"),
        ):
            if n > limit:
                msg = f"{path}: {n:,} {what} are too many for Excel; {_WRITE_PARQUET}"
                raise TableError(msg)
    check_texts(list(table.columns), path, lambda i: f"the name of column {i + 1}")
    first = table.index[0] if len(table) and isinstance(table.index, pd.RangeIndex) else 0
    for i, name in enumerate(table.columns):
        place = partial(_cell_place, first=first, name=name)
        check_texts(_texts(table.iloc[:, i]), path, place)


def _cell_place(index: int, *, first: int, name: str) -> str:
    return f"row {first + index + 1} of column {name!r}"


def check_texts(texts: Any, path: Path, place: Callable[[int], str]) -> None:
    r"""Raise `TableError` if a file of the format of `path` cannot store one of some texts.

    Parameters
    ----------
    texts : list or array of str
        None is a missing cell.
    path : Path
    place : callable
        Returns what the message says about the place of the text at an index.

    Examples
    --------
    >>> check_texts(["cat", "d\0g"], Path("a.parquet"), "class {}".format)
    >>> check_texts(["cat", "d\0g"], Path("a.csv"), "class {}".format)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.csv: CSV cannot store the character '\x00' in...
    """
    file_format = format_of(path)
    try:
        cells = pa.array(texts, pa.large_string(), from_pandas=True)
    except UnicodeEncodeError as error:  # which does not tell the index
        half = next(i for i, text in enumerate(texts) if text and not _is_unicode(text))
        msg = f"{path}: there is half of a surrogate pair in {place(half)}; remove it"
        raise TableError(msg) from error
    if file_format not in _BAD_CHARACTERS:
        return
    pattern = _BAD_CHARACTERS[file_format]
    index = _first(pc.match_substring_regex(cells, pattern))
    if index is not None:
        bad = pc.extract_regex(cells[index : index + 1], f"(?P<bad>{pattern})")[0]["bad"].as_py()
        msg = (
            f"{path}: {_NAMES[file_format]} cannot store the character {bad!r} in {place(index)}; "
            f"{_WRITE_PARQUET}"
        )
        raise TableError(msg)
    index = _first(pc.greater(pc.utf8_length(cells), EXCEL_CHARACTERS))
    if index is not None and file_format == "excel":
        n = len(cells[index].as_py())
        msg = f"{path}: {place(index)} has {n:,} characters, too many for Excel; {_WRITE_PARQUET}"
        raise TableError(msg)


def _first(mask: pa.Array) -> int | None:
    """Return the index of the first true value, None if there is none."""
    index: int = pc.index(mask, value=True).as_py()
    return index if index >= 0 else None


def _texts(column: pd.Series) -> Any:
    """Return the texts that are written for a column, None in place of numbers and dates."""
    if isinstance(column.dtype, pd.StringDtype):
        return column
    if pd.api.types.is_numeric_dtype(column.dtype) or pd.api.types.is_datetime64_any_dtype(
        column.dtype
    ):
        return []
    cells = (nested_as_json(cell) for cell in python_cells(column))
    return [cell if isinstance(cell, str) else None for cell in cells]


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
