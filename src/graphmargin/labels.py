"""Labels, and the two rules for unlabeled rows: one for Python, one for tables."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray

_WHOLE_WITH_DECIMALS = re.compile(r"^([+-]?\d+)\.0+$")

UNLABELED = -1
"""The code of an unlabeled row."""


@dataclass(frozen=True)
class UnlabeledRule:
    """The values that mean that a row is unlabeled.

    None, NaN and ``pandas.NA`` always do. The two instances, `UNLABELED_IN_PYTHON` and
    `UNLABELED_IN_TABLES`, add other values.

    Attributes
    ----------
    description : str
        The rule in words, for error messages.
    values : tuple
        Values that mean unlabeled if they are equal: the number -1 does, the text "-1" does not.
    texts : tuple of str
        Texts that mean unlabeled for every value that reads like one of them, without surrounding
        blanks, and a whole number with or without decimals. Empty if text is taken literally.

    Examples
    --------
    >>> [UNLABELED_IN_PYTHON.is_unlabeled(value) for value in (-1, None, "", "nan", "-1")]
    [True, True, True, False, False]
    >>> rule = UNLABELED_IN_TABLES.with_texts(["?"])
    >>> [rule.is_unlabeled(cell) for cell in ("?", " ", "nan", -1)]
    [True, True, True, False]
    """

    description: str
    values: tuple[Any, ...] = ()
    texts: tuple[str, ...] = ()

    def with_texts(self, texts: Iterable[str]) -> UnlabeledRule:
        """Return the rule for which these texts mean unlabeled, too."""
        return replace(self, texts=tuple(sorted({*self.texts, *(text.strip() for text in texts)})))

    def is_unlabeled(self, value: Any) -> bool:
        """Tell whether a value means unlabeled."""
        if _is_missing(value) or any(value == marker for marker in self.values):
            return True
        return not self._readings(value).isdisjoint(self.texts)

    def mask(self, values: AnyArray) -> BoolArray:
        """Return the mask of the unlabeled entries of an array."""
        if values.dtype.kind not in "OT" and not self.texts:
            missing: BoolArray = np.asarray(values != values)
            for marker in self.values:
                missing |= values == marker
            return missing
        distinct: dict[Any, int] = {}
        positions = [distinct.setdefault(value, len(distinct)) for value in values.tolist()]
        unlabeled = np.array([self.is_unlabeled(value) for value in distinct], dtype=bool)
        return unlabeled[np.array(positions, dtype=np.int64)]

    def label_of(self, value: Any) -> Any:
        """Return the label of a value, None if it means unlabeled.

        In tables this is text without surrounding blanks, unless it is a number or a boolean.

        Examples
        --------
        >>> UNLABELED_IN_PYTHON.label_of(" cat"), UNLABELED_IN_TABLES.label_of(" cat")
        (' cat', 'cat')
        """
        if self.is_unlabeled(value):
            return None
        is_literal = not self.texts or isinstance(value, int | float)
        return value if is_literal else str(value).strip()

    def _readings(self, value: Any) -> set[str]:
        """Return the texts that a value reads like."""
        if not self.texts:
            return set()
        text = str(value).strip()
        return {text, _WHOLE_WITH_DECIMALS.sub(r"\1", text)}


UNLABELED_IN_PYTHON = UnlabeledRule("-1, None, NaN or ''", values=(UNLABELED, "", b""))
"""The rule for arrays, lists and Series, and for tables that Python code passes to an estimator."""

UNLABELED_IN_TABLES = UnlabeledRule(
    "an empty cell, NaN, None, <NA> or a value of `unlabeled`",
    texts=("", "<NA>", "NaN", "None", "nan"),
)
"""The rule for tables that commands read, where -1 is a class."""


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

    def without(self, rows: Any) -> EncodedLabels:
        """Return the labels of all rows but these, which become unlabeled."""
        codes = self.codes.copy()
        codes[rows] = UNLABELED
        return replace(self, codes=codes)


def encode_labels(y: npt.ArrayLike) -> EncodedLabels:
    """Return the classes and codes of partly labeled `y`, which must have at least two classes.

    Examples
    --------
    >>> encode_labels(["cat", None, "dog", ""]).codes.tolist()
    [0, -1, 1, -1]
    >>> encode_labels([7, -1, 3]).classes.tolist()
    [3, 7]
    """
    given, labeled = read_labels(y)
    if not labeled.any():
        msg = (
            f"`y` has no label: all {len(labeled)} rows are unlabeled "
            f"({UNLABELED_IN_PYTHON.description}); label rows of at least two classes"
        )
        raise ValueError(msg)
    _check_label_type(given)
    classes, codes_of_labeled = np.unique(given, return_inverse=True)
    if len(classes) < 2:
        msg = (
            f"`y` has only one class ({classes.tolist()[0]!r}); label rows of at least two classes "
            f"(unlabeled is {UNLABELED_IN_PYTHON.description})"
        )
        raise ValueError(msg)
    codes = np.full(len(labeled), UNLABELED, dtype=np.int64)
    codes[labeled] = codes_of_labeled
    return EncodedLabels(classes, codes)


def read_labels(y: npt.ArrayLike) -> tuple[AnyArray, BoolArray]:
    """Return the labels of partly labeled `y`, and the mask of the rows that have one.

    Examples
    --------
    >>> given, labeled = read_labels(["cat", None, "dog", ""])
    >>> given.tolist(), labeled.tolist()
    (['cat', 'dog'], [True, False, True, False])
    """
    values = _as_array(y)
    _check_entries(values)
    if values.ndim != 1:
        from sklearn.utils.validation import column_or_1d

        values = column_or_1d(values, warn=True)
    labeled = ~UNLABELED_IN_PYTHON.mask(values)
    given = values[labeled]
    return _with_plain_dtype(given) if len(given) else given, labeled


def decode_labels(classes: AnyArray, codes: IntArray) -> AnyArray:
    """Return the class of each code, and the marker of unlabeled rows where the code is -1.

    Examples
    --------
    >>> decode_labels(np.array(["cat", "dog"]), np.array([1, -1])).tolist()
    ['dog', '']
    """
    return set_unlabeled(classes[codes], codes == UNLABELED)


def set_unlabeled(y: AnyArray, rows: BoolArray) -> AnyArray:
    """Return a copy of `y` in which the rows of the mask are unlabeled.

    Unlabeled is -1 among signed integers, NaN among floats and "" among strings; other types become
    an object array with None.

    Examples
    --------
    >>> set_unlabeled(np.array([3, 7]), np.array([True, False])).tolist()
    [-1, 7]
    """
    if not rows.any():
        return y
    markers: dict[str, Any] = {"i": UNLABELED, "f": np.nan, "U": ""}
    y = y.copy() if y.dtype.kind in markers else y.astype(object)
    y[rows] = markers.get(y.dtype.kind)
    return y


def is_label(value: Any) -> bool:
    """Tell whether a value is a single value, which can be a label or mean unlabeled.

    Examples
    --------
    >>> [is_label(value) for value in ("cat", 3, None, [3], ("cat",), {"kind": "cat"})]
    [True, True, True, False, False, False]
    """
    if isinstance(value, str | bytes):
        return True
    return isinstance(value, Hashable) and not isinstance(value, Iterable)


def _check_entries(values: AnyArray) -> None:
    """Raise ValueError for lists, mappings and other collections in place of labels."""
    if values.dtype.kind == "V":
        msg = f"Unknown label type: {values.dtype}; labels in `y` are integers, strings or booleans"
        raise ValueError(msg)
    if values.dtype.kind != "O":
        return
    collection = next((value for value in values.ravel().tolist() if not is_label(value)), None)
    if collection is not None:
        msg = (
            f"`y` must hold one label for each row, got the {type(collection).__name__} "
            f"{collection!r:.100}; labels are integers, strings or booleans"
        )
        raise ValueError(msg)


def _check_label_type(given: AnyArray) -> None:
    if given.dtype.kind == "f" and not np.isfinite(given).all():
        msg = f"`y` has an infinite label; unlabeled is {UNLABELED_IN_PYTHON.description}"
        raise ValueError(msg)
    if given.dtype.kind == "f" and (given % 1 != 0).any():
        example = given[given % 1 != 0][0]
        msg = f"Unknown label type: continuous, such as {example}; `y` must hold classes"
        raise ValueError(msg)
    if given.dtype.kind not in "biufUS":
        msg = f"Unknown label type: {given.dtype}; labels in `y` are integers, strings or booleans"
        raise ValueError(msg)


def _as_array(y: npt.ArrayLike) -> AnyArray:
    """Return y as an array that keeps missing entries."""
    if y is None:
        msg = (
            "learning requires y to be passed, but the target y is None; pass one entry for each "
            f"row of X, unlabeled rows as {UNLABELED_IN_PYTHON.description}"
        )
        raise ValueError(msg)
    if isinstance(y, np.ma.MaskedArray):
        return set_unlabeled(np.ma.getdata(y), np.ma.getmaskarray(y))
    if hasattr(y, "to_list"):  # of pandas or polars: NumPy would turn missing integers into floats
        y = y.to_list()
    nested = isinstance(y, list | tuple) and len(y) and isinstance(y[0], list | tuple | np.ndarray)
    if isinstance(y, list | tuple) and not nested:
        # NumPy would turn [1, "a"] into strings and ["a", nan] into "nan".
        objects = np.empty(len(y), dtype=object)
        objects[:] = [None if value is np.ma.masked else value for value in y]
        return objects
    try:
        return np.asarray(y)
    except (ValueError, TypeError) as error:
        msg = f"`y` must hold one label for each row: {error}"
        raise ValueError(msg) from error


def _with_plain_dtype(given: AnyArray) -> AnyArray:
    """Return labels that are objects as an array of strings, numbers or booleans."""
    if given.dtype.kind not in "OT":
        return given
    labels = given.tolist()
    if len({isinstance(label, str) for label in labels}) > 1:
        examples = list(dict.fromkeys(labels))[:4]
        msg = f"`y` mixes strings and numbers, {examples!r}; convert all labels to one type"
        raise ValueError(msg)
    # NumPy converts integers below and above 2^63 to floats.
    is_large = all(type(label) is int and label >= 0 for label in labels) and max(labels) >= 2**63
    plain = np.array(labels, dtype=np.uint64 if is_large and max(labels) < 2**64 else None)
    # It also strips zero bytes from the ends of text.
    changed = next(
        (label for label, kept in zip(labels, plain.tolist(), strict=True) if label != kept), None
    )
    if changed is not None:
        msg = (
            f"`y` has the label {changed!r:.100}, which an array of {plain.dtype} cannot hold "
            "beside the others; use other names, such as text without zero bytes"
        )
        raise ValueError(msg)
    return plain


def _is_missing(value: Any) -> bool:
    """Tell whether a value is None, NaN or ``pandas.NA``."""
    try:
        # Only NaN and similar values differ from themselves.
        return value is None or bool(value != value)
    except TypeError:  # pandas.NA has no truth value
        return True


def confidence_of_labels(
    labels: AnyArray, probabilities: FloatArray, classes: AnyArray
) -> FloatArray:
    """Return the probability of the label of every row.

    Examples
    --------
    >>> P = np.array([[0.7, 0.3], [0.2, 0.8]])
    >>> confidence_of_labels(np.array(["a", "b"]), P, np.array(["a", "b"])).tolist()
    [0.7, 0.8]
    """
    return np.asarray((probabilities * (labels[:, None] == classes)).sum(axis=1))
