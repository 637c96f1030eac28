"""A table of mixed columns as points whose distances make sense."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from graphmargin.tables.columns import ColumnUse, check_known, check_unique, listed
from graphmargin.tables.encoders import (
    CategoryEncoder,
    DateEncoder,
    EmbeddingEncoder,
    NumberEncoder,
    TextEncoder,
    fit_category,
    fit_date,
    fit_embedding,
    fit_number,
    fit_text,
    refuse,
)
from graphmargin.tables.errors import TableError
from graphmargin.tables.meanings import LARGEST
from graphmargin.tables.roles import MAX_CATEGORIES, ColumnReading, read_column

if TYPE_CHECKING:
    from graphmargin._typing import AnyArray, FloatArray

Encoder: TypeAlias = NumberEncoder | CategoryEncoder | DateEncoder | TextEncoder | EmbeddingEncoder

# Ratio of the 90th to the 10th percentile of the ranges (max - min) of number columns, up to which
# they have one unit; of up to nine columns, it is that of the largest to the smallest. It is 1.0 on
# letter, 2.5 on iris and 2.7 on digits, whose border pixels are mostly empty; 75 on wine, 2,975
# on image segmentation and 4,229 on breast cancer.
_ONE_UNIT = 10.0


class TableFeatures(TransformerMixin, BaseEstimator):
    """Turn a table into points whose Euclidean distances make sense.

    Numbers are centered and scaled; categories become one feature for each value, dates the time
    and their place in the calendar, text the coordinates of a latent semantic analysis; vectors
    stay as they are. Constants, IDs and what is not understood are left out.

    If the ranges of all number columns are alike (pixels, scores of a survey), they are divided by
    one number, so that distances are those of the raw table; otherwise each is divided by its
    standard deviation. Every number, category and date has a variance of about 1 in total, text
    and vectors, which span a space, of 8. Rare categories and flags have less.

    Missing numbers and dates are the median, and a flag says so; missing categories are zero,
    missing texts empty, missing vectors the mean.

    Parameters
    ----------
    ignore : sequence of str
        Columns that are left out, such as the target.

    Attributes
    ----------
    columns_ : tuple of ColumnUse
        What became of each column, in the order of the table.
    encoders_ : tuple of encoders
        How each column that is used becomes features, see `graphmargin.tables.encoders`.
    scaling_ : str
        How numbers were scaled, in words.
    feature_names_in_ : array of str
    n_features_out_ : int

    Examples
    --------
    >>> table = pd.DataFrame({"size": [1.5, 2.5, 9.0, 1.0], "color": ["red", "blue", "red", "red"]})
    >>> features = TableFeatures().fit(table)
    >>> [(use.name, use.role, use.n_features) for use in features.columns_]
    [('size', 'number', 1), ('color', 'category', 2)]
    >>> features.transform(table).shape
    (4, 3)
    """

    def __init__(self, *, ignore: Sequence[str] = ()) -> None:
        self.ignore = ignore

    def fit(self, table: pd.DataFrame, y: object = None) -> TableFeatures:  # noqa: ARG002 - API
        """Decide what each column is, and learn how it becomes features.

        Parameters
        ----------
        table : pandas.DataFrame
        y : ignored

        Raises
        ------
        TableError
            If no column is of use, a number is infinite, or `ignore` has a name that the table
            does not have.
        """
        names = [str(name) for name in table.columns]
        table = table.set_axis(names, axis=1)
        check_unique(names)
        for name in self.ignore:
            check_known(name, names, "`ignore`: ")
        readings = {
            name: ColumnReading("left out", note="ignored")
            if name in self.ignore
            else read_column(table[name])
            for name in names
        }
        numbers = {name: r.values for name, r in readings.items() if r.role == "number"}
        for name, values in numbers.items():
            refuse(table[name], np.abs(values) > LARGEST, "a finite number")
        unit = _unit(numbers)
        self.encoders_ = tuple(
            _fit_encoder(name, reading, unit)
            for name, reading in readings.items()
            if reading.role != "left out"
        )
        encoders = {encoder.name: encoder for encoder in self.encoders_}
        self.columns_ = tuple(
            _use(name, reading, encoders.get(name)) for name, reading in readings.items()
        )
        if not self.encoders_:
            why = ", ".join(f"{use.name!r} ({use.note})" for use in self.columns_)
            msg = f"no column is of use as a feature: {why or 'there is none'}"
            raise TableError(msg)
        self.scaling_ = _scaling(len(numbers), unit)
        return self

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the columns of the table."""
        return np.array([use.name for use in self.columns_], dtype=object)

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return sum(encoder.n_features for encoder in self.encoders_)

    def transform(self, table: pd.DataFrame) -> FloatArray:
        """Return the features of a table, which may have its columns in any order, and more.

        Raises
        ------
        TableError
            If a column is missing or has a cell of another kind.
        """
        check_is_fitted(self, "columns_")
        places: Mapping[str, Any] = {str(name): name for name in table.columns}
        absent = [encoder.name for encoder in self.encoders_ if encoder.name not in places]
        if absent:
            noun, verb = ("column", "is") if len(absent) == 1 else ("columns", "are")
            msg = (
                f"{noun} {listed(absent)} of the model {verb} not in the table; it has: "
                f"{listed(list(places))}"
            )
            raise TableError(msg)
        result = np.empty((len(table), self.n_features_out_))
        if not len(table):  # which scikit-learn's encoders refuse
            return result
        start = 0
        for encoder in self.encoders_:
            stop = start + encoder.n_features
            result[:, start:stop] = encoder.transform(table[places[encoder.name]])
            start = stop
        return result


