import os
import signal
import sys
import threading
import time
from concurrent.futures import CancelledError

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from graphmargin._threads import (
    ThreadPool,
    cancellable,
    map_in_threads,
    n_threads,
    raise_if_cancelled,
)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_results_come_in_order_and_blas_has_one_thread():
    assert map_in_threads(lambda i: (i, blas_threads()), range(5), n_jobs=2) == [
        (i, {1}) for i in range(5)
    ]


def test_no_items_give_no_results():
    assert map_in_threads(abs, [], n_jobs=1) == []


def test_none_takes_the_threads_of_blas():
    with threadpool_limits(limits=1):
        assert n_threads(None) == 1
    assert n_threads(3) == 3
    assert n_threads(-1) == len(os.sched_getaffinity(0))


def test_an_exception_cancels_the_items_that_have_not_begun():
    begun = []

    def work(i):
        begun.append(i)
        if i == 1:
            raise ZeroDivisionError
        time.sleep(0.01)

    with pytest.raises(ZeroDivisionError):
        map_in_threads(work, range(1_000), n_jobs=1)
    assert len(begun) < 100


@pytest.fixture
def interrupts():
    """Listen to Ctrl-C, which a shell makes its background jobs ignore."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process on Windows")
@pytest.mark.usefixtures("interrupts")
def test_ctrl_c_cancels_the_items_that_have_not_begun():
    begun = []

    def work(i):
        begun.append(i)
        time.sleep(0.01)

    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        map_in_threads(work, range(10_000), n_jobs=2)
    timer.join()
    assert len(begun) < 5_000


def test_progress_ends_at_one():
    shares = []
    map_in_threads(abs, [1, 2, 3, 4], n_jobs=2, progress=lambda share, _: shares.append(share))
    assert shares[-1] == 1.0
    assert shares == sorted(shares)


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
def test_running_work_stops_at_its_next_check(error):
    begun, ended = [], threading.Event()

    def work(i):
        begun.append(i)
        if i == 0:
            time.sleep(0.05)
            raise error
        try:
            while True:
                time.sleep(0.001)
                raise_if_cancelled()
        finally:
            ended.set()

    with pytest.raises(error):
        map_in_threads(work, range(50), n_jobs=2)
    assert ended.is_set()
    assert len(begun) == 2
    raise_if_cancelled()  # nothing stops the main thread


def test_thread_pools_may_be_nested():
    def work(i):
        return map_in_threads(lambda j: i * j, range(3), n_jobs=1)

    assert map_in_threads(work, range(3), n_jobs=2) == [[0, 0, 0], [0, 1, 2], [0, 2, 4]]


@pytest.mark.parametrize("n_jobs", ["2", 1.5, 0, True, [1], float("nan")])
def test_invalid_numbers_of_threads_are_refused_by_name(n_jobs):
    with pytest.raises(ValueError, match="`n_jobs` must be None or an integer other than 0"):
        map_in_threads(abs, [1], n_jobs=n_jobs)


def test_overlapping_pools_restore_the_threads_of_blas():
    before = blas_threads()
    with threadpool_limits(limits=3):
        within = blas_threads()
        first, second = ThreadPool(1), ThreadPool(2)
        first.__exit__()
        assert blas_threads() == {1}
        third = ThreadPool(1)
        second.__exit__()
        second.__exit__()
        third.__exit__()
        assert blas_threads() == within
    assert blas_threads() == before


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_event_cancels_loops_in_threads(n_jobs):
    stop = threading.Event()

    def work(i):
        if i == 3:
            stop.set()
        while i > 3:
            raise_if_cancelled()
            time.sleep(0.001)

    with cancellable(stop), pytest.raises(CancelledError):
        map_in_threads(work, range(100), n_jobs=n_jobs)
    assert map_in_threads(abs, [-1, 2], n_jobs=n_jobs) == [1, 2]
