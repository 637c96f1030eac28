"""What counts as a label, and what as its absence.

Unlabeled is -1 in numeric arrays, NaN in float arrays, "" in string arrays, and any of -1, None,
NaN, ``pandas.NA`` and "" in object arrays (hence in Series and lists).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils.validation import column_or_1d

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray

UNLABELED = -1
"""The code of an unlabeled row."""

MARKERS = "-1, None, NaN or ''"


@dataclass(frozen=True)
class EncodedLabels:
    """Labels as codes 0..c-1 into the sorted `classes`, -1 where there is no label."""

    classes: AnyArray
    codes: IntArray

    @property
    def labeled(self) -> BoolArray:
        """Mask of the rows with a label."""
        return np.asarray(self.codes != UNLABELED)

    @property
    def one_hot(self) -> FloatArray:
        """(n, c) indicator matrix; an unlabeled row is zero."""
        return np.asarray(self.codes[:, None] == np.arange(len(self.classes)), dtype=np.float64)


def encode_labels(y: npt.ArrayLike) -> EncodedLabels:
    """Return the classes and codes of partly labeled `y`, at least two classes required.

    Examples
    --------
    >>> encode_labels(["cat", None, "dog", ""]).codes.tolist()
    [0, -1, 1, -1]
    >>> encode_labels([7, -1, 3]).classes.tolist()
    [3, 7]
    """
    values = column_or_1d(_as_array(y), warn=True)
    if values.dtype.kind in "OT":
        values, missing = _objects(values)
    else:
        missing = is_unlabeled(values)
    if missing.all():
        msg = f"`y` has no label: all {len(values)} rows are unlabeled ({MARKERS}); label a few"
        raise ValueError(msg)
    given = values[~missing]
    _check_label_type(given)
    classes, inverse = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        msg = (
            f"`y` has one class only ({classes.tolist()[0]!r}); label rows of at least two classes "
            f"(unlabeled is {MARKERS})"
        )
        raise ValueError(msg)
    codes = np.full(len(values), UNLABELED, dtype=np.int64)
    codes[~missing] = inverse
    return EncodedLabels(classes, codes)


def decode_labels(classes: AnyArray, codes: IntArray) -> AnyArray:
    """Return the class of each code, and the marker for unlabeled where the code is -1.

    Examples
    --------
    >>> decode_labels(np.array(["cat", "dog"]), np.array([1, -1])).tolist()
    ['dog', '']
    """
    return hide_labels(classes[codes], codes == UNLABELED)


def hide_labels(y: AnyArray, hidden: BoolArray) -> AnyArray:
    """Return `y` with its own kind of marker for unlabeled in the `hidden` rows.

    The marker is -1 for signed integers, NaN for floats, "" for strings; all else becomes an
    object array with None.
    """
    if not hidden.any():
        return y
    markers: dict[str, Any] = {"i": UNLABELED, "f": np.nan, "U": ""}
    y = y.copy() if y.dtype.kind in markers else y.astype(object)
    y[hidden] = markers.get(y.dtype.kind)
    return y


def is_unlabeled(values: AnyArray) -> BoolArray:
    """Return the mask of the unlabeled entries of an array that does not hold objects."""
    kind = values.dtype.kind
    if kind == "i":
        return np.asarray(values == UNLABELED)
    if kind == "f":
        return np.asarray(np.isnan(values) | (values == UNLABELED))
    if kind == "U":
        return np.asarray(values == "")
    return np.zeros(len(values), dtype=bool)


def _check_label_type(given: AnyArray) -> None:
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        msg = f"`y` has an infinite label; unlabeled is {MARKERS}"
        raise ValueError(msg)
    if given.dtype.kind == "f" and (given % 1 != 0).any():
        example = given[given % 1 != 0][0]
        msg = f"Unknown label type: continuous, such as {example}; `y` must hold classes"
        raise ValueError(msg)
    if given.dtype.kind not in "biufUS":
        msg = f"Unknown label type: {given.dtype}; labels are integers, strings or booleans"
        raise ValueError(msg)


def _as_array(y: npt.ArrayLike) -> AnyArray:
    """Return y as an array in which a missing entry keeps its meaning."""
    if y is None:
        msg = (
            "learning requires y to be passed, but the target y is None; pass one entry for each "
            f"row of X, unlabeled rows as {MARKERS}"
        )
        raise ValueError(msg)
    if hasattr(y, "to_list"):  # of pandas or polars: NumPy would turn missing integers into floats
        y = y.to_list()
    nested = isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray)
    if isinstance(y, list | tuple) and not nested:
        # NumPy would turn [1, "a"] into strings and ["a", nan] into "nan".
        objects = np.empty(len(y), dtype=object)
        objects[:] = y
        return objects
    return np.asarray(y)


def _objects(values: AnyArray) -> tuple[AnyArray, BoolArray]:
    """Return the labels with a plain dtype, and the mask of the missing ones."""
    distinct: dict[Any, int] = {}
    codes = np.fromiter(
        (distinct.setdefault(value, len(distinct)) for value in values.tolist()),
        dtype=np.int64,
        count=len(values),
    )
    present = [value for value in distinct if not _is_missing(value)]
    if len({isinstance(value, str) for value in present}) > 1:
        msg = f"`y` mixes strings and numbers: {present[:4]!r}; convert all labels to one type"
        raise ValueError(msg)
    table = np.array(present if present else [0])
    lookup = np.full(len(distinct), UNLABELED)
    lookup[[distinct[value] for value in present]] = np.arange(len(present))
    return table[lookup[codes]], lookup[codes] == UNLABELED


def _is_missing(value: Any) -> bool:
    """Tell whether one object means unlabeled."""
    if value is None or (isinstance(value, str) and value == ""):
        return True
    try:
        # NaN is not equal to itself, and pandas.NA refuses to say.
        return bool(value != value) or bool(value == UNLABELED)
    except TypeError:
        return True
