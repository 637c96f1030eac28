"""Accuracy, prediction sets and wrong labels, by hand, by simulation and against crepes."""

import numpy as np
import pytest
from crepes import ConformalClassifier
from crepes.extras import hinge
from scipy.stats import beta

from graphmargin.selection.held_out_predictions import (
    HeldOutPredictions,
    binomial_interval,
    estimate_accuracy,
    predictions_by_confusion,
    predictions_for,
)
from graphmargin.selection.prediction_sets import (
    highest_coverage,
    prediction_sets,
    set_thresholds,
)

SHARES = np.array([0.7, 0.2, 0.1])
CENTERS = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])


def population(n, rng, sharpness=1.0):
    """Return classes of random rows, in shares `SHARES`, and the probabilities of a classifier.

    The probabilities are right for a sharpness of 1.
    """
    codes = rng.choice(3, size=n, p=SHARES)
    X = CENTERS[codes] + rng.normal(size=(n, 2))
    density = SHARES * np.exp(-((X[:, None] - CENTERS) ** 2).sum(axis=2) / 2)
    P = density**sharpness
    return codes, P / P.sum(axis=1, keepdims=True)


def labeled_per_class(codes, n_labels, rng):
    """Return as many random rows of each class."""
    rows = [rng.permutation(np.flatnonzero(codes == k))[:n_labels] for k in range(3)]
    return np.concatenate(rows)


def held_out_at(codes, P, rows):
    rest = np.delete(P, rows, axis=0)
    return predictions_for(codes[rows], P[rows], rows, doubt=0.0, unlabeled=rest)


# Held-out predictions.


def test_shares_and_confusion_are_those_computed_by_hand():
    unlabeled = np.array([[0.6, 0.4, 0.0], [0.9, 0.1, 0.0], [0.3, 0.7, 0.0]])
    codes, P = np.array([0, 1, 0]), np.array([[0.5, 0.4, 0.1]] * 3)
    held_out = predictions_for(codes, P, None, doubt=0.2, unlabeled=unlabeled)
    np.testing.assert_allclose(held_out.class_shares, [0.6, 0.4, 0.0])
    # Of the mass 1.8 of class 0, 1.5 is on rows that are predicted as 0; class 2 has no mass.
    confusion = [[1.5 / 1.8, 0.3 / 1.8, 0.0], [0.5 / 1.2, 0.7 / 1.2, 0.0], [0.0, 0.0, 1.0]]
    np.testing.assert_allclose(held_out.confusion, confusion)
    assert held_out.label_counts.tolist() == [2, 1, 0]
    np.testing.assert_allclose(held_out.label_weights, [0.9, 1.2, 0.9])
    assert held_out.predicted.tolist() == [0, 0, 0]
    nobody = predictions_for(codes, P, None, doubt=0.2, unlabeled=unlabeled[:0])
    np.testing.assert_allclose(nobody.class_shares, P[0])


# Accuracy.


def test_accuracy_is_that_computed_by_hand():
    predicted = np.array([0, 0, 1, 1, 0])
    held_out = HeldOutPredictions(
        codes=np.array([0, 0, 0, 1, 1]),
        probabilities=0.8 * np.eye(2)[predicted] + 0.1,
        rows=None,
        doubt=0.0,
        class_shares=np.array([0.75, 0.25]),
        confusion=np.array([[0.9, 0.1], [0.3, 0.7]]),
    )
    estimate = estimate_accuracy(held_out)
    recall = [(2 + 7.5 * 0.9) / (3 + 7.5), (1 + 2.5 * 0.7) / (2 + 2.5)]
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
def test_estimate_of_labels_given_class_by_class_is_unbiased_and_its_interval_covers(n_labels):
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
    assert np.abs(np.mean(bias, axis=0)).max() < 0.01
    assert np.mean(naive) < -0.1
    assert np.mean(covered, axis=0).min() > 0.93


def test_many_labels_correct_a_classifier_that_is_too_sure():
    rng = np.random.default_rng(0)
    codes, P = population(20_000, rng, sharpness=5.0)
    right = (P.argmax(axis=1) == codes).mean()
    few, many = (
        estimate_accuracy(held_out_at(codes, P, labeled_per_class(codes, n, rng))).accuracy
        for n in (1, 500)
    )
    assert few - right > 0.06, "probabilities decide where labels are few"
    assert abs(many - right) < 0.03, "they still say how frequent classes are"


def test_classes_without_a_label_or_a_row_have_finite_estimates():
    P = np.array([[0.9, 0.1, 0.0], [0.2, 0.8, 0.0]])
    estimate = estimate_accuracy(predictions_for(np.array([0, 0]), P, None, doubt=0.0, unlabeled=P))
    for values in (estimate.recall, estimate.precision, estimate.recall_interval.ravel()):
        assert np.isfinite(values).all()
        assert ((values >= 0) & (values <= 1)).all()
    assert estimate.recall[2] == 0
    np.testing.assert_allclose(estimate.recall_interval[2], [0.0, beta.ppf(0.975, 0.5, 0.5)])


