"""Encoders of columns: what is learned from a column, and how its values become features.

Instances hold strings, numbers and arrays, so that model files can keep them.
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
from graphmargin.tables.column_parsing import LARGEST, NumberFormat, parse_column
from graphmargin.tables.column_roles import MAX_CATEGORIES, ColumnReading

if TYPE_CHECKING:
    from sklearn.feature_extraction.text import TfidfVectorizer

# Features are far from overflow, whatever is squared or divided.
_SMALLEST_SCALE = 1 / LARGEST
# Rare values would be on another planet if their variance was one as well: a value of one row in
# a thousand would be at 45 times the distance of two numbers.
_SMALLEST_VARIANCE = 0.1
# Text is learned from a sample: the vocabulary, hence the file, stays small.
_TEXT_SAMPLE = 20_000
_TEXT_COMPONENTS = 30
_NGRAMS: dict[str, Any] = {"analyzer": "char_wb", "ngram_range": (3, 4)}
# The places in the calendar, with the length of the circle that each of them goes around.
_PERIODS = {"month": 12, "day": 30, "hour": 24, "day_of_week": 7}
# Total variance of text and vectors, a number having 1. On made-up tables of 1,000 rows, 3 classes
# and 2, 5 or 10 numbers beside a text of 8 words or a vector of 64 numbers, the one, the other or
# both being informative, 10 nearest neighbors lose at worst this many points of accuracy against
# the best variance for the table: 26 with 1, 14 with 2, 6.4 with 4, 3.8 with 8, 6.6 with 16.
_SPACE_VARIANCE = 8.0


@dataclass(frozen=True, kw_only=True)
class ColumnEncoder:
    """The part that all encoders share.

    Attributes
    ----------
    name : str
        Of the column.
    text_format : str or None
        How text is read as numbers or dates, as found in the column that was learned from.
    """

    role: ClassVar[Role]
    name: str
    text_format: str | None = None

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        return self.encode(parse_column(column, self.role, self.text_format))

    def encode(self, values: Any) -> FloatArray:
        """Return the features of the values of a column, as `parse_column` returns them."""
        raise NotImplementedError


@dataclass(frozen=True, kw_only=True)
class NumberEncoder(ColumnEncoder):
    """(x - center) / scale, the median where missing, and a flag if any was missing in training.

    Attributes
    ----------
    median, center, scale : float
    flag : float or None
        Value of the flag for missing numbers.
    """

    role = "number"
    text_format: NumberFormat | None = None
    median: float
    center: float
    scale: float
    flag: float | None

    def encode(self, values: FloatArray) -> FloatArray:
        """Return the features of numbers."""
        missing = np.isnan(values)
        scaled = (np.where(missing, self.median, values) - self.center) / self.scale
        return _with_flag(scaled[:, None], missing, self.flag)


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
        scale=max(float(filled.std()) if scale is None else scale, _SMALLEST_SCALE),
        flag=_flag_value(missing),
    )


@dataclass(frozen=True, kw_only=True)
class CategoryEncoder(ColumnEncoder):
    """One feature for each value, all zero where missing or unknown.

    Attributes
    ----------
    values : tuple of str
        The values, the most frequent ones if there are many.
    has_others : bool
        Whether all others share one more feature.
    one_hot_value : float
        What is not zero.
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
        known = np.flatnonzero(codes >= 0)
        result[known, codes[known]] = self.one_hot_value
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
    # Frequent ones first, equally frequent ones by name, whatever the order of the rows.
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
    """Time since 1970 and the place in the year, month, week and day, each standardized.

    Attributes
    ----------
    median : str
        ISO 8601; what missing dates count as.
    has_times : bool
        Whether any date had a time of day; without, the hour is no feature.
    center, scale : array
        Of the features; those that are constant have a scale of 0, and are left out.
    flag : float or None
        Value of the flag for missing dates.
    """

    role = "date"
    median: str
    has_times: bool
    center: FloatArray
    scale: FloatArray
    flag: float | None

    def encode(self, values: pd.Series) -> FloatArray:
        """Return the features of dates."""
        varies = self.scale > 0
        parts = _date_parts(values.fillna(pd.Timestamp(self.median)), self.has_times)
        scaled = (parts - self.center)[:, varies] / self.scale[varies]
        return _with_flag(scaled, values.isna().to_numpy(), self.flag)


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
        flag=_flag_value(missing),
    )


