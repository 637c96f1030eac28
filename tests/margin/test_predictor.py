import pickle

import numpy as np
import pytest
from scipy import sparse

from graphmargin.margin import Kernel, train_machine
from graphmargin.margin.calibration import Calibration, probabilities
from graphmargin.margin.machine import class_scores
from graphmargin.margin.predictor import MarginPredictor

CALIBRATION = Calibration(2.0, 0.1)


def problem(n_classes, n=30):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[codes], codes


def predictor_of(n_classes, kernels=("linear", "rbf", "cubic")):
    """Return a sum of machines, one for each kernel, and the machines."""
    X, codes = problem(n_classes)
    machines = tuple(train_machine(X, codes, Kernel(kind, width=3.0), C=2.0) for kind in kernels)
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


@pytest.mark.parametrize("n_classes", [2, 3])
def test_labels_and_probabilities_at_once(n_classes):
    predictor, _, X = predictor_of(n_classes)
    labels, distributions = predictor.label(X)
    np.testing.assert_array_equal(labels, predictor.predict(X))
    np.testing.assert_array_equal(distributions, predictor.probabilities(X))
    np.testing.assert_array_equal(labels, predictor.classes[distributions.argmax(axis=1)])


def test_one_machine_is_its_own_decision():
    predictor, (machine,), X = predictor_of(3, ["rbf"])
    np.testing.assert_array_equal(predictor.decision(X), machine.decision(X))


def test_collapsed_linear_machines_are_the_same_function():
    predictor, machines, X = predictor_of(3, ["linear", "rbf"])
    collapsed = MarginPredictor(
        predictor.classes, tuple(machine.collapsed() for machine in machines), CALIBRATION
    )
    assert collapsed.machines[0].vectors is None
    assert collapsed.machines[0].coefficients.shape == (3, 3)
    assert collapsed.machines[1] is machines[1]
    for rows in (X, sparse.csr_array(X), X.astype(np.float32)):
        np.testing.assert_allclose(collapsed.decision(rows), predictor.decision(X), atol=1e-4)


def test_input_and_machines_are_not_changed():
    predictor, machines, X = predictor_of(2)
    before = X.copy(), [machine.coefficients.copy() for machine in machines]
    first, second = predictor.decision(X), predictor.decision(X)
    np.testing.assert_array_equal(first, second)
    np.testing.assert_array_equal(X, before[0])
    for machine, coefficients in zip(machines, before[1], strict=True):
        np.testing.assert_array_equal(machine.coefficients, coefficients)


def test_pickled_predictor_predicts_the_same():
    predictor, _, X = predictor_of(3)
    restored = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(restored.probabilities(X), predictor.probabilities(X))
    np.testing.assert_array_equal(restored.predict(X), predictor.predict(X))
