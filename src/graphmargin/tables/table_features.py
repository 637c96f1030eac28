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
    ranges_and_variances,
    standardizing_factors,
)
from graphmargin.tables.column_names import (
    IGNORED_NOTE,
    ColumnUse,
    check_column_exists,
    check_unique,
    format_names,
)
from graphmargin.tables.column_parsing import MAX_MAGNITUDE, check_magnitudes
from graphmargin.tables.column_roles import MAX_CATEGORIES, ColumnReading, read_column
from graphmargin.tables.encoders import Encoder, NumberEncoder, count_features, fit_encoder
from graphmargin.tables.invalid_cells import InvalidCells
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

    If at least 95 percent of the cells of a text column are numbers, or dates, the others are
    missing, with a warning. They are then missing in new tables, too; in other columns of numbers,
    a cell that is no number raises an error. Codes such as 007 are not numbers: their column has
    categories.

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
    def warnings(self) -> tuple[str, ...]:
        """A sentence on the invalid cells of each column to which the features were fitted."""
        return column_warnings(self.columns)

    @property
    def in_one_unit(self) -> bool:
        """True if all number columns are divided by one number."""
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
            variances = ranges_and_variances(X)[1][places]
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
        return self.transform_with_invalid_cells(table)[0]

    def transform_with_invalid_cells(
        self, table: pd.DataFrame
    ) -> tuple[FloatArray, dict[str, InvalidCells]]:
        """Return the result of `transform`, and the cells that it takes as missing, by column."""
        names = self._names_in(table)
        if not len(table):  # scikit-learn's encoders raise without rows
            return np.empty((0, self.n_features)), {}
        parts: list[FloatArray] = []
        found: dict[str, InvalidCells] = {}
        for encoder in self.encoders:
            values, invalid = encoder.parse(table[names[encoder.name]])
            parts.append(encoder.encode(values))
            if invalid is not None:
                found[encoder.name] = invalid
        X = np.hstack(parts)
        # A number may be huge in units of those that the encoder was fitted to.
        return np.clip(X, -MAX_MAGNITUDE, MAX_MAGNITUDE, out=X), found

    def warnings_on(self, invalid: Mapping[str, InvalidCells]) -> tuple[str, ...]:
        """Return a sentence on the invalid cells of each column of a new table."""
        roles = {use.name: use.role for use in self.columns}
        return tuple(cells.sentence(name, roles[name]) for name, cells in invalid.items())

    def _names_in(self, table: pd.DataFrame) -> Mapping[str, Any]:
        """Return the names of columns by their texts; raise `TableError` if one is missing."""
        names = {str(name): name for name in table.columns}
        absent = [encoder.name for encoder in self.encoders if encoder.name not in names]
        if absent:
            noun, verb = ("column", "is") if len(absent) == 1 else ("columns", "are")
            msg = (
                f"{noun} {format_names(absent)} of the model {verb} not in the table (columns: "
                f"{format_names(list(names))}); rename or add the missing columns"
            )
            raise TableError(msg)
        return names


def fit_features(
    table: pd.DataFrame,
    *,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
) -> TableFeatures:
    """Return the features of a table, after deciding on the role of each column.

    Parameters
    ----------
    table : pandas.DataFrame
    ignore : sequence of str
        Columns that are left out, such as the target.
    keep : sequence of str
        Columns that are used although they look like an ID, such as consecutive integers.
    category : sequence of str
        Columns that are categories whatever their cells are, such as numbers that are codes.

    Raises
    ------
    TableError
        If no column can be used, a number is infinite, or `ignore`, `keep` or `category` has a name
        that no column has.

    Examples
    --------
    >>> table = pd.DataFrame({"number": [7, 8, 9], "size": [1.5, 2.5, 9.0]})
    >>> fit_features(table).columns[0].note
    'an ID: all values differ'
    >>> fit_features(table, keep=["number"]).n_features
    2
    >>> fit_features(table, category=["number"]).columns[0].role
    'category'
    """
    return _fit(_read(table, ignore, keep, category))


def fit_transform(
    table: pd.DataFrame,
    *,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
    in_one_unit: bool = False,
) -> tuple[TableFeatures, FloatArray]:
    """Return the result of `fit_features`, and the array of features; cells are parsed once.

    With `in_one_unit`, one number divides all number columns, whatever their scales are.
    """
    readings = _read(table, ignore, keep, category)
    features = _fit(readings, in_one_unit=in_one_unit)
    parts = [encoder.encode(readings[encoder.name].values) for encoder in features.encoders]
    return features, np.hstack(parts)


