"""Base classes of the classifiers: validation of partly labeled data, and predictions."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import currentframe
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import Tags, get_tags
from sklearn.utils.validation import check_consistent_length, check_is_fitted, validate_data

from graphmargin._rows import (
    canonical_rows,
    check_magnitude,
    check_no_mask,
    check_not_lazy,
    errors_name_argument,
    is_frame,
)
from graphmargin._scales import have_one_unit, ranges_and_variances
from graphmargin._typing import AnyArray, BoolArray, FloatArray
from graphmargin.confidence.held_out_predictions import (
    AccuracyEstimate,
    HeldOutPredictions,
    estimate_accuracy,
    require_held_out,
)
from graphmargin.graph.adjacency import check_graph
from graphmargin.labels import EncodedLabels, encode_labels, read_labels
from graphmargin.margin.class_weights import class_weights
from graphmargin.margin.kernels import check_kernel_matrix
from graphmargin.search.choice import Choice
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import HeldOutLabels, held_out_from, validation_set
from graphmargin.search.member import Member
from graphmargin.search.parameters import is_auto, is_list, is_list_of_shares, is_pairwise
from graphmargin.search.predictor import Predictor
from graphmargin.search.search import Fitted, fit, search

if TYPE_CHECKING:
    from graphmargin.confidence.label_errors import LabelErrors


UNSUPPORTED = {
    "sample_weight": "walks on the graph, folds and calibrations count rows, so that a weight of "
    "the losses alone would contradict them; pass `class_weight` for the costs of classes",
    "W": "it uses no graph, or takes it otherwise; MaxMarginGraphCut, ManifoldSVC and "
    'SemiSupervisedEnsemble take W, and HarmonicClassifier(affinity="precomputed") takes it as X',
}
"""Reasons why `fit` refuses an argument that other classifiers have."""


WARNED_SCALE_RATIO = 6.0
"""Ratio of the largest to the median standard deviation of columns that raises a warning."""


class ScaleWarning(UserWarning):
    """Warning that columns differ in scale, so that a few of them determine all distances."""


class SemiSupervisedClassifier(ClassifierMixin, BaseEstimator):
    """Base class of all classifiers, with their fit and predictions.

    A subclass has its parameters in the constructor, and names its members.
    """

    cv: Any
    n_jobs: int | None
    random_state: Any
    verbose: int
    predictor_: Predictor
    choice_: Choice | None

    CHOSEN: ClassVar[tuple[str, ...]] = ()
    """Parameters that held-out labels choose if one of them is "auto" or a list."""

    def fit(self, X: Any, y: npt.ArrayLike, **unsupported: Any) -> Self:
        """Learn from all rows and the few labels.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (n, d)
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        **unsupported
            Other arguments, such as `sample_weight`, are refused by name, with the reason.
        """
        refuse_arguments(self, unsupported)
        return self._fit(X, y)

    def score(self, X: Any, y: npt.ArrayLike, sample_weight: Any = None) -> float:
        """Return the accuracy of the predictions on the labeled rows; unlabeled rows do not count.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (m, d)
        y : array-like of shape (m,)
            True labels; unlabeled is -1, None, NaN, pandas.NA or "".
        sample_weight : array-like of shape (m,), default=None

        Raises
        ------
        ValueError
            If no row has a label. `LabeledKFold` makes folds with labels in each of them.
        """
        check_is_fitted(self)
        given, labeled = read_labels(y)
        if not labeled.any():
            msg = (
                f"`y` has no label to compare with: all {len(labeled):,} rows are unlabeled; in "
                "cross-validation, LabeledKFold makes folds that have labels"
            )
            raise ValueError(msg)
        check_consistent_length(X, labeled, sample_weight)
        weights = None if sample_weight is None else np.asarray(sample_weight)[labeled]
        from sklearn.metrics import accuracy_score  # which also compares the types of labels

        return float(accuracy_score(given, self.predict(X)[labeled], sample_weight=weights))

    def predict(self, X: Any) -> AnyArray:
        """Return the predicted label of every row."""
        check_is_fitted(self)
        return self.predictor_.predict(self._validate_new(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the class probabilities of every row."""
        check_is_fitted(self)
        return self.predictor_.probabilities(self._validate_new(X))

    def predict_set(self, X: Any, coverage: float = 0.9, *, per_class: bool = False) -> BoolArray:
        """Return, for every row, a set of classes that contains the true one with a probability.

        The sets are cross-conformal: they come from labels that were held out while parameters
        were chosen (`graphmargin.confidence.prediction_sets`), and are valid if labels are a random
        draw, at least within each class. A set is empty where no class is likely enough.

        Parameters
        ----------
        X : array, DataFrame or CSR matrix of shape (m, d)
        coverage : float in (0, 1), default=0.9
            Probability that a set contains the true class. With n labels, a coverage above
            n / (n + 1) makes every set contain all classes; a warning is raised.
        per_class : bool, default=False
            Whether it holds for the rows of every class, which needs labels of each, or on average.

        Returns
        -------
        array of shape (m, c)
            True where the class of `classes_` belongs to the set of the row.
        """
        from graphmargin.confidence.prediction_sets import sets_with_coverage  # not used by `fit`

        distributions = self.predict_proba(X)
        return sets_with_coverage(self.held_out_, distributions, coverage, per_class=per_class)

    def label_errors(self, threshold: float = 0.5) -> LabelErrors:
        """Return the probability that each given label is wrong, and the labels to check.

        The chosen classifier predicts the labels that were held out while parameters were chosen.
        Max-margin classifiers hold out a sample of about 1,000 labels if there are more.
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
        from graphmargin.confidence.label_errors import label_errors  # not used by `fit`

        check_is_fitted(self)
        held_out = require_held_out(self.held_out_, "label_errors")
        return label_errors(held_out, self.classes_, threshold)

    def _fit(self, X: Any, y: npt.ArrayLike, W: Any = None) -> Self:
        """Search among the members on held-out labels, and fit what is chosen; W is a graph."""
        X, labels = self._validate(X, y)
        members = self._members(X, labels, has_graph=W is not None)
        execution = Execution.from_estimator(self)
        data = TrainingData(
            X,
            labels,
            self._held_out(X, y, labels, execution),
            execution,
            None if W is None else check_graph(W, X.shape[0]),
            self._class_weight(labels),
        )
        self._keep(fit(data, search(data, members)))
        return self

    def _members(
        self, X: Any, labels: EncodedLabels, *, has_graph: bool
    ) -> Member | Sequence[Member]:
        """Return the members of the search, with validated parameters."""
        raise NotImplementedError

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
            self._check_scales(X)
        return X, labels

    def _check_scales(self, X: Any) -> None:
        """Warn if the columns of dense rows, which are taken as given, differ in scale."""
        if sparse.issparse(X):
            return
        ranges, variances = ranges_and_variances(X)
        if have_one_unit(ranges, variances):
            return
        deviations = np.sqrt(variances[variances > 0])
        ratio = deviations.max() / np.quantile(deviations, 0.5, method="lower")
        if ratio > WARNED_SCALE_RATIO:
            text = (
                "the largest standard deviation of a column of `X` is "
                f"{ratio:,.0f} times the median one, so that distances depend on a few columns "
                "alone; if columns have different units, use SemiSupervisedEnsemble, which scales "
                "them, or standardize them (sklearn.preprocessing.StandardScaler)"
            )
            warn_caller(text, ScaleWarning)

    def _validate_rows(self, X: Any, *, reset: bool = True, **options: Any) -> Any:
        """Return X as an array or canonical CSR matrix of finite floats."""
        check_not_lazy(X)
        check_no_mask(X)
        kinds = {"accept_sparse": "csr", "dtype": [np.float64, np.float32]}
        if not reset and is_frame(X):  # so that errors name columns
            validate_data(self, X, reset=False, skip_check_array=True)
        try:
            with errors_name_argument("X"):
                return canonical_rows(validate_data(self, X, reset=reset, **kinds, **options))
        except (ValueError, TypeError) as error:
            if not is_frame(X) and not re.search("could not convert|contains NaN", str(error)):
                raise
            msg = (
                f"{error}; SemiSupervisedEnsemble takes data frames with categories, dates, text "
                "and missing cells"
            )
            raise type(error)(msg) from error

    def _validate_new(self, X: Any) -> Any:
        """Return new rows, validated like those of `fit`."""
        return self._validate_rows(X, reset=False)

    def _class_weight(self, labels: EncodedLabels) -> tuple[float, ...] | None:
        """Return the weight of each class, None if all are one."""
        given = getattr(self, "class_weight", None)
        return class_weights(given, labels.classes, labels.one_hot.sum(axis=0))

    def _held_out(
        self, X: Any, y: Any, labels: EncodedLabels, execution: Execution
    ) -> HeldOutLabels | None:
        """Return the labels on which candidates are tested by `cv`; None if nothing is chosen."""
        if not self._has_choice():
            if self.cv is not None:
                msg = (
                    f"`cv`={self.cv!r} needs a parameter to choose, but all are fixed; pass a list "
                    f"of candidates, such as {self.CHOSEN[-1]}=[1.0, 10.0], or 'auto'"
                )
                raise ValueError(msg)
            return None
        is_pair = isinstance(self.cv, tuple) and len(self.cv) == 2
        # A pair of (train, test) pairs is two folds.
        if is_pair and not all(isinstance(part, tuple) for part in self.cv):
            X_val, y_val = self.cv
            X_val = self._validate_new(X_val)
            if not get_tags(self).input_tags.pairwise:
                check_magnitude(X_val, is_new=True)
            return validation_set(X_val, y_val, labels.classes)
        return held_out_from(self.cv, X, y, labels, execution.seed)

    def _has_choice(self) -> bool:
        """Tell whether a parameter is chosen: it is "auto", or a list of candidates."""
        values = [getattr(self, name) for name in self.CHOSEN]
        if any(is_auto(value) or is_list(value) for value in values):
            return True
        return is_list_of_shares(getattr(self, "class_mass_normalization", None))

    def _keep(self, fitted: Fitted) -> None:
        """Set the attributes of a fitted classifier, and raise the warnings of the fit."""
        for warning in fitted.warnings:
            warn_caller(warning.text, warning.category)
        if fitted.choice.member is not None:
            self._keep_details(fitted.members[fitted.choice.member.name].details)
        self.predictor_ = fitted.predictor
        self.label_distributions_: FloatArray = fitted.label_distributions
        self.confidence_: FloatArray = fitted.confidence
        self.choice_ = None if fitted.choice.is_fixed else _without_details(fitted.choice)
        self.held_out_: HeldOutPredictions | None = fitted.held_out
        self.accuracy_: AccuracyEstimate | None = None
        if fitted.held_out is not None:
            self.accuracy_ = estimate_accuracy(fitted.held_out, self.classes_)
        self.transduction_: AnyArray = np.asarray(self.classes_[fitted.codes])

    def _keep_details(self, details: Any) -> None:
        """Set the attributes that only some classifiers have."""

    def __sklearn_is_fitted__(self) -> bool:
        """Tell whether `fit` has finished."""
        return hasattr(self, "transduction_")

    def __sklearn_tags__(self) -> Tags:
        """Return the tags, which allow CSR matrices."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class MarginClassifier(SemiSupervisedClassifier):
    """Base class of classifiers whose function is a max-margin machine."""

    kernel: Any

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x): (m,) for two classes, positive for the second, else a score per class."""
        check_is_fitted(self)
        decision: FloatArray = self.predictor_.part.decision(self._validate_new(X))
        return decision

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


def _without_details(choice: Choice) -> Choice:
    """Return a choice without the machines of its trials, which only the fit uses."""
    trials = replace(choice.trials, details=None)
    return replace(choice, trials=trials, parts=tuple(map(_without_details, choice.parts)))


def warn_caller(text: str, category: type[Warning] = UserWarning) -> None:
    """Raise a warning that points at the first line outside of this package that led to it."""
    level, frame = 1, currentframe()
    while frame is not None and str(frame.f_globals.get("__name__")).startswith("graphmargin."):
        level, frame = level + 1, frame.f_back
    warnings.warn(text, category, stacklevel=level)


def refuse_arguments(model: Any, arguments: Mapping[str, Any]) -> None:
    """Raise TypeError for an argument of `fit` that a classifier does not have, with the reason."""
    for name, value in arguments.items():
        if value is None:  # as if it were not passed
            continue
        reason = UNSUPPORTED.get(name, "there is no such argument")
        msg = f"`{name}` cannot be passed to `fit` of {type(model).__name__}: {reason}"
        raise TypeError(msg)
