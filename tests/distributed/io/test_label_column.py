"""Cells that are labels: for estimators, and for commands as on one machine."""

from __future__ import annotations

from decimal import Decimal

import pyarrow as pa
import pytest

from graphmargin.distributed.io.label_column import LabelColumn
from graphmargin.distributed.io.row_ranges import RowRange
from graphmargin.labels import UNLABELED_IN_PYTHON, UNLABELED_IN_TABLES, encode_labels
from graphmargin.tables.reading import to_frame
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.target import read_target

COLUMNS = {
    "text": pa.array(["cat", None, " dog ", "", "  ", "cat", "NaN", "None", "<NA>", "?", "-1"]),
    "integers": pa.array([3, None, -1, 7, 3], pa.int32()),
    "floats": pa.array([3.0, None, -1.0, float("nan"), 7.0]),
    "decimals": pa.array([Decimal("3.00"), None, Decimal("-1.00"), Decimal("7.00")]),
    "truth": pa.array([True, None, False, True]),
}


def labels_of(rule, cells):
    column, row_range = LabelColumn("y", rule), RowRange("a", 0, 1, 0, len(cells), 0)
    values, codes = column.encode(pa.chunked_array([cells]), row_range, 0)
    return [values[code] for code in codes]


@pytest.mark.parametrize("unlabeled", [[], ["?", " -1 "], ["-1.0", "True"]])
@pytest.mark.parametrize("kind", COLUMNS)
def test_commands_read_the_labels_of_one_machine(kind, unlabeled):
    cells = COLUMNS[kind]
    labels = labels_of(UNLABELED_IN_TABLES.with_texts(unlabeled), cells)
    try:
        expected = read_target(to_frame(pa.table({"y": cells})), "y", unlabeled=unlabeled)
    except TableError:  # of a single class, which a column of a row range may have
        assert len({label for label in labels if label is not None}) == 1
        return
    classes = expected.classes.tolist()
    assert labels == [None if code < 0 else classes[code] for code in expected.codes]


@pytest.mark.parametrize("kind", ["text", "integers", "floats", "truth"])
def test_estimators_read_the_labels_of_python(kind):
    encoded = encode_labels(COLUMNS[kind].to_pylist())
    expected = [None if code < 0 else encoded.classes[code] for code in encoded.codes]
    assert labels_of(UNLABELED_IN_PYTHON, COLUMNS[kind]) == expected


def test_whole_decimals_are_integers_for_estimators():
    assert labels_of(UNLABELED_IN_PYTHON, COLUMNS["decimals"]) == [3, None, None, 7]


@pytest.mark.parametrize("rule", [UNLABELED_IN_PYTHON, UNLABELED_IN_TABLES])
def test_a_cell_that_is_not_a_class_is_named_with_the_values_that_mean_unlabeled(rule):
    with pytest.raises(TableError, match=r"'y' has '2.5' in 1 rows, first in a row 2") as caught:
        labels_of(rule, pa.array([1.0, 2.5]))
    assert f"unlabeled is {rule.description}" in str(caught.value)
