"""Numbers and names as texts for messages and reports."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from graphmargin._typing import FloatArray


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


def format_estimate(share: float) -> str:
    """Return an estimated share as a percentage that is never 0 or 100.

    It has one decimal where it is near to one of them.

    Examples
    --------
    >>> format_estimate(0.924), format_estimate(0.9932), format_estimate(1.0), format_estimate(0.0)
    ('92%', '99.3%', '99.9%', '0.1%')
    """
    percent = 100 * min(max(share, 0.001), 0.999)
    return f"{percent:.1f}%" if percent < 1 or percent > 99 else f"{percent:.0f}%"


def format_interval(interval: Sequence[float] | FloatArray) -> str:
    """Return an interval of estimates as a text.

    Examples
    --------
    >>> format_interval((0.8, 1.0))
    '80% to 99.9%'
    """
    return f"{format_estimate(interval[0])} to {format_estimate(interval[1])}"
