"""Audit of given labels: which of them look wrong."""

from __future__ import annotations

from typing import NamedTuple

from graphmargin.harmonic.solution import solve_path
from graphmargin.harmonic.suspicion import label_suspicion
from graphmargin.labeling.findings import RowNote
from graphmargin.labeling.labeling_task import EXPLANATION_GAMMA_G, LabeledTable
from graphmargin.labeling.row_preview import row_notes
from graphmargin.labels import UNLABELED
from graphmargin.selection.graph_reports import GraphReport

MIN_SUSPICION = 0.5
"""Suspicion above which the other labels suggest another class."""
MAX_LABELS_TIMES_ROWS = 2 * 10**8
"""Largest number of labels times rows for which labels are audited."""


class SuspiciousLabels(NamedTuple):
    """Given labels that the other labels contradict.

    Attributes
    ----------
    notes : tuple of RowNote or None
        The most suspicious label first. The `label` of a note is the given one, `other` is the one
        that the other labels induce with this label held out, and `score` is the suspicion
        (`graphmargin.label_suspicion`), which is above 0.5. None if labels were not audited.
    reason : str
        Why labels were not audited; empty if they were.
    """

    notes: tuple[RowNote, ...] | None
    reason: str = ""


def audit_labels(labeled: LabeledTable, report: GraphReport) -> SuspiciousLabels:
    """Return the given labels that the other labels contradict, if the graph can be trusted.

    A graph that does not help to predict held-out labels would contradict many labels that are
    right, so that no label is audited. The cost grows with the number of labels times the number of
    rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of, label_rows, table_report
    >>> size = [1.0, 1.1, 1.2, 1.3, 1.4, 5.0, 5.1, 5.2, 5.3, 5.4]
    >>> kind = ["cat", "cat", "dog", "cat", "cat", "dog", "dog", "dog", "dog", None]
    >>> labeled = label_rows(task_of(pd.DataFrame({"size": size, "kind": kind}), "kind"))
    >>> (note,) = audit_labels(labeled, table_report(labeled, hold_out_labels=False)).notes
    >>> note.row, note.label, note.other
    (3, 'dog', 'cat')
    """
    task = labeled.task
    if not report.trusts_graph:
        return SuspiciousLabels(None, _reason_not_to_audit(report))
    if task.n_labels * len(task.X) > MAX_LABELS_TIMES_ROWS:
        return SuspiciousLabels(None, "There are too many labels to audit each of them.")
    problem, n_jobs = labeled.fitted.task.problem, labeled.n_jobs
    (solution,) = solve_path(problem, [EXPLANATION_GAMMA_G], n_jobs=n_jobs)
    scores = label_suspicion(solution, n_jobs=n_jobs)
    is_suspicious = (scores.suspicion > MIN_SUSPICION) & (scores.suggested != UNLABELED)
    order = scores.order[is_suspicious[scores.order]]
    return SuspiciousLabels(
        row_notes(
            task,
            scores.vertices[order].tolist(),
            task.target.classes[scores.given[order]].tolist(),
            task.target.classes[scores.suggested[order]].tolist(),
            scores.suspicion[order].tolist(),
        )
    )


def _reason_not_to_audit(report: GraphReport) -> str:
    if report.verdict == "not compared":
        return (
            "It is unknown whether the graph helps, so it cannot show which labels look wrong; "
            "label two or more rows of a class."
        )
    return (
        "The graph does not help to predict held-out labels, so it cannot show which labels look "
        "wrong; label more rows, or ignore columns that do not matter."
    )
