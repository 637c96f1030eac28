"""Classifiers that choose among given values of their parameters by hiding labels."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import MetaEstimatorMixin, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from graphmargin._checks import check_integer
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.estimators.choosing import ChoosingClassifier
from graphmargin.estimators.harmonic_classifier import HarmonicClassifier
from graphmargin.estimators.manifold_svc import ManifoldSVC
from graphmargin.estimators.max_margin_graph_cut import MaxMarginGraphCut
from graphmargin.estimators.predicting import PredictingClassifier
from graphmargin.estimators.semi_supervised_svc import SemiSupervisedSVC
from graphmargin.labels import EncodedLabels
from graphmargin.selection.choice import choose, join
from graphmargin.selection.folds import LabeledKFold, LabeledLeaveOneOut
from graphmargin.selection.grids import AUTO, Hidden, default_folds, grid_points, label_counts


def _has(name: str) -> Callable[[Any], bool]:
    """Return the test whether the classifier that is searched for has a method."""

    def check(search: Any) -> bool:
        return hasattr(getattr(search, "best_estimator_", search._plain()), name)

    return check


class SearchCV(MetaEstimatorMixin, PredictingClassifier):
    """Base of the searches: candidates, hidden labels, and the blend of the best.

    Parameters
    ----------
    param_grid : dict, default=None
        Values to try by the name of a parameter; all combinations are candidates. None are the
        values that "auto" stands for, of the parameters of `estimator` that are "auto", or of all
        that can be if none is.
    estimator : classifier, default=None
        With the other parameters; by default they are those of the class.
    cv : int, "loo", splitter, iterable, or tuple (X_val, y_val), default=None
        Labels to test on. Folds of hidden labels: an integer is a number of folds, "loo" hides
        each label on its own, a splitter or an iterable of (train, test) hides the labels of the
        test rows; the rows stay as unlabeled ones. A tuple is a validation set of other rows, all
        of them labeled. None are five folds, ten for up to 20 labels.

    Attributes
    ----------
    best_estimator_ : classifier
        Fitted blend of the likeliest candidates that share graph and kernel.
    best_params_ : dict
        Of the candidate with the largest weight in it.
    cv_results_ : dict
        A row for each candidate, see `Choice.results`.
    choice_ : Choice
    gamma_g_path_ : dict
        Where gamma_g is a parameter: confidence, share of confident points, leave-one-out and
        fold scores for each value.
    classes_, transduction_, confidence_, label_distributions_
        As those of `best_estimator_`.
    """

    classifier: ClassVar[type[ChoosingClassifier]]
    predicting = (*PredictingClassifier.predicting, "best_estimator_")

    def __init__(self, param_grid: Any = None, *, estimator: Any = None, cv: Any = None) -> None:
        self.param_grid = param_grid
        self.estimator = estimator
        self.cv = cv

    def fit(self, X: Any, y: npt.ArrayLike, W: Any = None) -> SearchCV:
        """Try all candidates and fit the blend of the best.

        Parameters
        ----------
        X, y, W
            As in the `fit` of the classifier.
        """
        self._only_predicts = False
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # what fails is no fit
        plain = self._plain()
        if not isinstance(plain, self.classifier):
            msg = f"`estimator` must be a {self.classifier.__name__}, got {plain!r}"
            raise TypeError(msg)
        if self.param_grid is None and not plain._is_to_choose():
            plain = clone(plain).set_params(**dict.fromkeys(plain.tuned_parameters, AUTO))
        grid = self._checked_grid(plain)
        seed = getattr(plain, "random_state", None)
        if not isinstance(seed, int):  # the same folds and samples for all candidates
            seed = 0 if seed is None else int(check_random_state(seed).randint(2**31 - 1))
        inner = {name: grid[name] for name in grid if name in plain.searched_parameters}
        outer = grid_points({name: grid[name] for name in grid if name not in inner})
        graphs: dict[Any, Any] = {}
        hidden: Hidden | None = None
        models, searches = [], []
        for point in outer:
            model = clone(plain).set_params(**point, random_state=seed)
            rows, labels = model._validate(X, y)
            model._check_parameters(rows, W)
            if hidden is None:  # the same labels for all candidates
                hidden = self._hidden(model, X, y, labels, seed)
            model._known_graphs = graphs
            search = model._search(rows, labels, W, inner, hidden)
            del model._known_graphs
            params = [{**point, **params} for params in search.trials.params]
            models.append(model)
            searches.append(replace(search, trials=replace(search.trials, params=params)))
        limits = [search.most for search in searches if search.most is not None]
        choice = choose(
            join([search.trials for search in searches]),
            label_counts(labels),
            min(limits, default=None),
        )
        ends = np.cumsum([len(search.trials.params) for search in searches])
        weights = [part.sum() for part in np.split(choice.weights, ends[:-1])]
        best = int(np.argmax(weights))
        part = choice.part(int(ends[best]) - len(searches[best].trials.params), int(ends[best]))
        searches[best].finish(part)
        self.best_estimator_ = models[best]
        self.best_params_: dict[str, Any] = part.best_params
        self.choice_ = choice
        self.cv_results_ = choice.results()
        for name in ("classes_", "confidence_", "label_distributions_", "transduction_"):
            setattr(self, name, getattr(self.best_estimator_, name))
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.best_estimator_, name):
                setattr(self, name, getattr(self.best_estimator_, name))
        return self

    def predict(self, X: Any) -> AnyArray:
        """Return the label of every row."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict(X))

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.predict_proba(X))

    def _predict_both(self, X: Any) -> tuple[AnyArray, FloatArray]:
        check_is_fitted(self)
        labels, probabilities = self.best_estimator_._predict_both(X)
        return labels, probabilities

    def _predictor(self) -> Self:
        copy = super()._predictor()
        copy.best_estimator_ = self.best_estimator_._predictor()
        return copy

    @available_if(_has("decision_function"))
    def decision_function(self, X: Any) -> FloatArray:
        """Return f(x) of the blend."""
        check_is_fitted(self)
        return np.asarray(self.best_estimator_.decision_function(X))

    @available_if(_has("graph_report"))
    def graph_report(self) -> Any:
        """Return what to know before trusting the graph, see `MaxMarginGraphCut.graph_report`."""
        self._check_has_trained("graph_report()")
        return self.best_estimator_.graph_report()

    @property
    def gamma_g_path_(self) -> dict[str, FloatArray]:
        """A row for each gamma_g, see `MaxMarginGraphCut`."""
        if not hasattr(self, "best_estimator_") or not hasattr(self.classifier, "gamma_g_path_"):
            msg = f"{type(self).__name__} has no `gamma_g_path_` (before `fit`, or without gamma_g)"
            raise AttributeError(msg)
        path: dict[str, FloatArray] = self.best_estimator_.gamma_g_path_
        return path

    def __sklearn_tags__(self) -> Tags:
        """Take the kinds of input from the classifier."""
        tags = super().__sklearn_tags__()
        tags.input_tags = get_tags(self._plain()).input_tags
        return tags

    def _plain(self) -> Any:
        return self.classifier() if self.estimator is None else self.estimator

    def _checked_grid(self, plain: Any) -> dict[str, list[Any]]:
        """Return the grid with a list of values for each parameter."""
        if self.param_grid is None:
            return {}
        if not isinstance(self.param_grid, Mapping):
            msg = f"`param_grid` must be a dict from parameter to values, got {self.param_grid!r}"
            raise TypeError(msg)
        known = plain.get_params(deep=False)
        grid = {}
        for name, values in self.param_grid.items():
            if name not in known:
                msg = (
                    f"`param_grid` has no use for {name!r}; choose from {', '.join(sorted(known))}"
                )
                raise ValueError(msg)
            is_list = isinstance(values, Iterable) and not isinstance(values, str)
            grid[name] = list(values) if is_list else []
            if not grid[name]:
                msg = f"`param_grid`[{name!r}] must be a list of values, got {values!r}"
                raise ValueError(msg)
        return grid

    def _hidden(
        self, model: ChoosingClassifier, X: Any, y: Any, labels: EncodedLabels, seed: int
    ) -> Hidden:
        """Return the labels to test on."""
        cv = self.cv
        if cv is None:
            return default_folds(labels.codes, seed)
        if isinstance(cv, tuple) and len(cv) == 2:
            return Hidden([], self._validation_set(model, *cv))
        if isinstance(cv, str) and cv == "loo":
            cv = LabeledLeaveOneOut()
        elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
            cv = LabeledKFold(check_integer("cv", cv, low=2), random_state=seed)
        if hasattr(cv, "split") and not isinstance(cv, str):
            splits = list(cv.split(X, y))
        elif isinstance(cv, Iterable) and not isinstance(cv, str):
            splits = list(cv)
        else:
            msg = (
                "`cv` must be an integer, 'loo', a splitter, an iterable of (train, test) or a "
                f"tuple (X_val, y_val), got {cv!r}"
            )
            raise ValueError(msg)
        folds = [_labels_in(split, labels) for split in splits]
        if not any(len(fold) for fold in folds):
            msg = f"`cv` hides no label in its {len(folds)} folds; use an integer or LabeledKFold"
            raise ValueError(msg)
        return Hidden(folds)

    def _validation_set(self, model: ChoosingClassifier, X: Any, y: Any) -> tuple[Any, IntArray]:
        rows = model._validate_new(X)
        values = np.asarray(y).ravel().tolist()
        if len(values) != rows.shape[0]:
            msg = f"`cv` has {rows.shape[0]} rows in X_val and {len(values)} labels in y_val"
            raise ValueError(msg)
        code_of = {value: code for code, value in enumerate(model.classes_.tolist())}
        unknown = [value for value in values if value not in code_of]
        if unknown:
            msg = (
                f"`cv` has the label {unknown[0]!r} in y_val, but y has {list(code_of)}; "
                "validation rows must be labeled, with classes that y has"
            )
            raise ValueError(msg)
        return rows, np.array([code_of[value] for value in values], dtype=np.int64)


