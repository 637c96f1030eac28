"""Predictions of files by many workers are those of one process."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset
import pyarrow.parquet
import pytest

from graphmargin import HarmonicClassifier
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io import row_prediction as module
from graphmargin.distributed.io.output import atomic_folder
from graphmargin.distributed.io.row_encoder import NumberColumns
from graphmargin.distributed.io.row_prediction import RowPredictor, predict_parquet
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.prediction import predict_file
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.tables.table_errors import TableError

SIZE = NumberColumns(("size",), np.dtype(np.float64))


@pytest.fixture(autouse=True)
def _small_files(monkeypatch):
    monkeypatch.setattr(module, "ROWS_PER_FILE", 40)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    group = np.arange(150) % 3
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(150)],
            "size": group * 4.0 + rng.normal(3, 0.4, 150),
            "color": rng.choice(["red", "black"], 150),
            "kind": np.where(np.arange(150) % 5 == 0, np.array(["x", "y", "z"])[group], None),
        }
    )


@pytest.fixture(scope="module")
def model(table):
    return label_rows(task_of(table, "kind", ignore=["key"])).model()


@pytest.fixture
def files(tmp_path, table):
    folder = tmp_path / "data"
    folder.mkdir()
    for i, rows in enumerate([slice(0, 70), slice(70, 70), slice(70, 150)]):
        part = table.iloc[rows]
        part.to_parquet(folder / f"{i}.parquet", index=False)
    return folder


@pytest.mark.parametrize("has_target", [True, False])
def test_predictions_are_those_of_one_process(cluster, tmp_path, table, model, has_target):
    given = table if has_target else table.drop(columns="kind")
    source = tmp_path / "new.parquet"
    given.to_parquet(source, index=False, row_group_size=50)
    expected = predict_file(model, source, tmp_path / "one.parquet")

    reports = []
    predicted = predict_parquet(
        cluster,
        RowPredictor.of_table(model),
        source,
        Folder(str(tmp_path / "out")),
        progress=lambda *report: reports.append(report),
    )

    alone = pd.read_parquet(tmp_path / "one.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), alone)
    assert predicted.mean_confidence == pytest.approx(expected.mean_confidence)
    assert (
        predicted.column,
        predicted.n_rows,
        predicted.counts,
        predicted.n_checked,
        predicted.n_right,
    ) == (
        expected.column,
        expected.n_rows,
        expected.counts,
        expected.n_checked,
        expected.n_right,
    )
    assert reports[-1][0] == 1.0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new.parquet", "one.parquet", "out"]


def test_a_predictor_of_numbers_finds_its_columns_by_name(cluster, tmp_path, files, table):
    codes = np.array([{"x": 3, "y": 5, "z": 8}.get(kind, -1) for kind in table["kind"]])
    classifier = HarmonicClassifier().fit(table[["size"]].to_numpy(), codes)
    predictor = RowPredictor(SIZE, classifier.predictor_, "class")

    predicted = predict_parquet(
        cluster, predictor, files, Folder.at(tmp_path / "out"), columns=["key"]
    )

    written = pa.dataset.dataset(tmp_path / "out").to_table()
    assert written.schema.names == ["key", "class", "confidence"]
    assert written["key"].to_pylist() == table["key"].tolist()
    X = table[["size"]].to_numpy()
    np.testing.assert_array_equal(written["class"], classifier.predict(X))
    confidence = classifier.predict_proba(X).max(axis=1)
    np.testing.assert_allclose(written["confidence"], confidence, atol=1e-12)
    assert predicted.counts == {
        str(k): int((classifier.predict(X) == k).sum()) for k in classifier.classes_
    }


def test_without_columns_rows_have_numbers(cluster, tmp_path, files, model):
    (tmp_path / "out").mkdir()
    out = Folder.at((tmp_path / "out").as_uri())
    predicted = predict_parquet(cluster, RowPredictor.of_table(model), files, out, columns=[])
    written = pa.dataset.dataset(tmp_path / "out").to_table()
    assert written.schema.names == ["row", "kind", "confidence"]
    assert written["row"].to_pylist() == list(range(150))
    assert predicted.n_checked == 30


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.drop(columns="size"), "has no column 'size'; did you mean|it has"),
        (lambda t: t.assign(kind_confidence=1), "has a column 'kind_confidence', which the result"),
        (
            lambda t: t.assign(size=["big" if i == 149 else "1" for i in range(150)]),
            r"1\.parquet: column 'size' has 'big' in row 70, which is not a number",
        ),
    ],
    ids=["absent", "taken", "cell"],
)
def test_bad_tables_are_refused_and_leave_no_files(
    cluster, tmp_path, table, model, change, message
):
    changed = change(table)
    (tmp_path / "data").mkdir()
    changed.iloc[:80].to_parquet(tmp_path / "data" / "0.parquet", index=False)
    changed.iloc[80:].to_parquet(tmp_path / "data" / "1.parquet", index=False)
    with pytest.raises(TableError, match=message):
        predict_parquet(
            cluster, RowPredictor.of_table(model), tmp_path / "data", Folder.at(tmp_path / "out")
        )
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_invalid_cells_are_missing_as_in_training_and_counted(cluster, tmp_path, table):
    invalid = table.assign(size=table["size"].astype(str).mask(table["key"].eq("k77"), "oops"))
    model = label_rows(task_of(invalid, "kind", ignore=["key"])).model()
    source = tmp_path / "new.parquet"
    invalid.to_parquet(source, index=False, row_group_size=50)
    expected = predict_file(model, source, tmp_path / "one.parquet")
    out = Folder(str(tmp_path / "out"))
    predicted = predict_parquet(cluster, RowPredictor.of_table(model), source, out)
    text = "column 'size': 1 cell is not a number and counts as missing ('oops'"
    assert predicted.warnings == (f"{text})",)
    assert expected.warnings == (f"{text} in row 78)",)
    alone = pd.read_parquet(tmp_path / "one.parquet")
    pd.testing.assert_frame_equal(pd.read_parquet(tmp_path / "out"), alone)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        (np.where(np.arange(150) == 77, np.nan, 1.0), "'size' has nan in row 78; fill"),
        (np.where(np.arange(150) == 77, 2e100, 1.0), r"'size' has 2e\+100 in row 78; fill"),
        # Text that can be read as numbers is no column of numbers in `fit` either.
        ("1", r"'size' is .*string, and not a number"),
    ],
    ids=["missing", "huge", "text"],
)
def test_cells_that_are_not_numbers_are_named(cluster, tmp_path, table, size, message):
    classifier = HarmonicClassifier().fit(table[["size"]].to_numpy(), np.arange(150) % 3)
    table.assign(size=size).to_parquet(tmp_path / "a.parquet")
    predictor = RowPredictor(SIZE, classifier.predictor_, "class")
    with pytest.raises(TableError, match=rf"a\.parquet: feature {message}"):
        predict_parquet(cluster, predictor, tmp_path / "a.parquet", Folder.at(tmp_path / "out"))
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]


def test_a_table_with_a_column_of_the_result_is_refused(cluster, tmp_path, files, model):
    out = Folder.at(tmp_path / "out")
    with pytest.raises(TableError, match="are both 'kind'"):
        predict_parquet(cluster, RowPredictor.of_table(model), files, out, columns=["kind"])


def test_an_object_store_gets_a_success_file_last_or_no_files():
    out = Folder.at("memory://predictions/out")
    try:
        with atomic_folder(out) as folder:
            assert folder == out
            folder.write_bytes("part-000000.parquet", b"")
        assert out.names() == ["_SUCCESS", "part-000000.parquet"]
    finally:
        out.remove()
