"""Encoded rows and codes of Parquet files, and errors about bad cells."""

from __future__ import annotations

import datetime

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphmargin.distributed.engine.handles import Rows, StoredRows
from graphmargin.distributed.engine.run import open_run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.ingest import compute_moments, draw_rows, ingest, read_sample
from graphmargin.distributed.io.label_column import LabelColumn
from graphmargin.distributed.io.parquet_files import check_types
from graphmargin.distributed.io.row_encoder import EncodedColumns, choose_encoder
from graphmargin.distributed.io.row_ranges import open_source, split_rows
from graphmargin.graph.weights import paper_width
from graphmargin.labels import UNLABELED_IN_PYTHON, encode_labels
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import fit_transform


@pytest.fixture
def read(cluster, tmp_path):
    """Return a function that writes tables to files and ingests them."""

    def run_all(*tables, features=None, label="y", id=None, max_rows=5):
        (tmp_path / "data").mkdir(exist_ok=True)
        for i, table in enumerate(tables):
            pa.parquet.write_table(pa.table(table), tmp_path / "data" / f"{i}.parquet")
        run = open_run(Folder(str(tmp_path / "run")), cluster, {}, resume=True)
        source = open_source(tmp_path / "data")
        encoder = choose_encoder(source.schema, features, label=label, id=id, where="data")
        check_types(source.files, [*encoder.columns, label], any_type=[label])
        source = split_rows(run, source, max_rows)
        return run, ingest(run, source, encoder, LabelColumn(label, UNLABELED_IN_PYTHON), id)

    return run_all


def stored(run, table):
    return StoredRows(run.folder).read_all(table.n_ranges, Rows)


def columns(n=23, seed=0, **others):
    rng = np.random.default_rng(seed)
    labels = np.where(rng.random(n) < 0.5, rng.choice(["cat", "dog", "ant"], n), None)
    return {"a": rng.normal(size=n), "b": rng.integers(0, 9, n), "y": labels.tolist(), **others}


def test_points_codes_and_counts_are_those_of_the_whole_table(read):
    first, second = columns(23), columns(9, seed=1)
    run, table = read(first, second)

    X, codes = stored(run, table)
    expected = encode_labels(first["y"] + second["y"])

    np.testing.assert_array_equal(X[:, 0], np.r_[first["a"], second["a"]])
    np.testing.assert_array_equal(X[:, 1], np.r_[first["b"], second["b"]])
    assert X.dtype == table.dtype == np.float64
    np.testing.assert_array_equal(codes, expected.codes)
    assert codes.dtype == np.int32
    assert table.classes.tolist() == expected.classes.tolist()
    np.testing.assert_array_equal(table.label_counts.sum(axis=0), expected.one_hot.sum(axis=0))
    assert table.n_labeled == expected.labeled.sum()
    assert (table.n_rows, table.n_features) == (32, 2)
    assert table.n_ranges == 7
    for i in range(table.n_ranges):
        here = codes[table.offsets[i] : table.offsets[i + 1]]
        counts = np.bincount(here[here >= 0], minlength=3)
        np.testing.assert_array_equal(table.label_counts[i], counts)


def test_the_width_is_that_of_the_whole_table(read):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 3)) * [1e-3, 1, 1e4] + [0.2, 0, -3]
    table = dict(zip("abc", X.T, strict=True))
    _, summary = read({**table, "y": ["p", "q"] * 250}, max_rows=33)
    np.testing.assert_allclose(summary.mean, X.mean(axis=0), atol=1e-15 * np.abs(X).max())
    np.testing.assert_allclose(summary.spread, X.std(axis=0), rtol=1e-12)
    width = np.sqrt(3) * summary.spread.mean()
    np.testing.assert_allclose(width, paper_width(X), rtol=1e-12)


