"""A few cells of a row, so that a person recognizes it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import Any

from graphmargin.labeling.findings import RowNote
from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.tables.column_names import ID_NOTE

MOST_COLUMNS = 4
MOST_LETTERS = 60
_MANY_DECIMALS = re.compile(r"-?\d{1,4}\.\d{4,}")
_RANK = {"text": 0, "category": 1, "date": 2, "number": 3}


def shown_columns(job: LabelingTask) -> tuple[str, ...]:
    """Return the columns by which a person recognizes a row: IDs first, then what can be read.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame(
    ...     {"size": [1.0, 1.5, 5.0], "id": ["a7", "b1", "c3"], "kind": ["cat", None, "dog"]}
    ... )
    >>> shown_columns(task_of(table, "kind"))
    ('id', 'size')
    """
    uses = job.columns
    names = [use.name for use in uses if use.note == ID_NOTE]
    readable = sorted((use for use in uses if use.role in _RANK), key=lambda use: _RANK[use.role])
    return tuple([*names, *(use.name for use in readable)][:MOST_COLUMNS])


def preview_rows(job: LabelingTask, rows: Iterable[int]) -> list[dict[str, str]]:
    """Return the cells of some rows in the columns that are shown; missing ones are empty."""
    shown = job.table[list(shown_columns(job))].iloc[list(rows)]
    texts = {
        name: [
            _text(value) if present else ""
            for value, present in zip(column, column.notna(), strict=True)
        ]
        for name, column in shown.items()
    }
    return [{name: cells[i] for name, cells in texts.items()} for i in range(len(shown))]


def row_notes(
    job: LabelingTask,
    rows: Sequence[int],
    labels: Sequence[Any],
    others: Sequence[Any],
    scores: Sequence[float],
) -> tuple[RowNote, ...]:
    """Return notes on some rows, counted from 0 here and from 1 in the notes."""
    found = zip(rows, labels, others, scores, preview_rows(job, rows), strict=True)
    return tuple(
        RowNote(int(row) + 1, str(label), str(other), float(score), cells)
        for row, label, other, score, cells in found
    )


def _text(value: Any) -> str:
    if isinstance(value, str) and _MANY_DECIMALS.fullmatch(value):
        value = float(value)
    text = f"{value:.4g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return shorten(text, MOST_LETTERS, placeholder=" ...")
