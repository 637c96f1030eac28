"""The manifold-regularized machine: its training, its limits and its invariants."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

from graphmargin import ManifoldSVC, SupervisedSVC, _progress, knn_graph, laplacian
from graphmargin.datasets import make_lattices
from graphmargin.margin import Kernel, manifold, train_manifold

NAMED = ["linear", "cubic", "rbf"]
every_kernel = pytest.mark.parametrize("kernel", NAMED)
two_or_three = pytest.mark.parametrize("n_classes", [2, 3])


def blobs(n_classes=2, n=60, distance=1.5, seed=0):
    """Points, the class of each, and the few labels that are given."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + distance * np.eye(4)[truth]
    return X, truth, np.where(np.arange(n) < 4 * n_classes, truth, -1)


def paper_width(X):
    return np.sqrt(X.shape[1]) * X.std(axis=0).mean()


def laplacian_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 8)


# The estimator is its training


OPTIONS = [
    {},
    {"normalized": True},
    {"laplacian_power": 2},
    {"normalized": True, "laplacian_power": 3},
    {"fit_intercept": False},
    {"approximation": "nystroem"},
    {"gamma_u": 3.0},
    {"C": 0.2},
]


@every_kernel
@two_or_three
@pytest.mark.parametrize("changed", OPTIONS, ids=str)
def test_classifier_is_train_manifold_on_the_graph_of_the_points(kernel, n_classes, changed):
    X, _, y = blobs(n_classes)
    options = {"C": 2.0, "gamma_u": 0.05, **changed}
    model = ManifoldSVC(kernel=kernel, n_neighbors=6, random_state=0, **options).fit(X, y)
    W = knn_graph(X, 6)
    np.testing.assert_array_equal(model.graph_.toarray(), W.toarray())
    assert model.graph_recall_ == 1.0
    (machine,) = train_manifold(
        X,
        y,
        Kernel(kernel, width=paper_width(X)),
        W,
        C=options["C"],
        gamma_us=[options["gamma_u"]],
        normalized=changed.get("normalized", False),
        power=changed.get("laplacian_power", 1),
        fit_intercept=changed.get("fit_intercept", True),
        approximation=changed.get("approximation", "auto"),
        random_state=0,
    )
    new = X[::3] + 0.1
    np.testing.assert_allclose(model.decision_function(new), machine.decision(new), atol=1e-9)
    assert model.machine_.report == machine.report


@two_or_three
@pytest.mark.parametrize(
    "changed", [{"normalized": True}, {"laplacian_power": 2}, {"fit_intercept": False}], ids=str
)
def test_options_of_the_penalty_matter(n_classes, changed):
    X, _, y = blobs(n_classes)
    plain = ManifoldSVC(C=2.0, gamma_u=0.5).fit(X, y)
    other = ManifoldSVC(C=2.0, gamma_u=0.5, **changed).fit(X, y)
    assert np.abs(other.machine_.pairwise(X) - plain.machine_.pairwise(X)).max() > 0.01


# Limits


@pytest.mark.parametrize("kernel", [*NAMED, laplacian_kernel], ids=[*NAMED, "callable"])
@two_or_three
@pytest.mark.parametrize("changed", [{}, {"normalized": True, "laplacian_power": 2}], ids=str)
def test_without_weight_of_the_graph_it_is_the_supervised_machine(kernel, n_classes, changed):
    X, _, y = blobs(n_classes)
    options = {"kernel": kernel, "C": 2.0}
    model = ManifoldSVC(gamma_u=0.0, **options, **changed).fit(X, y)
    supervised = SupervisedSVC(**options).fit(X, y)
    np.testing.assert_allclose(
        model.machine_.pairwise(X), supervised.machine_.pairwise(X), atol=1e-3
    )
    np.testing.assert_array_equal(model.transduction_, supervised.transduction_)


