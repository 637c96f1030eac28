import pickle

import numpy as np
import pytest

from graphmargin.margin import Kernel, train_machine
from graphmargin.margin.calibration import Calibration, probabilities
from graphmargin.margin.machine import class_scores
from graphmargin.margin.margin_predictor import MarginPredictor

CALIBRATION = Calibration(2.0, 0.1)


def problem(n_classes, n=30):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[codes], codes


def predictor_of(n_classes):
    """Return a sum of machines, one for each kernel, and the machines."""
    X, codes = problem(n_classes)
    kernels = [Kernel(kind, width=3.0) for kind in ("linear", "rbf", "cubic")]
    machines = tuple(train_machine(X, codes, kernel, C=2.0) for kernel in kernels)
    classes = np.array(["ant", "bee", "cow"])[:n_classes]
    return MarginPredictor(classes, machines, CALIBRATION), machines, X


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_is_that_of_the_sum_of_all_pairs(n_classes):
    predictor, machines, X = predictor_of(n_classes)
    total = sum(machine.pairwise(X) for machine in machines)
    scores = class_scores(total, n_classes)
    np.testing.assert_allclose(predictor.decision(X), scores)
    codes = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(predictor.predict(X), predictor.classes[codes])
    np.testing.assert_allclose(predictor.probabilities(X), probabilities(scores, *CALIBRATION))
    labels, distributions = predictor.label(X)
    np.testing.assert_array_equal(labels, predictor.predict(X))
    np.testing.assert_array_equal(distributions, predictor.probabilities(X))
    np.testing.assert_array_equal(labels, predictor.classes[distributions.argmax(axis=1)])


def test_pickled_predictor_predicts_the_same():
    predictor, _, X = predictor_of(3)
    restored = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(restored.probabilities(X), predictor.probabilities(X))
    np.testing.assert_array_equal(restored.predict(X), predictor.predict(X))
