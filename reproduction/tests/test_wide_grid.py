"""Tests of the columns of ours: the rows and labels they learn from, and the wide grid."""

from dataclasses import replace

import numpy as np
import pytest

from graphmargin.estimators import MaxMarginGraphCut
from reproduction.pairs import methods as module
from reproduction.pairs.choice import choose_of_grid
from reproduction.pairs.methods import KernelWork, PairWork, all_labels_cut, wide_cut
from reproduction.pairs.splits import split_pair

SPLIT = split_pair("image", "brickface-cement", 5, 0)
N_LABELED = 11  # 5 % of 220
N_MACHINES = 7 * 3 * 2 * 3  # gamma_g, graphs, loss weights, C


def wide(split):
    return wide_cut(KernelWork(PairWork(split), "rbf"))


@pytest.fixture(scope="module")
def grid():
    return wide(SPLIT)


@pytest.fixture(scope="module")
def on_training_rows():
    """Return the grid with the training rows in place of the test rows."""
    return wide(replace(SPLIT, X_test=SPLIT.X, y_test=SPLIT.y_true))


def blended(grid, y_validation):
    """Return the test error of the mean of the candidates that these labels select."""
    f_validation, f, y = grid.f_validation, grid.f_test, SPLIT.y_test
    return choose_of_grid(f_validation, y_validation, f, y, grid.units)


def test_no_candidate_learns_from_validation_or_test_labels(grid):
    flipped = replace(SPLIT, y_validation=1 - SPLIT.y_validation, y_test=1 - SPLIT.y_test)
    other = wide(flipped)
    np.testing.assert_array_equal(grid.f_validation, other.f_validation)
    np.testing.assert_array_equal(grid.f_test, other.f_test)
    np.testing.assert_array_equal(grid.units, other.units)
    assert 100 * blended(grid, SPLIT.y_validation).averaged < 10


def test_validation_labels_select_and_do_nothing_else(grid):
    one = replace(
        grid,
        **{name: getattr(grid, name)[:1] for name in ("f_validation", "f_test", "units")},
    )
    y = SPLIT.y_validation
    assert blended(one, y).averaged == blended(one, 1 - y).averaged
    assert blended(grid, y).averaged != blended(grid, 1 - y).averaged


def test_validation_rows_without_a_label_do_not_matter(grid):
    other = wide(replace(SPLIT, X_unused=np.zeros_like(SPLIT.X_unused)))
    np.testing.assert_array_equal(grid.f_test, other.f_test)


def test_few_labels_have_three_biases(grid, on_training_rows):
    assert len(grid.C) == 3 * N_MACHINES
    counts = np.bincount(SPLIT.y[SPLIT.y >= 0], minlength=2)
    assert counts.sum() == N_LABELED
    assigned = (on_training_rows.f_test > 0).mean(axis=1)
    learned, of_labels, equal = np.split(assigned, 3)
    np.testing.assert_allclose(of_labels, (counts[1] + 1) / (N_LABELED + 2), atol=0.01)
    np.testing.assert_allclose(equal, 0.5, atol=0.01)
    assert np.ptp(learned) > 0.05


def test_units_are_mean_absolute_values_on_training_rows(grid, on_training_rows):
    expected = np.abs(on_training_rows.f_test).mean(axis=1)
    np.testing.assert_allclose(grid.units, expected)


def test_more_labels_have_the_bias_that_is_learned():
    split = split_pair("image", "brickface-cement", 10, 0)
    assert (split.y >= 0).sum() == 22
    assert len(wide(split).C) == N_MACHINES


@pytest.mark.parametrize(
    ("number", "params"),
    [
        (0, {"n_neighbors": 3, "loss_weights": "confidence"}),
        (60, {"n_neighbors": 5, "loss_weights": "confidence"}),
        (125, {"n_neighbors": 10, "loss_weights": "equal"}),
    ],
)
def test_candidates_are_cuts_with_fixed_parameters(grid, number, params):
    gamma_g, C = grid.strength[number], grid.C[number]
    fixed = {**params, "gamma_g": gamma_g, "C": C, "class_mass_normalization": False}
    model = MaxMarginGraphCut(kernel="rbf", **fixed).fit(SPLIT.X, SPLIT.y)
    f, expected = grid.f_test[number], model.decision_function(SPLIT.X_test)
    clear = np.abs(expected) > 0.02 * np.abs(expected).max()
    np.testing.assert_array_equal((f > 0)[clear], (expected > 0)[clear])
    assert np.corrcoef(f, expected)[0, 1] > 0.999


def test_the_column_with_all_labels_has_the_rows_and_labels_of_the_others(monkeypatch):
    given = []

    class Remembering(MaxMarginGraphCut):
        def fit(self, X, y):
            given.append((X, y))
            return super().fit(X, y)

    monkeypatch.setattr(module, "MaxMarginGraphCut", Remembering)
    all_labels_cut(KernelWork(PairWork(SPLIT), "linear"))
    [(X, y)] = given
    n = len(SPLIT.X)
    assert (y >= 0).sum() == 2 * N_LABELED == (SPLIT.y >= 0).sum() + len(SPLIT.y_validation)
    np.testing.assert_array_equal(X, np.concatenate([SPLIT.X, SPLIT.X_validation]))
    np.testing.assert_array_equal(y[:n], SPLIT.y)
    np.testing.assert_array_equal(y[n:], SPLIT.y_validation)
