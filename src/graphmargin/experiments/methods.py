"""The classifiers that the experiments compare."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SupervisedSVC,
)
from graphmargin.graph.weights import kernel_width

Method: TypeAlias = Callable[[Any, int], Any]
"""From training rows and a seed to a classifier, which is fitted to labels with -1 for none."""
Methods: TypeAlias = Mapping[str, Method]

SUPERVISED = "supervised SVM"
CUT = "cut"
AUTO: Any = "auto"


def self_training(X: Any, seed: int) -> Any:
    """Return scikit-learn's self-training of an SVM, with its defaults for the best rows to add.

    These are ten rows in each of ten rounds; a threshold would ask for probabilities that one
    label a class cannot give. All rows decide the width of the kernel, as for the other methods.
    """
    machine = SupervisedSVC(C=10.0, width=kernel_width(X, "paper"), n_jobs=1, random_state=seed)
    return SelfTrainingClassifier(machine, criterion="k_best")


METHODS: Methods = {
    SUPERVISED: lambda _, seed: SupervisedSVC(C=AUTO, n_jobs=1, random_state=seed),
    "LabelSpreading": lambda _, __: LabelSpreading(kernel="knn", n_jobs=1),
    "SelfTraining": self_training,
    "HarmonicClassifier": lambda _, seed: HarmonicClassifier(
        gamma_g=AUTO, n_jobs=1, random_state=seed
    ),
    "ManifoldSVC": lambda _, seed: ManifoldSVC(gamma_u=AUTO, C=AUTO, n_jobs=1, random_state=seed),
    CUT: lambda _, seed: MaxMarginGraphCut(n_jobs=1, random_state=seed),
}
"""The SVM on the labeled rows, and all who claim to do better with the unlabeled ones."""
