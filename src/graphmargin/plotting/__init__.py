"""Figures from records: what experiments have computed is drawn here, and nothing is fitted.

Functions return `matplotlib.figure.Figure` objects without pyplot, so that no global state changes
and no window opens. matplotlib is imported when the first figure is made.
"""

from graphmargin.plotting.lattices import draw_figure1, draw_figure2
from graphmargin.plotting.table import draw_errors, draw_soft_labels
from graphmargin.plotting.thresholds import draw_figure3

__all__ = ["draw_errors", "draw_figure1", "draw_figure2", "draw_figure3", "draw_soft_labels"]
