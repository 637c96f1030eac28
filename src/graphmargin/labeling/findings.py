"""Findings on a labeled table, which reports and summaries show."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmargin.confidence.coverage import CoverageCurve, SurestRows
from graphmargin.confidence.held_out_predictions import AccuracyEstimate
from graphmargin.confidence.thresholds import ThresholdRow
from graphmargin.tables.column_names import ColumnUse

GIVEN, INDUCED, MODEL = SOURCES = ("given", "induced", "model")
"""Sources of labels.

A "given" label was in the table. An "induced" label was predicted by the graph and by the
classifier. A "model" label was predicted by the classifier only, because no label reaches the row
or the graph predicts another class.
"""
PATH_LINES = {
    "fold_score": "accuracy, labels held out in folds",
    "graph_score": "accuracy of the graph alone, labels held out in folds",
    "confidence": "mean confidence of the graph",
}
"""Columns of the path of gamma_g that are drawn, with their descriptions."""


def gamma_text(gamma_g: float) -> str:
    """Return gamma_g as text; inf is supervised learning.

    Examples
    --------
    >>> gamma_text(0.12345), gamma_text(float("inf"))
    ('0.12', 'supervised')
    """
    return "supervised" if math.isinf(gamma_g) else f"{gamma_g:.2g}"


def weights_text(weights: Mapping[str, float]) -> str:
    """Return names with their weights in percent, in the order of the mapping.

    Examples
    --------
    >>> weights_text({"all columns": 0.75, "light categories": 0.25})
    'all columns 75%, light categories 25%'
    """
    return ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())


@dataclass(frozen=True)
class CandidateSummary:
    """A combination of parameters that was tried, and its weight in the blend."""

    gamma_g: float
    C: float
    weight: float
    accuracy: float | None
    """Accuracy on held-out labels; None if no label could be held out."""


@dataclass(frozen=True)
class FamilySummary:
    """A family of classifiers that was tried, and its weight in the ensemble."""

    name: str
    assumption: str
    weight: float
    accuracy: float | None
    """Accuracy on held-out labels; None if no label could be held out."""


@dataclass(frozen=True)
class RowNote:
    """A row to check: one with an uncertain prediction, or with a label that is probably wrong.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label : str
        The predicted or the given label.
    other : str
        The second best prediction, or the most likely class without the given label.
    score : float
        Confidence of a predicted label, the probability that it is right; probability that a
        given label is wrong.
    cells : mapping from str to str
        Values of the row in a few columns, shortened.
    """

    row: int
    label: str
    other: str
    score: float
    cells: Mapping[str, str]


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
class Findings:
    """All that reports and summaries show of a labeled table.

    Fields that only a report shows have their defaults in a summary.

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
    families : tuple of FamilySummary
        All families that were tried, the one with the largest weight first; none on a cluster.
    assumptions : mapping from str to float
        Weight of each assumption of the families, the heaviest first.
    metrics : mapping from str to float
        Weight of each metric of the features, the heaviest first; empty if there was one only.
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
    graph_lines : tuple of str
        Lines of the graph report.
    warnings : tuple of str
        Problems that a user should do something about.
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
    cluster : ClusterUse or None
        Set if a cluster labeled the table. A report then has no section that needs all rows.
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
    families: tuple[FamilySummary, ...] = ()
    assumptions: Mapping[str, float] = field(default_factory=dict)
    metrics: Mapping[str, float] = field(default_factory=dict)
    candidates: tuple[CandidateSummary, ...]
    supervised_share: float
    estimate: AccuracyEstimate | None
    surest: SurestRows | None = None
    verdict: str
    graph_lines: tuple[str, ...] = ()
    warnings: tuple[str, ...]
    path: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    histogram: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    coverage: CoverageCurve | None = None
    rare_class: str = ""
    thresholds: tuple[ThresholdRow, ...] = ()
    map: GraphMap | None = None
    least_certain: tuple[RowNote, ...] = ()
    suspicious_labels: tuple[RowNote, ...] | None = ()
    audit_note: str = ""
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
            "metrics": weights_text(self.metrics) or None,
        }
