"""Columns that are unusual: the commands read them in the same way, and name them."""

import json

import pandas as pd
import pytest

import graphmargin as gm
from graphmargin.cli import main
from graphmargin.methods import named_member
from graphmargin.tables.reading import read_table

WARNING = "column 'weight': 1 cell is not a number and counts as missing ('oops' in row 17)"
REMEDY = "correct it, or name the column in --category if it has categories"


def run(*argv):
    """Return the exit code of a command."""
    return main([str(word) for word in argv])


@pytest.fixture
def invalid_file(table_file):
    """Return a table with one cell in a column of numbers that is not a number."""
    table = read_table(table_file)
    table.loc[16, "weight"] = "oops"
    table.to_csv(table_file, index=False)
    return table_file


@pytest.fixture(autouse=True)
def _one_member(monkeypatch):
    """Fit one member, because all of them take seconds."""
    monkeypatch.setattr(
        "graphmargin.labeling.table_labeling.default_members",
        lambda labels, *_: [named_member("cut", labels)],
    )


def test_an_invalid_cell_is_missing_and_the_summary_names_it(invalid_file, tmp_path, capsys):
    model, report = tmp_path / "m.graphmargin", tmp_path / "r.html"
    assert run("label", invalid_file, "-t", "kind", "--model", model, "--report", report) == 0
    output = capsys.readouterr().out
    assert "read as   weight (number: 1 cell is not a number)\n" in output
    assert f"! {WARNING}; {REMEDY}\n" in output
    page = report.read_text()
    assert "1 cell is not a number" in page
    assert "--category" in page
    written = read_table(invalid_file.with_name("pets-labeled.csv"))
    assert written["weight"][16] == "oops"
    assert run("label", invalid_file, "-t", "kind", "--json") == 0
    result = json.loads(capsys.readouterr().out)
    assert f"{WARNING}; {REMEDY}" in result["warnings"]
    (invalid,) = [column["invalid"] for column in result["columns"] if column["invalid"]]
    assert invalid == {"n_cells": 1, "values": ["oops"], "rows": [17]}


@pytest.mark.parametrize("command", ["info", "suggest", "audit", "explain"])
def test_every_command_names_invalid_cells(command, invalid_file, capsys):
    extra = ["--row", "1"] if command == "explain" else []
    assert run(command, invalid_file, "-t", "kind", *extra) == 0
    assert f"! {WARNING}; {REMEDY}\n" in capsys.readouterr().out


def test_predict_reads_cells_as_training_did(invalid_file, tmp_path, capsys, monkeypatch, refused):
    monkeypatch.setattr("graphmargin.tables.reading.read_chunks.__defaults__", (10,))
    model, new = tmp_path / "m.graphmargin", tmp_path / "new.csv"
    assert run("fit", invalid_file, "-t", "kind", "--model", model, "-q") == 0
    table = read_table(invalid_file).drop(columns="kind")[:40]
    table.loc[[15, 35], "weight"] = [">90", "?!"]
    table.to_csv(new, index=False)
    assert run("predict", model, new) == 0
    text = "column 'weight': 3 cells are not numbers and count as missing ('>90' in row 16, 'oops'"
    assert f"! {text} in row 17, '?!' in row 36)\n" in capsys.readouterr().out
    with pytest.warns(UserWarning, match="3 cells are not numbers and count as missing"):
        labels = gm.load_model(model).predict(table)
    written = read_table(new.with_name("new-predicted.csv"))
    assert labels.tolist() == written["kind"].tolist()
    clean = read_table(invalid_file)
    clean.loc[16, "weight"] = "2.5"
    clean.to_csv(invalid_file, index=False)
    assert run("fit", invalid_file, "-t", "kind", "--model", model, "-q") == 0
    assert "'weight' has '>90' in row 16, which is not a number" in refused("predict", model, new)


@pytest.mark.parametrize("command", ["label", "fit", "suggest", "audit", "explain", "info"])
def test_category_reaches_the_features(command, invalid_file, capsys, monkeypatch):
    from graphmargin.tables import table_features

    read, read_column = [], table_features.read_column

    def remember(column, *, category, **options):
        read.extend([column.name] * category)
        return read_column(column, category=category, **options)

    monkeypatch.setattr(table_features, "read_column", remember)
    extra = {"explain": ["--row", "1"], "fit": ["--model", f"{invalid_file}.graphmargin"]}
    options = ["--category", "weight", "--category", "age", *extra.get(command, [])]
    assert run(command, invalid_file, "-t", "kind", *options) == 0
    assert sorted(read) == ["age", "weight"]
    assert WARNING not in capsys.readouterr().out


def test_classes_that_differ_only_in_case_get_a_hint(table_file, capsys):
    table = pd.read_csv(table_file)
    first = table.index[table["kind"] == "cat"][0]
    table.loc[first, "kind"] = "Cat "
    table.to_csv(table_file, index=False)
    hint = (
        "! the classes 'Cat' and 'cat' differ only in case or blanks; if they are one class, give"
    )
    for command in ("label", "info"):
        assert run(command, table_file, "-t", "kind") == 0
        assert hint in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "columns", "warning"),
    [
        ("size,kind\n", ["size", "no values"], "the table has no rows, only a header"),
        (
            "id,kind\n3,cat\n1,dog\n9,\n",
            ["id", "an ID: all values differ"],
            "no column can be used as a feature; add columns, or name an ID in --keep",
        ),
        ("x,kind\n3,cat\n3.5,\n", ["x", "number"], "only one class of 'kind' has a label"),
        ("x,kind\n3,\n3.5,\n", ["x", "number"], "no class of 'kind' has a label"),
        (
            "x,kind\n3,?\n3.5,?\n4,cat\n",
            ["x", "number"],
            "if '?' (2 rows) means unlabeled, add --unlabeled='?'",
        ),
    ],
    ids=["header", "ids", "one-class", "no-label", "marker"],
)
def test_info_describes_tables_that_cannot_be_labeled(text, columns, warning, tmp_path, capsys):
    (tmp_path / "a.csv").write_text(text)
    assert run("info", tmp_path / "a.csv", "-t", "kind") == 0
    output = capsys.readouterr().out
    for part in (*columns, f"! {warning}"):
        assert part in output


def test_info_fits_no_encoder_of_text(tmp_path, capsys, monkeypatch):
    from graphmargin.tables import encoders

    monkeypatch.setattr(encoders, "fit_text", None)
    words = ["red", "green", "house", "tree"]
    texts = [" ".join([*words[i % 4 :], str(i), *words]) for i in range(60)]
    pd.DataFrame({"note": texts}).to_csv(tmp_path / "a.csv", index=False)
    assert run("info", tmp_path / "a.csv") == 0
    assert "up to 30" in capsys.readouterr().out
    assert run("info", tmp_path / "a.csv", "--json") == 0
    (column,) = json.loads(capsys.readouterr().out)["columns"]
    assert (column["role"], column["n_features"]) == ("text", 30)
