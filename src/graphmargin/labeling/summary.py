"""The computation of the summary of a labeled table."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from graphmargin import __version__
from graphmargin._typing import IntArray
from graphmargin.confidence.coverage import CoverageCurve, coverage_curve, surest_rows
from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.report.summary import CandidateSummary, MemberSummary, Summary
from graphmargin.reports.graph_reports import GraphReport
from graphmargin.search.choice import Choice

if TYPE_CHECKING:  # which calls these functions
    from graphmargin.labeling.labeled_table import LabeledTable


def summarize(labeled: LabeledTable) -> Summary:
    """Return the summary of a labeled table.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.table_labeling import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> summary = summarize(label_rows(task_of(table, "kind")))
    >>> summary.n_rows, summary.n_labels, summary.final_counts, summary.estimate
    (4, 2, (2, 2), None)
    """
    began = time.perf_counter()
    graph_report, curve = labeled.graph_report(hold_out_labels=False), coverage_of(labeled)
    return summary_with(labeled, graph_report, curve, began)


def summary_with(
    labeled: LabeledTable, graph_report: GraphReport, curve: CoverageCurve | None, began: float
) -> Summary:
    """Return the summary with the given report on the graph and coverage curve of the table.

    The seconds are those of the labeled table, and those since `began`.
    """
    task, held_out = labeled.task, labeled.fitted.held_out
    target, n_classes = task.target, len(task.target.classes)
    is_answered = labeled.is_answered
    advice = [piece.for_tables for piece in graph_report.advice if piece.for_tables]
    return Summary(
        table=task.name,
        target=target.name,
        n_rows=len(target.codes),
        n_labels=task.n_labels,
        classes=tuple(str(name) for name in target.classes),
        given_counts=_class_counts(target.codes[target.labeled], n_classes),
        final_counts=_class_counts(labeled.codes[is_answered], n_classes),
        n_predicted=int((is_answered & ~target.labeled).sum()),
        min_confidence=labeled.min_confidence,
        n_left_empty=int((~is_answered).sum()),
        columns=task.columns,
        scaling=task.features.scaling,
        members=_members_of(labeled.fitted.choice),
        assumptions=labeled.fitted.choice.assumption_weights,
        candidates=candidates_of(labeled.cut_choice),
        supervised_share=labeled.cut_choice.supervised_weight,
        estimate=None if held_out is None else estimate_accuracy(held_out, target.classes),
        surest=None if curve is None else surest_rows(curve),
        warnings=(*task.warnings, *labeled.warnings, *advice),
        seconds=labeled.seconds + time.perf_counter() - began,
        version=__version__,
    )


def coverage_of(labeled: LabeledTable) -> CoverageCurve | None:
    """Return the accuracy among the surest unlabeled rows, if it can be estimated."""
    unlabeled, held_out = ~labeled.task.target.labeled, labeled.fitted.held_out
    if held_out is None or not unlabeled.any():
        return None
    distributions = labeled.fitted.label_distributions[unlabeled]
    return coverage_curve(held_out, distributions, labeled.codes[unlabeled])


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


def _members_of(choice: Choice) -> tuple[MemberSummary, ...]:
    """Return all members that were tried, the one with the largest weight first."""
    order = np.argsort(-choice.weights, kind="stable")
    return tuple(
        MemberSummary(
            name=choice.names[i],
            assumption=choice.assumptions[i],
            weight=float(choice.weights[i]),
            accuracy=1 - float(choice.errors[i]) if choice.is_tested else None,
        )
        for i in order
    )


def _class_counts(codes: IntArray, n_classes: int) -> tuple[int, ...]:
    return tuple(np.bincount(codes, minlength=n_classes).tolist())
