"""Places of marks."""

import math
import re
from importlib.resources import files
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.confidence.coverage import CoverageCurve
from graphmargin.plotting._matplotlib import CLASS_COLORS, MARKERS
from graphmargin.report import charts
from graphmargin.reports.path_texts import PATH_LINES


@given(st.lists(st.integers(0, 10**7), min_size=1, max_size=30))
def test_bars_have_the_height_of_counts(counts):
    chart = charts.histogram_chart(counts)
    floor, top = chart.y_ticks[0].at, chart.y_ticks[-1].at
    end = int(chart.y_ticks[-1].text.replace(",", ""))
    total = sum(bar.height for bar in chart.bars)
    assert total == pytest.approx((floor - top) * sum(counts) / end)
    assert all(top - 1e-6 <= bar.y <= floor for bar in chart.bars)
    assert all(bar.x + bar.width <= charts.WIDTH - charts.RIGHT for bar in chart.bars)


@given(st.integers(0, 10**9))
def test_ticks_are_few_round_and_even(largest):
    chart = charts.histogram_chart((largest,))
    values = [int(tick.text.replace(",", "")) for tick in chart.y_ticks]
    assert values[0] == 0
    assert values[-1] >= largest
    assert len(values) <= 6
    assert len({b - a for a, b in pairwise(values)}) == 1


def test_a_line_has_a_gap_at_a_missing_score_and_is_dropped_without_scores():
    path = {"gamma_g": (0.0, 0.1, 1.0, 10.0, math.inf), "fold_score": (1, 0.9, math.nan, 0.5, 0)}
    (line,) = charts.path_chart(path).lines
    assert [len(segment.split()) for segment in line.segments] == [2, 2]
    assert [dot[1] for dot in line.dots] == pytest.approx([12, 33.4, 119, 226])
    unknown = charts.path_chart(dict.fromkeys(("gamma_g", "fold_score", "weight"), (math.nan,)))
    assert unknown.lines == unknown.bars == ()


@given(st.lists(st.floats(0, 1), min_size=1, max_size=20), st.floats(0, 1))
def test_accuracies_and_intervals_stay_within_the_axes(accuracy, width):
    values = np.array(accuracy)
    curve = CoverageCurve(
        shares=np.arange(1, len(values) + 1) / len(values),
        thresholds=values,
        mean_confidence=values,
        n_held_out=np.arange(len(values)),
        accuracy=values,
        interval=np.column_stack([values - width * values, values + width * (1 - values)]),
    )
    chart = charts.coverage_chart(curve)
    bottom, top = chart.y_ticks[0].at, chart.y_ticks[-1].at
    assert top == pytest.approx(charts.TOP)
    assert bottom == pytest.approx(charts.HEIGHT - charts.BOTTOM)
    assert int(chart.y_ticks[0].text.removesuffix(" %")) <= 100 * curve.interval.min()
    assert chart.y_ticks[-1].text == "100 %"
    places = [tuple(map(float, point.split(","))) for point in chart.band.split()]
    assert len(places) == 2 * len(values)
    lows = [y for _, y in places[len(values) :]][::-1]  # the lower bounds are not cut
    share = int(chart.y_ticks[0].text.removesuffix(" %")) / 100
    expected = bottom - (curve.interval[:, 0] - share) / (1 - share) * (bottom - top)
    np.testing.assert_allclose(lows, expected, atol=0.051)
    for x, y in [*places, *(dot[:2] for dot in chart.lines[0].dots)]:
        assert charts.LEFT <= x <= charts.WIDTH - charts.RIGHT + 0.1
        assert top - 0.1 <= y <= charts.HEIGHT - charts.BOTTOM + 0.1
    heights = np.array([dot[1] for dot in chart.lines[0].dots])
    order = np.argsort(values)
    assert (np.diff(heights[order]) <= 1e-9).all()


def test_lines_and_bands_have_a_color():
    css = (files("graphmargin.report") / "labeling.css").read_text()
    for kind in (*PATH_LINES, "band"):
        assert re.search(rf"^\.{kind} {{[^}}]*fill: var", css, re.MULTILINE), kind


def test_classes_have_distinct_styles():
    assert len({charts.class_symbol(code) for code in range(48)}) == 48


def test_colors_and_shapes_are_those_of_figures():
    css = (files("graphmargin.report") / "labeling.css").read_text()
    light = re.findall(r"--k(\d+): (#\w{6})", css)[: charts.N_COLORS]
    assert [color for _, color in light] == list(CLASS_COLORS)
    assert len(charts.SHAPES) == len(MARKERS)


def test_given_labels_are_on_top_and_others_fade(make_map):
    marks = charts.map_chart(make_map(30, 3)).marks
    given_first = [mark.is_given for mark in marks]
    assert given_first == sorted(given_first)
    predicted = [mark.opacity for mark in marks if not mark.is_given]
    assert predicted == sorted(predicted)
    assert predicted[0] >= charts.MIN_OPACITY
    assert predicted[-1] == 1


def test_a_map_of_given_labels_alone_is_drawn(make_map):
    chart = charts.map_chart(make_map(1, 1))
    assert [mark.opacity for mark in chart.marks] == [1.0]
    assert chart.edges == ""
