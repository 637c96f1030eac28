"""Displays of fitted classifiers, in the style of scikit-learn.

``from_estimator`` and ``from_predictions`` compute, and ``plot`` draws into given axes, or into new
ones of pyplot. matplotlib is imported when a display is drawn.
"""

from graphmargin.plotting.confidence_curves import (
    ReliabilityCurve,
    RiskCoverageCurve,
    reliability_curve,
    risk_coverage_curve,
)
from graphmargin.plotting.confidence_display import ConfidenceDisplay
from graphmargin.plotting.cut_display import CutDisplay
from graphmargin.plotting.gamma_path_display import GammaPathDisplay
from graphmargin.plotting.harmonic_display import HarmonicDisplay
from graphmargin.plotting.reliability_display import ReliabilityDisplay
from graphmargin.plotting.risk_coverage_display import RiskCoverageDisplay

__all__ = [
    "ConfidenceDisplay",
    "CutDisplay",
    "GammaPathDisplay",
    "HarmonicDisplay",
    "ReliabilityCurve",
    "ReliabilityDisplay",
    "RiskCoverageCurve",
    "RiskCoverageDisplay",
    "reliability_curve",
    "risk_coverage_curve",
]
