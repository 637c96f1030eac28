"""Names of columns, and the uses that columns are put to."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from graphmargin.tables.table_errors import TableError

Role: TypeAlias = Literal["number", "category", "date", "text", "embedding", "left out"]

AN_ID = "an ID: all values differ"
"""The note on a column that names the rows and is left out."""
_SHOWN = 20


@dataclass(frozen=True)
class ColumnUse:
    """The use of a column.

    Attributes
    ----------
    name : str
    role : {"number", "category", "date", "text", "embedding", "left out"}
    n_features : int
        Features that it becomes; 0 if it is left out.
    note : str
        Why it is left out, or what is special about it; "" is nothing.

    Examples
    --------
    >>> ColumnUse("user_id", "left out", 0, AN_ID).note
    'an ID: all values differ'
    """

    name: str
    role: Role
    n_features: int
    note: str = ""


def column_names(header: Iterable[object], path: Path) -> list[str]:
    """Return the names of the columns of a file: text without blanks at its ends, all different.

    A column without a name, such as the index that pandas writes, is called by its place.

    Examples
    --------
    >>> column_names(["", " age", 2024], Path("a.csv"))
    ['column 1', 'age', '2024']
    >>> column_names(["x", "y", "x"], Path("a.csv"))
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.csv: two columns are called 'x'; rename one
    """
    texts = ["" if name is None else str(name).strip() for name in header]
    names = [text or f"column {i}" for i, text in enumerate(texts, start=1)]
    if not names:
        msg = f"{path}: the table has no columns"
        raise TableError(msg)
    check_unique(names, f"{path}: ")
    return names


def check_unique(names: Iterable[str], where: str = "") -> None:
    """Refuse columns of the same name.

    Examples
    --------
    >>> check_unique(["x", "y", "x"])
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: two columns are called 'x'; rename one
    """
    for name, count in Counter(names).most_common(1):
        if count > 1:
            number = "two" if count == 2 else count
            msg = f"{where}{number} columns are called {name!r}; rename one"
            raise TableError(msg)


def check_known(name: str, names: Sequence[str], where: str = "") -> None:
    """Refuse a name that no column has, with the one that may be meant.

    Examples
    --------
    >>> check_known("colour", ["size", "color"])
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: there is no column 'colour'; did you mean 'color'? the table has: 'size', 'color'
    """  # noqa: E501 - an error is one line
    if name in names:
        return
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    msg = f"{where}there is no column {name!r}; {hint}the table has: {format_names(names)}"
    raise TableError(msg)


def check_not_taken(new: Iterable[str], names: Iterable[str], table: str) -> None:
    """Refuse a table in which a column of the result is taken.

    Examples
    --------
    >>> check_not_taken(["y_source"], ["x", "y", "y_source"], "a.csv")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: a.csv has a column 'y_source', which the result...
    """
    taken = [name for name in new if name in set(names)]
    if taken:
        msg = (
            f"{table} has a column {taken[0]!r}, which the result needs: rename it, or pass the "
            "table as it was before it was labeled"
        )
        raise TableError(msg)


def format_names(names: Sequence[str]) -> str:
    """Return names for a message, the first ones if there are many.

    Examples
    --------
    >>> format_names(["size", "color"])
    "'size', 'color'"
    """
    shown = [repr(name) for name in names[:_SHOWN]]
    more = [f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else []
    return ", ".join([*shown, *more])
