"""Hashes of rows: equal where the cells are, whatever else is in the table."""

import numpy as np
import pandas as pd
import pytest

from graphmargin.tables.row_hashes import hash_rows


@pytest.fixture
def table():
    return pd.DataFrame(
        {
            "text": ["a", None, "", "a"],
            "number": [1.5, np.nan, 2.0, 1.5],
            "mixed": pd.Series([1, "1", [1, 2], 1], dtype=object),
            "kind": ["x", None, "y", "z"],
        }
    )


def test_rows_with_the_same_cells_have_the_same_hash(table):
    rows = hash_rows(table, leave_out="kind").rows
    assert rows[0] == rows[3]
    assert len(set(rows)) == 3


@pytest.mark.parametrize(
    ("row", "column", "cell"), [(0, "text", "b"), (1, "text", ""), (2, "number", 2.5)]
)
def test_a_changed_cell_changes_the_hash_of_its_row_only(table, row, column, cell):
    before = hash_rows(table, leave_out="kind")
    table.loc[row, column] = cell
    after = hash_rows(table, leave_out="kind")
    changed = [i for i in range(4) if before.rows[i] != after.rows[i]]
    assert changed == [row]
    assert before.fingerprint != after.fingerprint


def test_cells_do_not_run_into_each_other():
    first = pd.DataFrame({"a": ["x"], "b": ["yz"], "k": [""]})
    second = pd.DataFrame({"a": ["xy"], "b": ["z"], "k": [""]})
    one, two = (hash_rows(table, leave_out="k").rows for table in (first, second))
    assert one != two
