"""Labels come out in the order of the input, each row once, whatever the parts were."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from graphmargin._errors import InputError
from graphmargin.distributed.ingest import Table
from graphmargin.distributed.output import (
    check_new,
    ids_layout,
    parquet_writer,
    part_name,
    table_layout,
    write_labels,
)
from graphmargin.distributed.run import file_name, open_run
from graphmargin.distributed.source import cut, open_source
from graphmargin.distributed.storage import Folder
from graphmargin.labeling.findings import SOURCES
from graphmargin.tables.errors import TableError

N, N_PARTS = 47, 3
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
    source = cut(run, open_source(tmp_path / "data"), 11)
    found = {
        "codes": rng.integers(-1, 3, N).astype(np.int32),
        "confidence": rng.random(N),
        "source": rng.integers(0, 3, N).astype(np.int8),
    }
    part = rng.integers(0, N_PARTS, N)
    for i in range(N_PARTS):
        rows = np.flatnonzero(part == i)
        arrays = {"rows": rows, **{key: value[rows] for key, value in found.items()}}
        start = np.searchsorted(rows, source.offsets)
        (run.folder / "labels").write(file_name(i), arrays, start=start)
    about = Table(
        source.offsets,
        CLASSES,
        np.zeros((len(source.pieces), 3), dtype=int),
        np.zeros(1),
        np.ones(1),
        np.dtype(np.float64),
    )
    return run, source, about, table, found


def labels_of(codes):
    return [None if code < 0 else str(CLASSES[code]) for code in codes]


def test_ids_labels_and_confidences_are_in_the_order_of_the_input(job):
    run, source, about, table, found = job
    out = run.folder / "transduction"

    write_labels(run, about, source, ids_layout(source.schema, "y", ["key"]), N_PARTS, out)

    written = pa.dataset.dataset(out.url).to_table()
    assert written.schema == pa.schema(
        {"key": pa.large_string(), "y": pa.string(), "confidence": pa.float64()}
    )
    assert written["key"].to_pylist() == table["key"].to_pylist()
    assert written["y"].to_pylist() == labels_of(found["codes"])
    np.testing.assert_array_equal(written["confidence"].to_numpy(), found["confidence"])
    files = ["_SUCCESS", *(part_name(i) for i in range(len(source.pieces)))]
    assert out.names() == files
    assert len(pd.read_parquet(out.url)) == N


@pytest.mark.parametrize(
    ("classes", "kind"), [([3, 5, 8], pa.int64()), ([False, True, True], pa.bool_())]
)
def test_without_ids_rows_have_numbers_and_labels_the_type_of_the_classes(job, classes, kind):
    run, source, about, _, found = job
    about = Table(**{**vars(about), "classes": np.array(classes)})
    out = run.folder / "transduction"

    write_labels(run, about, source, ids_layout(source.schema, "y", []), N_PARTS, out)

    written = pa.dataset.dataset(out.url).to_table()
    assert written.schema.names == ["row", "y", "confidence"]
    assert written["row"].to_pylist() == list(range(N))
    assert written.schema.field("y").type == kind
    expected = [None if code < 0 else classes[code] for code in found["codes"]]
    assert written["y"].to_pylist() == expected


def test_the_whole_table_has_its_columns_and_the_new_ones(job, tmp_path):
    run, source, about, table, found = job
    out = Folder((tmp_path / "out").as_uri())

    write_labels(run, about, source, table_layout(source, "y"), N_PARTS, out)

    written = pa.dataset.dataset(tmp_path / "out").to_table()
    assert written.schema.names == ["key", "a", "y", "note", "y_confidence", "y_source"]
    for name in ("key", "a", "note"):
        assert written[name].to_pylist() == table[name].to_pylist()
    assert written["y"].to_pylist() == labels_of(found["codes"])
    sure = np.where(found["source"] == SOURCES.index("given"), 1, found["confidence"])
    np.testing.assert_array_equal(written["y_confidence"], np.round(sure, 6))
    assert written["y_source"].to_pylist() == [SOURCES[i] for i in found["source"]]


def test_labels_may_have_another_type_in_each_file(job, tmp_path):
    run, source, about, table, found = job
    first = table.slice(0, 30).set_column(2, "y", pa.nulls(30))
    pa.parquet.write_table(first, tmp_path / "data" / "0.parquet", row_group_size=9)
    source = cut(run, open_source(tmp_path / "data"), 11)
    out = Folder(str(tmp_path / "out"))
    write_labels(run, about, source, table_layout(source, "y"), N_PARTS, out)
    written = pa.dataset.dataset(tmp_path / "out").to_table()
    assert written["y"].to_pylist() == labels_of(found["codes"])
    assert written["key"].to_pylist() == table["key"].to_pylist()


def test_columns_of_the_result_must_be_free(job):
    _, source, _, _, _ = job
    with pytest.raises(TableError, match="two columns are called 'confidence'"):
        ids_layout(source.schema, "confidence", ["key"])
    with pytest.raises(TableError, match="two columns are called 'row'"):
        ids_layout(source.schema, "row", [])
    path = source.files[0].url
    pa.parquet.write_table(pa.table({"y": ["a"], "y_source": [1]}), path)
    with pytest.raises(TableError, match=r"0\.parquet has a column 'y_source', which the result"):
        table_layout(open_source(path), "y")


@pytest.mark.parametrize("fault", ["missing", "twice", "elsewhere"])
def test_every_row_must_have_one_label(job, fault):
    run, source, about, _, _ = job
    folder = run.folder / "labels"
    pack = folder.read(file_name(0))
    start = np.searchsorted(pack["rows"], source.offsets)
    if fault == "missing":
        pack = {key: value[1:] for key, value in pack.items()}
        start = np.searchsorted(pack["rows"], source.offsets)
    elif fault == "twice":
        pack["rows"][1] = pack["rows"][0]
    else:
        pack["rows"][0] += N
    folder.write(file_name(0), pack, start=start)
    with pytest.raises(InputError, match="labels does not hold one label for each of the rows 0"):
        write_labels(
            run, about, source, ids_layout(source.schema, "y", []), N_PARTS, run.folder / "out"
        )
    assert not (run.folder / "out").exists("_SUCCESS")
    assert not (run.folder / "out").exists(part_name(0))


def test_a_folder_that_holds_something_is_refused(tmp_path):
    check_new(Folder(str(tmp_path)))
    check_new(Folder(str(tmp_path / "new")))
    (tmp_path / "a").write_text("")
    with pytest.raises(InputError, match="holds 'a' already; choose a new folder, or an empty one"):
        check_new(Folder(str(tmp_path)))


def write_half(folder):
    with parquet_writer(folder, "a.parquet") as write:
        write(pa.table({"x": [1]}))
        write(pa.table({"x": [2]}))
        message = "on the way"
        raise RuntimeError(message)


def test_a_file_that_failed_on_the_way_is_not_there(tmp_path):
    with pytest.raises(RuntimeError, match="on the way"):
        write_half(Folder(str(tmp_path)))
    assert list(tmp_path.iterdir()) == []
