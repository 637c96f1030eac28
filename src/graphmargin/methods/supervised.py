"""The supervised SVM: a max-margin machine on the labeled rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from graphmargin._typing import ProgressCallback
from graphmargin.labels import EncodedLabels
from graphmargin.margin.induced import supervised_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.training import Approximation
from graphmargin.methods.machines import (
    blend_on_rows,
    calibrate_and_label,
    labels_of_trial,
    try_on_kernel,
)
from graphmargin.search.choice import Choice
from graphmargin.search.data import InducedKey, TrainingData
from graphmargin.search.execution import machine_warnings
from graphmargin.search.held_out import NOTHING_HELD_OUT
from graphmargin.search.member import LABELS_ALONE, PLANE, Candidate, FittedMember, Method
from graphmargin.search.parameters import Candidates, KernelParameters, c_grid, combinations
from graphmargin.search.trials import Trials

GIVEN: InducedKey = (np.inf, False)
"""The key of labels that no graph induces."""


@dataclass(frozen=True)
class Supervised(Method):
    """``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2``, with ``C = 1 / (2 gamma)``.

    Attributes
    ----------
    kernel : KernelParameters
    C : tuple of float or None
    approximation : {"auto", "none", "nystroem"}
    """

    kernel: KernelParameters
    C: Candidates = None
    approximation: Approximation = "auto"

    @classmethod
    def auto(cls, labels: EncodedLabels, kernel: Literal["rbf", "linear"]) -> Self:  # noqa: ARG003
        """Return the method with chosen parameters."""
        return cls(KernelParameters(Kernel(kernel)))

    @property
    def assumption(self) -> str:
        """A plane separates the classes, or labels alone tell them."""
        return PLANE if self.kernel.kernel.kind == "linear" else LABELS_ALONE

    @property
    def needs_held_out(self) -> bool:
        """True for a plane, which nothing supports if no label can be held out."""
        return self.kernel.kernel.kind == "linear"

    def candidates(self, data: TrainingData) -> list[Candidate]:
        """Return the values of C."""
        kernel = data.kernel(self.kernel)
        return combinations({"C": (self.C, lambda: c_grid(data.X, kernel))})

    def try_(
        self,
        data: TrainingData,
        candidates: list[Candidate],
        progress: ProgressCallback | None,  # noqa: ARG002 - machines on labeled rows are quick
    ) -> Trials:
        """Return the predictions of machines on a sample of the rows for the held-out labels."""
        trial = data.trial()
        learned = []
        for fold in (NOTHING_HELD_OUT, *trial.folds):
            kept = trial.labels.without(fold)
            given = supervised_labels(EncodedLabels(kept.classes, kept.codes[trial.learned]))
            learned.append({GIVEN: labels_of_trial(data, trial, given)})
        keys = [GIVEN] * len(candidates)
        return try_on_kernel(data, trial, data.kernel(self.kernel), candidates, keys, learned)

    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the blend of the chosen machines."""
        given = supervised_labels(data.labels).weighted_by_class(data.class_weight)
        machine, trained = blend_on_rows(
            data,
            data.kernel(self.kernel),
            self.approximation,
            choice,
            lambda _: given,
            stage=f"max-margin classifier on {np.count_nonzero(given.mask):,} points",
        )
        return calibrate_and_label(data, machine, choice, machine_warnings(trained))
