"""Encoders, which are fitted to a column and turn its values into features.

Instances hold strings, numbers and arrays only, so that model files can store them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd

from graphmargin._typing import BoolArray, FloatArray
from graphmargin.tables.column_names import Role
from graphmargin.tables.column_parsing import (
    MIN_MAGNITUDE,
    NumberFormat,
    parse_column,
)
from graphmargin.tables.column_roles import MAX_CATEGORIES, ColumnReading
from graphmargin.tables.invalid_cells import InvalidCells

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

# Features of this scale stay far from overflow when they are squared or divided.
_MIN_SCALE = MIN_MAGNITUDE
# Rare values would be far from all others if they, too, had a variance of one: the value of one row
# in a thousand would be at 45 times the distance of two numbers.
_MIN_VARIANCE = 0.1
# Text encoders are fitted to a sample, so that the vocabulary, and thus the file, stays small.
_TEXT_SAMPLE = 20_000
_TEXT_COMPONENTS = 30
_NGRAMS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 4)}
# Periodic parts of a date, with the length of their period.
_PERIODS = {"month": 12, "day": 30, "hour": 24, "day_of_week": 7}
# Total variance of text and vectors; a number has 1. It was chosen on synthetic tables of 1,000
# rows, 3 classes, 2, 5 or 10 numbers, and a text of 8 words or a vector of 64 numbers, where one or
# both kinds of columns are informative. The accuracy of 10 nearest neighbors is at worst this many
# points below that of the best variance for the table: 26 with 1, 14 with 2, 6.4 with 4, 3.8 with
# 8, 6.6 with 16.
_VECTOR_VARIANCE = 8.0


@dataclass(frozen=True, kw_only=True)
class ColumnEncoder:
    """The base class of all encoders.

    Attributes
    ----------
    name : str
        Name of the column.
    text_format : str or None
        Format of numbers or dates in text, as in the column to which the encoder was fitted.
    lenient : bool
        Whether cells that are neither numbers nor dates are missing, because some cells of the
        column to which the encoder was fitted were; otherwise, they raise an error.
    """

    role: ClassVar[Role]
    name: str
    text_format: str | None = None
    lenient: bool = False

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        return self.encode(self.parse(column)[0])

    def parse(self, column: pd.Series) -> tuple[Any, InvalidCells | None]:
        """Return the values of a column, and the cells that are taken as missing, if any."""
        return parse_column(column, self.role, self.text_format, lenient=self.lenient)

    def encode(self, values: Any) -> FloatArray:
        """Return the features of the values of a column, as `parse` returns them."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NumberEncoder(ColumnEncoder):
    """Encoder of numbers as (x - center) / scale; missing numbers are replaced by the median.

    Attributes
    ----------
    median, center, scale : float
    missing_indicator : float or None
        Value of the feature that marks missing numbers; None if training had none.
    """

    role = "number"
    text_format: NumberFormat | None = None
    median: float
    center: float
    scale: float
    missing_indicator: float | None

    def encode(self, values: FloatArray) -> FloatArray:
        """Return the features of numbers."""
        missing = np.isnan(values)
        scaled = (np.where(missing, self.median, values) - self.center) / self.scale
        return _with_indicator(scaled[:, None], missing, self.missing_indicator)


def fit_number(
    name: str, values: FloatArray, scale: float | None, number_format: NumberFormat | None = None
) -> NumberEncoder:
    """Return the encoder of a column of numbers; a scale of None is its standard deviation."""
    missing = np.isnan(values)
    median = float(np.median(values[~missing]))
    filled = np.where(missing, median, values)
    return NumberEncoder(
        name=name,
        text_format=number_format,
        median=median,
        center=float(filled.mean()),
        scale=max(float(filled.std()) if scale is None else scale, _MIN_SCALE),
        missing_indicator=_indicator_value(missing),
    )


@dataclass(frozen=True, kw_only=True)
class CategoryEncoder(ColumnEncoder):
    """One-hot encoder of categories: all features are zero where a value is missing or unknown.

    Attributes
    ----------
    values : tuple of str
        The values, only the most frequent ones if there are many.
    has_others : bool
        Whether all other values share one more feature.
    one_hot_value : float
        Value of the feature that is not zero.
    """

    role = "category"
    values: tuple[str, ...]
    has_others: bool
    one_hot_value: float

    def encode(self, values: pd.Series) -> FloatArray:
        """Return the features of text."""
        codes = pd.Index(self.values).get_indexer(values)
        if self.has_others:
            codes = np.where((codes < 0) & values.notna().to_numpy(), len(self.values), codes)
        result = np.zeros((len(values), len(self.values) + self.has_others))
        rows = np.flatnonzero(codes >= 0)
        result[rows, codes[rows]] = self.one_hot_value
        return result


