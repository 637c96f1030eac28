"""The column with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from graphmargin._typing import AnyArray, BoolArray, IntArray
from graphmargin.labels import UNLABELED, UNLABELED_IN_TABLES, UnlabeledRule
from graphmargin.tables.columns import check_known
from graphmargin.tables.errors import TableError
from graphmargin.tables.meanings import is_date_type, plain, texts

_MANY_CLASSES = 100


@dataclass(frozen=True)
class Target:
    """The labels of a table.

    Attributes
    ----------
    name : str
        Of the column.
    classes : array of shape (n_classes,)
        Sorted; of type int64, bool or str (object).
    codes : int array of shape (n_rows,)
        Places in `classes`; -1 is unlabeled.
    rule : UnlabeledRule
        Which cells had no label.

    Examples
    --------
    >>> Target("kind", np.array(["cat", "dog"]), np.array([1, -1])).labeled.tolist()
    [True, False]
    """

    name: str
    classes: AnyArray
    codes: IntArray
    rule: UnlabeledRule = UNLABELED_IN_TABLES

    @property
    def labeled(self) -> BoolArray:
        """Which rows have a label."""
        return self.codes >= 0


def read_target(table: pd.DataFrame, name: str, *, unlabeled: Sequence[str] = ()) -> Target:
    """Return the labels in a column: classes, and the class of each row that has one.

    `UNLABELED_IN_TABLES` says which rows are unlabeled. Blanks at the ends of text do not count.
    Whole numbers that became 3.0 beside missing cells are 3 again.

    Parameters
    ----------
    table : pandas.DataFrame
    name : str
        Of the column.
    unlabeled : sequence of str
        Texts that mean unlabeled, too, such as "-1" or "?".

    Raises
    ------
    TableError
        If there is no such column, no label, only one class, or numbers in place of classes.

    Examples
    --------
    >>> table = pd.DataFrame({"kind": ["cat", None, "dog", "?"]})
    >>> target = read_target(table, "kind", unlabeled=["?"])
    >>> target.classes.tolist(), target.codes.tolist()
    (['cat', 'dog'], [0, -1, 1, -1])
    """
    column = _column(table, name)
    if is_date_type(column):
        msg = f"column {name!r} has dates, not classes; name another target"
        raise TableError(msg)
    cells, bad = texts(column)
    if bad.any():
        kind = type(column[bad].iloc[0]).__name__
        msg = f"column {name!r} has cells of type {kind}; classes are text or whole numbers"
        raise TableError(msg)
    values = _values(column, cells, name)
    rule = UNLABELED_IN_TABLES.with_texts(unlabeled)
    labeled = ~rule.mask(column.to_numpy(dtype=object))
    if not labeled.any():
        msg = (
            f"column {name!r} has no label (unlabeled is {rule.description}); at least two classes "
            "need one"
        )
        raise TableError(msg)
    classes, found = np.unique(_array(values[labeled]), return_inverse=True)
    if len(classes) == 1:
        msg = f"all labels of column {name!r} are {classes[0]!s}; at least two classes are needed"
        raise TableError(msg)
    counts = np.bincount(found)
    if len(classes) > _MANY_CLASSES and np.mean(counts == 1) > 0.5:
        msg = (
            f"column {name!r} has {len(classes):,} different values, most of them once; "
            "these are not classes"
        )
        raise TableError(msg)
    codes = np.full(len(values), UNLABELED)
    codes[labeled] = found
    return Target(name, classes, codes, rule)


def _column(table: pd.DataFrame, name: str) -> pd.Series:
    names = [str(column) for column in table.columns]
    check_known(name, names)
    return plain(table.iloc[:, names.index(name)].reset_index(drop=True))


def _values(column: pd.Series, cells: pd.Series, name: str) -> pd.Series:
    """Return the cells as Python objects: int, bool or str; missing ones are None or NaN."""
    if pd.api.types.is_float_dtype(column.dtype):
        present = column.dropna().to_numpy(dtype=float)
        if not np.isfinite(present).all() or (present != np.round(present)).any():
            first = next(x for x in present.tolist() if not float(x).is_integer())
            msg = f"column {name!r} has numbers such as {first}, not classes; name another target"
            raise TableError(msg)
        column = column.astype("Int64")
    if pd.api.types.is_integer_dtype(column.dtype) or pd.api.types.is_bool_dtype(column.dtype):
        return column.astype(object).where(column.notna(), None)
    return cells.astype(object)


def _array(labels: pd.Series) -> AnyArray:
    array = np.array(labels.tolist())
    return array.astype(object) if array.dtype.kind == "U" else array
