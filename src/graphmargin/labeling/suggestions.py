"""Suggestions of rows to label next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from graphmargin.harmonic.suggestion import suggest_labels
from graphmargin.labeling.row_preview import preview_rows

if TYPE_CHECKING:  # which calls these functions
    from graphmargin.labeling.labeled_table import LabeledTable


@dataclass(frozen=True)
class SuggestedRow:
    """A row to label next.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label : str
        The predicted label.
    confidence : float
        Confidence of the predicted label.
    gain : float
        Expected number of errors that its label avoids.
    reason : str
    cells : mapping from str to str
        Values of the row in a few columns, shortened.
    """

    row: int
    label: str
    confidence: float
    gain: float
    reason: str
    cells: Mapping[str, str]


def suggest_rows(labeled: LabeledTable, n: int) -> tuple[SuggestedRow, ...]:
    """Return the rows to label next, the largest gain first; see `graphmargin.suggest_labels`.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.table_labeling import label_rows
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> size = [center + step / 10 for center in (1, 5, 9) for step in range(8)]
    >>> kind = ["cat", *[None] * 7, "dog", *[None] * 15]
    >>> task = task_of(pd.DataFrame({"size": size, "kind": kind}), "kind")
    >>> (suggestion,) = suggest_rows(label_rows(task), 1)
    >>> suggestion.row > 16, suggestion.reason
    (True, 'no label reaches its cluster of 8 rows')
    """
    suggestions = suggest_labels(labeled.solution, n, n_jobs=labeled.n_jobs)
    classes = labeled.task.target.classes
    rows = zip(
        suggestions.vertices.tolist(),
        suggestions.gain.tolist(),
        suggestions.reasons,
        preview_rows(labeled.task, suggestions.vertices),
        strict=True,
    )
    return tuple(
        SuggestedRow(
            row=vertex + 1,
            label=str(classes[labeled.codes[vertex]]),
            confidence=float(labeled.confidence[vertex]),
            gain=gain,
            reason=reason,
            cells=cells,
        )
        for vertex, gain, reason, cells in rows
    )
