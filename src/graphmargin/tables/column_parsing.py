"""Parsers of the cells of a column: numbers, dates, text, vectors, or missing.

Each function returns the values and a mask of the cells that it cannot parse; missing cells are
never among these. The value of a cell depends on the cell and on the format of its column only.
The format is determined once, where features are learned (see `text_formats`), and the encoder of
the column keeps it. So a new table is parsed like the first one, whatever else it contains.

An empty or blank cell is missing. In a column of numbers or dates, so is one of `MISSING_TEXTS`; in
a column of text, "NA" is text.
"""

from __future__ import annotations

import datetime
import json
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api import types

from graphmargin._rows import MAGNITUDES
from graphmargin._typing import BoolArray, FloatArray
from graphmargin.tables.column_names import Role
from graphmargin.tables.invalid_cells import InvalidCells, invalid_cells, row_number
from graphmargin.tables.table_errors import TableError

MIN_MAGNITUDE, MAX_MAGNITUDE = MAGNITUDES["float64"]
"""Magnitudes of numbers: smaller ones count as zero, larger ones are refused."""
MISSING_TEXTS = ("", "-", "?", "NA", "N/A", "#N/A", "NaN", "nan", "None", "null", "NULL", "<NA>")
"""Texts that mean missing where all other cells are numbers or dates."""
NumberFormat: TypeAlias = Literal[
    "plain",
    "boolean",
    "decimal comma",
    "thousands commas",
    "percent",
    "percent, decimal comma",
]
DECIMAL_COMMA: Literal["decimal comma"] = "decimal comma"
"""The number format of 1,5; also the attribute of a table that expects it."""

# 007 and numbers of 19 digits are codes: as numbers they would lose digits.
_INTEGER = r"(?:0|[1-9]\d{0,17})"
INTEGER_PATTERN = rf"^-?{_INTEGER}$"
"""Pattern of integers."""
_NUMBER = (
    rf"[+-]?(?:{_INTEGER}\.?|(?:0|[1-9]\d*)?\.\d+)(?:[eE][+-]?\d{{1,3}})?"
    r"|[+-]?(?:[iI]nf(?:inity)?)"
)
_COMMA_NUMBER = rf"[+-]?(?:{_INTEGER}|[1-9]\d{{0,2}}(?:\.\d{{3}})+)(?:,\d+)?"
NUMBER_PATTERNS: dict[NumberFormat, str] = {
    "plain": rf"^(?:{_NUMBER})$",
    "boolean": r"^(?i:true|false)$",
    DECIMAL_COMMA: rf"^{_COMMA_NUMBER}$",
    "thousands commas": rf"^[+-]?(?:{_INTEGER}|[1-9]\d{{0,2}}(?:,\d{{3}})+)(?:\.\d+)?$",
    "percent": rf"^(?:{_NUMBER})\s?%$",
    "percent, decimal comma": rf"^{_COMMA_NUMBER}\s?%$",
}
"""Patterns of numbers in text, by their format."""


