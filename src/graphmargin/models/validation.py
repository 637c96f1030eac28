"""Whether a model that was read from a file hangs together.

Types are known to be harmless by then (see `allowlist`). Numbers are not: an index that points
outside of an array is read by compiled code without a look. So all that predictions index by, and
all shapes, are checked here.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice, check_integer, check_real
from graphmargin.estimators import HarmonicClassifier
from graphmargin.estimators.margin_classifier import MarginClassifier
from graphmargin.estimators.predicting import PredictingClassifier
from graphmargin.estimators.search import SearchCV
from graphmargin.graph.neighbors import NeighborSearch
from graphmargin.graph.weights import Weighting
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.models.allowlist import ESTIMATORS
from graphmargin.models.errors import ModelFileError
from graphmargin.models.table_model import TableModel


def check_model(model: Any) -> None:
    """Refuse a model whose parts do not fit together, naming the part.

    Examples
    --------
    >>> from graphmargin import SupervisedSVC
    >>> model = SupervisedSVC().fit([[0.0], [1.0]], ["a", "b"])._predictor()
    >>> check_model(model)
    >>> model.n_features_in_ = 3
    >>> check_model(model)
    Traceback (most recent call last):
    graphmargin.models.errors.ModelFileError: has `vectors` that do not fit; save the model again
    """
    if isinstance(model, TableModel):
        _check_table_model(model)
    else:
        _check_classifier(model)


def _check_table_model(model: TableModel) -> None:
    from graphmargin.tables.encoders import TextEncoder
    from graphmargin.tables.features import TableFeatures

    _check_fields(model, TableModel)
    _check_classifier(model.classifier)
    codes, features = model.classifier.classes_, model.features
    _require(_is_array(model.classes, (len(codes),), "biuUO"), "classes")
    _require(np.array_equal(codes, np.arange(len(codes))), "classes_")
    _require(isinstance(model.target, str), "target")
    _require(type(features) is TableFeatures, "features")
    _require(features.n_features_out_ == model.classifier.n_features_in_, "features")
    for encoder in features._encoders:
        if isinstance(encoder, TextEncoder):
            places = encoder.encoder.vectorizer_.vocabulary_.values()
            _require(sorted(places) == list(range(len(places))), "vocabulary")


def _check_calibration(found: Any) -> None:
    is_pair = isinstance(found, tuple) and [type(number) for number in found] == [float, float]
    _require(is_pair and found[0] > 0 and 0 <= found[1] <= 1, "calibration")


def _check_classifier(model: Any) -> None:
    _require(type(model) in ESTIMATORS and model._only_predicts is True, "type")
    needed = {*model.predicting, *model._get_param_names(), "_only_predicts"}
    optional = {"feature_names_in_"}
    _require(needed - optional <= set(vars(model)) <= needed, "attributes")
    d, classes = model.n_features_in_, model.classes_
    _require(isinstance(d, int) and d >= 1, "n_features_in_")
    _require(_is_array(classes, (None,), "biufUSO") and len(classes) >= 2, "classes_")
    if hasattr(model, "feature_names_in_"):
        _require(_is_array(model.feature_names_in_, (d,), "O"), "feature_names_in_")
    if isinstance(model, SearchCV):
        _check_search(model)
    elif isinstance(model, MarginClassifier):
        _check_machine(model.machine_, d, len(classes))
        _check_calibration(model._calibration)
    else:
        _check_harmonic(model, d, len(classes))


def _check_search(model: SearchCV) -> None:
    best: PredictingClassifier = model.best_estimator_
    _require(type(best) is model.classifier, "best_estimator_")
    _check_classifier(best)
    same = np.array_equal(best.classes_, model.classes_)
    _require(same and best.n_features_in_ == model.n_features_in_, "best_estimator_")


def _check_machine(machine: Any, d: int, n_classes: int) -> None:
    _check_fields(machine, MarginMachine)
    _check_fields(machine.report, TrainingReport)
    _check_fields(machine.kernel, Kernel)
    _require(isinstance(machine.kernel.kind, str), "kernel")
    replace(machine.kernel)  # which checks its numbers
    vectors, coefficients = machine.vectors, machine.coefficients
    if machine.kernel.kind == "precomputed":
        _check_codes(vectors, None, d, "vectors")
    else:
        _check_rows(vectors, d, "vectors")
    n_pairs = n_classes * (n_classes - 1) // 2
    _require(machine.n_classes == n_classes, "n_classes")
    _require(_are_finite(coefficients, (vectors.shape[0], n_pairs)), "coefficients")
    _require(_are_finite(machine.intercepts, (n_pairs,)), "intercepts")
    _require(
        machine.center == 0.0
        if isinstance(machine.center, float)
        else _are_finite(machine.center, (d,)),
        "center",
    )


def _check_harmonic(model: HarmonicClassifier, d: int, n_classes: int) -> None:
    n = d  # a precomputed graph has a weight for each of its vertices
    if model._points is not None:
        _require(type(model._points) is NeighborSearch, "points")
        _require(set(vars(model._points)) == {"X", "n_jobs", "_seed"}, "points")
        _require(isinstance(model._points._seed, int), "seed")
        _check_rows(model._points.X, d, "points")
        n = model._points.X.shape[0]
        weighting: Any = model._weighting
        _check_fields(weighting, Weighting)
        scales = weighting.scales
        _require(isinstance(weighting.width, float), "width")
        _require(scales is None or _are_finite(scales, (n,)), "scales")
        _require(check_integer("n_neighbors", model.n_neighbors, low=1) <= n, "n_neighbors")
        check_choice("metric", model.metric, ("euclidean", "cosine"))
    check_real("c_unlabeled", model.c_unlabeled)
    _require(_are_finite(model._class_mass, (n, n_classes)), "class masses")
    _check_codes(model._codes, n, n_classes, "codes")
    _check_codes(np.asarray([model._most_frequent]), 1, n_classes, "most frequent class")
    walk = np.asarray(model._walk, dtype=np.float64)  # of shares and gamma_g, which may be inf
    _require(walk.ndim == 2 and walk.shape[1] == 2 and not np.isnan(walk).any(), "walk")


def _check_rows(X: Any, d: int, what: str) -> None:
    """Refuse what is no matrix of finite numbers with d columns."""
    if sparse.issparse(X):
        _require(X.format == "csr" and X.shape[1] == d, what)
        X.check_format(full_check=True)  # all indices are within the matrix
        X = X.data[:, None]
        d = 1
    _require(_are_finite(X, (None, d)), what)


def _check_codes(codes: Any, n: int | None, limit: int, what: str) -> None:
    """Refuse what is no array of n integers in 0..limit - 1."""
    _require(_is_array(codes, (n,), "i"), what)
    _require(bool(((codes >= 0) & (codes < limit)).all()), what)


def _check_fields(part: Any, known: type[Any]) -> None:
    """Refuse what is not a dataclass with just its own fields."""
    right = type(part) is known and set(vars(part)) == {field.name for field in fields(known)}
    _require(right, known.__name__)


def _are_finite(array: Any, shape: tuple[int | None, ...]) -> bool:
    return _is_array(array, shape, "f") and bool(np.isfinite(array).all())


def _is_array(array: Any, shape: tuple[int | None, ...], kinds: str) -> bool:
    """Tell whether this is an array of a shape, None being any number, and one of the kinds."""
    return (
        type(array) is np.ndarray
        and array.dtype.kind in kinds
        and array.ndim == len(shape)
        and all(want in (None, size) for want, size in zip(shape, array.shape, strict=True))
    )


def _require(fits: bool, what: str) -> None:
    if not fits:
        msg = f"has `{what}` that do not fit; save the model again"
        raise ModelFileError(msg)
