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
MAX_CHARACTERS, MAX_TEXT = 60, 5000
"""Largest number of characters of a cell, and of a text that can be opened."""
CUT = " ..."
"""End of a text that was shortened."""
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
    """Return the cells of rows in the columns of a preview, shortened; missing cells are empty."""
    return [_shortened(cells) for cells in _whole_cells(task, rows)]


def _whole_cells(task: LabelingTask, rows: Iterable[int]) -> list[dict[str, str]]:
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
    whole = _whole_cells(task, rows)
    columns = (rows, labels, others, scores, map(_shortened, whole), whole)
    return tuple(
        RowNote(
            row=int(row) + 1,
            label=str(label),
            other=str(other),
            score=float(score),
            cells=cells,
            texts={
                name: _shorten(text, MAX_TEXT)
                for name, text in texts.items()
                if cells[name] != " ".join(text.split())
            },
        )
        for row, label, other, score, cells, texts in zip(*columns, strict=True)
    )


def _text(value: Any) -> str:
    if isinstance(value, str) and _MANY_DECIMALS.fullmatch(value):
        value = float(value)
    return f"{value:.4g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")


def _shortened(cells: dict[str, str]) -> dict[str, str]:
    return {name: _shorten(text) for name, text in cells.items()}


def _shorten(text: str, width: int = MAX_CHARACTERS) -> str:
    """Return the first words of a text, or the beginning of its only word."""
    short = shorten(text, width, placeholder=CUT)
    return text[: width - len(CUT)] + CUT if short == CUT.strip() != text else short
