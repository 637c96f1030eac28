"""Invariants: the order, the names and the form of the input change nothing."""

import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit

from graphmargin.graph import knn_graph
from graphmargin.margin import Kernel
from tests.estimators.problems import (
    FIXED,
    WITH_MARGIN,
    assert_same_results,
    blobs,
    every_class,
    fit,
    pairwise,
    width_of,
)

with_margin = pytest.mark.parametrize("name", WITH_MARGIN)


@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
@every_class
def test_permuting_the_rows_permutes_the_results(name, kernel):
    X, _, y = blobs(3, distance=2.0)
    order = np.random.default_rng(1).permutation(len(X))
    model, permuted = fit(name, X, y, kernel=kernel), fit(name, X[order], y[order], kernel=kernel)
    np.testing.assert_array_equal(permuted.transduction_, model.transduction_[order])
    np.testing.assert_allclose(permuted.confidence_, model.confidence_[order], atol=1e-3)
    np.testing.assert_allclose(permuted.predict_proba(X), model.predict_proba(X), atol=1e-3)
    if name in WITH_MARGIN:
        np.testing.assert_allclose(pairwise(permuted, X), pairwise(model, X), atol=2e-3)


@every_class
def test_swapping_two_classes_changes_the_sign(name):
    X, _, y = blobs(distance=1.5)
    model, swapped = fit(name, X, y), fit(name, X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_array_equal(swapped.transduction_, 1 - model.transduction_)
    np.testing.assert_allclose(swapped.predict_proba(X), model.predict_proba(X)[:, ::-1], atol=1e-3)
    if name in WITH_MARGIN:
        f, g = model.decision_function(X), swapped.decision_function(X)
        np.testing.assert_allclose(g, -f, atol=1e-3)


KERNELS = {
    "linear": (Kernel("linear", width=2.0), "linear"),
    "poly": (Kernel("poly", width=2.0), "poly"),
    "rbf": (Kernel("rbf", width=2.0), "rbf"),
}


@with_margin
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.csc_matrix])
@pytest.mark.parametrize(("function", "kernel"), KERNELS.values(), ids=KERNELS.keys())
def test_kernel_matrix_and_graph_equal_points(name, convert, function, kernel):
    X, _, y = blobs(3, distance=2.0)
    X = X - np.median(X[y >= 0], axis=0)  # where the linear machine has its center
    new = X[::3] + 0.1
    by_name = fit(name, X, y, kernel=kernel, width=2.0)
    given = type(by_name)(**{**FIXED[name].get_params(), "kernel": "precomputed"})
    has_graph = name in ("cut", "manifold")
    graph = {"W": convert(knn_graph(X, 4, width=2.0).toarray())} if has_graph else {}
    given.fit(convert(function(X, X)), y, **graph)
    np.testing.assert_array_equal(given.transduction_, by_name.transduction_)
    np.testing.assert_allclose(
        given.decision_function(convert(function(new, X))),
        by_name.decision_function(new),
        atol=2e-3,
        rtol=2e-2 if name == "semi-supervised" else 1e-7,  # a smooth objective, to 1e-4
    )
    assert given.n_features_in_ == len(X)
    if has_graph:
        assert given.graph_recall_ is None


@pytest.mark.parametrize("name", ["cut", "cut-lists", "manifold", "manifold-lists"])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_graph_that_is_given_equals_the_graph_of_the_points(name, convert):
    X, _, y = blobs()
    W = knn_graph(X, 6).toarray()
    expected = fit(name, X, y, n_neighbors=6)
    for graph in (W, W + 3 * np.eye(45)):  # loops do not matter
        model = type(expected)(**expected.get_params()).fit(X, y, W=convert(graph))
        np.testing.assert_array_equal(model.graph_.toarray(), expected.graph_.toarray())
        assert model.graph_recall_ is None
        assert_same_results(model, expected, X)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("manifold", {}),
        ("semi-supervised", {}),
        ("supervised", {}),
    ],
    ids=str,
)
def test_transduction_keeps_given_labels_that_the_machine_would_change(name, changed):
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(45) < 40, truth, -1)
    y[0] = 1 - truth[0]
    model = fit(name, X, y, kernel="linear", C=0.2, **changed)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])
    np.testing.assert_array_equal(model.label_distributions_, model.predict_proba(X))


@with_margin
def test_probabilities_are_one_increasing_function_of_the_decision(name):
    X, _, y = blobs(distance=1.5)
    model = fit(name, X, y)
    f, second = model.decision_function(X), model.predict_proba(X)[:, 1]
    assert (np.diff(second[np.argsort(f)]) >= 0).all()
    assert ((second > 0.5) == (f > 0)).all()
    calibration = model.predictor_.part.calibration
    P, uniform_share = expit(calibration.inverse_temperature * f), calibration.uniform_share
    np.testing.assert_allclose((1 - uniform_share) * P + uniform_share / 2, second)
    for kernel in ("linear", "poly", "rbf"):
        far = fit(name, X, y, kernel=kernel).predict_proba(1e6 * np.vstack([np.eye(4), -np.eye(4)]))
        assert np.isfinite(far).all()
        np.testing.assert_allclose(far.sum(axis=1), 1.0)


def test_width_of_the_paper_is_that_of_all_rows():
    """Unlabeled rows matter to the supervised machine through the width alone."""
    X, _, y = blobs(3)
    labeled = y >= 0
    for kernel in ("linear", "rbf"):
        model = fit("supervised", X, y, kernel=kernel)
        width = model.predictor_.part.machine.kernel.width
        assert width == pytest.approx(width_of(X), rel=1e-12)
        alone = fit("supervised", X[labeled], y[labeled], kernel=kernel, width=width)
        np.testing.assert_array_equal(alone.decision_function(X), model.decision_function(X))
        np.testing.assert_allclose(alone.predict_proba(X), model.predict_proba(X), atol=1e-9)
