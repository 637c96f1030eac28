"""Options: how much of an experiment is run, and where its results go."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class RunOptions:
    """The options of ``python -m reproduction``.

    Attributes
    ----------
    folder : Path
        Folder of the results.
    quick : bool
        Whether to run fewer problems and draws, which takes minutes.
    draws : int or None
        Number of draws in place of the number that an experiment has by default.
    n_jobs : int
        Number of processes, with one BLAS thread each.
    verbose : bool
        Whether to report progress on standard error.
    """

    folder: Path
    quick: bool = False
    draws: int | None = None
    n_jobs: int = 2
    verbose: bool = False

    def draws_or(self, *, quick: int, full: int) -> int:
        """Return the number of draws that was asked for, or one of two defaults.

        Examples
        --------
        >>> RunOptions(Path("out"), quick=True).draws_or(quick=2, full=50)
        2
        """
        if self.draws is not None:
            return self.draws
        return quick if self.quick else full

    def finished(self, name: str) -> Path:
        """Return the CSV file in which the finished settings of an experiment are kept."""
        return self.folder / "finished" / f"{name}.csv"
