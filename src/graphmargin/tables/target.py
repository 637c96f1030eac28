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
    is_date_type,
    parse_numbers,
    parse_texts,
    with_natural_dtype,
)
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.text_formats import find_number_format

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
    def warnings(self) -> tuple[str, ...]:
        """Sentences on classes whose names differ only in case or blanks."""
        return similar_class_warnings(self.classes)

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
        raise TableError(_no_labels_message(name, rule))
    if is_number:
        _check_integers(column[labeled])
    if is_text:
        classes, codes_of_labeled = _text_classes(cells[labeled], is_number=is_number)
    else:
        dtype = bool if pd.api.types.is_bool_dtype(column.dtype) else np.int64
        values = column[labeled].to_numpy(dtype=dtype)
        classes, codes_of_labeled = np.unique(values, return_inverse=True)
    if len(classes) == 1 < min_classes:
        raise TableError(_one_class_message(name, classes))
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


def similar_class_warnings(classes: AnyArray) -> tuple[str, ...]:
    """Return sentences on classes whose names differ only in case or blanks.

    Examples
    --------
    >>> similar_class_warnings(np.array(["Cat", "cat", "dog"]))[0].partition(";")[0]
    "the classes 'Cat' and 'cat' differ only in case or blanks"
    """
    similar: dict[str, list[str]] = {}
    for name in map(str, classes.tolist()):
        similar.setdefault(" ".join(name.casefold().split()), []).append(name)
    return tuple(
        f"the classes {' and '.join(map(repr, names))} differ only in case or blanks; if they are "
        "one class, give it one name"
        for names in similar.values()
        if len(names) > 1
    )


def target_from_labels(name: str, labels: AnyArray, rule: UnlabeledRule) -> Target:
    """Return the target whose labels are these texts, which are taken literally: "NA" is a class.

    Parameters
    ----------
    name : str
        Name of the column.
    labels : array of shape (n_rows,)
        The label of each row as a text, None without a label.
    rule : UnlabeledRule
        Which cells of the column count as unlabeled.

    Raises
    ------
    TableError
        If fewer than two classes have a label.

    Examples
    --------
    >>> labels = np.array(["NA", None, "2", "1"], dtype=object)
    >>> target_from_labels("kind", labels, UNLABELED_IN_TABLES).codes.tolist()
    [2, -1, 1, 0]
    """
    labeled = np.array([label is not None for label in labels], dtype=np.bool_)
    if not labeled.any():
        raise TableError(_no_labels_message(name, rule))
    cells = pd.Series(labels[labeled], dtype="str")
    is_number = find_number_format(cells) == "plain" and not cells.isin(MISSING_TEXTS).any()
    classes, codes_of_labeled = _text_classes(cells, is_number=is_number)
    if len(classes) == 1:
        raise TableError(_one_class_message(name, classes))
    codes = np.full(len(labels), UNLABELED)
    codes[labeled] = codes_of_labeled
    return Target(name, classes, codes, rule.with_texts(MISSING_TEXTS) if is_number else rule)


def check_class_name(name: str, others: Sequence[str], rule: UnlabeledRule) -> None:
    """Raise `TableError` if a column with this class and others would be read otherwise.

    Among numbers, texts such as "NA" mean missing, and fractions are no classes.

    Parameters
    ----------
    name : str
        Name of a new class.
    others : sequence of str
        Names of the other classes. Any of them may be absent from the column.
    rule : UnlabeledRule
        Which cells of the column count as unlabeled.

    Examples
    --------
    >>> check_class_name("NA", ["cat", "dog"], UNLABELED_IN_TABLES)
    >>> check_class_name("NA", ["cat", "1"], UNLABELED_IN_TABLES)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: the class 'NA' means missing beside the number...
    """
    if rule.is_unlabeled(name):
        msg = f"{name!r} means unlabeled in this table; choose another name"
        raise TableError(msg)
    number = _number(name)
    if number is None and name not in MISSING_TEXTS:
        return
    for other in others:
        other_number = _number(other)
        for text, value in ((name, other_number), (other, number)):
            if text in MISSING_TEXTS and value is not None:
                numeral = other if text == name else name
                msg = (
                    f"the class {text!r} means missing beside the number {numeral!r}; choose "
                    "another name for one of them"
                )
                raise TableError(msg)
        if number is None or other_number is None:
            continue
        if not (number.is_integer() and other_number.is_integer()):
            msg = (
                f"{name!r} and {other!r} are numbers, and classes that are numbers must be "
                "integers; choose another name for one of them"
            )
            raise TableError(msg)


def _number(text: str) -> float | None:
    """Return the number that a text is read as, None if it is none."""
    cell = pd.Series([text], dtype="str")
    if find_number_format(cell) != "plain":
        return None
    return float(parse_numbers(cell)[0][0])


def _no_labels_message(name: str, rule: UnlabeledRule) -> str:
    return (
        f"column {name!r} has no labels (unlabeled is {rule.description}); at least two classes "
        "need a label"
    )


def _one_class_message(name: str, classes: AnyArray) -> str:
    return f"all labels of column {name!r} are {classes[0]!s}; label rows of another class"


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