@given(
    hnp.arrays(np.float64, (12, 2), elements=st.floats(-1e150, 1e150)),
    st.integers(1, 11),
)
def test_moments_merge_at_any_cut_and_scale(X, at):
    whole = compute_moments(X)
    merged = compute_moments(X[:at]).merge(compute_moments(X[at:]))
    size = np.abs(X).max() + 1e-300
    np.testing.assert_allclose(merged.mean, whole.mean, rtol=1e-12, atol=1e-12 * size)
    np.testing.assert_allclose(merged.spread, whole.spread, rtol=1e-9, atol=1e-12 * size)


@pytest.mark.parametrize(
    ("types", "dtype"),
    [
        ((pa.float32(), pa.float16()), np.float32),
        ((pa.float32(), pa.int8()), np.float64),
        ((pa.float64(), pa.bool_()), np.float64),
        ((pa.decimal128(5, 2), pa.uint64()), np.float64),
    ],
)
def test_numbers_of_all_types_are_encoded(read, types, dtype):
    arrays = [pa.array([0, 1, 1, 0], pa.int8()).cast(kind) for kind in types]
    run, table = read({"a": arrays[0], "b": arrays[1], "y": ["p", "q", None, None]})
    X, _ = stored(run, table)
    assert X.dtype == table.dtype == dtype
    assert X.tolist() == [[0, 0], [1, 1], [1, 1], [0, 0]]


def test_files_without_labels_may_have_any_type(read):
    run, table = read(
        {"a": [1.0], "y": pa.nulls(1)},
        {"a": [2.0, 3.0], "y": ["p", "q"]},
        {"a": [4.0], "y": [float("nan")]},
    )
    assert stored(run, table).codes.tolist() == [-1, 0, 1, -1]


def test_whole_floats_in_one_file_are_the_integers_of_another(read):
    run, table = read({"a": [1.0, 2], "y": [1.0, None]}, {"a": [2.0, 3], "y": [2, 1]})
    assert table.classes.dtype == np.int64
    assert stored(run, table).codes.tolist() == [0, -1, 1, 0]


def test_all_labels_may_be_in_one_row_range(read):
    run, table = read({"a": np.arange(20.0), "y": ["p", "q", *[None] * 18]})
    assert table.label_counts.tolist() == [[1, 1], [0, 0], [0, 0], [0, 0]]
    assert draw_rows(run, table, np.array([1, 1]), 0, seed=0).tolist() == [0, 1]


NAN, INF = float("nan"), float("inf")
Y = ["p", "q", None, "p", "q", None]


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (
            {"a": [1, 2, 3, 4, NAN, NAN], "y": Y},
            r"feature 'a' has 2 values that are missing or larger than 1e\+100, first nan in "
            r".*0.parquet row 5; fill",
        ),
        ({"a": [1, 2, -3e110, 4, 5, 6], "y": Y}, r"first -3e\+110 in .*0.parquet row 3; fill"),
        ({"a": [1, -INF, 3, 4, 5, 6.0], "y": Y}, "first -inf in .*0.parquet row 2; fill"),
        ({"a": [1, 2, 3, None, 5, 6], "y": Y}, "first nan in .*0.parquet row 4; fill"),
        ({"a": range(6), "y": [None] * 6}, "label 'y' has no labels: all 6 rows"),
        ({"a": range(6), "y": ["p", *[""] * 5]}, "all labels of 'y' are 'p'; label rows of at"),
        (
            {"a": range(6), "y": [1, 2, 3, 4, 2.5, 2.5]},
            "label 'y' has '2.5' in 2 rows, first in .*0.parquet row 5, which is not a class",
        ),
        ({"a": range(6), "y": [1, INF, 1, 1, 1, 1.0]}, "label 'y' has 'inf' in 1 rows, first in"),
        (
            {"a": range(6), "y": [datetime.date(2024, 1, 2)] * 6},
            "has '2024-01-02' in .* not a class",
        ),
        ({"a": range(6), "y": ["p", "q", "x" * 5000] * 2}, "row 3, which is not a class"),
        ({"a": range(6), "y": ["p", "q", "p\0"] * 2}, r"'p\\x00' in 2 rows, .* row 3, which is no"),
        ({"a": range(6), "y": [["p"], ["q"]] * 3}, "label 'y' is list<.*> in .*0.parquet; labels"),
        ({"a": range(20_000), "y": [str(i) for i in range(20_000)]}, "more than 10,000 different"),
    ],
    ids=[
        "nan",
        "huge",
        "inf",
        "null",
        "no label",
        "one class",
        "float",
        "inf label",
        "date",
        "long",
        "nul",
        "list",
        "many",
    ],
)
def test_bad_cells_are_named_with_their_file_and_row(read, tmp_path, table, message):
    with pytest.raises(TableError, match=message):
        read(table, max_rows=30_000)
    assert not list((tmp_path / "run").glob("rows/*.pack"))


