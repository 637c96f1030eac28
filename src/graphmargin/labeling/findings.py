"""Findings on a table that was labeled: small, frozen, and ready to be shown."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmargin.tables.column_names import ColumnUse

GIVEN, INDUCED, MODEL = SOURCES = ("given", "induced", "model")
"""Sources of labels.

"given" was in the table. "induced" was found by the graph, and the classifier agrees. "model" is by
the classifier alone, as no label reaches the row, or the graph would have said something else.
"""
PATH_LINES = {
    "fold_score": "accuracy, labels held out in folds",
    "graph_score": "accuracy of the graph alone, labels held out in folds",
    "confidence": "mean confidence of the graph",
}
"""Columns of the path of gamma_g that are drawn, and what they are in words."""


def gamma_text(gamma_g: float) -> str:
    """Return gamma_g for a person: inf is supervised learning.

    Examples
    --------
    >>> gamma_text(0.12345), gamma_text(float("inf"))
    ('0.12', 'supervised')
    """
    return "supervised" if math.isinf(gamma_g) else f"{gamma_g:.2g}"


@dataclass(frozen=True)
class Candidate:
    """A combination of parameters that was tried, and its weight in the blend."""

    gamma_g: float
    C: float
    weight: float
    accuracy: float | None
    """Share of the hidden labels that it gets right; None if none could be hidden."""


@dataclass(frozen=True)
class Estimate:
    """Accuracy on labels that were hidden from the classifier.

    Attributes
    ----------
    n_hidden, n_right : int
    low, high : float
        A 95 % interval (Clopper and Pearson) for the accuracy on rows like the labeled ones.
    guess : float
        Accuracy of the most frequent class for all.
    """

    n_hidden: int
    n_right: int
    low: float
    high: float
    guess: float

    @property
    def accuracy(self) -> float:
        """Share of the hidden labels that were right."""
        return self.n_right / self.n_hidden


@dataclass(frozen=True)
class RowNote:
    """A row that deserves a look.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label : str
        That it got, or was given.
    other : str
        The label that comes next, or that the others suggest.
    score : float
        Confidence of a label that it got; suspicion of one that was given.
    cells : mapping from str to str
        Its values in a few columns, shortened.
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
        In [0, 1].
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
        Pairs of points, by their place in these tuples.
    method : str
        How the points were placed, in words.
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
    """The work of a cluster on a table that one machine need not hold.

    Attributes
    ----------
    sampled_rows : int
        Rows that the features were learned from.
    tried_labeled, tried_unlabeled : int
        Rows of the sample that parameters were chosen on.
    graph_recall : float
        Share of the exact neighbors in the graph.
    n_partitions : int
        Partitions of the graph.
    """

    sampled_rows: int
    tried_labeled: int
    tried_unlabeled: int
    graph_recall: float
    n_partitions: int


@dataclass(frozen=True, kw_only=True)
class Findings:
    """All that reports and summaries show of a labeled table; a summary leaves the defaults.

    Attributes
    ----------
    table, target : str
        Name of the file, and of the column.
    n_rows, n_labels : int
    classes : tuple of str
    given_counts, final_counts : tuple of int
        Rows of each class before and after.
    source_counts : mapping from {"given", "induced", "model"} to int
    columns : tuple of ColumnUse
    scaling : str
        What the features do to columns of numbers, in words.
    candidates : tuple of Candidate
        All that were tried, the heaviest first.
    supervised_share : float
        Weight of classifiers that do not look at the graph.
    estimate : Estimate or None
        None if no label could be hidden.
    verdict : str
        "graph helps", "supervised chosen", ..., see `graphmargin.graph_report`.
    graph_lines : tuple of str
        The graph report.
    warnings : tuple of str
        What the owner should do something about.
    path : mapping from str to tuple of float
        Columns of ``gamma_g_path_``, a value for each gamma_g; inf and nan are possible.
    histogram : mapping from str to tuple of int
        For "induced" and "model", rows in each of the equal bins of the confidence in [0, 1].
    map : GraphMap or None
    least_certain : tuple of RowNote
        Rows with the least confidence that got a label.
    doubts : tuple of RowNote or None
        Given labels that look wrong, the most suspicious first; None if the graph cannot tell.
    doubts_note : str
        Why it cannot tell, in a sentence; empty if it can.
    certificate : tuple of str
        What is proved about the error, in sentences.
    cluster : ClusterUse or None
        Set if a cluster did the work. A report then has no part that needs all rows in one place.
    seconds : float
    version : str
        Of graphmargin.
    """

    table: str
    target: str
    n_rows: int
    n_labels: int
    classes: tuple[str, ...]
    given_counts: tuple[int, ...]
    final_counts: tuple[int, ...]
    source_counts: Mapping[str, int]
    columns: tuple[ColumnUse, ...]
    scaling: str
    candidates: tuple[Candidate, ...]
    supervised_share: float
    estimate: Estimate | None
    verdict: str
    graph_lines: tuple[str, ...] = ()
    warnings: tuple[str, ...]
    path: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    histogram: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    map: GraphMap | None = None
    least_certain: tuple[RowNote, ...] = ()
    doubts: tuple[RowNote, ...] | None = ()
    doubts_note: str = ""
    certificate: tuple[str, ...] = ()
    cluster: ClusterUse | None = None
    seconds: float
    version: str

    @property
    def details(self) -> dict[str, Any]:
        """Details of the table, which the model file keeps."""
        estimate = self.estimate
        return {
            "table": self.table,
            "rows": self.n_rows,
            "labels": self.n_labels,
            "verdict": self.verdict,
            "estimated_accuracy": None if estimate is None else round(estimate.accuracy, 4),
            "hidden_labels": 0 if estimate is None else estimate.n_hidden,
        }
