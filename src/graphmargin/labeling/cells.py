"""A few cells of a row, so that a person recognizes it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from textwrap import shorten
from typing import Any

from graphmargin.labeling.findings import RowNote
from graphmargin.labeling.job import Job

MOST_COLUMNS = 4
MOST_LETTERS = 60
_RANK = {"text": 0, "category": 1, "date": 2, "number": 3}


def shown_columns(job: Job) -> tuple[str, ...]:
    """Return the columns by which a person recognizes a row: IDs first, then what can be read.

    Examples
    --------
    >>> import pandas as pd
    >>> from graphmargin.labeling.job import job_of
    >>> table = pd.DataFrame(
    ...     {"size": [1.0, 1.5, 5.0], "id": ["a7", "b1", "c3"], "kind": ["cat", None, "dog"]}
    ... )
    >>> shown_columns(job_of(table, "kind"))
    ('id', 'size')
    """
    uses = job.columns
    names = [use.name for use in uses if use.role == "left out" and "ID" in use.note]
    readable = sorted((use for use in uses if use.role in _RANK), key=lambda use: _RANK[use.role])
    return tuple([*names, *(use.name for use in readable)][:MOST_COLUMNS])


def cells_of(job: Job, rows: Iterable[int]) -> list[dict[str, str]]:
    """Return the cells of some rows in the columns that are shown."""
    columns = {name: job.table[name] for name in shown_columns(job)}
    return [
        {name: _text(column.iloc[row]) for name, column in columns.items()}
        for row in map(int, rows)
    ]


def row_notes(
    job: Job,
    rows: Sequence[int],
    labels: Sequence[Any],
    others: Sequence[Any],
    scores: Sequence[float],
) -> tuple[RowNote, ...]:
    """Return notes on some rows, counted from 0 here and from 1 in the notes."""
    found = zip(rows, labels, others, scores, cells_of(job, rows), strict=True)
    return tuple(
        RowNote(int(row) + 1, str(label), str(other), float(score), cells)
        for row, label, other, score, cells in found
    )


def in_words(cells: Mapping[str, str]) -> str:
    """Return cells as one text.

    Examples
    --------
    >>> in_words({"id": "a7", "size": "1.5"})
    'id a7, size 1.5'
    """
    return ", ".join(f"{name} {value}" for name, value in cells.items())


def _text(value: Any) -> str:
    text = f"{value:.4g}" if isinstance(value, float) else str(value).removesuffix(" 00:00:00")
    return shorten(text, MOST_LETTERS, placeholder=" ...")
