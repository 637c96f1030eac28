"""Explanations of the label of a row, and of what would change it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import IntArray
from graphmargin.harmonic.solution import Explanation, HarmonicSolution, solve_path
from graphmargin.labeling.labeling_task import LabeledTable, LabelingTask
from graphmargin.labeling.row_preview import preview_rows
from graphmargin.labels import UNLABELED
from graphmargin.tables.column_names import check_column_exists
from graphmargin.tables.table_errors import TableError

LISTED = 10
"""Labels behind a row, and neighbors, that are listed."""


@dataclass(frozen=True)
class Influence:
    """A row that speaks for the label of another one.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label, source : str
    share : float
        Of the walks that end at this label; of a neighbor, share of the weight of all edges.
    cells : mapping from str to str
    """

    row: int
    label: str
    source: str
    share: float
    cells: Mapping[str, str]


@dataclass(frozen=True)
class RowExplanation:
    """The label of a row, and what it rests on.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label, source : str
    confidence : float
    probabilities : mapping from str to float
        Of the classes by the classifier, the likeliest first.
    graph_label : str or None
        What the graph says, the own label being hidden; None if no label reaches the row.
    graph_confidence : float
    gamma_g : float
        Rate of the sink in the walk that is explained.
    graph_is_used : bool
        False if supervised learning was chosen: the graph then tells of similar rows only.
    labels : tuple of Influence
        Labeled rows where walks from the row end, the largest share first.
    sink_share : float
        Of the walks, those that end in the sink.
    neighbors : tuple of Influence
    change : str
        What would have to be different, in a sentence.
    cells : mapping from str to str
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
    change: str
    cells: Mapping[str, str]


def find_row(job: LabelingTask, row: str, column: str | None = None) -> int:
    """Return the place of a row, from 0: by its number from 1, or by its value in a column.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame(
    ...     {"id": ["a7", "b1", "c3"], "x": [1.0, 1.5, 5.0], "kind": ["cat", None, "dog"]}
    ... )
    >>> job = task_of(table, "kind")
    >>> find_row(job, "2"), find_row(job, "c3", "id")
    (1, 2)
    """
    n = len(job.table)
    if column is None:
        if not row.isdigit() or not 1 <= int(row) <= n:
            msg = (
                f"row must be a number from 1 to {n:,}, got {row!r}; to find a row by its value in "
                "a column, name the column with --id"
            )
            raise TableError(msg)
        return int(row) - 1
    check_column_exists(column, job.table.columns, f"{job.name}: ")
    found = np.flatnonzero(job.table[column].astype(str).to_numpy() == row)
    if len(found) != 1:
        problem = "no row" if not len(found) else f"{len(found):,} rows"
        msg = f"{problem} of {job.name} with {row!r} in column {column!r}; it must be one"
        raise TableError(msg)
    return int(found[0])


def explain_row(labeled: LabeledTable, place: int) -> RowExplanation:
    """Return why the row at a place (from 0) has its label.

    A walk starts at the row and moves along edges until it meets a label, or falls into the sink.
    The share of a label is the probability that walks end there; its own label is hidden from the
    walk of a labeled row.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of, label_rows
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", None]})
    >>> found = explain_row(label_rows(task_of(table, "kind")), 1)
    >>> found.label, found.graph_label, [one.row for one in found.labels]
    ('cat', 'cat', [1, 3])
    """
    job, fitted = labeled.job, labeled.fitted
    classes = job.target.classes
    solution = _without_own(labeled, place)
    walk = solution.explain(place, n_jobs=labeled.n_jobs)
    order = np.argsort(-fitted.label_distributions[place], kind="stable")
    reached = solution.codes[place] != UNLABELED
    edges = fitted.task.W[[place]]
    by_weight = np.argsort(-edges.data, kind="stable")[:LISTED]
    return RowExplanation(
        row=place + 1,
        label=str(classes[labeled.codes[place]]),
        source=str(labeled.sources[place]),
        confidence=float(labeled.confidence[place]),
        probabilities={str(classes[k]): float(fitted.label_distributions[place, k]) for k in order},
        graph_label=str(classes[solution.codes[place]]) if reached else None,
        graph_confidence=float(solution.confidence[place]),
        gamma_g=solution.gamma_g,
        graph_is_used=bool(np.isfinite(fitted.solution.gamma_g)),
        labels=_influences(labeled, walk.sources[:LISTED], walk.shares[:LISTED]),
        sink_share=walk.sink_mass,
        neighbors=_influences(
            labeled, edges.indices[by_weight], edges.data[by_weight] / edges.data.sum()
        ),
        change=_change(job, walk, solution.class_mass[place]),
        cells=preview_rows(job, [place])[0],
    )


def _without_own(labeled: LabeledTable, place: int) -> HarmonicSolution:
    """Return the solution with the label at a place hidden."""
    solution = labeled.solution
    if solution.problem.labels.codes[place] == UNLABELED:
        return solution
    problem = solution.problem.without_labels([place])
    return solve_path(problem, [solution.gamma_g], n_jobs=labeled.n_jobs)[0]


def _influences(labeled: LabeledTable, places: IntArray, shares: Any) -> tuple[Influence, ...]:
    classes, sources = labeled.job.target.classes, labeled.sources
    return tuple(
        Influence(int(i) + 1, str(classes[labeled.codes[i]]), str(sources[i]), float(share), cells)
        for i, share, cells in zip(places, shares, preview_rows(labeled.job, places), strict=True)
    )


def _change(job: LabelingTask, walk: Explanation, mass: Any) -> str:
    """Return which labels would have to be others for the graph to change its mind.

    Another label at a row moves its whole share from one class to another; shares stay.
    """
    if not len(walk.sources):
        return "No label reaches this row: label it, or a row of its cluster."
    best, second = np.argsort(-mass, kind="stable")[:2]
    codes = job.target.codes[walk.sources]
    own = np.flatnonzero(codes == best)
    gap = mass[best] - mass[second]
    needed = int(np.searchsorted(np.cumsum(2 * walk.shares[own]), gap, side="right")) + 1
    rows = [f"{row + 1:,}" for row in walk.sources[own[:needed]][:LISTED]]
    more = f" and {needed - LISTED} more" if needed > LISTED else ""
    which = "the label of row" if needed == 1 else f"{needed} labels, those of rows"
    other = repr(str(job.target.classes[second]))
    return f"The graph would say {other} if {which} {', '.join(rows)}{more} were {other}."
