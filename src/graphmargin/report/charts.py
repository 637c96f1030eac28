"""Coordinates of the marks of charts, in the units of an SVG; templates draw them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from graphmargin._texts import format_estimate, format_interval
from graphmargin.confidence.coverage import CoverageCurve
from graphmargin.report.content import GraphMap
from graphmargin.reports.path_texts import PATH_LINES, gamma_text

WIDTH, HEIGHT = 460.0, 270.0
"""Width and height of a chart."""
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 12.0, 44.0
"""Margins for the axes."""
MAP_WIDTH, MAP_HEIGHT, MAP_MARGIN = 800.0, 640.0, 16.0
N_COLORS = 12
"""Number of colors; further classes have the same colors with another shape."""
SHAPES = ("circle", "square", "triangle", "diamond")
MIN_OPACITY = 0.25
"""Opacity of a point with a confidence of 0."""


@dataclass(frozen=True)
class Tick:
    """A tick on an axis, with its text."""

    at: float
    text: str


@dataclass(frozen=True)
class Bar:
    """A rectangle of a kind, such as "weight", with its text."""

    kind: str
    x: float
    y: float
    width: float
    height: float
    text: str


@dataclass(frozen=True)
class Line:
    """A line with a dot for each finite value."""

    kind: str
    name: str
    segments: tuple[str, ...]
    """Points of a polyline for each run of finite values."""
    dots: tuple[tuple[float, float, str], ...]
    """Coordinates and text of each value."""


@dataclass(frozen=True)
class Chart:
    """Bars, lines and a band with their axes; the band is the points of a polygon."""

    bars: tuple[Bar, ...]
    lines: tuple[Line, ...]
    x_ticks: tuple[Tick, ...]
    y_ticks: tuple[Tick, ...]
    band: str = ""


@dataclass(frozen=True)
class Mark:
    """A point of the map."""

    index: int
    x: float
    y: float
    color: int
    shape: str
    opacity: float
    is_given: bool


@dataclass(frozen=True)
class MapChart:
    """Points of the map in the order in which they are drawn, and its edges as one SVG path."""

    marks: tuple[Mark, ...]
    edges: str


def class_symbol(code: int) -> tuple[int, str]:
    """Return the number of the color and the shape of a class.

    Examples
    --------
    >>> class_symbol(0), class_symbol(12), class_symbol(47), class_symbol(48)
    ((0, 'circle'), (0, 'square'), (11, 'diamond'), (0, 'circle'))
    """
    return code % N_COLORS, SHAPES[code // N_COLORS % len(SHAPES)]


def histogram_chart(counts: Sequence[int]) -> Chart:
    """Return a histogram of confidences, given the number of rows in equal bins of [0, 1].

    Examples
    --------
    >>> chart = histogram_chart((1, 0, 0, 6))
    >>> [bar.text for bar in chart.bars], [tick.text for tick in chart.y_ticks]
    (['1 of 0.00 to 0.25', '6 of 0.75 to 1.00'], ['0', '2', '4', '6'])
    """
    ticks = _count_ticks(max(counts, default=0))
    end, step = ticks[-1], (WIDTH - LEFT - RIGHT) / max(len(counts), 1)
    bars = []
    for index, count in enumerate(counts):
        if count:
            top = _y(count / end)
            text = f"{count:,} of {index / len(counts):.2f} to {(index + 1) / len(counts):.2f}"
            place = LEFT + index * step + 1, top, step - 2, _y(0) - top
            bars.append(Bar("predicted", *place, text))
    x_ticks = tuple(Tick(LEFT + at * (WIDTH - LEFT - RIGHT), f"{at:g}") for at in (0, 0.5, 1))
    y_ticks = tuple(Tick(_y(count / end), f"{count:,}") for count in ticks)
    return Chart(tuple(bars), (), x_ticks, y_ticks)


def path_chart(path: Mapping[str, Sequence[float]]) -> Chart:
    r"""Return scores and confidence as lines along gamma_g, and weights in the blend as bars.

    Values of gamma_g have equal distances. Values that are not finite are left out.

    Parameters
    ----------
    path : mapping from str to sequence of float
        Columns of ``gamma_g_path_``.

    Examples
    --------
    >>> nan, inf = float("nan"), float("inf")
    >>> chart = path_chart({"gamma_g": (0.1, inf), "fold_score": (0.9, nan), "weight": (1.0, 0.0)})
    >>> [tick.text for tick in chart.x_ticks], [bar.text for bar in chart.bars]
    (['0.1', 'supervised'], ['100.0\xa0% of the weight', '0.0\xa0% of the weight'])
    >>> [(line.kind, [dot[2] for dot in line.dots]) for line in chart.lines]
    [('fold_score', ['90.0\xa0%'])]
    """
    step = (WIDTH - LEFT - RIGHT) / max(len(path["gamma_g"]), 1)
    centers = [LEFT + (index + 0.5) * step for index in range(len(path["gamma_g"]))]
    bars = tuple(
        Bar(
            *("weight", center - step / 4, _y(weight), step / 2, _y(0) - _y(weight)),
            f"{percent(weight)} of the weight",
        )
        for center, weight in zip(centers, path.get("weight", ()), strict=False)
        if math.isfinite(weight)
    )
    lines = [_line(kind, centers, path[kind]) for kind in PATH_LINES if kind in path]
    x_ticks = [
        Tick(center, gamma_text(gamma_g))
        for center, gamma_g in zip(centers, path["gamma_g"], strict=True)
    ]
    y_ticks = [Tick(_y(share), f"{100 * share:.0f} %") for share in (0, 0.25, 0.5, 0.75, 1)]
    return Chart(bars, tuple(line for line in lines if line.dots), tuple(x_ticks), tuple(y_ticks))


def coverage_chart(curve: CoverageCurve) -> Chart:
    """Return the accuracy among the surest rows as a line over their share, with its interval.

    The axis of the accuracy begins at a round number below the interval.

    Examples
    --------
    >>> import numpy as np
    >>> curve = CoverageCurve(
    ...     shares=np.array([0.5, 1.0]), thresholds=np.array([0.9, 0.4]),
    ...     mean_confidence=np.array([0.95, 0.8]), n_held_out=np.array([20, 30]),
    ...     accuracy=np.array([0.96, 0.81]), interval=np.array([[0.6, 1.0], [0.75, 0.9]]),
    ... )
    >>> chart = coverage_chart(curve)
    >>> [tick.text for tick in chart.y_ticks], [tick.text for tick in chart.x_ticks]
    (['60 %', '70 %', '80 %', '90 %', '100 %'], ['0 %', '25 %', '50 %', '75 %', '100 %'])
    >>> chart.lines[0].dots[0][2]
    '96% of the surest 50% are right (60% to 99.9%)'
    """
    shares, accuracy = curve.shares.tolist(), curve.accuracy.tolist()
    lowest = math.floor(10 * curve.interval.min())  # in tenths
    step = 1 if lowest >= 5 else 2
    lowest -= lowest % step

    def x_of(share: float) -> float:
        return LEFT + share * (WIDTH - LEFT - RIGHT)

    def y_of(value: float) -> float:
        return _y((value - lowest / 10) / (1 - lowest / 10))

    dots = tuple(
        (
            x_of(share),
            y_of(value),
            f"{format_estimate(value)} of the surest {share:.0%} are right "
            f"({format_interval((low, high))})",
        )
        for share, value, (low, high) in zip(shares, accuracy, curve.interval.tolist(), strict=True)
    )
    highs, lows = curve.interval[:, 1].tolist(), curve.interval[:, 0].tolist()
    upper = [(x_of(share), y_of(high)) for share, high in zip(shares, highs, strict=True)]
    lower = [(x_of(share), y_of(low)) for share, low in zip(shares, lows, strict=True)]
    line = Line("fold_score", "accuracy", (_points(dot[:2] for dot in dots),), dots)
    x_ticks = tuple(Tick(x_of(q / 4), f"{25 * q} %") for q in range(5))
    tenths = range(10, lowest - 1, -step)
    y_ticks = tuple(Tick(y_of(tenth / 10), f"{10 * tenth} %") for tenth in tenths)
    return Chart((), (line,), x_ticks, y_ticks[::-1], _points([*upper, *lower[::-1]]))


def _points(places: Iterable[Sequence[float]]) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def map_chart(graph_map: GraphMap) -> MapChart:
    """Return the points and edges of a map; points with given labels come last, on top of others.

    Opacity grows with the confidence, relative to the largest one of predicted labels.

    Examples
    --------
    >>> graph_map = GraphMap(
    ...     x=(0.0, 1.0), y=(0.0, 1.0), rows=(1, 2), codes=(0, 12), confidence=(1.0, 0.5),
    ...     is_given=(True, False), cells=({}, {}), edges=((0, 1),), method="",
    ... )
    >>> chart = map_chart(graph_map)
    >>> [(mark.index, mark.color, mark.shape, mark.opacity) for mark in chart.marks]
    [(1, 0, 'square', 1.0), (0, 0, 'circle', 1.0)]
    >>> chart.edges
    'M16 624L784 16'
    """
    xs = [MAP_MARGIN + x * (MAP_WIDTH - 2 * MAP_MARGIN) for x in graph_map.x]
    ys = [MAP_HEIGHT - MAP_MARGIN - y * (MAP_HEIGHT - 2 * MAP_MARGIN) for y in graph_map.y]
    is_given, confidence = graph_map.is_given, graph_map.confidence
    order = sorted(range(len(xs)), key=lambda i: (is_given[i], confidence[i]))
    pairs = list(zip(is_given, confidence, strict=True))
    largest = max((value for given, value in pairs if not given), default=0.0) or 1.0
    relative = [1.0 if given else min(value / largest, 1.0) for given, value in pairs]
    opacity = [MIN_OPACITY + (1 - MIN_OPACITY) * value for value in relative]
    marks = [
        Mark(i, xs[i], ys[i], *class_symbol(graph_map.codes[i]), opacity[i], is_given[i])
        for i in order
    ]
    edges = "".join(f"M{xs[a]:.0f} {ys[a]:.0f}L{xs[b]:.0f} {ys[b]:.0f}" for a, b in graph_map.edges)
    return MapChart(tuple(marks), edges)


def percent(share: float | None) -> str:
    r"""Return a share as a percentage, or a dash if it is None or not finite.

    Examples
    --------
    >>> percent(0.9745), percent(None), percent(float("nan"))
    ('97.5\xa0%', '-', '-')
    """
    if share is None or not math.isfinite(share):
        return "-"
    return f"{100 * share:.1f}\N{NO-BREAK SPACE}%"


def _line(kind: str, centers: Sequence[float], values: Sequence[float]) -> Line:
    dots, segments, segment = [], [], ""
    for center, value in zip(centers, values, strict=True):
        if math.isfinite(value):
            dots.append((center, _y(value), percent(value)))
            segment += f"{center:.1f},{_y(value):.1f} "
        else:
            segments.append(segment)
            segment = ""
    runs = tuple(points for points in (*segments, segment) if points)
    return Line(kind, PATH_LINES[kind], runs, tuple(dots))


def _y(share: float) -> float:
    """Return the y coordinate of a share of the height; y grows downward."""
    return HEIGHT - BOTTOM - share * (HEIGHT - BOTTOM - TOP)


def _count_ticks(largest: int) -> list[int]:
    """Return about five round numbers from 0 to at least the largest count."""
    rough = max(largest, 1) / 4
    unit = 10 ** math.floor(math.log10(rough)) if rough >= 1 else 1
    step = int(next(m * unit for m in (1, 2, 5, 10) if m * unit >= rough))
    return list(range(0, largest + step, step)) if largest else [0, 1]
