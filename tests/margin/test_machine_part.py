import pickle

import numpy as np
import pytest

from graphmargin.graph import knn_graph
from graphmargin.graph._search.neighbors import NeighborSearch
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic.walk_part import PointGraph, WalkPart
from graphmargin.margin import Kernel, train_machine
from graphmargin.margin.calibration import Calibration, probabilities
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.machine_part import MachinePart, log_graph_probabilities


def problem(n_classes, n=30):
    rng = np.random.default_rng(0)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 3)) + 2 * np.eye(3)[codes], codes


def part_of(n_classes, kind="rbf", walk=None, **calibration):
    """Return a part with units for each pair of classes, and the rows of its machine."""
    X, codes = problem(n_classes)
    machine = train_machine(X, codes, Kernel(kind, width=3.0), C=2.0)
    units = np.array([2.0, 5.0, 0.5])[: n_classes * (n_classes - 1) // 2]
    return MachinePart(machine, Calibration(2.0, 0.1, pair_scales=units, **calibration), walk), X


@pytest.mark.parametrize("kind", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_decision_is_that_of_all_pairs_in_their_units(n_classes, kind):
    part, X = part_of(n_classes, kind)
    f = part.machine.pairwise(X)
    scores = class_scores(f, n_classes, part.calibration.pair_scales)
    np.testing.assert_allclose(part.decision(X), scores)
    codes, distributions = part.label(X)
    expected = (scores > 0).astype(int) if n_classes == 2 else scores.argmax(axis=1)
    np.testing.assert_array_equal(codes, expected)
    np.testing.assert_allclose(distributions, probabilities(scores, 2.0, 0.1))
    np.testing.assert_array_equal(distributions, part.probabilities(X))
    np.testing.assert_array_equal(codes, distributions.argmax(axis=1))


def walk_of(X):
    """Return the graph of some rows, of which nine have a label."""
    y = np.where(np.arange(30) < 9, problem(3)[1], -1)
    solution = harmonic_solution(knn_graph(X, 4), y, gamma_g=0.01)
    points = PointGraph(NeighborSearch(X), 2.0, 4, "euclidean")
    return WalkPart(solution.class_mass, ((1.0, 0.01),), points, solution.codes, 0)


def test_new_rows_are_attached_to_the_graph():
    walk = walk_of(problem(3)[0])
    part, X = part_of(3, walk=walk, graph_weight=0.5)
    plain, _ = part_of(3)
    new = X[::2] + 0.1
    P = np.maximum(walk.probabilities(new), 1e-6)
    np.testing.assert_allclose(part.decision(new), plain.decision(new) + 0.5 * np.log(P))
    codes, distributions = part.label(new)
    np.testing.assert_array_equal(codes, distributions.argmax(axis=1))


def test_no_probability_of_the_graph_counts_as_less_than_a_millionth():
    P = np.array([[1.0, 0.0], [0.5, 0.5], [1 - 1e-9, 1e-9]])
    expected = [[0.0, np.log(1e-6)], [np.log(0.5)] * 2, [0.0, np.log(1e-6)]]
    np.testing.assert_allclose(log_graph_probabilities(P), expected, atol=1e-8)


def test_class_weights_move_labels_and_no_probability():
    """Offsets undo the shift of the scores towards heavy classes, but labels keep it."""
    part, X = part_of(2, offsets=np.array([0.0, -3.0]))
    codes, distributions = part.label(X)
    np.testing.assert_array_equal(codes, part.decision(X) > 0)
    assert (codes == 1).sum() > (distributions.argmax(axis=1) == 1).sum()


def test_pickled_part_predicts_the_same():
    part, X = part_of(3, walk=walk_of(problem(3)[0]), graph_weight=0.5)
    restored = pickle.loads(pickle.dumps(part))
    np.testing.assert_array_equal(restored.probabilities(X), part.probabilities(X))
    np.testing.assert_array_equal(restored.label(X)[0], part.label(X)[0])
