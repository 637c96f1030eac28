import datetime

import numpy as np
import pandas as pd
import pytest

from graphmargin.tables import TableError
from graphmargin.tables.target import read_target


@pytest.mark.parametrize(
    ("cells", "classes", "codes"),
    [
        (["b", "a ", None, "nan", "  ", "a"], ["a", "b"], [1, 0, -1, -1, -1, 0]),
        ([3.0, np.nan, 1.0], [1, 3], [1, -1, 0]),
        ([-1, 2, -1], [-1, 2], [0, 1, 0]),
        ([True, False, True], [False, True], [1, 0, 1]),
        ([True, None, False], [False, True], [1, -1, 0]),
        (["3", "10", "3.0", "NA"], ["3", "3.0", "10"], [0, 2, 1, -1]),
        (["10", "9", "x", "NA"], ["10", "9", "NA", "x"], [0, 1, 3, 2]),
        (["TRUE", "FALSE", "TRUE"], ["FALSE", "TRUE"], [1, 0, 1]),
        (["007", "07", "7"], ["007", "07", "7"], [0, 1, 2]),
        (pd.array([7, None, 2**60 + 1], "Int64"), [7, 2**60 + 1], [0, -1, 1]),
        (pd.Categorical(["u", "v", None]), ["u", "v"], [0, 1, -1]),
        (pd.array([1.0, None, 0.0], "Float64"), [0, 1], [1, -1, 0]),
    ],
)
def test_classes_are_sorted_and_codes_refer_to_them(cells, classes, codes):
    target = read_target(pd.DataFrame({"y": cells}), "y")
    assert target.name == "y"
    assert target.classes.tolist() == classes
    assert target.codes.tolist() == codes
    assert target.labeled.tolist() == [code >= 0 for code in codes]


def test_classes_keep_their_type():
    assert read_target(pd.DataFrame({"y": [0.0, 1.0, None]}), "y").classes.dtype == np.int64
    assert read_target(pd.DataFrame({"y": [True, False]}), "y").classes.dtype == bool
    assert read_target(pd.DataFrame({"y": ["1", "2"]}), "y").classes.dtype == object


@pytest.mark.parametrize(
    ("cells", "markers", "codes"),
    [
        (["a", "?", "b", "NA"], ["?", "NA"], [0, -1, 1, -1]),
        ([-1.0, np.nan, 0.0, 1.0], ["-1"], [-1, -1, 0, 1]),
        (["-1.0", None, "0.0", "1.0"], ["-1"], [-1, -1, 0, 1]),
    ],
)
def test_texts_that_are_passed_mean_unlabeled(cells, markers, codes):
    target = read_target(pd.DataFrame({"y": cells}), "y", unlabeled=markers)
    assert target.codes.tolist() == codes


def test_codes_follow_the_order_of_rows_not_the_index():
    table = pd.DataFrame({"y": ["b", None, "a"]}, index=[5, 5, 0])
    assert read_target(table, "y").codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        ([None, np.nan], r"column 'y' has no labels \(unlabeled is an empty cell, NaN"),
        (["a", None, "a"], "all labels of column 'y' are a; label rows of another class"),
        ([1.5, 2.0], "column 'y' has numbers such as 1.5, not classes"),
        (["1.50", "2.00"], "column 'y' has numbers such as 1.5, not classes"),
        ([1.0, np.inf], "column 'y' has numbers such as inf, not classes"),
        ([[1], [2]], "column 'y' has cells of type list"),
        ([{"a": 1}, "x"], "column 'y' has cells of type dict"),
        (np.arange(101), "column 'y' has 101 different values, most of which occur once"),
        ([datetime.date(2024, 5, 1)] * 2, "column 'y' has dates, not classes"),
    ],
)
def test_columns_without_classes_raise_an_error(cells, message):
    table = pd.DataFrame({"y": pd.Series(cells)})
    with pytest.raises(TableError, match=message):
        read_target(table, "y")


def test_many_classes_are_accepted_if_most_have_several_labels():
    target = read_target(pd.DataFrame({"y": np.repeat(np.arange(200), 2)}), "y")
    assert len(target.classes) == 200


def test_a_misspelled_column_gets_a_suggestion():
    with pytest.raises(
        TableError, match=r"no column 'labl'; did you mean 'label'\? \(columns: 'x', 'label'\)"
    ):
        read_target(pd.DataFrame({"x": [1], "label": ["a"]}), "labl")
    with pytest.raises(TableError, match=r"no column 'q' \(columns: 'x'\)$"):
        read_target(pd.DataFrame({"x": [1]}), "q")
