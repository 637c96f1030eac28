"""What a classifier needs to predict, which is all that a file of it holds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Self

from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from graphmargin._typing import AnyArray, FloatArray


class PredictingClassifier(ClassifierMixin, BaseEstimator):
    """Base of classifiers that can leave behind what they were trained on.

    A subclass names in `predicting` the attributes that its predictions read, beyond its
    parameters. Graph, harmonic solution and labels of the training rows are none of them.
    """

    predicting: ClassVar[tuple[str, ...]] = ("classes_", "n_features_in_", "feature_names_in_")
    _only_predicts: bool = False
    """Whether the training rows were left behind."""

    def _predictor(self) -> Self:
        """Return a fitted copy that predicts the same and knows nothing else.

        Arrays are shared, not copied. A nested classifier that is a parameter is not fitted.
        """
        check_is_fitted(self)
        copy = type(self)(
            **{
                name: clone(value) if isinstance(value, BaseEstimator) else value
                for name, value in self.get_params(deep=False).items()
            }
        )
        for name in self.predicting:
            if hasattr(self, name):
                setattr(copy, name, getattr(self, name))
        copy._only_predicts = True
        return copy

    def _predict_both(self, X: Any) -> tuple[AnyArray, FloatArray]:
        """Return what `predict` and `predict_proba` return, for the price of one."""
        raise NotImplementedError

    def _check_has_trained(self, wanted: str) -> None:
        """Refuse what needs the training rows, before `fit` and in a model from a file."""
        check_is_fitted(self)
        if self._only_predicts:
            msg = (
                f"a {type(self).__name__} that was loaded from a file only predicts: fit again "
                f"for `{wanted}`"
            )
            raise NotFittedError(msg)

    if not TYPE_CHECKING:  # which would take every attribute for one that exists

        def __getattr__(self, name: str) -> Any:
            """Say why a fitted attribute is missing, where a file did not hold it."""
            if name.endswith("_") and not name.startswith("_") and self._only_predicts:
                self._check_has_trained(name)
            # The ordinary way again, for the ordinary message.
            return super().__getattribute__(name)
