"""Hashes of the rows of a table, by which rows are found again after the table has changed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

_CELL_END = "\x1f"
_MISSING = "\x00"
_HASH_BYTES = 8


@dataclass(frozen=True)
class RowHashes:
    """Hashes of the cells of every row, and of the whole table.

    Attributes
    ----------
    rows : tuple of str
        Hash of each row, without the left-out columns.
    fingerprint : str
        Hash of all rows, with all columns.
    """

    rows: tuple[str, ...]
    fingerprint: str

    @cached_property
    def _places(self) -> dict[str, int | None]:
        """Row of each hash; None if several rows have it."""
        places: dict[str, int | None] = {}
        for row, text in enumerate(self.rows):
            places[text] = None if text in places else row
        return places

    def find(self, row: int, text: str) -> int | None:
        """Return the row with a hash: the given one, or else the only one; None if there is none.

        Examples
        --------
        >>> hashes = RowHashes(("a", "b", "b", "c"), "")
        >>> hashes.find(1, "b"), hashes.find(0, "c"), hashes.find(0, "b"), hashes.find(0, "d")
        (1, 3, None, None)
        """
        if row < len(self.rows) and self.rows[row] == text:
            return row
        return self._places.get(text)


def hash_rows(table: pd.DataFrame, *, leave_out: str) -> RowHashes:
    """Return the hashes of the rows of a table, without the column `leave_out`.

    Two tables whose cells have the same text, column by column, have the same hashes; names of
    columns count for the fingerprint only.

    Examples
    --------
    >>> first = pd.DataFrame({"x": ["1.50", "2"], "kind": ["cat", None]})
    >>> second = first.assign(kind=["cat", "dog"])
    >>> one, two = (hash_rows(table, leave_out="kind") for table in (first, second))
    >>> one.rows == two.rows, one.fingerprint == two.fingerprint
    (True, False)
    """
    names = [str(name) for name in table.columns]
    columns = [_texts(table.iloc[:, i]) for i, name in enumerate(names) if name != leave_out]
    joined = pc.binary_join_element_wise(*columns, pa.scalar(_CELL_END, pa.large_string()))
    rows = tuple(
        blake2b(text.encode(errors="surrogatepass"), digest_size=_HASH_BYTES).hexdigest()
        for text in joined.to_pylist()
    )
    whole = blake2b(_CELL_END.join([*names, *rows]).encode(), digest_size=2 * _HASH_BYTES)
    if leave_out in names:
        labels = _texts(table.iloc[:, names.index(leave_out)]).to_pylist()
        whole.update(_CELL_END.join(labels).encode(errors="surrogatepass"))
    return RowHashes(rows, whole.hexdigest())


def _texts(column: pd.Series) -> pa.Array:
    """Return the cells of a column as text, and a marker for those that are missing."""
    if not isinstance(column.dtype, pd.StringDtype):
        column = column.astype(object).map(str).where(column.notna().to_numpy(), None)
    return pc.fill_null(pa.array(column, pa.large_string(), from_pandas=True), _MISSING)
