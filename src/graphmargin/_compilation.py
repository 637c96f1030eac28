"""Compilation of numerical kernels at their first call, and the notice that it takes a while."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

from numba import njit
from numba.core import event

from graphmargin._progress import notify

COMPILING = (
    "compiling numerical kernels, which takes some seconds; they are cached, so that later fits "
    "start at once"
)
NOT_CACHED = (
    "compiled numerical kernels cannot be cached, because neither the directory of the "
    "installation nor that of the user's caches can be written: every process compiles them "
    "again; set the environment variable NUMBA_CACHE_DIR to a directory that can be written"
)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that compiles a function at its first call and caches the result.

    Compiled kernels release the global interpreter lock, and a division by zero gives an infinite
    number. Where no directory for caches can be written, they are compiled in each process.

    Examples
    --------
    >>> @kernel()
    ... def half(x):
    ...     return x / 2
    >>> half(3.0)
    1.5
    """
    options = {"nogil": True, "error_model": "numpy", **options}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            compiled: Callable[..., Any] = njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no directory that can be written
            _notice.cached = False
            compiled = njit(**options)(function)
        return compiled

    return decorate


class _CompilationNotice(event.Listener):
    """Say once that kernels of this package are being compiled."""

    def __init__(self) -> None:
        self.cached, self.given = True, False

    def on_start(self, event: event.Event) -> None:
        """Give the notice before the first kernel of this package is compiled."""
        module = event.data["dispatcher"].py_func.__module__
        if self.given or not module.startswith("graphmargin."):
            return
        self.given = True
        if self.cached:
            notify(COMPILING)
        else:
            warnings.warn(NOT_CACHED, stacklevel=2)

    def on_end(self, event: event.Event) -> None:
        """Do nothing; numba asks for this method."""


_notice = _CompilationNotice()
event.register("numba:compile", _notice)  # type: ignore[no-untyped-call] # numba has no types
