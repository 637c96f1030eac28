"""Scales of columns of numbers: one unit or several, and standard deviations."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.preprocessing import StandardScaler

from graphmargin import _scales
from graphmargin._scales import (
    are_equal_scales,
    have_one_unit,
    ranges_and_variances,
    standardizing_factors,
)
from graphmargin.datasets import load_digits, load_letter, load_segmentation

TABLES = {
    "digits": (load_digits, True),
    "letter": (load_letter, True),
    "segmentation": (load_segmentation, False),
    "wine": (lambda: load_wine(return_X_y=True), False),
    "breast cancer": (lambda: load_breast_cancer(return_X_y=True), False),
}


@pytest.mark.parametrize(("load", "expected"), TABLES.values(), ids=TABLES)
def test_pixels_have_one_unit_and_measurements_have_not(load, expected):
    ranges, variances = ranges_and_variances(np.asarray(load()[0], dtype=np.float64))
    assert have_one_unit(ranges, variances) is expected


def test_one_column_with_most_of_the_variance_is_another_unit():
    """Nine of ten ranges are equal, so that their percentiles would not show it."""
    variances = np.array([*[1.0] * 9, 400.0])
    assert not have_one_unit(np.sqrt(12 * variances), variances)
    assert have_one_unit(np.sqrt(12 * variances)[:9], variances[:9])


@pytest.mark.parametrize(("large", "expected"), [(6.0, True), (7.0, False)])
def test_the_effective_share_has_a_bound(large, expected):
    """Ten columns, one of them with `large` times the variance: shares of 0.50 and 0.44."""
    variances = np.array([*[1.0] * 9, large])
    share = variances.sum() ** 2 / (variances**2).sum() / 10
    assert bool(share >= _scales.ONE_UNIT_SHARE) is expected
    assert have_one_unit(np.ones(10), variances) is expected


def test_many_small_columns_are_another_unit():
    """The large half has most of the variance, and its effective share alone would be enough."""
    variances = np.repeat([1.0, 1e4], 10)
    assert (variances.sum() ** 2 / (variances**2).sum() / 20) > _scales.ONE_UNIT_SHARE
    assert not have_one_unit(np.sqrt(variances), variances)


@given(
    X=arrays(np.float64, (7, 3), elements=st.floats(-1e3, 1e3)),
    unit=st.sampled_from([1e-90, 1e-3, 1e90]),
)
def test_a_common_unit_changes_no_decision(X, unit):
    X = np.round(X, 2)  # differences are exact enough in every unit
    (ranges, variances), other = ranges_and_variances(X), ranges_and_variances(X * unit)
    np.testing.assert_allclose(other[1], variances * unit**2, rtol=1e-6)
    varies = variances > 1e-6
    assert have_one_unit(ranges[varies], variances[varies]) == have_one_unit(
        other[0][varies], other[1][varies]
    )


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_moments_are_those_of_numpy_also_by_blocks(dtype, monkeypatch):
    X = (np.random.default_rng(0).normal(size=(500, 4)) * [1, 10, 0.1, 3] + 50).astype(dtype)
    monkeypatch.setattr("graphmargin._blocks.BLOCK_BYTES", 1000)
    ranges, variances = ranges_and_variances(X)
    np.testing.assert_allclose(ranges, np.ptp(X.astype(np.float64), axis=0), rtol=1e-6)
    np.testing.assert_allclose(variances, X.astype(np.float64).var(axis=0), rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_columns_that_differ_by_rounding_are_constant_and_get_no_factor(dtype):
    rounding = np.array([0.1, np.nextafter(np.dtype(dtype).type(0.1), np.dtype(dtype).type(1))])
    X = np.column_stack([[1.0, 2.0], rounding, [7.0, 7.0]]).astype(dtype)
    variances = ranges_and_variances(X)[1]
    assert (variances > 0).tolist() == [True, False, False]
    assert standardizing_factors(variances).tolist() == [2.0, 0.0, 0.0]


def test_standardized_rows_have_equal_scales():
    X = StandardScaler().fit_transform(load_wine().data)
    assert are_equal_scales(ranges_and_variances(X)[1])
    assert are_equal_scales(np.zeros(3))
