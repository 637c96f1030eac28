from types import SimpleNamespace

import numpy as np
import pytest

from graphmargin import HarmonicClassifier, MaxMarginGraphCut
from graphmargin.datasets import make_lattices
from graphmargin.estimators import progress
from graphmargin.estimators.progress import stage


@pytest.fixture
def clock(monkeypatch):
    """Let the tests set the time."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress, "time", SimpleNamespace(perf_counter=lambda: clock.now))
    return clock


def test_stages_of_the_harmonic_classifier(capsys, clock):
    X, y, _, _ = make_lattices()
    clock.now = 3.0
    HarmonicClassifier(gamma_g=0.1, n_neighbors=4, verbose=1).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] graph of 200 points ...",
        "[graphmargin] graph of 200 points: done in 0.00 s",
        "[graphmargin] harmonic solution of 2 classes ...",
        "[graphmargin] harmonic solution of 2 classes: done in 0.00 s",
    ]


def test_stages_of_the_graph_cut_with_a_precomputed_graph(capsys, clock):
    X, y, _, W = make_lattices()
    clock.now = 3.0
    model = MaxMarginGraphCut(affinity="precomputed", gamma_g=0.1, eps=0.01, C=1.0, verbose=1)
    model.fit(X, y, W=W)
    n_training = model.training_mask_.sum()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] harmonic solution of 2 classes ...",
        "[graphmargin] harmonic solution of 2 classes: done in 0.00 s",
        f"[graphmargin] max-margin classifier on {n_training} points ...",
        f"[graphmargin] max-margin classifier on {n_training} points: done in 0.00 s",
    ]


@pytest.mark.parametrize("verbose", [0, False])
def test_silent_by_request(capsys, verbose):
    X, y, _, _ = make_lattices()
    for model in (
        HarmonicClassifier(gamma_g=0.1, n_neighbors=4, verbose=verbose),
        MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=4, verbose=verbose),
    ):
        model.fit(X, y).predict(X)
        assert not model.verbose
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_silent_by_default(capsys):
    X, y, _, _ = make_lattices()
    HarmonicClassifier(n_neighbors=4).fit(X, y)
    MaxMarginGraphCut(n_neighbors=4).fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""


def test_verbose_does_not_change_the_result(capsys):
    X, y, _, _ = make_lattices()
    silent = MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=4).fit(X, y)
    verbose = MaxMarginGraphCut(gamma_g=0.1, C=1.0, n_neighbors=4, verbose=1).fit(X, y)
    np.testing.assert_array_equal(silent.predict_proba(X), verbose.predict_proba(X))
    assert "done in" in capsys.readouterr().err


def test_large_numbers_have_separators(capsys, clock):
    with stage(f"graph of {1234567:,} points", verbose=1):
        clock.now += 2.5
    assert capsys.readouterr().err.splitlines() == [
        "[graphmargin] graph of 1,234,567 points ...",
        "[graphmargin] graph of 1,234,567 points: done in 2.50 s",
    ]


def test_news_is_told_at_most_every_two_seconds(capsys, clock):
    with stage("solve", verbose=1) as news:
        for iteration in range(60):
            clock.now += 0.1
            news(f"iteration {iteration}")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "[graphmargin] solve ..."
    assert lines[-1] == "[graphmargin] solve: done in 6.00 s"
    told = lines[1:-1]
    assert len(told) == 2
    assert all(line.startswith("[graphmargin] solve: iteration ") for line in told)
    assert told[0].endswith("(2 s)")
    assert told[1].endswith("(4 s)")


def test_quick_stages_have_no_news(capsys, clock):
    with stage("solve", verbose=1) as news:
        for _ in range(1000):
            clock.now += 0.001
            news("an iteration")
    assert len(capsys.readouterr().err.splitlines()) == 2


def test_slow_iterations_are_all_told(capsys, clock):
    with stage("solve", verbose=1) as news:
        for iteration in range(3):
            clock.now += 10
            news(f"iteration {iteration}")
    assert capsys.readouterr().err.splitlines()[1:-1] == [
        "[graphmargin] solve: iteration 0 (10 s)",
        "[graphmargin] solve: iteration 1 (20 s)",
        "[graphmargin] solve: iteration 2 (30 s)",
    ]


def test_silent_stage_asks_for_no_news(capsys):
    with stage("solve", verbose=0) as news:
        assert news is None
    assert capsys.readouterr().err == ""


def test_failed_stage_is_not_done(capsys):
    def work():
        with stage("solve", verbose=1):
            msg = "broken"
            raise RuntimeError(msg)

    with pytest.raises(RuntimeError, match="broken"):
        work()
    assert capsys.readouterr().err == "[graphmargin] solve ...\n"


@pytest.mark.parametrize("solver", ["cg", "jacobi", "amg"])
def test_iterations_of_the_solver_are_news(capsys, monkeypatch, solver):
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_MESSAGES", -1.0)
    X, y, _, W = make_lattices()
    model = MaxMarginGraphCut(
        affinity="precomputed", gamma_g=0.1, C=1.0, solver=solver, verbose=1
    ).fit(X, y, W=W)
    word = "sweep" if solver == "jacobi" else "iteration"
    told = [line for line in capsys.readouterr().err.splitlines() if f"classes: {word} " in line]
    assert len(told) >= model.n_iter_ > 1
