"""The content of the report page: a summary, and all that only the page shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from graphmargin.confidence.coverage import CoverageCurve
from graphmargin.confidence.thresholds import ThresholdRow
from graphmargin.report.summary import Summary


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
    texts : mapping from str to str
        The whole values of those that were shortened.
    """

    row: int
    label: str
    other: str
    score: float
    cells: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)


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
    is_given : tuple of bool
        Whether the label of each point was given in the table.
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
    is_given: tuple[bool, ...]
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
    histogram : tuple of int
        Number of predicted labels in equal bins of the confidence in [0, 1].
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
    histogram: tuple[int, ...] = ()
    coverage: CoverageCurve | None = None
    rare_class: str = ""
    thresholds: tuple[ThresholdRow, ...] = ()
    map: GraphMap | None = None
    least_certain: tuple[RowNote, ...] = ()
    suspicious_labels: tuple[RowNote, ...] | None = None
    audit_note: str = ""
