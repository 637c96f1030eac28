"""Every part of a model that predictions rely on, replaced by one that does not fit."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from graphmargin import HarmonicClassifier, SupervisedSVC
from graphmargin.models.array_model import array_model_of
from graphmargin.models.model_errors import ModelFileError, model_file_errors
from graphmargin.models.records import decode, encode, table_records
from graphmargin.models.validation import check_model

CALIBRATION = {
    "type": "calibration",
    "inverse_temperature": 1.0,
    "uniform_share": 0.5,
    "graph_weight": 0.0,
    "pair_scales": np.ones(3),
    "offsets": np.zeros(1),
}
WEIGHTED, PART = "predictor.parts.0", "predictor.parts.0.part"
MACHINE, POINTS, WALK = f"{PART}.machine", f"{PART}.points", f"{PART}.walk"
UNITS = f"{PART}.calibration.pair_scales"
V = 7  # support vectors of the model below, in 4 dimensions, of 3 classes, hence 3 pairs


def sparse_rows(index, value=1.0, d=4):
    """Return the record of a matrix with one number; SciPy does not look at its place."""
    arrays = {"data": np.array([value]), "indices": np.array([index])}
    indptr = np.array([0] + [1] * V)
    return {"type": "sparse-rows", "shape": [V, d], **arrays, "indptr": indptr}


SCALER = "scalers.0"
PIPELINE = [  # a scaler of four features before a machine
    *((f"{SCALER}.center", value) for value in (np.ones(3), np.full(4, np.nan), 1.0, [1.0] * 4)),
    *((f"{SCALER}.scale", value) for value in (np.ones(3), np.array([1.0, 0.0, 1.0, 1.0]), "1")),
    *(("scalers", value) for value in (None, [CALIBRATION], [None])),
]
MARGIN = [
    *(("n_features", value) for value in (3, 0, "4", None, True)),
    *(("feature_names", value) for value in (["a"], [1, 2, 3, 4], "abcd", CALIBRATION)),
    ("predictor", None),
    *(("predictor.classes", np.array(labels)) for labels in ([0, 1], [0], [[0], [1], [2]])),
    *(("predictor.classes", value) for value in ([0, 1, 2], None)),
    *(("predictor.parts", value) for value in ([], None, [CALIBRATION])),
    ("predictor.class_weight", np.ones(2)),
    ("predictor.class_weight", np.array([1.0, 0.0, 1.0])),
    *((f"{WEIGHTED}.weight", value) for value in (0.0, 0.5, -1.0, np.nan, "1", None)),
    *((WEIGHTED, value) for value in (None, CALIBRATION)),
    *((PART, value) for value in (None, CALIBRATION, [])),
    (f"{WEIGHTED}.calibration", CALIBRATION),
    *((f"{WEIGHTED}.view", value) for value in (None, "light", CALIBRATION)),
    *((f"{PART}.calibration.inverse_temperature", value) for value in (0.0, np.nan, np.inf, "1")),
    *((f"{PART}.calibration.uniform_share", value) for value in (1.5, -0.5, np.nan)),
    (f"{PART}.calibration", [1.0, 0.5]),
    *((f"{PART}.calibration.graph_weight", value) for value in (1.0, -1.0, np.nan, None)),
    *((UNITS, np.array(value)) for value in ([1.0, 1.0], [1.0, 0.0, 1.0], [[1.0, 1.0, 1.0]])),
    *((UNITS, np.array([1.0, 1.0, bad])) for bad in (np.nan, np.inf, -1.0)),
    *((UNITS, value) for value in (1.0, None, [1.0, 1.0, 1.0])),
    *((f"{PART}.walk", value) for value in (CALIBRATION, [])),
    *((f"{MACHINE}.vectors", np.zeros(shape)) for shape in ((V, 3), (V - 1, 4), V, (V, 4, 1))),
    *((f"{MACHINE}.vectors", np.full((V, 4), bad)) for bad in (np.nan, np.inf, 0, "0")),
    *((f"{MACHINE}.vectors", value) for value in (None, [[0.0] * 4] * V)),
    *((f"{MACHINE}.vectors", sparse_rows(index)) for index in (10**6, 4, -5)),
    *((f"{MACHINE}.vectors", sparse_rows(0, **odd)) for odd in ({"value": np.nan}, {"d": 3})),
    *((f"{MACHINE}.coefficients", np.zeros(shape)) for shape in ((V - 1, 3), (V, 1), V * 3)),
    (f"{MACHINE}.coefficients", np.full((V, 3), np.inf)),
    *((f"{MACHINE}.intercepts", value) for value in (np.zeros(1), np.zeros(3, int), 0.0)),
    *((f"{MACHINE}.n_classes", value) for value in (2, True, 3.0)),
    *((f"{MACHINE}.center", value) for value in (np.zeros(1), "0", None)),
    *((f"{MACHINE}.kernel", value) for value in (None, "rbf", CALIBRATION)),
    *((f"{MACHINE}.kernel.kind", value) for value in ("sigmoid", "precomputed", None)),
    *((f"{MACHINE}.kernel.width", value) for value in (-1.0, 0, np.nan, "1")),
    *((f"{MACHINE}.kernel.degree", value) for value in (0, 2.5)),
    (f"{MACHINE}.report", None),
    (f"{MACHINE}.report.solver", "exec"),
]
HELD_OUT = [
    *(("held_out.codes", np.full(12, code)) for code in (3, -1, 0.0)),
    *(("held_out.codes", np.zeros(shape, int)) for shape in (11, (12, 1), 0)),
    *(("held_out.probabilities", np.full(shape, 0.5)) for shape in ((12, 2), (11, 3), 36)),
    *(("held_out.probabilities", np.full((12, 3), bad)) for bad in (-0.1, 1.5, np.nan, 1)),
    ("held_out.rows", np.arange(12)),
    *(("held_out.weighted_codes", np.full(shape, code)) for shape, code in ((11, 0), (12, 3))),
    *(("held_out.uniform_share", value) for value in (-0.1, 1.5, np.nan, None)),
    *(("held_out.class_shares", value) for value in (np.ones(2), np.full(3, -1.0), 1.0)),
    *(("held_out.confusion", value) for value in (np.ones((2, 2)), np.full((3, 3), 2.0), None)),
    *(("held_out", value) for value in (CALIBRATION, [], "all")),
]
GRAPH = [
    *((f"{PART}.calibration.graph_weight", value) for value in (0.0, -1.0, np.inf)),
    *((f"{PART}.walk", value) for value in ([], None, CALIBRATION)),
    *((f"{WALK}.class_mass", np.zeros(shape)) for shape in ((60, 2), (59, 3), 60)),
    (f"{WALK}.class_mass", None),
    (f"{WALK}.sinks", [[1.0, -1.0]]),
    (f"{WALK}.points", None),
    *((f"{WALK}.points.search.X", np.zeros(shape)) for shape in ((60, 3), (59, 4))),
    (f"{WALK}.points.n_neighbors", 61),
]
PRECOMPUTED = [
    (f"{MACHINE}.vectors", np.arange(60 - V + 1, 61)),
    (f"{MACHINE}.vectors", np.arange(-1, V - 1)),
    (f"{MACHINE}.vectors", np.arange(float(V))),
    (f"{MACHINE}.vectors", np.zeros((V, 60))),
    (f"{MACHINE}.vectors", None),
]
LINEAR = [
    (f"{MACHINE}.coefficients", np.zeros((3, 3))),
    (f"{MACHINE}.kernel.kind", "rbf"),
    (f"{MACHINE}.vectors", np.zeros((4, 3))),
]
HARMONIC = [
    *((f"{PART}.codes", np.full(60, code)) for code in (3, -1, 0.0)),
    *((f"{PART}.codes", np.zeros(shape, int)) for shape in (59, (60, 1))),
    *((f"{PART}.majority", value) for value in (3, -1, 0.5)),
    ("predictor.parts", []),
    *((f"{PART}.class_mass", np.zeros(shape)) for shape in ((60, 2), (59, 3), 60)),
    (f"{PART}.class_mass", np.full((60, 3), np.nan)),
    *((f"{PART}.sinks", value) for value in ([], [[1.0]], [[1.0, -1.0]], [[0.0, 1.0]], [1.0])),
    (f"{PART}.sinks.0.1", np.nan),
    (POINTS, None),
    *((f"{POINTS}.search.X", np.zeros(shape)) for shape in ((60, 3), (59, 4), 60)),
    (f"{POINTS}.search.X", np.full((60, 4), np.nan)),
    (f"{POINTS}.search", np.zeros((60, 4))),
    *((f"{POINTS}.search.seed", value) for value in (-1, 2**32, None)),
    *((f"{POINTS}.width", value) for value in (np.nan, np.inf, 0.0, -1.0, None)),
    *((f"{POINTS}.n_neighbors", value) for value in (0, 61, 2.5)),
    (f"{POINTS}.metric", "far"),
]

ENCODERS = "features.encoders"  # number, category, date, text, vector
TABLE = [
    *((f"{ENCODERS}.{i}.scale", value) for i in (0, 3, 4) for value in (0.0, -1.0, np.nan)),
    (f"{ENCODERS}.0.center", np.inf),
    *((f"{ENCODERS}.0.missing_indicator", value) for value in (np.inf, np.nan, 0.0)),
    (f"{ENCODERS}.0.name", "weight"),
    (f"{ENCODERS}.1.values", ["red", "red", "blue"]),
    (f"{ENCODERS}.1.values", ["red"]),
    *((f"{ENCODERS}.1.one_hot_value", value) for value in (np.nan, np.inf, 0.0, -1.0, "1")),
    (f"{ENCODERS}.2.median", "yesterday"),
    (f"{ENCODERS}.2.has_times", False),
    (f"{ENCODERS}.2.scale", np.ones(3)),
    (f"{ENCODERS}.3.vocabulary", ["red", "sky"]),
    (f"{ENCODERS}.3.vocabulary.0", "red"),
    (f"{ENCODERS}.3.vocabulary.0", 1),
    (f"{ENCODERS}.3.idf", np.ones(3)),
    (f"{ENCODERS}.3.components", None),
    (f"{ENCODERS}.3.components", np.zeros((30, 3))),
    (f"{ENCODERS}.4.center", np.zeros(4)),
    (f"{ENCODERS}.4.center", np.full(3, np.nan)),
    (ENCODERS, []),
    ("features.columns.0.role", "code"),
    (
        "features.columns.0.invalid",
        {"type": "invalid-cells", "n_cells": 1, "values": ["x"], "rows": [1, 2]},
    ),
    *((f"{ENCODERS}.0.lenient", value) for value in (1, None)),
    ("features.columns", []),
    ("features", None),
    ("predictor.classes", np.array(["cat"])),
    ("predictor.classes", np.array([["cat", "dog"]])),
    ("predictor.classes", {"type": "texts", "values": ["cat", 1]}),
    ("target", [1]),
]
VIEW, MIXED = "predictor.parts.0.view", "predictor.parts.1"
MIXTURE = [  # a machine under a view of four features, and a harmonic solution
    *((f"{VIEW}.factors", np.ones(shape)) for shape in (3, (4, 1), (1, 4), 0)),
    *((f"{VIEW}.factors", np.full(4, bad)) for bad in (np.nan, np.inf, 1, "1")),
    *((f"{VIEW}.factors", value) for value in (1.0, [1.0] * 4, "light", CALIBRATION)),
    *((f"{VIEW}.name", value) for value in (None, 1)),
    *((f"{MIXED}.weight", value) for value in (0.0, -0.5, 0.9, np.nan, None)),
    *((f"{MIXED}.calibration.inverse_temperature", value) for value in (0.0, np.inf)),
    *((f"{MIXED}.calibration.uniform_share", value) for value in (1.5, -0.5)),
    (f"{MIXED}.part.codes", np.full(60, 3)),
    *(("predictor.class_weight", value) for value in (None, np.ones(2), -np.ones(1), 1.0)),
    ("predictor.parts", []),
]


@pytest.fixture(scope="module")
def models(data, fitted, cut_with_graph, ensemble_with_view, table_model):
    X, y = data
    classifiers = {
        "margin": fitted,
        "precomputed": SupervisedSVC(kernel="precomputed").fit(X @ X.T, y),
        "linear": SupervisedSVC(kernel="linear").fit(X, y),
        "graph": cut_with_graph,
        "harmonic": HarmonicClassifier().fit(X, y),
        "held out": SupervisedSVC(C=[1.0, 10.0]).fit(X, y),
        "mixture": ensemble_with_view,
        "pipeline": make_pipeline(StandardScaler(), SupervisedSVC()).fit(X, y),
    }
    models = {name: array_model_of(classifier) for name, classifier in classifiers.items()}
    for name in ("graph", "held out", "mixture"):  # `save_model` leaves out the numbers of rows
        held_out = replace(models[name].held_out, rows=None)
        models[name] = replace(models[name], held_out=held_out)
    return {**models, "table": table_model}


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        *(("margin", *case) for case in MARGIN),
        *(("pipeline", *case) for case in PIPELINE),
        *(("held out", *case) for case in HELD_OUT),
        *(("graph", *case) for case in GRAPH),
        *(("precomputed", *case) for case in PRECOMPUTED),
        *(("linear", *case) for case in LINEAR),
        *(("harmonic", *case) for case in HARMONIC),
        *(("table", *case) for case in TABLE),
        *(("mixture", *case) for case in MIXTURE),
    ],
)
def test_an_invalid_part_raises_an_error_with_its_name(name, place, value, models, put):
    records = table_records()
    tree, arrays = encode(models[name], records)
    assert place in places(tree)
    put(tree, place, value)  # `decode` leaves arrays in a tree as they are
    with pytest.raises(ModelFileError, match=r"^a (has|is no)"), model_file_errors(Path("a")):
        check_model(decode(tree, arrays, records))


def places(tree, prefix=""):
    """Return the values of a tree by their places, such as ``parts.0.weight``."""
    if not isinstance(tree, dict | list):
        return {}
    found = {}
    for key, value in tree.items() if isinstance(tree, dict) else enumerate(tree):
        found |= {f"{prefix}{key}": value, **places(value, f"{prefix}{key}.")}
    return found


def test_no_field_may_be_nan_or_infinite_except_for_sinks(models, put):
    records = table_records()
    for model in models.values():
        original, _ = encode(model, records)
        floats = [place for place, value in places(original).items() if type(value) is float]
        for place in floats:
            for bad in (np.nan, -np.inf) if ".sinks." in place else (np.nan, np.inf, -np.inf):
                tree, arrays = encode(model, records)
                put(tree, place, bad)
                with pytest.raises(ModelFileError):
                    check_model(decode(tree, arrays, records))


def test_the_unchanged_models_are_valid(models):
    assert models["margin"].predictor.part.machine.vectors.shape == (V, 4)
    for model in models.values():
        check_model(decode(*encode(model, table_records()), table_records()))
