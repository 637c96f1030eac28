"""Conversion of models to trees of records, and back.

A record is a JSON mapping with a `type` and a value for each field. The `type` is the name of one
of the types that are listed here, which hold data and run no code; a file cannot refer to other
code. Arrays are separate entries, to which the tree refers by number.
"""

from __future__ import annotations

import math
import typing
from collections.abc import Callable, Mapping, Sequence
from types import UnionType
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from scipy import sparse

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.graph.neighbors import NeighborSearch
from graphmargin.harmonic.walk_part import PointGraph, WalkPart
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport
from graphmargin.margin.machine_part import MachinePart
from graphmargin.models.array_model import ArrayModel
from graphmargin.models.column_scaler import ColumnScaler
from graphmargin.models.model_errors import ModelFileError, require
from graphmargin.models.table_model import TableModel
from graphmargin.search.member import View
from graphmargin.search.predictor import Predictor, WeightedPart


class Record(NamedTuple):
    """A type of record: its Python type, its fields with their types, and its constructor."""

    type: type[Any]
    fields: Mapping[str, Any]
    make: Callable[..., Any]


Records: TypeAlias = Mapping[str, Record]
POSITIVE_FIELDS = frozenset(
    {"C", "missing_indicator", "one_hot_value", "scale", "inverse_temperature", "weight", "width"}
)
"""Fields whose numbers are positive in records of all types."""
INFINITE_FIELDS = frozenset({"sinks"})
"""Fields whose numbers may be infinite: with an infinite gamma_g, all walks end in the sink."""


def encode(model: Any, records: Records) -> tuple[Any, list[AnyArray]]:
    """Return a model as a tree of JSON values, and the arrays that the tree refers to.

    Examples
    --------
    >>> encode(Kernel("rbf", width=np.float64(0.5)), ARRAY_RECORDS)[0]
    {'type': 'kernel', 'kind': 'rbf', 'width': 0.5, 'degree': 3, 'coef0': 1.0}
    """
    names = {record.type: name for name, record in records.items()}
    arrays: dict[int, tuple[int, AnyArray]] = {}  # by identity: parts of a blend may share rows

    def to_json(value: Any) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        elif sparse.issparse(value):
            value = sparse.csr_array(value)
        if type(value) in names:
            name = names[type(value)]
            stored = {field: to_json(getattr(value, field)) for field in records[name].fields}
            return {"type": name, **stored}
        if isinstance(value, np.ndarray) and value.dtype.kind == "O":
            return {"type": "texts", "values": to_json(value.tolist())}
        if isinstance(value, np.ndarray):
            number, _ = arrays.setdefault(id(value), (len(arrays), value))
            return {"type": "array", "number": number}
        if isinstance(value, list | tuple):
            return [to_json(part) for part in value]
        if isinstance(value, float) and not math.isfinite(value):
            return {"type": "number", "value": repr(value)}
        if value is None or isinstance(value, str | bool | int | float):
            return value
        msg = (
            f"a model file cannot store a {type(value).__name__}, got {value!r:.100}; leave out "
            "members with methods of your own, or pickle the classifier"
        )
        raise ModelFileError(msg)

    return to_json(model), [array for _, array in arrays.values()]


def decode(tree: Any, arrays: Sequence[AnyArray], records: Records) -> Any:
    """Return the model of a tree of JSON values and its arrays; lists become tuples.

    Examples
    --------
    >>> tree = {"type": "kernel", "kind": "rbf", "width": 0.5, "degree": 3, "coef0": 1.0}
    >>> decode(tree, [], ARRAY_RECORDS)
    Kernel(kind='rbf', width=0.5, degree=3, coef0=1.0)
    """
    if isinstance(tree, list):
        return tuple(decode(part, arrays, records) for part in tree)
    if not isinstance(tree, dict):
        return tree
    values = {field: decode(part, arrays, records) for field, part in tree.items()}
    name = values.pop("type", None)
    if name == "array":
        return arrays[values["number"]]
    if name == "number":
        return float(values["value"])
    if name == "texts":
        require(conforms(values["values"], tuple[str, ...]), name)
        return np.array(values["values"], dtype=object)
    if name not in records:
        msg = f"has a record of unknown type {name!r:.100}; do not trust this file"
        raise ModelFileError(msg)
    record = records[name]
    require(set(values) == set(record.fields), name)
    for field, hint in record.fields.items():
        require(conforms(values[field], hint, finite=field not in INFINITE_FIELDS), field)
        is_number = type(values[field]) in (int, float)
        require(not is_number or field not in POSITIVE_FIELDS or values[field] > 0, field)
    return record.make(**values)


