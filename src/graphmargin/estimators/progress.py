"""Stages of a fit: on standard error for `verbose=1`, or told to a program that shows them."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from graphmargin._typing import Progress, Watch

SECONDS_BEFORE_A_BAR = 1.0
SECONDS_BETWEEN_BARS = 0.2
SECONDS_BETWEEN_LINES = 2.0
BAR_LENGTH = 24

_watch: ContextVar[Watch | None] = ContextVar("graphmargin_watch", default=None)


@contextmanager
def watched_by(watch: Watch | None) -> Iterator[None]:
    """Tell the stages of all fits within the block to `watch`, in place of standard error.

    Without a watch, standard error hears of those that are verbose.

    Examples
    --------
    >>> names = []
    >>> def watch(name):
    ...     names.append(name)
    ...     return lambda share, news: None
    >>> with watched_by(watch), stage("graph of 9 points", verbose=0):
    ...     pass
    >>> names
    ['graph of 9 points']
    """
    before = _watch.set(watch)
    try:
        yield
    finally:
        _watch.reset(before)


@contextmanager
def told(watch: Watch, name: str) -> Iterator[Progress]:
    """Tell a watch that something begins and ends; yield what is told its progress.

    Examples
    --------
    >>> shares = []
    >>> with told(lambda name: lambda share, news: shares.append(share), "report") as tell:
    ...     tell(0.5, "half of it")
    >>> shares
    [0.0, 0.5, 1.0]
    """
    tell = watch(name)
    tell(0.0, "")
    yield tell
    tell(1.0, "")


@contextmanager
def stage(name: str, verbose: int | bool) -> Iterator[Progress | None]:
    """Announce a stage and its time; yield a callback for news within it (None if silent).

    A stage that takes more than a second shows a bar: on a terminal one that moves, elsewhere a
    line every two seconds. What is left is estimated from the share that is done.
    """
    watch = _watch.get()
    if watch is not None:
        with told(watch, name) as tell:
            yield tell
        return
    if not verbose:
        yield None
        return
    moves = sys.stderr.isatty()
    between = SECONDS_BETWEEN_BARS if moves else SECONDS_BETWEEN_LINES
    start = time.perf_counter()
    next_news = start + max(SECONDS_BEFORE_A_BAR, between)
    _say(f"{name} ...")

    def news(share: float | None, message: str) -> None:
        nonlocal next_news
        now = time.perf_counter()
        if now >= next_news:
            next_news = now + between
            _say(f"{name}: {_bar(share, now - start)}{message}".rstrip(" ,"), moves=moves)

    try:
        yield news
    except BaseException:
        if moves:
            sys.stderr.write("\n")
        raise
    _say(f"{name}: done in {time.perf_counter() - start:.2f} s", over=moves)


def _bar(share: float | None, elapsed: float) -> str:
    """Return a bar with the time so far and an estimate of what is left."""
    if share is None:
        return f"{elapsed:.0f} s, "
    full = round(BAR_LENGTH * share)
    left = f", about {elapsed * (1 - share) / share:.0f} s left" if 0 < share < 1 else ""
    return f"|{'#' * full}{'.' * (BAR_LENGTH - full)}| {share:4.0%}, {elapsed:.0f} s{left}, "


def _say(message: str, *, moves: bool = False, over: bool = False) -> None:
    """Write a line; one that moves is written over by the next."""
    before = "\r\x1b[K" if moves or over else ""
    sys.stderr.write(f"{before}[graphmargin] {message}{'' if moves else chr(10)}")
    sys.stderr.flush()
