"""Which cells are labels: for estimators, and for commands as on one machine."""

from __future__ import annotations

from decimal import Decimal

import pandas as pd
import pyarrow as pa
import pytest

from graphmargin.distributed.classes import LabelColumn, target_column
from graphmargin.distributed.source import Piece
from graphmargin.labels import encode_labels
from graphmargin.tables.arrow import frame_of
from graphmargin.tables.errors import TableError
from graphmargin.tables.target import read_target

COLUMNS = {
    "text": pa.array(["cat", None, " dog ", "", "  ", "cat", "NaN", "None", "<NA>", "?", "-1"]),
    "integers": pa.array([3, None, -1, 7, 3], pa.int32()),
    "floats": pa.array([3.0, None, -1.0, float("nan"), 7.0]),
    "decimals": pa.array([Decimal("3.00"), None, Decimal("-1.00"), Decimal("7.00")]),
    "truth": pa.array([True, None, False, True]),
}


def labels_of(column, cells):
    values, codes = column.encode(pa.chunked_array([cells]), Piece("a", 0, 1, 0, len(cells), 0), 0)
    return [values[code] for code in codes]


@pytest.mark.parametrize("unlabeled", [[], ["-1"], ["?", " -1 "], ["cat", "3"], ["-1.0", "True"]])
@pytest.mark.parametrize("kind", COLUMNS)
def test_a_target_has_the_labels_of_one_machine(kind, unlabeled):
    cells = COLUMNS[kind]
    found = labels_of(target_column("y", unlabeled), cells)
    try:
        expected = read_target(frame_of(pa.table({"y": cells})), "y", unlabeled=unlabeled)
    except TableError:  # of a single class, which a column of a piece may have
        assert len({label for label in found if label is not None}) == 1
        return
    classes = expected.classes.tolist()
    assert found == [None if code < 0 else classes[code] for code in expected.codes]
    assert target_column("y", unlabeled).unlabeled == expected.markers


def test_minus_one_is_a_class_for_commands_and_none_for_estimators():
    cells = COLUMNS["integers"]
    assert labels_of(LabelColumn("y"), cells) == [3, None, None, 7, 3]
    assert labels_of(target_column("y"), cells) == [3, None, -1, 7, 3]
    assert labels_of(target_column("y", ["-1"]), cells) == [3, None, None, 7, 3]


def test_an_estimator_takes_text_as_it_is():
    cells = COLUMNS["text"]
    encoded = encode_labels(pd.Series(cells.to_pylist(), dtype=object))
    expected = [None if code < 0 else encoded.classes[code] for code in encoded.codes]
    assert labels_of(LabelColumn("y"), cells) == expected


@pytest.mark.parametrize("column", [LabelColumn("y"), target_column("y")], ids=["label", "target"])
def test_what_is_no_class_is_named_with_what_means_none(column):
    with pytest.raises(TableError, match=r"'y' has '2.5' in 1 rows, first in a row 2") as caught:
        labels_of(column, pa.array([1.0, 2.5]))
    assert f"none is {column.none_is}" in str(caught.value)
