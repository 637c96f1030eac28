"""Samples of a table in partitions are as those of the whole table."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from graphmargin.distributed.engine.sampling import allocate_sample, draw_sample

SHAPES = st.tuples(st.integers(1, 8), st.integers(1, 4))
COUNTS = hnp.arrays(np.int64, SHAPES, elements=st.integers(0, 50))


@given(COUNTS, st.integers(0, 120), st.integers(0, 1000))
def test_quotas_are_met_and_every_partition_gives_its_share_up_to_one_row(counts, quota, seed):
    drawn, totals = allocate_sample(counts, np.full(counts.shape[1], quota), seed), counts.sum(0)
    assert (drawn >= 0).all()
    assert (drawn <= counts).all()
    np.testing.assert_array_equal(drawn.sum(axis=0), np.minimum(quota, totals))
    share = counts * np.minimum(quota, totals) / np.maximum(totals, 1)
    assert (np.abs(drawn - share) < 1).all()


def test_every_row_is_as_likely_as_the_others():
    counts = np.array([[5], [0], [20], [75]])
    mean = np.mean([allocate_sample(counts, np.array([10]), seed) for seed in range(4000)], axis=0)
    np.testing.assert_allclose(mean[:, 0], [0.5, 0, 2, 7.5], atol=0.04)


def test_sizes_beyond_32_bits_are_exact():
    counts = np.array([[3 * 10**12], [10**12]])
    assert allocate_sample(counts, np.array([10**12]), 0).sum() == 10**12


def test_rows_are_drawn_without_repetition_in_their_order():
    strata = np.random.default_rng(0).integers(-1, 3, 500)
    quotas = np.array([20, 0, 30])
    rows = draw_sample(strata, quotas, [3, 7])
    assert (np.diff(rows) > 0).all()
    np.testing.assert_array_equal(np.bincount(strata[rows], minlength=3), quotas)
    np.testing.assert_array_equal(rows, draw_sample(strata, quotas, [3, 7]))
    assert not np.array_equal(rows, draw_sample(strata, quotas, [3, 8]))


def test_quotas_above_the_number_of_rows_are_refused_and_zero_draws_none():
    with pytest.raises(ValueError, match="larger sample"):
        draw_sample(np.array([0, 0]), np.array([3]), [0])
    assert draw_sample(np.array([0, -1]), np.array([0]), [0]).tolist() == []
