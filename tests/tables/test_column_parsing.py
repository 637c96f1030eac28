import re

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.tables.column_parsing import (
    MISSING_TEXTS,
    parse_dates,
    parse_numbers,
    parse_texts,
)
from graphmargin.tables.table_features import fit_transform
from graphmargin.tables.text_formats import find_number_format

# What a number is, in other words than those of the library.
PLAIN = re.compile(r"[+-]?(?:(?:0|[1-9]\d*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d{1,3})?")


def expected_number(text: str) -> float | None:
    """Return the number that a text is, NaN if it is missing, None if it is something else."""
    text = text.strip()
    if text in MISSING_TEXTS:
        return np.nan
    has_19_digits = re.match(r"[+-]?\d{19,}(?!\d*\.\d)", text)
    return float(text) if PLAIN.fullmatch(text) and not has_19_digits else None


@given(st.lists(st.text("0019.+-eE ", max_size=6) | st.sampled_from(MISSING_TEXTS), max_size=8))
def test_text_of_numbers_is_parsed_as_python_does(cells):
    expected = [expected_number(cell) for cell in cells]
    values, bad = parse_numbers(pd.Series(cells, dtype="str"))
    assert bad.tolist() == [number is None for number in expected]
    np.testing.assert_array_equal(values, np.array(expected, dtype=float))


@pytest.mark.parametrize(
    ("cells", "number_format", "numbers"),
    [
        (["1", "-2.5", "1e3", " .5 ", "NA"], "plain", [1, -2.5, 1000, 0.5, np.nan]),
        (["TRUE", "false", "?"], "boolean", [1, 0, np.nan]),
        (["1,5", "2", "1.234,5"], "decimal comma", [1.5, 2, 1234.5]),
        (["1,234", "2", "-1,234,567.5"], "thousands commas", [1234, 2, -1234567.5]),
        (["12%", "1.5 %"], "percent", [12, 1.5]),
        (["12%", "1,5 %"], "percent, decimal comma", [12, 1.5]),
    ],
)
def test_the_format_of_numbers_is_detected(cells, number_format, numbers):
    column = pd.Series(cells, name="x", dtype="str")
    assert find_number_format(column) == number_format
    values, bad = parse_numbers(column, number_format)
    assert not bad.any()
    np.testing.assert_array_equal(values, numbers)
    (use,) = fit_transform(pd.DataFrame({"x": column}))[0].columns
    assert use.role == "number"
    assert ("" if number_format in ("plain", "boolean") else number_format) in use.note


def test_the_text_of_a_cell_does_not_depend_on_its_column():
    whole, mixed = pd.Series([1.0, 2.0], dtype=object), pd.Series([1.0, "n.a."], dtype=object)
    assert parse_texts(whole)[0][0] == parse_texts(mixed)[0][0] == parse_texts(pd.Series([1]))[0][0]


def test_texts_that_mean_missing_are_missing_dates():
    values, bad = parse_dates(pd.Series(["2024-05-01", "NA", ""]), None)
    assert not bad.any()
    assert values.isna().tolist() == [False, True, True]
