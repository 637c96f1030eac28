"""A part of the page, and the Markdown that it is made of."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from reproduction.claims import Claim


@dataclass(frozen=True)
class Section:
    """The part of the page that an experiment adds.

    Attributes
    ----------
    title : str
        Heading of the section.
    markdown : str
        Paragraphs, tables, lists; a picture is ``![what it shows](images/NAME.png)``.
    figures : mapping from NAME to matplotlib Figure
        Saved as ``images/NAME.png`` beside the page.
    claims : tuple of Claim
        Rows of the page's table of claims.
    """

    title: str
    markdown: str
    figures: Mapping[str, Any] = field(default_factory=dict)
    claims: tuple[Claim, ...] = ()


class MayFail(Protocol):
    """A record of something that may have failed."""

    @property
    def part(self) -> tuple[str, ...]:
        """The part that failed."""

    @property
    def failure(self) -> str:
        """The text of the exception in one line, or ""."""


def markdown_table(
    head: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: bool = True
) -> str:
    r"""Return a table in Markdown; what would end a cell or a line is escaped.

    With `numbers`, all columns but the first are aligned on the right.

    Examples
    --------
    >>> print(markdown_table(["problem", "a|b"], [["xor", "0.1"]]))
    | problem | a\|b |
    |---|---:|
    | xor | 0.1 |
    """
    rule = "|---" + ("|---:" if numbers else "|---") * (len(head) - 1) + "|"
    lines = ["| " + " | ".join(map(_cell, row)) + " |" for row in [head, *rows]]
    return "\n".join([lines[0], rule, *lines[1:]])


def failure_list(records: Iterable[MayFail]) -> str:
    """Return what failed, how often and why, as a list in Markdown, or ""."""
    counts = Counter((record.part, record.failure) for record in records if record.failure)
    return "\n".join(
        f"- {', '.join(part)}, {count} x: {failure}" for (part, failure), count in counts.items()
    )


def count(n: int, what: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "draw"), count(10, "draw")
    ('1 draw', '10 draws')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _cell(text: str) -> str:
    return re.sub(r"(?<!\\)\|", r"\|", " ".join(text.split()))
