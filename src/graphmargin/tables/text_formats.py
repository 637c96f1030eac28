"""Formats of numbers and dates in text: those that all cells of a column have, or nearly all.

If nearly all cells of a column are numbers of one format, the others are typing errors, remarks or
bounds such as ">90", which count as missing. A single one of them would otherwise turn the column
into a category of many values.
"""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

import pandas as pd
import pyarrow.compute as pc
from pandas.tseries.api import guess_datetime_format

from graphmargin._typing import BoolArray
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
_LONGEST_DATE = 100
_NUMBER_START = r"^[+-]?\.?\d"
# As numbers they would lose digits: postal codes, account numbers.
_CODE = r"^[+-]?(?:0\d+|\d{19,})$"


class NearlyNumbers(NamedTuple):
    """The format of numbers that nearly all cells of a column have.

    Attributes
    ----------
    number_format : NumberFormat
    bad : array of shape (n_rows,)
        Mask of the other cells, missing ones not included.
    code : str
        The first of these that is a code, such as 007, so that all cells are codes; else empty.
    """

    number_format: NumberFormat
    bad: BoolArray
    code: str


class NearlyDates(NamedTuple):
    """The format of dates that nearly all cells of a column have, and the mask of the others."""

    date_format: str
    bad: BoolArray


def find_number_format(column: pd.Series) -> NumberFormat | None:
    """Return the number format that all cells of a text column have, None if there is none.

    A comma is the decimal point or separates thousands, whichever fits all cells. If both fit, as
    in 1,234, it separates thousands, unless semicolons separate the cells of the table.

    Examples
    --------
    >>> find_number_format(pd.Series(["1,5", "NA", "2"]))
    'decimal comma'
    >>> find_number_format(pd.Series(["007", "1"])) is None
    True
    """
    cells = without_missing_texts(arrow_strings(column.dropna())).drop_null()
    if not len(cells):
        return None
    for number_format in _number_formats(column):
        # Most formats fail in the first cells, so that the others need not be parsed.
        parts = (parse_text_numbers(part, number_format) for part in (cells[:100], cells))
        if not any(bad.any() for _, bad in parts):
            return number_format
    return None


def nearly_numbers(column: pd.Series) -> NearlyNumbers | None:
    """Return the number format that nearly all cells of a text column have, and the other cells.

    If there are several such formats, it is the one with the fewest other cells; if there is none,
    the result is None. Truth values are categories if there is a third one.

    Examples
    --------
    >>> cells = [str(i) for i in range(30)]
    >>> nearly_numbers(pd.Series([*cells, "oops"])).bad.nonzero()[0].tolist()
    [30]
    >>> nearly_numbers(pd.Series([*cells, "007"])).code
    '007'
    >>> nearly_numbers(pd.Series([*cells[:10], "oops"])) is None
    True
    """
    cells = without_missing_texts(arrow_strings(column))
    n_given = len(cells) - cells.null_count
    starts = pc.match_substring_regex(cells, _NUMBER_START)
    if not _are_nearly_all(pc.sum(starts).as_py() or 0, n_given):
        return None
    formats = [name for name in _number_formats(column) if name != "boolean"]
    masks = [parse_text_numbers(cells, number_format)[1] for number_format in formats]
    number_format, bad = min(zip(formats, masks, strict=True), key=lambda pair: int(pair[1].sum()))
    if not _are_nearly_all(n_given - int(bad.sum()), n_given):
        return None
    others = cells.filter(bad)
    codes = others.filter(pc.match_substring_regex(others, _CODE))
    return NearlyNumbers(number_format, bad, codes[0].as_py() if len(codes) else "")


def find_date_format(cells: pd.Series) -> str | None:
    """Return the format of dates in text, None if they are not dates.

    The month comes first if both orders of day and month fit.

    Examples
    --------
    >>> find_date_format(pd.Series(["13.2.2024", "01.03.2024"]))
    '%d.%m.%Y'
    """
    sample = _date_sample(cells)
    for day_first in (False, True):
        date_format = _common_date_format(sample, day_first=day_first, min_share=1)
        if date_format is not None and not parse_dates(cells, date_format)[1].any():
            return date_format
    return None


def nearly_dates(cells: pd.Series) -> NearlyDates | None:
    """Return the format that nearly all of the dates in text have, and the mask of other cells.

    Examples
    --------
    >>> cells = [f"{i}.03.2024" for i in range(1, 31)]
    >>> nearly_dates(pd.Series([*cells, "31.04.2024"])).bad.nonzero()[0].tolist()
    [30]
    """
    sample = _date_sample(cells)
    formats = (
        _common_date_format(sample, day_first=day_first, min_share=_MIN_SAMPLE_SHARE)
        for day_first in (False, True)
    )
    found = [
        NearlyDates(name, parse_dates(cells, name)[1])
        for name in dict.fromkeys(formats)
        if name is not None
    ]
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


def _date_sample(cells: pd.Series) -> Iterable[tuple[str, int]]:
    """Return distinct cells of a sample, with their numbers."""
    given = cells[~cells.isin(MISSING_TEXTS)].dropna()
    sample = given.sample(min(_DATE_SAMPLE, len(given)), random_state=0)
    return list(sample.value_counts(sort=False).items())


def _common_date_format(
    cells: Iterable[tuple[str, int]], *, day_first: bool, min_share: float
) -> str | None:
    """Return the date format that a share of the cells seem to have, None if there is none."""
    cells = list(cells)
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
            if n_best + n_rest < min_share * n_cells:
                return None
    return formats.most_common(1)[0][0] if formats else None
