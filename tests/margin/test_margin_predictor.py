import pickle

import numpy as np
import pytest

from graphmargin.graph import knn_graph
from graphmargin.graph._search.neighbors import NeighborSearch
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic.harmonic_predictor import PointGraph, WalkPart, walk_distributions
from graphmargin.margin import Calibration, Kernel, class_scores, probabilities, train_machine
from graphmargin.margin.margin_predictor import MarginPredictor


def problem(n_classes, n=30):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[codes], codes


def predictor_of(n_classes, **changed):
    """Return a sum of machines, one for each kernel, and the machines."""
    X, codes = problem(n_classes)
    kernels = [Kernel(kind, width=3.0) for kind in ("linear", "rbf", "poly")]
    machines = tuple(train_machine(X, codes, kernel, C=2.0) for kernel in kernels)
    classes = np.array(["ant", "bee", "cow"])[:n_classes]
    units = np.array([2.0, 5.0, 0.5])[: n_classes * (n_classes - 1) // 2]
    calibration = Calibration(2.0, 0.1, pair_scales=units, **changed.pop("calibration", {}))
    return MarginPredictor(classes, machines, calibration, **changed), machines, X


@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_is_that_of_the_sum_of_all_pairs(n_classes):
    predictor, machines, X = predictor_of(n_classes)
    total = sum(machine.pairwise(X) for machine in machines)
    scores = class_scores(total, n_classes, predictor.calibration.pair_scales)
    np.testing.assert_allclose(predictor.decision(X), scores)
    codes = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(predictor.predict(X), predictor.classes[codes])
    np.testing.assert_allclose(predictor.probabilities(X), probabilities(scores, 2.0, 0.1))
    labels, distributions = predictor.label(X)
    np.testing.assert_array_equal(labels, predictor.predict(X))
    np.testing.assert_array_equal(distributions, predictor.probabilities(X))
    np.testing.assert_array_equal(labels, predictor.classes[distributions.argmax(axis=1)])


def test_new_rows_are_attached_to_the_graph():
    """No probability of the graph counts as less than 1e-6."""
    X, codes = problem(3)
    y = np.where(np.arange(30) < 9, codes, -1)
    mass = harmonic_solution(knn_graph(X, 4), y, gamma_g=0.01).class_mass
    points = PointGraph(NeighborSearch(X), 2.0, 4, "euclidean")
    graph = (WalkPart(mass, ((1.0, 0.01),), points),)
    with_graph = {"calibration": {"graph_weight": 0.5}, "graph": graph}
    predictor, *_ = predictor_of(3, **with_graph)
    plain, *_ = predictor_of(3)
    new = X[::2] + 0.1
    P = np.maximum(walk_distributions(graph, new, 3), 1e-6)
    np.testing.assert_allclose(predictor.decision(new), plain.decision(new) + 0.5 * np.log(P))
    labels, distributions = predictor.label(new)
    np.testing.assert_array_equal(labels, predictor.classes[distributions.argmax(axis=1)])


def test_pickled_predictor_predicts_the_same():
    predictor, _, X = predictor_of(3)
    restored = pickle.loads(pickle.dumps(predictor))
    np.testing.assert_array_equal(restored.probabilities(X), predictor.probabilities(X))
    np.testing.assert_array_equal(restored.predict(X), predictor.predict(X))
