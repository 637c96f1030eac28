"""Findings on a labeled table, for a summary or for a report."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from graphmargin import __version__
from graphmargin._typing import IntArray
from graphmargin.confidence.coverage import CoverageCurve, coverage_curve, surest_rows
from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.confidence.thresholds import ThresholdRow, threshold_table
from graphmargin.labeling.findings import (
    INDUCED,
    MODEL,
    SOURCES,
    CandidateSummary,
    FamilySummary,
    Findings,
    GraphMap,
    RowNote,
)
from graphmargin.labeling.graph_layout import force_layout, sample_for_map
from graphmargin.labeling.label_audit import audit_labels
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.row_preview import preview_rows, row_notes
from graphmargin.reports.graph_reports import GraphReport
from graphmargin.search.choice import Choice

N_BINS = 20
"""Number of bins of the histogram of confidences."""
MAX_LISTED = 20
"""Largest number of rows in a list of the report."""
RARE_SHARE = 0.2
"""Share of the rows below which one of two classes is rare, so that other thresholds matter."""


def summarize(labeled: LabeledTable) -> Findings:
    """Return the findings that a summary shows; fields that only a report shows are empty.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeled_table import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> findings = summarize(label_rows(task_of(table, "kind")))
    >>> findings.n_rows, findings.n_labels, findings.final_counts, findings.estimate
    (4, 2, (2, 2), None)
    """
    return _summary(labeled, labeled.graph_report(hold_out_labels=False), _coverage(labeled))


def full_findings(labeled: LabeledTable) -> Findings:
    """Return the findings that a report shows.

    Beyond those of `summarize`, they have a map of a sample of the rows, the path of gamma_g, and
    an audit of the given labels.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeled_table import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> findings = full_findings(label_rows(task_of(table, "kind")))
    >>> len(findings.map.x), sorted(note.row for note in findings.least_certain)
    (4, [2, 4])
    """
    report = labeled.graph_report(hold_out_labels=True)
    curve = _coverage(labeled)
    findings = _summary(labeled, report, curve)
    path = labeled.cut.gamma_path or {}
    audit = audit_labels(labeled)
    rare_class, thresholds = _rare_class(labeled)
    return replace(
        findings,
        graph_lines=tuple(line for line in str(report).splitlines() if not line.startswith("!")),
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


def _summary(labeled: LabeledTable, report: GraphReport, curve: CoverageCurve | None) -> Findings:
    task, held_out = labeled.task, labeled.fitted.held_out
    target, n_classes = task.target, len(task.target.classes)
    is_answered = labeled.is_answered
    sources = labeled.sources[is_answered]
    return Findings(
        table=task.name,
        target=target.name,
        n_rows=len(target.codes),
        n_labels=task.n_labels,
        classes=tuple(str(name) for name in target.classes),
        given_counts=_class_counts(target.codes[target.labeled], n_classes),
        final_counts=_class_counts(labeled.codes[is_answered], n_classes),
        source_counts={name: int((sources == name).sum()) for name in SOURCES},
        min_confidence=labeled.min_confidence,
        n_left_empty=int((~is_answered).sum()),
        columns=task.columns,
        scaling=task.features.scaling,
        families=_families_of(labeled.fitted.choice),
        assumptions=labeled.fitted.choice.assumption_weights,
        candidates=candidates_of(labeled.cut_choice),
        supervised_share=labeled.cut_choice.supervised_weight,
        estimate=None if held_out is None else estimate_accuracy(held_out),
        surest=None if curve is None else surest_rows(curve),
        verdict=report.verdict,
        warnings=(*labeled.warnings, *(a.for_tables for a in report.advice if a.for_tables)),
        seconds=labeled.seconds,
        version=__version__,
    )


def _class_counts(codes: IntArray, n_classes: int) -> tuple[int, ...]:
    return tuple(np.bincount(codes, minlength=n_classes).tolist())


def _families_of(choice: Choice) -> tuple[FamilySummary, ...]:
    """Return all families that were tried, the one with the largest weight first."""
    order = np.argsort(-choice.weights, kind="stable")
    return tuple(
        FamilySummary(
            name=choice.names[i],
            assumption=choice.parts[i].member.method.assumption,
            weight=float(choice.weights[i]),
            accuracy=1 - float(choice.errors[i]) if choice.is_tested else None,
        )
        for i in order
    )


def candidates_of(choice: Choice) -> tuple[CandidateSummary, ...]:
    """Return all candidates that were tried, the one with the largest weight first."""
    order = np.argsort(-choice.weights, kind="stable")
    return tuple(
        CandidateSummary(
            gamma_g=float(choice.trials.params[i]["gamma_g"]),
            C=float(choice.trials.params[i]["C"]),
            weight=float(choice.weights[i]),
            accuracy=1 - float(choice.errors[i]) if choice.is_tested else None,
        )
        for i in order
    )


def _coverage(labeled: LabeledTable) -> CoverageCurve | None:
    """Return the accuracy among the surest unlabeled rows, if it can be estimated."""
    unlabeled, held_out = ~labeled.task.target.labeled, labeled.fitted.held_out
    if held_out is None or not unlabeled.any():
        return None
    distributions = labeled.fitted.label_distributions[unlabeled]
    return coverage_curve(held_out, distributions, labeled.codes[unlabeled])


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