@pytest.mark.parametrize("kernel", ["cubic", "rbf"])
@pytest.mark.parametrize("normalized", [False, True])
def test_function_gets_smoother_along_the_graph_as_gamma_u_grows(kernel, normalized):
    """Of two minimizers of A + gamma_u B, that with the larger gamma_u has the smaller B."""
    X, _, y = blobs()
    L = laplacian(knn_graph(X, 5), normalized=normalized)
    penalties = []
    for gamma_u in (0.0, 1e-3, 1e-2, 0.1, 1.0, 10.0):
        model = ManifoldSVC(kernel=kernel, gamma_u=gamma_u, normalized=normalized).fit(X, y)
        h = model.decision_function(X) + model.machine_.intercepts[0]
        penalties.append(h @ (L @ h))
    assert (np.diff(penalties) < 0).all()


def test_function_is_constant_on_components_where_the_graph_is_all():
    """The problem of the lattices, with the weight of the graph a million times that of norms."""
    X, y, y_true, W = make_lattices()
    model = ManifoldSVC(kernel="rbf", width=1.0, affinity="precomputed", gamma_u=1e6, C=1e3)
    model.fit(X, y, W=W)
    f = model.decision_function(X)
    L = laplacian(W)
    assert f @ (L @ f) < 1e-3 * (f @ f)
    np.testing.assert_array_equal(model.predict(X), y_true)


# Kernels, graphs, approximation


@two_or_three
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_kernel_matrix_and_graph_equal_points(n_classes, convert):
    X, _, y = blobs(n_classes)
    new = X[::3] + 0.1
    by_name = ManifoldSVC(C=2.0, gamma_u=0.05, n_neighbors=6).fit(X, y)
    K = Kernel("rbf", width=paper_width(X))
    given = ManifoldSVC(kernel="precomputed", affinity="precomputed", C=2.0, gamma_u=0.05)
    given.fit(convert(K(X, X)), y, W=convert(knn_graph(X, 6).toarray()))
    np.testing.assert_allclose(
        given.decision_function(convert(K(new, X))), by_name.decision_function(new), atol=1e-6
    )
    np.testing.assert_array_equal(given.transduction_, by_name.transduction_)
    np.testing.assert_allclose(given.confidence_, by_name.confidence_, atol=1e-6)
    assert given.graph_recall_ is None


@two_or_three
def test_callable_kernel_equals_its_kernel_matrix(n_classes):
    X, _, y = blobs(n_classes)
    W = knn_graph(X, 5)
    options = {"affinity": "precomputed", "C": 2.0, "gamma_u": 0.05}
    model = ManifoldSVC(kernel=laplacian_kernel, **options).fit(X, y, W=W)
    K = laplacian_kernel(X, X)
    given = ManifoldSVC(kernel="precomputed", **options).fit(K, y, W=W)
    np.testing.assert_allclose(model.decision_function(X), given.decision_function(K), atol=1e-9)


@every_kernel
@two_or_three
def test_sparse_rows_equal_dense_rows(kernel, n_classes):
    X, _, y = blobs(n_classes)
    X[np.abs(X) < 0.5] = 0.0
    options = {"kernel": kernel, "C": 2.0, "gamma_u": 0.05}
    dense = ManifoldSVC(**options).fit(X, y)
    thin = ManifoldSVC(**options).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(
        thin.decision_function(sparse.csr_array(X)), dense.decision_function(X), atol=1e-4
    )
    np.testing.assert_array_equal(thin.transduction_, dense.transduction_)


@pytest.mark.parametrize(
    ("kernel", "approximation", "form", "n_landmarks"),
    [
        ("rbf", "auto", "warped kernel", 0),
        ("rbf", "none", "warped kernel", 0),
        ("rbf", "nystroem", "landmarks", 60),
        ("cubic", "auto", "warped kernel", 0),
        ("cubic", "nystroem", "landmarks", 60),
        ("linear", "auto", "rows", 0),
        ("linear", "nystroem", "rows", 0),
        ("linear", "none", "warped kernel", 0),
    ],
)
def test_report_tells_the_form_of_the_machine(kernel, approximation, form, n_landmarks):
    X, _, y = blobs()
    model = ManifoldSVC(kernel=kernel, approximation=approximation, C=3.0, random_state=0).fit(X, y)
    report = model.machine_.report
    assert (report.form, report.n_landmarks, report.C, report.n_rows) == (form, n_landmarks, 3.0, 8)
    assert report.converged


