"""Models for the rows of arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphmargin._rows import canonical_rows, check_no_mask, errors_name_argument
from graphmargin._typing import AnyArray, BoolArray, FloatArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.confidence.prediction_sets import sets_with_coverage
from graphmargin.models.column_scaler import ColumnScaler, scalers_of
from graphmargin.models.model_errors import check_probabilities
from graphmargin.search.predictor import Predictor
from graphmargin.tables.column_names import format_names


@dataclass(frozen=True, repr=False)
class ArrayModel:
    """A predictor for the rows of arrays, with the features that it expects and its origin.

    Attributes
    ----------
    predictor : Predictor
    n_features : int
        Number of columns of new rows; for a precomputed kernel or graph, that of training rows.
    feature_names : tuple of str or None
        Names of the columns, if the model was trained on a data frame.
    held_out : HeldOutPredictions or None
        Predictions for held-out labels, from which `predict_set` follows; None if there are none.
    scalers : tuple of ColumnScaler
        Scalers of a pipeline, which are applied to new rows in their order.
    kind : str
        Name of the class of the classifier that was fitted.
    parameters : mapping
        Parameters of this classifier.

    Examples
    --------
    >>> from graphmargin import SupervisedSVC
    >>> model = array_model_of(SupervisedSVC().fit([[0.0], [1.0]], ["low", "high"]))
    >>> model.predict([[0.8]]).tolist(), model.kind
    (['high'], 'SupervisedSVC')
    """

    predictor: Predictor
    n_features: int
    feature_names: tuple[str, ...] | None
    held_out: HeldOutPredictions | None = None
    scalers: tuple[ColumnScaler, ...] = ()
    kind: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        """Return the kind of the classifier, and the numbers of features and classes."""
        return f"<ArrayModel: {self.kind}, {self.n_features} features, {len(self.classes)} classes>"

    @property
    def classes(self) -> AnyArray:
        """The labels of the classes."""
        return self.predictor.classes

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        return self.predictor.predict(self._validated(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities of every row, in the order of `classes`."""
        return check_probabilities(self.predictor.probabilities(self._validated(X)))

    def predict_set(self, X: Any, coverage: float = 0.9, *, per_class: bool = False) -> BoolArray:
        """Return the prediction set of every row, as the classifier's `predict_set` does."""
        distributions = self.predict_proba(X)
        return sets_with_coverage(self.held_out, distributions, coverage, per_class=per_class)

    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x) of a max-margin classifier, as its `decision_function` does."""
        decision = getattr(self.predictor.part, "decision", None)
        if decision is None or self.predictor.class_weight is not None:
            msg = f"a {self.kind} has no `decision_function`; use `predict_proba`"
            raise TypeError(msg)
        scores: FloatArray = decision(self._validated(X))
        return scores

    def _validated(self, X: Any) -> Any:
        """Return rows as a float array or CSR matrix; their columns must be those of the fit."""
        names, expected = getattr(X, "columns", None), self.feature_names
        if names is not None and expected is not None and tuple(names) != expected:
            msg = (
                "The feature names should match those that were passed during fit, in the same "
                f"order: {format_names(expected)}; got {format_names(list(names))}"
            )
            raise ValueError(msg)
        from sklearn.utils import check_array

        options = {"dtype": [np.float64, np.float32], "estimator": self.kind, "input_name": "X"}
        check_no_mask(X)
        with errors_name_argument("X"):
            rows = canonical_rows(check_array(X, accept_sparse="csr", **options))
        if rows.shape[1] != self.n_features:
            msg = (
                f"X has {rows.shape[1]} features, but {self.kind} is expecting {self.n_features} "
                "features as input"
            )
            raise ValueError(msg)
        for scaler in self.scalers:
            rows = scaler.of(rows)
        return rows


def array_model_of(model: Any) -> ArrayModel:
    """Return the part of a fitted classifier of graphmargin that predicts.

    The classifier may be the last step of a pipeline with scalers.
    """
    from sklearn.base import BaseEstimator
    from sklearn.pipeline import Pipeline
    from sklearn.utils.validation import check_is_fitted

    if isinstance(model, BaseEstimator):
        check_is_fitted(model)
    classifier = model.steps[-1][1] if isinstance(model, Pipeline) else model
    predictor = getattr(classifier, "predictor_", None)
    if not isinstance(predictor, Predictor):
        msg = (
            "`model` must be a classifier of graphmargin, a pipeline that ends with one, an "
            f"ArrayModel or a TableModel, got a {type(classifier).__name__}"
        )
        raise TypeError(msg)
    if getattr(classifier, "features_", None) is not None:
        msg = (
            f"`model` is a pipeline whose {type(classifier).__name__} was fitted to data frames of "
            "the step before it; fit it to the original frame, without a pipeline"
        )
        raise TypeError(msg)
    # A first step of "passthrough" has no number of features.
    first = model if hasattr(model, "n_features_in_") else classifier
    names = getattr(first, "feature_names_in_", None)
    return ArrayModel(
        predictor,
        n_features=first.n_features_in_,
        feature_names=None if names is None else tuple(names.tolist()),
        held_out=getattr(classifier, "held_out_", None),
        scalers=scalers_of(model) if isinstance(model, Pipeline) else (),
        kind=type(classifier).__name__,
        parameters=classifier.get_params(deep=False),
    )
