"""Stages of a fit on standard error, for `verbose=1`."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

SECONDS_BETWEEN_MESSAGES = 2.0


@contextmanager
def stage(name: str, verbose: int | bool) -> Iterator[Callable[[str], None] | None]:
    """Announce a stage and its time; yield a callback for news within it (None if silent)."""
    if not verbose:
        yield None
        return
    start = last = time.perf_counter()
    _say(f"{name} ...")

    def news(message: str) -> None:
        nonlocal last
        if time.perf_counter() - last > SECONDS_BETWEEN_MESSAGES:
            last = time.perf_counter()
            _say(f"{name}: {message} ({last - start:.0f} s)")

    yield news
    _say(f"{name}: done in {time.perf_counter() - start:.2f} s")


def _say(message: str) -> None:
    sys.stderr.write(f"[graphmargin] {message}\n")
    sys.stderr.flush()
