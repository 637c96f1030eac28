"""Parallel loops in threads, for kernels that release the interpreter's lock."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from numbers import Integral
from typing import Any, TypeVar

import numpy as np
from joblib import effective_n_jobs
from threadpoolctl import ThreadpoolController

from graphmargin._typing import ProgressCallback

Piece = TypeVar("Piece")
Result = TypeVar("Result")

POLL_SECONDS = 0.2
"""Time between two reports of progress, and two checks for Ctrl-C."""

_current = threading.local()


@cache
def _libraries() -> ThreadpoolController:
    """Return the BLAS and OpenMP libraries, which takes milliseconds to find."""
    return ThreadpoolController()


def _was_cancelled(ended: Future[None]) -> bool:
    """Tell whether a thread was cancelled, rather than failed itself."""
    return isinstance(ended.exception(), CancelledError)


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads for `n_jobs`.

    -1 takes all cores. None takes as many as BLAS would, so that ``OMP_NUM_THREADS`` and
    ``threadpool_limits`` are respected.
    """
    check_n_jobs(n_jobs)
    if n_jobs is not None:
        return int(effective_n_jobs(n_jobs))
    pools = [pool["num_threads"] for pool in _libraries().info() if pool["user_api"] == "blas"]
    return int(max(pools, default=1))


def check_n_jobs(n_jobs: Any) -> None:
    """Raise ValueError unless `n_jobs` is None or an integer other than 0."""
    is_integer = isinstance(n_jobs, Integral) and not isinstance(n_jobs, bool | np.bool_)
    if n_jobs is not None and (not is_integer or n_jobs == 0):
        msg = (
            f"`n_jobs` must be None or an integer other than 0, got {n_jobs!r}; -1 takes all cores"
        )
        raise ValueError(msg)


def raise_if_cancelled() -> None:
    """Raise CancelledError if the work of this thread was cancelled.

    Long loops call it every few tenths of a second, so that Ctrl-C ends them quickly.
    """
    stop = getattr(_current, "stop", None)
    if stop is not None and stop.is_set():
        raise CancelledError


@contextmanager
def cancellable(stop: threading.Event) -> Iterator[None]:
    """Let an event cancel the work of this thread within the block, which raises CancelledError.

    Examples
    --------
    >>> stop = threading.Event()
    >>> with cancellable(stop):
    ...     stop.set()
    ...     raise_if_cancelled()
    Traceback (most recent call last):
    concurrent.futures._base.CancelledError
    """
    before, _current.stop = getattr(_current, "stop", None), stop
    try:
        yield
    finally:
        _current.stop = before


class _SharedLimit:
    """A limit of one thread for BLAS and OpenMP while at least one pool is open.

    Pools overlap if users call from several threads. The limit is set by the first pool that opens,
    and the former limits are restored by the last one that closes.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._holders = 0
        self._limits: Any = None

    def hold(self) -> None:
        """Set the limit, unless it is set already."""
        with self._lock:
            if self._holders == 0:
                self._limits = _libraries().limit(limits=1)
            self._holders += 1

    def release(self) -> None:
        """Restore the former limits, if no pool is left."""
        with self._lock:
            self._holders -= 1
            if self._holders == 0:
                self._limits.restore_original_limits()


_SINGLE_THREAD = _SharedLimit()


def map_in_threads(
    work: Callable[[Piece], Result],
    pieces: Iterable[Piece],
    *,
    n_jobs: int | None,
    progress: ProgressCallback | None = None,
) -> list[Result]:
    """Return ``[work(piece) for piece in pieces]``, each piece with a single BLAS thread.

    The caller chooses the pieces, so that rounding does not depend on `n_jobs`. An exception or
    Ctrl-C cancels the pieces that have not started.

    Examples
    --------
    >>> map_in_threads(abs, [-1, 2], n_jobs=2)
    [1, 2]
    """
    with ThreadPool(n_jobs) as pool:
        return pool.run(work, pieces, progress)


class ThreadPool:
    """Threads that are kept for many short calls, with a single BLAS thread each.

    Examples
    --------
    >>> with ThreadPool(n_jobs=2) as pool:
    ...     pool.run(abs, [-1, 2]), pool.run(str, [3])
    ([1, 2], ['3'])
    """

    def __init__(self, n_jobs: int | None) -> None:
        self.size = n_threads(n_jobs)
        self._pool = ThreadPoolExecutor(self.size)  # it starts threads as they are needed
        self._holds_limit = True
        _SINGLE_THREAD.hold()

    def __enter__(self) -> ThreadPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown()
        if self._holds_limit:
            self._holds_limit = False
            _SINGLE_THREAD.release()

    def run(
        self,
        work: Callable[[Piece], Result],
        pieces: Iterable[Piece],
        progress: ProgressCallback | None = None,
    ) -> list[Result]:
        """Return ``[work(piece) for piece in pieces]``."""
        todo = list(pieces)
        results: list[Any] = [None] * len(todo)
        upcoming, finished = itertools.count(), list[int]()
        alone = min(self.size, len(todo)) <= 1
        # A single piece of work is cancelled with the thread itself, others by the loop below.
        stop = (getattr(_current, "stop", None) if alone else None) or threading.Event()

        def worker() -> None:
            before, _current.stop = getattr(_current, "stop", None), stop
            try:
                while not stop.is_set() and (i := next(upcoming)) < len(todo):
                    results[i] = work(todo[i])
                    finished.append(i)
                    if progress is not None and alone:
                        progress(len(finished) / len(todo), "")
            except BaseException:
                if not alone:
                    stop.set()
                raise
            finally:
                _current.stop = before

        if alone:
            worker()
            raise_if_cancelled()
            return results
        pending = {self._pool.submit(worker) for _ in range(min(self.size, len(todo)))}
        try:
            while pending:
                raise_if_cancelled()
                done, pending = wait(pending, timeout=POLL_SECONDS)
                for ended in sorted(done, key=_was_cancelled):
                    ended.result()
                if progress is not None:
                    progress(len(finished) / len(todo), "")
        finally:
            stop.set()
        return results
