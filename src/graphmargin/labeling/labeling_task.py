"""Tables with labels in some rows: their features and classes, and checks before labeling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray
from graphmargin.labeling.output_cells import label_cells
from graphmargin.tables.column_names import (
    ColumnUse,
    check_not_taken,
    check_not_target,
    format_names,
)
from graphmargin.tables.reading import read_table, table_name
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures, fit_transform
from graphmargin.tables.target import Target, read_target, target_from_labels

if TYPE_CHECKING:
    import pandas as pd


MARKERS = ("-1", "?", "??", "-", "unlabeled", "unknown", "none", "n/a")
"""Texts of classes that probably mean unlabeled if most rows have them."""


@dataclass(frozen=True)
class LabelingTask:
    """A table with a column of labels, some of them missing.

    Attributes
    ----------
    name : str
        Name of the table in messages, see `table_name`.
    table : DataFrame
        The table as it was read.
    target : Target
        The classes, and the class of every labeled row.
    features : TableFeatures
        The features, fitted on all rows.
    X : array of shape (n_rows, n_features)
    """

    name: str
    table: pd.DataFrame
    target: Target
    features: TableFeatures
    X: FloatArray

    @property
    def n_labels(self) -> int:
        """Number of rows with a label."""
        return int(self.target.labeled.sum())

    @property
    def columns(self) -> tuple[ColumnUse, ...]:
        """The use of all columns except for the target."""
        return tuple(use for use in self.features.columns if use.name != self.target.name)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Sentences on cells that are missing because they are invalid, and on similar classes."""
        return (*self.features.warnings, *self.target.warnings)


def read_task(
    path: Path,
    target: str,
    *,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
    min_classes: int = 2,
) -> LabelingTask:
    """Return the labeling task of a table in a file, see `task_of`."""
    return task_of(
        read_table(path),
        target,
        name=table_name(path),
        unlabeled=unlabeled,
        ignore=ignore,
        keep=keep,
        category=category,
        min_classes=min_classes,
    )


def task_of(
    table: pd.DataFrame,
    target: str,
    *,
    name: str = "table",
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
    min_classes: int = 2,
) -> LabelingTask:
    """Return the labeling task of a table, with its features and classes.

    Parameters
    ----------
    table : DataFrame
    target : str
        Column of the labels.
    name : str
        Name of the table, for messages.
    unlabeled : sequence of str
        Values of the target that mean unlabeled, in addition to empty cells.
    ignore : sequence of str
        Columns that are not features.
    keep : sequence of str
        Columns that are features although they look like an ID.
    category : sequence of str
        Columns that are categories whatever their cells are.
    min_classes : {0, 2}, default=2
        Smallest number of classes with a label. With 0, a column that the table does not have is
        added, without any label.

    Raises
    ------
    TableError
        If the table has no rows, the target has too few classes, or no column can be used.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": ["cat", None, "dog", "?"]})
    >>> task = task_of(table, "kind", unlabeled=["?"])
    >>> task.n_labels, task.target.classes.tolist(), task.X.shape
    (2, ['cat', 'dog'], (4, 1))
    """
    if min_classes == 0 and target not in map(str, table.columns):
        table = _with_empty_column(table, target)
    check_not_target(target, keep=keep, category=category)
    check_has_rows(table, name)
    labels = read_target(table, target, unlabeled=unlabeled, source=name, min_classes=min_classes)
    features, X = fit_transform(table, ignore=(target, *ignore), keep=keep, category=category)
    return LabelingTask(name, table, labels, features, X)


def check_has_rows(table: pd.DataFrame, name: str) -> None:
    """Raise `TableError` if a table has a header only."""
    if not len(table):
        columns = format_names([str(column) for column in table.columns])
        msg = f"{name} has no rows, only a header (columns: {columns}); add rows"
        raise TableError(msg)


def _with_empty_column(table: pd.DataFrame, name: str) -> pd.DataFrame:
    import pandas as pd

    table = table.copy()  # `assign` does not accept a column named "self"
    table[name] = pd.Series([None] * len(table), index=table.index, dtype="str")
    return table


