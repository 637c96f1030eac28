"""A part of a page: Markdown, the pictures that it shows, and claims."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from graphmargin.experiments.paper.claims import Claim


@dataclass(frozen=True)
class Section:
    """What an experiment adds to the page.

    Attributes
    ----------
    title : str
        Of the section.
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


def count(n: int, what: str) -> str:
    """Return a number with its noun.

    Examples
    --------
    >>> count(1, "draw"), count(10, "draw")
    ('1 draw', '10 draws')
    """
    return f"{n} {what}" if n == 1 else f"{n} {what}s"
