"""The target: the column with the labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from graphmargin._typing import AnyArray, BoolArray, IntArray
from graphmargin.labels import (
    UNLABELED,
    UNLABELED_IN_TABLES,
    EncodedLabels,
    UnlabeledRule,
)
from graphmargin.tables.column_names import check_column_exists
from graphmargin.tables.column_parsing import (
    MISSING_TEXTS,
    find_number_format,
    is_date_type,
    parse_numbers,
    parse_texts,
    with_natural_dtype,
)
from graphmargin.tables.table_errors import TableError

_MANY_CLASSES = 100


@dataclass(frozen=True)
class Target:
    """The labels of a table.

    Attributes
    ----------
    name : str
        Name of the column.
    classes : array of shape (n_classes,)
        Sorted classes, text that is integers by value; of type int64, bool or str (object).
    codes : int array of shape (n_rows,)
        Index of the class of each row in `classes`; -1 is unlabeled.
    rule : UnlabeledRule
        Which cells count as unlabeled.

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
        """A mask of the rows that have a label."""
        return self.codes >= 0

    @property
    def labels(self) -> EncodedLabels:
        """The classes and codes, which classifiers are fitted to."""
        return EncodedLabels(self.classes, self.codes)


def read_target(
    table: pd.DataFrame,
    name: str,
    *,
    unlabeled: Sequence[str] = (),
    source: str = "table",
    min_classes: int = 2,
) -> Target:
    """Return the classes in a column, and the class of each labeled row.

    `UNLABELED_IN_TABLES` says which rows are unlabeled. Blanks at the ends of text do not count.
    Integers that missing cells turned into floats, such as 3.0, become 3; text is never changed.

    Parameters
    ----------
    table : pandas.DataFrame
    name : str
        Name of the column.
    unlabeled : sequence of str
        Further texts that mean unlabeled, such as "-1" or "?".
    source : str
        Name of the table, for messages.
    min_classes : {0, 2}, default=2
        Smallest number of classes that must have a label.

    Raises
    ------
    TableError
        If there is no such column, too few classes, or numbers in place of classes.

    Examples
    --------
    >>> table = pd.DataFrame({"kind": ["cat", None, "dog", "?"]})
    >>> target = read_target(table, "kind", unlabeled=["?"])
    >>> target.classes.tolist(), target.codes.tolist()
    (['cat', 'dog'], [0, -1, 1, -1])
    """
    names = [str(column) for column in table.columns]
    check_column_exists(name, names, f"{source}: `target`: ")
    column = with_natural_dtype(table.iloc[:, names.index(name)].reset_index(drop=True))
    if column.isna().all():  # whatever type a reader gave it
        column = pd.Series([None] * len(column), dtype="str", name=column.name)
    if is_date_type(column):
        msg = f"column {name!r} has dates, not classes; choose another target"
        raise TableError(msg)
    cells, bad = parse_texts(column)
    if bad.any():
        kind = type(column[bad].iloc[0]).__name__
        msg = f"column {name!r} has cells of type {kind}; classes must be text or integers"
        raise TableError(msg)
    rule = UNLABELED_IN_TABLES.with_texts(unlabeled)
    labeled = ~rule.mask(column.to_numpy(dtype=object))
    is_text = pd.api.types.is_string_dtype(column.dtype)
    is_number = not is_text or find_number_format(cells[labeled]) == "plain"
    if is_text and is_number:
        rule = rule.with_texts(MISSING_TEXTS)
        labeled = ~rule.mask(column.to_numpy(dtype=object))
    if not labeled.any() and min_classes > 0:
        msg = (
            f"column {name!r} has no labels (unlabeled is {rule.description}); at least two "
            "classes need a label"
        )
        raise TableError(msg)
    if is_number:
        _check_integers(column[labeled])
    if is_text:
        classes, codes_of_labeled = _text_classes(cells[labeled], is_number=is_number)
    else:
        dtype = bool if pd.api.types.is_bool_dtype(column.dtype) else np.int64
        values = column[labeled].to_numpy(dtype=dtype)
        classes, codes_of_labeled = np.unique(values, return_inverse=True)
    if len(classes) == 1 < min_classes:
        msg = f"all labels of column {name!r} are {classes[0]!s}; label rows of another class"
        raise TableError(msg)
    counts = np.bincount(codes_of_labeled)
    if len(classes) > _MANY_CLASSES and np.mean(counts == 1) > 0.5:
        msg = (
            f"column {name!r} has {len(classes):,} different values, most of which occur once; "
            "choose a target with fewer classes"
        )
        raise TableError(msg)
    codes = np.full(len(column), UNLABELED)
    codes[labeled] = codes_of_labeled
    return Target(name, classes, codes, rule)


def _check_integers(column: pd.Series) -> None:
    """Raise `TableError` if a number is not an integer, and thus not a class."""
    values, _ = parse_numbers(column)
    for value in values.tolist():
        if not value.is_integer():
            msg = (
                f"column {column.name!r} has numbers such as {value}, not classes; choose another "
                "target"
            )
            raise TableError(msg)


def _text_classes(cells: pd.Series, *, is_number: bool) -> tuple[AnyArray, IntArray]:
    """Return the sorted classes, numbers by value, and the code of each cell."""
    classes, codes = np.unique(cells.to_numpy(dtype=object), return_inverse=True)
    if not is_number:
        return classes, codes
    order = np.argsort([float(text) for text in classes], kind="stable")
    return classes[order], np.argsort(order)[codes]