def test_form_is_chosen_by_the_number_of_rows(monkeypatch):
    X, _, y = blobs()
    monkeypatch.setattr(manifold, "MAX_WARPED", 60)
    assert ManifoldSVC().fit(X, y).machine_.report.form == "warped kernel"
    monkeypatch.setattr(manifold, "MAX_WARPED", 59)
    assert ManifoldSVC().fit(X, y).machine_.report.form == "landmarks"


@every_kernel
@two_or_three
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_all_rows_as_landmarks_are_exact(kernel, n_classes, fit_intercept):
    X, _, y = blobs(n_classes)
    options = {
        "kernel": kernel,
        "C": 2.0,
        "gamma_u": 0.05,
        "fit_intercept": fit_intercept,
        "random_state": 0,
    }
    exact = ManifoldSVC(approximation="none", **options).fit(X, y)
    features = ManifoldSVC(approximation="nystroem", **options).fit(X, y)
    np.testing.assert_allclose(
        features.machine_.pairwise(X), exact.machine_.pairwise(X), rtol=1e-4, atol=1e-4
    )


def test_graph_takes_its_metric_and_width_the_kernel_a_number_only():
    X, _, y = blobs()
    X = X + 1.0
    cosine = ManifoldSVC(metric="cosine").fit(X, y)
    W = knn_graph(X / np.linalg.norm(X, axis=1, keepdims=True), 5).toarray()
    np.testing.assert_allclose(cosine.graph_.toarray(), W, rtol=1e-9)
    for width, expected in (("self-tuning", paper_width(X)), ("binary", paper_width(X)), (3, 3.0)):
        model = ManifoldSVC(width=width).fit(X, y)
        np.testing.assert_array_equal(
            model.graph_.toarray(), knn_graph(X, 5, width=width).toarray()
        )
        assert model.machine_.kernel.width == pytest.approx(expected, rel=1e-12)


# What is said of the rows


@every_kernel
@two_or_three
@pytest.mark.parametrize("approximation", ["none", "nystroem"])
def test_without_intercept_there_is_none(kernel, n_classes, approximation):
    X, _, y = blobs(n_classes)
    model = ManifoldSVC(
        kernel=kernel,
        fit_intercept=False,
        gamma_u=0.05,
        approximation=approximation,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_array_equal(model.machine_.intercepts, 0.0)
    np.testing.assert_array_equal(model.machine_.center if kernel != "rbf" else 0.0, 0.0)


def test_linear_function_without_intercept_is_odd():
    X, _, y = blobs()
    model = ManifoldSVC(kernel="linear", fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(-X), -model.decision_function(X), atol=1e-9)


@two_or_three
def test_transduction_keeps_given_labels_that_the_machine_would_change(n_classes):
    X, truth, _ = blobs(n_classes, distance=4.0)
    y = np.where(np.arange(len(X)) < 50, truth, -1)
    y[0] = (truth[0] + 1) % n_classes
    model = ManifoldSVC(kernel="linear", C=0.2).fit(X, y)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])


@two_or_three
@every_kernel
def test_distributions_are_probabilities_of_the_training_rows(kernel, n_classes):
    X, _, y = blobs(n_classes)
    model = ManifoldSVC(kernel=kernel).fit(X, y)
    distributions = model.label_distributions_
    np.testing.assert_array_equal(distributions, model.predict_proba(X))
    np.testing.assert_allclose(distributions.sum(axis=1), 1.0)
    np.testing.assert_array_equal(distributions.argmax(axis=1), model.predict(X))
    ranked = np.sort(distributions, axis=1)
    np.testing.assert_array_equal(model.confidence_, ranked[:, -1] - ranked[:, -2])


# Invariants