@pytest.mark.parametrize(("dtype", "size"), [(pa.float64(), 1e-110), (pa.float32(), 1e-20)])
def test_features_whose_squares_vanish_are_refused(read, dtype, size):
    table = {"a": pa.array([size, -size] * 3, dtype), "y": Y}
    with pytest.raises(TableError, match=f"numbers of size {size:.0e}, whose squares vanish"):
        read(table)


def test_the_row_of_a_bad_cell_is_that_in_its_file_and_has_the_id(read):
    table = {"a": [*[1.0] * 7, INF], "y": ["p", "q"] * 4, "key": [f"k{i}" for i in range(8)]}
    other = {"a": [1.0], "y": ["p"], "key": ["z"]}
    with pytest.raises(TableError, match=r"first inf in .*1.parquet row 8 \(id 'k7'\); fill"):
        read(other, table, id="key", max_rows=3)


def test_labels_of_two_types_are_refused_with_both_files(read):
    with pytest.raises(
        TableError,
        match=r"'y' has text such as 'p' in .*1\.parquet, but whole numbers such as 3 in .*2\.parq",
    ):
        read({"a": [1], "y": pa.nulls(1)}, {"a": [1], "y": ["p"]}, {"a": [1], "y": [3]})


def test_features_of_any_kind_are_encoded(read, mixed_table):
    frame, _ = mixed_table(60)
    features = fit_transform(frame, ignore=["kind"])[0]
    table = pa.Table.from_pandas(frame, preserve_index=False)
    run, summary = read(
        table.slice(0, 33), table.slice(33), features=features, label="kind", id="id"
    )
    X, codes = stored(run, summary)
    np.testing.assert_allclose(X, features.transform(frame))
    assert summary.n_features == X.shape[1] == features.n_features
    assert "id" not in EncodedColumns(features).columns
    assert (codes >= 0).sum() == frame["kind"].notna().sum()


def test_a_cell_that_cannot_be_encoded_is_named(read):
    frame = pd.DataFrame({"a": [1.5, 2.5, 9.0, 4.0]})
    features = fit_transform(frame)[0]
    with pytest.raises(TableError, match=r"1\.parquet: column 'a' has 'x' in row 3, which is not"):
        read(
            {"a": ["1.5", "2", "2"], "y": ["p", "q", "p"]},
            {"a": ["1", "2", "x"], "y": ["p", "q", "p"]},
            features=features,
            max_rows=2,
        )


SCHEMA = pa.schema(
    {
        "a": pa.float64(),
        "b": pa.int8(),
        "flag": pa.bool_(),
        "price": pa.decimal128(5, 2),
        "note": pa.string(),
        "seen": pa.timestamp("us"),
        "color": pa.dictionary(pa.int8(), pa.string()),
        "y": pa.int64(),
        "key": pa.int64(),
        "list": pa.list_(pa.int64()),
    }
)


NO_NUMBERS = pa.schema([SCHEMA.field("y"), SCHEMA.field("note")])


