"""`graphmargin demo`, whose figures must be those of the files that it writes."""

import io
import re
import sys
from contextlib import chdir, redirect_stdout
from pathlib import Path

import numpy as np
import pytest

from graphmargin.cli import main
from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.labeling.example_tables import demo_table
from graphmargin.models import load_model
from graphmargin.tables.reading import read_table

NAMES = {
    *("penguins.csv", "penguins-labeled.csv", "penguins.graphmargin", "penguins.html"),
    "penguins.png",
}


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    """Return the folder of a demo and what it printed."""
    folder = tmp_path_factory.mktemp("demo")
    with chdir(folder), redirect_stdout(io.StringIO()) as printed:
        assert main(["demo"]) == 0
    return folder / "graphmargin-demo", printed.getvalue()


def test_demo_writes_all_files_and_says_where_they_are(demo):
    folder, output = demo
    assert output.startswith("$ graphmargin label ")
    assert {path.name for path in folder.iterdir()} == NAMES
    assert (folder / "penguins.png").read_bytes().startswith(b"\x89PNG\r\n")
    for name in NAMES - {"penguins.csv"}:
        path = re.escape(str(Path(folder.name, name)))
        assert re.search(rf"^\w+ +{path}", output, re.MULTILINE), name


def test_printed_errors_are_those_of_the_files(demo):
    folder, output = demo
    labeled, (few, truth) = read_table(folder / "penguins-labeled.csv"), demo_table(0)
    is_given = (labeled["species_source"] == "given").to_numpy()
    np.testing.assert_array_equal(is_given, few["species"].notna())
    is_right = labeled["species"].to_numpy() == truth
    assert is_right[is_given].all()
    n_wrong, error = int(np.sum(~is_right)), np.mean(~is_right[~is_given])
    assert re.search(rf"graphmargin +{n_wrong} +{error:.1%}", output)
    assert f"{1 - error:.1%} of the predicted labels are right" in output
    for rival in ("LogisticRegression", "SVC", "always Adelie"):
        assert re.search(rf"{rival} +\d+ +[\d.]+%", output), rival


def test_printed_estimate_is_that_of_the_command(demo):
    folder, output = demo
    model = load_model(folder / "penguins.graphmargin")
    percent = f"{100 * estimate_accuracy(model.held_out, model.classes).accuracy:.0f}%"
    (said,) = re.findall(r"^accuracy  about (\d+%) \(95 % interval: ([^;]+);", output, re.MULTILINE)
    assert said[0] == percent
    assert f"the estimate from 15 labels was {percent} ({said[1]})" in output


def test_without_matplotlib_a_line_names_the_extra(tmp_path, capsys, monkeypatch):
    for name in ("matplotlib", "matplotlib.figure"):
        monkeypatch.setitem(sys.modules, name, None)
    assert main(["demo", "--out", str(tmp_path)]) == 0
    output = capsys.readouterr().out
    (line,) = re.findall(r"^picture .*$", output, re.MULTILINE)
    assert "'graphmargin[plot]'" in line
    assert f"report    {tmp_path / 'penguins.html'}" in output
    assert {path.name for path in tmp_path.iterdir()} == NAMES - {"penguins.png"}
