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
"""Functions that show a notice within the current stages, the innermost one last."""


@contextmanager
def progress_listener(listener: ProgressListener | None) -> Iterator[None]:
    """Report the stages of all computations within the block to `listener`.

    Without a listener, verbose stages are written to standard error.

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
    """Report the start and the end of a stage to a listener; yield the callback for its progress.

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
    """Report a stage and its time; yield the callback for its progress, None if it is silent.

    A stage that takes more than a second shows a progress bar, on a terminal one that is updated,
    elsewhere a line every two seconds. The remaining time is estimated from the finished share.
    """
    listener = _listener.get()
    if listener is not None:
        with (
            announce(listener, name) as callback,
            _notice_handler(lambda text: callback(None, text)),
        ):
            yield callback
        return
    if not verbose:
        yield None
        return
    is_terminal = sys.stderr.isatty()
    between = SECONDS_BETWEEN_BARS if is_terminal else SECONDS_BETWEEN_LINES
    start = time.perf_counter()
    next_line = start + max(SECONDS_BEFORE_A_BAR, between)
    _write(f"{name} ...")

    def progress(share: float | None, message: str) -> None:
        nonlocal next_line
        now = time.perf_counter()
        if now >= next_line:
            next_line = now + between
            _write(
                f"{name}: {_bar(share, now - start)}{message}".rstrip(" ,"), temporary=is_terminal
            )

    try:
        with _notice_handler(_write):
            yield progress
    except BaseException:
        if is_terminal:
            sys.stderr.write("\n")
        raise
    _write(f"{name}: done in {time.perf_counter() - start:.2f} s", replace=is_terminal)


@contextmanager
def _notice_handler(handler: Callable[[str], None]) -> Iterator[None]:
    _notice_handlers.append(handler)
    try:
        yield
    finally:
        _notice_handlers.remove(handler)


def notify(message: str) -> None:
    """Show a notice within the current stage, or on a terminal if there is no stage.

    Any thread can call it, not only the one that reports the stage.
    """
    if _notice_handlers:
        _notice_handlers[-1](message)
    elif sys.stderr.isatty():
        _write(message)


def _bar(share: float | None, elapsed: float) -> str:
    """Return a progress bar with the elapsed and the estimated remaining time."""
    if share is None:
        return f"{elapsed:.0f} s, "
    full = round(BAR_LENGTH * share)
    left = f", about {elapsed * (1 - share) / share:.0f} s left" if 0 < share < 1 else ""
    return f"|{'#' * full}{'.' * (BAR_LENGTH - full)}| {share:4.0%}, {elapsed:.0f} s{left}, "


def _write(message: str, *, temporary: bool = False, replace: bool = False) -> None:
    """Write a line, which the next one replaces if it is `temporary`."""
    before = "\r\x1b[K" if temporary or replace else ""
    sys.stderr.write(f"{before}[graphmargin] {message}{'' if temporary else chr(10)}")
    sys.stderr.flush()
