import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from graphmargin import HarmonicClassifier, MaxMarginGraphCut, _progress
from graphmargin._progress import notify, progress_listener, report_stage
from graphmargin.datasets import make_lattices
from graphmargin.search import data as data_module
from tests.harmonic.problems import eliminate_nothing


@pytest.fixture
def clock(monkeypatch):
    """Let the tests set the time."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def test_harmonic_classifier_reports_its_stages(capsys, clock):
    X, y, _, _ = make_lattices()
    clock.now = 3.0
    HarmonicClassifier(gamma_g=0.1, n_neighbors=4, verbose=1).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] graph of 200 points ...",
        "[graphmargin] graph of 200 points: done in 0.00 s",
        "[graphmargin] 1 harmonic solution ...",
        "[graphmargin] 1 harmonic solution: done in 0.00 s",
    ]


def test_graph_cut_with_a_given_graph_reports_its_stages(capsys, clock):
    X, y, _, W = make_lattices()
    clock.now = 3.0
    options = {"gamma_g": 0.1, "eps": 0.01, "C": 1.0, "loss_weights": "equal"}
    model = MaxMarginGraphCut(verbose=1, **options)
    model.fit(X, y, W=W)
    n_training = model.training_mask_.sum()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] 1 harmonic solution ...",
        "[graphmargin] 1 harmonic solution: done in 0.00 s",
        f"[graphmargin] max-margin classifier on {n_training} points ...",
        f"[graphmargin] max-margin classifier on {n_training} points: done in 0.00 s",
    ]


def test_choice_of_parameters_reports_its_stages(capsys, clock):
    X, y, _, _ = make_lattices()
    clock.now = 3.0
    model = MaxMarginGraphCut(n_neighbors=4, verbose=1).fit(X, y)
    trials = len(model.choice_.trials.params)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] graph of 200 points ...",
        "[graphmargin] graph of 200 points: done in 0.00 s",
        f"[graphmargin] trial of {trials} candidates ...",
        f"[graphmargin] trial of {trials} candidates: done in 0.00 s",
    ]


@pytest.mark.usefixtures("clock")
def test_training_on_all_rows_after_trials_on_a_sample_is_a_stage(capsys, monkeypatch):
    monkeypatch.setattr(data_module, "MAX_UNLABELED", 100)
    X, y, _, _ = make_lattices()
    model = MaxMarginGraphCut(n_neighbors=4, verbose=1).fit(X, y)
    blended = len(model.choice_.blended)
    assert capsys.readouterr().err.splitlines()[4:] == [
        f"[graphmargin] blend of {blended} classifiers ...",
        f"[graphmargin] blend of {blended} classifiers: done in 0.00 s",
    ]


@pytest.mark.parametrize("verbose", [0, False])
def test_fit_is_silent_by_request(capsys, verbose):
    X, y, _, _ = make_lattices()
    for model in (
        HarmonicClassifier(gamma_g=0.1, n_neighbors=4, verbose=verbose),
        MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=4, verbose=verbose),
    ):
        model.fit(X, y).predict(X)
        assert not model.verbose
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_fit_is_silent_by_default(capsys):
    X, y, _, _ = make_lattices()
    HarmonicClassifier(n_neighbors=4).fit(X, y)
    MaxMarginGraphCut(n_neighbors=4).fit(X, y)
    MaxMarginGraphCut(n_neighbors=4, gamma_g=0.1, C=10.0).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_verbose_does_not_change_the_result(capsys):
    X, y, _, _ = make_lattices()
    silent = MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=4).fit(X, y)
    verbose = MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=4, verbose=1).fit(X, y)
    np.testing.assert_array_equal(silent.predict_proba(X), verbose.predict_proba(X))
    assert "done in" in capsys.readouterr().err


def test_large_numbers_have_separators(capsys, clock):
    with report_stage(f"graph of {1234567:,} points", verbose=1):
        clock.now += 2.5
    assert capsys.readouterr().err.splitlines() == [
        "[graphmargin] graph of 1,234,567 points ...",
        "[graphmargin] graph of 1,234,567 points: done in 2.50 s",
    ]


def test_a_listener_receives_the_progress_and_nothing_is_written(capsys):
    reports = []
    with (
        progress_listener(lambda name: lambda *report: reports.append((name, *report))),
        report_stage("solve", verbose=1) as report_progress,
    ):
        report_progress(0.5, "violation 1e-3")
    assert reports == [
        ("solve", 0.0, ""),
        ("solve", 0.5, "violation 1e-3"),
        ("solve", 1.0, ""),
    ]
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("verbose", [0, 1])
def test_without_a_listener_there_is_no_callback(verbose):
    with report_stage("solve", verbose=verbose) as report_progress:
        assert report_progress is None


def test_a_listener_receives_a_notice_as_the_message_of_its_stage(capsys):
    messages = []
    with (
        progress_listener(lambda _: lambda share, text: messages.append((share, text))),
        report_stage("solve", verbose=0),
    ):
        notify("compiling kernels")
    assert messages == [(0.0, ""), (None, "compiling kernels"), (1.0, "")]
    assert capsys.readouterr().err == ""


class _Terminal(io.StringIO):
    def isatty(self):
        return True


_Notebook = type("OutStream", (io.StringIO,), {"__module__": "ipykernel.iostream"})


@pytest.mark.parametrize(
    ("stream", "text"),
    [
        (_Terminal, "[graphmargin] compiling kernels\n"),
        (_Notebook, "[graphmargin] compiling kernels\n"),
        (io.StringIO, ""),
    ],
)
def test_a_notice_without_a_stage_is_for_terminals_and_notebooks(monkeypatch, stream, text):
    monkeypatch.setattr("sys.stderr", stream())
    with report_stage("solve", verbose=0):
        notify("compiling kernels")
    assert sys.stderr.getvalue() == text


def test_failed_stage_is_not_done(capsys):
    def work():
        with report_stage("solve", verbose=1):
            msg = "broken"
            raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="broken"):
        work()
    assert capsys.readouterr().err == "[graphmargin] solve ...\n"


@pytest.mark.parametrize(("gamma_g", "word"), [(0.1, "violation"), (50.0, "sweep")])
def test_iterations_of_the_solver_are_reported(monkeypatch, gamma_g, word):
    eliminate_nothing(monkeypatch)
    messages = []
    X, y, _, W = make_lattices()
    with progress_listener(lambda _: lambda _, message: messages.append(message)):
        model = MaxMarginGraphCut(gamma_g=gamma_g, C=1.0).fit(X, y, W=W)
    assert len([text for text in messages if word in text]) >= model.n_iter_ > 1


PAPER = "gamma_g=0.1, C=10.0, loss_weights='equal'"
INTERRUPTED = """
import os, signal, sys, threading
import numpy as np
from sklearn.exceptions import NotFittedError
from graphmargin import MaxMarginGraphCut

X = np.random.default_rng(0).normal(size=(200_000, 40)).astype(np.float32)
y = np.where(np.arange(len(X)) < 400, np.arange(len(X)) % 4, -1)
model = MaxMarginGraphCut(verbose=1, {parameters}).fit(X[:500], y[:500])
signal.signal(signal.SIGINT, signal.default_int_handler)  # a background job ignores it
timer = threading.Timer(1.5, os.kill, (os.getpid(), signal.SIGINT))
timer.start()
try:
    model.fit(X, y)
except KeyboardInterrupt:
    try:
        model.predict(X[:10])
    except NotFittedError:
        print("interrupted")
    model.fit(X[:500], y[:500]).predict(X[:10])
"""


@pytest.mark.skipif(sys.platform == "win32", reason="os.kill ends the process on Windows")
@pytest.mark.parametrize("parameters", ["", PAPER], ids=["auto", "fixed"])
def test_ctrl_c_stops_a_fit_and_leaves_no_half_fitted_model(parameters):
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED.format(parameters=parameters)],
        check=False,
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout == "interrupted\n", done.stderr
