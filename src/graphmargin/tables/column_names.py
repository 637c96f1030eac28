"""Names of columns, and what each column is used for."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from graphmargin.tables.invalid_cells import InvalidCells
from graphmargin.tables.table_errors import TableError

Role: TypeAlias = Literal["number", "category", "date", "text", "embedding", "left out"]

ID_NOTE = "an ID: all values differ"
"""Note on a column that is left out because it only identifies the rows."""
IGNORED_NOTE = "ignored"
"""Note on a column that is left out because the user says so."""
_MAX_SHOWN = 20
_DECIMAL = re.compile(r"-?\d*\.\d+$")


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
        Why it is left out, or what is special about how its cells were read; may be empty.
    n_missing : int
        Number of empty cells in a column that is used.
    invalid : InvalidCells or None
        Cells of a column of numbers or dates that are neither, and count as missing.

    Examples
    --------
    >>> ColumnUse("user_id", "left out", 0, ID_NOTE).note
    'an ID: all values differ'
    """

    name: str
    role: Role
    n_features: int
    note: str = ""
    n_missing: int = 0
    invalid: InvalidCells | None = None

    @property
    def reading(self) -> str:
        """The note, and the number of invalid cells; empty if nothing is special.

        Examples
        --------
        >>> ColumnUse("age", "number", 2, "decimal comma").reading
        'decimal comma'
        """
        invalid = "" if self.invalid is None else self.invalid.count_of(self.role)
        return ", ".join(filter(None, [self.note, invalid]))

    @property
    def remarks(self) -> str:
        """The reading, and the number of missing cells; may be empty."""
        missing = f"{self.n_missing:,} missing" if self.n_missing else ""
        return ", ".join(filter(None, [self.reading, missing]))


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
    msg = f"{where}there is no column {name!r}{_hint(name, names)} (columns: {format_names(names)})"
    raise TableError(msg)


def _hint(name: str, names: Sequence[str]) -> str:
    """Return what a user may have meant by the name of a column that does not exist."""
    if len(names) == 1 and name in names[0]:
        return (
            "; the header has no separator that is known: a comma, a semicolon, a tab or a "
            "vertical bar in .csv files, a tab in .tsv files"
        )
    if any(_DECIMAL.match(other) for other in names):
        return "; the first line of the file must have the names of the columns"
    folded = {other.casefold(): other for other in reversed(names)}
    close = difflib.get_close_matches(name.casefold(), folded, n=1)
    return f"; did you mean {folded[close[0]]!r}?" if close else ""


def check_not_target(target: str, **options: Iterable[str]) -> None:
    """Raise `TableError` if an option names the target as a feature.

    Examples
    --------
    >>> check_not_target("kind", keep=["id", "kind"])
    Traceback (most recent call last):
    graphmargin.tables.table_errors.TableError: `keep`: 'kind' is the target, which is no feature; name another column
    """  # noqa: E501 - an error is one line
    for option, names in options.items():
        if target in names:
            msg = f"`{option}`: {target!r} is the target, which is no feature; name another column"
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
