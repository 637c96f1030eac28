"""The part of class weights in the choice of parameters and in held-out predictions."""

import numpy as np
import pytest

from graphmargin.confidence.held_out_predictions import (
    estimate_accuracy,
    expected_confusion,
    predictions_by_confusion,
    predictions_for,
)
from graphmargin.selection.choice import choose
from graphmargin.selection.trials import Trials


def trials(codes, values):
    m = len(values)
    return Trials(
        params=[{"C": float(i + 1)} for i in range(m)],
        supervised=np.zeros(m, dtype=bool),
        held_out_codes=np.asarray(codes),
        fold=np.arange(len(codes)),
        held_out_values=np.asarray(values, dtype=float)[..., None],
        scales=np.ones(m),
        pair_scales=np.ones((m, 1)),
        shares=np.full((m, 2), 0.5),
    )


def test_held_out_labels_of_a_heavy_class_count_more():
    # The first candidate is right about the common class (f > 0), the second about the rare one.
    codes = [0] * 8 + [1] * 2
    tried = trials(codes, [[1.0] * 10, [-0.3] * 4 + [1.0] * 4 + [-1.0] * 2])
    counts = np.array([8, 2])
    plain = choose(tried, counts)
    heavy = choose(tried, counts, class_weight=(1.0, 20.0))
    assert heavy.weights[1] > plain.weights[1]
    factors = np.repeat([1.0, 20.0], [8, 2])
    np.testing.assert_allclose(
        heavy.label_log_likelihood, plain.label_log_likelihood * factors / factors.mean()
    )


@pytest.mark.parametrize("weight", [0.01, 1.0, 100.0])
def test_equal_weights_change_nothing(weight):
    tried = trials([0, 1, 0], [[1.0, -1.0, 0.5], [-1.0, 0.2, 0.3]])
    counts = np.array([2, 1])
    expected = choose(tried, counts).weights
    np.testing.assert_allclose(choose(tried, counts, None, (weight, weight)).weights, expected)


def test_weights_without_held_out_labels_are_no_error():
    tried = trials(np.zeros(0, dtype=int), np.zeros((2, 0)))
    assert choose(tried, np.array([1, 1]), class_weight=(1.0, 5.0)).weights.tolist() == [0.5, 0.5]


def test_accuracy_is_that_of_the_predicted_classes_and_not_of_the_most_probable():
    P = np.tile([0.8, 0.2], (100, 1))
    codes, predicted = np.repeat([0, 1], [80, 20]), np.ones(100, dtype=int)
    joint = expected_confusion(P, predicted)
    held_out = predictions_by_confusion(
        codes, P, None, doubt=0.0, joint=joint, weighted_codes=predicted
    )
    estimate = estimate_accuracy(held_out)
    assert estimate.recall == pytest.approx([0.0, 1.0])
    assert estimate.precision[1] == pytest.approx(0.2)
    assert estimate.accuracy == pytest.approx(0.2)
    assert estimate_accuracy(
        predictions_for(codes, P, None, doubt=0.0, unlabeled=P)
    ).accuracy == pytest.approx(0.8)
