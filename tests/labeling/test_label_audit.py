import numpy as np
import pandas as pd
import pytest

from graphmargin import knn_graph
from graphmargin.harmonic import harmonic_solution, label_suspicion
from graphmargin.labeling.inspection import full_findings, summarize
from graphmargin.labeling.label_audit import audit_labels
from graphmargin.labeling.labeling_task import (
    EXPLANATION_GAMMA_G,
    label_rows,
    table_report,
    task_of,
)


@pytest.fixture(scope="module")
def audited(mixed_table):
    """Return a labeled table with five wrong labels, and their rows."""
    table, names = mixed_table()
    wrong = names.copy()
    wrong[[3, 40, 80, 100, 149]] = "cat", "cat", "cat", "bird", "dog"
    labeled = label_rows(task_of(table.assign(kind=wrong), "kind"))
    return labeled, table_report(labeled, hold_out_labels=False), np.flatnonzero(wrong != names) + 1


def test_wrong_labels_are_found(audited):
    labeled, report, wrong = audited
    assert report.trusts_graph
    notes = audit_labels(labeled, report).notes
    assert {note.row for note in notes[: len(wrong)]} == set(wrong)
    scores = [note.score for note in notes]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0.5
    assert all(note.label != note.other for note in notes)


def test_scores_are_those_of_label_suspicion(audited):
    labeled, report, _ = audited
    task = labeled.task
    W = knn_graph(task.X)
    expected = label_suspicion(harmonic_solution(W, task.target.codes, gamma_g=EXPLANATION_GAMMA_G))
    by_row = dict(zip(expected.vertices + 1, expected.suspicion, strict=True))
    for note in audit_labels(labeled, report).notes:
        assert note.score == pytest.approx(by_row[note.row])


@pytest.fixture(scope="module")
def noisy_neighbors():
    """Return a labeled table whose neighbors are due to 20 columns of noise."""
    rng = np.random.default_rng(1)
    kind = np.arange(120) % 2
    table = pd.DataFrame({f"noise {i}": rng.normal(size=120) for i in range(20)})
    for i, sign in enumerate((1, -1, 1)):
        table[f"signal {i}"] = sign * kind + rng.normal(size=120)
    table["kind"] = np.where(np.arange(120) < 60, np.array(["a", "b"])[kind], None)
    return label_rows(task_of(table, "kind"))


def test_a_graph_that_does_not_help_suspects_no_label(noisy_neighbors):
    report = table_report(noisy_neighbors, hold_out_labels=False)
    assert report.verdict.startswith("graph does not help")
    audit = audit_labels(noisy_neighbors, report)
    assert audit.notes is None
    assert "does not help" in audit.reason


def test_report_and_audit_list_the_same_labels(noisy_neighbors):
    findings = full_findings(noisy_neighbors)
    audit = audit_labels(noisy_neighbors, table_report(noisy_neighbors, hold_out_labels=True))
    assert findings.suspicious_labels is None
    assert findings.audit_note == audit.reason
    assert findings.verdict == summarize(noisy_neighbors).verdict


def test_one_label_a_class_makes_no_label_suspicious():
    table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    labeled = label_rows(task_of(table, "kind"))
    audit = audit_labels(labeled, table_report(labeled, hold_out_labels=False))
    assert audit.notes is None
    assert "two or more rows" in audit.reason
