"""Metrics of tables: which tables have a second one, and which features count less in it."""

import numpy as np
import pandas as pd
import pytest

from graphmargin.tables.feature_metrics import ALL_COLUMNS, LIGHT_FACTOR, candidate_metrics
from graphmargin.tables.table_features import fit_transform

NUMBERS = {"size": [1.5, 2.5, 9.0, 1.0], "age": [4.0, None, 2.0, 7.0]}
CATEGORIES = {"color": ["red", "blue", "red", "red"], "shape": ["a", "b", "b", "a"]}
TEXT = {"note": ["a small cat", "the loud dog", "one soft cat", "some birds sing"]}
DATES = {"seen": pd.to_datetime(["2024-01-01", "2024-02-03", "2024-05-01", "2024-09-09"])}
VECTORS = {"code": [[1.0, 2.0], [2.0, 5.0], [3.0, 1.0], [0.0, 0.0]]}


@pytest.mark.parametrize(
    "columns", [NUMBERS, CATEGORIES, TEXT, {**CATEGORIES, **TEXT}, {**NUMBERS, **DATES}]
)
def test_tables_of_one_kind_of_columns_have_one_metric(columns):
    features, X = fit_transform(pd.DataFrame(columns))
    assert features.metrics == (ALL_COLUMNS,)
    assert ALL_COLUMNS.scale(X) is X


def test_a_category_that_is_left_out_makes_no_metric():
    table = pd.DataFrame({**NUMBERS, "country": "here", "key": ["a1", "b2", "c3", "d4"]})
    features, _ = fit_transform(table)
    assert {use.role for use in features.columns} == {"number", "left out"}
    assert features.metrics == (ALL_COLUMNS,)


@pytest.mark.parametrize(
    ("columns", "name"),
    [
        ({**CATEGORIES, **NUMBERS}, "light categories"),
        ({**TEXT, **NUMBERS}, "light text"),
        ({**NUMBERS, **TEXT, **CATEGORIES}, "light categories and text"),
        ({**DATES, **CATEGORIES}, "light categories"),
        ({**CATEGORIES, **VECTORS}, "light categories"),
    ],
)
def test_categories_and_text_count_less_in_the_second_metric(columns, name):
    """The missing indicator of a number counts as the number does."""
    features, X = fit_transform(pd.DataFrame({**columns, "country": "here"}))
    before, light = features.metrics
    assert (before, light.name) == (ALL_COLUMNS, name)
    scaled, start = light.scale(X), 0
    for use in features.columns:
        part = slice(start, start + use.n_features)
        factor = LIGHT_FACTOR if use.role in ("category", "text") else 1.0
        np.testing.assert_array_equal(scaled[:, part], factor * X[:, part])
        start += use.n_features
    assert start == X.shape[1]


def test_metrics_follow_from_the_use_of_columns_alone():
    features, _ = fit_transform(pd.DataFrame({**NUMBERS, **CATEGORIES}))
    first, second = (candidate_metrics(features.columns)[1] for _ in range(2))
    np.testing.assert_array_equal(first.feature_scale, second.feature_scale)
