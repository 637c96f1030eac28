"""Displays of fitted classifiers, in the style of scikit-learn.

``from_estimator`` computes, and ``plot`` draws into given axes, or into new
ones of pyplot. matplotlib is imported when a display is drawn.
"""

from graphmargin.plotting.confidence_display import ConfidenceDisplay
from graphmargin.plotting.cut_display import CutDisplay
from graphmargin.plotting.gamma_path_display import GammaPathDisplay
from graphmargin.plotting.harmonic_display import HarmonicDisplay

__all__ = [
    "ConfidenceDisplay",
    "CutDisplay",
    "GammaPathDisplay",
    "HarmonicDisplay",
]
