"""Rows, labels, tasks and held-out labels that several tests of `selection` share."""

import numpy as np

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.labels import encode_labels
from graphmargin.selection.execution import Execution
from graphmargin.selection.held_out import HeldOutLabels, label_folds
from graphmargin.selection.parameters import read_parameters
from graphmargin.selection.tasks import make_tasks

RUN = Execution(n_jobs=1)


def clusters(n_classes=2, n=60, n_labeled=4, seed=0):
    """Return rows around a center for each class, and the classes of a few of them, else -1."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % n_classes
    X = rng.normal(size=(n, 2)) + 2.5 * np.column_stack([classes, classes % 2])
    y = np.full(n, -1)
    for c in range(n_classes):
        y[rng.permutation(np.flatnonzero(classes == c))[:n_labeled]] = c
    return X, y


def laplace_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 4)


def folds_of(y, n_splits=3):
    return HeldOutLabels(tuple(label_folds(y, n_splits, 0)))


def without(y, rows):
    """Return labels without those of some rows."""
    y = y.copy()
    y[rows] = -1
    return y


def tasks_of(model, X, y, W=None, run=RUN):
    """Return the tasks that a classifier makes of its parameters."""
    labels = encode_labels(y)
    return make_tasks(X, labels, W, read_parameters(model, labels, has_graph=W is not None), run)


def tasks_of_cuts(X, y, W=None, run=RUN, **parameters):
    return tasks_of(MaxMarginGraphCut(**parameters), X, y, W, run)


def tasks_of_supervised(X, y, **parameters):
    return tasks_of(SupervisedSVC(**parameters), X, y)


def tasks_of_harmonic(X, y, run=RUN, **parameters):
    model = HarmonicClassifier(**parameters)
    return tasks_of(model, X, y, X if model.affinity == "precomputed" else None, run)


def tasks_of_manifold(X, y, W=None, run=RUN, **parameters):
    return tasks_of(ManifoldSVC(**parameters), X, y, W, run)


def tasks_of_low_density(X, y, **parameters):
    return tasks_of(SemiSupervisedSVC(**parameters), X, y)


def assert_consistent(evidence, y, held_out, n_columns):
    """Check all that trials of every family have in common."""
    m, n_classes = len(evidence.params), y.max() + 1
    rows = np.concatenate(held_out.folds)
    np.testing.assert_array_equal(evidence.held_out_codes, y[rows])
    sizes = [len(fold) for fold in held_out.folds]
    np.testing.assert_array_equal(evidence.fold, np.repeat(np.arange(len(sizes)), sizes))
    assert evidence.held_out_values.shape == (m, len(rows), n_columns)
    assert evidence.shares.shape == (m, n_classes)
    np.testing.assert_allclose(evidence.shares.sum(axis=1), 1.0)
    assert evidence.shares.min() > 0
    assert evidence.scales.min() > 0


def assert_same_trials(one, other, atol=0.0):
    for name in ("held_out_codes", "fold", "held_out_values", "scales", "shares", "supervised"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol)