def with_natural_dtype(column: pd.Series) -> pd.Series:
    """Return a column with the dtype of its cells, if they share one.

    Examples
    --------
    >>> with_natural_dtype(pd.Series([True, None], dtype=object)).dtype
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
    """Return whether the dtype of the column is numeric, boolean or a duration."""
    dtype = column.dtype
    return (
        types.is_numeric_dtype(dtype) and not types.is_complex_dtype(dtype)
    ) or types.is_timedelta64_dtype(dtype)


def is_date_type(column: pd.Series) -> bool:
    """Return whether the cells of the column are dates, with or without a time of day."""
    if column.dtype == object:
        return all(isinstance(cell, datetime.date) for cell in column.dropna())
    return bool(types.is_datetime64_any_dtype(column.dtype))


def parse_texts(column: pd.Series) -> tuple[pd.Series, BoolArray]:
    """Return a column as text without blanks at its ends; blank cells are missing.

    Examples
    --------
    >>> parse_texts(pd.Series([" a", "", 3.0, [1]]))[0].tolist()
    ['a', nan, '3', nan]
    """
    bad = np.zeros(len(column), bool)
    if isinstance(column.dtype, pd.CategoricalDtype | pd.ArrowDtype):
        column = column.astype(object)
    if not types.is_string_dtype(column.dtype) or column.dtype == object:
        if column.dtype == object or types.is_complex_dtype(column.dtype):
            bad = column.notna().to_numpy() & ~column.map(_is_scalar).to_numpy(dtype=bool)
            column = column.mask(bad)
        column = column.astype(object).map(_cell_text, na_action="ignore")
    stripped = column.astype("str").str.strip()
    return stripped.mask(stripped == ""), bad


def parse_numbers(
    column: pd.Series, number_format: NumberFormat | None = None
) -> tuple[FloatArray, BoolArray]:
    """Return a column as numbers, NaN where missing; `number_format` is that of text.

    Examples
    --------
    >>> parse_numbers(pd.Series(["1.5", "x", None]))
    (array([1.5, nan, nan]), array([False,  True, False]))
    """
    if not types.is_string_dtype(column.dtype) or column.dtype == object:
        column = with_natural_dtype(column)
    if types.is_timedelta64_dtype(column.dtype):
        return column.dt.total_seconds().to_numpy(dtype=float), np.zeros(len(column), bool)
    if is_number_type(column):
        return column.to_numpy(dtype=float, na_value=np.nan), np.zeros(len(column), bool)
    if is_date_type(column):
        return np.full(len(column), np.nan), column.notna().to_numpy()
    bad = np.zeros(len(column), bool)
    if column.dtype == object:
        column, bad = parse_texts(column)
    values, unparsed = parse_text_numbers(arrow_strings(column), number_format or "plain")
    return values, bad | unparsed


def parse_dates(column: pd.Series, date_format: str | None) -> tuple[pd.Series, BoolArray]:
    """Return a column as dates in UTC without a time zone, NaT where missing.

    `date_format` is the `strptime` format of text; None is ISO 8601.

    Examples
    --------
    >>> values, bad = parse_dates(pd.Series(["13.2.2024", "x"]), "%d.%m.%Y")
    >>> values[0].date().isoformat(), bad.tolist()
    ('2024-02-13', [False, True])
    """
    column = with_natural_dtype(column)
    if is_number_type(column):
        missing = pd.Series(pd.NaT, index=column.index, dtype="datetime64[us]")
        return missing, column.notna().to_numpy()
    if is_date_type(column):
        cells, bad = column, np.zeros(len(column), bool)
        values = pd.to_datetime(column, errors="coerce", utc=True)
    else:
        cells, bad = parse_texts(column)
        cells = cells.mask(cells.isin(MISSING_TEXTS))
        # pandas would parse "today" as a date.
        dated = cells.where(cells.str.contains(r"\d"))
        values = pd.to_datetime(dated, format=date_format or "ISO8601", errors="coerce", utc=True)
    # Microseconds reach all years from 1 to 9999, nanoseconds only 1677 to 2262.
    values = values.dt.tz_localize(None).dt.as_unit("us")
    return values, bad | (values.isna() & cells.notna()).to_numpy()


def parse_vectors(column: pd.Series, width: int | None = None) -> tuple[FloatArray, BoolArray]:
    """Return a column of lists as a matrix, in which only the rows of missing cells are NaN.

    Cells are lists, arrays, or text with JSON lists, of `width` numbers. A width of None is the
    length of the first list.

    Examples
    --------
    >>> parse_vectors(pd.Series([[1, 2], None, "[3, 4]", [5]], dtype=object))[0].tolist()
    [[1.0, 2.0], [nan, nan], [3.0, 4.0], [nan, nan]]
    """
    if types.is_string_dtype(column.dtype) and column.dtype != object:
        column = parse_texts(column)[0]
    present = np.flatnonzero(column.notna())
    rows = [_parse_vector(cell) for cell in column.iloc[present]]
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
    return values, bad | (~(np.abs(values) <= MAX_MAGNITUDE).all(axis=1) & ~is_missing)


def parse_column(
    column: pd.Series,
    role: Role,
    text_format: str | None = None,
    *,
    width: int | None = None,
    lenient: bool = False,
) -> tuple[Any, InvalidCells | None]:
    """Return the values of a column with a given role, as encoders take them, and invalid cells.

    Parameters
    ----------
    column : Series
    role : Role
    text_format : str, optional
        Format of numbers or dates that are text.
    width : int, optional
        Length of vectors.
    lenient : bool, default=False
        Whether cells that cannot be parsed are missing, and returned as invalid.

    Raises
    ------
    TableError
        If a cell cannot be parsed. The message has the cell and its row, counted from 1; in a later
        chunk of a table, the row is that of the whole table.

    Examples
    --------
    >>> parse_column(pd.Series(["1", "x"]), "number", lenient=True)
    (array([ 1., nan]), InvalidCells(n_cells=1, values=('x',), rows=(2,)))
    >>> parse_column(pd.Series(["1", "x"], name="age"), "number")
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: column 'age' has 'x' in row 2, which is not a number
    """
    values, bad = _parse(column, role, text_format, width)
    if not lenient:
        raise_bad_cell(column, bad, _wanted(role, text_format, width))
    if role == "number":
        check_magnitudes(column, values)
    return values, invalid_cells(column, bad)


def _parse(
    column: pd.Series, role: Role, text_format: str | None, width: int | None
) -> tuple[Any, BoolArray]:
    match role:
        case "number":
            return parse_numbers(column, cast("NumberFormat | None", text_format))
        case "date":
            return parse_dates(column, text_format)
        case "embedding":
            return parse_vectors(column, width)
    return parse_texts(column)


def _wanted(role: Role, text_format: str | None, width: int | None) -> str:
    match role:
        case "number":
            return "a number"
        case "date":
            return "a date" if text_format is None else f"a date such as {text_format}"
        case "embedding":
            return f"a list of {width} numbers up to {MAX_MAGNITUDE:g}"
    return "text"


def check_magnitudes(column: pd.Series, values: FloatArray) -> None:
    """Raise `TableError` if a number of a column is infinite or so large that its square may be."""
    raise_bad_cell(column, np.abs(values) > MAX_MAGNITUDE, f"a number up to {MAX_MAGNITUDE:g}")


def raise_bad_cell(column: pd.Series, bad: BoolArray, wanted: str) -> None:
    """Raise `TableError` for the first cell in the mask `bad`, with its row."""
    if not bad.any():
        return
    position = int(np.argmax(bad))
    value = column.iloc[position]
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    row = row_number(column, position)
    msg = f"column {column.name!r} has {shown} in row {row}, which is not {wanted}"
    raise TableError(msg)


def _is_scalar(cell: object) -> bool:
    return pd.api.types.is_scalar(cell) and not isinstance(cell, bytes | complex)


def _cell_text(cell: object) -> str:
    """Return the text of a cell, which is the same for 3 and 3.0."""
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


def arrow_strings(column: pd.Series) -> pa.ChunkedArray:
    """Return a column of text as strings of Arrow, null where missing."""
    cells = pa.array(column, type=pa.large_string(), from_pandas=True)
    return cells if isinstance(cells, pa.ChunkedArray) else pa.chunked_array([cells])


def without_missing_texts(cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return cells without blanks at their ends, null where the text means missing."""
    cells = pc.ascii_trim_whitespace(cells)
    missing = pc.is_in(cells, value_set=pa.array(MISSING_TEXTS, type=cells.type))
    return pc.if_else(missing, None, cells)


