"""Compilation of numerical kernels at their first call, and a notice of it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from numba import njit
from numba.core import event

from graphmargin._progress import notify
from graphmargin._signals import defer_signals

COMPILING = "compiling kernels, once: it takes some seconds, and later runs load them from a cache"
NOT_CACHED = (
    "compiled numerical kernels cannot be cached, because neither the installation directory nor "
    "the user's cache directory is writable, so that every process compiles them again; set the "
    "environment variable NUMBA_CACHE_DIR to a directory that only you can write"
)


def kernel(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Return a decorator that compiles a function at its first call and caches the result.

    Compiled kernels release the global interpreter lock, and a division by zero returns infinity.
    Where no cache directory can be written, they are compiled in each process. Ctrl-C and other
    signals that end a process wait until a kernel is compiled or loaded from the cache.

    Examples
    --------
    >>> @kernel()
    ... def half(x):
    ...     return x / 2
    >>> half(3.0)
    1.5
    """
    # A kernel that is passed to kernels as an argument needs a wrapper; none is.
    defaults = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
    options = {**defaults, **options}

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        try:
            compiled = njit(cache=True, **options)(function)
        except RuntimeError:  # numba found no directory that can be written, or no source file
            _notice.cached = not Path(function.__code__.co_filename).is_file()
            compiled = njit(**options)(function)
        compiled.compile = _without_interruption(compiled.compile)
        return cast("Callable[..., Any]", compiled)

    return decorate


def _without_interruption(compile_: Callable[..., Any]) -> Callable[..., Any]:
    """Return the method of a kernel that compiles it or loads it, with signals deferred to its end.

    llvmlite frees an object of LLVM and then marks it as freed; an exception between the two, such
    as KeyboardInterrupt, lets it free the object twice, which aborts the process.
    """

    @functools.wraps(compile_)
    def compile_without_interruption(signature: Any) -> Any:
        with defer_signals():
            return compile_(signature)

    return compile_without_interruption


class _CompilationNotice(event.Listener):
    """Listener that reports once that kernels of this package are being compiled."""

    def __init__(self) -> None:
        self.cached, self.is_given = True, False

    def on_start(self, event: event.Event) -> None:
        """Give the notice before the first kernel of this package is compiled."""
        module = event.data["dispatcher"].py_func.__module__
        if self.is_given or not module.startswith("graphmargin."):
            return
        self.is_given = True
        if self.cached:
            notify(COMPILING)
        else:
            warnings.warn(NOT_CACHED, stacklevel=2)

    def on_end(self, event: event.Event) -> None:
        """Do nothing; numba requires this method."""


_notice = _CompilationNotice()
event.register("numba:compile", _notice)  # type: ignore[no-untyped-call] # numba has no types
