"""Given labels that look wrong."""

from __future__ import annotations

from typing import NamedTuple

from graphmargin.harmonic.solution import solve_path
from graphmargin.harmonic.suspicion import label_suspicion
from graphmargin.labeling.findings import RowNote
from graphmargin.labeling.labeling_task import EXPLANATION_GAMMA_G, LabeledTable
from graphmargin.labeling.row_preview import row_notes
from graphmargin.labels import UNLABELED
from graphmargin.selection.graph_reports import GraphReport

DOUBTFUL = 0.5
"""Suspicion from which on the other labels prefer another one."""
MAX_DOUBTED = 2 * 10**8
"""Labels times rows up to which every label is looked at."""


class SuspiciousLabels(NamedTuple):
    """Given labels that the others contradict.

    Attributes
    ----------
    notes : tuple of RowNote or None
        The most suspicious first: the label of a note is the given one, `other` what the other
        labels induce with this one held out, and the score is the suspicion
        (`graphmargin.label_suspicion`), above 0.5 for all of them. None if the graph cannot tell.
    reason : str
        Why it cannot tell; empty if it can.
    """

    notes: tuple[RowNote, ...] | None
    reason: str = ""


def audit_labels(labeled: LabeledTable, report: GraphReport) -> SuspiciousLabels:
    """Return the given labels that the others contradict, if the graph is worth asking.

    A graph that does not help to predict held-out labels cannot tell which labels are wrong: it
    would contradict many that are right. The cost grows with the number of labels times that of
    the rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of, label_rows, table_report
    >>> size = [1.0, 1.1, 1.2, 1.3, 1.4, 5.0, 5.1, 5.2, 5.3, 5.4]
    >>> kind = ["cat", "cat", "dog", "cat", "cat", "dog", "dog", "dog", "dog", None]
    >>> labeled = label_rows(task_of(pd.DataFrame({"size": size, "kind": kind}), "kind"))
    >>> (note,) = audit_labels(labeled, table_report(labeled, hide_labels=False)).notes
    >>> note.row, note.label, note.other
    (3, 'dog', 'cat')
    """
    job = labeled.job
    if not report.trusts_graph:
        return SuspiciousLabels(None, _reason(report))
    if job.n_labels * len(job.X) > MAX_DOUBTED:
        return SuspiciousLabels(None, "There are too many labels to look at each of them.")
    problem, n_jobs = labeled.fitted.task.problem, labeled.n_jobs
    (solution,) = solve_path(problem, [EXPLANATION_GAMMA_G], n_jobs=n_jobs)
    found = label_suspicion(solution, n_jobs=n_jobs)
    doubted = (found.suspicion > DOUBTFUL) & (found.suggested != UNLABELED)
    order = found.order[doubted[found.order]]
    return SuspiciousLabels(
        row_notes(
            job,
            found.vertices[order].tolist(),
            job.target.classes[found.given[order]].tolist(),
            job.target.classes[found.suggested[order]].tolist(),
            found.suspicion[order].tolist(),
        )
    )


def _reason(report: GraphReport) -> str:
    if report.verdict == "not compared":
        return (
            "Whether the graph helps is unknown, so it cannot tell which labels look wrong: give "
            "two labels or more to a class."
        )
    return (
        "The graph does not help to predict labels that are held out, so it cannot tell which "
        "labels look wrong: give more labels, or leave out columns that do not matter."
    )
