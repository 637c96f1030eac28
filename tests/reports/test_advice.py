"""Advice is about rows and columns, in the names of the table."""

import numpy as np
import pandas as pd

from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.summary import summarize
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labeling.table_report import report_on


def summary_of(size, kind):
    return summarize(label_rows(task_of(pd.DataFrame({"size": size, "kind": kind}), "kind")))


def test_only_a_cluster_without_a_label_gets_a_warning():
    size = np.r_[np.linspace(0, 1, 20), np.linspace(5, 6, 20), np.linspace(100, 101, 9)]
    kind = np.array([None] * 49, dtype=object)
    kind[[0, 10, 19]], kind[[20, 30, 39]] = "cat", "dog"
    assert summary_of(size[:40], kind[:40]).warnings == ()
    (text,) = summary_of(size, kind).warnings
    assert "9 rows" in text
    assert "graphmargin suggest" in text


def test_the_warning_has_the_name_of_a_class_without_predictions():
    rng = np.random.default_rng(0)
    kind = np.array([None] * 400, dtype=object)
    kind[:200], kind[399] = "usual", "rare"
    texts = " ".join(summary_of(rng.normal(size=400), kind).warnings)
    assert "Class 'rare' has 0.5% of the given labels, but 0.0% of those" in texts
    assert "the most frequent class for all" in texts


def test_warnings_have_no_parameters_of_python_if_supervised_learning_is_chosen():
    rng = np.random.default_rng(0)
    y = np.arange(120) % 2
    table = pd.DataFrame(rng.normal(size=(120, 10))).add_prefix("noise ")
    table["size"] = y + 0.01 * rng.normal(size=120)
    table["kind"] = np.where(np.arange(120) < 60, np.where(y, "cat", "dog"), None)
    labeled = label_rows(task_of(table, "kind"))
    assert np.isinf(labeled.cut.solution.gamma_g)
    assert not any("gamma_g" in text for text in summarize(labeled).warnings)


def test_lines_on_the_graph_have_the_names_of_the_table():
    table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    lines = " ".join(report_on(label_rows(task_of(table, "kind"))).graph_lines)
    assert "'cat': 50.0% -> 50.0%" in lines
