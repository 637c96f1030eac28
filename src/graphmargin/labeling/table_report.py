"""The computation of the content of the report page on a labeled table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from graphmargin.confidence.thresholds import ThresholdRow, threshold_table
from graphmargin.labeling.graph_layout import force_layout, sample_for_map
from graphmargin.labeling.label_audit import audit_labels
from graphmargin.labeling.row_preview import preview_rows, row_notes
from graphmargin.labeling.summary import coverage_of, summary_with
from graphmargin.report.content import GraphMap, Report, RowNote

if TYPE_CHECKING:  # which calls these functions
    from graphmargin.labeling.labeled_table import LabeledTable

N_BINS = 20
"""Number of bins of the histogram of confidences."""
MAX_LISTED = 20
"""Largest number of rows in a list of the report."""
RARE_SHARE = 0.2
"""Share of the rows below which one of two classes is rare: other thresholds then matter."""


def report_on(labeled: LabeledTable) -> Report:
    """Return the report on a labeled table; nothing is fitted for it.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.table_labeling import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> report = report_on(label_rows(task_of(table, "kind")))
    >>> len(report.map.x), sorted(note.row for note in report.least_certain)
    (4, [2, 4])
    """
    began = time.perf_counter()
    graph_report, curve = labeled.graph_report(hold_out_labels=True), coverage_of(labeled)
    lines = str(graph_report).splitlines()
    path = labeled.cut.gamma_path or {}
    audit = audit_labels(labeled)
    rare_class, thresholds = _rare_class(labeled)
    graph_map = _graph_map(labeled)
    return Report(
        summary=summary_with(labeled, graph_report, curve, began),
        graph_lines=tuple(line for line in lines if not line.startswith("!")),
        path={name: tuple(map(float, column)) for name, column in path.items()},
        histogram=_histogram(labeled),
        coverage=curve,
        rare_class=rare_class,
        thresholds=thresholds,
        map=graph_map,
        least_certain=_least_certain(labeled),
        suspicious_labels=None if audit.notes is None else audit.notes[:MAX_LISTED],
        audit_note=audit.summary,
    )


def _rare_class(labeled: LabeledTable) -> tuple[str, tuple[ThresholdRow, ...]]:
    """Return the rarer one of two classes, if it is rare, and what other thresholds would find."""
    unlabeled, held_out = ~labeled.task.target.labeled, labeled.fitted.held_out
    if held_out is None or not unlabeled.any() or len(held_out.class_shares) > 2:
        return "", ()
    code = int(held_out.class_shares.argmin())
    if held_out.class_shares[code] >= RARE_SHARE:
        return "", ()
    rows = threshold_table(labeled.fitted.label_distributions[unlabeled], code)
    return str(labeled.task.target.classes[code]), tuple(rows)


def _histogram(labeled: LabeledTable) -> tuple[int, ...]:
    """Return counts of all predicted labels, those that are left empty included."""
    confidence = labeled.confidence[~labeled.task.target.labeled]
    return tuple(np.histogram(confidence, N_BINS, (0, 1))[0].tolist())


def _least_certain(labeled: LabeledTable) -> tuple[RowNote, ...]:
    missing = np.flatnonzero(~labeled.task.target.labeled)
    rows = missing[np.argsort(labeled.confidence[missing], kind="stable")[:MAX_LISTED]]
    classes = labeled.task.target.classes
    others = labeled.fitted.label_distributions[rows].copy()
    others[np.arange(len(rows)), labeled.codes[rows]] = -1.0
    return row_notes(
        labeled.task,
        rows.tolist(),
        classes[labeled.codes[rows]].tolist(),
        classes[others.argmax(axis=1)].tolist(),
        labeled.confidence[rows].tolist(),
    )


def _graph_map(labeled: LabeledTable) -> GraphMap:
    task, W = labeled.task, labeled.cut.W
    rows = sample_for_map(task.target.codes)
    layout = force_layout(W, task.X, rows)
    return GraphMap(
        x=tuple(layout.x.tolist()),
        y=tuple(layout.y.tolist()),
        rows=tuple((rows + 1).tolist()),
        codes=tuple(labeled.codes[rows].tolist()),
        confidence=tuple(labeled.confidence[rows].tolist()),
        is_given=tuple(task.target.labeled[rows].tolist()),
        cells=tuple(preview_rows(task, rows)),
        edges=tuple((i, j) for i, j in layout.edges.tolist()),
        method=layout.method,
    )
