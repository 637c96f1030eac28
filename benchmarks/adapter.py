"""The interface of all systems, and a stopwatch for their stages."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from benchmarks.problems import Problem

WARM_UP_ROWS = 500


@dataclass(frozen=True)
class Outcome:
    """The labels that a system returned, and the times of its stages.

    `labels` are those of all rows (a row for each gamma_g of a path), or a function that returns
    them after the time was measured, or None if the run has no labels; `new_labels` are those of
    the new rows. A stage may have a floor: the seconds of the work that no program can avoid. The
    times of a run that stands for several equal ones are multiplied by `stands_for`.
    """

    labels: Any
    new_labels: Any = None
    stages: dict[str, float] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    stands_for: int = 1


@dataclass(frozen=True)
class System:
    """A system: `run` is measured on the input that `prepare` returns for a problem and k.

    Before that, it runs on `warm_up_rows` rows of the problem, enough to load all code that the
    whole problem needs.
    """

    run: Callable[[Any, int], Outcome]
    prepare: Callable[[Problem, int], Any] = lambda problem, _k: problem
    warm_up_rows: int = WARM_UP_ROWS


class Stopwatch:
    """Seconds of named stages."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def __call__(self, stage: str) -> Iterator[None]:
        """Measure the time of the block."""
        start = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - start
