"""A table of mixed columns as points whose distances make sense."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from graphmargin.tables.column_names import ColumnUse, check_known, check_unique, format_names
from graphmargin.tables.column_parsing import LARGEST, raise_bad_cell
from graphmargin.tables.column_roles import MAX_CATEGORIES, ColumnReading, read_column
from graphmargin.tables.encoders import CategoryEncoder, Encoder, fit_encoder
from graphmargin.tables.errors import TableError

if TYPE_CHECKING:
    from graphmargin._typing import AnyArray, FloatArray

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
    keep : sequence of str
        Columns that are used although they look like an ID, such as whole numbers without gaps.

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

    def __init__(self, *, ignore: Sequence[str] = (), keep: Sequence[str] = ()) -> None:
        self.ignore = ignore
        self.keep = keep

    def fit(self, table: pd.DataFrame, y: object = None) -> TableFeatures:  # noqa: ARG002 - API
        """Decide what each column is, and learn how it becomes features.

        Parameters
        ----------
        table : pandas.DataFrame
        y : ignored

        Raises
        ------
        TableError
            If no column is of use, a number is infinite, or `ignore` or `keep` has a name that the
            table does not have.
        """
        self._fit(table)
        return self

    def fit_transform(
        self,
        table: pd.DataFrame,
        y: object = None,  # noqa: ARG002 - API
    ) -> FloatArray:
        """Return the features of the table that they are learned from; cells are read once."""
        readings = self._fit(table)
        parts = [encoder.encode(readings[encoder.name].values) for encoder in self.encoders_]
        return np.hstack(parts)

    def _fit(self, table: pd.DataFrame) -> Mapping[str, ColumnReading]:
        """Learn, and return the columns as they were read."""
        names = [str(name) for name in table.columns]
        table = table.set_axis(names, axis=1)
        check_unique(names)
        for option, given in (("ignore", self.ignore), ("keep", self.keep)):
            for name in given:
                check_known(name, names, f"`{option}`: ")
        both = [name for name in self.keep if name in self.ignore]
        if both:
            msg = f"column {both[0]!r} is to be kept and to be ignored; choose one"
            raise TableError(msg)
        readings = {
            name: ColumnReading("left out", note="ignored")
            if name in self.ignore
            else read_column(table[name], keep=name in self.keep)
            for name in names
        }
        numbers = {name: r.values for name, r in readings.items() if r.role == "number"}
        for name, values in numbers.items():
            raise_bad_cell(table[name], np.abs(values) > LARGEST, "a finite number")
        unit = _unit(numbers)
        self.encoders_ = tuple(
            fit_encoder(name, reading, unit)
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
        return readings

    @property
    def feature_names_in_(self) -> AnyArray:
        """Names of the columns of the table."""
        return np.array([use.name for use in self.columns_], dtype=object)

    @property
    def n_features_out_(self) -> int:
        """Number of features."""
        return sum(use.n_features for use in self.columns_)

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
                f"{noun} {format_names(absent)} of the model {verb} not in the table; it has: "
                f"{format_names(list(places))}"
            )
            raise TableError(msg)
        if not len(table):  # which scikit-learn's encoders refuse
            return np.empty((0, self.n_features_out_))
        parts = [encoder.transform(table[places[encoder.name]]) for encoder in self.encoders_]
        return np.hstack(parts)


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


def _use(name: str, reading: ColumnReading, encoder: Encoder | None) -> ColumnUse:
    if encoder is None:
        return ColumnUse(name, "left out", 0, reading.note)
    missing = np.asarray(pd.isna(reading.values))
    n_missing = int((missing if missing.ndim == 1 else missing.all(axis=1)).sum())
    notes = [reading.note, f"{n_missing:,} missing" if n_missing else ""]
    if isinstance(encoder, CategoryEncoder) and encoder.has_others:
        notes = [f"all but the {MAX_CATEGORIES} most frequent values are one"]
    n_features = encoder.encode(reading.values[:1]).shape[1]
    return ColumnUse(name, encoder.role, n_features, ", ".join(filter(None, notes)))
