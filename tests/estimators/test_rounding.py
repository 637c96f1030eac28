"""Results that are rounding errors: of equal rows with different labels, and of large columns."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SemiSupervisedEnsemble,
    SemiSupervisedSVC,
    SupervisedSVC,
)

EQUAL_ROWS = np.array([[0.1, 0.7]] * 6 + [[1.3, -0.4]] * 4)
LABELS = np.array([0, 1, 2, 0, 1, 2, 3, 3, 3, 3])
MODELS = {
    "supervised, poly": SupervisedSVC(kernel="poly"),
    "supervised": SupervisedSVC(),
    "supervised, auto": SupervisedSVC(C="auto", kernel="poly"),
    "manifold": ManifoldSVC(),
    "manifold, poly": ManifoldSVC(kernel="poly"),
    "cut": MaxMarginGraphCut(n_neighbors=3),
    "semi-supervised": SemiSupervisedSVC(kernel="poly"),
    "harmonic": HarmonicClassifier(n_neighbors=3),
    "ensemble": SemiSupervisedEnsemble(),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # components without labels, and the like
@pytest.mark.parametrize("name", MODELS)
def test_a_row_alone_has_the_probabilities_that_it_has_among_others(name):
    model = MODELS[name].fit(EQUAL_ROWS, LABELS)
    together = model.predict_proba(EQUAL_ROWS)
    alone = np.vstack([model.predict_proba(row[None]) for row in EQUAL_ROWS])
    np.testing.assert_allclose(alone, together, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(together[0], together[5])


def test_classes_with_equal_rows_are_equally_likely():
    P = SupervisedSVC(kernel="poly").fit(EQUAL_ROWS, LABELS).predict_proba(EQUAL_ROWS[:1])[0]
    np.testing.assert_allclose(P[:3], P[0], rtol=1e-6)
    assert P[3] < 0.1


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", ["supervised", "manifold", "cut", "harmonic", "ensemble"])
def test_a_large_constant_column_hides_nothing_of_sparse_rows(name):
    """Kernel values without a center would be rounding errors, on which SMO takes minutes."""
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=(20, 2)).round(1), np.full(20, 1e8)])
    y = np.arange(20) % 5
    dense, csr = (MODELS[name].fit(rows, y) for rows in (X, sparse.csr_array(X)))
    expected = dense.predict_proba(X)
    np.testing.assert_allclose(csr.predict_proba(sparse.csr_array(X)), expected, atol=5e-3)
    # New rows may lack the column, and are then far away.
    other = X * [1.0, 1.0, 0.0]
    assert np.isfinite(csr.predict_proba(sparse.csr_array(other))).all()
