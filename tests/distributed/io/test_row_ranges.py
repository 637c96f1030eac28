"""The rows of Parquet files, each in one row range, and what users hear of bad ones."""

from __future__ import annotations

import itertools
import pickle
from pathlib import Path

import dask.dataframe as dd
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.run import open_run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.parquet_files import File, check_columns, check_types
from graphmargin.distributed.io.row_ranges import (
    format_cell,
    frame_fingerprint,
    frame_schema,
    is_dask_frame,
    open_source,
    read_batches,
    split_rows,
    store_frame,
)
from graphmargin.tables.table_errors import TableError


def write(path, first, n_rows, group=4, **columns):
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.table({"x": pa.array(np.arange(first, first + n_rows)), **columns})
    pa.parquet.write_table(table, path, row_group_size=group)
    return path


@pytest.fixture
def files(tmp_path):
    """Return files of 10, 0 and 7 rows, numbered from 0 on."""
    folder = tmp_path / "data"
    return [
        write(folder / "part.2.parquet", 0, 10),
        write(folder / "part.9.parquet", 10, 0),
        write(folder / "part.10.parquet", 10, 7),
    ]


def read(source, n_rows=3):
    return [
        pa.concat_tables(read_batches(row_range, ["x"], n_rows)).column("x").to_pylist()
        for row_range in source.row_ranges
    ]


def flat(row_ranges):
    return list(itertools.chain.from_iterable(row_ranges))


@pytest.mark.parametrize(
    "name",
    [
        lambda files: [str(file) for file in files],
        lambda files: files,
        lambda files: files[0].parent,
        lambda files: str(files[0].parent),
        lambda files: f"{files[0].parent}/",
        lambda files: files[0].parent.as_uri(),
        lambda files: f"{files[0].parent}/part.*.parquet",
        lambda files: [f"{files[0].parent.as_uri()}/part.?.parquet", files[2]],
    ],
    ids=["texts", "paths", "folder", "text", "slash", "url", "pattern", "list of patterns"],
)
def test_files_may_be_named_in_many_ways(files, name):
    assert flat(read(open_source(name(files)))) == list(range(17))


@pytest.mark.parametrize("max_rows", [None, 3, 8])
def test_every_row_is_read_once_in_order(files, max_rows):
    source = open_source(files, max_rows)
    row_lists = read(source)
    assert flat(row_lists) == list(range(17))
    assert np.diff(source.offsets).tolist() == [len(rows) for rows in row_lists]
    assert source.n_rows == 17
    if max_rows is not None:
        assert max(map(len, row_lists)) <= max_rows


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(1, 30))
def test_row_ranges_cover_groups_of_any_sizes(tmp_path_factory, groups, max_rows):
    path = tmp_path_factory.mktemp("groups") / "a.parquet"
    schema = pa.schema({"x": pa.int64()})
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for i, n in enumerate(groups):
            first = sum(groups[:i])
            writer.write_table(pa.table({"x": pa.array(range(first, first + n), pa.int64())}))
    source = open_source(path, max_rows)
    assert flat(read(source, 4)) == list(range(sum(groups)))
    assert all(0 < row_range.n_rows <= max_rows for row_range in source.row_ranges)
    for row_range in source.row_ranges:
        assert format_cell(row_range, "x", 0) == str(row_range.first_row)


def test_row_ranges_are_as_large_as_they_may_be_and_name_their_rows(files):
    assert [row_range.n_rows for row_range in open_source(files).row_ranges] == [10, 7]
    source = open_source(files, 8)
    assert [row_range.n_rows for row_range in source.row_ranges] == [8, 2, 7]
    assert format_cell(source.row_ranges[2], "x", 6) == "16"
    assert source.row_ranges[2].describe_row(6) == f"{files[2]} row 7"
    assert pickle.loads(pickle.dumps(source)) == source


def test_columns_come_in_the_order_asked_for_and_decoded(tmp_path):
    kind = pa.array(["a", "b", None]).dictionary_encode()
    path = write(tmp_path / "a.parquet", 0, 3, kind=kind, z=pa.array([1.5, 2.5, 3.5]))
    (row_range,) = open_source(path).row_ranges
    (batch,) = read_batches(row_range, ["z", "kind", "x"])
    assert open_source(path).schema.field("kind").type == pa.string()
    assert batch.column_names == ["z", "kind", "x"]
    assert batch.schema.field("kind").type == pa.string()
    assert batch.column("kind").to_pylist() == ["a", "b", None]
    assert batch.column("x").to_pylist() == [0, 1, 2]