def fit_category(name: str, cells: pd.Series) -> CategoryEncoder:
    """Return the encoder of a column of categories.

    Examples
    --------
    >>> encoder = fit_category("kind", pd.Series(["a", "b"]))
    >>> encoder.transform(pd.Series(["b", "c"])).round(2).tolist()
    [[0.0, 1.41], [0.0, 0.0]]
    """
    counts = cells.value_counts()
    # Equally frequent values are sorted by name, so that the order of the rows does not matter.
    order = sorted(counts.index, key=lambda value: (-counts[value], value))
    unscaled = CategoryEncoder(
        name=name,
        values=tuple(sorted(order[:MAX_CATEGORIES])),
        has_others=len(order) > MAX_CATEGORIES,
        one_hot_value=1.0,
    )
    return replace(unscaled, one_hot_value=_one_hot_value(unscaled.encode(cells)))


@dataclass(frozen=True, kw_only=True)
class DateEncoder(ColumnEncoder):
    """Encoder of dates as standardized parts: time since 1970, year, month, day, weekday and hour.

    Attributes
    ----------
    median : str
        Date that replaces missing ones, in ISO 8601.
    has_times : bool
        Whether any date had a time of day; if not, the hour is not a feature.
    center, scale : array
        Center and scale of each part; constant parts have a scale of 0 and are left out.
    missing_indicator : float or None
        Value of the feature that marks missing dates; None if training had none.
    """

    role = "date"
    median: str
    has_times: bool
    center: FloatArray
    scale: FloatArray
    missing_indicator: float | None

    def encode(self, values: pd.Series) -> FloatArray:
        """Return the features of dates."""
        varies = self.scale > 0
        parts = _date_parts(values.fillna(pd.Timestamp(self.median)), self.has_times)
        scaled = (parts - self.center)[:, varies] / self.scale[varies]
        return _with_indicator(scaled, values.isna().to_numpy(), self.missing_indicator)


def fit_date(name: str, values: pd.Series, date_format: str | None) -> DateEncoder:
    """Return the encoder of a column of dates."""
    missing = values.isna().to_numpy()
    median = values.median().floor("s").isoformat()
    filled = values.fillna(pd.Timestamp(median))
    has_times = bool((filled != filled.dt.normalize()).any())
    parts = _date_parts(filled, has_times)
    deviations = parts.std(axis=0)
    varies = deviations > 1e-6
    return DateEncoder(
        name=name,
        text_format=date_format,
        median=median,
        has_times=has_times,
        center=parts.mean(axis=0),
        scale=np.where(varies, deviations * np.sqrt(varies.sum()), 0.0),
        missing_indicator=_indicator_value(missing),
    )


def _date_parts(values: pd.Series, has_times: bool) -> FloatArray:
    """Return seconds since 1970, the year, and sine and cosine of each periodic part."""
    seconds = values.to_numpy().astype("datetime64[us]").astype(float) / 1e6
    parts = [seconds, values.dt.year.to_numpy(float)]
    for name, period in _PERIODS.items():
        if name == "hour" and not has_times:
            continue
        part = getattr(values.dt, name).to_numpy(float) + (name == "day_of_week")
        angle = part / period * 2 * np.pi
        parts += [np.sin(angle), np.cos(angle)]
    return np.column_stack(parts)


@dataclass(frozen=True, kw_only=True)
class TextEncoder(ColumnEncoder):
    """Encoder of text by latent semantic analysis of n-grams of three or four characters.

    Attributes
    ----------
    vocabulary : tuple of str
        The n-grams.
    idf : array of shape (n_grams,)
        Inverse document frequencies.
    components : array of shape (n_features, n_grams) or None
        Singular vectors; None if there are so few n-grams that their weights are the features.
    center : array of shape (n_features,)
    scale : float
    """

    role = "text"
    vocabulary: tuple[str, ...]
    idf: FloatArray
    components: FloatArray | None
    center: FloatArray
    scale: float

    def encode(self, values: pd.Series) -> FloatArray:
        """Return the features of text."""
        return (self.coordinates(values) - self.center) / self.scale

    def coordinates(self, cells: pd.Series) -> FloatArray:
        """Return the features before they are centered and scaled; missing texts are empty."""
        weights = self._vectorizer.transform(cells.fillna("")).astype(np.float32)
        parts = weights.toarray() if self.components is None else weights @ self.components.T
        return np.asarray(parts, dtype=np.float64)

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        from sklearn.feature_extraction.text import TfidfVectorizer

        vectorizer = TfidfVectorizer(vocabulary=self.vocabulary, **_NGRAMS)
        vectorizer.idf_ = self.idf
        return vectorizer