def describe_columns(
    table: pd.DataFrame,
    *,
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
) -> tuple[tuple[ColumnUse, ...], str]:
    """Return the `columns` and `scaling` of `fit_features` without fitting encoders of text.

    The number of features of a text is the largest possible one. All columns may be left out.

    Examples
    --------
    >>> columns, scaling = describe_columns(pd.DataFrame({"number": [7, 8, 9]}))
    >>> columns[0].role, scaling
    ('left out', 'no numbers')
    """
    readings = _read(table, ignore, keep, category)
    columns = tuple(
        _column_use(name, reading, count_features(reading)) for name, reading in readings.items()
    )
    return columns, _scaling_text(*_scale_of_numbers(readings))


def column_warnings(
    columns: Sequence[ColumnUse], remedy: str = "name the column in `category`"
) -> tuple[str, ...]:
    """Return a sentence with a remedy for each column that has invalid cells."""
    return tuple(
        f"{use.invalid.sentence(use.name, use.role)}; correct {use.invalid.pronoun}, or {remedy} "
        "if it has categories"
        for use in columns
        if use.invalid is not None
    )


def _read(
    table: pd.DataFrame, ignore: Sequence[str], keep: Sequence[str], category: Sequence[str]
) -> dict[str, ColumnReading]:
    """Return the parsed columns."""
    names = [str(name) for name in table.columns]
    table = table.set_axis(names, axis=1)
    check_unique(names)
    for argument, given in (("ignore", ignore), ("keep", keep), ("category", category)):
        for name in given:
            check_column_exists(name, names, f"`{argument}`: ")
            if argument != "ignore" and name in ignore:
                msg = f"column {name!r} is in both `{argument}` and `ignore`; choose one of them"
                raise TableError(msg)
    readings = {
        name: ColumnReading("left out", note=IGNORED_NOTE)
        if name in ignore
        else read_column(table[name], keep=name in keep, category=name in category)
        for name in names
    }
    for name, reading in readings.items():
        if reading.role == "number":
            check_magnitudes(table[name], reading.values)
    return readings


def _fit(readings: Mapping[str, ColumnReading], *, in_one_unit: bool = False) -> TableFeatures:
    """Return the features of parsed columns."""
    n_numbers, scale = _scale_of_numbers(readings, in_one_unit=in_one_unit)
    encoders = {
        name: fit_encoder(name, reading, scale)
        for name, reading in readings.items()
        if reading.role != "left out"
    }
    if not encoders:
        raise TableError(_unusable_message(readings))
    columns = tuple(
        _column_use(
            name,
            reading,
            encoders[name].encode(reading.values[:1]).shape[1] if name in encoders else 0,
        )
        for name, reading in readings.items()
    )
    return TableFeatures(columns, tuple(encoders.values()), _scaling_text(n_numbers, scale))


def _unusable_message(readings: Mapping[str, ColumnReading]) -> str:
    notes = [f"{name!r} ({r.note})" for name, r in readings.items() if r.note != IGNORED_NOTE]
    found = ", ".join(notes) or "there are no columns beside the target and those in `ignore`"
    return (
        f"no column can be used as a feature: {found}; add columns, or name an ID that is a "
        "feature in `keep`"
    )


def _scale_of_numbers(
    readings: Mapping[str, ColumnReading], *, in_one_unit: bool = False
) -> tuple[int, float | None]:
    """Return the number of number columns, and the number that divides all of them.

    It is None if they have no common unit.
    """
    numbers = [reading.values for reading in readings.values() if reading.role == "number"]
    if not numbers:
        return 0, None
    ranges = np.array([np.nanmax(values) - np.nanmin(values) for values in numbers])
    variances = np.array([np.nanvar(values) for values in numbers])
    has_scale = in_one_unit or have_one_unit(ranges, variances)
    return len(numbers), float(np.sqrt(variances.mean())) if has_scale else None


def _scaling_text(n_numbers: int, scale: float | None) -> str:
    if not n_numbers:
        return "no numbers"
    if scale is None:
        return "numbers are standardized column by column, as their scales differ"
    if n_numbers == 1:
        return "the only column of numbers is standardized"
    return "all numbers are divided by the same scale, as they seem to have one unit"


def _column_use(name: str, reading: ColumnReading, n_features: int) -> ColumnUse:
    if reading.role == "left out":
        return ColumnUse(name, "left out", 0, reading.note)
    has_others = reading.role == "category" and n_features > MAX_CATEGORIES
    others = f"all but the {MAX_CATEGORIES} most frequent values share a feature"
    note = ", ".join(filter(None, [reading.note, others if has_others else ""]))
    return ColumnUse(
        name, reading.role, n_features, note, n_missing=reading.n_missing, invalid=reading.invalid
    )
