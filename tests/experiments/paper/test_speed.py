from pathlib import Path

import pytest

from graphmargin.experiments.paper import speed as module
from graphmargin.experiments.paper.published import KERNELS
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.speed import SpeedRecord, speed


@pytest.fixture
def one_pair(monkeypatch):
    monkeypatch.setattr(module, "TABLES", ("image",))
    monkeypatch.setattr(module, "REPEATS", 1)


@pytest.mark.usefixtures("one_pair")
def test_machines_of_a_grid_decide_like_those_of_scikit_learn():
    records = speed(Settings(Path("unused"), quick=True))
    assert [record.kernel for record in records] == list(KERNELS)
    for record in records:
        assert record.agreement > 0.99
        assert (record.table, record.pair) == ("image", "brickface-cement")
        assert (record.n_rows, record.n_fits) == (220, 14)
        assert record.seconds > 0
        assert record.ratio > 0


@pytest.mark.usefixtures("one_pair")
@pytest.mark.parametrize(("quick", "n_pairs"), [(True, 1), (False, 3)])
def test_pairs_are_one_or_three_of_a_table(monkeypatch, quick, n_pairs):
    monkeypatch.setattr(module, "TABLES", ("letter", "digits", "image"))
    monkeypatch.setattr(module, "_measure", lambda table, pair, *_: (table, pair))
    found = speed(Settings(Path("unused"), quick=quick))
    assert len(found) == 3 * n_pairs * len(KERNELS)
    assert len(set(found)) == 3 * n_pairs


def test_ratio_by_hand():
    assert SpeedRecord("image", "a-b", "rbf", 220, 14, 0.5, 2.0, 1.0).ratio == 4.0


def test_the_fastest_of_several_counts(monkeypatch):
    times = iter([0.0, 3.0, 10.0, 11.0, 20.0, 22.0])
    monkeypatch.setattr(module, "REPEATS", 3)
    monkeypatch.setattr(module.time, "perf_counter", lambda: next(times))
    assert module._fastest(lambda: "result") == ("result", 1.0)
