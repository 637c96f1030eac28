"""Progress of long computations: stages on standard error, or reported to a listener."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from graphmargin._typing import ProgressCallback, ProgressListener

_listener: ContextVar[ProgressListener | None] = ContextVar(
    "graphmargin_progress_listener", default=None
)
_notice_handlers: list[Callable[[str], None]] = []
"""Functions that show a notice: that of a command, or those of the current stages."""


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
    """Report a stage and its time; yield the callback of a listener for its progress.

    Without a listener, a verbose stage writes a line at its start and one with its time at its end,
    and the callback is None.
    """
    listener = _listener.get()
    if listener is not None:
        with announce(listener, name) as callback, notices_to(lambda text: callback(None, text)):
            yield callback
        return
    if not verbose:
        yield None
        return
    start = time.perf_counter()
    _write(f"{name} ...")
    with notices_to(_write):
        yield None
    _write(f"{name}: done in {time.perf_counter() - start:.2f} s")


@contextmanager
def notices_to(handler: Callable[[str], None]) -> Iterator[None]:
    """Show notices within the block by a function, unless an outer block shows them.

    Examples
    --------
    >>> with notices_to(print), notices_to(repr):
    ...     notify("compiling kernels")
    compiling kernels
    """
    _notice_handlers.append(handler)
    try:
        yield
    finally:
        _notice_handlers.remove(handler)


def notify(message: str) -> None:
    """Show a notice within the current stage, or in a terminal or notebook if there is no stage.

    Any thread can call it, not only the one that reports the stage.
    """
    outermost = _notice_handlers[:1]  # another thread may end its stage
    if outermost:
        outermost[0](message)
    elif sys.stderr.isatty() or type(sys.stderr).__module__.startswith("ipykernel."):
        _write(message)


def _write(message: str) -> None:
    sys.stderr.write(f"[graphmargin] {message}\n")
    sys.stderr.flush()
