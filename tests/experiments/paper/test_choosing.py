from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.experiments.paper.choosing import choose_of_grid

Y_VALIDATION = np.array([0, 1])
Y = np.array([0, 0, 1, 1])
# Candidates 1, 2 and 3 are right on both validation rows; 2 has the widest margins.
F_VALIDATION = np.array([[1.0, 1.0], [-0.1, 0.1], [-1.0, 2.0], [-0.5, 0.5]])
# Errors on the test rows: 0, 1/4, 1/2 and 3/4.
F = np.array(
    [
        [-1.0, -1.0, 1.0, 1.0],
        [-0.1, 0.1, 0.1, 0.1],
        [-9.0, 9.0, 9.0, -9.0],
        [1.0, 1.0, 1.0, -1.0],
    ]
)
RULES = ("first", "last", "softest", "expected", "averaged", "oracle")


@st.composite
def grids(draw):
    """Return decisions on validation and test rows with many ties, zeros among them."""
    m, h, t = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 8))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    f_validation, f = (random.integers(-3, 4, size=(m, k)).astype(float) for k in (h, t))
    return f_validation, random.integers(2, size=h), f, random.integers(2, size=t)


@pytest.mark.parametrize(
    ("rule", "error"),
    [("first", 0.25), ("last", 0.75), ("softest", 0.5), ("expected", 0.5), ("oracle", 0.0)],
)
def test_rules_by_hand(rule, error):
    assert getattr(choose_of_grid(F_VALIDATION, Y_VALIDATION, F, Y), rule) == error


def test_counts_by_hand():
    chosen = choose_of_grid(F_VALIDATION, Y_VALIDATION, F, Y)
    assert (chosen.n_best, chosen.number, chosen.validation) == (3, 1, 0.0)


def test_the_mean_of_functions_is_taken_in_units_of_each():
    # In these units, the tied functions are (-1, 1, 1, 1), (-1, 1, 1, -1) and (1, 1, 1, -1).
    chosen = choose_of_grid(F_VALIDATION, Y_VALIDATION, F, Y)
    assert chosen.averaged == 0.5  # the sum is (-1, 3, 3, -1)


def test_a_single_best_candidate_leaves_nothing_to_rules():
    f_validation = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    chosen = choose_of_grid(f_validation, Y_VALIDATION, F[:3], Y)
    assert {getattr(chosen, rule) for rule in RULES[:-1]} == {0.25}
    assert (chosen.n_best, chosen.number) == (1, 1)


def test_zero_is_class_0_and_divides_nothing():
    zeros = np.zeros((2, 4))
    chosen = choose_of_grid(zeros[:, :2], Y_VALIDATION, zeros, Y)
    assert chosen.averaged == chosen.first == chosen.validation == 0.5


def errors_of(f, y):
    return ((f > 0) != (y == 1)).mean(axis=1)


@given(grids())
def test_what_is_chosen_is_tied(grid):
    f_validation, y_validation, f, y = grid
    chosen = choose_of_grid(*grid)
    wrong, errors = errors_of(f_validation, y_validation), errors_of(f, y)
    tied = errors[wrong == wrong.min()]
    assert chosen.n_best == len(tied)
    assert chosen.validation == wrong.min()
    assert (chosen.first, chosen.last) == (tied[0], tied[-1])
    assert errors[chosen.number] == chosen.first
    assert chosen.softest in tied
    assert tied.min() - 1e-12 <= chosen.expected <= tied.max() + 1e-12
    assert chosen.oracle == errors.min()
    assert chosen.oracle <= min(chosen.first, chosen.last, chosen.softest)
    assert chosen.oracle <= chosen.expected + 1e-12
    assert 0 <= chosen.averaged <= 1


@given(grids(), st.integers(-8, 8), st.integers(0, 5))
def test_the_scale_of_a_function_matters_to_the_softest_only(grid, power, which):
    f_validation, y_validation, f, y = grid
    factors = np.ones((len(f), 1))
    factors[which % len(f)] = 2.0**power  # exact, so that no sum changes its sign
    found = choose_of_grid(factors * f_validation, y_validation, factors * f, y)
    expected = choose_of_grid(*grid)
    assert replace(found, softest=0.0) == replace(expected, softest=0.0)


@given(grids(), st.integers(0, 10**6))
def test_only_first_last_and_number_depend_on_the_order(grid, seed):
    f_validation, y_validation, f, y = grid
    order = np.random.default_rng(seed).permutation(len(f))
    found = choose_of_grid(f_validation[order], y_validation, f[order], y)
    expected = choose_of_grid(*grid)
    assert (found.oracle, found.n_best, found.validation) == (
        *(expected.oracle, expected.n_best, expected.validation),
    )
    assert found.expected == pytest.approx(expected.expected, abs=1e-12)


@given(grids())
def test_swapping_the_classes_swaps_the_decisions(grid):
    f_validation, y_validation, f, y = grid
    ones = [np.where(values == 0, -1.0, values) for values in (f_validation, f)]
    found = choose_of_grid(-ones[0], 1 - y_validation, -ones[1], 1 - y)
    expected = choose_of_grid(ones[0], y_validation, ones[1], y)
    # A mean that is exactly zero has no class to swap.
    assert replace(found, averaged=0.0) == replace(expected, averaged=0.0)
