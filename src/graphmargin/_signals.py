"""Signals that end a process: as exceptions, and deferred over blocks that must be completed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


@contextmanager
def signals_as_interrupts() -> Iterator[list[int]]:
    """Raise KeyboardInterrupt in the block for all signals that end a process, not just Ctrl-C.

    Files and other processes are then closed on the way. Yields the list of those that came.

    Examples
    --------
    >>> try:
    ...     with signals_as_interrupts() as received:
    ...         signal.raise_signal(signal.SIGTERM)
    ... except KeyboardInterrupt:
    ...     received == [signal.SIGTERM]
    True
    """
    received: list[int] = []
    before: dict[int, Any] = {}

    def interrupt(number: int, _: object) -> None:
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is threading.main_thread():
        for number in ENDING_SIGNALS:
            # nohup ignores SIGHUP, and Python has a handler of SIGINT
            if signal.getsignal(number) == signal.SIG_DFL:
                before[number] = signal.signal(number, interrupt)
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Defer signals that end the process to the end of the block, so that it is not interrupted.

    Handlers run in the main thread; in other threads, nothing has to be deferred.

    Examples
    --------
    >>> try:
    ...     with defer_signals():
    ...         signal.raise_signal(signal.SIGINT)
    ...         print("not interrupted")
    ... except KeyboardInterrupt:
    ...     print("interrupted at the end")
    not interrupted
    interrupted at the end
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pending: list[int] = []
    before = {}
    try:
        for number in ENDING_SIGNALS:
            # None is a handler that Python did not set and cannot restore.
            if callable(signal.getsignal(number)):
                before[number] = signal.signal(number, lambda number, _: pending.append(number))
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for number in pending[:1]:
            signal.raise_signal(number)
