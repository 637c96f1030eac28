"""Rows to label next."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from graphmargin.harmonic.suggestion import suggest_labels
from graphmargin.labeling.labeling_task import LabeledTable
from graphmargin.labeling.row_preview import preview_rows


@dataclass(frozen=True)
class SuggestedRow:
    """A row whose label would help.

    Attributes
    ----------
    row : int
        Its number, from 1.
    label : str
        That it has got.
    confidence : float
        In that.
    gain : float
        Errors that its label is expected to save.
    reason : str
    cells : mapping from str to str
    """

    row: int
    label: str
    confidence: float
    gain: float
    reason: str
    cells: Mapping[str, str]


def suggest_rows(labeled: LabeledTable, n: int) -> tuple[SuggestedRow, ...]:
    """Return the rows to label next, the most helpful first, see `graphmargin.suggest_labels`.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of, label_rows
    >>> size = [place + step / 10 for place in (1, 5, 9) for step in range(8)]
    >>> kind = ["cat", *[None] * 7, "dog", *[None] * 15]
    >>> found = suggest_rows(label_rows(task_of(pd.DataFrame({"a": size, "b": kind}), "b")), 1)
    >>> found[0].row > 16, found[0].reason
    (True, 'no label reaches its cluster of 8 rows')
    """
    found = suggest_labels(labeled.solution, n, n_jobs=labeled.n_jobs)
    classes = labeled.job.target.classes
    rows = zip(
        found.vertices.tolist(),
        found.gain.tolist(),
        found.reasons,
        preview_rows(labeled.job, found.vertices),
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
