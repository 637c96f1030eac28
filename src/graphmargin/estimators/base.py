"""Base classes of the classifiers: validation of partly labeled data, and predictions."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from graphmargin._rows import (
    canonical_rows,
    check_magnitude,
    check_no_mask,
    errors_name_argument,
)
from graphmargin._typing import AnyArray, BoolArray, FloatArray
from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    HeldOutPredictions,
    estimate_accuracy,
    require_held_out,
)
from graphmargin.confidence.label_errors import LabelErrors, label_errors
from graphmargin.confidence.prediction_sets import sets_with_coverage
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor
from graphmargin.labels import EncodedLabels, encode_labels
from graphmargin.margin.kernels import check_kernel_matrix
from graphmargin.margin.margin_predictor import MarginPredictor
from graphmargin.margin.mixture_predictor import MixturePredictor
from graphmargin.selection.choice import Choice
from graphmargin.selection.ensemble import FittedEnsemble
from graphmargin.selection.ensemble_choice import EnsembleChoice
from graphmargin.selection.execution import Execution
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.held_out import HeldOutLabels, held_out_from, validation_set
from graphmargin.selection.parameters import has_parameters_to_choose, is_pairwise


class SemiSupervisedClassifier(ClassifierMixin, BaseEstimator):
    """Base class of all classifiers, with the validation of rows and labels, and predictions.

    A subclass has its parameters in the constructor; its `fit` calls `_validate` first and `_keep`
    last.
    """

    cv: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    predictor_: MarginPredictor | HarmonicPredictor | MixturePredictor
    choice_: Choice | EnsembleChoice | None

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted label of every row."""
        check_is_fitted(self)
        return self.predictor_.predict(self._validate_new(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        check_is_fitted(self)
        return self.predictor_.probabilities(self._validate_new(X))

    def predict_set(self, X: Any, coverage: float = 0.9, *, per_class: bool = False) -> BoolArray:
        """Return a set of classes for every row that contains the true one with a probability.

        The sets are cross-conformal: they come from labels that were held out while parameters
        were chosen (`graphmargin.confidence.set_thresholds`), and are valid if labels are a random
        draw, at least within each class. A set may be empty, where no class is likely enough.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (m, d)
        coverage : float in (0, 1), default=0.9
            Probability that a set contains the true class. With n labels, no more than n / (n + 1)
            can be promised without sets of all classes, of which a warning tells.
        per_class : bool, default=False
            Whether it holds for the rows of every class, which takes labels of each, or on average.

        Returns
        -------
        array of shape (m, c)
            True where the class of `classes_` belongs to the set of the row.
        """
        distributions = self.predict_proba(X)
        return sets_with_coverage(self.held_out_, distributions, coverage, per_class=per_class)

    def label_errors(self, threshold: float = 0.5) -> LabelErrors:
        """Return the probability that each given label is wrong, and the labels to check.

        Labels are predicted by the chosen classifier without them: they are those that were held
        out while parameters were chosen, for max-margin classifiers about 1,000 of more.
        `graphmargin.confidence.LabelErrors` has the probabilities of all of them, and the labels
        above a threshold.

        Parameters
        ----------
        threshold : float in [0, 1), default=0.5
            Probability above which a label is listed. The result says how many of the listed
            labels are expected to be right.

        Returns
        -------
        LabelErrors
            Its rows are those of `fit`, or of the validation set if `cv` is one.
        """
        check_is_fitted(self)
        held_out = require_held_out(self.held_out_, "label_errors")
        return label_errors(held_out, self.classes_, threshold)

    def _validate(self, X: Any, y: npt.ArrayLike) -> tuple[Any, EncodedLabels]:
        """Return X as a float array or CSR matrix, and encoded labels; delete earlier results."""
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # a fit that fails, or ends by Ctrl-C, leaves no attributes
        X = self._validate_rows(X, ensure_min_samples=2)
        if y is not None:  # else `encode_labels` raises
            try:
                check_consistent_length(X, y)
            except (ValueError, TypeError) as error:
                msg = f"`y` must have one entry for each row of `X`: {error}"
                raise type(error)(msg) from error
        labels = encode_labels(y)
        self.classes_: AnyArray = labels.classes
        if not get_tags(self).input_tags.pairwise:
            check_magnitude(X)
        return X, labels

    def _validate_new(self, X: Any) -> Any:
        """Return new rows, validated like those of `fit`."""
        return self._validate_rows(X, reset=False)

    def _validate_rows(self, X: Any, **options: Any) -> Any:
        """Return X as an array or canonical CSR matrix of finite floats."""
        check_no_mask(X)
        kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        with errors_name_argument("X"):
            return canonical_rows(validate_data(self, X, **kinds, **options))

    def _held_out(
        self, X: Any, y: Any, labels: EncodedLabels, auto: tuple[str, ...], execution: Execution
    ) -> HeldOutLabels | None:
        """Return the labels on which candidates are tested, according to `cv`.

        Returns None if all parameters are fixed: none of `auto` is "auto", and none is a list.
        """
        if not has_parameters_to_choose(self, auto):
            return None
        return self._held_out_labels(X, y, labels, execution)

    def _held_out_labels(
        self, X: Any, y: Any, labels: EncodedLabels, execution: Execution
    ) -> HeldOutLabels:
        """Return the labels on which candidates are tested, according to `cv`."""
        is_pair = isinstance(self.cv, tuple) and len(self.cv) == 2
        # A pair of (train, test) pairs is two folds.
        if is_pair and not all(isinstance(part, tuple) for part in self.cv):
            X_val, y_val = self.cv
            X_val = self._validate_new(X_val)
            if not get_tags(self).input_tags.pairwise:
                check_magnitude(X_val, is_new=True)
            return validation_set(X_val, y_val, labels.classes)
        return held_out_from(self.cv, X, y, labels, execution.seed)

    def _keep(self, fitted: FittedClassifier | FittedEnsemble) -> None:
        """Set the attributes that all classifiers have, and raise the warnings of the fit."""
        for warning in fitted.warnings:
            warnings.warn(warning.text, warning.category, stacklevel=3)
        self.predictor_ = fitted.predictor
        self.label_distributions_: FloatArray = fitted.label_distributions
        self.confidence_: FloatArray = fitted.confidence
        self.choice_ = fitted.choice
        self.held_out_: HeldOutPredictions | None = fitted.held_out
        self.accuracy_: AccuracyEstimate | None = None
        if fitted.held_out is not None:
            self.accuracy_ = estimate_accuracy(fitted.held_out)
        self.transduction_: AnyArray = np.asarray(self.classes_[fitted.codes])

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether `fit` has finished."""
        return hasattr(self, "transduction_")

    def __sklearn_tags__(self) -> Tags:
        """Return the tags, which allow CSR matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MarginClassifier(SemiSupervisedClassifier):
    """Base class of classifiers whose function is a sum of max-margin machines."""

    kernel: Any
    predictor_: MarginPredictor

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score per class."""
        check_is_fitted(self)
        return self.predictor_.decision(self._validate_new(X))

    def _validate(self, X: Any, y: npt.ArrayLike) -> tuple[Any, EncodedLabels]:
        X, labels = super()._validate(X, y)
        if is_pairwise(self.kernel):
            check_kernel_matrix(X)
        return X, labels

    def __sklearn_tags__(self) -> Tags:
        """Return the tags, which say whether X is a kernel matrix."""
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags
