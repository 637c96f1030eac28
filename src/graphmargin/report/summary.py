"""The summary of a labeled table, which commands print and pages show."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmargin.confidence.coverage import SurestRows
from graphmargin.confidence.held_out_predictions import AccuracyEstimate
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
        Number of rows, and of given labels.
    n_predicted : int
        Number of rows that got a predicted label.
    classes : tuple of str
    given_counts, final_counts : tuple of int
        Number of rows of each class in the table, and after labeling.
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
        Weight of each assumption about the classes, the heaviest first.
    candidates : tuple of CandidateSummary
        All candidates of the cut, the one with the largest weight first.
    supervised_share : float
        Weight of supervised learning, which does not use the graph, in the cut.
    estimate : AccuracyEstimate or None
        Estimated accuracy on the unlabeled rows; None if no label could be held out.
    surest : SurestRows or None
        How many of the surest rows are right; None without held-out labels or unlabeled rows.
    warnings : tuple of str
        Problems that a user should do something about.
    cluster : ClusterUse or None
        Set if a cluster labeled the table.
    seconds : float
        Time of the whole call: reading, encoding, fit and report.
    version : str
        Version of graphmargin.
    """

    table: str
    target: str
    n_rows: int
    n_labels: int
    n_predicted: int
    classes: tuple[str, ...]
    given_counts: tuple[int, ...]
    final_counts: tuple[int, ...]
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
    warnings: tuple[str, ...]
    cluster: ClusterUse | None = None
    seconds: float
    version: str

    def __str__(self) -> str:
        """Return the summary as lines of text."""
        from graphmargin.report.summary_texts import summary_text  # which imports summaries

        return summary_text(self)

    @property
    def details(self) -> dict[str, Any]:
        """Details of the table and the fit, for the description of the model file."""
        estimate = self.estimate
        return {
            "table": self.table,
            "rows": self.n_rows,
            "labels": self.n_labels,
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
