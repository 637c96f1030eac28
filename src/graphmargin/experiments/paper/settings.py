"""How much of an experiment is run, and where its results go."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from graphmargin._checks import check_integer
from graphmargin._typing import ProgressCallback


@dataclass(frozen=True)
class Settings:
    """What `graphmargin reproduce` is asked for.

    Attributes
    ----------
    folder : Path
        Finished cells are kept in CSV files here, and not computed again.
    quick : bool
        Fewer problems and draws: minutes.
    draws : int or None
        In place of the number of draws that an experiment has by default.
    n_jobs : int
        Processes, with one BLAS thread each.
    progress : callable or None
        Called with the share that is done and a line on what is.
    """

    folder: Path
    quick: bool = False
    draws: int | None = None
    n_jobs: int = 2
    progress: ProgressCallback | None = None

    def __post_init__(self) -> None:
        """Check what a user may have mistyped."""
        if self.draws is not None:
            check_integer("draws", self.draws, low=1)
        check_integer("jobs", self.n_jobs, low=1)

    def draws_or(self, *, quick: int, full: int) -> int:
        """Return the number of draws, from what is asked for or one of two defaults.

        Examples
        --------
        >>> Settings(Path("out"), quick=True).draws_or(quick=2, full=50)
        2
        """
        if self.draws is not None:
            return self.draws
        return quick if self.quick else full

    def part(self, done: int, n: int) -> Settings:
        """Return the settings of one of n runs, whose progress is a part of this one's.

        Examples
        --------
        >>> told = []
        >>> settings = Settings(Path("out"), progress=lambda share, news: told.append(share))
        >>> settings.part(1, 2).progress(0.5, "half of the second half")
        >>> told
        [0.75]
        """
        tell = self.progress
        if tell is None:
            return self
        return replace(self, progress=lambda share, news: tell((done + (share or 0.0)) / n, news))
