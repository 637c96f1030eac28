import sys
from pathlib import Path

import pytest

from graphmargin.experiments.paper.lattices import (
    FIGURE1_GAMMA_G,
    FIGURE2_GAMMA_G,
    figure1,
    figure2,
)
from graphmargin.experiments.paper.settings import Settings
from graphmargin.experiments.paper.thresholds import (
    GAMMA_G,
    PAIRS,
    THRESHOLDS,
    ThresholdRecord,
)
from graphmargin.plotting.lattices import draw_figure1, draw_figure2
from graphmargin.plotting.thresholds import COLORS, draw_figure3

SETTINGS = Settings(Path("unused"))


def threshold_records(draws=3, pairs=PAIRS):
    return [
        ThresholdRecord(pair, draw, gamma_g, eps, 0.1 * draw, 0.2, 0.3 + eps, 1 - 100 * eps)
        for pair in pairs
        for draw in range(draws)
        for gamma_g in GAMMA_G
        for eps in THRESHOLDS
    ]


def legend_texts(figure):
    return [text.get_text() for text in figure.legends[0].get_texts()]


def test_figure1_has_the_graph_and_three_solutions(tmp_path):
    figure = draw_figure1(figure1(SETTINGS))
    graph, *panels = figure.axes
    assert len(panels) == len(FIGURE1_GAMMA_G) == 3
    [edges] = graph.collections
    assert len(edges.get_segments()) == 360
    for ax, gamma_g in zip(panels, FIGURE1_GAMMA_G, strict=True):
        assert f"{gamma_g:g}" in ax.get_title()
    assert len(legend_texts(figure)) == 5
    figure.savefig(tmp_path / "figure1.png")
    assert (tmp_path / "figure1.png").stat().st_size > 10_000


def test_figure2_says_what_is_separated(tmp_path):
    figure = draw_figure2(figure2(SETTINGS))
    assert len(figure.axes) == 6 * len(FIGURE2_GAMMA_G)
    rows = [figure.axes[i * 6 : i * 6 + 6] for i in range(6)]
    names = [row[0].get_ylabel().split("\n")[0] for row in rows]
    kernels = ("linear", "cubic", "RBF")
    assert names == [f"{kernel} {method}" for kernel in kernels for method in ("MR", "GC")]
    titles = {name: [ax.get_title() for ax in row] for name, row in zip(names, rows, strict=True)}
    assert "separated" not in titles["linear MR"] + titles["cubic MR"]
    for kernel in kernels:
        assert titles[f"{kernel} GC"][-1] == "separated"
    assert "$f = 0$" in legend_texts(figure)
    figure.savefig(tmp_path / "figure2.png")
    assert (tmp_path / "figure2.png").stat().st_size > 10_000


def test_figure3_has_a_row_for_each_problem(tmp_path):
    figure = draw_figure3(threshold_records())
    assert len(figure.axes) == 12
    for row, pair in enumerate(PAIRS):
        assert pair in figure.axes[4 * row].get_ylabel()
    assert all("%" in ax.get_title() for ax in figure.axes[:4])
    assert all(ax.get_xlabel() for ax in figure.axes[-4:])
    for ax in figure.axes:
        assert ax.get_xscale() == "log"
        assert [line.get_color() for line in ax.lines] == list(COLORS.values())
        assert len(ax.collections) == len(THRESHOLDS)  # bands
    assert len(legend_texts(figure)) == len(THRESHOLDS)
    figure.savefig(tmp_path / "figure3.png")
    assert (tmp_path / "figure3.png").stat().st_size > 10_000


def test_figure3_draws_percent_and_leaves_other_pairs_out():
    figure = draw_figure3(threshold_records(draws=1, pairs=(*PAIRS, "B-C")))
    assert len(figure.axes) == 12
    assert figure.axes[1].lines[0].get_ydata() == pytest.approx(20)
    assert "1 draw" in figure.axes[0].get_ylabel()


def test_without_matplotlib_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ImportError, match=r"pip install graphmargin\[cli\]"):
        draw_figure3(threshold_records(draws=1))
