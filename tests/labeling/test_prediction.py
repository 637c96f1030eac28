from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.prediction import compare_labels, predict_file
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labels import UNLABELED_IN_PYTHON, UNLABELED_IN_TABLES
from graphmargin.tables import reading
from graphmargin.tables.reading import read_table
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.writing import table_writer

NAMED = UNLABELED_IN_TABLES.with_texts(["?", "-1"])


@pytest.fixture(scope="module")
def model(labeled_pets):
    return labeled_pets.model()


@pytest.fixture
def small_chunks(monkeypatch):
    """Read seven rows at a time."""
    monkeypatch.setattr(
        "graphmargin.labeling.prediction.read_chunks", lambda path: reading.read_chunks(path, 7)
    )


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("suffix", ["csv", "tsv", "parquet", "xlsx", "jsonl", "csv.gz", "csv.zip"])
def test_every_format_is_predicted_in_chunks(suffix, model, mixed_table, tmp_path):
    new = mixed_table(50, seed=2)[0].drop(columns="kind")
    whole = tmp_path / "new.parquet"
    new.to_parquet(whole)
    source = tmp_path / f"a.{suffix}"
    from graphmargin.tables.writing import table_writer

    with table_writer(source) as write:
        write(new)
    told = []
    summary = predict_file(
        model, source, tmp_path / f"b.{suffix}", progress=lambda _, news: told.append(news)
    )
    written = read_table(tmp_path / f"b.{suffix}")
    labels, confidence = model.label(read_table(whole))
    assert written["kind"].tolist() == labels.tolist()
    written_confidence = written["kind_confidence"].astype(float)
    assert written_confidence.to_numpy() == pytest.approx(confidence, abs=1e-6)
    assert summary.n_rows == 50
    assert summary.n_checked == 0
    assert summary.mean_confidence == pytest.approx(confidence.mean())
    assert summary.counts == {k: int((labels == k).sum()) for k in ("bird", "cat", "dog")}
    assert told[0] == "7 rows"
    assert told[-1] == "50 rows"


@pytest.mark.usefixtures("small_chunks")
def test_predictions_are_compared_with_given_labels(model, mixed_table, tmp_path):
    new, names = mixed_table(50, seed=2)
    new["kind"] = np.where(np.arange(50) < 20, names, None)
    new.loc[0, "kind"] = "fish"
    new.loc[[30, 31], "kind"] = "None", "nan"  # which mean no label in training, too
    new.to_csv(tmp_path / "a.csv", index=False)
    summary = predict_file(model, tmp_path / "a.csv", tmp_path / "b.csv")
    written = read_table(tmp_path / "b.csv")
    assert summary.column == "kind_predicted"
    assert summary.n_checked == 20
    same = written["kind_predicted"][:20].to_numpy() == written["kind"][:20].to_numpy()
    assert summary.n_right == same.sum()
    assert written["kind"][0] == "fish"


@pytest.mark.usefixtures("small_chunks")
@pytest.mark.parametrize("suffix", ["csv", "parquet", "xlsx", "jsonl"])
def test_rows_that_are_not_sure_stay_empty(suffix, model, mixed_table, tmp_path):
    new, names = mixed_table(50, seed=2)
    new["kind"] = names
    source, out = tmp_path / f"a.{suffix}", tmp_path / f"b.{suffix}"
    with table_writer(source) as write:
        write(new)
    labels, confidence = model.label(read_table(source))
    order = np.argsort(confidence)
    threshold = float(confidence[order[30]])
    summary = predict_file(model, source, out, min_confidence=threshold, coverage=0.8)
    written = read_table(out)
    is_sure = confidence >= threshold
    assert summary.n_left_empty == 30
    assert np.array_equal(written["kind_predicted"].notna(), is_sure)
    assert written["kind_predicted"][is_sure].tolist() == labels[is_sure].tolist()
    written_confidence = written["kind_confidence"].astype(float)
    assert written_confidence.to_numpy() == pytest.approx(confidence, abs=1e-6)
    assert summary.mean_confidence == pytest.approx(confidence.mean())
    assert sum(summary.counts.values()) == summary.n_checked == 20
    assert summary.n_right == (labels == names)[is_sure].sum()
    sets = model.predict_set(read_table(source), 0.8)
    expected = [" | ".join(model.classes[row]) for row in sets]
    assert written["kind_set"].fillna("").tolist() == expected
    assert summary.warnings == ()


