"""Checks that the parts of a model from a file fit together.

Every value has the type of its field (see `records`). But compiled code does not check whether an
index is outside of an array. So all indices, all shapes, and numbers with a range are checked here.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._rows import MAGNITUDES
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.harmonic.walk_part import PointGraph, WalkPart
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.machine_part import MachinePart
from graphmargin.models.array_model import ArrayModel
from graphmargin.models.model_errors import require
from graphmargin.models.table_model import TableModel
from graphmargin.search.predictor import Predictor, WeightedPart

MAX_MAGNITUDE = MAGNITUDES["float64"][1]
"""Magnitude at which features of tables are cut."""
ROUNDING = 1e-9
"""Amount by which rounding may let a probability exceed 1."""


def check_model(model: ArrayModel | TableModel) -> None:
    """Raise `ModelFileError` with the name of a part if the parts of a model do not fit together.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from graphmargin import SupervisedSVC
    >>> from graphmargin.models.array_model import array_model_of
    >>> model = array_model_of(SupervisedSVC().fit([[0.0], [1.0]], ["a", "b"]))
    >>> check_model(replace(model, n_features=3))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    graphmargin.models.model_errors.ModelFileError: has an invalid field `vectors`; save ...
    """
    if isinstance(model, TableModel):
        _check_table_model(model)
    else:
        names, d = model.feature_names, model.n_features
        require(d >= 1 and (names is None or len(names) == d), "feature_names")
        for scaler in model.scalers:
            center, scale = scaler.center, scaler.scale
            require(center is None or center.shape == (d,), "center")
            require(scale is None or (scale.shape == (d,) and bool((scale != 0).all())), "scale")
        _check_predictor(model.predictor, d)
    if model.held_out is not None:
        _check_held_out(model.held_out, len(model.predictor.classes))


def _check_table_model(model: TableModel) -> None:
    import pandas as pd

    features = model.features
    for use in features.columns:
        invalid = use.invalid
        if invalid is not None:
            require(len(invalid.rows) in (0, len(invalid.values)), "invalid")
    # The features of a row of missing values reveal wrong shapes in all encoders.
    row = pd.DataFrame({use.name: [None] for use in features.columns}, dtype=object)
    X = features.transform(row)
    d = X.shape[1]
    require(d == features.n_features >= 1 and (np.abs(X) < MAX_MAGNITUDE).all(), "encoders")
    _check_predictor(model.predictor, d)


def _check_predictor(predictor: Predictor, d: int) -> None:
    require(predictor.classes.ndim == 1 and len(predictor.classes) >= 2, "classes")
    n_classes, costs, parts = len(predictor.classes), predictor.class_weight, predictor.parts
    require(len(parts) >= 1 and all(part.weight > 0 for part in parts), "parts")
    require(abs(sum(part.weight for part in parts) - 1) <= ROUNDING, "parts")
    if costs is None:
        require(len(parts) == 1 and parts[0].calibration is None, "parts")
    else:
        require(costs.shape in ((1,), (n_classes,)) and bool((costs > 0).all()), "class_weight")
    for part in parts:
        _check_weighted_part(part, d, n_classes)


def _check_weighted_part(weighted: WeightedPart, d: int, n_classes: int) -> None:
    factors, calibration = weighted.view.factors, weighted.calibration
    require(factors is None or factors.shape == (d,), "factors")
    if calibration is not None:  # of class probabilities, which have no pairs
        scales = np.ones(n_classes * (n_classes - 1) // 2)
        _check_calibration(replace(calibration, pair_scales=scales), n_classes)
    if isinstance(weighted.part, MachinePart):
        _check_machine_part(weighted.part, d, n_classes)
    else:
        _check_walk(weighted.part, d, n_classes)


def _check_machine_part(part: MachinePart, d: int, n_classes: int) -> None:
    _check_calibration(part.calibration, n_classes)
    _check_machine(part.machine, d, n_classes)
    require((part.walk is not None) == (part.calibration.graph_weight > 0), "walk")
    if part.walk is not None:
        _check_walk(part.walk, d, n_classes)


def _check_calibration(calibration: Calibration, n_classes: int) -> None:
    scales, weight = calibration.pair_scales, calibration.graph_weight
    require(
        0 < calibration.inverse_temperature < math.inf and 0 <= calibration.uniform_share <= 1,
        "calibration",
    )
    require(0 <= weight < math.inf and (weight == 0 or n_classes > 2), "graph_weight")
    require(scales.shape == (n_classes * (n_classes - 1) // 2,), "pair_scales")
    require(bool((scales > 0).all()), "pair_scales")
    require(calibration.offsets.shape in ((1,), (n_classes,)), "offsets")


def _check_machine(machine: MarginMachine, d: int, n_classes: int) -> None:
    vectors, center = machine.vectors, machine.center
    n_pairs, n_vectors = n_classes * (n_classes - 1) // 2, d
    if machine.kernel.kind == "precomputed":
        _check_codes(vectors, d, "vectors")
        n_vectors = len(vectors)
    elif machine.kernel.kind != "linear" or vectors is not None:
        _check_rows(vectors, d, "vectors")
        n_vectors = vectors.shape[0]
    require(machine.n_classes == n_classes, "n_classes")
    _check_rows(machine.coefficients, n_pairs, "coefficients")
    require(machine.coefficients.shape[0] == n_vectors, "coefficients")
    require(machine.intercepts.shape == (n_pairs,), "intercepts")
    require(isinstance(center, float) or np.shape(center) == (d,), "center")


def _check_held_out(held_out: HeldOutPredictions, n_classes: int) -> None:
    h = len(held_out.codes)
    _check_codes(held_out.codes, n_classes, "held_out")
    require(h >= 1 and held_out.rows is None and 0 <= held_out.uniform_share <= 1, "held_out")
    if held_out.weighted_codes is not None:
        _check_codes(held_out.weighted_codes, n_classes, "weighted_codes")
        require(len(held_out.weighted_codes) == h, "weighted_codes")
    shapes = {"probabilities": (h, n_classes), "class_shares": (n_classes,)}
    for name, shape in {**shapes, "confusion": (n_classes, n_classes)}.items():
        shares = getattr(held_out, name)
        require(
            shares.shape == shape and bool(((shares >= 0) & (shares <= 1 + ROUNDING)).all()), name
        )


def _check_walk(part: WalkPart, d: int, n_classes: int) -> None:
    n = len(part.codes)
    _check_codes(part.codes, n_classes, "codes")
    require(0 <= part.majority < n_classes, "majority")
    require(part.class_mass.shape == (n, n_classes), "class_mass")
    are_valid = [0 < weight < math.inf and rate >= 0 for weight, rate in part.sinks]
    require(len(are_valid) >= 1 and all(are_valid), "sinks")
    if part.points is None:  # new points come with a weight for each vertex
        require(n == d, "codes")
    else:
        _check_points(part.points, n, d)


def _check_points(points: PointGraph, n: int, d: int) -> None:
    _check_rows(points.search.X, d, "X")
    require(points.search.X.shape[0] == n, "X")
    require(0 <= points.search.seed < 2**32, "seed")
    require(1 <= points.n_neighbors <= n, "n_neighbors")
    require(0 < points.width < math.inf, "width")


def _check_rows(X: Any, d: int, part: str) -> None:
    """Raise an error unless X is a matrix of d columns; sparse ones must have valid indices."""
    if sparse.issparse(X):
        X.check_format(full_check=True)  # raises ValueError for invalid indices
    else:
        require(isinstance(X, np.ndarray) and X.dtype.kind == "f" and X.ndim == 2, part)
    require(bool(np.isfinite(X.data if sparse.issparse(X) else X).all()), part)
    require(X.shape[1] == d, part)


def _check_codes(codes: Any, limit: int, part: str) -> None:
    """Raise an error unless codes are integers in 0..limit - 1."""
    require(isinstance(codes, np.ndarray) and codes.dtype.kind == "i" and codes.ndim == 1, part)
    require(bool(((codes >= 0) & (codes < limit)).all()), part)
