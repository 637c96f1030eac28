"""The picture of `graphmargin demo`: few labels, and the labels that were predicted from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphmargin._typing import BoolArray
from graphmargin.labeling.example_tables import LABELS_PER_CLASS, SHOWN_COLUMNS, DemoComparison
from graphmargin.plotting._matplotlib import LEGEND_SIZE, NO_CLASS_COLOR, new_figure

STYLES = (("#0072b2", "o"), ("#e69f00", "s"), ("#009e73", "^"))
"""Color and marker of each species; color-blind people can tell these colors apart."""


def demo_figure(comparison: DemoComparison) -> Any:
    """Return a figure of two panels: the given labels, and all labels with the wrong ones marked.

    Raises
    ------
    ImportError
        If matplotlib is not installed; the message names the extra.
    """
    figure = new_figure((10.5, 4.6))
    left, right = figure.subplots(1, 2, sharex=True, sharey=True)
    is_given, is_wrong = comparison.is_given, comparison.is_wrong
    left.scatter(*comparison.points[~is_given].T, s=14, color=NO_CLASS_COLOR, label="no label")
    _draw_labels(left, comparison, is_given, size=70)
    left.set_title(f"{is_given.sum()} labels are given, {LABELS_PER_CLASS} of each species")
    _draw_labels(right, comparison, ~is_given, size=24)
    right.scatter(
        *comparison.points[is_wrong].T,
        s=110,
        facecolors="none",
        edgecolors="black",
        linewidths=1.2,
        label="wrong",
    )
    ours, *others = [f"{name} {error:.1%}" for name, error in comparison.errors.items()]
    right.set_title(
        f"{comparison.n_unlabeled} labels are predicted; errors: {ours},\n{', '.join(others)}",
    )
    for axes in (left, right):
        axes.set_xlabel(_axis_name(SHOWN_COLUMNS[0]))
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(frameon=False, fontsize=LEGEND_SIZE, loc="upper left")
    left.set_ylabel(_axis_name(SHOWN_COLUMNS[1]))
    n_missing = int(np.isnan(comparison.points).any(axis=1).sum())
    figure.supxlabel(f"{n_missing} penguins without these measurements are not drawn", fontsize=8)
    return figure


def _draw_labels(axes: Any, comparison: DemoComparison, rows: BoolArray, size: float) -> None:
    for name, (color, marker) in zip(np.unique(comparison.truth), STYLES, strict=True):
        members = rows & (comparison.labels == name)
        axes.scatter(
            *comparison.points[members].T,
            s=size,
            color=color,
            marker=marker,
            edgecolors="white",
            linewidths=0.4,
            label=str(name),
        )


def _axis_name(column: str) -> str:
    *words, unit = column.split("_")
    return f"{' '.join(words)} [{unit}]"
