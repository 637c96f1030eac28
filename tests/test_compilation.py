"""Tests of the compilation of kernels: its notice, and caches that cannot be written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import pytest
from numba.core import event

from graphmargin._compilation import kernel

SCRIPT = """
import numpy as np
from graphmargin._progress import progress_listener, report_stage
from graphmargin.cli.progress import show_progress
from graphmargin.harmonic._solvers.system import confidence_of

{block}
    print(confidence_of(np.array([[3.0, 1.0], [2.0, 2.5]])).tolist())
    confidence_of(np.array([[3.0, 1.0], [2.0, 2.5]], dtype=np.float32))
"""


@pytest.fixture
def run(tmp_path):
    def run(block, **environment):
        process = subprocess.run(
            [sys.executable, "-c", SCRIPT.format(block=block)],
            env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path), **environment},
            capture_output=True,
            text=True,
            check=True,
        )
        assert process.stdout == "[2.0, 0.5]\n"
        return process.stderr

    return run


@pytest.mark.parametrize(
    "block",
    ['with report_stage("stage", verbose=1):', "with show_progress(quiet=False):"],
    ids=["verbose", "command"],
)
def test_one_notice_while_kernels_are_compiled_and_none_once_they_are_cached(run, block):
    assert run(block).count("compiling kernels, once") == 1
    assert "compiling" not in run(block)


@pytest.mark.parametrize(
    "block",
    [
        'with report_stage("stage", verbose=0):',
        "with show_progress(quiet=True):",
        'with progress_listener(lambda _: lambda *_: None), report_stage("stage", verbose=1):',
    ],
)
def test_no_notice_unless_it_is_asked_for(run, block):
    assert not run(block)


@pytest.mark.skipif(sys.platform == "win32", reason="the folder can be created on Windows")
def test_kernels_that_cannot_be_cached_are_compiled_with_a_warning_that_names_the_variable(run):
    nowhere = {
        "NUMBA_CACHE_DIR": "/dev/null/nowhere",
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }
    complaint = run("if True:", **nowhere)
    assert complaint.count("cannot be cached") == 1
    assert "set the environment variable NUMBA_CACHE_DIR" in complaint


class _SignalWhileCompiling(event.Listener):
    def on_start(self, _):
        signal.raise_signal(signal.SIGINT)

    def on_end(self, _):
        pass


def test_a_signal_waits_until_a_kernel_and_those_that_it_calls_are_compiled():
    @kernel()
    def half(x):
        return x / 2

    @kernel()
    def quarter(x):
        return half(half(x))

    with (
        event.install_listener("numba:compile", _SignalWhileCompiling()),
        pytest.raises(KeyboardInterrupt),
    ):
        quarter(3.0)
    assert len(half.signatures) == len(quarter.signatures) == 1
    assert quarter(3.0) == 0.75
