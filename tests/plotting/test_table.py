import numpy as np
import pytest

from graphmargin.experiments.paper.methods import GC_FIRM, GC_SOFT, GC_SOUND
from graphmargin.experiments.paper.published import KERNELS, PERCENT, PUBLISHED
from graphmargin.experiments.paper.soft_labels import PairedTest
from graphmargin.experiments.paper.summaries import MeanError
from graphmargin.plotting.table import COLORS, draw_errors, draw_soft_labels

TABLES = ("letter", "digits", "image")


@pytest.fixture(scope="module")
def means():
    """Return errors that fall with the number of labels, one of them without a kernel."""
    found = {
        ((name, percent, kernel), method): MeanError(20.0 + i - percent, 0.5, 10, 0)
        for name in TABLES
        for percent in PERCENT
        for kernel in KERNELS
        for i, method in enumerate(("SVM", "MR", "GC"))
    }
    return found | {
        (("letter", percent, "none"), "harmonic"): MeanError(5.0, np.nan, 1, 0)
        for percent in PERCENT
    }


def lines(ax):
    """Return lines by label: those of error bars have it on their container."""
    plain = {line.get_label(): line for line in ax.get_lines()}
    return plain | {bars.get_label(): bars.lines[0] for bars in ax.containers}


def test_every_table_and_kernel_has_a_panel(means, tmp_path):
    figure = draw_errors(means)
    assert [ax.get_title() for ax in figure.axes] == [
        f"{name}, {kernel}" for name in TABLES for kernel in KERNELS
    ]
    for ax in figure.axes:
        assert ax.get_xscale() == "log"
        assert ax.get_xticks().tolist() == list(PERCENT)
        assert ax.get_ylim()[0] == 0
    assert [bool(ax.get_ylabel()) for ax in figure.axes] == [True, False, False] * 3
    assert [bool(ax.get_xlabel()) for ax in figure.axes] == [False] * 6 + [True] * 3
    figure.savefig(tmp_path / "table.png")
    assert figure.get_size_inches()[0] == 11


def test_lines_are_what_we_found_and_what_is_published(means):
    ax = draw_errors(means).axes[1]
    drawn = lines(ax)
    assert drawn["GC"].get_ydata().tolist() == [22.0 - percent for percent in PERCENT]
    known = [PUBLISHED["letter", percent, "cubic"]["GC"] for percent in PERCENT]
    assert drawn["GC, published"].get_ydata().tolist() == known
    assert drawn["GC, published"].get_linestyle() == ":"
    assert drawn["GC"].get_linestyle() == "-"
    assert drawn["GC"].get_color() == drawn["GC, published"].get_color() == COLORS["GC"]
    assert drawn["harmonic"].get_ydata().tolist() == [5.0] * 4
    assert "harmonic, published" not in drawn
    assert "S3VM" not in drawn


def test_the_legend_has_every_line_once(means):
    (legend,) = draw_errors(means).legends
    texts = [text.get_text() for text in legend.get_texts()]
    assert len(set(texts)) == len(texts) == 7
    assert {"SVM", "SVM, published", "harmonic"} < set(texts)


def test_settings_that_were_not_run_are_gaps(means):
    some = {key: value for key, value in means.items() if key[0][1] != 5}
    ax = draw_errors(some, ["letter"]).axes[0]
    values = np.asarray(lines(ax)["SVM"].get_ydata(), dtype=float)
    assert np.isnan(values).tolist() == [False, False, True, False]


def test_colors_tell_methods_apart():
    assert len(set(COLORS.values())) == len(COLORS)


@pytest.fixture
def tests():
    return [
        PairedTest(method, group, 20, difference, 0.1, 0.5, 10, 10, difference)
        for method, difference in ((GC_SOFT, -0.5), (GC_FIRM, 0.25), (GC_SOUND, 1.0))
        for group in ("all", "letter", "5 %")
    ]


def test_soft_labels_have_a_line_for_each_group(tests, tmp_path):
    figure = draw_soft_labels(tests)
    (ax,) = figure.axes
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names == ["all pairs", "letter pairs", "5 % of labels"]
    assert ax.yaxis_inverted()
    (legend,) = figure.legends
    assert [text.get_text() for text in legend.get_texts()] == [GC_SOFT, GC_FIRM, GC_SOUND]
    drawn = lines(ax)
    assert drawn[GC_SOFT].get_xdata().tolist() == [-0.5] * 3
    assert drawn[GC_SOUND].get_xdata().tolist() == [1.0] * 3
    places = np.array(
        [drawn[method].get_ydata() for method in (GC_SOFT, GC_FIRM, GC_SOUND)], dtype=float
    )
    assert len(np.unique(places)) == 9
    np.testing.assert_allclose(places.round(), [[0, 1, 2]] * 3)
    figure.savefig(tmp_path / "soft.png")


def test_bars_are_two_standard_errors_each_way(tests):
    (ax,) = draw_soft_labels(tests).axes
    (segments,) = ax.containers[0].lines[2]
    ends = np.array(segments.get_segments())[:, :, 0]
    np.testing.assert_allclose(ends, [[-0.7, -0.3]] * 3)


def test_a_single_pair_has_no_bar(tmp_path):
    figure = draw_soft_labels([PairedTest(GC_SOFT, "all", 1, -0.5, np.nan, 1.0, 1, 0, -1.0)])
    figure.savefig(tmp_path / "soft.png")
    assert lines(figure.axes[0])[GC_SOFT].get_xdata().tolist() == [-0.5]
