"""Tests of the deferral of signals."""

from __future__ import annotations

import signal
import threading

import pytest

from graphmargin._signals import defer_signals


def test_the_innermost_of_nested_blocks_defers_to_the_end_of_the_outermost():
    reached = []

    def interrupt():
        with defer_signals():
            with defer_signals():
                signal.raise_signal(signal.SIGINT)
                reached.append("inner")
            reached.append("outer")

    with pytest.raises(KeyboardInterrupt):
        interrupt()
    assert reached == ["inner", "outer"]


def test_handlers_are_restored_and_ignored_signals_stay_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        interrupt = signal.getsignal(signal.SIGINT)
        with defer_signals():
            assert signal.getsignal(signal.SIGTERM) == signal.SIG_IGN
            assert signal.getsignal(signal.SIGINT) != interrupt
        assert signal.getsignal(signal.SIGINT) == interrupt
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_have_nothing_to_defer():
    handlers = []

    def run():
        with defer_signals():
            handlers.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert handlers == [signal.getsignal(signal.SIGINT)]
