"""Previews of rows, a few cells by which a person recognizes a row, and notes on rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from textwrap import shorten
from typing import Any

from graphmargin.labeling.labeling_task import LabelingTask
from graphmargin.report.content import RowNote
from graphmargin.tables.column_names import ID_NOTE

MAX_COLUMNS = 4
MAX_CHARACTERS = 60
_MANY_DECIMALS = re.compile(r"-?\d{1,4}\.\d{4,}")
_RANK = {"text": 0, "category": 1, "date": 2, "number": 3}


def preview_columns(task: LabelingTask) -> tuple[str, ...]:
    """Return the columns of a preview: IDs first, then text, categories, dates and numbers.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.labeling_task import task_of
    >>> table = pd.DataFrame(
    ...     {"size": [1.0, 1.5, 5.0], "id": ["a7", "b1", "c3"], "kind": ["cat", None, "dog"]}
    ... )
    >>> preview_columns(task_of(table, "kind"))
    ('id', 'size')
    """
    uses = task.columns
    names = [use.name for use in uses if use.note == ID_NOTE]
    readable = sorted((use for use in uses if use.role in _RANK), key=lambda use: _RANK[use.role])
    return tuple([*names, *(use.name for use in readable)][:MAX_COLUMNS])


def preview_rows(task: LabelingTask, rows: Iterable[int]) -> list[dict[str, str]]:
    """Return the cells of rows in the columns of a preview; missing cells are empty."""
    shown = task.table[list(preview_columns(task))].iloc[list(rows)]
    texts = {
        name: [
            _text(value) if present else ""
            for value, present in zip(column, column.notna(), strict=True)
        ]
        for name, column in shown.items()
    }
    return [{name: cells[i] for name, cells in texts.items()} for i in range(len(shown))]


def row_notes(
    task: LabelingTask,
    rows: Sequence[int],
    labels: Sequence[Any],
    others: Sequence[Any],
    scores: Sequence[float],
) -> tuple[RowNote, ...]:
    """Return notes on rows, which are counted from 0 here and from 1 in the notes."""
    columns = (rows, labels, others, scores, preview_rows(task, rows))
    return tuple(
        RowNote(int(row) + 1, str(label), str(other), float(score), cells)
        for row, label, other, score, cells in zip(*columns, strict=True)
    )


def _text(value: Any) -> str:
    if isinstance(value, str) and _MANY_DECIMALS.fullmatch(value):
        value = float(value)
    text = f"{value:.4g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return shorten(text, MAX_CHARACTERS, placeholder=" ...")
