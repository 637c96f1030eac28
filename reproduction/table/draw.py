"""Figure 4: test errors by the share of labels, ours and those that are published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from reproduction.drawing import legend_below, new_figure
from reproduction.pairs.errors import Means, error_of, published
from reproduction.pairs.methods import GC_ALL, GC_AUTO, GC_WIDE, HARMONIC, S3VM
from reproduction.pairs.splits import TABLES
from reproduction.published import GC, KERNELS, MR, PERCENT, SVM, TableSetting

COLORS = {
    SVM: "#7f7f7f",
    MR: "#2f6db3",
    GC: "#c8102e",
    GC_AUTO: "#e8871e",
    GC_WIDE: "#8c564b",
    GC_ALL: "#111111",
    S3VM: "#6a4ca3",
    HARMONIC: "#2c8c5a",
}
PUBLISHED_STYLE = {"linestyle": ":", "marker": "o", "markerfacecolor": "white", "markersize": 5}


def draw_errors(means: Means, tables: Sequence[str] = TABLES) -> Any:
    """Return a panel for each table and kernel; dotted lines with open circles are published."""
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
    legend_below(figure, list(handles.values()), columns=5)
    return figure


def _draw_method(
    ax: Any, means: Means, settings: Sequence[TableSetting], method: str, color: str
) -> dict[str, Any]:
    """Draw our errors of a method, with bars, and the published ones; return the handles."""
    handles = {}
    errors = [error_of(means, setting, method) for setting in settings]
    if any(errors):
        handles[method] = ax.errorbar(
            PERCENT,
            [np.nan if error is None else error.mean for error in errors],
            yerr=[0 if error is None else np.nan_to_num(error.standard_error) for error in errors],
            color=color,
            marker="o",
            markersize=4,
            label=method,
        )
    published_errors = [published(setting, method) for setting in settings]
    if None not in published_errors:
        (line,) = ax.plot(
            PERCENT, published_errors, color=color, label=f"{method}, published", **PUBLISHED_STYLE
        )
        handles[f"{method}, published"] = line
    return handles
