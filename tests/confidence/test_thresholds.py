from __future__ import annotations

import numpy as np
import pytest

from graphmargin.confidence.thresholds import THRESHOLDS, threshold_table


def distributions_of(p: object) -> np.ndarray:
    p = np.asarray(p, dtype=float)
    return np.column_stack([1 - p, p])


def test_counts_expected_finds_of_every_threshold() -> None:
    p = [0.9, 0.3, 0.3, 0.04, 0.0]
    rows = threshold_table(distributions_of(p), 1)
    assert [row.threshold for row in rows] == list(THRESHOLDS)
    assert [row.n_rows for row in rows] == [1, 3, 3, 3, 3]
    assert rows[0].n_found == pytest.approx(0.9)
    assert rows[0].precision == pytest.approx(0.9)
    assert rows[1].precision == pytest.approx(0.5)
    assert rows[1].recall == pytest.approx(1.5 / 1.54)


def test_agrees_with_classes_drawn_from_the_probabilities() -> None:
    rng = np.random.default_rng(0)
    p = rng.beta(0.8, 3.0, size=100_000)
    is_rare = rng.random(len(p)) < p
    for row in threshold_table(distributions_of(p), 1):
        found = p >= row.threshold
        assert row.precision == pytest.approx(is_rare[found].mean(), abs=0.02)
        assert row.recall == pytest.approx(found[is_rare].mean(), abs=0.02)


def test_lower_thresholds_find_more_rows_of_the_class() -> None:
    p = np.random.default_rng(0).random(50)
    rows = threshold_table(distributions_of(p), 0, thresholds=np.linspace(1, 0, 11).tolist())
    recalls, precisions = ([getattr(r, name) for r in rows] for name in ("recall", "precision"))
    assert np.all(np.diff(recalls) >= 0)
    assert np.all(np.diff(precisions[1:]) <= 0)
    assert recalls[-1] == pytest.approx(1.0)


def test_empty_selections_have_no_precision_and_absent_classes_no_recall() -> None:
    (row,) = threshold_table(distributions_of([0.1, 0.2]), 1, thresholds=[0.5])
    assert row.n_rows == 0
    assert np.isnan(row.precision)
    assert row.recall == 0.0
    (row,) = threshold_table(distributions_of([0.0, 0.0]), 1, thresholds=[0.5])
    assert np.isnan(row.recall)