def _date_parts(values: pd.Series, has_times: bool) -> FloatArray:
    """Return seconds since 1970, the year, and sine and cosine of each place in the calendar."""
    seconds = values.to_numpy().astype("datetime64[us]").astype(float) / 1e6
    parts = [seconds, values.dt.year.to_numpy(float)]
    for name, period in _PERIODS.items():
        if name == "hour" and not has_times:
            continue
        place = getattr(values.dt, name).to_numpy(float) + (name == "day_of_week")
        angle = place / period * 2 * np.pi
        parts += [np.sin(angle), np.cos(angle)]
    return np.column_stack(parts)


@dataclass(frozen=True, kw_only=True)
class TextEncoder(ColumnEncoder):
    """Latent semantic analysis of the n-grams of a text: three or four characters of a word.

    Attributes
    ----------
    vocabulary : tuple of str
        The n-grams.
    idf : array of shape (n_grams,)
        Inverse document frequencies.
    components : array of shape (n_features, n_grams) or None
        Singular vectors; None if there are so few n-grams that they are the features themselves.
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
    """A vector, centered and divided by one number; the mean where missing.

    Attributes
    ----------
    center : array of shape (n_features,)
    scale : float
    """

    role = "embedding"
    center: FloatArray
    scale: float

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column of vectors of the same length."""
        return self.encode(parse_column(column, self.role, width=len(self.center)))

    def encode(self, values: FloatArray) -> FloatArray:
        """Return the features of vectors."""
        return np.where(np.isnan(values), 0.0, (values - self.center) / self.scale)


def fit_embedding(name: str, values: FloatArray) -> EmbeddingEncoder:
    """Return the encoder of a column of vectors."""
    present = values[~np.isnan(values).any(axis=1)]
    center, scale = present.mean(axis=0), _vector_scale(present)
    return EmbeddingEncoder(name=name, center=center, scale=scale)


Encoder: TypeAlias = NumberEncoder | CategoryEncoder | DateEncoder | TextEncoder | EmbeddingEncoder
"""Encoders that turn a column into features."""


def fit_encoder(name: str, reading: ColumnReading, number_scale: float | None) -> Encoder:
    """Return the encoder of a column; a scale of None is the standard deviation of its numbers."""
    if reading.role == "number":
        return fit_number(name, reading.values, number_scale, reading.number_format)
    if reading.role == "date":
        return fit_date(name, reading.values, reading.date_format)
    others: dict[str, Callable[[str, Any], Encoder]]
    others = {"text": fit_text, "embedding": fit_embedding, "category": fit_category}
    return others[reading.role](name, reading.values)


def _with_flag(features: FloatArray, missing: BoolArray, flag: float | None) -> FloatArray:
    return features if flag is None else np.column_stack([features, flag * missing])


def _flag_value(missing: BoolArray) -> float | None:
    return _one_hot_value(missing[:, None]) if missing.any() else None


def _one_hot_value(one_hot: FloatArray | BoolArray) -> float:
    """Return the factor that gives zeros and ones a total variance of one, less if rare."""
    return float(1 / np.sqrt(max(one_hot.var(axis=0).sum(), _SMALLEST_VARIANCE)))


def _vector_scale(parts: FloatArray) -> float:
    """Return the divisor that gives a total variance of `_SPACE_VARIANCE`."""
    scale = np.sqrt(parts.var(axis=0).sum() / _SPACE_VARIANCE)
    return max(float(scale), _SMALLEST_SCALE)
