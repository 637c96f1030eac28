"""Predictors: mixtures of parts, each with its own view, weight and calibration."""

import pickle
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.margin.calibration import Calibration
from graphmargin.search.member import View
from graphmargin.search.predictor import (
    Predictor,
    WeightedPart,
    as_scores,
    calibrated,
    least_costly_codes,
    mixed,
)

CLASSES = np.array(["ant", "bee", "cow"])
X = np.random.default_rng(0).normal(size=(12, 3))


@dataclass(frozen=True)
class Softmax:
    """A part with class probabilities by a linear function; its own labels are reversed."""

    weights: np.ndarray = field(default_factory=lambda: np.eye(3))

    def probabilities(self, rows):
        P = np.exp(rows @ self.weights)
        return P / P.sum(axis=1, keepdims=True)

    def label(self, rows):
        P = self.probabilities(rows)
        return P.argmin(axis=1), P


def test_single_part_decides_on_labels_by_itself():
    part = Softmax()
    predictor = Predictor(CLASSES, (WeightedPart(part),))
    assert predictor.part is part
    labels, P = predictor.label(X)
    np.testing.assert_array_equal(labels, CLASSES[part.label(X)[0]])
    np.testing.assert_array_equal(P, part.probabilities(X))
    np.testing.assert_array_equal(predictor.predict(X), labels)
    np.testing.assert_array_equal(predictor.probabilities(X), P)


def test_rows_are_multiplied_by_the_factors_of_a_part():
    factors = np.array([0.0, 1.0, 2.0])
    seen = Predictor(CLASSES, (WeightedPart(Softmax(), view=View("seen", factors)),))
    plain = Predictor(CLASSES, (WeightedPart(Softmax()),))
    np.testing.assert_array_equal(seen.probabilities(X), plain.probabilities(X * factors))
    np.testing.assert_array_equal(seen.predict(X), plain.predict(X * factors))


def test_parts_of_a_mixture_have_views_weights_and_calibrations_of_their_own():
    factors, sharp = np.array([2.0, 1.0, 0.5]), Calibration(4.0, 0.1)
    first, second = Softmax(), Softmax(np.ones((3, 3)) - np.eye(3))
    parts = (
        WeightedPart(first, 0.75, view=View("seen", factors)),
        WeightedPart(second, 0.25, calibration=sharp),
    )
    mixture = Predictor(CLASSES, parts, np.ones(1))
    P = sharp.probabilities(second.probabilities(X))
    expected = 0.75 * first.probabilities(X * factors) + 0.25 * P
    np.testing.assert_allclose(mixture.probabilities(X), expected, atol=1e-12)
    labels, distributions = mixture.label(X)
    np.testing.assert_array_equal(labels, CLASSES[expected.argmax(axis=1)])
    np.testing.assert_array_equal(distributions, mixture.probabilities(X))
    restored = pickle.loads(pickle.dumps(mixture))
    np.testing.assert_array_equal(restored.probabilities(X), distributions)


def test_costs_move_labels_but_no_probability():
    costs, parts = np.array([1.0, 5.0, 1.0]), (WeightedPart(Softmax()),)
    even, costly = Predictor(CLASSES, parts, np.ones(1)), Predictor(CLASSES, parts, costs)
    np.testing.assert_array_equal(costly.probabilities(X), even.probabilities(X))
    expected = CLASSES[(even.probabilities(X) * costs).argmax(axis=1)]
    np.testing.assert_array_equal(costly.predict(X), expected)
    assert (costly.predict(X) == "bee").sum() > (even.predict(X) == "bee").sum()


@given(
    seed=st.integers(0, 10**6), n_classes=st.integers(2, 5), inverse_temperature=st.floats(0.1, 50)
)
def test_calibration_keeps_the_likeliest_class_and_sums_to_one(
    seed, n_classes, inverse_temperature
):
    P = np.random.default_rng(seed).dirichlet(np.ones(n_classes), size=8)
    sharp = calibrated(P, Calibration(inverse_temperature, 0.05))
    np.testing.assert_allclose(sharp.sum(axis=1), 1.0)
    np.testing.assert_array_equal(sharp.argmax(axis=1), P.argmax(axis=1))
    assert calibrated(P, None) is P


@pytest.mark.parametrize("n_classes", [2, 3])
def test_scores_of_two_classes_are_their_difference(n_classes):
    P = np.random.default_rng(0).dirichlet(np.ones(n_classes), size=8)
    expected = P[:, 1] - P[:, 0] if n_classes == 2 else P
    np.testing.assert_array_equal(as_scores(P), expected)


@given(seed=st.integers(0, 10**6), m=st.integers(1, 4))
def test_mixture_of_distributions_is_a_distribution(seed, m):
    rng = np.random.default_rng(seed)
    parts, weights = rng.dirichlet(np.ones(3), size=(m, 6)), rng.dirichlet(np.ones(m))
    mixture = mixed(weights.tolist(), list(parts))
    np.testing.assert_allclose(mixture, np.tensordot(weights, parts, axes=1))
    np.testing.assert_allclose(mixture.sum(axis=1), 1.0)


def test_labels_have_the_least_expected_cost():
    """The cost of a label is that of the errors: the other classes, times their probabilities."""
    P, costs = np.random.default_rng(0).dirichlet(np.ones(3), size=50), np.array([1.0, 2.0, 7.0])
    expected_cost = (P * costs).sum(axis=1, keepdims=True) - P * costs
    np.testing.assert_array_equal(least_costly_codes(P, costs), expected_cost.argmin(axis=1))
