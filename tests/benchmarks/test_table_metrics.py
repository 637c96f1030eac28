"""The benchmark of metrics: draws, errors, runs that go on, and packages that are absent."""

import json

import numpy as np
import pytest

from benchmarks import table_metrics
from benchmarks.table_metrics import Source, draw_task, markdown, measure, metric_with, run
from graphmargin.tables.feature_metrics import LIGHT_FACTOR


@pytest.fixture
def rings(table_of_rings):
    table, names = table_of_rings(120)
    return table.drop(columns="ring"), names


def test_draws_have_labels_of_every_class(rings):
    table, names = rings
    rare = np.where(np.arange(120) < 4, "rare", names)
    task, truth = draw_task(table, rare, 5, seed=0)
    given = task.target.codes[task.target.labeled]
    assert np.bincount(given).tolist() == [5, 5, 1]
    assert (task.target.classes[given] == truth[task.target.labeled]).all()
    assert set(truth) == {"class inner", "class outer", "class rare"}


def test_errors_are_those_of_the_metrics_and_the_choice(rings):
    task, truth = draw_task(*rings, 15, seed=0)
    default = metric_with(task, LIGHT_FACTOR).feature_scale
    np.testing.assert_array_equal(default, task.features.metrics[1].feature_scale)
    errors = measure(task, truth, [LIGHT_FACTOR])["errors"]
    everything, light, choice = errors.values()
    assert list(errors) == ["all columns", "0.1", "choice, 0.1"]
    assert light <= choice < everything


def test_a_run_goes_on_and_leaves_out_absent_packages(rings, monkeypatch, tmp_path, capsys):
    def load(source):
        if source.package == "absent":
            raise ModuleNotFoundError(name="absent")
        return rings

    sources = {"rings": Source("here", "rings"), "others": Source("absent", "others")}
    monkeypatch.setattr(table_metrics, "CHOSEN_ON", sources)
    monkeypatch.setattr(table_metrics, "CHECKED_ON", {})
    monkeypatch.setattr(table_metrics, "DRAWS", 1)
    monkeypatch.setattr(table_metrics, "load_table", load)
    file = tmp_path / "results.jsonl"
    first = run([0.1], file)
    assert capsys.readouterr().err == "others is left out: pip install --no-deps absent\n"
    lines = file.read_text().splitlines()
    file.write_text(lines[0] + "\n")
    again = run([0.1], file)
    assert [result["errors"] for result in again] == [result["errors"] for result in first]
    assert json.loads(file.read_text().splitlines()[0]) == first[0]
    header, _, row, *_ = markdown(first).splitlines()
    assert (
        header
        == "| table | 5: all columns | 0.1 | choice, 0.1 | 15: all columns | 0.1 | choice, 0.1 |"
    )
    assert row.startswith("| rings | ")