def _unit(numbers: Mapping[str, Any]) -> float | None:
    """Return the divisor of all number columns; None if they have no common unit."""
    if not numbers:
        return None
    ranges = np.array([np.nanmax(values) - np.nanmin(values) for values in numbers.values()])
    if not ranges.any():
        ranges = np.ones(1)
    # Ranges that exist: between two, interpolation would find values that are always alike.
    low, high = np.quantile(ranges[ranges > 0], [0.1, 0.9], method="inverted_cdf")
    if high > _ONE_UNIT * low:
        return None
    return float(np.sqrt(np.mean([np.nanvar(values) for values in numbers.values()])))


def _scaling(n_numbers: int, unit: float | None) -> str:
    if not n_numbers:
        return "no numbers"
    if unit is None:
        return "numbers are standardized column by column, as their ranges differ"
    if n_numbers == 1:
        return "the only column of numbers is standardized"
    return "numbers keep their common unit, as their ranges are alike"


def _fit_encoder(name: str, reading: ColumnReading, unit: float | None) -> Encoder:
    if reading.role == "number":
        return fit_number(name, reading.values, unit)
    if reading.role == "date":
        return fit_date(name, reading.values, reading.layout)
    fits: dict[str, Callable[[str, Any], Encoder]] = {
        "category": fit_category,
        "text": fit_text,
        "embedding": fit_embedding,
    }
    return fits[reading.role](name, reading.values)


def _use(name: str, reading: ColumnReading, encoder: Encoder | None) -> ColumnUse:
    if encoder is None:
        return ColumnUse(name, "left out", 0, reading.note)
    return ColumnUse(name, encoder.role, encoder.n_features, _note(reading.values, encoder))


def _note(values: Any, encoder: Encoder) -> str:
    if isinstance(encoder, CategoryEncoder) and encoder.has_others:
        return f"all but the {MAX_CATEGORIES} most frequent values are one"
    missing = np.asarray(pd.isna(values))
    n_missing = int((missing if missing.ndim == 1 else missing.all(axis=1)).sum())
    return f"{n_missing:,} missing" if n_missing else ""
