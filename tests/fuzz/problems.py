"""Strategies for rows, labels and classifiers, and checks that all fits must pass."""

import re
import warnings

import numpy as np
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)

FIXED = {
    "harmonic": HarmonicClassifier(n_neighbors=3),
    "harmonic, no sink": HarmonicClassifier(n_neighbors=3, gamma_g=0.0),
    "harmonic, cosine": HarmonicClassifier(n_neighbors=3, metric="cosine"),
    "harmonic, soft": HarmonicClassifier(n_neighbors=2, c_labeled=1.0, c_unlabeled=0.1),
    "cut": MaxMarginGraphCut(n_neighbors=3, gamma_g=0.1, C=2.0),
    "cut, poly": MaxMarginGraphCut(n_neighbors=3, gamma_g=0.01, C=1.0, kernel="poly"),
    "cut, linear": MaxMarginGraphCut(n_neighbors=3, gamma_g=1.0, C=1.0, kernel="linear"),
    "manifold": ManifoldSVC(n_neighbors=3, C=2.0, gamma_u=0.01),
    "manifold, linear": ManifoldSVC(n_neighbors=3, C=2.0, gamma_u=0.01, kernel="linear"),
    "semi-supervised": SemiSupervisedSVC(C=2.0),
    "supervised": SupervisedSVC(C=2.0),
    "supervised, poly": SupervisedSVC(C=2.0, kernel="poly"),
}
CHOOSING = {
    "cut, auto": MaxMarginGraphCut(n_neighbors=3),
    "harmonic, auto": HarmonicClassifier(n_neighbors=3, gamma_g="auto"),
    "cut, lists": MaxMarginGraphCut(n_neighbors=3, gamma_g=[0.1, np.inf], C=[1.0, 10.0]),
    "manifold, auto": ManifoldSVC(n_neighbors=3, C="auto", gamma_u="auto"),
    "semi-supervised, lists": SemiSupervisedSVC(gamma_u=[0.0, 0.1], C=1.0),
    "supervised, auto": SupervisedSVC(C="auto", kernel="poly"),
    "ensemble": SemiSupervisedEnsemble(
        scale="none",
        members=[
            MaxMarginGraphCut(kernel="linear", n_neighbors=2),
            MaxMarginGraphCut(),
            "harmonic",
        ],
    ),
    "ensemble, auto": SemiSupervisedEnsemble(scale="none"),
    "ensemble, scaled": SemiSupervisedEnsemble(),
}
MODELS = {**FIXED, **CHOOSING}

NAMES = (
    *("X", "y", "W", "kernel", "width", "cv", "C", "gamma_g", "gamma_u", "n_neighbors", "metric"),
    *("c_labeled", "c_unlabeled", "degree", "coef0", "n_jobs", "random_state", "class_prior"),
)
NAMED = re.compile(rf"(?<!\w)({'|'.join(NAMES)})(?!\w)")
EXPECTED_WARNINGS = (ConvergenceWarning, UserWarning)
"""Warnings that are ignored; others, such as those of NumPy on overflow, are errors."""


def fit(name, X, y):
    """Return a fitted model, or None if it refuses X or y by name."""
    with warnings.catch_warnings():
        for category in EXPECTED_WARNINGS:
            warnings.simplefilter("ignore", category)
        try:
            return clone(MODELS[name]).fit(X, y)
        except (ValueError, TypeError) as error:
            if NAMED.search(str(error)):
                return None
            raise


def probabilities(model, X):
    """Return class probabilities of rows, which are finite, sum to one and fit the labels."""
    proba = model.predict_proba(X)
    assert proba.shape == (X.shape[0], len(model.classes_))
    assert np.isfinite(proba).all()
    assert (proba >= 0).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=0, atol=1e-5)
    labels = model.predict(X)
    assert set(labels.tolist()) <= set(model.classes_.tolist())
    return proba


def check_fit(model):
    """Check the results of a fit for its training rows."""
    distributions = model.label_distributions_
    assert np.isfinite(distributions).all()
    assert np.isfinite(model.confidence_).all()
    np.testing.assert_allclose(distributions.sum(axis=1), 1.0, rtol=0, atol=1e-5)
    assert set(model.transduction_.tolist()) <= set(model.classes_.tolist())


