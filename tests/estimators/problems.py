"""Rows, labels, models and comparisons that several tests of classifiers share."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.svm import SVC

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)

CLASSIFIERS = (HarmonicClassifier, MaxMarginGraphCut, ManifoldSVC, SemiSupervisedSVC, SupervisedSVC)
FIXED = {
    "harmonic": HarmonicClassifier(gamma_g=0.1, n_neighbors=4),
    "cut": MaxMarginGraphCut(gamma_g=0.1, C=2.0, n_neighbors=4),
    "manifold": ManifoldSVC(gamma_u=0.01, C=2.0, n_neighbors=4),
    "semi-supervised": SemiSupervisedSVC(C=2.0),
    "supervised": SupervisedSVC(C=2.0),
}
"""A model of each class with numbers as parameters."""
LISTS = {
    "harmonic": HarmonicClassifier(
        gamma_g=[0.01, 1.0], class_mass_normalization=[False, True], n_neighbors=4, cv=3
    ),
    "cut": MaxMarginGraphCut(gamma_g=[0.1, np.inf], C=[1.0, 10.0], n_neighbors=4, cv=3),
    "manifold": ManifoldSVC(gamma_u=[0.0, 0.01], C=[1.0, 10.0], cv=3),
    "semi-supervised": SemiSupervisedSVC(gamma_u=[0.0, 0.1], C=[0.1, 1.0], cv=2),
    "supervised": SupervisedSVC(C=[1.0, 10.0], kernel="poly", cv=3),
}
"""A model of each class with lists of candidates."""
TWO_KERNELS = SemiSupervisedEnsemble(
    members=[MaxMarginGraphCut(kernel="linear"), MaxMarginGraphCut()], cv=3
)
"""An ensemble, whose members have different kernels."""
ON_GRAPHS = ("harmonic", "cut", "manifold")
WITH_MARGIN = ("cut", "manifold", "semi-supervised", "supervised")
every_class = pytest.mark.parametrize("name", FIXED)
MODELS = {
    **FIXED,
    **{f"{name}-lists": model for name, model in LISTS.items()},
    "ensemble": TWO_KERNELS,
}
every_model = pytest.mark.parametrize("name", MODELS)


def blobs(n_classes=2, n=45, distance=2.5, seed=0, d=4, per_class=4):
    """Return rows, the class of each, and the few labels that are given, else -1."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, d)) + distance * np.eye(d)[truth]
    return X, truth, np.where(np.arange(n) < per_class * n_classes, truth, -1)


def fit(name, X, y, **changed):
    """Return one of `MODELS`, fitted with what it has of the changed parameters."""
    model = clone(MODELS[name])
    defaults = model.get_params()
    options = {key: value for key, value in changed.items() if key in defaults}
    return model.set_params(**options).fit(X, y)


def width_of(X):
    """Return the paper's sqrt(K) sigma."""
    return np.sqrt(X.shape[1]) * X.std(axis=0).mean()


def support_vector_machine(kernel, C, degree=3, coef0=1.0):
    """Return scikit-learn's SVC with our kernel, for rows that are divided by the width.

    Its decision function has f of every pair of classes, see `pairs_of`.
    """
    options = {
        "linear": {"kernel": "linear"},
        "poly": {"kernel": "poly", "degree": degree, "coef0": coef0, "gamma": 1.0},
        "rbf": {"kernel": "rbf", "gamma": 0.5},
    }[kernel]
    return SVC(C=C, tol=1e-4, decision_function_shape="ovo", **options)


def pairs_of(svm, X):
    """Return f of every pair of classes by scikit-learn's SVC, positive for the first of them."""
    f = svm.decision_function(X)
    return -f[:, None] if f.ndim == 1 else f


def pairwise(model, X):
    """Return f of every pair of classes."""
    return model.predictor_.part.machine.pairwise(X)


def assert_sound(model, X):
    """Check that the model has said something definite about every row."""
    for distributions in (model.label_distributions_, model.predict_proba(X)):
        assert np.isfinite(distributions).all()
        assert distributions.min() >= 0
        np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
    assert np.isfinite(model.confidence_).all()
    if not isinstance(model, HarmonicClassifier):
        codes = np.searchsorted(model.classes_, model.transduction_)
        of_label = model.label_distributions_[np.arange(len(codes)), codes]
        np.testing.assert_array_equal(model.confidence_, of_label)
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())
    assert set(model.predict(X).tolist()) <= set(model.classes_.tolist())


def assert_same_results(model, other, X, X_other=None, atol=0.0):
    """Compare everything that two fitted models say, on training and other rows."""
    X_other = X if X_other is None else X_other
    np.testing.assert_array_equal(model.transduction_, other.transduction_)
    np.testing.assert_allclose(model.confidence_, other.confidence_, rtol=0, atol=atol)
    np.testing.assert_allclose(
        model.label_distributions_, other.label_distributions_, rtol=0, atol=atol
    )
    np.testing.assert_array_equal(model.predict(X), other.predict(X_other))
    np.testing.assert_allclose(
        model.predict_proba(X), other.predict_proba(X_other), rtol=0, atol=atol
    )
