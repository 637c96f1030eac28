import numpy as np
import pandas as pd
import pytest
from pandas.tseries.api import guess_datetime_format

from graphmargin.tables import text_formats
from graphmargin.tables.column_roles import read_column
from graphmargin.tables.text_formats import (
    find_dates,
    find_number_format,
    find_numbers,
)

NUMBERS = [f"{i % 17}.5" for i in range(60)]
DAYS = [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2023" for i in range(60)]


@pytest.mark.parametrize(
    "cells",
    [
        ["007", "1"],
        ["-00", "1"],
        ["1234567890123456789"],
        ["1 234"],
        ["1,5", "1.5e3"],
        ["x"],
        ["NA"],
    ],
)
def test_text_with_other_cells_has_no_number_format(cells):
    assert find_number_format(pd.Series(cells, dtype="str")) is None


def test_an_ambiguous_comma_is_decimal_between_semicolons(tmp_path):
    from graphmargin.tables import read_table

    for separator, number_format in ((";", "decimal comma"), ("|", "thousands commas")):
        path = tmp_path / "a.csv"
        path.write_text(f"x{separator}y\n1,234{separator}1\n")
        assert find_number_format(read_table(path)["x"]) == number_format


def test_only_short_texts_are_tried_as_dates(monkeypatch):
    """pandas takes minutes to find out that a word of a megabyte is no date."""
    lengths = []

    def guess(cell, **options):
        lengths.append(len(cell))
        return guess_datetime_format(cell, **options)

    monkeypatch.setattr(text_formats, "guess_datetime_format", guess)
    words = pd.Series(["ACGT" * 500_000, "2024-05-01"])
    assert find_dates(words) is None
    assert find_dates(words[1:]).date_format == "%Y-%m-%d"
    assert max(lengths) <= 100


def text(*cells):
    return pd.Series(list(cells), name="x", dtype="str")


@pytest.mark.parametrize(
    ("others", "role"),
    [
        (["oops"], "number"),
        ([">90", "<0.01", "10+"], "number"),
        (["oops"] * 4, "category"),  # 4 of 64 cells are more than 5 percent
        (["NA", "-", "?", "n.a."], "number"),  # three of these are missing cells
        (["01234"], "category"),
        (["1234567890123456789"], "category"),
    ],
)
def test_nearly_all_cells_give_a_column_its_role(others, role):
    reading = read_column(text(*NUMBERS, *others))
    assert reading.role == role
    if role == "number":
        invalid = [i + 61 for i, cell in enumerate(others) if cell not in ("NA", "-", "?")]
        assert list(reading.invalid.rows) == invalid
        assert np.isnan(reading.values[60:]).all()


def test_of_fewer_than_twenty_cells_all_are_numbers():
    numbers = ["1.5", "2.5", "7.5"] * 7
    assert read_column(text(*numbers[:19], "oops")).role == "number"
    assert read_column(text(*numbers[:18], "oops")).role == "category"


def test_codes_among_numbers_are_named_in_the_note():
    postal_codes = [f"{80000 + i % 40}" for i in range(97)] + ["01067", "01069", "04109"]
    reading = read_column(text(*postal_codes))
    assert (reading.role, reading.note) == ("category", "codes such as '01067'")


@pytest.mark.parametrize("name", ["x", "order_id"])
def test_an_id_with_an_invalid_cell_stays_an_id(name):
    step = 1 if name == "x" else 7
    cells = text(*[str(1000 + step * i) for i in range(50)], "1050b").rename(name)
    assert read_column(cells).note == "an ID: all values differ"
    assert read_column(cells, keep=True).role == "number"


@pytest.mark.parametrize("others", [["0"] * 57 + ["unknown"] * 3, ["True"] * 58 + ["maybe"] * 2])
def test_one_number_or_truth_value_beside_words_is_a_category(others):
    assert read_column(text(*others)).role == "category"


@pytest.mark.parametrize(
    ("cells", "number_format"),
    [
        ([*["1.5"] * 40, "1,5"], "plain"),
        ([*["1,5"] * 40, "1.5e3"], "decimal comma"),
        ([*["12 %"] * 40, "12"], "percent"),
        ([*["1,234.5"] * 40, "1.5", "much"], "thousands commas"),
    ],
)
def test_the_format_with_the_fewest_other_cells_is_chosen(cells, number_format):
    nearly = find_numbers(text(*cells))
    assert nearly.number_format == number_format
    assert nearly.bad.nonzero()[0].tolist() == [len(cells) - 1]


@pytest.mark.parametrize("other", ["unknown", "31.04.2023", "2023-04-01"])
def test_a_column_with_one_invalid_date_stays_a_column_of_dates(other):
    reading = read_column(text(*DAYS, other))
    assert (reading.role, reading.date_format) == ("date", "%d.%m.%Y")
    assert reading.invalid.values == (other,)
    assert reading.values.isna().tolist() == [False] * 60 + [True]


def test_the_order_of_day_and_month_that_fits_more_dates_is_chosen():
    few_late_days = [f"{1 + i % 12:02d}/05/2023" for i in range(97)] + ["13/05/2023", "soon"]
    assert find_dates(text(*few_late_days)).date_format == "%d/%m/%Y"
    assert find_dates(text("soon", "later", "2024-05-01")) is None
