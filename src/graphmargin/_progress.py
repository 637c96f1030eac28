"""Progress of long computations: stages on standard error, or reported to a listener."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from graphmargin._typing import ProgressCallback, ProgressListener

SECONDS_BEFORE_A_BAR = 1.0
SECONDS_BETWEEN_BARS = 0.2
SECONDS_BETWEEN_LINES = 2.0
BAR_LENGTH = 24

_listener: ContextVar[ProgressListener | None] = ContextVar(
    "graphmargin_progress_listener", default=None
)


_notice_handlers: list[Callable[[str], None]] = []
"""Handlers that show a notice within the stages being reported, the innermost one last."""


@contextmanager
def progress_listener(listener: ProgressListener | None) -> Iterator[None]:
    """Report the stages of all computations within the block to `listener`.

    Without a listener, stages that are verbose are written to standard error.

    Examples
    --------
    >>> names = []
    >>> def listener(name):
    ...     names.append(name)
    ...     return lambda share, message: None
    >>> with progress_listener(listener), report_stage("graph of 9 points", verbose=0):
    ...     pass
    >>> names
    ['graph of 9 points']
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


@contextmanager
def announce(listener: ProgressListener, name: str) -> Iterator[ProgressCallback]:
    """Report to a listener that a stage begins and ends; yield the callback for its progress.

    Examples
    --------
    >>> shares = []
    >>> listener = lambda name: lambda share, message: shares.append(share)
    >>> with announce(listener, "report") as callback:
    ...     callback(0.5, "half of it")
    >>> shares
    [0.0, 0.5, 1.0]
    """
    callback = listener(name)
    callback(0.0, "")
    yield callback
    callback(1.0, "")


@contextmanager
def report_stage(name: str, verbose: int | bool) -> Iterator[ProgressCallback | None]:
    """Report a stage and its time; yield a callback for progress within it (None if silent).

    A stage that takes more than a second shows a bar: on a terminal one that moves, elsewhere a
    line every two seconds. What is left is estimated from the share that is done.
    """
    listener = _listener.get()
    if listener is not None:
        with announce(listener, name) as callback, _showing(lambda text: callback(None, text)):
            yield callback
        return
    if not verbose:
        yield None
        return
    moves = sys.stderr.isatty()
    between = SECONDS_BETWEEN_BARS if moves else SECONDS_BETWEEN_LINES
    start = time.perf_counter()
    next_line = start + max(SECONDS_BEFORE_A_BAR, between)
    _write(f"{name} ...")

    def progress(share: float | None, message: str) -> None:
        nonlocal next_line
        now = time.perf_counter()
        if now >= next_line:
            next_line = now + between
            _write(f"{name}: {_bar(share, now - start)}{message}".rstrip(" ,"), moves=moves)

    try:
        with _showing(_write):
            yield progress
    except BaseException:
        if moves:
            sys.stderr.write("\n")
        raise
    _write(f"{name}: done in {time.perf_counter() - start:.2f} s", over=moves)


@contextmanager
def _showing(handler: Callable[[str], None]) -> Iterator[None]:
    _notice_handlers.append(handler)
    try:
        yield
    finally:
        _notice_handlers.remove(handler)


def notify(message: str) -> None:
    """Show a notice within the stage that is being reported, else on a terminal only.

    Any thread may call it, whichever thread reports the stage.
    """
    if _notice_handlers:
        _notice_handlers[-1](message)
    elif sys.stderr.isatty():
        _write(message)


def _bar(share: float | None, elapsed: float) -> str:
    """Return a bar with the time so far and an estimate of what is left."""
    if share is None:
        return f"{elapsed:.0f} s, "
    full = round(BAR_LENGTH * share)
    left = f", about {elapsed * (1 - share) / share:.0f} s left" if 0 < share < 1 else ""
    return f"|{'#' * full}{'.' * (BAR_LENGTH - full)}| {share:4.0%}, {elapsed:.0f} s{left}, "


def _write(message: str, *, moves: bool = False, over: bool = False) -> None:
    """Write a line; one that moves is written over by the next."""
    before = "\r\x1b[K" if moves or over else ""
    sys.stderr.write(f"{before}[graphmargin] {message}{'' if moves else chr(10)}")
    sys.stderr.flush()
