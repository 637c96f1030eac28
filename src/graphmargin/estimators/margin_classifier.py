"""What the max-margin classifiers share: kernels, training on some rows, predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_choice, check_real
from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray, FloatArray, IntArray, ProgressCallback
from graphmargin.estimators.choosing import ChoosingClassifier, Search
from graphmargin.graph.weights import kernel_width
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solve import confidence_of
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_calibration, probabilities
from graphmargin.margin.induced import InducedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, blend, winner
from graphmargin.margin.training import check_approximation, train_machine
from graphmargin.selection.choice import Choice, Trials
from graphmargin.selection.cut import CutTrials, cut_trials
from graphmargin.selection.grids import Hidden, is_auto

MAX_BLENDED = 4
"""Machines, at most, that are trained and blended where trials have seen a sample of the rows."""


class MarginClassifier(ChoosingClassifier):
    """Base of classifiers whose function is a max-margin machine."""

    predicting = (*ChoosingClassifier.predicting, "machine_", "_calibration")

    kernel: Any
    degree: int
    coef0: float
    width: Any
    C: Any
    approximation: Any
    machine_: MarginMachine
    _calibration: tuple[float, float]

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score a class."""
        check_is_fitted(self)
        return self.machine_.decision(self._validate_new(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        return self._decode(winner(self.decision_function(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, calibrated on what is known of the training rows."""
        return probabilities(self.decision_function(X), *self._calibration)

    def _predict_both(self, X: Any) -> tuple[AnyArray, FloatArray]:
        scores = self.decision_function(X)
        return self._decode(winner(scores)), probabilities(scores, *self._calibration)

    def _check_margin(self, X: Any) -> None:
        """Check the parameters of the machine, and X where it is a kernel matrix."""
        check_approximation(self.approximation, self.kernel)
        if not is_auto(self.C):
            check_real("C", self.C, positive=True, hint="; C = 1 / (2 gamma), or use 'auto'")
        if not self._is_pairwise():
            return
        if X.shape[0] != X.shape[1]:
            msg = f"`X` must be a square kernel matrix for kernel='precomputed', got {X.shape}"
            raise ValueError(msg)
        if abs(X - X.T).max() > 1e-6 * abs(X).max():
            msg = "`X` must be a symmetric kernel matrix for kernel='precomputed'"
            raise ValueError(msg)
        least = X.diagonal().min()
        if least < 0:
            msg = f"`X` must be a kernel matrix, with k(x, x) >= 0, got {least} on its diagonal"
            raise ValueError(msg)

    def _check_plain_width(self) -> None:
        """Refuse the widths that are those of edges, where there are none."""
        if isinstance(self.width, str):
            check_choice("width", self.width, ("paper",), " or a positive number")
        else:
            check_real("width", self.width, positive=True, hint="; use 'paper' or a number")

    def _kernel(self, X: Any, width: float | None = None) -> Kernel:
        """Return the kernel, of the width that all rows suggest unless it is known already."""
        kernel = Kernel(self.kernel, degree=self.degree, coef0=self.coef0)
        if self._is_pairwise() or callable(self.kernel):
            return kernel
        return replace(kernel, width=kernel_width(X, self.width) if width is None else width)

    def _train_on(
        self,
        X: Any,
        rows: IntArray,
        codes: IntArray,
        kernel: Kernel,
        C: float,
        *,
        sample_weight: FloatArray | None = None,
        center: FloatArray | float | None = None,
        progress: ProgressCallback | None = None,
    ) -> MarginMachine:
        """Return the machine on some rows of X, with a class code each."""
        points = X[rows]
        if kernel.kind == "precomputed":
            points = points[:, rows]
        machine = train_machine(
            points,
            codes,
            kernel,
            C=C,
            sample_weight=sample_weight,
            approximation=self.approximation,
            center=center,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=progress,
        )
        if kernel.kind == "precomputed":
            machine = replace(machine, vectors=rows[machine.vectors])
        return machine

    def _try_cuts(
        self,
        X: Any,
        labels: EncodedLabels,
        kernel: Kernel,
        problem: HarmonicProblem | None,
        candidates: list[dict[str, Any]],
        hidden: Hidden,
        **options: Any,
    ) -> CutTrials:
        """Try max-margin graph cuts on hidden labels."""
        with report_stage(f"trial of {len(candidates)} candidates", self.verbose) as news:
            return cut_trials(
                *(X, labels, kernel, problem, candidates, hidden.folds),
                validation=hidden.validation,
                n_jobs=self.n_jobs,
                random_state=self._seed(),
                progress=news,
                **options,
            )

    def _search_of(
        self,
        found: CutTrials,
        X: Any,
        labels: EncodedLabels,
        kernel: Kernel,
        induce: Callable[[dict[str, Any]], InducedLabels],
    ) -> Search:
        """Return the search after its trials; `induce` tells what a candidate learns from."""
        is_exact = len(found.rows) == X.shape[0]

        def train(candidate: dict[str, Any], news: ProgressCallback | None) -> MarginMachine:
            learned = induce(candidate)
            rows = np.flatnonzero(learned.mask)
            return self._train_on(
                *(X, rows, learned.codes[rows], kernel, candidate["C"]),
                sample_weight=learned.weights[rows],
                center=found.center,
                progress=news,
            )

        search = self._blend_after(found.trials, train, X, labels)
        if not is_exact:
            return search

        def finish(choice: Choice) -> None:
            self.choice_ = choice
            self.machine_ = found.blend(choice.blended, X, kernel)
            self._label_by_machine(X, labels)

        return Search(found.trials, finish)

    def _blend_after(
        self,
        trials: Trials,
        train: Callable[[dict[str, Any], ProgressCallback | None], MarginMachine],
        X: Any,
        labels: EncodedLabels,
    ) -> Search:
        """Return the search that ends with a blend of a few machines, trained on all rows."""

        def finish(choice: Choice) -> None:
            self.choice_ = choice
            numbers, factors = zip(*choice.blended, strict=True)
            with report_stage(f"blend of {len(numbers)} classifiers", self.verbose) as news:
                machines = [train(trials.params[i], news) for i in numbers]
            self.machine_ = blend(machines, factors)
            self._label_by_machine(X, labels)

        return Search(trials, finish, MAX_BLENDED)

    def _label_by_machine(self, X: Any, labels: EncodedLabels) -> None:
        """Calibrate on the given labels, hidden ones if there are; label the other rows."""
        scores = self.machine_.decision(X)
        known, codes = scores[labels.labeled], labels.codes[labels.labeled]
        if hasattr(self, "choice_") and len(self.choice_.trials.given):
            known, codes = self.choice_.scores, self.choice_.trials.given
        targets = calibration_targets(np.eye(len(labels.classes))[codes], codes)
        self._calibration = fit_calibration(known, targets)
        self.label_distributions_: FloatArray = probabilities(scores, *self._calibration)
        self.confidence_: FloatArray = confidence_of(self.label_distributions_)
        codes = np.where(labels.codes == UNLABELED, winner(scores), labels.codes)
        self.transduction_: AnyArray = self._decode(codes)

    def _is_pairwise(self) -> bool:
        """Tell whether X is a kernel matrix."""
        return not callable(self.kernel) and self.kernel == "precomputed"
