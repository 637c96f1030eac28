"""Mixtures of predictors: each part has its own factors of the features."""

from dataclasses import replace

import numpy as np
import pytest
from graphmargin.margin.mixture_predictor import MixturePart, MixturePredictor

from graphmargin import SupervisedSVC
from tests.estimators.problems import blobs


@pytest.fixture(scope="module")
def scaled():
    """Return rows, factors, and the predictor of a classifier that was fitted to their product."""
    X, truth, _ = blobs(3, n=90, distance=2.0, per_class=5)
    factors = np.linspace(0.0, 2.0, X.shape[1])
    return X, factors, SupervisedSVC().fit(X * factors, truth).predictor_


def test_rows_are_multiplied_by_the_factors_of_a_part(scaled):
    X, factors, predictor = scaled
    part = MixturePart(predictor, 1.0, feature_scale=factors)
    expected = predictor.probabilities(X * factors)
    np.testing.assert_array_equal(part.probabilities(X), expected)
    ones = replace(part, feature_scale=np.ones(X.shape[1]))
    plain = replace(part, feature_scale=None)
    np.testing.assert_array_equal(ones.probabilities(X), plain.probabilities(X))


def test_parts_of_a_mixture_have_factors_of_their_own(scaled):
    X, factors, predictor = scaled
    parts = (MixturePart(predictor, 0.75), MixturePart(predictor, 0.25, feature_scale=factors))
    mixture = MixturePredictor(predictor.classes, parts, np.ones(1))
    expected = 0.75 * predictor.probabilities(X) + 0.25 * predictor.probabilities(X * factors)
    np.testing.assert_allclose(mixture.probabilities(X), expected, atol=1e-12)
    np.testing.assert_array_equal(mixture.predict(X), predictor.classes[expected.argmax(axis=1)])
