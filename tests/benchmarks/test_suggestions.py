import numpy as np
import pytest

from benchmarks.suggestions import RULES, Curve, label_factor, label_in_rounds, table

SLOW = Curve([10, 20, 30, 40], [0.5, 0.3, 0.2, 0.1])


@pytest.mark.parametrize(
    ("goal", "factor", "reached"),
    [
        (0.25, 25 / 20, True),
        (0.3, 20 / 20, True),
        (0.6, 10 / 20, True),
        (0.05, 40 / 20, False),
    ],
    ids=["between-rounds", "at-a-round", "at-the-start", "never"],
)
def test_factor_interpolates_the_labels_of_random_choice(goal, factor, reached):
    found, is_there = label_factor(SLOW, Curve([10, 20], [0.5, goal]))
    assert found == pytest.approx(factor)
    assert is_there is reached


def test_table_has_a_line_for_each_rule_and_the_factors():
    fast = Curve([10, 20], [0.5, 0.2])
    never = Curve([10, 20], [0.5, 0.05])
    curves = {
        "random": [SLOW, SLOW],
        "lowest confidence": [fast, fast],
        "suggestions": [fast, never],
    }
    lines = table("digits", curves).splitlines()
    assert lines[0] == "| digits, labels | 10 | 20 | 30 | 40 |"
    assert lines[2] == "| random | 50.0 | 30.0 | 20.0 | 10.0 |"
    assert lines[4] == "| suggestions | 50.0 | 12.5 |  |  |"
    assert lines[6] == "Random choice needs at least 1.8 times the labels (1.5, > 2.0)"


@pytest.mark.parametrize("rule", RULES)
def test_rounds_add_labels_and_count_errors_on_the_others(rule):
    random = np.random.default_rng(0)
    y = np.arange(90) % 3
    X = random.normal(size=(90, 2)) + 6 * np.eye(3)[y, :2]
    few = np.where(np.arange(90) < 6, y, -1)
    given = few.copy()
    curve = label_in_rounds(X, y, few, rule, rounds=2, batch=4, seed=0)
    assert curve.labels == [6, 10, 14]
    assert all(0 <= error <= 1 for error in curve.errors)
    assert (few == given).all()
