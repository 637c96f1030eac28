"""Formats of numbers and dates in text: those that all cells of a column have, or nearly all.

If nearly all cells of a column are numbers of one format, the others are typing errors, remarks or
bounds such as ">90", which count as missing. A single one of them would otherwise turn the column
into a category of many values.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

import pandas as pd
import pyarrow.compute as pc
from pandas.tseries.api import guess_datetime_format

from graphmargin._typing import BoolArray, FloatArray
from graphmargin.tables.column_parsing import (
    DECIMAL_COMMA,
    MISSING_TEXTS,
    NUMBER_PATTERNS,
    NumberFormat,
    arrow_strings,
    parse_dates,
    parse_text_numbers,
    without_missing_texts,
)

MIN_PERCENT = 95
"""Percentage of the cells that counts as nearly all; with fewer than 20 cells, all do."""
# A sample may have twice as many other cells as the column may have.
_MIN_SAMPLE_SHARE = 1 - 2 * (1 - MIN_PERCENT / 100)
_DATE_SAMPLE = 1000
# Of a column of words, only this part of the cells is parsed as numbers.
_HEAD_SIZE, _HEAD_PART = 100, 10
_LONGEST_DATE = 100
_NUMBER_START = r"^[+-]?\.?\d"
# As numbers they would lose digits: postal codes, account numbers.
_CODE = r"^[+-]?(?:0\d+|\d{19,})$"


class TextNumbers(NamedTuple):
    """The numbers in a text column, and the format that all or nearly all of its cells have.

    Attributes
    ----------
    number_format : NumberFormat
    values : array of shape (n_rows,)
        Numbers, NaN for missing and other cells.
    bad : array of shape (n_rows,)
        Mask of the other cells, missing ones not included.
    code : str
        The first of these that is a code, such as 007, so that all cells are codes; else empty.
    """

    number_format: NumberFormat
    values: FloatArray
    bad: BoolArray
    code: str = ""


class TextDates(NamedTuple):
    """The dates in a column, the format that they have in text, and the mask of other cells."""

    date_format: str | None
    values: pd.Series
    bad: BoolArray


def find_number_format(column: pd.Series) -> NumberFormat | None:
    """Return the number format that all cells of a text column have, None if there is none.

    Examples
    --------
    >>> find_number_format(pd.Series(["1,5", "NA", "2"]))
    'decimal comma'
    >>> find_number_format(pd.Series(["007", "1"])) is None
    True
    """
    numbers = find_numbers(column)
    return None if numbers is None or numbers.bad.any() else numbers.number_format


def find_numbers(column: pd.Series) -> TextNumbers | None:
    """Return the numbers of a text column in the format that all or nearly all cells have.

    A comma is the decimal point or separates thousands, whichever fits all cells. If both fit, as
    in 1,234, it separates thousands, unless semicolons separate the cells of the table. If several
    formats fit nearly all cells, it is the one with the fewest other cells; if there is none, the
    result is None. Truth values are categories if there is a third one.

    Examples
    --------
    >>> cells = [str(i) for i in range(30)]
    >>> find_numbers(pd.Series([*cells, "oops"])).bad.nonzero()[0].tolist()
    [30]
    >>> find_numbers(pd.Series([*cells, "007"])).code
    '007'
    >>> find_numbers(pd.Series([*cells[:10], "oops"])) is None
    True
    """
    cells = without_missing_texts(arrow_strings(column))
    n_given = len(cells) - cells.null_count
    head = cells[: max(_HEAD_SIZE, len(cells) // _HEAD_PART)]
    found = []
    for number_format in _number_formats(column):
        # Most formats have too many other cells at the beginning, so that the rest is not parsed.
        n_bad = int(parse_text_numbers(head, number_format)[1].sum())
        if not _are_nearly_all(n_given - n_bad, n_given):
            continue
        numbers = TextNumbers(number_format, *parse_text_numbers(cells, number_format))
        if not numbers.bad.any():
            return numbers
        if number_format != "boolean":
            found.append(numbers)
    if not found:
        return None
    best = min(found, key=lambda numbers: int(numbers.bad.sum()))
    n_starts = pc.sum(pc.match_substring_regex(cells, _NUMBER_START)).as_py()
    if not _are_nearly_all(min(n_starts, n_given - int(best.bad.sum())), n_given):
        return None
    others = cells.filter(best.bad)
    codes = others.filter(pc.match_substring_regex(others, _CODE))
    return best._replace(code=codes[0].as_py()) if len(codes) else best


def find_dates(cells: pd.Series) -> TextDates | None:
    """Return the dates in text, if all or nearly all cells have one format, else None.

    The format is the one with the fewest other cells. The month comes first if both orders of day
    and month fit.

    Examples
    --------
    >>> find_dates(pd.Series(["13.2.2024", "01.03.2024"])).date_format
    '%d.%m.%Y'
    >>> cells = [f"{i}.03.2024" for i in range(1, 31)]
    >>> find_dates(pd.Series([*cells, "31.04.2024"])).bad.nonzero()[0].tolist()
    [30]
    """
    sample = _date_sample(cells)
    found: list[TextDates] = []
    for day_first in (False, True):
        date_format = _common_date_format(sample, day_first=day_first)
        if date_format is None or date_format in [dates.date_format for dates in found]:
            continue
        dates = TextDates(date_format, *parse_dates(cells, date_format))
        if not dates.bad.any():
            return dates
        found.append(dates)
    if not found:
        return None
    best = min(found, key=lambda dates: int(dates.bad.sum()))
    n_given = int((cells.notna() & ~cells.isin(MISSING_TEXTS)).sum())
    return best if _are_nearly_all(n_given - int(best.bad.sum()), n_given) else None


def _number_formats(column: pd.Series) -> list[NumberFormat]:
    """Return all formats in the order in which they are tried."""
    order = list(NUMBER_PATTERNS)
    if not column.attrs.get(DECIMAL_COMMA):
        order.sort(key=lambda number_format: number_format == DECIMAL_COMMA)
    return order


def _are_nearly_all(n: int, n_given: int) -> bool:
    return n > 0 and 100 * n >= MIN_PERCENT * n_given


def _date_sample(cells: pd.Series) -> Collection[tuple[str, int]]:
    """Return distinct cells of a sample, with their numbers."""
    given = cells[~cells.isin(MISSING_TEXTS)].dropna()
    sample = given.sample(min(_DATE_SAMPLE, len(given)), random_state=0)
    return list(sample.value_counts(sort=False).items())


def _common_date_format(cells: Collection[tuple[str, int]], *, day_first: bool) -> str | None:
    """Return the date format that nearly all cells of a sample seem to have, else None."""
    n_cells = sum(count for _, count in cells)
    formats: Counter[str] = Counter()
    n_others = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # raised if a cell fits one order only
        for cell, count in cells:
            # pandas splits a text into all of its parts, which takes minutes for a long word.
            is_short = len(cell) <= _LONGEST_DATE
            date_format = guess_datetime_format(cell, dayfirst=day_first) if is_short else None
            if date_format is None:
                n_others += count
            else:
                formats[date_format] += count
            # A column of other texts fails at its first cells, so that the others are not parsed.
            n_rest = n_cells - n_others - sum(formats.values())
            n_best = max(formats.values(), default=0)
            if n_best + n_rest < _MIN_SAMPLE_SHARE * n_cells:
                return None
    return formats.most_common(1)[0][0] if formats else None
