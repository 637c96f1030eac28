"""What the max-margin classifiers share: kernels, training on some rows, predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_choice, check_real
from graphmargin._typing import AnyArray, FloatArray, IntArray, Progress
from graphmargin.estimators.base import PartlyLabeledClassifier
from graphmargin.graph.weights import kernel_width
from graphmargin.harmonic.solve import confidence_of
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_sharpness, probabilities
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.training import check_approximation, train_machine


class MarginClassifier(PartlyLabeledClassifier):
    """Base of classifiers whose function is a max-margin machine."""

    kernel: Any
    degree: int
    coef0: float
    width: Any
    C: float
    approximation: Any
    machine_: MarginMachine
    _sharpness: float

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score a class."""
        check_is_fitted(self)
        return self.machine_.decision(self._validate_new(X))

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        return self._decode(winner(self.decision_function(X)))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities, calibrated on what is known of the training rows."""
        return probabilities(self.decision_function(X), self._sharpness)

    def _check_margin(self, X: Any) -> None:
        """Check the parameters of the machine, and X where it is a kernel matrix."""
        check_approximation(self.approximation, self.kernel)
        check_real("C", self.C, positive=True, hint="; C = 1 / (2 gamma)")
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
        *,
        sample_weight: FloatArray | None = None,
        progress: Progress | None = None,
    ) -> MarginMachine:
        """Return the machine on some rows of X, with a class code each."""
        points = X[rows]
        if kernel.kind == "precomputed":
            points = points[:, rows]
        machine = train_machine(
            points,
            codes,
            kernel,
            C=self.C,
            sample_weight=sample_weight,
            approximation=self.approximation,
            n_jobs=self.n_jobs,
            random_state=self.random_state,
            progress=progress,
        )
        if kernel.kind == "precomputed":
            machine = replace(machine, vectors=rows[machine.vectors])
        return machine

    def _label_by_machine(self, X: Any, labels: EncodedLabels) -> None:
        """Calibrate on the given labels; let the machine label the other rows."""
        scores = self.machine_.decision(X)
        labeled = labels.labeled
        targets = calibration_targets(labels.one_hot[labeled], labels.codes[labeled])
        self._sharpness = fit_sharpness(scores[labeled], targets)
        self.label_distributions_: FloatArray = probabilities(scores, self._sharpness)
        self.confidence_: FloatArray = confidence_of(self.label_distributions_)
        codes = np.where(labels.codes == UNLABELED, winner(scores), labels.codes)
        self.transduction_: AnyArray = self._decode(codes)

    def _is_pairwise(self) -> bool:
        """Tell whether X is a kernel matrix."""
        return not callable(self.kernel) and self.kernel == "precomputed"


def winner(scores: FloatArray) -> IntArray:
    """Return the class code with the largest score."""
    if scores.ndim == 1:
        return (scores > 0).astype(np.int64)
    return np.asarray(scores.argmax(axis=1))
