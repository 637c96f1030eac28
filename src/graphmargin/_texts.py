"""Numbers and names as texts for messages and reports."""

from __future__ import annotations


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun, in the plural unless the number is 1.

    Examples
    --------
    >>> format_count(1, "row"), format_count(1200, "row")
    ('1 row', '1,200 rows')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def format_class(label: object) -> str:
    """Return the name of a class for a text, a string in quotes."""
    return repr(str(label)) if isinstance(label, str) else str(label)
