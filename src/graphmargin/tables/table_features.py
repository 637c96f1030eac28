"""Features of the rows of a table with mixed columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from graphmargin._scales import (
    are_equal_scales,
    have_one_unit,
    standardizing_factors,
)
from graphmargin.tables.column_names import (
    ColumnUse,
    check_column_exists,
    check_unique,
    format_names,
)
from graphmargin.tables.column_parsing import MAX_MAGNITUDE, check_magnitudes
from graphmargin.tables.column_roles import MAX_CATEGORIES, ColumnReading, read_column
from graphmargin.tables.encoders import CategoryEncoder, Encoder, NumberEncoder, fit_encoder
from graphmargin.tables.table_errors import TableError

if TYPE_CHECKING:
    from graphmargin._typing import FloatArray


@dataclass(frozen=True)
class TableFeatures:
    """Features of the rows of a table, scaled so that all columns count in Euclidean distances.

    Numbers are centered and scaled. A category becomes one feature for each value, a date its
    periodic parts, and text the coordinates of a latent semantic analysis; vectors are centered and
    scaled as a whole. Constants, IDs and columns that cannot be parsed are left out.

    If all number columns seem to have one unit (pixels, scores of a survey), they are divided by
    one number, so that distances are those of the raw table; otherwise each is divided by its
    standard deviation (`graphmargin._scales.have_one_unit`). Every column of numbers,
    categories or dates has a total variance of about 1; text and vectors, which have many
    dimensions, have 8. Rare categories and missing indicators have less.

    Missing numbers and dates are replaced by the median and have a missing indicator. The features
    of missing categories are zero; missing text is empty, and missing vectors are the mean.

    Attributes
    ----------
    columns : tuple of ColumnUse
        The use of each column, in the order of the table.
    encoders : tuple of encoders
        Encoders of the columns that are used, see `graphmargin.tables.encoders`.
    scaling : str
        A sentence on how numbers were scaled.

    Examples
    --------
    >>> table = pd.DataFrame({"size": [1.5, 2.5, 9.0, 1.0], "color": ["red", "blue", "red", "red"]})
    >>> features = fit_features(table)
    >>> [(use.name, use.role, use.n_features) for use in features.columns]
    [('size', 'number', 1), ('color', 'category', 2)]
    >>> features.transform(table).shape
    (4, 3)
    """

    columns: tuple[ColumnUse, ...]
    encoders: tuple[Encoder, ...]
    scaling: str

    @property
    def n_features(self) -> int:
        """Number of features."""
        return sum(use.n_features for use in self.columns)

    @property
    def in_one_unit(self) -> bool:
        """Whether all number columns are divided by one number."""
        return len({e.scale for e in self.encoders if isinstance(e, NumberEncoder)}) <= 1

    def other_scales(self, X: FloatArray) -> FloatArray | None:
        """Return the factors under which numbers in one unit are standardized, or the reverse.

        X has the features of the table to which the encoders were fitted. Features of other kinds
        of columns have the factor 1. None is returned if the two scales are the same.

        Examples
        --------
        >>> table = pd.DataFrame({"bill": [38.0, 49.0, 47.0], "mass": [3700.0, 3750.0, 5100.0]})
        >>> features, X = fit_transform(table)
        >>> features.in_one_unit, features.other_scales(X).round(2).tolist()
        (False, [0.01, 1.41])
        """
        sizes = [use.n_features for use in self.columns if use.n_features]
        starts = np.cumsum([0, *sizes[:-1]])
        is_number = [isinstance(encoder, NumberEncoder) for encoder in self.encoders]
        if sum(is_number) < 2:
            return None
        places, factors = starts[is_number], np.ones(sum(sizes))
        if self.in_one_unit:
            variances = X[:, places].var(axis=0)
            factors[places] = standardizing_factors(variances)
        else:
            scales = [e.scale for e in self.encoders if isinstance(e, NumberEncoder)]
            variances = np.square(scales)
            factors[places] = np.sqrt(variances / variances.mean())
        return None if are_equal_scales(variances) else factors

    def transform(self, table: pd.DataFrame) -> FloatArray:
        """Return the features of a table, whose columns may have any order; others are ignored.

        Raises
        ------
        TableError
            If a column is missing or a cell cannot be parsed.
        """
        names: Mapping[str, Any] = {str(name): name for name in table.columns}
        absent = [encoder.name for encoder in self.encoders if encoder.name not in names]
        if absent:
            noun, verb = ("column", "is") if len(absent) == 1 else ("columns", "are")
            msg = (
                f"{noun} {format_names(absent)} of the model {verb} not in the table (columns: "
                f"{format_names(list(names))}); rename or add the missing columns"
            )
            raise TableError(msg)
        if not len(table):  # scikit-learn's encoders raise without rows
            return np.empty((0, self.n_features))
        parts = [encoder.transform(table[names[encoder.name]]) for encoder in self.encoders]
        X = np.hstack(parts)
        # A number may be huge in units of those that the encoder was fitted to.
        return np.clip(X, -MAX_MAGNITUDE, MAX_MAGNITUDE, out=X)


def fit_features(
    table: pd.DataFrame, *, ignore: Sequence[str] = (), keep: Sequence[str] = ()
) -> TableFeatures:
    """Return the features of a table, after deciding on the role of each column.

    Parameters
    ----------
    table : pandas.DataFrame
    ignore : sequence of str
        Columns that are left out, such as the target.
    keep : sequence of str
        Columns that are used although they look like an ID, such as consecutive integers.

    Raises
    ------
    TableError
        If no column can be used, a number is infinite, or `ignore` or `keep` has a name that no
        column has.

    Examples
    --------
    >>> table = pd.DataFrame({"number": [7, 8, 9], "size": [1.5, 2.5, 9.0]})
    >>> fit_features(table).columns[0]
    ColumnUse(name='number', role='left out', n_features=0, note='an ID: all values differ')
    >>> fit_features(table, keep=["number"]).n_features
    2
    """
    return _fit(table, ignore, keep)[0]


def fit_transform(
    table: pd.DataFrame,
    *,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    in_one_unit: bool = False,
) -> tuple[TableFeatures, FloatArray]:
    """Return the result of `fit_features`, and the array of features; cells are parsed once.

    With `in_one_unit`, one number divides all number columns, whatever their scales are.
    """
    features, readings = _fit(table, ignore, keep, in_one_unit=in_one_unit)
    parts = [encoder.encode(readings[encoder.name].values) for encoder in features.encoders]
    return features, np.hstack(parts)


def _fit(
    table: pd.DataFrame, ignore: Sequence[str], keep: Sequence[str], *, in_one_unit: bool = False
) -> tuple[TableFeatures, Mapping[str, ColumnReading]]:
    """Return the features, and the parsed columns."""
    names = [str(name) for name in table.columns]
    table = table.set_axis(names, axis=1)
    check_unique(names)
    for option, given in (("ignore", ignore), ("keep", keep)):
        for name in given:
            check_column_exists(name, names, f"`{option}`: ")
    both = [name for name in keep if name in ignore]
    if both:
        msg = f"column {both[0]!r} is in both `keep` and `ignore`; choose one of them"
        raise TableError(msg)
    readings = {
        name: ColumnReading("left out", note="ignored")
        if name in ignore
        else read_column(table[name], keep=name in keep)
        for name in names
    }
    numbers = {name: r.values for name, r in readings.items() if r.role == "number"}
    for name, values in numbers.items():
        check_magnitudes(table[name], values)
    scale = _common_scale(numbers, in_one_unit=in_one_unit)
    encoders = {
        name: fit_encoder(name, reading, scale)
        for name, reading in readings.items()
        if reading.role != "left out"
    }
    columns = tuple(
        _column_use(name, reading, encoders.get(name)) for name, reading in readings.items()
    )
    if not encoders:
        notes = ", ".join(f"{use.name!r} ({use.note})" for use in columns) or "there are none"
        msg = f"no column can be used as a feature: {notes}; add columns, or keep an ID with `keep`"
        raise TableError(msg)
    features = TableFeatures(columns, tuple(encoders.values()), _scaling_text(len(numbers), scale))
    return features, readings


def _common_scale(numbers: Mapping[str, Any], *, in_one_unit: bool) -> float | None:
    """Return the number that divides all number columns; None if they have no common unit."""
    if not numbers:
        return None
    ranges = np.array([np.nanmax(values) - np.nanmin(values) for values in numbers.values()])
    variances = np.array([np.nanvar(values) for values in numbers.values()])
    has_scale = in_one_unit or have_one_unit(ranges, variances)
    return float(np.sqrt(variances.mean())) if has_scale else None


def _scaling_text(n_numbers: int, scale: float | None) -> str:
    if not n_numbers:
        return "no numbers"
    if scale is None:
        return "numbers are standardized column by column, as their scales differ"
    if n_numbers == 1:
        return "the only column of numbers is standardized"
    return "all numbers are divided by the same scale, as they seem to have one unit"


def _column_use(name: str, reading: ColumnReading, encoder: Encoder | None) -> ColumnUse:
    if encoder is None:
        return ColumnUse(name, "left out", 0, reading.note)
    missing = np.asarray(pd.isna(reading.values))
    n_missing = int((missing if missing.ndim == 1 else missing.all(axis=1)).sum())
    notes = [reading.note, f"{n_missing:,} missing" if n_missing else ""]
    if isinstance(encoder, CategoryEncoder) and encoder.has_others:
        notes = [f"all but the {MAX_CATEGORIES} most frequent values share a feature"]
    n_features = encoder.encode(reading.values[:1]).shape[1]
    return ColumnUse(name, encoder.role, n_features, ", ".join(filter(None, notes)))
