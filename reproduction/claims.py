"""Statements of the paper, and whether they hold here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """A claim as a row: what is claimed, what was published, what we see, and whether it holds.

    Attributes
    ----------
    claim : str
        A sentence.
    published : str
        The paper's number or words.
    ours : str
        What was measured here.
    holds : bool or None
        None if it was not tried, because too few settings were run.
    """

    claim: str
    published: str
    ours: str
    holds: bool | None

    @property
    def verdict(self) -> str:
        """Yes, no or not tried."""
        return {True: "yes", False: "no", None: "not tried"}[self.holds]
