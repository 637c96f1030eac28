"""How a table would be used, without learning from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphmargin.labeling.job import job_of
from graphmargin.tables.columns import ColumnUse
from graphmargin.tables.features import TableFeatures
from graphmargin.tables.reading import read_table


@dataclass(frozen=True)
class Overview:
    """The columns and labels of a table.

    Attributes
    ----------
    table : str
        Name of the file.
    n_rows : int
    columns : tuple of ColumnUse
    scaling : str
        What the features do to columns of numbers, in words.
    label_counts : mapping from str to int
        Labels of each class; empty without a target.
    n_unlabeled : int
        Rows without a label; all of them without a target.
    """

    table: str
    n_rows: int
    columns: tuple[ColumnUse, ...]
    scaling: str
    label_counts: Mapping[str, int]
    n_unlabeled: int


def overview(
    path: Path,
    target: str | None = None,
    *,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
) -> Overview:
    """Return what `label` would make of the columns of a table."""
    table = read_table(path)
    if target is None:
        features, counts = TableFeatures(ignore=tuple(ignore)).fit(table), {}
        columns = features.columns_
    else:
        job = job_of(table, target, name=path.name, unlabeled=unlabeled, ignore=ignore)
        features, columns = job.features, job.columns
        numbers = np.bincount(job.target.codes[job.target.labeled])
        counts = {str(name): int(n) for name, n in zip(job.target.classes, numbers, strict=True)}
    return Overview(
        table=path.name,
        n_rows=len(table),
        columns=columns,
        scaling=features.scaling_,
        label_counts=counts,
        n_unlabeled=len(table) - sum(counts.values()),
    )
