"""Figures from records of experiments, and displays of fitted classifiers; nothing is fitted here.

Functions return `matplotlib.figure.Figure` objects without pyplot, so that no global state changes
and no window opens. Displays are made as in scikit-learn: ``from_estimator`` computes, ``plot``
draws into given axes, or into new ones of pyplot. matplotlib is imported when something is drawn.
"""

from graphmargin.plotting.confidence_display import ConfidenceDisplay
from graphmargin.plotting.cut_display import CutDisplay
from graphmargin.plotting.gamma_path_display import GammaPathDisplay
from graphmargin.plotting.harmonic_display import HarmonicDisplay
from graphmargin.plotting.lattices import draw_figure1, draw_figure2
from graphmargin.plotting.table import draw_errors, draw_soft_labels
from graphmargin.plotting.thresholds import draw_figure3

__all__ = [
    "ConfidenceDisplay",
    "CutDisplay",
    "GammaPathDisplay",
    "HarmonicDisplay",
    "draw_errors",
    "draw_figure1",
    "draw_figure2",
    "draw_figure3",
    "draw_soft_labels",
]
