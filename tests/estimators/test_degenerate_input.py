"""Input that looks odd but is well defined, once for each class and kind of input."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.estimators import (
    HarmonicClassifier,
    ManifoldSVC,
    MaxMarginGraphCut,
    SupervisedSVC,
)
from tests.estimators.problems import (
    ON_GRAPHS,
    WITH_MARGIN,
    assert_same_results,
    assert_sound,
    blobs,
    every_class,
    every_model,
    fit,
)

X, TRUTH, Y = blobs(n=20, d=2, distance=3.0, per_class=3)


def is_on_graph(name):
    return name.removesuffix("-lists") in ON_GRAPHS


@every_model
def test_all_rows_may_be_labeled(name):
    model = fit(name, X, TRUTH)
    np.testing.assert_array_equal(model.transduction_, TRUTH)
    assert_sound(model, X)
    if name in ("harmonic", "cut"):
        np.testing.assert_array_equal(model.confidence_, 1.0)


@every_class
def test_two_rows_are_enough(name):
    model = fit(name, [[0.0], [1.0]], ["a", "b"], n_neighbors=1, C=100.0)
    assert model.predict([[-0.5], [1.5]]).tolist() == ["a", "b"]
    assert_sound(model, [[0.0], [1.0]])


@every_model
@pytest.mark.parametrize("n_classes", [2, 3])
def test_one_label_per_class_is_enough(name, n_classes):
    rows, _, y = blobs(n_classes, n=24, d=3, distance=5.0, per_class=1)
    model = fit(name, rows, y, cv=None)  # no label can be held out
    np.testing.assert_array_equal(model.transduction_[:n_classes], np.arange(n_classes))
    assert_sound(model, rows)


@every_class
def test_every_row_may_be_a_class(name):
    model = fit(name, X[:8], np.arange(8))
    np.testing.assert_array_equal(model.transduction_, np.arange(8))
    assert model.predict_proba(X[:8]).shape == (8, 8)
    assert_sound(model, X)


@every_model
@pytest.mark.parametrize("value", [0.0, 2.0])
def test_equal_rows_have_equal_labels(name, value):
    rows = np.full((12, 3), value)
    y = [0, 1, 1, 0, 1, *[None] * 7]
    model = fit(name, rows, y)
    assert model.transduction_[:5].tolist() == [0, 1, 1, 0, 1]
    if name.removesuffix("-lists") in WITH_MARGIN:
        assert np.ptp(model.decision_function(rows)) < 1e-12
    assert_sound(model, rows)


def test_equal_rows_have_equal_labels_with_a_given_width():
    for model in (HarmonicClassifier(width=1.0), MaxMarginGraphCut(width=1.0)):
        model.fit(np.ones((12, 3)), [0, 1, 1, 0, 1, *[None] * 7])
        assert model.transduction_[:5].tolist() == [0, 1, 1, 0, 1]
        assert_sound(model, np.ones((2, 3)))


@every_class
def test_equal_rows_may_have_contradicting_labels(name):
    rows = X.copy()
    rows[1] = rows[0]
    model = fit(name, rows, Y)
    assert model.transduction_[:2].tolist() == [0, 1]
    assert_sound(model, rows)


@pytest.mark.parametrize("name", ["harmonic", "cut"])
@pytest.mark.parametrize("width", ["paper", 1.0])
def test_copies_of_rows_are_treated_alike(name, width):
    """Each row five times: its neighbors are 4 copies of itself and all copies of 4 others."""
    model = fit(name, np.repeat(X, 5, axis=0), np.repeat(Y, 5), width=width, n_neighbors=24)
    np.testing.assert_array_equal(model.transduction_, np.repeat(TRUTH, 5))
    np.testing.assert_allclose(np.ptp(model.confidence_.reshape(20, 5), axis=1), 0.0, atol=1e-12)
    assert_sound(model, X)


@every_model
@pytest.mark.parametrize("value", [0.0, 1e6])
def test_constant_column_changes_nothing(name, value):
    wide = np.column_stack([X, np.full(20, value)])
    members = [MaxMarginGraphCut(kernel="linear", width=2.0), MaxMarginGraphCut(width=2.0)]
    options = {"width": 2.0, "kernel": "rbf", "members": members}
    model, narrow = fit(name, wide, Y, **options), fit(name, X, Y, **options)
    np.testing.assert_array_equal(model.transduction_, narrow.transduction_)
    np.testing.assert_allclose(model.predict_proba(wide), narrow.predict_proba(X), atol=1e-3)


@every_model
@pytest.mark.parametrize("unit", [1e-99, 1e99])
def test_units_of_the_rows_do_not_matter(name, unit):
    model, plain = fit(name, unit * X, Y), fit(name, X, Y)
    np.testing.assert_array_equal(model.predict(unit * X), plain.predict(X))
    np.testing.assert_allclose(model.predict_proba(unit * X), plain.predict_proba(X), atol=5e-3)
    assert_sound(model, unit * X)


@every_model
def test_sparse_rows_without_an_entry_are_labeled(name):
    rows = X.copy()
    rows[[3, 7, 11]] = 0.0
    model, dense = fit(name, sparse.csr_array(rows), Y), fit(name, rows, Y)
    assert_same_results(model, dense, sparse.csr_array(rows), rows, atol=5e-3)


@every_class
def test_isolated_points_are_labeled(name):
    """Rows so far away that their weights underflow have no edge and no label in reach."""
    far = np.vstack([X, [[1e4, 1e4], [-1e4, -1e4]]])
    y = np.append(Y, [-1, -1])
    if name in ("harmonic", "cut"):
        with pytest.warns(UserWarning, match="2 of 22 rows are in components of the graph with"):
            model = fit(name, far, y, width=1.0)
        np.testing.assert_array_equal(model.harmonic_solution_.confidence[20:], 0.0)
        np.testing.assert_array_equal(model.transduction_[:20], TRUTH)
    else:
        model = fit(name, far, y, width=1.0)
    if name != "semi-supervised":  # whose hat losses see them
        alone = fit(name, X, Y, width=1.0)
        np.testing.assert_array_equal(model.predict(X), alone.predict(X))
    if is_on_graph(name):
        assert model.graph_[[20, 21]].nnz == 0
    assert_sound(model, far)


def test_graph_without_edges_is_accepted():
    W = sparse.csr_array((20, 20))
    message = "14 of 20 rows are in components"
    with pytest.warns(UserWarning, match=message):
        harmonic = HarmonicClassifier(affinity="precomputed").fit(W, Y)
    with pytest.warns(UserWarning, match=message):
        cut = MaxMarginGraphCut(gamma_g=0.1, C=2.0).fit(X, Y, W=W)
    for model in (harmonic, cut):
        np.testing.assert_array_equal(model.harmonic_solution_.confidence, Y >= 0)
        np.testing.assert_array_equal(model.transduction_[Y >= 0], Y[Y >= 0])
    supervised = SupervisedSVC(C=2.0).fit(X, Y)
    np.testing.assert_array_equal(cut.transduction_, supervised.transduction_)
    for options in ({}, {"normalized": True, "laplacian_power": 2}):
        manifold = ManifoldSVC(gamma_u=5.0, C=2.0, **options).fit(X, Y, W=W)
        np.testing.assert_allclose(
            manifold.decision_function(X), supervised.decision_function(X), atol=1e-3
        )
    with pytest.warns(UserWarning, match=message):
        chosen = MaxMarginGraphCut().fit(X, Y, W=W)
    assert_sound(chosen, X)
