"""Figure 4: test errors by the share of labels, ours and those that are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphmargin.experiments.paper.methods import GC_AUTO, HARMONIC, S3VM
from graphmargin.experiments.paper.published import GC, KERNELS, MR, PERCENT, SVM, Setting
from graphmargin.experiments.paper.soft_labels import PairedTest
from graphmargin.experiments.paper.summaries import Means, error_of, published
from graphmargin.plotting._matplotlib import LEGEND_SIZE, new_figure

COLORS = {
    SVM: "#7f7f7f",
    MR: "#2f6db3",
    GC: "#c8102e",
    GC_AUTO: "#e8871e",
    S3VM: "#6a4ca3",
    HARMONIC: "#2c8c5a",
}
SOFT_COLORS = ("#c8102e", "#e8871e", "#2f6db3", "#2c8c5a")
PUBLISHED_STYLE = {"linestyle": ":", "marker": "o", "markerfacecolor": "white", "markersize": 5}


def draw_errors(means: Means, tables: Sequence[str] = ("letter", "digits", "image")) -> Any:
    """Return a panel for each table and kernel; dotted lines with open circles are published.

    Parameters
    ----------
    means : mapping
        From `mean_errors`.
    tables : sequence of str
        A row of panels for each.

    Examples
    --------
    >>> from graphmargin.experiments.paper.summaries import MeanError
    >>> one = MeanError(10.0, 0.5, 10, 0)
    >>> means = {(("letter", L, kernel), "GC"): one for L in (1, 2, 5, 10) for kernel in KERNELS}
    >>> len(draw_errors(means, ["letter"]).axes)
    3
    """
    figure = new_figure(1.2 + 2.9 * len(tables))
    axes = figure.subplots(len(tables), len(KERNELS), sharex=True, sharey="row", squeeze=False)
    handles: dict[str, Any] = {}
    for name, line in zip(tables, axes, strict=True):
        for kernel, ax in zip(KERNELS, line, strict=True):
            settings = [(name, percent, kernel) for percent in PERCENT]
            for method, color in COLORS.items():
                handles |= _draw_method(ax, means, settings, method, color)
            ax.set_title(f"{name}, {kernel}", fontsize=10)
            ax.set_xscale("log")
            ax.set_xticks(PERCENT, [f"{percent} %" for percent in PERCENT])
            ax.minorticks_off()
            ax.grid(visible=True, color="0.9")
        line[0].set_ylabel("test error [%]")
        line[0].set_ylim(bottom=0)  # of all panels in the line, which are drawn by now
    for ax in axes[-1]:
        ax.set_xlabel("labeled training rows")
    figure.legend(
        handles=list(handles.values()),
        loc="outside lower center",
        ncols=5,
        frameon=False,
        fontsize=LEGEND_SIZE,
    )
    return figure


def draw_soft_labels(tests: Sequence[PairedTest]) -> Any:
    """Return the mean differences between soft and hard labels, with error bars.

    Examples
    --------
    >>> test = PairedTest("GC soft", "all", 91, -0.2, 0.1, 0.04, 50, 30, -900.0)
    >>> len(draw_soft_labels([test]).axes)
    1
    """
    methods = list(dict.fromkeys(test.method for test in tests))
    groups = list(dict.fromkeys(test.group for test in tests))
    figure = new_figure(1.4 + 0.45 * len(groups))
    ax = figure.subplots()
    for number, method in enumerate(methods):
        own = [test for test in tests if test.method == method]
        shift = 0.18 * (number - (len(methods) - 1) / 2)
        places = [groups.index(test.group) + shift for test in own]
        ax.errorbar(
            [test.difference for test in own],
            places,
            xerr=[2 * test.standard_error for test in own],
            fmt="o",
            capsize=3,
            color=SOFT_COLORS[number % len(SOFT_COLORS)],
            label=method,
        )
    ax.axvline(0, color="black", linewidth=0.8)
    ax.set_yticks(range(len(groups)), [_group_name(group) for group in groups])
    ax.invert_yaxis()
    ax.set_xlabel("error with soft labels minus error with hard labels [points]; left is better")
    ax.grid(visible=True, axis="x", color="0.9")
    figure.legend(loc="outside lower center", ncols=4, frameon=False, fontsize=LEGEND_SIZE)
    return figure


def _group_name(group: str) -> str:
    return f"{group} of labels" if group.endswith("%") else f"{group} pairs"


def _draw_method(
    ax: Any, means: Means, settings: Sequence[Setting], method: str, color: str
) -> dict[str, Any]:
    """Draw a method as we found it, with error bars, and as it is published; return handles."""
    handles = {}
    found = [error_of(means, setting, method) for setting in settings]
    if any(found):
        handles[method] = ax.errorbar(
            PERCENT,
            [np.nan if one is None else one.mean for one in found],
            yerr=[0 if one is None else np.nan_to_num(one.standard_error) for one in found],
            color=color,
            marker="o",
            markersize=4,
            label=method,
        )
    known = [published(setting, method) for setting in settings]
    if None not in known:
        (line,) = ax.plot(
            PERCENT, known, color=color, label=f"{method}, published", **PUBLISHED_STYLE
        )
        handles[f"{method}, published"] = line
    return handles
