"""The critical-difference diagram: mean ranks of systems, and which of them do not differ."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.league.standings import Standings, cliques, critical_difference
from benchmarks.league.systems import DEFAULT, OURS

OUR_COLOR, OTHER_COLOR, RULE_COLOR = "#2f6bdb", "#24292f", "#8c959f"
ROW = 0.26
"""Height of a name, in inches."""


def plot_ranks(table: Standings, title: str, file: Path) -> None:
    """Save the diagram of mean ranks, the best on the left.

    Bars connect systems whose mean ranks differ by less than the critical difference. Names of our
    systems are blue, that of our default is bold.
    """
    from matplotlib.figure import Figure

    order = np.argsort(table.ranks.mean(axis=0), kind="stable")
    ranks = table.ranks.mean(axis=0)[order]
    names = [table.systems[i] for i in order]
    difference = critical_difference(len(names), len(table.sets))
    groups = cliques(ranks, difference)
    n_left = (len(names) + 1) // 2
    first_name = 0.55 + 0.16 * len(groups)  # names begin below the bars
    bottom = first_name + ROW * n_left
    figure = Figure(figsize=(9.0, bottom + 0.95), dpi=150)
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    low, high = 1.0, float(len(names))
    margin = 0.42 * (high - low)
    axes.set(xlim=(low - margin, high + margin), ylim=(bottom + 0.1, -0.85))
    axes.axis("off")
    axes.text((low + high) / 2, -0.62, title, ha="center", fontsize=11)
    _draw_axis(axes, int(high), difference)
    for at, (first, last) in enumerate(groups):
        y = 0.3 + 0.16 * at
        pad = 0.004 * (high - low)
        span = [ranks[first] - pad, ranks[last] + pad]
        axes.plot(span, [y, y], color=RULE_COLOR, lw=4, solid_capstyle="butt")
    for at, (name, rank) in enumerate(zip(names, ranks, strict=True)):
        is_left = at < n_left
        y = first_name + ROW * (at if is_left else len(names) - 1 - at)
        edge = low - 0.02 * margin if is_left else high + 0.02 * margin
        color = OUR_COLOR if name in OURS else OTHER_COLOR
        axes.plot([rank, rank, edge], [0, y, y], color=color, lw=0.9)
        axes.text(
            edge,
            y,
            f"{name}  {rank:.1f} " if is_left else f" {rank:.1f}  {name}",
            **{"ha": "right" if is_left else "left", "va": "center", "fontsize": 9},
            color=color,
            fontweight="bold" if name == DEFAULT else "normal",
        )
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file)


def _draw_axis(axes: Any, n_systems: int, difference: float) -> None:
    """Draw the axis of ranks, and the critical difference above it."""
    axes.plot([1, n_systems], [0, 0], color="black", lw=1)
    for rank in range(1, n_systems + 1):
        axes.plot([rank, rank], [-0.06, 0], color="black", lw=1)
        axes.text(rank, -0.1, str(rank), ha="center", va="bottom", fontsize=8)
    shown = min(difference, n_systems - 1)
    axes.plot([1, 1 + shown], [-0.4, -0.4], color=RULE_COLOR, lw=4, solid_capstyle="butt")
    text = f" critical difference {difference:.1f}"
    axes.text(1 + shown, -0.4, text, va="center", fontsize=8)
