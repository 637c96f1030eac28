"""Explanations of the label of a row."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import IntArray
from graphmargin.harmonic.explanation import Explanation
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.labeling.labeled_table import LabeledTable
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.labeling.row_preview import preview_rows
from graphmargin.labels import UNLABELED
from graphmargin.tables.column_names import check_column_exists
from graphmargin.tables.table_errors import TableError

MAX_LISTED = 10
"""Largest number of labels, and of neighbors, in an explanation."""


@dataclass(frozen=True)
class Influence:
    """A row that supports the label of another row.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label, source : str
    share : float
        Share of the walks that end at its label; for a neighbor, its share of the edge weights.
    cells : mapping from str to str
    """

    row: int
    label: str
    source: str
    share: float
    cells: Mapping[str, str]


@dataclass(frozen=True)
class RowExplanation:
    """The label of a row, and the labels and neighbors that support it.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label, source : str
    confidence : float
    probabilities : mapping from str to float
        Class probabilities of the classifier, the largest first.
    graph_label : str or None
        Label by the graph, with the row's own label held out; None if no label reaches the row.
    graph_confidence : float
    gamma_g : float
        Rate of the sink in the walk that is explained.
    graph_is_used : bool
        False if supervised learning was chosen; the graph then only shows similar rows.
    labels : tuple of Influence
        Labeled rows at which walks from the row end, the largest share first.
    sink_share : float
        Share of the walks that end in the sink.
    neighbors : tuple of Influence
    counterfactual : str
        A sentence on which labels would change the label of the row.
    cells : mapping from str to str
        Values of the row in a few columns, shortened.
    """

    row: int
    label: str
    source: str
    confidence: float
    probabilities: Mapping[str, float]
    graph_label: str | None
    graph_confidence: float
    gamma_g: float
    graph_is_used: bool
    labels: tuple[Influence, ...]
    sink_share: float
    neighbors: tuple[Influence, ...]
    counterfactual: str
    cells: Mapping[str, str]


def find_row(task: LabelingTask, row: str, column: str | None = None) -> int:
    """Return the position of a row, from 0, given its number, from 1, or its value in a column.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame(
    ...     {"id": ["a7", "b1", "c3"], "x": [1.0, 1.5, 5.0], "kind": ["cat", None, "dog"]}
    ... )
    >>> task = task_of(table, "kind")
    >>> find_row(task, "2"), find_row(task, "c3", "id")
    (1, 2)
    """
    n = len(task.table)
    if column is None:
        if not row.isdigit() or not 1 <= int(row) <= n:
            msg = (
                f"--row must be a number from 1 to {n:,}, got {row!r}; use --id COLUMN to find a "
                "row by its value in a column"
            )
            raise TableError(msg)
        return int(row) - 1
    check_column_exists(column, task.table.columns, f"{task.name}: ")
    matches = np.flatnonzero(task.table[column].astype(str).to_numpy() == row)
    if len(matches) != 1:
        number = "no row has" if not len(matches) else f"{len(matches):,} rows have"
        msg = f"{task.name}: {number} {row!r} in column {column!r}; --row must match exactly one"
        raise TableError(msg)
    return int(matches[0])


def explain_row(labeled: LabeledTable, position: int) -> RowExplanation:
    """Return an explanation of the label of the row at a position, from 0.

    A walk starts at the row and moves along edges until it meets a label or falls into the sink.
    The share of a label is the probability that a walk ends there. If the row has a label itself,
    this label is held out.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.table_labeling import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> explanation = explain_row(label_rows(task_of(table, "kind")), 1)
    >>> explanation.label, [influence.row for influence in explanation.labels]
    ('cat', [1, 3])
    """
    task, cut = labeled.task, labeled.cut
    classes = task.target.classes
    solution = _solution_without_label(labeled, position)
    walk = solution.explain(position, n_jobs=labeled.n_jobs)
    probabilities = labeled.fitted.label_distributions[position]
    order = np.argsort(-probabilities, kind="stable")
    reached = solution.codes[position] != UNLABELED
    edges = cut.W[[position]]
    by_weight = np.argsort(-edges.data, kind="stable")[:MAX_LISTED]
    return RowExplanation(
        row=position + 1,
        label=str(classes[labeled.codes[position]]),
        source=str(labeled.sources[position]),
        confidence=float(labeled.confidence[position]),
        probabilities={str(classes[k]): float(probabilities[k]) for k in order},
        graph_label=str(classes[solution.codes[position]]) if reached else None,
        graph_confidence=float(solution.confidence[position]),
        gamma_g=solution.gamma_g,
        graph_is_used=bool(np.isfinite(cut.solution.gamma_g)),
        labels=_influences(labeled, walk.sources[:MAX_LISTED], walk.shares[:MAX_LISTED]),
        sink_share=walk.sink_mass,
        neighbors=_influences(
            labeled, edges.indices[by_weight], edges.data[by_weight] / edges.data.sum()
        ),
        counterfactual=_counterfactual(task, walk, solution.class_mass[position]),
        cells=preview_rows(task, [position])[0],
    )


def _solution_without_label(labeled: LabeledTable, position: int) -> HarmonicSolution:
    """Return the harmonic solution with the label at a position held out."""
    solution = labeled.solution
    if solution.problem.labels.codes[position] == UNLABELED:
        return solution
    problem = solution.problem.without_labels([position])
    return solve_path(problem, [solution.gamma_g], n_jobs=labeled.n_jobs)[0]


def _influences(labeled: LabeledTable, rows: IntArray, shares: Any) -> tuple[Influence, ...]:
    classes, sources = labeled.task.target.classes, labeled.sources
    return tuple(
        Influence(int(i) + 1, str(classes[labeled.codes[i]]), str(sources[i]), float(share), cells)
        for i, share, cells in zip(rows, shares, preview_rows(labeled.task, rows), strict=True)
    )


def _counterfactual(task: LabelingTask, walk: Explanation, mass: Any) -> str:
    """Return a sentence on the labels that would have to differ for the graph to change its label.

    Another label at a row moves its whole share from one class to another; the shares of rows stay.
    """
    if not len(walk.sources):
        return "No label reaches this row; label it or another row of its cluster."
    best, second = np.argsort(-mass, kind="stable")[:2]
    codes = task.target.codes[walk.sources]
    supporting = np.flatnonzero(codes == best)
    gap = mass[best] - mass[second]
    needed = int(np.searchsorted(np.cumsum(2 * walk.shares[supporting]), gap, side="right")) + 1
    rows = [f"{row + 1:,}" for row in walk.sources[supporting[:needed]][:MAX_LISTED]]
    more = f" and {needed - MAX_LISTED} more" if needed > MAX_LISTED else ""
    subject = "the label of row" if needed == 1 else f"the {needed} labels of rows"
    other = repr(str(task.target.classes[second]))
    return f"The graph would predict {other} if {subject} {', '.join(rows)}{more} were {other}."
