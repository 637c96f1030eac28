"""The face that all systems have: what they take and return, and a stopwatch for their stages."""

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

    `labels` are those of all rows (a line for each gamma_g on a path), or a function that finds
    them when the clock has stopped, or None where the run has no answer; `new_labels` are those of
    the new rows. A stage may have a floor: the seconds of work that no program for it can avoid.
    A run that is one of many alike stands for all of them: its times are multiplied.
    """

    labels: Any
    new_labels: Any = None
    stages: dict[str, float] = field(default_factory=dict)
    floors: dict[str, float] = field(default_factory=dict)
    stands_for: int = 1


@dataclass(frozen=True)
class System:
    """`run` is measured, on what `prepare` makes of a problem and k.

    Before that, it runs on `warm_up_rows` of the problem: where more rows take other code, as many
    as it takes to load that.
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
        """Time what runs inside."""
        start = time.perf_counter()
        yield
        self.seconds[stage] = time.perf_counter() - start
