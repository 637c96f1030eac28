"""Held-out predictions and the accuracy that they tell, by hand and by simulation."""

import re

import numpy as np
import pytest
from scipy.stats import beta

from graphmargin.confidence.held_out_predictions import (
    HeldOutPredictions,
    binomial_interval,
    estimate_accuracy,
    expected_confusion,
    predictions_by_confusion,
    predictions_for,
)
from tests.confidence.populations import held_out_at, labeled_per_class, population

# Held-out predictions.


def test_shares_and_confusion_are_those_computed_by_hand():
    unlabeled = np.array([[0.6, 0.4, 0.0], [0.9, 0.1, 0.0], [0.3, 0.7, 0.0]])
    codes, P = np.array([0, 1, 0]), np.array([[0.5, 0.4, 0.1]] * 3)
    held_out = predictions_for(codes, P, None, uniform_share=0.2, unlabeled=unlabeled)
    np.testing.assert_allclose(held_out.class_shares, [0.6, 0.4, 0.0])
    # Of the mass 1.8 of class 0, 1.5 is on rows that are predicted as 0; class 2 has no mass.
    confusion = [[1.5 / 1.8, 0.3 / 1.8, 0.0], [0.5 / 1.2, 0.7 / 1.2, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(held_out.confusion, confusion)
    assert held_out.label_counts.tolist() == [2, 1, 0]
    np.testing.assert_allclose(held_out.label_weights, [0.9, 1.2, 0.9])
    assert held_out.predicted.tolist() == [0, 0, 0]
    nobody = predictions_for(codes, P, None, uniform_share=0.2, unlabeled=unlabeled[:0])
    np.testing.assert_allclose(nobody.class_shares, P[0])


# Accuracy.


def test_accuracy_is_that_computed_by_hand():
    predicted = np.array([0, 0, 1, 1, 0])
    held_out = HeldOutPredictions(
        codes=np.array([0, 0, 0, 1, 1]),
        probabilities=0.8 * np.eye(2)[predicted] + 0.1,
        rows=None,
        uniform_share=0.0,
        class_shares=np.array([0.75, 0.25]),
        confusion=np.array([[0.9, 0.1], [0.3, 0.7]]),
    )
    estimate = estimate_accuracy(held_out)
    # A guess of 1 / 2 for one label, half of which is of each class.
    recall = [(2 + 7.5 * 0.9 + 0.25) / (3 + 7.5 + 0.5), (1 + 2.5 * 0.7 + 0.25) / (2 + 2.5 + 0.5)]
    accuracy = 0.75 * recall[0] + 0.25 * recall[1]
    assert (estimate.n_held_out, estimate.n_right) == (5, 3)
    np.testing.assert_allclose(estimate.recall, recall)
    assert estimate.accuracy == pytest.approx(accuracy)
    assert estimate.balanced_accuracy == pytest.approx(np.mean(recall))
    as_0 = np.array([0.75 * recall[0], 0.25 * (1 - recall[1])])
    as_1 = np.array([0.75 * (1 - recall[0]), 0.25 * recall[1]])
    np.testing.assert_allclose(estimate.precision, [as_0[0] / as_0.sum(), as_1[1] / as_1.sum()])
    n = 5**2 / (3 * 1.25**2 + 2 * 0.625**2)  # labels that count for 0.75 / 0.6 or 0.25 / 0.4
    interval = beta.ppf([0.025, 0.975], accuracy * n + 0.5, (1 - accuracy) * n + 0.5)
    np.testing.assert_allclose(estimate.interval, interval)
    of_class_1 = beta.ppf([0.025, 0.975], recall[1] * 2 + 0.5, (1 - recall[1]) * 2 + 0.5)
    np.testing.assert_allclose(estimate.recall_interval[1], of_class_1)


@pytest.mark.parametrize("n_labels", [5, 30])
def test_estimate_of_labels_given_class_by_class_is_right_and_its_interval_covers(n_labels):
    """Class 0 has most rows and the fewest errors; a third of the labels is of each class."""
    rng = np.random.default_rng(0)
    names = ("accuracy", "balanced_accuracy")
    bias, covered, naive = [], [], []
    for _ in range(300):
        codes, P = population(2000, rng)
        rows = labeled_per_class(codes, n_labels, rng)
        estimate = estimate_accuracy(held_out_at(codes, P, rows))
        right = P.argmax(axis=1) == codes
        recall = np.array([right[codes == k].mean() for k in range(3)])
        truth = {"accuracy": right.mean(), "balanced_accuracy": recall.mean()}
        bias.append([getattr(estimate, name) - truth[name] for name in names])
        naive.append(right[rows].mean() - right.mean())
        low, high = estimate.recall_interval.T
        covered.append(
            [
                estimate.interval[0] <= right.mean() <= estimate.interval[1],
                *((low <= recall) & (recall <= high)),
            ]
        )
    assert np.abs(np.mean(bias, axis=0)).max() < 0.015
    assert np.mean(naive) < -0.1
    assert np.mean(covered, axis=0).min() > 0.93


def test_many_labels_correct_a_classifier_that_is_too_sure():
    rng = np.random.default_rng(0)
    codes, P = population(20_000, rng, inverse_temperature=5.0)
    right = (P.argmax(axis=1) == codes).mean()
    few, many = (
        estimate_accuracy(held_out_at(codes, P, labeled_per_class(codes, n, rng))).accuracy
        for n in (1, 500)
    )
    assert few - right > 0.06, "probabilities decide where labels are few"
    assert abs(many - right) < 0.03, "they still say how frequent classes are"


def test_classes_without_a_label_or_a_row_have_finite_estimates():
    P = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    estimate = estimate_accuracy(
        predictions_for(np.array([0, 0]), P, None, uniform_share=0.0, unlabeled=P)
    )
    for values in (estimate.recall, estimate.precision, estimate.recall_interval.ravel()):
        assert np.isfinite(values).all()
        assert ((values >= 0) & (values <= 1)).all()
    assert (estimate.recall[2], estimate.precision[2]) == (0.5, 0.5)
    of_nothing = beta.ppf([0.025, 0.975], 0.5, 0.5)
    np.testing.assert_allclose(estimate.recall_interval[2], of_nothing)


@pytest.mark.parametrize("n", [1, 10, 1000])
@pytest.mark.parametrize("is_right", [True, False])
def test_no_number_of_labels_shows_that_all_or_none_are_right(n, is_right):
    """The closed form for two classes of n labels, and a classifier that is certain."""
    codes = np.repeat([0, 1], n)
    P = np.eye(2)[codes if is_right else 1 - codes]
    held_out = predictions_for(codes, P, None, uniform_share=0.0, unlabeled=P)
    estimate = estimate_accuracy(held_out, np.array(["cat", "dog"]))
    # 5 of the ten labels of the classifier, and half of the guess, are of each class.
    expected = (n * is_right + 5 + 0.25) / (n + 5 + 0.5)
    np.testing.assert_allclose([estimate.accuracy, *estimate.recall, *estimate.precision], expected)
    intervals = [estimate.interval, *estimate.recall_interval, *estimate.precision_interval]
    for (low, high), share in zip(intervals, [expected] * 5, strict=True):
        assert 0 < low < share < high < 1
    for text in (str(estimate), estimate._repr_html_(), estimate.text):
        assert not re.search(r"\b(100|0)%", text)


def test_the_estimate_is_printed_with_the_names_of_classes():
    P = np.array([[0.9, 0.1], [0.2, 0.8], [0.6, 0.4]])
    held_out = predictions_for(np.array([0, 1, 1]), P, None, uniform_share=0.0, unlabeled=P)
    estimate = estimate_accuracy(held_out, np.array(["cat", "<dog>"]))
    accuracy, balanced, cat, _ = str(estimate).splitlines()
    low, high = (f"{bound:.0%}" for bound in estimate.interval)
    assert accuracy == f"accuracy: about 74% ({low} to {high}), 2 of 3 held-out labels right"
    assert balanced == "balanced: 72%, most frequent class alone: 57%"
    assert cat.startswith(f"cat: recall {estimate.recall[0]:.0%} (")
    page = estimate._repr_html_()
    assert "<caption" in page
    assert "about 74%" in page
    assert "&lt;dog&gt;" in page
    assert page.count("<tr>") == 3


def test_a_label_of_several_folds_counts_once_with_the_mean_of_their_probabilities():
    P = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.2, 0.8]])
    held_out = predictions_by_confusion(
        *(np.array([0, 1, 0, 0]), P, np.array([7, 2, 7, 7])),
        uniform_share=0.0,
        joint=np.eye(2),
        weighted_codes=np.array([0, 1, 1, 1]),
    )
    assert (held_out.rows.tolist(), held_out.codes.tolist()) == ([2, 7], [1, 0])
    np.testing.assert_allclose(held_out.probabilities, [[0.3, 0.7], [1.6 / 3, 1.4 / 3]])
    assert held_out.predicted.tolist() == [1, 1]
    assert estimate_accuracy(held_out).n_held_out == 2


def test_accuracy_is_that_of_the_predicted_classes_and_not_of_the_most_probable():
    P = np.tile([0.8, 0.2], (100, 1))
    codes, predicted = np.repeat([0, 1], [80, 20]), np.ones(100, dtype=int)
    joint = expected_confusion(P, predicted)
    held_out = predictions_by_confusion(
        codes, P, None, uniform_share=0.0, joint=joint, weighted_codes=predicted
    )
    estimate = estimate_accuracy(held_out)
    assert estimate.recall == pytest.approx([0.25 / 88.5, 22.25 / 22.5])
    assert estimate.precision[1] == pytest.approx(0.2, abs=0.01)
    assert estimate.accuracy == pytest.approx(0.2, abs=0.01)
    assert estimate_accuracy(
        predictions_for(codes, P, None, uniform_share=0.0, unlabeled=P)
    ).accuracy == pytest.approx(0.8, abs=0.01)


def test_intervals_contain_shares_of_zero_and_one():
    shares = np.array([0.0, 0.3, 1.0])
    for n in (0, 1, 5, 1000):
        low, high = binomial_interval(shares, np.full(3, n)).T
        assert ((low <= shares) & (shares <= high) & (low >= 0) & (high <= 1)).all()
        assert (high > low).all()
