import numpy as np
import pytest

from graphmargin.margin import Kernel, train_machine
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.machine_trials import try_machines
from tests.selection.tasks import RUN, tasks_of_low_density

X = np.array([[-3.0], [-2.0], [-1.0], [1.0], [2.0], [3.0], [0.5]])
CODES = np.array([0, 0, 0, 1, 1, 1, -1])
CANDIDATES = [{"gamma_u": 0.0, "C": 0.1}, {"gamma_u": 0.1, "C": 10.0}]


def train(piece):
    codes, candidate = piece
    kept = np.flatnonzero(codes >= 0)
    machine = train_machine(
        X[kept], codes[kept], Kernel("linear"), C=candidate["C"], center=np.zeros(1)
    )
    return machine.collapsed()


def try_all(held_out):
    (task,) = tasks_of_low_density(X, CODES)
    return try_machines(task, CANDIDATES, train, X, np.arange(7), held_out, RUN, None).evidence


def test_machines_are_tested_on_labels_that_they_have_not_seen():
    folds = np.array([0]), np.array([3, 4])
    trials = try_all(HeldOutLabels(folds))
    assert trials.supervised.tolist() == [True, False]
    assert trials.held_out_codes.tolist() == [0, 1, 1]
    assert trials.fold.tolist() == [0, 1, 1]
    for i, candidate in enumerate(CANDIDATES):
        scale = abs(train((CODES, candidate)).pairwise(X[6:])[0, 0])
        assert trials.scales[i] == pytest.approx(scale)
        parts = []
        for rows in folds:
            left = CODES.copy()
            left[rows] = -1
            parts.append(train((left, candidate)).pairwise(X[rows]) / scale)
        np.testing.assert_allclose(trials.held_out_values[i], np.concatenate(parts))
    assert CODES.tolist() == [0, 0, 0, 1, 1, 1, -1]


def test_a_validation_set_is_tested_by_machines_on_all_labels():
    new, codes = np.array([[4.0], [-4.0]]), np.array([1, 0])
    trials = try_all(HeldOutLabels((), (new, codes)))
    assert trials.held_out_codes is codes
    for i, candidate in enumerate(CANDIDATES):
        values = trials.held_out_values[i] * trials.scales[i]
        np.testing.assert_allclose(values, train((CODES, candidate)).pairwise(new))
