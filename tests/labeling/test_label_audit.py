import numpy as np
import pandas as pd
import pytest

from graphmargin import SemiSupervisedEnsemble
from graphmargin.labeling.label_audit import audit_labels
from graphmargin.labeling.labeling_task import task_of
from graphmargin.labeling.table_labeling import label_rows
from graphmargin.labeling.table_report import report_on


@pytest.fixture(scope="module")
def audited(mixed_table):
    """Return a labeled table with five wrong labels, and their rows."""
    table, names = mixed_table()
    wrong = names.copy()
    wrong[[3, 40, 80, 100, 149]] = "cat", "cat", "cat", "bird", "dog"
    labeled = label_rows(task_of(table.assign(kind=wrong), "kind"))
    return labeled, np.flatnonzero(wrong != names) + 1


def test_wrong_labels_are_found(audited):
    labeled, wrong = audited
    audit = audit_labels(labeled)
    assert {note.row for note in audit.notes[: len(wrong)]} == set(wrong)
    scores = [note.score for note in audit.notes]
    assert scores == sorted(scores, reverse=True)
    assert min(scores) > 0.5
    assert all(note.label != note.other for note in audit.notes)
    assert audit.n_checked == labeled.task.n_labels
    assert audit.expected_false_alarms == pytest.approx(sum(1 - score for score in scores))
    assert audit.summary == (
        f"{len(scores)} of {audit.n_checked} held-out labels look wrong (probability "
        f"above 0.5; {audit.expected_false_alarms:.1f} false alarms expected)."
    )


def test_scores_are_those_of_the_classifier(audited):
    task = audited[0].task
    rows = task.table.drop(columns=task.target.name)
    errors = SemiSupervisedEnsemble(random_state=0).fit(rows, task.target.codes).label_errors()
    notes = audit_labels(audited[0]).notes
    assert [note.row for note in notes] == (errors.rows[errors.listed] + 1).tolist()
    scores = [note.score for note in notes]
    np.testing.assert_allclose(scores, errors.probability[errors.listed], atol=1e-6)


@pytest.fixture(scope="module")
def noisy_neighbors():
    """Return a labeled table whose neighbors are due to 20 columns of noise."""
    rng = np.random.default_rng(1)
    kind = np.arange(120) % 2
    table = pd.DataFrame({f"noise {i}": rng.normal(size=120) for i in range(20)})
    for i, sign in enumerate((1, -1, 1)):
        table[f"signal {i}"] = sign * kind + rng.normal(size=120)
    table["kind"] = np.where(np.arange(120) < 60, np.array(["a", "b"])[kind], None)
    return label_rows(task_of(table, "kind"), method="harmonic")


def test_labels_that_are_hard_to_predict_are_not_listed(noisy_neighbors):
    """Many held-out labels are predicted wrong, which makes none of them probably wrong."""
    assert noisy_neighbors.fitted.choice.error >= 0.2
    audit = audit_labels(noisy_neighbors)
    assert audit.notes == ()
    assert audit.summary == "None of 60 held-out labels looks wrong (probability above 0.5)."


def test_report_and_audit_list_the_same_labels(audited):
    labeled, _ = audited
    report, audit = report_on(labeled), audit_labels(labeled)
    assert report.suspicious_labels == audit.notes
    assert report.audit_note == audit.summary


def test_labels_that_cannot_be_held_out_are_counted():
    size = [1 + i / 10 for i in range(10)] + [5 + i / 10 for i in range(10)] + [90.0]
    table = pd.DataFrame({"size": size, "kind": ["cat"] * 10 + ["dog"] * 10 + ["eel"]})
    audit = audit_labels(label_rows(task_of(table, "kind")))
    assert audit.n_checked == 20
    assert audit.summary.endswith("1 other label was not held out, nor checked.")


def test_one_label_a_class_makes_no_label_suspicious():
    table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    audit = audit_labels(label_rows(task_of(table, "kind")))
    assert audit.notes is None
    assert audit.n_checked == 0
    assert "two or more rows" in audit.summary