def test_a_label_of_several_folds_counts_once_with_the_mean_of_their_probabilities():
    P = np.array([[0.9, 0.1], [0.3, 0.7], [0.5, 0.5], [0.2, 0.8]])
    held_out = predictions_by_confusion(
        *(np.array([0, 1, 0, 0]), P, np.array([7, 2, 7, 7])),
        doubt=0.0,
        joint=np.eye(2),
        weighted_codes=np.array([0, 1, 1, 1]),
    )
    assert (held_out.rows.tolist(), held_out.codes.tolist()) == ([2, 7], [1, 0])
    np.testing.assert_allclose(held_out.probabilities, [[0.3, 0.7], [1.6 / 3, 1.4 / 3]])
    assert held_out.predicted.tolist() == [1, 1]
    assert estimate_accuracy(held_out).n_held_out == 2


def test_intervals_contain_shares_of_zero_and_one():
    shares = np.array([0.0, 0.3, 1.0])
    for n in (0, 1, 5, 1000):
        low, high = binomial_interval(shares, np.full(3, n)).T
        assert ((low <= shares) & (shares <= high) & (low >= 0) & (high <= 1)).all()
        assert (high > low).all()


# Prediction sets.


def test_labels_of_classes_that_no_row_has_leave_no_class_out():
    P = np.tile([1.0, 0.0], (3, 1))
    held_out = predictions_for(np.ones(3, dtype=int), P, None, doubt=0.0, unlabeled=P)
    assert set_thresholds(held_out, 0.5).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("per_class", [False, True], ids=["marginal", "Mondrian"])
@pytest.mark.parametrize("coverage", [0.52, 0.83, 0.97])
def test_sets_are_those_of_crepes(coverage, per_class):
    rng = np.random.default_rng(3)
    codes, P = population(120, rng, sharpness=0.7)
    new = population(300, rng)[1]
    shares = np.bincount(codes, minlength=3) / len(codes)  # all labels have the weight 1
    held_out = HeldOutPredictions(codes, P, None, 0.0, shares, np.eye(3))
    sets = prediction_sets(new, set_thresholds(held_out, coverage, per_class=per_class))
    classes = np.arange(3)
    conformal = ConformalClassifier()
    conformal.fit(hinge(P, classes, codes), bins=codes if per_class else None)
    if per_class:
        expected = np.column_stack(
            [
                conformal.predict_set(
                    hinge(new)[:, [k]], bins=np.full(300, k), confidence=coverage, smoothing=False
                )[:, 0]
                for k in classes
            ]
        )
    else:
        expected = conformal.predict_set(hinge(new), confidence=coverage, smoothing=False)
    np.testing.assert_array_equal(sets, expected == 1)


@pytest.mark.parametrize("by_class", [False, True], ids=["drawn at random", "given class by class"])
def test_sets_cover_as_promised(by_class):
    """50 labels or 17 a class, of a classifier that is too sure."""
    rng = np.random.default_rng(0)
    marginal, of_classes, sizes = [], [], []
    for _ in range(200):
        codes, P = population(1500, rng, sharpness=3.0)
        rows = labeled_per_class(codes, 17, rng) if by_class else rng.permutation(1500)[:50]
        held_out = held_out_at(codes, P, rows)
        # The shares of the classes are known here; else, they are those of the probabilities.
        held_out = HeldOutPredictions(
            held_out.codes, held_out.probabilities, rows, 0.0, SHARES, held_out.confusion
        )
        rest = np.delete(np.arange(1500), rows)
        sets = prediction_sets(P[rest], set_thresholds(held_out, 0.8))
        marginal.append(sets[np.arange(len(rest)), codes[rest]].mean())
        sizes.append(sets.sum(axis=1).mean())
        if by_class:
            sets = prediction_sets(P[rest], set_thresholds(held_out, 0.8, per_class=True))
            own = sets[np.arange(len(rest)), codes[rest]]
            of_classes.append([own[codes[rest] == k].mean() for k in range(3)])
    assert 0.79 < np.mean(marginal) < 0.83
    assert np.mean(sizes) < 2
    if by_class:
        assert np.mean(of_classes, axis=0).min() > 0.79
        assert np.mean(of_classes, axis=0).max() < 0.86


def test_labels_that_are_too_few_leave_no_class_out():
    P = np.array([[0.9, 0.1, 0.0], [0.8, 0.2, 0.0], [0.3, 0.7, 0.0]])
    held_out = predictions_for(np.array([0, 0, 1]), P, None, doubt=0.0, unlabeled=P)
    assert highest_coverage(held_out) == 3 / 4
    assert highest_coverage(held_out, per_class=True) == 0.0
    per_class = set_thresholds(held_out, 0.6, per_class=True)
    assert per_class.tolist() == [0.8, -np.inf, -np.inf]
    assert set_thresholds(held_out, 0.8).tolist() == [-np.inf] * 3
    assert prediction_sets(P, set_thresholds(held_out, 0.8)).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 95, np.nan, "0.9", None, True])
def test_a_coverage_that_is_none_is_refused(coverage):
    P = np.full((2, 2), 0.5)
    held_out = predictions_for(np.array([0, 1]), P, None, doubt=0.0, unlabeled=P)
    with pytest.raises(ValueError, match="`coverage` must be a number between 0 and 1, got"):
        set_thresholds(held_out, coverage)
