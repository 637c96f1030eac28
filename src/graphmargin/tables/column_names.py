"""Names of columns, and what each column is used for."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from graphmargin.tables.table_errors import TableError

Role: TypeAlias = Literal["number", "category", "date", "text", "embedding", "left out"]

ID_NOTE = "an ID: all values differ"
"""Note on a column that is left out because it only identifies the rows."""
_MAX_SHOWN = 20


@dataclass(frozen=True)
class ColumnUse:
    """The role of a column, and how many features it becomes.

    Attributes
    ----------
    name : str
    role : {"number", "category", "date", "text", "embedding", "left out"}
    n_features : int
        Number of features that are made from it; 0 if it is left out.
    note : str
        Why it is left out, or what is special about it; may be empty.

    Examples
    --------
    >>> ColumnUse("user_id", "left out", 0, ID_NOTE).note
    'an ID: all values differ'
    """

    name: str
    role: Role
    n_features: int
    note: str = ""


def column_names(header: Iterable[object], path: Path) -> list[str]:
    """Return the unique names of the columns of a file, without blanks at their ends.

    A column without a name, such as the index that pandas writes, is named after its position.

    Examples
    --------
    >>> column_names(["", " age", 2024], Path("a.csv"))
    ['column 1', 'age', '2024']
    >>> column_names(["x", "y", "x"], Path("a.csv"))
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.csv: two columns are named 'x'; rename one of them
    """
    texts = ["" if name is None else str(name).strip() for name in header]
    names = [text or f"column {i}" for i, text in enumerate(texts, start=1)]
    if not names:
        msg = f"{path}: the table has no columns"
        raise TableError(msg)
    check_unique(names, f"{path}: ")
    return names


def check_unique(names: Iterable[str], where: str = "") -> None:
    """Raise `TableError` if two columns have the same name.

    Examples
    --------
    >>> check_unique(["x", "y", "x"])
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: two columns are named 'x'; rename one of them
    """
    for name, count in Counter(names).most_common(1):
        if count > 1:
            number = "two" if count == 2 else count
            msg = f"{where}{number} columns are named {name!r}; rename one of them"
            raise TableError(msg)


def check_column_exists(name: str, names: Sequence[str], where: str = "") -> None:
    """Raise `TableError` if no column has this name, and suggest the closest one.

    Examples
    --------
    >>> check_column_exists("colour", ["size", "color"])
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: there is no column 'colour'; did you mean 'color'? (columns: 'size', 'color')
    """  # noqa: E501 - an error is one line
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    msg = f"{where}there is no column {name!r}{hint} (columns: {format_names(names)})"
    raise TableError(msg)


def check_not_taken(new: Iterable[str], names: Iterable[str], table: str) -> None:
    """Raise `TableError` if a table already has a column that the result adds.

    Examples
    --------
    >>> check_not_taken(["y_source"], ["x", "y", "y_source"], "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.csv already has a column 'y_source', which the...
    """
    taken = [name for name in new if name in set(names)]
    if taken:
        msg = (
            f"{table} already has a column {taken[0]!r}, which the result would add; rename the "
            "column, or use the table from before it was labeled"
        )
        raise TableError(msg)


def format_names(names: Sequence[str]) -> str:
    """Return quoted names for a message, only the first ones if there are many.

    Examples
    --------
    >>> format_names(["size", "color"])
    "'size', 'color'"
    """
    shown = [repr(name) for name in names[:_MAX_SHOWN]]
    more = [f"and {len(names) - _MAX_SHOWN:,} more"] if len(names) > _MAX_SHOWN else []
    return ", ".join([*shown, *more])
