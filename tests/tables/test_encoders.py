"""Encoders of text and dates against those of skrub, which they follow."""

import warnings

import numpy as np
import pandas as pd
import pytest
from skrub import DatetimeEncoder, StringEncoder

from graphmargin.tables.encoders import fit_date, fit_text

WORDS = ("red", "green", "blue", "sky", "sea", "tree", "dog", "house", "river", "moon")
NEW_TEXTS = ["red house", "", None, "zzzz qqq", "Ünïcode ßtraße", "moon  moon", "a", "RED\tsky"]


def standardized(parts, reference):
    """Return columns with the mean and deviation of a reference, without constant ones."""
    varies = reference.std(axis=0) > 1e-6
    scale = reference.std(axis=0)[varies] * np.sqrt(varies.sum())
    return (parts[:, varies] - reference.mean(axis=0)[varies]) / scale


@pytest.mark.parametrize("n", [2, 20, 300])
def test_text_has_the_coordinates_of_skrub(n):
    rng = np.random.default_rng(0)
    cells = pd.Series([" ".join(rng.choice(WORDS, 5)) for _ in range(n)] + [None])
    theirs = StringEncoder(n_components=min(30, n - 1), random_state=0)
    theirs.fit(cells.dropna().rename("text"))
    ours = fit_text("text", cells)
    for column in (cells, pd.Series(NEW_TEXTS)):
        expected = np.asarray(theirs.transform(column.rename("text"))) * theirs.scaling_factor_
        np.testing.assert_allclose(ours.coordinates(column), expected, atol=1e-6)


def test_few_n_grams_are_the_features():
    cells = pd.Series(["a b", "b a", "a c", "c d", "d e", "e f", "f a"])
    ours = fit_text("text", cells)
    theirs = StringEncoder(n_components=6, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        theirs.fit(cells.rename("text"))
    assert ours.components is None
    expected = np.asarray(theirs.transform(cells.rename("text"))) * theirs.scaling_factor_
    np.testing.assert_allclose(ours.coordinates(cells), expected, atol=1e-6)


def test_text_has_a_fixed_total_variance_and_missing_text_is_empty():
    cells = pd.Series(["red house", "red tree", "blue water", None])
    ours = fit_text("text", cells)
    Z = ours.transform(cells)
    assert Z.var(axis=0).sum() == pytest.approx(8.0)
    np.testing.assert_allclose(ours.transform(pd.Series([""])), Z[3:], atol=1e-12)


@pytest.mark.parametrize(
    ("freq", "n_parts"), [("37h", 10), ("D", 8), ("97min", 10)], ids=["times", "days", "minutes"]
)
def test_dates_have_the_parts_of_skrub(freq, n_parts):
    days = pd.Series(pd.date_range("1969-11-30", periods=2_000, freq=freq)).astype("datetime64[us]")
    calendar = DatetimeEncoder(
        resolution="hour", add_weekday=True, add_total_seconds=False, periodic_encoding="circular"
    )
    parts = calendar.fit_transform(days.rename("date")).to_numpy(float)
    parts = np.column_stack([days.to_numpy().astype("datetime64[us]").astype(float) / 1e6, parts])
    assert parts.shape[1] == n_parts
    ours = fit_date("date", days, None)
    expected = standardized(parts, parts)
    np.testing.assert_allclose(ours.transform(days), expected, rtol=0, atol=1e-9)
    # A time of day in a new table means nothing if there was none in the first.
    new = pd.Series(["2024-02-29T23:59:59.500", "1900-01-01T00:00:00.000"]).astype(days.dtype)
    new_parts = calendar.transform(new.rename("date")).to_numpy(float)
    seconds = new.to_numpy().astype("datetime64[us]").astype(float) / 1e6
    expected = standardized(np.column_stack([seconds, new_parts]), parts)
    np.testing.assert_allclose(ours.transform(new), expected, rtol=1e-9, atol=1e-9)


def test_missing_dates_are_the_median_with_an_indicator():
    days = pd.Series(pd.to_datetime(["2024-05-01", None, "2024-05-03", "2024-05-02"]))
    Z = fit_date("date", days, None).transform(days)
    np.testing.assert_array_equal(Z[1, :-1], Z[3, :-1])
    assert (Z[:, -1] > 0).tolist() == [False, True, False, False]
