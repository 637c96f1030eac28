"""Cells of a column of numbers or dates that are neither, and count as missing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from textwrap import shorten
from typing import TYPE_CHECKING

import numpy as np

from graphmargin._typing import BoolArray

if TYPE_CHECKING:
    import pandas as pd

MAX_LISTED = 3
"""Largest number of invalid cells in a message."""
MAX_CHARACTERS = 60
"""Largest length of a cell in a message."""


@dataclass(frozen=True)
class InvalidCells:
    """Cells of a column of numbers or dates that are neither, and count as missing.

    Attributes
    ----------
    n_cells : int
    values : tuple of str
        The first of them, shortened.
    rows : tuple of int
        Their rows, from 1; empty if they are unknown.

    Examples
    --------
    >>> invalid = InvalidCells(2, ("oops", ">90"), (17, 20))
    >>> invalid.count_of("number")
    '2 cells are not numbers'
    >>> invalid.sentence("age", "number")
    "column 'age': 2 cells are not numbers and count as missing ('oops' in row 17, '>90' in row 20)"
    """

    n_cells: int
    values: tuple[str, ...]
    rows: tuple[int, ...] = ()

    @property
    def pronoun(self) -> str:
        """The pronoun for these cells."""
        return "it" if self.n_cells == 1 else "them"

    def count_of(self, role: str) -> str:
        """Return a clause on the number of these cells in a column of numbers or dates."""
        if self.n_cells == 1:
            return f"1 cell is not a {role}"
        return f"{self.n_cells:,} cells are not {role}s"

    def sentence(self, name: str, role: str) -> str:
        """Return a sentence on these cells of a column of numbers or dates."""
        places = [f" in row {row:,}" for row in self.rows] or [""] * len(self.values)
        shown = ", ".join(f"{value!r}{at}" for value, at in zip(self.values, places, strict=True))
        more = ", ..." if self.n_cells > len(self.values) else ""
        verb = "counts" if self.n_cells == 1 else "count"
        return f"column {name!r}: {self.count_of(role)} and {verb} as missing ({shown}{more})"

    def joined(self, later: InvalidCells) -> InvalidCells:
        """Return these cells and those of a later part of the column."""
        return InvalidCells(
            self.n_cells + later.n_cells,
            (self.values + later.values)[:MAX_LISTED],
            (self.rows + later.rows)[:MAX_LISTED],
        )


def invalid_cells(column: pd.Series, bad: BoolArray) -> InvalidCells | None:
    """Return the cells of a column in the mask `bad`, None if there is none.

    Examples
    --------
    >>> import pandas as pd
    >>> invalid_cells(pd.Series(["1", "x"]), np.array([False, True]))
    InvalidCells(n_cells=1, values=('x',), rows=(2,))
    """
    if not bad.any():
        return None
    first = np.flatnonzero(bad)[:MAX_LISTED].tolist()
    return InvalidCells(
        n_cells=int(bad.sum()),
        values=tuple(
            shorten(str(column.iloc[i]), MAX_CHARACTERS, placeholder="...") for i in first
        ),
        rows=tuple(row_number(column, i) for i in first),
    )


def join_invalid_cells(found: dict[str, InvalidCells], later: Mapping[str, InvalidCells]) -> None:
    """Add the invalid cells of a later part of a table, by column, to those that were found.

    Examples
    --------
    >>> found = {"age": InvalidCells(1, ("a",), (7,))}
    >>> join_invalid_cells(found, {"age": InvalidCells(1, ("b",), (9,))})
    >>> found["age"].rows
    (7, 9)
    """
    for name, cells in later.items():
        before = found.get(name)
        found[name] = cells if before is None else before.joined(cells)


def row_number(column: pd.Series, position: int) -> int:
    """Return the number of a row from 1, in the whole table if the column is that of a chunk.

    Examples
    --------
    >>> import pandas as pd
    >>> row_number(pd.Series(["a", "b"], index=pd.RangeIndex(100, 102)), 1)
    102
    """
    from pandas import RangeIndex  # models of arrays import this module, but not pandas

    index = column.index
    is_chunk = isinstance(index, RangeIndex) and index.step == 1
    return int(index[position] if is_chunk else position) + 1