def test_all_columns_of_numbers_are_features_unless_some_are_listed():
    encoder = choose_encoder(SCHEMA, None, label="y", id="key", where="t")
    assert encoder.columns == ("a", "b", "flag", "price")
    encoder = choose_encoder(SCHEMA, ["b", "a"], label="y", id=None, where="t")
    assert encoder.columns == ("b", "a")
    with pytest.raises(TableError, match="t has no column of numbers for features; it has: 'y', "):
        choose_encoder(
            SCHEMA.empty_table().select(["y", "note"]).schema, None, label="y", id=None, where="t"
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"features": ["a", "bb", "cc"]}, "t has no columns 'bb', 'cc'; did you mean 'b'. it has"),
        ({"features": ["pric"]}, "no column 'pric'; did you mean 'price'. it has"),
        ({"label": "Y"}, "t has no column 'Y'"),
        ({"id": "k"}, "t has no column 'k'"),
        ({"features": ["a", "note"]}, "feature 'note' is string in t, and not a number; encode it"),
        ({"features": ["seen"]}, r"'seen' is timestamp\[us\] in t, and not a number; convert it"),
        ({"features": ["color"]}, "feature 'color' is string in t, and not a number; encode it"),
        ({"features": ["a", "y"]}, "`features` has 'y', which is `label`; leave it out"),
        ({"features": ["a", "key"]}, "`features` has 'key', which is `id`; leave it out"),
        ({"features": ["a", "b", "a"]}, "`features` has 'a' twice"),
        ({"features": []}, "`features` is empty"),
        ({"features": "a"}, r"`features` must be a list of names, got 'a'; pass \['a'\]"),
        ({"features": 3}, "`features` must be a list of names, got 3"),
        ({"features": [3]}, "t has no column 3; it has"),
        ({"label": None}, "t has no column None; it has"),
        ({"id": "list"}, "`id` 'list' is list<.*> in t; pass a column of simple values"),
    ],
    ids=lambda value: (
        "-".join(f"{k}={v}" for k, v in value.items()) if isinstance(value, dict) else ""
    ),
)
def test_columns_that_cannot_be_features_are_refused(arguments, message):
    arguments = {"features": None, "label": "y", "id": "key", **arguments}
    features = arguments.pop("features")
    with pytest.raises(TableError, match=message):
        choose_encoder(SCHEMA, features, **arguments, where="t")


def test_rows_of_a_sample_are_those_of_the_packs(read):
    run, table = read(columns(200), max_rows=30)
    X, codes = stored(run, table)
    for rows in (np.array([0, 29, 30, 31, 150, 199]), np.arange(200), np.zeros(0, dtype=int)):
        sampled_X, sampled_codes = read_sample(run, table, rows)
        np.testing.assert_array_equal(sampled_X, X[rows])
        np.testing.assert_array_equal(sampled_codes, codes[rows])
        assert sampled_X.dtype == X.dtype


def test_samples_have_their_quotas_and_depend_on_the_seed_alone(read):
    run, table = read(columns(400), max_rows=60)
    _, codes = stored(run, table)
    rows = draw_rows(run, table, np.array([5, 1000, 0]), 30, seed=3)
    assert (np.diff(rows) > 0).all()
    counts = np.bincount(codes[rows] + 1, minlength=4)
    assert counts.tolist() == [30, 5, (codes == 1).sum(), 0]
    np.testing.assert_array_equal(rows, draw_rows(run, table, np.array([5, 1000, 0]), 30, seed=3))
    other = draw_rows(run, table, np.array([5, 1000, 0]), 30, seed=4)
    assert not np.array_equal(rows, other)


def test_a_table_is_read_only_once(read, tmp_path):
    table = columns(40)
    _, first = read(table)
    _, second = read(table)
    np.testing.assert_array_equal(first.mean, second.mean)
    np.testing.assert_array_equal(first.label_counts, second.label_counts)
    packs_ = sorted((tmp_path / "run" / "rows").glob("*.pack"))
    times = [path.stat().st_mtime_ns for path in packs_]
    read(table)
    assert [path.stat().st_mtime_ns for path in packs_] == times
