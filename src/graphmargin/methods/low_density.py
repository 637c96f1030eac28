"""The semi-supervised SVM as a method: its margin avoids unlabeled rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Literal, Self

import numpy as np

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, blend_machines
from graphmargin.margin.s3vm_training import anneal_features, train_smooth
from graphmargin.margin.solvers import explicit_features, feature_precision
from graphmargin.margin.training import Approximation, choose_center
from graphmargin.methods.machines import calibrate_and_label, try_on_features
from graphmargin.search.choice import Choice
from graphmargin.search.data import TrainingData, sample_rows
from graphmargin.search.execution import machine_warnings
from graphmargin.search.member import DENSITY_GAP, PLANE, Candidate, FittedMember, Method
from graphmargin.search.parameters import (
    HAT_LOSS_GRID,
    Candidates,
    KernelParameters,
    c_grid,
    combinations,
)
from graphmargin.search.trials import Trials

MAX_HAT_LOSSES = 500
"""Largest number of unlabeled rows that trials learn from."""
N_TRIAL_LANDMARKS = 200
"""Number of landmarks in trials."""
TRIAL_TOLERANCES = 2e-3, 2e-2
"""Tolerances of the machines of trials, for their values of gamma_u, and in other stages."""


@dataclass(frozen=True, eq=False)
class LowDensity(Method):
    """``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u sum_{i in u} V^(f, x_i)``.

    V^ is the hat loss ``max(1 - abs(f(x_i)), 0)`` (eq. S3VM); machines minimize a smooth objective
    (`train_smooth`).

    Attributes
    ----------
    kernel : KernelParameters
    gamma_u, C : tuple of float or None
    class_prior : array of shape (c,) or None
        Shares of the classes among the unlabeled rows, which fix the mean of f.
    approximation : {"auto", "none", "nystroem"}
    """

    kernel: KernelParameters
    gamma_u: Candidates = None
    C: Candidates = None
    class_prior: FloatArray | None = None
    approximation: Approximation = "auto"

    @classmethod
    def auto(cls, labels: EncodedLabels, kernel: Literal["rbf", "linear"]) -> Self:
        """Return the method with chosen parameters, and the class shares of the labels."""
        return cls(KernelParameters(Kernel(kernel)), class_prior=label_shares(labels))

    @property
    def assumption(self) -> str:
        """A gap in the density separates the classes, or a plane."""
        return PLANE if self.kernel.kernel.kind == "linear" else DENSITY_GAP

    @property
    def needs_held_out(self) -> bool:
        """True, because class shares that come from a label or two may be far off."""
        return True

    def candidates(self, data: TrainingData) -> list[Candidate]:
        """Return all combinations of gamma_u and C; gamma_u = 0 is supervised."""
        kernel = data.kernel(self.kernel)
        return combinations(
            {
                "gamma_u": (self.gamma_u, lambda: HAT_LOSS_GRID),
                "C": (self.C, lambda: c_grid(data.X, kernel)),
            }
        )

    def try_(
        self, data: TrainingData, candidates: list[Candidate], progress: ProgressCallback | None
    ) -> Trials:
        """Return the predictions of all candidates for the held-out labels.

        All folds and candidates share their features, with at most 200 landmarks, and those with
        the same C the path of growing gamma_u. The row of a held-out label is one more unlabeled
        row. If there are more than 1,000 labeled or 500 unlabeled rows, machines learn from a
        random sample, whose hat losses are weighted to represent all unlabeled rows.
        """
        labels, kernel = data.labels, data.kernel(self.kernel)
        random = check_random_state(data.execution.seed)
        rows, _ = sample_rows(labels.codes, random, MAX_HAT_LOSSES)
        points = kernel.select_rows(data.X, rows)
        labeled = np.flatnonzero(labels.labeled[rows])
        center = choose_center(points, kernel)
        feature_map = explicit_features(points, labeled, kernel, N_TRIAL_LANDMARKS, center, random)
        F = feature_map.transform_rows(
            points,
            np.arange(len(rows)),
            n_jobs=data.execution.n_jobs,
            dtype=feature_precision(kernel),
        )
        validation = data.validation
        if validation is not None:
            new, codes = validation
            new = feature_map(new[:, rows] if kernel.kind == "precomputed" else new)
            validation = new, codes
        n_left_out = int((~labels.labeled).sum()) - (len(rows) - len(labeled))
        train = partial(self._train_on_fold, data, F, n_left_out, candidates)
        return try_on_features(data, candidates, train, F, rows, validation, progress)

    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the blend of the chosen candidates, trained on all rows."""
        chosen = [choice.trials.params[i] for i, _ in choice.blended]
        stage = f"semi-supervised SVM on {data.X.shape[0]:,} points"
        with report_stage(stage, data.execution.verbose):
            trained = train_smooth(
                data.X,
                data.labels.codes,
                data.kernel(self.kernel),
                C=[float(candidate["C"]) for candidate in chosen],
                gamma_us=[float(candidate["gamma_u"]) for candidate in chosen],
                class_weight=data.class_weight,
                class_prior=self.class_prior,
                approximation=self.approximation,
                n_jobs=data.execution.n_jobs,
                random_state=data.execution.seed,
            )
        machine = blend_machines(trained, [factor for _, factor in choice.blended])
        warnings = machine_warnings(trained)
        return calibrate_and_label(data, machine, choice, warnings, details=self.class_prior)

    def _train_on_fold(
        self,
        data: TrainingData,
        F: FloatArray,
        n_left_out: int,
        candidates: Sequence[Candidate],
        codes: IntArray,
    ) -> list[MarginMachine]:
        """Return the machines of all candidates on the labels that a fold keeps.

        The hat losses of the sampled rows are weighted to represent `n_left_out` more rows.
        """
        n_unlabeled, n_classes = int((codes == UNLABELED).sum()), int(codes.max()) + 1
        factor = 1 + n_left_out / max(1, n_unlabeled)
        C = [float(candidate["C"]) for candidate in candidates]
        functions = anneal_features(
            F,
            codes,
            C=C,
            gamma_us=[factor * float(candidate["gamma_u"]) for candidate in candidates],
            class_weight=data.class_weight,
            class_prior=self.class_prior,
            tolerances=TRIAL_TOLERANCES,
            n_jobs=1,
        )
        return [
            MarginMachine(
                Kernel("linear"),
                None,
                function.weights,
                function.intercepts,
                n_classes,
                0.0,
                TrainingReport("L-BFGS", value, len(F), form="rows"),
            )
            for value, function in zip(C, functions, strict=True)
        ]


def label_shares(labels: EncodedLabels) -> FloatArray:
    """Return the class shares of the labels with one label more in each class.

    This is their posterior mean under a uniform prior.
    """
    counts = labels.one_hot.sum(axis=0) + 1.0
    return np.asarray(counts / counts.sum())
