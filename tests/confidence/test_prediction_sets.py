"""Prediction sets, by simulation and against crepes."""

import numpy as np
import pytest
from crepes import ConformalClassifier
from crepes.extras import hinge

from graphmargin.confidence.held_out_predictions import (
    HeldOutPredictions,
    predictions_for,
)
from graphmargin.confidence.prediction_sets import (
    highest_coverage,
    prediction_sets,
    set_thresholds,
)
from tests.confidence.populations import SHARES, held_out_at, labeled_per_class, population


def test_labels_of_classes_that_no_row_has_leave_no_class_out():
    P = np.tile([1.0, 0.0], (3, 1))
    held_out = predictions_for(np.ones(3, dtype=int), P, None, uniform_share=0.0, unlabeled=P)
    assert set_thresholds(held_out, 0.5).tolist() == [-np.inf, -np.inf]


@pytest.mark.parametrize("per_class", [False, True], ids=["marginal", "Mondrian"])
@pytest.mark.parametrize("coverage", [0.52, 0.83, 0.97])
def test_sets_are_those_of_crepes(coverage, per_class):
    rng = np.random.default_rng(3)
    codes, P = population(120, rng, inverse_temperature=0.7)
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
        codes, P = population(1500, rng, inverse_temperature=3.0)
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
    held_out = predictions_for(np.array([0, 0, 1]), P, None, uniform_share=0.0, unlabeled=P)
    assert highest_coverage(held_out) == 3 / 4
    assert highest_coverage(held_out, per_class=True) == 0.0
    per_class = set_thresholds(held_out, 0.6, per_class=True)
    assert per_class.tolist() == [0.8, -np.inf, -np.inf]
    assert set_thresholds(held_out, 0.8).tolist() == [-np.inf] * 3
    assert prediction_sets(P, set_thresholds(held_out, 0.8)).all()


@pytest.mark.parametrize("coverage", [0.0, 1.0, -0.1, 95, np.nan, "0.9", None, True])
def test_a_coverage_that_is_none_is_refused(coverage):
    P = np.full((2, 2), 0.5)
    held_out = predictions_for(np.array([0, 1]), P, None, uniform_share=0.0, unlabeled=P)
    with pytest.raises(ValueError, match="`coverage` must be a number between 0 and 1, got"):
        set_thresholds(held_out, coverage)