def test_hidden_and_other_files_are_not_read(files):
    folder = files[0].parent
    (folder / "_SUCCESS").write_text("")
    (folder / ".part.parquet").write_text("a draft")
    (folder / "_delta_log").mkdir()
    write(folder / "_delta_log" / "log.parquet", 0, 9)
    (folder / "README").write_text("about")
    write(folder / "more" / "z.parquet", 17, 3)
    assert sorted(flat(read(open_source(folder)))) == list(range(20))
    # A hidden parent does not hide the data.
    assert read(open_source(folder / "_delta_log")) == [list(range(9))]


def bad(place, content):
    path = Path(place)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (lambda t: t / "none.parquet", "none.parquet does not exist"),
        (lambda t: f"{t}/*.parquet", r"\*.parquet does not exist"),
        (lambda t: bad(t / "f" / "a.csv", b"").parent, "/f has no file that ends in .parquet"),
        (
            lambda t: bad(t / "a.parquet", b"x,y\n"),
            "a.parquet is not a Parquet file, or is damaged",
        ),
        (lambda t: bad(t / "a.parquet", b""), "a.parquet is not a Parquet file, or is damaged"),
        (lambda _: [], "`data` is an empty list"),
        (lambda _: [3], "`data` must be the path or URL of Parquet files, .* got int"),
        (lambda _: None, "got NoneType"),
        (lambda _: pd.DataFrame({"x": [1]}), "got DataFrame; write tables in memory"),
        (lambda t: write(t / "a.parquet", 0, 0), "no rows in .*a.parquet"),
        (lambda t: [write(t / "a.parquet", 0, 2), t], "a.parquet twice"),
    ],
    ids=[
        "file",
        "pattern",
        "folder",
        "text",
        "empty",
        "none",
        "type",
        "None",
        "frame",
        "no rows",
        "twice",
    ],
)
def test_paths_without_a_table_are_refused(tmp_path, data, message):
    with pytest.raises(TableError, match=message):
        open_source(data(tmp_path))


def test_columns_of_the_same_name_are_refused(tmp_path):
    table = pa.table([[1], [2]], names=["x", "x"])
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    with pytest.raises(
        TableError, match=r"a\.parquet: two columns are named 'x'; rename one of them"
    ):
        open_source(tmp_path)


def test_a_file_that_has_changed_or_was_removed_is_named(files):
    source = open_source(files, 4)
    files[2].unlink()
    with pytest.raises(TableError, match=r"part\.10\.parquet cannot be read"):
        read(source)
    write(files[0], 0, 6)
    with pytest.raises(TableError, match=r"part\.2\.parquet (cannot be read|has . fewer rows)"):
        read(source)


def test_missing_columns_are_listed_with_a_similar_name():
    schema = pa.schema({"size": pa.int64(), "color": pa.string()})
    with pytest.raises(
        TableError, match=r"a has no columns 'colour', 'w'; did you mean 'color'. it has: 'size', "
    ):
        check_columns(schema, ["colour", "size", "w"], "a")
    with pytest.raises(TableError, match="columns in the names of folders are not read"):
        check_columns(schema, ["year"], "data/year=2024/a.parquet")


def test_files_of_other_types_are_named():
    def file(name, **types):
        return File(name, (1,), pa.schema(types), ())

    first = file("a", x=pa.int64(), y=pa.string())
    check_types([first, file("b", y=pa.large_string(), x=pa.int64(), z=pa.bool_())], ["x", "y"])
    check_types([first, file("b", x=pa.int64(), y=pa.null())], ["x", "y"], any_type=["y"])
    with pytest.raises(TableError, match="column 'x' is int64 in a, but double in b; write all"):
        check_types([first, file("b", x=pa.float64(), y=pa.string())], ["x", "y"])
    with pytest.raises(TableError, match="b has no column 'y'"):
        check_types([first, file("b", x=pa.int64())], ["x", "y"], any_type=["y"])
    encoded = file("b", x=pa.int64(), y=pa.dictionary(pa.int8(), pa.string()))
    check_types([first, encoded], ["x", "y"])


def test_the_fingerprint_changes_with_the_version_of_a_file(files):
    before = open_source(files).fingerprint
    assert open_source(files, 3).fingerprint == before
    write(files[2], 20, 7)
    assert open_source(files).fingerprint != before
    assert open_source(files[:1]).fingerprint == before[:1]


