"""What columns are called, and what they are good for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from graphmargin.tables.errors import TableError

Role: TypeAlias = Literal["number", "category", "date", "text", "embedding", "left out"]


@dataclass(frozen=True)
class ColumnUse:
    """How a column is used.

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
    >>> ColumnUse("user_id", "left out", 0, "an ID: all values differ").note
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
    graphmargin.tables.errors.TableError: a.csv: two columns are called 'x'; rename one
    """
    texts = ["" if name is None else str(name).strip() for name in header]
    names = [text or f"column {i}" for i, text in enumerate(texts, start=1)]
    if not names:
        msg = f"{path}: the table has no columns"
        raise TableError(msg)
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        msg = f"{path}: {'two' if count == 2 else count} columns are called {name!r}; rename one"
        raise TableError(msg)
    return names
