"""The size and the legend that all figures of the page share."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

LEGEND_SIZE = 9
PAGE_INCHES = 11.0
"""Width of a figure: 1100 pixels at 100 dots per inch."""


def new_figure(height: float) -> Any:
    """Return an empty figure as wide as the page; pyplot, and so any global state, is not used."""
    return Figure(figsize=(PAGE_INCHES, height), dpi=100, layout="constrained")


def legend_below(figure: Any, handles: Any, columns: int, size: float = LEGEND_SIZE) -> None:
    """Explain lines and colors below all panels."""
    figure.legend(
        handles=handles, loc="outside lower center", ncols=columns, frameon=False, fontsize=size
    )