def test_row_ranges_stay_the_same_when_a_run_goes_on_with_other_workers(files, cluster, tmp_path):
    folder = Folder(str(tmp_path / "run"))
    run = open_run(folder, cluster, {}, resume=False)
    first = split_rows(run, open_source(files), 4)
    again = split_rows(open_run(folder, cluster, {}, resume=True), open_source(files), 100)
    assert again.row_ranges == first.row_ranges
    assert flat(read(first)) == list(range(17))


def test_a_dask_frame_is_written_once(cluster, tmp_path):
    run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=False)
    table = pd.DataFrame({"x": np.arange(60), "y": ["a", "b", None] * 20, "z": 1.5})
    frame = dd.from_pandas(table, npartitions=12)
    assert is_dask_frame(frame)
    assert not is_dask_frame(table)
    assert not is_dask_frame("a.parquet")
    assert frame_schema(frame).names == ["x", "y", "z"]
    assert frame_fingerprint(frame) == frame_fingerprint(dd.from_pandas(table, npartitions=12))
    assert frame_fingerprint(frame) != frame_fingerprint(frame[["x"]])

    source = store_frame(run, frame, ["x", "y"])
    again = store_frame(run, dd.from_pandas(table * 2, npartitions=3), ["x", "y"])

    assert source.schema.names == ["x", "y"]
    assert flat(read(source)) == list(range(60))
    assert again == source


def test_a_dask_frame_that_was_half_written_is_written_again(cluster, tmp_path):
    run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=False)
    write(tmp_path / "run" / "input" / "part.7.parquet", 0, 3)
    frame = dd.from_pandas(pd.DataFrame({"x": np.arange(6)}), npartitions=2)
    assert flat(read(store_frame(run, frame, ["x"]))) == list(range(6))


def _mixed(frame, partition_info=None):
    kinds = ["a", 1] if partition_info["number"] else ["a", "b"]
    return frame.assign(y=pd.Series(kinds, index=frame.index, dtype=object))


def _as_text(frame):
    return frame.assign(y="text")


@pytest.mark.parametrize(("change", "kind"), [(_mixed, object), (_as_text, float)])
def test_a_dask_frame_with_other_types_than_it_declares_is_refused(cluster, tmp_path, change, kind):
    run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=False)
    frame = dd.from_pandas(pd.DataFrame({"x": np.arange(4)}), npartitions=2)
    meta = pd.DataFrame({"x": pd.Series(dtype=int), "y": pd.Series(dtype=kind)})
    with pytest.raises(TableError, match="DataFrame cannot be written as Parquet: ") as caught:
        store_frame(run, frame.map_partitions(change, meta=meta), ["x", "y"])
    assert "\n" not in str(caught.value)
    assert "input" not in run.kept_values


@pytest.mark.parametrize("damage", [Path.unlink, lambda path: path.write_bytes(b"PAR1")])
def test_a_dask_frame_is_not_stored_twice_as_its_rows_may_be_in_another_order(
    cluster, tmp_path, damage
):
    run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=False)
    frame = dd.from_pandas(pd.DataFrame({"x": np.arange(4)}), npartitions=2)
    source = store_frame(run, frame, ["x"])
    assert store_frame(run, frame, ["x"]) == source
    damage(tmp_path / "run" / "input" / "part.1.parquet")
    with pytest.raises(WorkDirError, match=r"input/part\.1\.parquet is missing or has changed"):
        store_frame(run, frame, ["x"])


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["x", "x"], "two columns are named 'x'; rename one of them"),
        ([0, "x"], "has a column 0; rename it"),
    ],
    ids=["twice", "number"],
)
def test_a_dask_frame_with_bad_names_of_columns_is_refused(names, message):
    frame = dd.from_pandas(pd.DataFrame([[1, 2]], columns=names), npartitions=1)
    with pytest.raises(TableError, match=message):
        frame_schema(frame)


def test_the_beginning_of_a_long_cell_is_shown(tmp_path):
    table = pa.table({"x": [36 * "k", 1000 * "k"]})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    (row_range,) = open_source(tmp_path).row_ranges
    assert format_cell(row_range, "x", 0) == repr(36 * "k")
    assert format_cell(row_range, "x", 1) == f"'{99 * 'k'}..."
