"""Deferral of signals over blocks that must not be interrupted."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

ENDING_SIGNALS = tuple(
    getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)
)


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
