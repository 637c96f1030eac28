import numpy as np
import pytest

from benchmarks.neighbor_search import N_NEIGHBORS, kth_distances, seconds_at
from benchmarks.recall import RECALLS, difference_table


def test_seconds_are_interpolated_between_the_recalls_that_were_reached():
    results = [{"cpu": 3.0, "recall": 0.999}, {"cpu": 1.0, "recall": 0.9}]
    assert seconds_at(results, 0.99) == pytest.approx(2.0)
    assert seconds_at(results, 0.8) == 1.0


def test_kth_distances_are_those_of_all_rows():
    X = np.random.default_rng(0).normal(size=(60, 3)).astype(np.float32)
    distances = np.sort(np.linalg.norm(X[:4, None] - X, axis=2), axis=1)
    np.testing.assert_allclose(kth_distances(X, np.arange(4)), distances[:, N_NEIGHBORS], rtol=1e-5)


def test_differences_are_paired_and_have_standard_errors():
    errors = np.full((4, len(RECALLS)), 0.1)
    errors[:, 0] += [0.0, 0.02, 0.0, 0.02]
    table = difference_table({("letter", "cut"): errors})
    assert table[1][:5] == ["letter", "cut", "10.00%", "+1.00 ± 0.58", "+0.00 ± 0.00"]
