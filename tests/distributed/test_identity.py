"""Two rows of the same name are found wherever they are."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest

from graphmargin.distributed import identity
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.identity import check_ids
from graphmargin.distributed.run import Run, open_run
from graphmargin.distributed.source import cut, open_source
from graphmargin.distributed.storage import Folder
from graphmargin.tables.errors import TableError


@pytest.fixture
def check(cluster, tmp_path):
    """Return a function that writes columns of ids to files and checks them."""

    def run_all(*ids, rows_at_most=7):
        (tmp_path / "data").mkdir(exist_ok=True)
        for i, column in enumerate(ids):
            table = pa.table({"key": column})
            pa.parquet.write_table(table, tmp_path / "data" / f"{i}.parquet", row_group_size=5)
        run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=True)
        check_ids(run, cut(run, open_source(tmp_path / "data"), rows_at_most), "key")
        return run

    return run_all


def force_ranges(monkeypatch, cluster, n_ranges):
    """Make so many ranges of hashes of 40 rows."""
    bytes_ = cluster.memory_of_a_task * (n_ranges - 1) // 40 + 1
    monkeypatch.setattr(identity, "BYTES_OF_A_ROW", bytes_)


DAY = datetime.date(2024, 1, 1)
KINDS = {
    "text": lambda i: f"row {i}",
    "whole": lambda i: i - 20,
    "float": lambda i: i / 7,
    "bytes": lambda i: bytes([i, 0]),
    "date": lambda i: DAY + datetime.timedelta(days=i),
    "time": lambda i: datetime.datetime(2024, 1, 1) + datetime.timedelta(seconds=i),
    "decimal": lambda i: i * Decimal("0.25"),
}


@pytest.mark.parametrize(("kind", "n_ranges"), [*((kind, 1) for kind in KINDS), ("text", 3)])
def test_ids_of_all_types_may_differ_or_not(check, cluster, monkeypatch, kind, n_ranges, tmp_path):
    force_ranges(monkeypatch, cluster, n_ranges)
    ids = [KINDS[kind](i) for i in range(40)]
    run = check(ids[:23], ids[23:])
    assert run.folder.read_json("id_ranges.json") == n_ranges
    assert run.folder.names() == ["id_ranges.json", "ids_differ.json", "pieces.json", "run.json"]
    check(ids[:23], ids[23:])  # once is enough

    run.folder.remove()
    with pytest.raises(TableError) as caught:
        check(ids[:23], [*ids[24:], ids[4]])
    data = tmp_path / "data"
    assert str(caught.value) == (
        f"id 'key' has {ids[4]!r} in {data}/0.parquet row 5 and in {data}/1.parquet row 17; ids "
        "must differ: name another column, or none"
    )


@pytest.mark.parametrize("n_ranges", [1, 3])
def test_the_first_of_many_is_named_with_their_number(check, cluster, monkeypatch, n_ranges):
    force_ranges(monkeypatch, cluster, n_ranges)
    ids = [f"k{i}" for i in range(20)]
    with pytest.raises(TableError, match=r"id 'key' has 'k\d+' in .*, and 19 more like it; ids"):
        check(ids, ids)


def test_one_name_for_all_rows_is_found(check):
    with pytest.raises(
        TableError, match=r"has 5 in .*0.parquet row 1 and in .*0.parquet row 2, and 98 more"
    ):
        check([5] * 100)


@pytest.mark.parametrize(
    "ids", [[1, 2, None, None], ["a", None, "b", None], [1.5, 2.5, float("nan"), None]]
)
def test_missing_ids_are_refused(check, ids):
    row = next(i for i, value in enumerate(ids) if value is None or value != value) + 1
    message = rf"id 'key' has 2 missing cells, first in .*1\.parquet row {row}; fill them, name"
    first = ["x"] if isinstance(ids[0], str) else [ids[0] + 50]
    with pytest.raises(TableError, match=message):
        check(first, ids)


def test_categories_are_compared_by_their_values(check):
    one = pa.array(["a", "b"]).dictionary_encode()
    other = pa.array(["c", "a"]).dictionary_encode()
    with pytest.raises(TableError, match=r"has 'a' in .*0.parquet row 1 and in .*1.parquet row 2"):
        check(one, other)


def test_equal_hashes_of_different_names_are_no_error(tmp_path, monkeypatch):
    """The tasks run here, as the hash is replaced by one that collides."""

    class Here(Cluster):
        memory_of_a_task = 10**9

        def run(self, _name, function, items, *shared, progress=None):  # noqa: ARG002
            return [function(item, *shared) for item in items]

    def collide(values, categorize):
        assert not categorize
        return np.array([int(value) % 5 for value in values], dtype=np.uint64)

    monkeypatch.setattr(pd.util, "hash_array", collide)

    def check(ids, name):
        pa.parquet.write_table(pa.table({"key": ids}), tmp_path / f"{name}.parquet")
        run = Run(Folder(str(tmp_path / name)), Here(None))
        check_ids(run, cut(run, open_source(tmp_path / f"{name}.parquet"), 4), "key")

    check(range(12), "different")
    with pytest.raises(TableError, match=r"has 3 in .* row 4 and in .* row 10"):
        check([0, 1, 2, 3, 4, 5, 6, 7, 8, 3], "equal")