@st.composite
def plain_problems(draw, max_classes=3):
    """Return rows without ties, of numbers with few digits, with labels of each class."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes = draw(st.integers(2, max_classes))
    n, d = draw(st.integers(6 * n_classes, 40)), draw(st.integers(2, 5))
    truth = np.arange(n) % n_classes
    centers = draw(st.sampled_from([0.5, 2.0, 6.0])) * rng.normal(size=(n_classes, d))
    X = centers[truth] + rng.normal(size=(n, d))
    X = np.round(X * 2**20) / 2**20
    y = np.where(np.arange(n) < n_classes * draw(st.integers(1, 4)), truth, -1)
    dtype = draw(st.sampled_from(["f8", "f4"]))
    return X.astype(dtype), y


@st.composite
def equal_rows_of_classes(draw):
    """Return a few different rows, each of which occurs with several of three to five labels."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, n_rows = draw(st.integers(3, 5)), draw(st.integers(2, 4))
    rows = rng.normal(size=(n_rows, draw(st.integers(1, 3)))).round(1)
    n = n_classes * draw(st.integers(2, 5))
    codes = np.concatenate([np.arange(n_classes), rng.integers(-1, n_classes, size=n - n_classes)])
    return rows[rng.integers(n_rows, size=n)].astype(draw(st.sampled_from(["f8", "f4"]))), codes


@st.composite
def many_classes(draw):
    """Return rows of more classes than those of which all pairs are compared."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    n_classes, rows = draw(st.integers(31, 36)), draw(st.integers(2, 3))
    codes = rng.permutation(np.repeat(np.arange(n_classes), rows))
    spread = draw(st.sampled_from([0.0, 1.0, 4.0]))
    X = spread * rng.normal(size=(n_classes, 4))[codes] + rng.normal(size=(len(codes), 4))
    hidden = (rng.random(len(codes)) < 0.3) & (np.arange(len(codes)) > 0)
    first = np.unique(codes, return_index=True)[1]
    hidden[first] = False
    return X.round(2), np.where(hidden, -1, codes)


def with_constant_column(X, rng):
    return np.column_stack([X, np.full(len(X), rng.choice([0.0, 1.0, 1e8, -1e-8]))])


def with_duplicates(X, rng):
    return X[rng.integers(len(X), size=len(X)) // 3]


def with_outlier(X, rng):
    X = X.copy()
    X[rng.integers(len(X))] *= rng.choice([1e6, 1e30, -1e15])
    return X


def with_zeros(X, rng):
    return np.where(rng.random(X.shape) < 0.7, 0.0, X)


def with_uneven_columns(X, rng):
    return X * 10.0 ** rng.integers(-30, 30, size=X.shape[1])


def with_equal_rows(X, _):
    return np.repeat(X[:1], len(X), axis=0)


def with_lattice(X, _):
    return np.round(X)


def with_offset(X, rng):
    return X + rng.choice([1e3, 1e8, -1e15])


def with_bad_entry(X, rng):
    X = X.copy()
    X[0, 0] = rng.choice([np.nan, np.inf, -np.inf])
    return X


ODD_ROWS = (
    *(with_constant_column, with_duplicates, with_outlier, with_zeros, with_uneven_columns),
    *(with_equal_rows, with_lattice, with_offset, with_bad_entry),
)


def split_entries(X):
    """Return a CSR matrix in which every entry is split in two, in no order."""
    n, d = X.shape
    columns = np.tile(np.r_[np.arange(d)[::-1], np.arange(d)], (n, 1))
    values = np.hstack([X[:, ::-1] / 4, X * 3 / 4])
    return sparse.csr_array((values.ravel(), columns.ravel(), np.arange(n + 1) * 2 * d), (n, d))


def as_view(X):
    """Return the rows as every second row and column of a larger array."""
    larger = np.full((2 * X.shape[0], 2 * X.shape[1]), np.nan, dtype=X.dtype)
    larger[::2, 1::2] = X
    return larger[::2, 1::2]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


DENSE_FORMS = (np.asfortranarray, as_view, read_only, np.ma.array)
SPARSE_FORMS = (
    *(sparse.csr_array, sparse.csr_matrix, sparse.csc_array, sparse.coo_matrix, sparse.lil_array),
    split_entries,
)


def as_masked(y):
    return np.ma.array(np.where(y == -1, 0, y), mask=y == -1)


def as_texts(y):
    return np.array(["", "a", "b", "c", "d"])[y + 1]


def as_objects(y):
    return [None if code == -1 else f"class {code}" for code in y]


def as_floats(y):
    return np.where(y == -1, np.nan, y)


def as_bytes(y):
    return np.array([b"", b"a", b"b", b"c", b"d"])[y + 1]


def as_column(y):
    return y[:, None].tolist()


def as_huge(y):
    return [None if code == -1 else 2**63 + int(code) for code in y]


GOOD_LABELS = (as_masked, as_texts, as_objects, as_floats, as_bytes, as_huge)
ODD_VALUES = (
    *([1], (1, 2), {"a": 1}, {1}, 1 + 2j, 0.5, np.inf, np.datetime64("2020"), object(), "text"),
    *(b"bytes", 10**400, "a\0", True, np.array([1]), range(3), Ellipsis, np.float16(2)),
)
