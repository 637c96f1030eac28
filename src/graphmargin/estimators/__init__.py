"""Classifiers for partly labeled data, with the interface of scikit-learn."""

from graphmargin.estimators.harmonic_classifier import HarmonicClassifier
from graphmargin.estimators.manifold_svc import ManifoldSVC
from graphmargin.estimators.max_margin_graph_cut import MaxMarginGraphCut
from graphmargin.estimators.semi_supervised_ensemble import SemiSupervisedEnsemble
from graphmargin.estimators.semi_supervised_svc import SemiSupervisedSVC
from graphmargin.estimators.supervised_svc import SupervisedSVC

__all__ = [
    "HarmonicClassifier",
    "ManifoldSVC",
    "MaxMarginGraphCut",
    "SemiSupervisedEnsemble",
    "SemiSupervisedSVC",
    "SupervisedSVC",
]
