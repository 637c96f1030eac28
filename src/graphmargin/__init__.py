"""Semi-supervised learning with max-margin graph cuts: a lot of data, very few labels.

>>> import graphmargin as gm
>>> X, y = gm.datasets.load_digits()
>>> few = gm.datasets.mask_labels(y, per_class=5, random_state=0)
>>> model = gm.MaxMarginGraphCut().fit(X, few)
>>> bool((model.transduction_ == y).mean() > 0.9)
True
"""

from graphmargin import datasets, theory
from graphmargin.estimators import (
    HarmonicClassifier,
    HarmonicClassifierCV,
    ManifoldSVC,
    ManifoldSVCCV,
    MaxMarginGraphCut,
    MaxMarginGraphCutCV,
    SemiSupervisedSVC,
    SemiSupervisedSVCCV,
    SupervisedSVC,
)
from graphmargin.graph import components, knn_graph, laplacian
from graphmargin.harmonic import (
    HarmonicSolution,
    harmonic_path,
    harmonic_solution,
    label_suspicion,
    leave_one_out,
    normalize_class_mass,
)
from graphmargin.selection import LabeledKFold, LabeledLeaveOneOut, graph_report

__all__ = [
    "HarmonicClassifier",
    "HarmonicClassifierCV",
    "HarmonicSolution",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "ManifoldSVC",
    "ManifoldSVCCV",
    "MaxMarginGraphCut",
    "MaxMarginGraphCutCV",
    "SemiSupervisedSVC",
    "SemiSupervisedSVCCV",
    "SupervisedSVC",
    "components",
    "datasets",
    "graph_report",
    "harmonic_path",
    "harmonic_solution",
    "knn_graph",
    "label_suspicion",
    "laplacian",
    "leave_one_out",
    "normalize_class_mass",
    "theory",
]

__version__ = "0.1.0"
