"""Views of rows: as they are, standardized, and in one unit."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from graphmargin.search.views import features_views, number_views
from graphmargin.tables.table_features import fit_transform

RNG = np.random.default_rng(0)
ALIKE = RNG.normal(size=(40, 3)) * [1.0, 2.0, 3.0]
DIFFERENT = RNG.normal(size=(40, 3)) * [1.0, 20.0, 300.0] + [0.0, 50.0, 9000.0]


def test_the_first_view_of_columns_in_one_unit_is_the_rows_as_they_are():
    one_unit, standardized = number_views(ALIKE)
    assert one_unit.of(ALIKE) is ALIKE
    np.testing.assert_allclose(standardized.of(ALIKE).std(axis=0), 1.0)
    assert [view.name for view in number_views(DIFFERENT)] == ["standardized", "one unit"]


@pytest.mark.parametrize("X", [ALIKE[:, :1], ALIKE / ALIKE.std(axis=0), sparse.csr_array(ALIKE)])
def test_rows_that_need_no_scale_have_one_view(X):
    (view,) = number_views(X)
    assert view.of(X) is X


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_that_are_huge_beside_those_of_the_fit_are_cut(form, dtype):
    (view, _) = number_views(DIFFERENT * 1e-95)
    rows = view.of(form(np.array([[3e30, -3e30, 1e-30]], dtype=dtype)))
    values = rows.toarray() if sparse.issparse(rows) else rows
    assert np.abs(values).max() == 1e100
    np.testing.assert_allclose(values[0, 2], 1e-30 / (DIFFERENT[:, 2] * 1e-95).std(), rtol=1e-5)


def test_single_precision_is_kept():
    X = DIFFERENT.astype(np.float32)
    assert number_views(X)[0].of(X).dtype == np.float32


@pytest.mark.parametrize("X", [ALIKE, DIFFERENT], ids=["one-unit", "several"])
def test_views_of_a_frame_are_those_of_its_numbers_up_to_one_factor(X):
    """Other columns, and indicators of missing numbers, have the same features in both views."""
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    table["color"] = np.where(np.arange(40) % 3, "red", "blue")
    table.loc[5, "b"] = np.nan
    features, rows = fit_transform(table)
    seen = [view.of(rows) for view in features_views(features, rows)]
    assert len(seen) == 2
    numbers, others = [0, 1, 3], [2, 4, 5]
    np.testing.assert_array_equal(seen[0][:, others], seen[1][:, others])
    for view in seen:  # beside other columns, numbers count as much in both views
        np.testing.assert_allclose(view[:, numbers].var(axis=0).mean(), 1.0, rtol=0.02)
    filled = np.column_stack([X[:, 0], np.where(np.arange(40) == 5, np.nan, X[:, 1]), X[:, 2]])
    filled = np.where(np.isnan(filled), np.nanmedian(filled, axis=0), filled)
    for view, of_frame in zip(number_views(filled), seen, strict=True):
        expected = view.of(filled) - view.of(filled).mean(axis=0)
        ratio = of_frame[:, numbers] / np.where(np.abs(expected) < 1e-9, np.nan, expected)
        np.testing.assert_allclose(
            ratio, np.broadcast_to(np.nanmean(ratio), ratio.shape), rtol=0.05
        )