def conforms(value: Any, hint: Any, *, finite: bool = True) -> bool:
    """Return whether a value has exactly the type of a hint.

    Numbers must be finite, also those in arrays; with `finite=False`, single ones may be infinite.

    Examples
    --------
    >>> conforms((1, 2.5), tuple[float, ...]), conforms(True, int), conforms("a", str | None)
    (True, False, True)
    """
    origin, parts = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, UnionType):
        return any(conforms(value, part, finite=finite) for part in parts)
    if origin is typing.Literal:
        return type(value) is str and value in parts
    if origin is tuple and type(value) is tuple:
        each = parts[:1] * len(value) if parts[-1] is ... else parts
        return len(each) == len(value) and all(
            conforms(item, part, finite=finite) for item, part in zip(value, each, strict=True)
        )
    if origin is np.ndarray and type(value) is np.ndarray:
        scalar = typing.get_origin(typing.get_args(parts[1])[0])  # None for arrays of any type
        is_right = scalar is None or issubclass(value.dtype.type, scalar)
        return is_right and (value.dtype.kind != "f" or bool(np.isfinite(value).all()))
    if hint is float:
        is_number = type(value) is float or (type(value) is int and abs(value) < 2**63)
        return is_number and (math.isfinite(value) if finite else not math.isnan(value))
    return hint is Any or type(value) is hint


def _records_of(types: Mapping[str, type[Any]]) -> dict[str, Record]:
    """Return the records of types whose annotations are the arguments of their constructors."""
    records = {}
    for name, plain in types.items():
        hints = typing.get_type_hints(plain).items()
        fields = {key: hint for key, hint in hints if typing.get_origin(hint) != typing.ClassVar}
        records[name] = Record(plain, fields, plain)
    return records


def _sparse_rows(shape: Any, data: Any, indices: Any, indptr: Any) -> sparse.csr_array:
    return sparse.csr_array((data, indices, indptr), shape=shape)


ARRAY_RECORDS: Records = {
    **_records_of(
        {
            "predictor": Predictor,
            "view": View,
            "column-scaler": ColumnScaler,
            "machine-part": MachinePart,
            "machine": MarginMachine,
            "kernel": Kernel,
            "training-report": TrainingReport,
            "calibration": Calibration,
            "walk-part": WalkPart,
            "point-graph": PointGraph,
            "held-out-predictions": HeldOutPredictions,
        }
    ),
    "weighted-part": Record(
        WeightedPart,
        {
            "part": MachinePart | WalkPart,
            "weight": float,
            "calibration": Calibration | None,
            "view": View,
        },
        WeightedPart,
    ),
    "neighbor-search": Record(
        # The number of threads depends on the machine that predicts.
        NeighborSearch,
        {"X": Any, "seed": int},
        NeighborSearch,
    ),
    "sparse-rows": Record(
        sparse.csr_array,
        {"shape": tuple[int, int], "data": FloatArray, "indices": IntArray, "indptr": IntArray},
        _sparse_rows,
    ),
    "array-model": Record(
        ArrayModel,
        {
            "predictor": Predictor,
            "n_features": int,
            "feature_names": tuple[str, ...] | None,
            "held_out": HeldOutPredictions | None,
            "scalers": tuple[ColumnScaler, ...],
        },
        ArrayModel,
    ),
}
"""Records of models for arrays, by the names of their types."""


def table_records() -> Records:
    """Return the records of models for tables, by the names of their types; imports pandas."""
    from graphmargin.tables import encoders
    from graphmargin.tables.column_names import ColumnUse
    from graphmargin.tables.invalid_cells import InvalidCells
    from graphmargin.tables.table_features import TableFeatures

    model = {
        "features": TableFeatures,
        "predictor": Predictor,
        "target": str,
        "held_out": HeldOutPredictions | None,
    }
    return {
        **ARRAY_RECORDS,
        **_records_of(
            {
                "column": ColumnUse,
                "invalid-cells": InvalidCells,
                "number-encoder": encoders.NumberEncoder,
                "category-encoder": encoders.CategoryEncoder,
                "date-encoder": encoders.DateEncoder,
                "text-encoder": encoders.TextEncoder,
                "embedding-encoder": encoders.EmbeddingEncoder,
                "table-features": TableFeatures,
            }
        ),
        "table-model": Record(TableModel, model, TableModel),
    }
