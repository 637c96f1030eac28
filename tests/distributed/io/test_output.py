"""Labels come out in the order of the input, each row once, whatever the parts were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from graphmargin._errors import InputError
from graphmargin.distributed.engine.handles import Labels, StoredLabels, take_rows
from graphmargin.distributed.engine.run import open_run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.output import (
    check_empty,
    id_layout,
    output_name,
    table_layout,
    write_labels,
    write_range,
)
from graphmargin.distributed.io.row_ranges import open_source, read_batches, split_rows
from graphmargin.tables.table_errors import TableError

N, N_PARTITIONS = 47, 3
CLASSES = np.array(["ant", "bee", "cat"])


@pytest.fixture
def job(cluster, tmp_path):
    """Return a run with a source of two files, and labels of its rows in three parts."""
    rng = np.random.default_rng(0)
    table = pa.table(
        {
            "key": pa.array([f"k{i}" for i in range(N)], pa.large_string()),
            "a": rng.normal(size=N),
            "y": [None, "bee"] * (N // 2) + [None],
            "note": pa.array(["x", None, "z"] * 15 + ["x"] * 2).dictionary_encode(),
        }
    )
    (tmp_path / "data").mkdir()
    pa.parquet.write_table(table.slice(0, 30), tmp_path / "data" / "0.parquet", row_group_size=9)
    pa.parquet.write_table(table.slice(30), tmp_path / "data" / "1.parquet")
    run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=False)
    source = split_rows(run, open_source(tmp_path / "data"), 11)
    labels = Labels(
        np.arange(N),
        rng.integers(-1, 3, N).astype(np.int32),
        rng.random(N),
        rng.random(N) < 0.5,
    )
    owner = rng.integers(0, N_PARTITIONS, N)
    for i in range(N_PARTITIONS):
        part = take_rows(labels, owner == i)
        start = np.searchsorted(part.rows, source.offsets)
        StoredLabels(run.folder).write(i, part, start=start)
    return run, source, table, labels


def labels_of(codes):
    return [None if code < 0 else str(CLASSES[code]) for code in codes]


def test_ids_labels_and_confidences_are_in_the_order_of_the_input(job):
    run, source, table, labels = job
    out = run.folder / "transduction"

    write_labels(run, CLASSES, source, id_layout(source.schema, "y", ["key"]), N_PARTITIONS, out)

    written = pa.dataset.dataset(out.url).to_table()
    assert written.schema == pa.schema(
        {"key": pa.large_string(), "y": pa.string(), "confidence": pa.float64()}
    )
    assert written["key"].to_pylist() == table["key"].to_pylist()
    assert written["y"].to_pylist() == labels_of(labels.codes)
    np.testing.assert_array_equal(written["confidence"].to_numpy(), labels.confidence)
    files = ["_SUCCESS", *(output_name(i) for i in range(len(source.row_ranges)))]
    assert out.names() == files
    assert len(pd.read_parquet(out.url)) == N


@pytest.mark.parametrize(
    ("classes", "kind"), [([3, 5, 8], pa.int64()), ([False, True, True], pa.bool_())]
)
def test_without_ids_rows_have_numbers_and_labels_the_type_of_the_classes(job, classes, kind):
    run, source, _, labels = job
    out, layout = run.folder / "transduction", id_layout(source.schema, "y", [])

    write_labels(run, np.array(classes), source, layout, N_PARTITIONS, out)

    written = pa.dataset.dataset(out.url).to_table()
    assert written.schema.names == ["row", "y", "confidence"]
    assert written["row"].to_pylist() == list(range(N))
    assert written.schema.field("y").type == kind
    expected = [None if code < 0 else classes[code] for code in labels.codes]
    assert written["y"].to_pylist() == expected


def test_the_whole_table_has_its_columns_and_the_new_ones(job, tmp_path):
    run, source, table, labels = job
    out = Folder((tmp_path / "out").as_uri())

    write_labels(run, CLASSES, source, table_layout(source, "y"), N_PARTITIONS, out)

    written = pa.dataset.dataset(tmp_path / "out").to_table()
    assert written.schema.names == ["key", "a", "y", "note", "y_confidence", "y_source"]
    for name in ("key", "a", "note"):
        assert written[name].to_pylist() == table[name].to_pylist()
    assert written["y"].to_pylist() == labels_of(labels.codes)
    confidence = np.where(labels.is_given, 1, labels.confidence)
    np.testing.assert_array_equal(written["y_confidence"], np.round(confidence, 6))
    assert written["y_source"].to_pylist() == [
        "given" if is_given else "predicted" for is_given in labels.is_given
    ]


def test_labels_may_have_another_type_in_each_file(job, tmp_path):
    run, source, table, labels = job
    first = table.slice(0, 30).set_column(2, "y", pa.nulls(30))
    pa.parquet.write_table(first, tmp_path / "data" / "0.parquet", row_group_size=9)
    source = split_rows(run, open_source(tmp_path / "data"), 11)
    out = Folder(str(tmp_path / "out"))
    write_labels(run, CLASSES, source, table_layout(source, "y"), N_PARTITIONS, out)
    written = pa.dataset.dataset(tmp_path / "out").to_table()
    assert written["y"].to_pylist() == labels_of(labels.codes)
    assert written["key"].to_pylist() == table["key"].to_pylist()


def test_a_table_with_a_column_of_the_result_is_refused(job):
    _, source, _, _ = job
    path = source.files[0].url
    pa.parquet.write_table(pa.table({"y": ["a"], "y_source": [1]}), path)
    with pytest.raises(
        TableError, match=r"0\.parquet already has a column 'y_source', which the result"
    ):
        table_layout(open_source(path), "y")


@pytest.mark.parametrize("fault", ["missing", "twice", "elsewhere"])
def test_every_row_must_have_one_label(job, fault):
    run, source, _, _ = job
    part = StoredLabels(run.folder).read(0, Labels)
    start = np.searchsorted(part.rows, source.offsets)
    if fault == "missing":
        part = take_rows(part, slice(1, None))
        start = np.searchsorted(part.rows, source.offsets)
    elif fault == "twice":
        part.rows[1] = part.rows[0]
    else:
        part.rows[0] += N
    StoredLabels(run.folder).write(0, part, start=start)
    out, layout = run.folder / "out", id_layout(source.schema, "y", [])
    with pytest.raises(
        InputError, match="labels does not have exactly one label for each of the rows 0"
    ):
        write_labels(run, CLASSES, source, layout, N_PARTITIONS, out)
    assert not out.exists("_SUCCESS")
    assert not out.exists(output_name(0))


def test_a_folder_that_is_not_empty_is_refused(tmp_path):
    check_empty(Folder(str(tmp_path)))
    check_empty(Folder(str(tmp_path / "new")))
    (tmp_path / "a").write_text("")
    with pytest.raises(InputError, match="already has 'a'; choose a new folder, or an empty one"):
        check_empty(Folder(str(tmp_path)))


def test_a_file_whose_writing_failed_does_not_exist(job, tmp_path, monkeypatch):
    _, source, _, _ = job
    monkeypatch.setattr(read_batches, "__defaults__", (4,))

    def fail_later(batch, first):
        if first:
            message = "while writing"
            raise RuntimeError(message)
        return pa.array(["ant"] * batch.num_rows), np.ones(batch.num_rows), None

    item, layout = (source.row_ranges[0], 0), id_layout(source.schema, "y", ["key"])
    with pytest.raises(RuntimeError, match="while writing"):
        write_range(Folder(str(tmp_path / "out")), 0, item, layout, ["key"], fail_later)
    assert list((tmp_path / "out").iterdir()) == []
