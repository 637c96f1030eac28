"""The optional import of matplotlib, and what all figures share."""

from __future__ import annotations

from typing import Any

import numpy as np

PINK, BLUE, YELLOW = "#f4b3c6", "#a8c8ee", "#fbeea0"
RED_DOT, BLUE_DOT = "#c8102e", "#1f4fa3"
UNSURE = 0.05
"""Values closer to zero are yellow."""
LEGEND_SIZE = 9
PAGE_INCHES = 11.0
"""Width of a figure: 1100 pixels at 100 dots per inch."""


def new_figure(height: float, width: float = PAGE_INCHES) -> Any:
    """Return an empty figure, or say what to install."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        msg = "figures need matplotlib; run `pip install graphmargin[cli]`"
        raise ImportError(msg) from error
    return Figure(figsize=(width, height), dpi=100, layout="constrained")


def fill_signs(ax: Any, x1: Any, x2: Any, values: Any) -> None:
    """Color the plane: pink above zero, blue below, yellow where the values are near zero."""
    end = 1 + float(np.abs(values).max())
    ax.contourf(x1, x2, values, levels=[-end, -UNSURE, UNSURE, end], colors=[BLUE, YELLOW, PINK])


def sign_legend(figure: Any, name: str, extra: Any = ()) -> None:
    """Explain the colors below all panels; `name` is the function that is shown, as mathtext."""
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=PINK, label=f"${name} > 0$"),
        Patch(facecolor=BLUE, label=f"${name} < 0$"),
        Patch(facecolor=YELLOW, label=f"$|{name}| < {UNSURE}$"),
        *extra,
    ]
    figure.legend(
        handles=handles,
        loc="outside lower center",
        ncols=len(handles),
        frameon=False,
        fontsize=LEGEND_SIZE,
    )


def label_dots(ax: Any, labeled: Any, size: float) -> None:
    """Draw labeled vertices, given as (x1, x2, sign): red for +1, blue for -1."""
    for x1, x2, sign in labeled:
        color = RED_DOT if sign > 0 else BLUE_DOT
        ax.plot([x1], [x2], "o", color=color, markeredgecolor="white", markersize=size, zorder=5)