@every_kernel
@two_or_three
def test_permuting_the_rows_permutes_the_results(kernel, n_classes):
    X, _, y = blobs(n_classes)
    order = np.random.default_rng(1).permutation(len(X))
    model = ManifoldSVC(kernel=kernel, gamma_u=0.05).fit(X, y)
    permuted = ManifoldSVC(kernel=kernel, gamma_u=0.05).fit(X[order], y[order])
    np.testing.assert_array_equal(permuted.transduction_, model.transduction_[order])
    np.testing.assert_allclose(permuted.machine_.pairwise(X), model.machine_.pairwise(X), atol=1e-4)
    np.testing.assert_allclose(permuted.confidence_, model.confidence_[order], atol=1e-4)


def test_swapping_two_classes_changes_the_sign():
    X, _, y = blobs()
    model = ManifoldSVC(gamma_u=0.05).fit(X, y)
    swapped = ManifoldSVC(gamma_u=0.05).fit(X, np.where(y < 0, -1, 1 - y))
    np.testing.assert_allclose(swapped.decision_function(X), -model.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("offset", [10.0, 1e4])
def test_offset_of_the_rows_does_not_matter(kernel, offset):
    X, _, y = blobs()
    options = {"kernel": kernel, "gamma_u": 0.05}
    model = ManifoldSVC(**options).fit(X, y)
    moved = ManifoldSVC(**options).fit(X + offset, y)
    np.testing.assert_allclose(
        moved.decision_function(X + offset), model.decision_function(X), atol=1e-4
    )


@pytest.mark.parametrize("approximation", ["none", "nystroem"])
def test_threads_do_not_change_the_results(approximation):
    X, _, y = blobs(3, n=90)
    options = {"approximation": approximation, "random_state": 0}
    one, two = (ManifoldSVC(n_jobs=n_jobs, **options).fit(X, y) for n_jobs in (1, 2))
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))


# State


def test_stages(capsys, monkeypatch):
    X, _, y = blobs()
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: 3.0))
    model = ManifoldSVC(verbose=1).fit(X, y)
    fit = [
        "[graphmargin] manifold-regularized SVM on 60 points ...",
        "[graphmargin] manifold-regularized SVM on 60 points: done in 0.00 s",
    ]
    graph = [
        "[graphmargin] graph of 60 points ...",
        "[graphmargin] graph of 60 points: done in 0.00 s",
    ]
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == graph + fit
    model.set_params(affinity="precomputed").fit(X, y, W=knn_graph(X, 5))
    assert capsys.readouterr().err.splitlines() == fit
    model.set_params(verbose=0).fit(X, y, W=knn_graph(X, 5))
    assert capsys.readouterr().err == ""


def test_fit_does_not_change_points_labels_graph_or_kernel():
    X, _, y = blobs()
    K, W = X @ X.T, knn_graph(X, 5)
    before = [a.copy() for a in (K, y, W.data, W.indices, W.indptr)]
    model = ManifoldSVC(kernel="precomputed", affinity="precomputed")
    model.fit(K, y, W=W).predict_proba(K)
    for now, then in zip((K, y, W.data, W.indices, W.indptr), before, strict=True):
        np.testing.assert_array_equal(now, then)


def test_refit_with_other_kernel_and_affinity_leaves_nothing_behind():
    X, _, y = blobs()
    other, _, labels = blobs(3, n=50, seed=5)
    model = ManifoldSVC(kernel="precomputed", affinity="precomputed")
    model.fit(X @ X.T, y, W=knn_graph(X, 5))
    model.set_params(kernel="rbf", affinity="knn").fit(other, labels)
    fresh = ManifoldSVC().fit(other, labels)
    assert vars(model).keys() == vars(fresh).keys()
    np.testing.assert_array_equal(model.predict_proba(other), fresh.predict_proba(other))


@pytest.mark.parametrize(
    "changed",
    [
        {"gamma_u": -1.0},
        {"laplacian_power": 0},
        {"normalized": "yes"},
        {"fit_intercept": None},
        {"n_neighbors": 1000},
        {"affinity": "precomputed"},
    ],
    ids=str,
)
def test_failed_fit_is_no_fit(changed):
    X, _, y = blobs()
    model = ManifoldSVC().fit(X, y)
    with pytest.raises(ValueError, match="`"):
        model.set_params(**changed).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)
