"""The manifold-regularized SVM as a method: a function that is smooth along the graph."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Literal, Self

import numpy as np

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._typing import BoolArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, blend_machines
from graphmargin.margin.manifold import WarpedFeatures, train_manifold, warp_features
from graphmargin.margin.training import Approximation
from graphmargin.methods.harmonic import GraphDetails, default_walk
from graphmargin.methods.machines import calibrate_and_label, try_on_features
from graphmargin.search.choice import Choice
from graphmargin.search.data import TrainingData, sample_rows
from graphmargin.search.execution import machine_warnings
from graphmargin.search.member import PLANE, SMOOTH, Candidate, FittedMember, Method
from graphmargin.search.parameters import (
    Candidates,
    GraphParameters,
    KernelParameters,
    c_grid,
    combinations,
    gamma_u_grid,
)
from graphmargin.search.trials import Trials


@dataclass(frozen=True)
class Manifold(Method):
    """``min_f sum_{i in l} V(f, x_i, y_i) + gamma norm(f)_K^2 + gamma_u f'Lf``.

    Attributes
    ----------
    graph : GraphParameters or None
        None if the graph is given.
    kernel : KernelParameters
    gamma_u, C : tuple of float or None
    laplacian_power : int
    normalized, fit_intercept : bool
    approximation : {"auto", "none", "nystroem"}
    """

    graph: GraphParameters | None
    kernel: KernelParameters
    gamma_u: Candidates = None
    C: Candidates = None
    laplacian_power: int = 1
    normalized: bool = False
    fit_intercept: bool = True
    approximation: Approximation = "auto"

    @classmethod
    def auto(cls, labels: EncodedLabels, kernel: Literal["rbf", "linear"]) -> Self:
        """Return the method with chosen parameters."""
        return cls(default_walk(labels).graph, KernelParameters(Kernel(kernel)))

    def on_given_graph(self) -> Self:
        """Return the method on the graph that is given to `fit`, in place of a k-NN graph."""
        return replace(self, graph=None)

    @property
    def assumption(self) -> str:
        """Classes change slowly along the graph, or a plane separates them."""
        return PLANE if self.kernel.kernel.kind == "linear" else SMOOTH

    def candidates(self, data: TrainingData) -> list[Candidate]:
        """Return all combinations of gamma_u and C; gamma_u = 0 is supervised."""
        kernel = data.kernel(self.kernel, self.graph)
        return combinations(
            {
                "gamma_u": (self.gamma_u, lambda: gamma_u_grid(data.X.shape[0])),
                "C": (self.C, lambda: c_grid(data.X, kernel)),
            }
        )

    def try_(
        self, data: TrainingData, candidates: list[Candidate], progress: ProgressCallback | None
    ) -> Trials:
        """Return the predictions of all candidates for the held-out labels.

        The graph does not depend on the labels. It warps the features of
        ``approximation="nystroem"`` once, and every fold and candidate then takes a small machine
        on the remaining labels. If there are more than 1,000 labeled rows, machines learn from and
        are tested on a random sample.
        """
        labels = data.labels
        labeled = np.flatnonzero(labels.labeled)
        features = warp_features(
            data.X,
            labeled,
            data.kernel(self.kernel, self.graph),
            data.edges(self.graph),
            normalized=self.normalized,
            power=self.laplacian_power,
            fit_intercept=self.fit_intercept,
            n_jobs=data.execution.n_jobs,
            random_state=data.execution.seed,
        )
        rows, _ = sample_rows(labels.codes, check_random_state(data.execution.seed))
        features = replace(features, rotated=features.rotated[np.isin(labeled, rows)])
        train = partial(self._train_on_fold, data, features, labels.labeled[rows], candidates)
        points, validation = data.X[rows], data.validation
        return try_on_features(data, candidates, train, points, rows, validation, progress)

    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the blend of the chosen candidates, trained on all rows."""
        chosen = [choice.trials.params[i] for i, _ in choice.blended]
        stage = f"manifold-regularized SVM on {data.X.shape[0]:,} points"
        with report_stage(stage, data.execution.verbose):
            trained = train_manifold(
                data.X,
                data.labels.codes,
                data.kernel(self.kernel, self.graph),
                data.edges(self.graph),
                C=[float(candidate["C"]) for candidate in chosen],
                gamma_us=[candidate["gamma_u"] for candidate in chosen],
                class_weight=data.class_weight,
                normalized=self.normalized,
                power=self.laplacian_power,
                fit_intercept=self.fit_intercept,
                approximation=self.approximation,
                n_jobs=data.execution.n_jobs,
                random_state=data.execution.seed,
            )
        machine = blend_machines(trained, [factor for _, factor in choice.blended])
        details = GraphDetails(data.edges(self.graph), data.recall(self.graph))
        warnings = machine_warnings(trained)
        return calibrate_and_label(data, machine, choice, warnings, details=details)

    def _train_on_fold(
        self,
        data: TrainingData,
        features: WarpedFeatures,
        labeled: BoolArray,
        candidates: Sequence[Candidate],
        codes: IntArray,
    ) -> list[MarginMachine]:
        """Return the machines of all candidates on the labels that a fold keeps."""
        labeled_codes = codes[labeled]
        kept = labeled_codes != UNLABELED
        features = replace(features, rotated=features.rotated[kept])
        return [
            features.train(
                2 * float(candidate["C"]) * candidate["gamma_u"],
                labeled_codes[kept],
                float(candidate["C"]),
                self.fit_intercept,
                n_jobs=1,
                class_weight=data.class_weight,
            )
            for candidate in candidates
        ]