def fit_text(name: str, cells: pd.Series) -> TextEncoder:
    """Return the encoder of a column of text."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer

    sample = cells.dropna()
    if len(sample) > _TEXT_SAMPLE:
        sample = sample.sample(_TEXT_SAMPLE, random_state=0)
    vectorizer = TfidfVectorizer(**_NGRAMS)
    weights = vectorizer.fit_transform(sample).astype(np.float32)
    n_components = min(_TEXT_COMPONENTS, len(sample) - 1)
    components = None
    if weights.shape[1] > n_components:
        components = TruncatedSVD(n_components, random_state=0).fit(weights).components_
    unscaled = TextEncoder(
        name=name,
        vocabulary=tuple(vectorizer.get_feature_names_out().tolist()),
        idf=vectorizer.idf_,
        components=components,
        center=np.zeros(weights.shape[1] if components is None else n_components),
        scale=1.0,
    )
    parts = unscaled.coordinates(cells)
    return replace(unscaled, center=parts.mean(axis=0), scale=_vector_scale(parts))


@dataclass(frozen=True, kw_only=True)
class EmbeddingEncoder(ColumnEncoder):
    """Encoder of vectors, which are centered and divided by one number; missing ones are the mean.

    Attributes
    ----------
    center : array of shape (n_features,)
    scale : float
    """

    role = "embedding"
    center: FloatArray
    scale: float

    def parse(self, column: pd.Series) -> tuple[Any, InvalidCells | None]:
        """Return a column of vectors of the same length as a matrix; no cell is invalid."""
        return parse_column(column, self.role, width=len(self.center))

    def encode(self, values: FloatArray) -> FloatArray:
        """Return the features of vectors."""
        return np.where(np.isnan(values), 0.0, (values - self.center) / self.scale)


def fit_embedding(name: str, values: FloatArray) -> EmbeddingEncoder:
    """Return the encoder of a column of vectors."""
    present = values[~np.isnan(values).any(axis=1)]
    center, scale = present.mean(axis=0), _vector_scale(present)
    return EmbeddingEncoder(name=name, center=center, scale=scale)


Encoder: TypeAlias = NumberEncoder | CategoryEncoder | DateEncoder | TextEncoder | EmbeddingEncoder
"""The encoders of all roles."""


def fit_encoder(name: str, reading: ColumnReading, number_scale: float | None) -> Encoder:
    """Return the fitted encoder of a column; a scale of None is the column's standard deviation."""
    lenient = reading.invalid is not None
    if reading.role == "number":
        number = fit_number(name, reading.values, number_scale, reading.number_format)
        return replace(number, lenient=lenient)
    if reading.role == "date":
        return replace(fit_date(name, reading.values, reading.date_format), lenient=lenient)
    others: dict[str, Callable[[str, Any], Encoder]]
    others = {"text": fit_text, "embedding": fit_embedding, "category": fit_category}
    return others[reading.role](name, reading.values)


def count_features(reading: ColumnReading) -> int:
    """Return the number of features that the encoder of a column has, for text at most.

    Encoders of text take long to fit, and have fewer features only if there are few texts.

    Examples
    --------
    >>> count_features(ColumnReading("number", np.array([1.5, np.nan])))
    2
    """
    match reading.role:
        case "number":
            return 1 + bool(np.isnan(reading.values).any())
        case "category":
            return min(int(reading.values.nunique()), MAX_CATEGORIES + 1)
        case "date":
            dates = fit_date("", reading.values, None)
            return int((dates.scale > 0).sum()) + (dates.missing_indicator is not None)
        case "text":
            return _TEXT_COMPONENTS
        case "embedding":
            return int(reading.values.shape[1])
    return 0


def _with_indicator(features: FloatArray, missing: BoolArray, value: float | None) -> FloatArray:
    return features if value is None else np.column_stack([features, value * missing])


def _indicator_value(missing: BoolArray) -> float | None:
    return _one_hot_value(missing[:, None]) if missing.any() else None


def _one_hot_value(one_hot: FloatArray | BoolArray) -> float:
    """Return the factor that gives zeros and ones a total variance of one, or less if rare."""
    return float(1 / np.sqrt(max(one_hot.var(axis=0).sum(), _MIN_VARIANCE)))


def _vector_scale(parts: FloatArray) -> float:
    """Return the divisor that gives a total variance of `_VECTOR_VARIANCE`."""
    scale = np.sqrt(parts.var(axis=0).sum() / _VECTOR_VARIANCE)
    return max(float(scale), _MIN_SCALE)
