import operator
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmargin.margin.coupling import class_scores
from graphmargin.search.trials import (
    join_trials,
    labels_of_other_folds,
    pairwise_trials,
    smoothed_shares,
    stack_folds,
    untried,
)
from graphmargin.search.weighing import choose
from tests.search.problems import assert_same_trials, random_trials


@settings(max_examples=15)
@given(m=st.integers(1, 6), seed=st.integers(0, 10**6), data=st.data())
def test_joined_trials_are_those_of_all_candidates(m, seed, data):
    trials = random_trials(m, 3, seed)
    by_graph = [None, *np.random.default_rng(seed).dirichlet(np.ones(3), size=(m - 1, 5))]
    trials = replace(trials, graph_distributions=by_graph)
    bounds = [0, *sorted(data.draw(st.lists(st.integers(0, m), max_size=2))), m]
    parts = [
        replace(
            trials,
            params=trials.params[first:last],
            graph_distributions=by_graph[first:last] if last > 1 else (),  # the first one has none
            **{
                name: getattr(trials, name)[first:last]
                for name in ("supervised", "held_out_values", "scales", "pair_scales", "shares")
            },
        )
        for first, last in pairwise(bounds)
    ]
    joined = join_trials(parts)
    assert joined.params == trials.params
    assert len(joined.graph_distributions) == m
    assert all(map(operator.is_, joined.graph_distributions, by_graph))
    assert_same_trials(joined, trials)
    counts = np.array([2, 2, 1])
    np.testing.assert_array_equal(choose(joined, counts).weights, choose(trials, counts).weights)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_are_pairs_of_classes_or_class_masses(n_classes):
    trials, weights = random_trials(2, n_classes, 0), np.array([0.25, 0.75])
    f = 0.25 * trials.held_out_values[0] + 0.75 * trials.held_out_values[1]
    expected = class_scores(f, n_classes, weights @ trials.pair_scales)
    np.testing.assert_allclose(trials.scores(weights), expected)
    some = [3, 0]
    np.testing.assert_allclose(trials.scores(weights, some), expected[some])
    for scores, one in zip(trials.candidate_scores, np.eye(2), strict=True):
        np.testing.assert_array_equal(scores, trials.scores(one))
    masses = np.random.default_rng(0).random((2, 5, n_classes))
    scores = replace(trials, columns="masses", held_out_values=masses).scores(weights)
    mean = 0.25 * masses[0] + 0.75 * masses[1]
    expected = mean[:, 1] - mean[:, 0] if n_classes == 2 else mean
    np.testing.assert_allclose(scores, expected)


def test_shares_are_smoothed_by_one_row_and_leave_out_rows_without_a_class():
    np.testing.assert_allclose(
        smoothed_shares(np.array([0, 0, 2, -1, -1]), 3), [3 / 6, 1 / 6, 2 / 6]
    )
    np.testing.assert_allclose(smoothed_shares(np.zeros(0, dtype=np.int64), 4), np.full(4, 0.25))


def test_folds_are_stacked_in_units_of_the_scales():
    parts = [
        [np.ones((2, 3)), 2 * np.ones((2, 3))],
        [np.zeros((0, 3)), np.zeros((0, 3))],
        [3 * np.ones((1, 3)), np.zeros((1, 3))],
    ]
    values, fold = stack_folds(parts, np.array([1.0, 4.0]), 3)
    assert values[:, :, 0].tolist() == [[1.0, 1.0, 3.0], [0.5, 0.5, 0.0]]
    assert fold.tolist() == [0, 0, 2]
    nothing, fold = stack_folds([], np.ones(2), 3)
    assert nothing.shape == (2, 0, 3)
    assert len(fold) == 0


def test_pairs_of_classes_have_scales_of_their_own():
    f = np.array([[2.0, 0.0, -8.0], [-4.0, 0.0, 4.0]])
    parts = [[np.array([[1.0, 2.0, 3.0]])]]
    unlabeled = [(np.abs(f).mean(axis=0), np.array([0]))]
    trials = pairwise_trials([{}], [False], np.array([0]), parts, unlabeled, 3, np.array([7]))
    assert trials.scales.tolist() == [3.0]
    assert trials.pair_scales.tolist() == [[1.0, 1 / 3, 2.0]]  # 1 where f is zero
    np.testing.assert_allclose(trials.held_out_values, [[[1 / 3, 2 / 3, 1.0]]])
    assert trials.held_out_rows.tolist() == [7]


def test_scales_and_shares_of_machines_are_those_computed_by_hand():
    unlabeled = [
        (np.array([4.0]), np.array([1, 0, 0])),
        (np.zeros(1), np.zeros(3, dtype=int)),
        (np.zeros(1), np.zeros(0, dtype=int)),
    ]
    parts = [[np.array([[3.0]]), np.array([[-1.0]]), np.array([[0.5]])]]
    params = [{"C": 1.0}, {"C": 2.0}, {"C": 3.0}]
    trials = pairwise_trials(params, [True, False, False], np.array([0]), parts, unlabeled, 2)
    assert trials.scales.tolist() == [4.0, 1.0, 1.0]
    assert trials.held_out_values[:, 0, 0].tolist() == [0.75, -1.0, 0.5]
    np.testing.assert_allclose(trials.shares, [[3 / 5, 2 / 5], [4 / 5, 1 / 5], [1 / 2, 1 / 2]])
    assert trials.supervised.tolist() == [True, False, False]
    assert trials.params == params
    assert trials.params[0] is not params[0]
    assert choose(trials, np.array([2, 2])).errors.tolist() == [0.0, 1.0, 0.0]


@given(fold=st.lists(st.integers(0, 3), max_size=12), seed=st.integers(0, 10**6))
def test_no_label_that_a_fold_holds_out_has_a_say_in_its_predictions(fold, seed):
    fold = np.array(fold, dtype=np.int64)
    rows = np.random.default_rng(seed).integers(6, size=len(fold))  # some are held out twice
    others = labels_of_other_folds(fold, rows)
    assert set(others) == set(fold.tolist())
    for number, used in others.items():
        if len(others) == 1:
            assert used.all(), "a validation set weighs all candidates"
        else:
            expected = [
                f != number and r not in rows[fold == number]
                for f, r in zip(fold, rows, strict=True)
            ]
            assert used.tolist() == expected


@pytest.mark.parametrize("n_classes", [2, 3])
def test_fixed_parameters_are_chosen_without_a_trial(n_classes):
    choice = choose(untried({"C": 3.0}, n_classes), np.full(n_classes, 2))
    assert (choice.is_fixed, choice.is_tested) == (True, False)
    assert choice.blended == [(0, 1.0)]
    assert choice.best_params == {"C": 3.0}
    assert choice.calibrated_probabilities.shape == (0, n_classes)
