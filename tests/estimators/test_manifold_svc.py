"""The manifold-regularized machine: its training, its limits and its invariants."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.datasets import make_lattices
from graphmargin.estimators import ManifoldSVC, SupervisedSVC
from graphmargin.graph import knn_graph, laplacian
from graphmargin.margin import Kernel, manifold, train_manifold
from tests.estimators.problems import blobs, laplacian_kernel, pairwise, width_of

OPTIONS = [
    ("linear", 2, {}),
    ("cubic", 3, {"normalized": True}),
    ("rbf", 3, {"laplacian_power": 2}),
    ("rbf", 2, {"normalized": True, "laplacian_power": 3}),
    ("linear", 3, {"fit_intercept": False}),
    ("cubic", 2, {"approximation": "nystroem"}),
    ("rbf", 3, {"approximation": "nystroem", "fit_intercept": False}),
]


@pytest.mark.parametrize(("kernel", "n_classes", "changed"), OPTIONS, ids=str)
def test_classifier_is_train_manifold_on_the_graph_of_the_points(kernel, n_classes, changed):
    X, _, y = blobs(n_classes, distance=1.5)
    options = {"C": 2.0, "gamma_u": 0.05, **changed}
    model = ManifoldSVC(kernel=kernel, n_neighbors=6, random_state=0, **options).fit(X, y)
    W = knn_graph(X, 6)
    np.testing.assert_array_equal(model.graph_.toarray(), W.toarray())
    (machine,) = train_manifold(
        X,
        y,
        Kernel(kernel, width=width_of(X)),
        W,
        C=2.0,
        gamma_us=[0.05],
        normalized=changed.get("normalized", False),
        power=changed.get("laplacian_power", 1),
        fit_intercept=changed.get("fit_intercept", True),
        approximation=changed.get("approximation", "auto"),
        random_state=0,
    )
    new = X[::3] + 0.1
    np.testing.assert_allclose(model.decision_function(new), machine.decision(new), atol=1e-9)
    assert model.predictor_.machines[0].report == machine.report
    if not changed.get("fit_intercept", True):
        np.testing.assert_array_equal(model.predictor_.machines[0].intercepts, 0.0)


@pytest.mark.parametrize(
    "changed", [{"normalized": True}, {"laplacian_power": 2}, {"fit_intercept": False}], ids=str
)
def test_options_of_the_penalty_matter(changed):
    X, _, y = blobs(distance=1.5)
    plain = ManifoldSVC(C=2.0, gamma_u=0.5).fit(X, y)
    other = ManifoldSVC(C=2.0, gamma_u=0.5, **changed).fit(X, y)
    assert np.abs(pairwise(other, X) - pairwise(plain, X)).max() > 0.01


# Limits


@pytest.mark.parametrize(
    ("kernel", "n_classes", "changed"),
    [
        ("linear", 3, {}),
        ("cubic", 2, {"normalized": True}),
        ("rbf", 3, {"laplacian_power": 2}),
        (laplacian_kernel, 2, {}),
    ],
    ids=["linear", "cubic", "rbf", "callable"],
)
def test_without_weight_of_the_graph_it_is_the_supervised_machine(kernel, n_classes, changed):
    X, _, y = blobs(n_classes, distance=1.5)
    model = ManifoldSVC(gamma_u=0.0, kernel=kernel, C=2.0, **changed).fit(X, y)
    supervised = SupervisedSVC(kernel=kernel, C=2.0).fit(X, y)
    np.testing.assert_allclose(pairwise(model, X), pairwise(supervised, X), atol=1e-3)
    np.testing.assert_array_equal(model.transduction_, supervised.transduction_)


@pytest.mark.parametrize(("kernel", "normalized"), [("cubic", False), ("rbf", True)])
def test_function_gets_smoother_along_the_graph_as_gamma_u_grows(kernel, normalized):
    """Of two minimizers of A + gamma_u B, that with the larger gamma_u has the smaller B."""
    X, _, y = blobs(distance=1.5)
    L = laplacian(knn_graph(X, 5), normalized=normalized)
    penalties = []
    for gamma_u in (0.0, 1e-3, 0.1, 10.0):
        model = ManifoldSVC(kernel=kernel, gamma_u=gamma_u, normalized=normalized).fit(X, y)
        h = model.decision_function(X) + model.predictor_.machines[0].intercepts[0]
        penalties.append(h @ (L @ h))
    assert (np.diff(penalties) < 0).all()


def test_function_is_constant_on_components_where_the_graph_is_all():
    """The problem of the lattices, with the weight of the graph a million times that of norms."""
    X, y, y_true, W = make_lattices()
    model = ManifoldSVC(width=1.0, gamma_u=1e6, C=1e3).fit(X, y, W=W)
    f = model.decision_function(X)
    assert f @ (laplacian(W) @ f) < 1e-3 * (f @ f)
    np.testing.assert_array_equal(model.predict(X), y_true)


def test_lattices_with_their_graph_are_solved_by_a_choice():
    X, y, y_true, W = make_lattices()
    model = ManifoldSVC(width=1.0, gamma_u="auto", C="auto").fit(X, y, W=W)
    assert 0 < model.choice_.supervised_share < 1
    assert np.mean(model.predict(X) == y_true) >= 0.9


# Kernels, graphs, approximation


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_kernel_matrix_and_graph_equal_points(convert):
    X, _, y = blobs(3, distance=1.5)
    new = X[::3] + 0.1
    by_name = ManifoldSVC(C=2.0, gamma_u=0.05, n_neighbors=6).fit(X, y)
    K = Kernel("rbf", width=width_of(X))
    given = ManifoldSVC(kernel="precomputed", C=2.0, gamma_u=0.05)
    given.fit(convert(K(X, X)), y, W=convert(knn_graph(X, 6).toarray()))
    np.testing.assert_allclose(
        given.decision_function(convert(K(new, X))), by_name.decision_function(new), atol=1e-6
    )
    np.testing.assert_allclose(given.confidence_, by_name.confidence_, atol=1e-6)
    assert given.graph_recall_ is None


def test_callable_kernel_equals_its_kernel_matrix():
    X, _, y = blobs(3, distance=1.5)
    W = knn_graph(X, 5)
    options = {"C": 2.0, "gamma_u": 0.05}
    model = ManifoldSVC(kernel=laplacian_kernel, **options).fit(X, y, W=W)
    K = laplacian_kernel(X, X)
    given = ManifoldSVC(kernel="precomputed", **options).fit(K, y, W=W)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(K), atol=1e-9)


@pytest.mark.parametrize(
    ("kernel", "approximation", "form", "n_landmarks"),
    [
        ("rbf", "auto", "warped kernel", 0),
        ("rbf", "nystroem", "landmarks", 45),
        ("cubic", "none", "warped kernel", 0),
        ("cubic", "nystroem", "landmarks", 45),
        ("linear", "auto", "rows", 0),
        ("linear", "nystroem", "rows", 0),
        ("linear", "none", "warped kernel", 0),
    ],
)
def test_report_tells_the_form_of_the_machine(kernel, approximation, form, n_landmarks):
    X, _, y = blobs()
    model = ManifoldSVC(kernel=kernel, approximation=approximation, C=3.0, random_state=0).fit(X, y)
    report = model.predictor_.machines[0].report
    assert (report.form, report.n_landmarks, report.C, report.n_rows) == (form, n_landmarks, 3.0, 8)
    assert report.converged


def test_form_is_chosen_by_the_number_of_rows(monkeypatch):
    X, _, y = blobs()
    for limit, form in ((45, "warped kernel"), (44, "landmarks")):
        monkeypatch.setattr(manifold, "MAX_WARPED", limit)
        assert ManifoldSVC().fit(X, y).predictor_.machines[0].report.form == form


@pytest.mark.parametrize(
    ("kernel", "n_classes", "fit_intercept"),
    [("linear", 3, False), ("cubic", 2, True), ("rbf", 3, True), ("rbf", 2, False)],
)
def test_all_rows_as_landmarks_are_exact(kernel, n_classes, fit_intercept):
    X, _, y = blobs(n_classes, distance=1.5)
    options = {
        "kernel": kernel,
        "C": 2.0,
        "gamma_u": 0.05,
        "fit_intercept": fit_intercept,
        "random_state": 0,
    }
    exact = ManifoldSVC(approximation="none", **options).fit(X, y)
    one, two = (
        ManifoldSVC(approximation="nystroem", n_jobs=n_jobs, **options).fit(X, y)
        for n_jobs in (1, 2)
    )
    np.testing.assert_allclose(pairwise(one, X), pairwise(exact, X), rtol=1e-4, atol=1e-4)
    np.testing.assert_array_equal(pairwise(one, X), pairwise(two, X))


def test_graph_takes_its_metric_and_width_the_kernel_a_number_only():
    X, _, y = blobs()
    X = X + 1.0
    cosine = ManifoldSVC(metric="cosine").fit(X, y)
    W = knn_graph(X / np.linalg.norm(X, axis=1, keepdims=True), 5).toarray()
    np.testing.assert_allclose(cosine.graph_.toarray(), W, rtol=1e-9)
    for width, expected in (("self-tuning", width_of(X)), ("binary", width_of(X)), (3, 3.0)):
        model = ManifoldSVC(width=width).fit(X, y)
        graph = knn_graph(X, 5, width=width)
        np.testing.assert_array_equal(model.graph_.toarray(), graph.toarray())
        assert model.predictor_.machines[0].kernel.width == pytest.approx(expected, rel=1e-12)


# Invariants


@pytest.mark.parametrize(("kernel", "n_classes"), [("linear", 2), ("cubic", 3), ("rbf", 3)])
def test_permuting_the_rows_permutes_the_results(kernel, n_classes):
    X, _, y = blobs(n_classes, distance=1.5)
    order = np.random.default_rng(1).permutation(len(X))
    model = ManifoldSVC(kernel=kernel, gamma_u=0.05).fit(X, y)
    permuted = ManifoldSVC(kernel=kernel, gamma_u=0.05).fit(X[order], y[order])
    np.testing.assert_array_equal(permuted.transduction_, model.transduction_[order])
    np.testing.assert_allclose(pairwise(permuted, X), pairwise(model, X), atol=1e-4)


def test_swapping_two_classes_changes_the_sign():
    X, _, y = blobs(distance=1.5)
    model = ManifoldSVC(gamma_u=0.05).fit(X, y)
    swapped = ManifoldSVC(gamma_u=0.05).fit(X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize(("kernel", "offset"), [("linear", 1e4), ("rbf", 10.0), ("rbf", 1e4)])
def test_offset_of_the_rows_does_not_matter(kernel, offset):
    X, _, y = blobs(distance=1.5)
    model = ManifoldSVC(kernel=kernel, gamma_u=0.05).fit(X, y)
    moved = ManifoldSVC(kernel=kernel, gamma_u=0.05).fit(X + offset, y)
    np.testing.assert_allclose(
        moved.decision_function(X + offset), model.decision_function(X), atol=1e-4
    )


def test_linear_function_without_intercept_is_odd():
    X, _, y = blobs(distance=1.5)
    model = ManifoldSVC(kernel="linear", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(-X), -model.decision_function(X), atol=1e-9)


def test_transduction_keeps_given_labels_that_the_machine_would_change():
    X, truth, _ = blobs(3, distance=4.0)
    y = np.where(np.arange(45) < 40, truth, -1)
    y[0] = (truth[0] + 1) % 3
    model = ManifoldSVC(kernel="linear", C=0.2).fit(X, y)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])
    np.testing.assert_array_equal(model.label_distributions_, model.predict_proba(X))
