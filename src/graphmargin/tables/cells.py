"""What the text of a cell says: a truth value, a number, or just text."""

from __future__ import annotations

from typing import Literal, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

TextKind: TypeAlias = Literal["truth", "integer", "number", "decimal comma"]

# Where all other cells are numbers, these say that there is none.
NUMBER_MARKERS = ("", "-", "?", "NA", "N/A", "#N/A", "NaN", "nan", "None", "null", "NULL", "<NA>")

# 007 and numbers of 19 digits are codes: as numbers they would lose what they say.
_WHOLE = r"(?:0|[1-9]\d{0,17})"
_INFINITE = r"(?:[iI]nf(?:inity)?)"
_PATTERNS: dict[TextKind, str] = {
    "truth": r"^(?i:true|false)$",
    "integer": rf"^-?{_WHOLE}$",
    "number": (
        rf"^[+-]?(?:{_WHOLE}\.?|(?:0|[1-9]\d*)?\.\d+)(?:[eE][+-]?\d{{1,3}})?$|^[+-]?{_INFINITE}$"
    ),
    "decimal comma": rf"^[+-]?{_WHOLE}(?:,\d+)?$",
}
_TYPES: dict[TextKind, pa.DataType] = {
    "truth": pa.bool_(),
    "integer": pa.int64(),
    "number": pa.float64(),
    "decimal comma": pa.float64(),
}


def text_kinds(cells: pa.Array) -> frozenset[TextKind] | None:
    """Return what every cell of a column of text can be read as; None if no cell has a value.

    Examples
    --------
    >>> sorted(text_kinds(pa.array(["1", "2.5", "NA"])))
    ['number']
    >>> text_kinds(pa.array(["007"]))
    frozenset()
    """
    cells = _bare(cells)
    if cells.null_count == len(cells):
        return None
    return frozenset(kind for kind in _PATTERNS if _all(cells, _PATTERNS[kind]))


def numbers_in(cells: pa.Array) -> tuple[pa.Array, pa.Array]:
    """Return the numbers of a column of text, and which cells are neither numbers nor missing.

    Examples
    --------
    >>> values, bad = numbers_in(pa.array(["1", "x", "NA"]))
    >>> values.to_pylist(), bad.to_pylist()
    ([1.0, None, None], [False, True, False])
    """
    cells = _bare(cells)
    bad = pc.fill_null(pc.invert(pc.match_substring_regex(cells, _PATTERNS["number"])), False)
    return pc.cast(pc.if_else(bad, None, cells), pa.float64()), bad


def convert(cells: pa.Array, kind: TextKind) -> pa.Array:
    """Return a column of text as what it says.

    Examples
    --------
    >>> convert(pa.array(["1,5", "", "2"]), "decimal comma").to_pylist()
    [1.5, None, 2.0]
    """
    cells = _bare(cells)
    if kind == "decimal comma":
        cells = pc.replace_substring(cells, ",", ".")
    elif kind == "truth":
        cells = pc.utf8_lower(cells)
    return pc.cast(cells, _TYPES[kind])


def _bare(cells: pa.Array) -> pa.Array:
    """Return cells without blanks at their ends; markers are null."""
    cells = pc.ascii_trim_whitespace(cells)
    missing = pc.is_in(cells, value_set=pa.array(NUMBER_MARKERS, type=cells.type))
    return pc.if_else(missing, None, cells)


def _all(cells: pa.Array, pattern: str) -> bool:
    # Most patterns fail early, which saves the look at all cells.
    return all(
        pc.all(pc.match_substring_regex(part, pattern)).as_py() is not False
        for part in (cells[:100], cells)
    )
