"""Displays of fitted classifiers; nothing is fitted here.

Displays are made as in scikit-learn: ``from_estimator`` computes, ``plot`` draws into given axes,
or into new ones of pyplot. matplotlib is imported when something is drawn.
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