def test_a_chunk_without_a_sure_row_keeps_the_type_of_the_column(model, mixed_table, tmp_path):
    new = mixed_table(20, seed=2)[0].drop(columns="kind")
    new.to_parquet(tmp_path / "a.parquet")
    out = tmp_path / "b.parquet"
    summary = predict_file(model, tmp_path / "a.parquet", out, min_confidence=1.0)
    assert summary.n_left_empty == 20
    assert summary.counts == {"bird": 0, "cat": 0, "dog": 0}
    assert pd.read_parquet(out)["kind"].dtype == "string"


def test_sets_need_held_out_labels_and_a_free_column(model, mixed_table, tmp_path):
    new = mixed_table(20, seed=2)[0].drop(columns="kind")
    new.to_csv(tmp_path / "a.csv", index=False)
    arguments = tmp_path / "a.csv", tmp_path / "b.csv"
    summary = predict_file(model, *arguments, coverage=0.99)
    assert summary.warnings[0].startswith("15 labels can guarantee a coverage of at most 0.938")
    with pytest.raises(TableError, match="`coverage` needs held-out labels"):
        predict_file(replace(model, held_out=None), *arguments, coverage=0.9)
    new.assign(kind_set=1).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(TableError, match="'kind_set'"):
        predict_file(model, *arguments, coverage=0.9)
    predict_file(model, *arguments)


@pytest.mark.parametrize("labels", [[3, None, 7, None], ["a", "?", "b", "None"]])
def test_given_labels_are_parsed_as_in_training(labels, tmp_path):
    table = pd.DataFrame({"x": [0.0, 0.1, 5.0, 5.1], "k": labels})
    model = label_rows(task_of(table, "k", unlabeled=["?"])).model()
    table.to_csv(tmp_path / "a.csv", index=False)
    summary = predict_file(model, tmp_path / "a.csv", tmp_path / "b.csv")
    assert (summary.n_checked, summary.n_right) == (2, 2)


def test_a_table_without_rows_is_predicted(model, mixed_table, tmp_path):
    mixed_table()[0].drop(columns="kind").iloc[:0].to_csv(tmp_path / "a.csv", index=False)
    summary = predict_file(model, tmp_path / "a.csv", tmp_path / "b.csv")
    assert summary.n_rows == 0
    assert np.isnan(summary.mean_confidence)
    assert len(read_table(tmp_path / "b.csv")) == 0


@pytest.mark.usefixtures("small_chunks")
def test_a_bad_chunk_leaves_no_file(model, mixed_table, tmp_path):
    new = mixed_table(50, seed=2)[0].drop(columns="kind")
    new["weight"] = new["weight"].astype(object)
    new.loc[30, "weight"] = "heavy"
    new.to_json(tmp_path / "a.jsonl", orient="records", lines=True, date_format="iso")
    with pytest.raises(TableError, match=r"^a\.jsonl: column 'weight' .* in row 31,"):
        predict_file(model, tmp_path / "a.jsonl", tmp_path / "b.jsonl")
    assert [path.name for path in tmp_path.iterdir()] == ["a.jsonl"]


def test_the_target_may_have_the_name_of_an_argument(tmp_path):
    table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "self": ["cat", None, "dog", None]})
    model = label_rows(task_of(table, "self")).model()
    table[["size"]].to_csv(tmp_path / "a.csv", index=False)
    predict_file(model, tmp_path / "a.csv", tmp_path / "b.csv")
    assert read_table(tmp_path / "b.csv")["self"].tolist() == ["cat", "cat", "dog", "dog"]


@pytest.mark.parametrize(
    ("given", "labels", "rule", "is_labeled", "right"),
    [
        # An empty cell has made floats of integers, of which -1 means unlabeled.
        ([-1.0, np.nan, 3.0, 4.0], [3, 3, 3, 3], NAMED, [2, 3], [2]),
        ([-1.0, np.nan, 3.0, 4.0], [3, 3, 3, 3], UNLABELED_IN_PYTHON, [2, 3], [2]),
        (["?", "", "nan", " a "], ["a", "a", "a", "a"], NAMED, [3], [3]),
        (["?", "", "nan", " a "], ["a", "a", "nan", " a "], UNLABELED_IN_PYTHON, [0, 2, 3], [2, 3]),
        ([[1], None, "a"], ["a", "a", "a"], NAMED, [2], [2]),
    ],
)
def test_labeled_rows_are_those_of_the_rule(given, labels, rule, is_labeled, right):
    checked = compare_labels(pd.Series(given), np.array(labels), rule)
    assert [np.flatnonzero(mask).tolist() for mask in checked] == [is_labeled, right]
