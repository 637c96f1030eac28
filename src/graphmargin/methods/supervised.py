"""The supervised SVM: a max-margin machine on the labeled rows alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Self

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import ProgressCallback
from graphmargin.labels import EncodedLabels
from graphmargin.margin.induced import InducedLabels, supervised_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import blend_machines
from graphmargin.margin.pairs import MarginProblem
from graphmargin.margin.training import Approximation
from graphmargin.methods.machines import (
    blend_of_trials,
    calibrate_and_label,
    train_on_rows,
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
            given = _given(data, trial.labels.without(fold))
            codes = np.maximum(given.codes[trial.learned], 0)
            weights = given.weights[trial.learned] * trial.factors
            learned.append({GIVEN: InducedLabels(codes, weights)})
        keys = [GIVEN] * len(candidates)
        return try_on_kernel(data, trial, data.kernel(self.kernel), candidates, keys, learned)

    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the blend of the chosen machines."""
        kernel, given = data.kernel(self.kernel), _given(data, data.labels)
        tried = choice.trials.details
        if tried is not None and tried.has_all_rows:
            trained = [tried.machines[i] for i, _ in choice.blended]
            machine = blend_of_trials(data, kernel, choice)
        else:
            stage = f"max-margin classifier on {np.count_nonzero(given.mask):,} points"
            with report_stage(stage, data.execution.verbose) as progress:
                costs = [float(choice.trials.params[i]["C"]) for i, _ in choice.blended]
                problems = [MarginProblem(given.codes, given.weights, C) for C in costs]
                trained = train_on_rows(
                    data, problems, kernel, self.approximation, choice, progress
                )
            machine = blend_machines(trained, [factor for _, factor in choice.blended])
        return calibrate_and_label(data, machine, choice, machine_warnings(trained))


def _given(data: TrainingData, labels: EncodedLabels) -> InducedLabels:
    return supervised_labels(labels).weighted_by_class(data.class_weight)
