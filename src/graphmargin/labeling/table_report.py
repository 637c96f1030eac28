"""The report on a labeled table: its summary, and all that only the report page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from graphmargin.confidence.coverage import CoverageCurve
from graphmargin.confidence.thresholds import ThresholdRow, threshold_table
from graphmargin.labeling.graph_layout import force_layout, sample_for_map
from graphmargin.labeling.label_audit import audit_labels
from graphmargin.labeling.label_sources import INDUCED, MODEL
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.row_preview import RowNote, preview_rows, row_notes
from graphmargin.labeling.summary import Summary, coverage_of, summary_with

N_BINS = 20
"""Number of bins of the histogram of confidences."""
MAX_LISTED = 20
"""Largest number of rows in a list of the report."""
RARE_SHARE = 0.2
"""Share of the rows below which one of two classes is rare, so that other thresholds matter."""


@dataclass(frozen=True)
class GraphMap:
    """The graph, or a sample of its points, in the plane.

    Attributes
    ----------
    x, y : tuple of float
        Coordinates in [0, 1].
    rows : tuple of int
        Row numbers, from 1.
    codes : tuple of int
        Class of each point.
    confidence : tuple of float
    sources : tuple of str
        "given", "induced" or "model".
    cells : tuple of mapping from str to str
        Values of each row in a few columns, shortened.
    edges : tuple of (int, int)
        Pairs of points, by their index in these tuples.
    method : str
        A sentence on how the coordinates were computed.
    """

    x: tuple[float, ...]
    y: tuple[float, ...]
    rows: tuple[int, ...]
    codes: tuple[int, ...]
    confidence: tuple[float, ...]
    sources: tuple[str, ...]
    cells: tuple[Mapping[str, str], ...]
    edges: tuple[tuple[int, int], ...]
    method: str


@dataclass(frozen=True, kw_only=True)
class Report:
    """The content of the report page on a labeled table.

    The report on a table that a cluster labeled has a summary alone, because the other parts need
    all rows on one machine.

    Attributes
    ----------
    summary : Summary
    graph_lines : tuple of str
        Lines of the graph report.
    path : mapping from str to tuple of float
        Columns of ``gamma_g_path_``, a value for each gamma_g; inf and nan are possible.
    histogram : mapping from str to tuple of int
        For "induced" and "model", number of rows in equal bins of the confidence in [0, 1].
    coverage : CoverageCurve or None
        Accuracy among the surest rows, for shares of the rows.
    rare_class : str
        The class of `thresholds`, the rarer one of two; empty if there is none.
    thresholds : tuple of ThresholdRow
        What other thresholds on the probability of a rare class would find.
    map : GraphMap or None
    least_certain : tuple of RowNote
        Predicted labels with the lowest confidence.
    suspicious_labels : tuple of RowNote or None
        Given labels that are probably wrong, the most likely error first; None if labels were not
        audited.
    audit_note : str
        A sentence on how many labels are probably wrong, the threshold and the expected number of
        false alarms, or on why labels were not audited.
    """

    summary: Summary
    graph_lines: tuple[str, ...] = ()
    path: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    histogram: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    coverage: CoverageCurve | None = None
    rare_class: str = ""
    thresholds: tuple[ThresholdRow, ...] = ()
    map: GraphMap | None = None
    least_certain: tuple[RowNote, ...] = ()
    suspicious_labels: tuple[RowNote, ...] | None = None
    audit_note: str = ""


def report_on(labeled: LabeledTable) -> Report:
    """Return the report on a labeled table; nothing is fitted for it.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeled_table import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> report = report_on(label_rows(task_of(table, "kind")))
    >>> len(report.map.x), sorted(note.row for note in report.least_certain)
    (4, [2, 4])
    """
    graph_report, curve = labeled.graph_report(hold_out_labels=True), coverage_of(labeled)
    lines = str(graph_report).splitlines()
    path = labeled.cut.gamma_path or {}
    audit = audit_labels(labeled)
    rare_class, thresholds = _rare_class(labeled)
    return Report(
        summary=summary_with(labeled, graph_report, curve),
        graph_lines=tuple(line for line in lines if not line.startswith("!")),
        path={name: tuple(map(float, column)) for name, column in path.items()},
        histogram=_histogram(labeled),
        coverage=curve,
        rare_class=rare_class,
        thresholds=thresholds,
        map=_graph_map(labeled),
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


def _histogram(labeled: LabeledTable) -> dict[str, tuple[int, ...]]:
    """Return counts of all predicted labels, those that are left empty included."""
    edges = np.linspace(0, 1, N_BINS + 1)
    return {
        source: tuple(
            np.histogram(labeled.confidence[labeled.sources == source], edges)[0].tolist()
        )
        for source in (INDUCED, MODEL)
    }


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
        sources=tuple(labeled.sources[rows].tolist()),
        cells=tuple(preview_rows(task, rows)),
        edges=tuple((i, j) for i, j in layout.edges.tolist()),
        method=layout.method,
    )
