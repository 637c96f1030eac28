"""The differences between soft and hard labels as a picture."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from reproduction.drawing import legend_below, new_figure
from reproduction.soft_labels.claims import PairedTest

COLORS = ("#c8102e", "#e8871e", "#2f6db3", "#2c8c5a")


def draw_soft_labels(tests: Sequence[PairedTest]) -> Any:
    """Return the mean differences of soft and hard labels, with bars of two standard errors."""
    methods = list(dict.fromkeys(test.method for test in tests))
    groups = list(dict.fromkeys(test.group for test in tests))
    figure = new_figure(1.4 + 0.45 * len(groups))
    ax = figure.subplots()
    for number, method in enumerate(methods):
        groups_of_method = [test for test in tests if test.method == method]
        shift = 0.18 * (number - (len(methods) - 1) / 2)
        places = [groups.index(test.group) + shift for test in groups_of_method]
        ax.errorbar(
            [test.difference for test in groups_of_method],
            places,
            xerr=[2 * test.standard_error for test in groups_of_method],
            fmt="o",
            capsize=3,
            color=COLORS[number % len(COLORS)],
            label=method,
        )
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(groups)), [_group_name(group) for group in groups])
    ax.invert_yaxis()
    ax.set_xlabel("error with soft labels minus error with hard labels [points]; left is better")
    ax.grid(visible=True, axis="x", color="0.9")
    legend_below(figure, ax.containers, columns=4)
    return figure


def _group_name(group: str) -> str:
    return f"{group} of labels" if group.endswith("%") else f"{group} pairs"
