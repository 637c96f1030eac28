"""The scikit-learn face: classifiers for partly labeled data."""

from graphmargin.estimators.harmonic_classifier import HarmonicClassifier
from graphmargin.estimators.max_margin_graph_cut import MaxMarginGraphCut

__all__ = ["HarmonicClassifier", "MaxMarginGraphCut"]
