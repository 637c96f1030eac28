from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reproduction.pairs.choice import choose_of_grid

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


@st.composite
def grids(draw):
    """Return decisions on validation and test rows with many ties, zeros among them."""
    m, h, t = draw(st.integers(1, 6)), draw(st.integers(1, 4)), draw(st.integers(1, 8))
    random = np.random.default_rng(draw(st.integers(0, 10**6)))
    f_validation, f = (random.integers(-3, 4, size=(m, k)).astype(float) for k in (h, t))
    return f_validation, random.integers(2, size=h), f, random.integers(2, size=t)


def test_the_rules_for_ties_are_those_by_hand():
    choice = choose_of_grid(F_VALIDATION, Y_VALIDATION, F, Y)
    assert (choice.n_best, choice.number, choice.validation) == (3, 1, 0.0)
    assert (choice.first, choice.last, choice.softest) == (0.25, 0.75, 0.5)
    assert (choice.expected, choice.oracle) == (0.5, 0.0)
    # In units of each, the tied functions are (-1, 1, 1, 1), (-1, 1, 1, -1) and (1, 1, 1, -1).
    assert choice.averaged == 0.5  # the sum is (-1, 3, 3, -1)


def test_a_single_best_candidate_leaves_nothing_to_rules():
    f_validation = np.array([[1.0, 1.0], [-1.0, 1.0], [1.0, -1.0]])
    choice = choose_of_grid(f_validation, Y_VALIDATION, F[:3], Y)
    rules = ("first", "last", "softest", "expected", "averaged")
    assert {getattr(choice, rule) for rule in rules} == {0.25}
    assert (choice.n_best, choice.number) == (1, 1)


def test_zero_is_class_0_and_divides_nothing():
    zeros = np.zeros((2, 4))
    choice = choose_of_grid(zeros[:, :2], Y_VALIDATION, zeros, Y)
    assert choice.averaged == choice.first == choice.validation == 0.5


@given(grids())
def test_what_is_chosen_is_tied(grid):
    f_validation, y_validation, f, y = grid
    choice = choose_of_grid(*grid)
    wrong = ((f_validation > 0) != (y_validation == 1)).mean(axis=1)
    errors = ((f > 0) != (y == 1)).mean(axis=1)
    tied = errors[wrong == wrong.min()]
    assert (choice.n_best, choice.validation) == (len(tied), wrong.min())
    assert (choice.first, choice.last) == (tied[0], tied[-1])
    assert errors[choice.number] == choice.first
    assert choice.softest in tied
    assert choice.expected == pytest.approx(tied.mean())
    assert choice.oracle == errors.min()


@given(grids(), st.integers(-8, 8), st.integers(0, 5))
def test_the_scale_of_a_function_matters_to_the_softest_only(grid, power, which):
    f_validation, y_validation, f, y = grid
    factors = np.ones((len(f), 1))
    factors[which % len(f)] = 2.0**power  # exact, so that no sum changes its sign
    scaled = choose_of_grid(factors * f_validation, y_validation, factors * f, y)
    assert replace(scaled, softest=0.0) == replace(choose_of_grid(*grid), softest=0.0)