def relabel(task: LabelingTask, names: AnyArray) -> LabelingTask:
    """Return the task with other labels; cells whose label stays the same are not changed.

    The labels are taken literally, whatever the same texts mean in a column that is read.

    Parameters
    ----------
    task : LabelingTask
    names : array of shape (n_rows,)
        The label of each row as a text, None without a label.

    Raises
    ------
    TableError
        If fewer than two classes have a label.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 1.1, 5.0, 5.2], "kind": [" cat", None, "dog", None]})
    >>> task = relabel(task_of(table, "kind"), np.array(["cat", "eel", None, "eel"]))
    >>> task.table["kind"].tolist(), task.target.classes.tolist()
    ([' cat', 'eel', nan, 'eel'], ['cat', 'eel'])
    """
    import pandas as pd

    target, names = task.target, np.asarray(names, dtype=object)
    known = [str(name) for name in target.classes.tolist()]
    given = np.array([*known, None], dtype=object)[target.codes]
    table = task.table.copy()
    column = table[target.name]
    labels = target_from_labels(target.name, names, target.rule)
    if target.classes.dtype.kind == "O":
        cells = np.where(given == names, column.to_numpy(dtype=object), names)
        table[target.name] = pd.Series(cells, index=table.index, dtype="str")
    elif set(names.tolist()) <= {*known, None}:
        codes = np.array([known.index(name) if name is not None else -1 for name in names])
        table[target.name] = label_cells(target.classes[codes], codes >= 0)
        used, codes[codes >= 0] = np.unique(codes[codes >= 0], return_inverse=True)
        labels = Target(target.name, target.classes[used], codes, target.rule)
    else:  # a class is new, so that numbers become text
        table[target.name] = pd.Series(names, index=table.index, dtype="str")
    return replace(task, table=table, target=labels)


def check_new_columns(task: LabelingTask, coverage: float | None = None) -> None:
    """Raise `TableError` if a table already has a column that the result adds.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.5, 2, 3], "y": ["a", "b", ""], "y_source": ["", "", ""]})
    >>> check_new_columns(task_of(table, "y"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    graphmargin.tables.table_errors.TableError: table already has a column 'y_source', ...
    """
    name = task.target.name
    new = [f"{name}_confidence", f"{name}_source"] + [f"{name}_set"] * (coverage is not None)
    check_not_taken(new, task.table.columns, task.name)


def check_markers(target: Target) -> None:
    """Raise `TableError` if the class of most rows of a full table probably means unlabeled.

    Examples
    --------
    >>> check_markers(Target("kind", np.array([-1, 1]), np.array([0, 0, 1])))
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: all rows have a label in 'kind', -1 in 2 of them; if -1 means unlabeled, pass unlabeled=-1
    """  # noqa: E501 - an error is one line
    marker, n_marked = class_of_most_rows(target)
    if not target.labeled.all() or str(marker) not in MARKERS:
        return
    msg = (
        f"all rows have a label in {target.name!r}, {marker!r} in {n_marked:,} of them; if "
        f"{marker!r} means unlabeled, pass unlabeled={marker!r}"
    )
    raise TableError(msg)


def check_has_unlabeled(task: LabelingTask) -> None:
    """Raise `TableError` if all rows have a label, naming a class that may mean unlabeled.

    Examples
    --------
    >>> import pandas as pd
    >>> table = pd.DataFrame({"x": [1.5, 2, 3, 5], "y": ["a", "?", "b", "?"]})
    >>> check_has_unlabeled(task_of(table, "y"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
        ...
    graphmargin.tables.table_errors.TableError: ... if '?' (2 rows) means unlabeled, ...
    """
    target = task.target
    if not target.labeled.all():
        return
    hint = unlabeled_hint(target)
    message = all_labeled_message(
        len(task.table), task.name, target.name, f"{hint}; " if hint else ""
    )
    raise TableError(message)


def unlabeled_hint(target: Target) -> str:
    """Return a clause on the class of most rows, which may mean unlabeled; empty without one.

    Examples
    --------
    >>> unlabeled_hint(Target("kind", np.array(["?", "cat"]), np.array([0, 0, 1])))
    "if '?' (2 rows) means unlabeled, add --unlabeled='?'"
    """
    marker, n_marked = class_of_most_rows(target)
    if marker is None:
        return ""
    marker = str(marker)
    return f"if {marker!r} ({n_marked:,} rows) means unlabeled, add --unlabeled={quote(marker)}"


def class_of_most_rows(target: Target) -> tuple[Any, int]:
    """Return the class that at least half of the rows have, if there is one, and their number.

    Examples
    --------
    >>> class_of_most_rows(Target("kind", np.array([-1, 1]), np.array([0, 0, 1])))
    (-1, 2)
    """
    counts = np.bincount(target.codes[target.labeled], minlength=1)
    n_marked = int(counts.max())
    if 2 * n_marked < len(target.codes) or (counts == n_marked).sum() > 1:
        return None, n_marked
    return target.classes.tolist()[counts.argmax()], n_marked


def all_labeled_message(n_rows: int, table: str, target: str, hint: str = "") -> str:
    """Return the message of the error for a table in which every row has a label."""
    return (
        f"all {n_rows:,} rows of {table} have a label in {target!r}, so there is nothing to "
        f"predict; {hint}`graphmargin fit` learns a model from these labels, and `graphmargin "
        "audit` finds those that look wrong"
    )