def parse_text_numbers(
    cells: pa.ChunkedArray, number_format: NumberFormat
) -> tuple[FloatArray, BoolArray]:
    """Return the numbers in text, NaN where there is none, and a mask of text without a number."""
    if number_format == "plain":
        plain = [_cast_plain_numbers(chunk) for chunk in cells.chunks]
        if all(values is not None for values in plain):
            return np.concatenate([*plain, np.empty(0)]), np.zeros(len(cells), dtype=bool)
    cells = without_missing_texts(cells)
    is_number = pc.match_substring_regex(cells, NUMBER_PATTERNS[number_format])
    bad = pc.fill_null(pc.invert(is_number), False)
    cells = pc.if_else(bad, None, cells)
    if number_format == "boolean":
        numbers = pc.cast(pc.cast(pc.utf8_lower(cells), pa.bool_()), pa.float64())
    else:
        if DECIMAL_COMMA in number_format:
            cells = pc.replace_substring(pc.replace_substring(cells, ".", ""), ",", ".")
        numbers = pc.cast(pc.replace_substring_regex(cells, r"[,%\s]", ""), pa.float64())
    return numbers.to_numpy().astype(float), bad.to_numpy().astype(bool)


def _cast_plain_numbers(cells: pa.Array) -> FloatArray | None:
    """Return the numbers in text by a fast cast; None if a cell has to be matched by a pattern.

    Arrow also casts 007, nan and numbers of any length; None is returned if there is one of these.
    """
    try:
        values: FloatArray = pc.cast(cells, pa.float64()).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    present = cells.drop_null() if cells.null_count else cells
    if np.count_nonzero(np.abs(values) < 1e18) != len(present):
        return None
    if len(present) and _has_leading_zero(present):
        return None
    return values


def _has_leading_zero(numbers: pa.Array) -> bool:
    """Return whether a number begins with a zero and another digit, maybe after a sign."""
    _, offsets, content = numbers.buffers()
    codes = np.frombuffer(content, dtype=np.uint8)
    ends = np.frombuffer(offsets, dtype=np.int64)[numbers.offset :][: len(numbers) + 1]
    firsts, ends = ends[:-1], ends[1:]
    leading = codes[firsts]
    # A number has a digit, so that the byte after a sign belongs to the same number.
    firsts = firsts + ((leading == ord("+")) | (leading == ord("-")))
    zeros = np.flatnonzero(codes[firsts] == ord("0"))
    seconds = firsts[zeros] + 1
    seconds = seconds[seconds < ends[zeros]]
    return bool((codes[seconds] - np.uint8(ord("0")) < 10).any())


def _parse_vector(cell: Any) -> FloatArray | None:
    """Return the numbers of a list, None if the cell is no list of numbers."""
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
