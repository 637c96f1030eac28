"""Semi-supervised learning with max-margin graph cuts: a lot of data, very few labels.

>>> import graphmargin as gm
>>> X, y = gm.datasets.load_digits()
>>> few = gm.datasets.mask_labels(y, per_class=5, random_state=0)
>>> model = gm.MaxMarginGraphCut().fit(X, few)
>>> bool((model.transduction_ == y).mean() > 0.9)
True
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphmargin import datasets, theory
    from graphmargin.estimators import (
        HarmonicClassifier,
        ManifoldSVC,
        MaxMarginGraphCut,
        SemiSupervisedEnsemble,
        SemiSupervisedSVC,
        SupervisedSVC,
    )
    from graphmargin.graph import components, knn_graph, laplacian
    from graphmargin.harmonic import (
        HarmonicSolution,
        Suggestions,
        harmonic_path,
        harmonic_solution,
        leave_one_out,
        normalize_class_mass,
        suggest_labels,
    )
    from graphmargin.labeling import LabeledTable, label_table
    from graphmargin.models import load_model, model_info, save_model
    from graphmargin.reports import graph_report
    from graphmargin.search import LabeledKFold, LabeledLeaveOneOut

__all__ = [
    "HarmonicClassifier",
    "HarmonicSolution",
    "LabeledKFold",
    "LabeledLeaveOneOut",
    "LabeledTable",
    "ManifoldSVC",
    "MaxMarginGraphCut",
    "SemiSupervisedEnsemble",
    "SemiSupervisedSVC",
    "Suggestions",
    "SupervisedSVC",
    "components",
    "datasets",
    "graph_report",
    "harmonic_path",
    "harmonic_solution",
    "knn_graph",
    "label_table",
    "laplacian",
    "leave_one_out",
    "load_model",
    "model_info",
    "normalize_class_mass",
    "save_model",
    "suggest_labels",
    "theory",
]

__version__ = "0.1.0"

_PUBLIC_PACKAGES = (
    *("estimators", "graph", "harmonic", "search", "reports", "models", "labeling"),
)
"""Packages whose public names are exported here."""
_PACKAGES = ("datasets", "theory")
"""Packages that are exported as a whole."""


def __getattr__(name: str) -> Any:
    """Import a public name when it is first used, because imports take seconds."""
    if name not in __all__:
        msg = f"module 'graphmargin' has no attribute {name!r}"
        raise AttributeError(msg)
    if name in _PACKAGES:
        return import_module(f"graphmargin.{name}")
    packages = (import_module(f"graphmargin.{package}") for package in _PUBLIC_PACKAGES)
    return next(getattr(package, name) for package in packages if name in package.__all__)


def __dir__() -> list[str]:
    """Return the public names."""
    return [*__all__, "__version__"]
