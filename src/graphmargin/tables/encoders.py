"""Columns as features: what is learned from a column, and how it is applied to a new one.

Instances hold strings, numbers and arrays, so that model files can keep them.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer

from graphmargin._typing import BoolArray, FloatArray
from graphmargin.tables.columns import Role
from graphmargin.tables.errors import TableError
from graphmargin.tables.meanings import LARGEST, dates, numbers, texts, vectors
from graphmargin.tables.roles import MAX_CATEGORIES

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


@dataclass(frozen=True)
class NumberEncoder:
    """(x - center) / scale, the median where missing, and a flag if any was missing in training.

    Attributes
    ----------
    name : str
    median, center, scale : float
    flag : float or None
        Height of the flag.
    """

    role: ClassVar[Role] = "number"
    name: str
    median: float
    center: float
    scale: float
    flag: float | None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return 1 if self.flag is None else 2

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        values, bad = numbers(column)
        refuse(column, bad, "a number")
        refuse(column, np.abs(values) > LARGEST, "a finite number")
        missing = np.isnan(values)
        values = (np.where(missing, self.median, values) - self.center) / self.scale
        if self.flag is None:
            return values[:, None]
        return np.column_stack([values, self.flag * missing])


def fit_number(name: str, values: FloatArray, scale: float | None) -> NumberEncoder:
    """Return the encoder of a column of numbers; a scale of None is its standard deviation.

    Examples
    --------
    >>> encoder = fit_number("x", np.array([1.0, 3.0, np.nan]), None)
    >>> encoder.median, encoder.n_features
    (2.0, 2)
    """
    missing = np.isnan(values)
    median = float(np.median(values[~missing]))
    filled = np.where(missing, median, values)
    return NumberEncoder(
        name=name,
        median=median,
        center=float(filled.mean()),
        scale=max(float(filled.std()) if scale is None else scale, _SMALLEST_SCALE),
        flag=_height(missing[:, None]) if missing.any() else None,
    )


@dataclass(frozen=True)
class CategoryEncoder:
    """One feature for each value, all zero where missing or unknown.

    Attributes
    ----------
    name : str
    values : tuple of str
        The values, the most frequent ones if there are many.
    has_others : bool
        Whether all others share one more feature.
    height : float
        What is not zero.
    """

    role: ClassVar[Role] = "category"
    name: str
    values: tuple[str, ...]
    has_others: bool
    height: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.values) + self.has_others

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        cells, bad = texts(column)
        refuse(column, bad, "text")
        return self.height * self.one_hot(cells)

    def one_hot(self, cells: pd.Series) -> FloatArray:
        """Return zeros and ones."""
        codes = pd.Index(self.values).get_indexer(cells)
        if self.has_others:
            codes = np.where((codes < 0) & cells.notna().to_numpy(), len(self.values), codes)
        result = np.zeros((len(cells), self.n_features))
        known = np.flatnonzero(codes >= 0)
        result[known, codes[known]] = 1.0
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
        height=1.0,
    )
    return replace(unscaled, height=_height(unscaled.one_hot(cells)))


@dataclass(frozen=True)
class DateEncoder:
    """Time since 1970 and the place in the year, month, week and day, each standardized.

    Attributes
    ----------
    name : str
    layout : str or None
        Format of dates that are text.
    median : str
        ISO 8601; what missing dates count as.
    has_times : bool
        Whether any date had a time of day; without, the hour is no feature.
    center, scale : array
        Of the features; those that are constant have a scale of 0, and are left out.
    flag : float or None
        Height of the flag for missing dates.
    """

    role: ClassVar[Role] = "date"
    name: str
    layout: str | None
    median: str
    has_times: bool
    center: FloatArray
    scale: FloatArray
    flag: float | None

    @property
    def n_features(self) -> int:
        """Number of features."""
        return int((self.scale > 0).sum()) + (self.flag is not None)

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        values, bad = dates(column, self.layout)
        refuse(column, bad, "a date" if self.layout is None else f"a date such as {self.layout}")
        varies = self.scale > 0
        parts = _date_parts(values.fillna(pd.Timestamp(self.median)), self.has_times)
        result = (parts - self.center)[:, varies] / self.scale[varies]
        if self.flag is None:
            return result
        return np.column_stack([result, self.flag * values.isna().to_numpy()])


def fit_date(name: str, values: pd.Series, layout: str | None) -> DateEncoder:
    """Return the encoder of a column of dates.

    Examples
    --------
    >>> days = pd.Series(pd.to_datetime(["2024-05-01", "2024-05-03"]))
    >>> encoder = fit_date("day", days, None)
    >>> float(encoder.transform(days).var(axis=0).sum().round(6))
    1.0
    """
    missing = values.isna().to_numpy()
    median = values.median().floor("s").isoformat()
    filled = values.fillna(pd.Timestamp(median))
    has_times = bool((filled != filled.dt.normalize()).any())
    parts = _date_parts(filled, has_times)
    deviations = parts.std(axis=0)
    varies = deviations > 1e-6
    return DateEncoder(
        name=name,
        layout=layout,
        median=median,
        has_times=has_times,
        center=parts.mean(axis=0),
        scale=np.where(varies, deviations * np.sqrt(varies.sum()), 0.0),
        flag=_height(missing[:, None]) if missing.any() else None,
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


@dataclass(frozen=True)
class TextEncoder:
    """Latent semantic analysis of the n-grams of a text: three or four characters of a word.

    Attributes
    ----------
    name : str
    vocabulary : tuple of str
        The n-grams.
    idf : array of shape (n_grams,)
        Inverse document frequencies.
    components : array of shape (n_components, n_grams) or None
        Singular vectors; None if there are so few n-grams that they are the features themselves.
    center : array of shape (n_features,)
    scale : float
    """

    role: ClassVar[Role] = "text"
    name: str
    vocabulary: tuple[str, ...]
    idf: FloatArray
    components: FloatArray | None
    center: FloatArray
    scale: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.center)

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        cells, bad = texts(column)
        refuse(column, bad, "text")
        return (self.coordinates(cells) - self.center) / self.scale

    def coordinates(self, cells: pd.Series) -> FloatArray:
        """Return the features before they are centered and scaled; missing texts are empty."""
        weights = self._vectorizer.transform(cells.fillna("")).astype(np.float32)
        parts = weights.toarray() if self.components is None else weights @ self.components.T
        return np.asarray(parts, dtype=np.float64)

    @cached_property
    def _vectorizer(self) -> TfidfVectorizer:
        vectorizer = TfidfVectorizer(vocabulary=self.vocabulary, **_NGRAMS)
        vectorizer.idf_ = self.idf
        return vectorizer


def fit_text(name: str, cells: pd.Series) -> TextEncoder:
    """Return the encoder of a column of text.

    Examples
    --------
    >>> cells = pd.Series(["red house", "red tree", "blue water"])
    >>> fit_text("words", cells).transform(cells).shape
    (3, 2)
    """
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
    return replace(unscaled, center=parts.mean(axis=0), scale=_space_scale(parts))


@dataclass(frozen=True)
class EmbeddingEncoder:
    """A vector, centered and divided by one number; the mean where missing.

    Attributes
    ----------
    name : str
    center : array
    scale : float
    """

    role: ClassVar[Role] = "embedding"
    name: str
    center: FloatArray
    scale: float

    @property
    def n_features(self) -> int:
        """Number of features."""
        return len(self.center)

    def transform(self, column: pd.Series) -> FloatArray:
        """Return the features of a column."""
        values, bad = vectors(column, self.n_features)
        wanted = f"a list of {self.n_features} finite numbers"
        refuse(column, bad, wanted)
        return np.where(np.isnan(values), 0.0, (values - self.center) / self.scale)


def fit_embedding(name: str, values: FloatArray) -> EmbeddingEncoder:
    """Return the encoder of a column of vectors.

    Examples
    --------
    >>> encoder = fit_embedding("v", np.array([[0.0, 1.0], [0.0, 3.0]]))
    >>> encoder.center.tolist()
    [0.0, 2.0]
    """
    present = values[~np.isnan(values).any(axis=1)]
    return EmbeddingEncoder(name, present.mean(axis=0), _space_scale(present))


def refuse(column: pd.Series, bad: BoolArray, wanted: str) -> None:
    """Raise if a cell is not what it should be; the message has the first one, with its row.

    Rows count from 1; chunks of a table, whose index goes on, count on.

    Examples
    --------
    >>> refuse(pd.Series([1, "x"], name="age"), np.array([False, True]), "a number")
    Traceback (most recent call last):
    graphmargin.tables.errors.TableError: column 'age' has 'x' in row 2, which is not a number
    """
    if not bad.any():
        return
    place = int(np.argmax(bad))
    index = column.index
    row = index[place] if isinstance(index, pd.RangeIndex) and index.step == 1 else place
    value = column.iloc[place]
    shown = repr(value.item() if isinstance(value, np.generic) else value)
    shown = shown if len(shown) <= 60 else f"{shown[:57]}..."
    msg = f"column {column.name!r} has {shown} in row {row + 1}, which is not {wanted}"
    raise TableError(msg)


def _height(one_hot: FloatArray | BoolArray) -> float:
    """Return the factor that gives zeros and ones a total variance of one, less if rare."""
    return float(1 / np.sqrt(max(one_hot.var(axis=0).sum(), _SMALLEST_VARIANCE)))


def _space_scale(parts: FloatArray) -> float:
    """Return the divisor that gives a total variance of `_SPACE_VARIANCE`."""
    scale = np.sqrt(parts.var(axis=0).sum() / _SPACE_VARIANCE)
    return max(float(scale), _SMALLEST_SCALE)
