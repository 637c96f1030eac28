"""Rows, labels, methods and trials that several tests of the search and of the methods share."""

import numpy as np
from sklearn.base import clone

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedSVC,
    SupervisedSVC,
)
from graphmargin.graph.adjacency import check_graph
from graphmargin.labels import encode_labels
from graphmargin.search.data import TrainingData
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import HeldOutLabels, stratified_label_folds
from graphmargin.search.member import Member
from graphmargin.search.search import fit, search
from graphmargin.search.trials import Trials

RUN = Execution(n_jobs=1)
NOTHING = HeldOutLabels(())
CLASSIFIERS = {
    "harmonic": HarmonicClassifier(gamma_g=[1.0, 0.0, 1e-3]),
    "cut": MaxMarginGraphCut(gamma_g=[0.1, np.inf], C=5.0, class_mass_normalization=False),
    "supervised": SupervisedSVC(C=[0.5, 10.0]),
    "manifold": ManifoldSVC(gamma_u=[0.0, 0.01], C=[1.0, 10.0]),
    "low-density": SemiSupervisedSVC(gamma_u=[0.0, 0.05, 0.3], C=1.0),
}
"""A classifier of each method with a few candidates."""
WITH_MARGIN = ("cut", "supervised", "manifold", "low-density")


def clusters(n_classes=2, n=60, n_labeled=4, seed=0):
    """Return rows around a center for each class, and the classes of a few of them, else -1."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % n_classes
    X = rng.normal(size=(n, 2)) + 2.5 * np.column_stack([classes, classes % 2])
    y = np.full(n, -1)
    for c in range(n_classes):
        y[rng.permutation(np.flatnonzero(classes == c))[:n_labeled]] = c
    return X, y


def folds_of(y, n_splits=3):
    return HeldOutLabels(tuple(stratified_label_folds(y, n_splits, 0)))


def without(y, rows):
    """Return labels without those of some rows."""
    y = y.copy()
    y[rows] = -1
    return y


def data_of(X, y, held_out=None, W=None, execution=RUN):
    """Return the data of a fit; without held-out labels, of one with fixed parameters."""
    W = None if W is None else check_graph(W, len(y))
    return TrainingData(X, encode_labels(y), held_out, execution, W)


def member_of(name, data, **parameters):
    """Return a member with the method of a classifier."""
    given = {} if data.W is None else {"has_graph": True}
    method = clone(CLASSIFIERS[name]).set_params(**parameters).method(data.labels, **given)
    return Member(name, method)


def choose_by(name, data, **parameters):
    """Return the choice of a method among its candidates."""
    return search(data, member_of(name, data, **parameters))


def fit_one(name, X, y, W=None, **parameters):
    """Return the fit with fixed parameters."""
    data = data_of(X, y, None, W)
    return fit(data, choose_by(name, data, **parameters))


def trials_of(values, codes, *, n_classes=2, **changed):
    """Return trials of m candidates with these values at held-out labels, (m, h, q)."""
    values = np.asarray(values, dtype=np.float64)
    m = len(values)
    arrays = {
        "supervised": np.zeros(m, dtype=bool),
        "fold": np.arange(len(codes)) // 2,
        "scales": np.ones(m),
        "pair_scales": np.ones((m, values.shape[2])),
        "shares": np.full((m, n_classes), 1 / n_classes),
    }
    others = {"params": [{"gamma_g": float(i), "C": 10.0} for i in range(m)], **changed}
    for name in arrays:
        arrays[name] = np.asarray(others.pop(name, arrays[name]))
    held_out_codes = np.asarray(codes, dtype=np.int64)
    return Trials(held_out_codes=held_out_codes, held_out_values=values, **arrays, **others)


def sides(scores):
    """Return columns for two classes whose scores, positive for the second, are these."""
    return -np.asarray(scores, dtype=np.float64)[..., None]


def random_trials(m, n_classes=2, seed=0, n_held_out=5, supervised=0.5):
    """Return trials of m candidates that differ, of which about a share is supervised."""
    rng, n_pairs = np.random.default_rng(seed), n_classes * (n_classes - 1) // 2
    return trials_of(
        rng.normal(size=(m, n_held_out, n_pairs)),
        rng.integers(n_classes, size=n_held_out),
        supervised=rng.random(m) < supervised,
        scales=rng.uniform(0.1, 10, size=m),
        pair_scales=rng.uniform(0.5, 2, size=(m, n_pairs)),
        n_classes=n_classes,
        shares=rng.dirichlet(np.full(n_classes, 5.0), size=m),
    )


def assert_same_trials(trials, expected, atol=0.0):
    arrays = "held_out_codes fold held_out_values scales pair_scales shares supervised"
    for name in arrays.split():
        np.testing.assert_allclose(
            getattr(trials, name), getattr(expected, name), rtol=0, atol=atol
        )