def _labels_in(split: Any, labels: EncodedLabels) -> IntArray:
    """Return the labeled ones of the test rows of a fold, which must leave some of each class."""
    try:
        _, test = split
        rows = np.arange(len(labels.codes))[test]
    except (IndexError, TypeError, ValueError) as error:
        msg = f"`cv` must yield (train, test) with the numbers of rows of X, got {split!r}"
        raise ValueError(msg) from error
    hidden = np.unique(rows[labels.labeled[rows]])
    kept = labels.codes.copy()
    kept[hidden] = -1
    lost = np.setdiff1d(labels.codes[hidden], kept)
    if len(lost):
        msg = (
            f"`cv` hides all labels of class {labels.classes[lost].tolist()[0]!r} in a fold; use "
            "an integer or LabeledKFold, which keep some of each class"
        )
        raise ValueError(msg)
    return hidden


class MaxMarginGraphCutCV(SearchCV):
    """Max-margin graph cut whose parameters come from a grid, tested on hidden labels.

    No single candidate is picked: the likeliest ones that share graph and kernel are blended, as
    `MaxMarginGraphCut` does with its own grid.

    Parameters
    ----------
    param_grid : dict, default=None
        Lists of values by the name of a parameter of `MaxMarginGraphCut`, such as ``gamma_g``
        (inf is supervised learning), ``C``, ``class_mass_normalization``, ``kernel``,
        ``n_neighbors``, ``width``, ``c_labeled``.
    estimator, cv
        See `SearchCV`.

    Attributes
    ----------
    best_estimator_, best_params_, cv_results_, choice_, gamma_g_path_
        See `SearchCV`.

    Examples
    --------
    >>> from graphmargin.datasets import make_lattices
    >>> X, y, y_true, W = make_lattices()
    >>> search = MaxMarginGraphCutCV(
    ...     {"gamma_g": [0.1, 1.0, np.inf], "C": [1.0, 10.0], "kernel": ["linear"]},
    ...     estimator=MaxMarginGraphCut(affinity="precomputed", class_mass_normalization=False),
    ...     cv=(X[::10], y_true[::10]),
    ... )
    >>> search = search.fit(X, y, W=W)
    >>> len(search.cv_results_["weight"]), search.best_params_["gamma_g"]
    (6, 0.1)
    """

    classifier = MaxMarginGraphCut


