import numpy as np
import pandas as pd
import pytest

from graphmargin.labeling.labeling_task import check_new_columns, read_task, relabel, task_of
from graphmargin.tables.table_errors import TableError


def test_minus_one_is_a_class_unless_it_means_unlabeled():
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "k": [-1, None, 1, None]})
    assert task_of(table, "k").target.classes.tolist() == [-1, 1]
    with pytest.raises(TableError, match="'k'"):
        task_of(table, "k", unlabeled=["-1"])


def test_read_task_reads_the_file(tmp_path, mixed_table):
    table, _ = mixed_table()
    table.to_parquet(tmp_path / "pets.parquet")
    task = read_task(tmp_path / "pets.parquet", "kind", ignore=["color"])
    assert task.name == "pets.parquet"
    assert task.n_labels == 15
    assert {use.name: use.role for use in task.features.columns}["color"] == "left out"


def test_columns_that_the_result_adds_must_not_exist(mixed_table):
    table, _ = mixed_table()
    for column in ("kind_source", "kind_confidence", "kind_set"):
        task = task_of(table.assign(**{column: 1}), "kind")
        with pytest.raises(TableError, match=f"'{column}'"):
            check_new_columns(task, coverage=0.9)
    check_new_columns(task)  # a column of sets is in the way of sets only


def test_a_table_may_have_no_label_or_no_such_column(mixed_table):
    table, _ = mixed_table()
    for start in (table.assign(kind=None), table.drop(columns="kind")):
        task = task_of(start, "kind", min_classes=0)
        assert task.n_labels == 0
        assert len(task.target.classes) == 0
        names = np.array([None] * 150, dtype=object)
        names[[0, 1]] = "cat", "dog"
        assert relabel(task, names).target.classes.tolist() == ["cat", "dog"]
        with pytest.raises(TableError, match="are cat"):
            relabel(task, np.where(names == "cat", names, None))


@pytest.mark.parametrize(
    ("names", "cells"),
    [
        (["1", None, "2", "2"], [1, None, 2, 2]),
        (["1", None, "2", "other"], ["1", None, "2", "other"]),
    ],
    ids=["numbers stay numbers", "a new class makes them text"],
)
@pytest.mark.parametrize("dtype", ["Int64", "float64", "object"])
def test_relabeled_numbers(dtype, names, cells):
    given = pd.Series([1, 2, None, None], dtype=dtype)
    task = task_of(pd.DataFrame({"x": [1.0, 1.5, 5.0, 5.2], "kind": given}), "kind")
    task = relabel(task, np.array(names, dtype=object))
    assert [None if pd.isna(cell) else cell for cell in task.table["kind"]] == cells
