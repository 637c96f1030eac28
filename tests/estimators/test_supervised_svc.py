"""The supervised machine is the cut without its graph, and scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.estimators import MaxMarginGraphCut, SupervisedSVC
from graphmargin.margin import training
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.machine import predicted_codes
from tests.estimators.problems import (
    blobs,
    pairs_of,
    pairwise,
    support_vector_machine,
    width_of,
)


@pytest.mark.parametrize(
    ("kernel", "n_classes", "C"),
    [("linear", 2, 0.05), ("poly", 3, 1.0), ("rbf", 3, 100.0)],
)
def test_supervised_machine_is_the_cut_with_infinite_gamma_g(kernel, n_classes, C):
    X, truth, y = blobs(n_classes, distance=1.0)
    new = X[::3] + 0.1
    model = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    cut = MaxMarginGraphCut(kernel=kernel, C=C, gamma_g=np.inf).fit(X, y)
    np.testing.assert_array_equal(model.transduction_, cut.transduction_)
    np.testing.assert_allclose(model.predict_proba(new), cut.predict_proba(new), atol=1e-9)
    for options in ({"gamma_g": np.inf}, {"gamma_g": 1e9}, {"gamma_g": 0.1, "eps": 1 - 1e-15}):
        cut = MaxMarginGraphCut(kernel=kernel, C=C, **options).fit(X, y)
        np.testing.assert_array_equal(cut.training_mask_, y >= 0)
        np.testing.assert_array_equal(cut.decision_function(new), model.decision_function(new))
    cut = MaxMarginGraphCut(kernel=kernel, C=C, gamma_g=0.1).fit(X, truth)  # no row is unlabeled
    assert cut.training_mask_.all()
    supervised = SupervisedSVC(kernel=kernel, C=C).fit(X, truth)
    np.testing.assert_array_equal(cut.decision_function(new), supervised.decision_function(new))


@pytest.mark.parametrize(
    ("kernel", "n_classes", "C"),
    [
        ("linear", 3, 100.0),
        ("poly", 2, 0.05),
        ("rbf", 4, 1.0),
    ],
)
def test_functions_of_pairs_are_those_of_scikit_learn(kernel, n_classes, C):
    X, _, y = blobs(n_classes, distance=1.0, per_class=5)
    labeled = y >= 0
    model = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    center = np.median(X[labeled], axis=0) if kernel == "linear" else 0.0
    rows = (X - center) / width_of(X)
    svm = support_vector_machine(kernel, C).fit(rows[labeled], y[labeled])
    g = pairs_of(svm, rows)
    np.testing.assert_allclose(pairwise(model, X), g, rtol=2e-3, atol=2e-3)
    units = np.abs(g[labeled]).mean(axis=0)
    scores = class_scores(g, n_classes, units)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=5e-2)
    gap = np.abs(scores) if n_classes == 2 else np.diff(np.sort(scores, axis=1)[:, -2:])[:, 0]
    clear = gap > 1e-1
    np.testing.assert_array_equal(model.predict(X)[clear], predicted_codes(scores)[clear])


def test_linear_machine_keeps_its_weights_and_no_support_vectors():
    X, _, y = blobs(3)
    machine = SupervisedSVC(kernel="linear").fit(X, y).predictor_.part.machine
    assert machine.vectors is None
    assert machine.coefficients.shape == (4, 3)


def test_sparse_rows_with_long_indices_are_those_with_short_ones(monkeypatch):
    monkeypatch.setattr(training, "MAX_SMO", 500)
    random = np.random.default_rng(0)
    X = sparse.csr_array(random.normal(size=(600, 8)) * (random.random((600, 8)) < 0.4))
    y = (X.sum(axis=1) > 0).astype(int)
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    expected = SupervisedSVC().fit(X, y).decision_function(X)
    model = SupervisedSVC().fit(long, y)
    assert model.predictor_.part.machine.report.solver == "libsvm"
    np.testing.assert_allclose(model.decision_function(long), expected)
    assert long.indices.dtype == np.int64