class HarmonicClassifierCV(SearchCV):
    """Harmonic solution whose parameters come from a grid, tested on hidden labels.

    The class masses of the likeliest candidates that share a graph are averaged.

    Parameters
    ----------
    param_grid : dict, default=None
        Lists of values by the name of a parameter of `HarmonicClassifier`.
    estimator, cv
        See `SearchCV`.

    Attributes
    ----------
    best_estimator_, best_params_, cv_results_, choice_, gamma_g_path_
        See `SearchCV`.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", None, "low", "high", None, "high"]
    >>> search = HarmonicClassifierCV({"gamma_g": [0.01, 1.0], "n_neighbors": [2, 3]})
    >>> search.fit(X, y).transduction_.tolist()
    ['low', 'low', 'low', 'high', 'high', 'high']
    """

    classifier = HarmonicClassifier


class ManifoldSVCCV(SearchCV):
    """Manifold-regularized SVM whose parameters come from a grid, tested on hidden labels.

    Parameters
    ----------
    param_grid : dict, default=None
        Lists of values by the name of a parameter of `ManifoldSVC`; ``gamma_u = 0`` is supervised
        learning.
    estimator, cv
        See `SearchCV`.

    Attributes
    ----------
    best_estimator_, best_params_, cv_results_, choice_
        See `SearchCV`.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", None, "low", "high", None, "high"]
    >>> search = ManifoldSVCCV({"gamma_u": [0.0, 0.1], "C": [10.0]}, cv="loo")
    >>> search.fit(X, y).predict([[0.3], [0.9]]).tolist()
    ['low', 'high']
    """

    classifier = ManifoldSVC


class SemiSupervisedSVCCV(SearchCV):
    """Semi-supervised SVM whose parameters come from a grid, tested on hidden labels.

    Parameters
    ----------
    param_grid : dict, default=None
        Lists of values by the name of a parameter of `SemiSupervisedSVC`; ``gamma_u = 0`` is
        supervised learning.
    estimator, cv
        See `SearchCV`.

    Attributes
    ----------
    best_estimator_, best_params_, cv_results_, choice_
        See `SearchCV`.

    Examples
    --------
    >>> X = [[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]]
    >>> y = ["low", None, "low", "high", None, "high"]
    >>> search = SemiSupervisedSVCCV({"gamma_u": [0.0, 0.1], "C": [10.0]}, cv="loo")
    >>> search.fit(X, y).predict([[0.3], [0.9]]).tolist()
    ['low', 'high']
    """

    classifier = SemiSupervisedSVC
