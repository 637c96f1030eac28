"""An overview of the columns and labels of a table, before anything is learned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from graphmargin.labeling.labeling_task import unlabeled_hint
from graphmargin.tables.column_names import ColumnUse, check_not_target
from graphmargin.tables.reading import read_table, table_name
from graphmargin.tables.table_features import column_warnings, describe_columns
from graphmargin.tables.target import read_target


@dataclass(frozen=True)
class ColumnOverview:
    """The columns and labels of a table.

    Attributes
    ----------
    table : str
        Name of the table in messages, see `table_name`.
    n_rows : int
    columns : tuple of ColumnUse
        The number of features of a text is the largest possible one.
    scaling : str
        A sentence on how numbers are scaled.
    label_counts : mapping from str to int
        Number of labels of each class; empty without a target.
    n_unlabeled : int
        Number of rows without a label; all rows without a target.
    warnings : tuple of str
        Sentences on cells and classes that a user should look at, and on what a fit lacks.
    """

    table: str
    n_rows: int
    columns: tuple[ColumnUse, ...]
    scaling: str
    label_counts: Mapping[str, int]
    n_unlabeled: int
    warnings: tuple[str, ...] = ()


def column_overview(
    path: Path,
    target: str | None = None,
    *,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
) -> ColumnOverview:
    r"""Return how `graphmargin label` would use the columns of a table.

    Nothing is fitted. The table may be one that cannot be labeled, as it has no rows, labels or
    features.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "pets.csv"
    ...     _ = path.write_text("size,kind\n1.5,cat\n1.6,\n5.0,dog\n")
    ...     overview = column_overview(path, "kind")
    >>> overview.columns[0].role, overview.label_counts, overview.n_unlabeled
    ('number', {'cat': 1, 'dog': 1}, 1)
    """
    table, name = read_table(path), table_name(path)
    counts: dict[str, int] = {}
    warnings: list[str] = []
    if target is not None:
        check_not_target(target, keep=keep, category=category)
        labels = read_target(table, target, unlabeled=unlabeled, source=name, min_classes=0)
        numbers = np.bincount(labels.codes[labels.labeled]).tolist()
        counts = dict(zip(map(str, labels.classes), numbers, strict=True))
        ignore = (target, *ignore)
        warnings += labels.warnings
        if len(table) and len(counts) < 2:
            found = "only one class" if counts else "no class"
            warnings.append(f"{found} of {target!r} has a label; at least two classes need one")
        if len(table) and labels.labeled.all():
            warnings += filter(None, [unlabeled_hint(labels)])
    columns, scaling = describe_columns(table, ignore=ignore, keep=keep, category=category)
    if not len(table):
        warnings.append("the table has no rows, only a header")
    elif all(use.role == "left out" for use in columns):
        warnings.append("no column can be used as a feature; add columns, or name an ID in `keep`")
    return ColumnOverview(
        table=name,
        n_rows=len(table),
        columns=tuple(use for use in columns if use.name != target),
        scaling=scaling,
        label_counts=counts,
        n_unlabeled=len(table) - sum(counts.values()),
        warnings=(*column_warnings(columns), *warnings),
    )
