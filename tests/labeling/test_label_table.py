"""`label_table`: what the command computes, in one call of Python."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.datasets import load_wine

import graphmargin as gm
from graphmargin.cli import main
from graphmargin.datasets import load_digits, mask_labels
from graphmargin.tables import TableError
from graphmargin.tables.reading import read_table


def wine():
    """Return raw measurements with a category and a few gaps."""
    X, y = load_wine(return_X_y=True, as_frame=True)
    rng = np.random.default_rng(0)
    X["cellar"] = np.array(["north", "south", "east"])[(y + (rng.random(len(y)) < 0.3)) % 3]
    X.loc[rng.integers(0, len(y), 9), "malic_acid"] = np.nan
    few = mask_labels(y.to_numpy(), per_class=6, random_state=0)
    return X.assign(kind=np.where(few < 0, "", np.array(["a", "b", "c"])[few]))


def digits():
    X, y = (part[:300] for part in load_digits())
    few = mask_labels(y, per_class=3, random_state=0)
    return pd.DataFrame(X).add_prefix("pixel ").assign(kind=np.where(few < 0, "", few.astype(str)))


def mails():
    """Return texts, dates and numbers in text, a percentage and a cell that is no number."""
    rng = np.random.default_rng(0)
    n = 90
    truth = np.arange(n) % 2
    words = np.array([["offer", "money", "now", "win"], ["meeting", "report", "lunch", "plan"]])
    frame = pd.DataFrame(
        {
            "text": [" ".join(rng.choice(words[c], 6)) + f" {i}" for i, c in enumerate(truth)],
            "day": pd.date_range("2024-01-01", periods=n, freq="7h").strftime("%d.%m.%Y"),
            "share": [f"{value:.1f} %" for value in rng.uniform(0, 99, n)],
            "size": rng.normal(100 + 50 * truth, 20, n).round(1).astype(str),
        }
    )
    frame.loc[40, "size"] = "big"
    return frame.assign(kind=np.where(np.arange(n) < 16, np.array(["spam", "ham"])[truth], ""))


TABLES = {"wine": wine, "digits": digits, "mails": mails}


@pytest.fixture(params=[*TABLES, "pets"])
def table_path(request, tmp_path, mixed_table):
    table = mixed_table()[0] if request.param == "pets" else TABLES[request.param]()
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def page(path):
    """Return a report without its seconds, and without the names of options."""
    text = path.read_text()
    return re.sub(r"[\d.,]+ s(econds?)?\b", "", text).replace("--category", "<code>category</code>")


def test_labels_report_and_model_are_those_of_the_command(table_path, tmp_path):
    files = {name: tmp_path / f"command.{name}" for name in ("csv", "html", "graphmargin")}
    words = ["label", table_path, "-t", "kind", "--out", files["csv"], "--report", files["html"]]
    assert main([*map(str, words), "--model", str(files["graphmargin"]), "--quiet"]) == 0
    labeled = gm.label_table(table_path, "kind")
    pd.testing.assert_frame_equal(
        read_table(files["csv"]).astype(str), labeled.table.astype(str), check_dtype=False
    )
    paths = {"table_path": str(files["csv"]), "model_path": str(files["graphmargin"])}
    labeled.report(tmp_path / "python.html", **paths)
    assert page(tmp_path / "python.html") == page(files["html"])
    labeled.save(tmp_path / "python.graphmargin")
    rows = read_table(table_path)
    saved = files["graphmargin"], tmp_path / "python.graphmargin"
    probabilities = [gm.load_model(path).label_with_invalid_cells(rows)[1] for path in saved]
    np.testing.assert_array_equal(*probabilities)


@pytest.fixture(scope="module")
def frame():
    return wine()


@pytest.fixture(scope="module")
def labeled(frame):
    return gm.label_table(frame, "kind")


@pytest.mark.parametrize("convert", [pl.from_pandas, pa.Table.from_pandas], ids=["polars", "arrow"])
def test_a_frame_is_a_table(convert, frame, labeled):
    other = gm.label_table(convert(frame), "kind")
    np.testing.assert_array_equal(other.confidence, labeled.confidence)
    assert other.summary.members == labeled.summary.members
    assert isinstance(other.table, pd.DataFrame)


def test_the_index_of_a_frame_is_kept_and_the_frame_is_not_changed(frame, labeled):
    before = frame.set_index(np.arange(len(frame))[::-1] + 7)
    given = before.copy()
    table = gm.label_table(given, "kind").table
    pd.testing.assert_frame_equal(given, before)
    assert table.index.equals(before.index)
    assert table["kind"].tolist() == labeled.table["kind"].tolist()


def test_suggestions_and_label_errors_are_those_of_the_commands(labeled):
    rows = pd.DataFrame(labeled.suggest(4))
    assert rows.columns.tolist() == ["row", "label", "confidence", "gain", "reason", "cells"]
    assert len(rows) == 4
    assert (labeled.task.target.codes[rows["row"] - 1] < 0).all()
    audit = labeled.label_errors(0.3)
    assert audit.n_checked == labeled.summary.n_labels == 18


def test_a_notebook_shows_the_summary(labeled):
    text = labeled._repr_html_()
    estimate = labeled.summary.estimate
    assert "178 rows, target kind" in text
    assert f"{estimate.n_right} of {estimate.n_held_out} held-out labels" in text
    assert all(f">{name}</th>" in text for name in ("a", "b", "c"))
    assert "<script" not in text


def test_values_that_mean_unlabeled_may_be_numbers_or_one_text(frame):
    marked = frame.assign(kind=frame["kind"].replace("", "??"))
    assert gm.label_table(marked, "kind", unlabeled="??").summary.n_labels == 18
    codes = frame["kind"].map({"a": 0, "b": 1, "c": 2}).fillna(-1).astype(int)
    for marker in (-1, [-1], [-1.0], "-1"):
        with_codes = gm.label_table(
            frame.assign(kind=codes), "kind", method="linear-supervised", unlabeled=marker
        )
        assert with_codes.summary.n_labels == 18
    assert with_codes.summary.classes == ("0", "1", "2")


def test_columns_are_used_as_arguments_say(frame):
    numbered = frame.assign(number=np.arange(len(frame)))
    roles = {}
    for options in ({}, {"keep": "number", "category": ["magnesium"], "ignore": "ash"}):
        labeled = gm.label_table(numbered, "kind", method="linear-supervised", **options)
        roles[len(options)] = {use.name: use.role for use in labeled.summary.columns}
    changed = {name for name, role in roles[0].items() if roles[3][name] != role}
    assert changed == {"number", "magnesium", "ash"}
    assert [roles[3][name] for name in ("number", "magnesium", "ash")] == [
        *("number", "category", "left out")
    ]


def test_costs_and_seeds_reach_the_fit(frame):
    plain = gm.label_table(frame, "kind", method="linear-supervised")
    costly = gm.label_table(
        frame, "kind", method="linear-supervised", class_weight={"a": 50.0}, random_state=1
    )
    assert (costly.codes == 0).sum() > (plain.codes == 0).sum()
    rows = [labeled.fitted.choice.trials.held_out_rows for labeled in (plain, costly)]
    assert (rows[0] != rows[1]).any(), "another seed makes other folds"


def test_a_marker_of_most_rows_is_asked_about(frame):
    codes = frame["kind"].map({"a": 0, "b": 1, "c": 2}).fillna(-1).astype(int)
    for kind, shown in ((codes, "-1"), (frame["kind"].replace("", "?"), r"'\?'")):
        with pytest.raises(TableError, match=f"all rows have a label.* pass unlabeled={shown}$"):
            gm.label_table(frame.assign(kind=kind), "kind")
    full = frame.assign(kind=np.where(np.arange(len(frame)) % 3, "b", "a"))
    assert gm.label_table(full, "kind", method="linear-supervised").label_errors().n_checked > 0


def test_labels_of_several_types_become_one(frame):
    mixed = frame.assign(kind=frame["kind"].map({"a": 3, "b": "b", "c": "c"}).astype(object))
    table = gm.label_table(mixed, "kind", method="linear-supervised").table
    assert set(table["kind"]) == {"3", "b", "c"}


def test_a_lazy_frame_is_refused(frame):
    with pytest.raises(TypeError, match=r"`table` is a lazy frame.*pass `table.collect\(\)`"):
        gm.label_table(pl.from_pandas(frame).lazy(), "kind")


def test_columns_that_the_result_adds_must_be_free(frame):
    with pytest.raises(TableError, match="already has a column 'kind_source'"):
        gm.label_table(frame.assign(kind_source="x"), "kind")


def test_a_table_is_printed_as_its_summary(labeled):
    lines = repr(labeled).splitlines()
    assert lines[0] == "table: 178 rows, target kind"
    assert any(line.split() == ["labels", "18", "given,", "160", "predicted"] for line in lines)
    assert len(lines) < 20
    assert str(labeled.summary) == repr(labeled)


def test_options_of_the_command_are_arguments(frame):
    labeled = gm.label_table(
        frame,
        "kind",
        ignore=["ash"],
        category=["cellar"],
        method="linear-supervised",
        min_confidence=0.9,
        coverage=0.8,
        class_weight="balanced",
        n_jobs=1,
        random_state=3,
    )
    assert {use.name: use.role for use in labeled.summary.columns}["ash"] == "left out"
    assert [member.name for member in labeled.summary.members] == ["linear-supervised"]
    assert "kind_set" in labeled.table
    assert labeled.summary.n_left_empty > 0


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"table": np.ones((3, 2))}, TypeError, "`table` must be a frame .* got a ndarray"),
        ({"target": "kinds"}, TableError, "no column 'kinds'; did you mean 'kind'"),
        ({"min_confidence": "x"}, ValueError, "`min_confidence` must be a number from 0 to 1, got"),
        ({"target": 1}, TableError, "no column '1'"),
        ({"min_confidence": -1}, ValueError, "`min_confidence` must be a number from 0 to 1, got"),
        ({"method": "svm"}, ValueError, "`method` must be 'auto' or one of cut, linear-cut"),
        ({"table": Path("nowhere.csv")}, FileNotFoundError, "nowhere.csv"),
        ({"coverage": 2.0}, ValueError, "`coverage` must be a number between 0 and 1, got 2"),
    ],
)
def test_wrong_arguments_are_named(change, error, message, frame):
    with pytest.raises(error, match=message):
        gm.label_table(**({"table": frame, "target": "kind"} | change))


def test_a_report_must_be_a_page(labeled, tmp_path):
    with pytest.raises(ValueError, match=r"r.pdf: the report is a web page; choose a name that en"):
        labeled.report(tmp_path / "r.pdf")
