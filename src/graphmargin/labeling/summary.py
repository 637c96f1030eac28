"""The summary of a labeled table, which commands print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphmargin import __version__
from graphmargin._typing import IntArray
from graphmargin.confidence.coverage import (
    CoverageCurve,
    SurestRows,
    coverage_curve,
    surest_rows,
)
from graphmargin.confidence.held_out_predictions import AccuracyEstimate, estimate_accuracy
from graphmargin.labeling.label_sources import SOURCES
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.reports.graph_reports import GraphReport
from graphmargin.search.choice import Choice
from graphmargin.tables.column_names import ColumnUse


@dataclass(frozen=True)
class MemberSummary:
    """A member of the ensemble that was tried, and its weight."""

    name: str
    assumption: str
    weight: float
    accuracy: float | None
    """Accuracy on held-out labels; None if no label could be held out."""


@dataclass(frozen=True)
class CandidateSummary:
    """A combination of parameters that was tried, and its weight in the blend."""

    gamma_g: float
    C: float
    weight: float
    accuracy: float | None
    """Accuracy on held-out labels; None if no label could be held out."""


@dataclass(frozen=True)
class ClusterUse:
    """Sizes of samples and partitions of a table that a cluster labeled.

    Attributes
    ----------
    sampled_rows : int
        Number of rows from which the features were learned.
    tried_labeled, tried_unlabeled : int
        Numbers of rows of the sample on which parameters were chosen.
    graph_recall : float
        Share of the exact neighbors in the graph.
    n_partitions : int
        Number of partitions of the graph.
    """

    sampled_rows: int
    tried_labeled: int
    tried_unlabeled: int
    graph_recall: float
    n_partitions: int


@dataclass(frozen=True, kw_only=True)
class Summary:
    """The main results of labeling a table; ``--json`` prints all of them.

    Attributes
    ----------
    table, target : str
        Name of the file, and of the column.
    n_rows, n_labels : int
    classes : tuple of str
    given_counts, final_counts : tuple of int
        Number of rows of each class in the table, and after labeling.
    source_counts : mapping from {"given", "induced", "model"} to int
    min_confidence : float
        Confidence below which rows get no label.
    n_left_empty : int
        Number of rows that got no label for that reason; they are in none of the counts.
    columns : tuple of ColumnUse
    scaling : str
        A sentence on how numbers are scaled.
    members : tuple of MemberSummary
        All members of the ensemble that were tried, the one with the largest weight first; none on
        a cluster.
    assumptions : mapping from str to float
        Weight of each assumption of the members, the heaviest first.
    candidates : tuple of CandidateSummary
        All candidates of the cut, the one with the largest weight first.
    supervised_share : float
        Weight of supervised learning, which does not use the graph, in the cut.
    estimate : AccuracyEstimate or None
        Estimated accuracy on the unlabeled rows; None if no label could be held out.
    surest : SurestRows or None
        How many of the surest rows are right; None without held-out labels or unlabeled rows.
    verdict : str
        "graph helps", "supervised chosen", ..., see `graphmargin.graph_report`.
    warnings : tuple of str
        Problems that a user should do something about.
    cluster : ClusterUse or None
        Set if a cluster labeled the table.
    seconds : float
        Time of the fit.
    version : str
        Version of graphmargin.
    """

    table: str
    target: str
    n_rows: int
    n_labels: int
    classes: tuple[str, ...]
    given_counts: tuple[int, ...]
    final_counts: tuple[int, ...]
    source_counts: Mapping[str, int]
    min_confidence: float = 0.0
    n_left_empty: int = 0
    columns: tuple[ColumnUse, ...]
    scaling: str
    members: tuple[MemberSummary, ...] = ()
    assumptions: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[CandidateSummary, ...]
    supervised_share: float
    estimate: AccuracyEstimate | None
    surest: SurestRows | None = None
    verdict: str
    warnings: tuple[str, ...]
    cluster: ClusterUse | None = None
    seconds: float
    version: str

    @property
    def details(self) -> dict[str, Any]:
        """Details of the table and the fit, for the description of the model file."""
        estimate = self.estimate
        return {
            "table": self.table,
            "rows": self.n_rows,
            "labels": self.n_labels,
            "verdict": self.verdict,
            "estimated_accuracy": None if estimate is None else round(estimate.accuracy, 4),
            "held_out_labels": 0 if estimate is None else estimate.n_held_out,
        }


def weights_text(weights: Mapping[str, float]) -> str:
    """Return names with their weights in percent, in the order of the mapping.

    Examples
    --------
    >>> weights_text({"cut": 0.75, "harmonic": 0.25})
    'cut 75%, harmonic 25%'
    """
    return ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())


def summarize(labeled: LabeledTable) -> Summary:
    """Return the summary of a labeled table.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeled_table import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> summary = summarize(label_rows(task_of(table, "kind")))
    >>> summary.n_rows, summary.n_labels, summary.final_counts, summary.estimate
    (4, 2, (2, 2), None)
    """
    graph_report = labeled.graph_report(hold_out_labels=False)
    return summary_with(labeled, graph_report, coverage_of(labeled))


def summary_with(
    labeled: LabeledTable, graph_report: GraphReport, curve: CoverageCurve | None
) -> Summary:
    """Return the summary with the given report on the graph and coverage curve of the table."""
    task, held_out = labeled.task, labeled.fitted.held_out
    target, n_classes = task.target, len(task.target.classes)
    is_answered = labeled.is_answered
    sources = labeled.sources[is_answered]
    advice = [piece.for_tables for piece in graph_report.advice if piece.for_tables]
    return Summary(
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
        members=_members_of(labeled.fitted.choice),
        assumptions=labeled.fitted.choice.assumption_weights,
        candidates=candidates_of(labeled.cut_choice),
        supervised_share=labeled.cut_choice.supervised_weight,
        estimate=None if held_out is None else estimate_accuracy(held_out),
        surest=None if curve is None else surest_rows(curve),
        verdict=graph_report.verdict,
        warnings=(*task.warnings, *labeled.warnings, *advice),
        seconds=labeled.seconds,
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
