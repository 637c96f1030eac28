"""The supervised machine is the cut without its graph, and scikit-learn's."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError
from sklearn.svm import SVC

from graphmargin import MaxMarginGraphCut, SupervisedSVC, _progress
from graphmargin.margin import training

NAMED = ["linear", "cubic", "rbf"]
every_kernel = pytest.mark.parametrize("kernel", NAMED)


def blobs(n_classes=2, n=60, distance=1.0, seed=0):
    """Points, the class of each, and the few labels that are given, to the last rows."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 4)) + distance * np.eye(4)[truth]
    return X, truth, np.where(np.arange(n) >= n - 5 * n_classes, truth, -1)


def laplacian_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 8)


def support_vector_machine(kernel, C):
    """Return scikit-learn's SVC with our kernel, for rows that are divided by the width."""
    options = {
        "linear": {"kernel": "linear"},
        "cubic": {"kernel": "poly", "degree": 3, "coef0": 1.0, "gamma": 1.0},
        "rbf": {"kernel": "rbf", "gamma": 0.5},
    }[kernel]
    return SVC(C=C, tol=1e-4, break_ties=True, **options)


@pytest.mark.parametrize("kernel", [*NAMED, laplacian_kernel], ids=[*NAMED, "callable"])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_supervised_machine_is_the_cut_that_no_label_travels_in(kernel, n_classes, C):
    X, _, y = blobs(n_classes)
    new = X[::3] + 0.1
    model = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    cut = MaxMarginGraphCut(kernel=kernel, C=C, gamma_g=np.inf).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), cut.decision_function(new))
    np.testing.assert_array_equal(model.predict(new), cut.predict(new))
    np.testing.assert_array_equal(model.transduction_, cut.transduction_)
    np.testing.assert_allclose(model.predict_proba(new), cut.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_kernel_matrix_is_that_of_the_cut_and_of_the_kernel_by_name(n_classes, convert):
    X, _, y = blobs(n_classes)
    new = X[::3] + 0.1
    by_name = SupervisedSVC(C=2.0).fit(X, y)
    K = by_name.machine_.kernel
    model = SupervisedSVC(kernel="precomputed", C=2.0).fit(convert(K(X, X)), y)
    cut = MaxMarginGraphCut(
        kernel="precomputed", affinity="precomputed", C=2.0, gamma_g=np.inf
    ).fit(convert(K(X, X)), y, W=np.ones((60, 60)))
    values = convert(K(new, X))
    np.testing.assert_array_equal(model.decision_function(values), cut.decision_function(values))
    np.testing.assert_allclose(
        model.decision_function(values), by_name.decision_function(new), atol=1e-3
    )
    np.testing.assert_array_equal(model.transduction_, by_name.transduction_)
    assert set(model.machine_.vectors) <= set(np.flatnonzero(y >= 0))


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3, 4])
@pytest.mark.parametrize("C", [0.05, 1.0, 100.0])
def test_predictions_are_those_of_scikit_learn(kernel, n_classes, C):
    X, _, y = blobs(n_classes)
    labeled = y >= 0
    model = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    width = np.sqrt(4) * X.std(axis=0).mean()
    assert model.machine_.kernel.width == pytest.approx(width, rel=1e-12)
    center = np.median(X[labeled], axis=0) if kernel == "linear" else 0.0
    rows = (X - center) / width
    svm = support_vector_machine(kernel, C).fit(rows[labeled], y[labeled])
    f, g = model.decision_function(X), svm.decision_function(rows)
    np.testing.assert_allclose(f, g, rtol=2e-3, atol=2e-3)
    clear = np.abs(g) > 1e-2 if n_classes == 2 else np.ones(len(X), dtype=bool)
    np.testing.assert_array_equal(model.predict(X)[clear], svm.predict(rows)[clear])


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_unlabeled_rows_matter_through_the_width_only(kernel, n_classes):
    X, _, y = blobs(n_classes)
    labeled = y >= 0
    all_rows = SupervisedSVC(kernel=kernel, C=2.0).fit(X, y)
    width = all_rows.machine_.kernel.width
    alone = SupervisedSVC(kernel=kernel, C=2.0, width=width).fit(X[labeled], y[labeled])
    np.testing.assert_array_equal(alone.decision_function(X), all_rows.decision_function(X))
    np.testing.assert_allclose(alone.predict_proba(X), all_rows.predict_proba(X), atol=1e-9)
    other = SupervisedSVC(kernel=kernel, C=2.0).fit(X[labeled], y[labeled])
    assert other.machine_.kernel.width != width


def test_transduction_keeps_given_labels_that_the_machine_would_change():
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(len(X)) < 40, truth, -1)
    y[0] = 1 - truth[0]
    model = SupervisedSVC(kernel="linear", C=0.2).fit(X, y)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])


@pytest.mark.parametrize("n_classes", [2, 3])
def test_distributions_are_probabilities_of_the_training_rows(n_classes):
    X, _, y = blobs(n_classes)
    model = SupervisedSVC().fit(X, y)
    np.testing.assert_array_equal(model.label_distributions_, model.predict_proba(X))
    ranked = np.sort(model.label_distributions_, axis=1)
    np.testing.assert_array_equal(model.confidence_, ranked[:, -1] - ranked[:, -2])


def test_approximation_is_that_of_the_cut(monkeypatch):
    X, truth, _ = blobs(n=520, distance=3.0)
    options = {"C": 0.1, "random_state": 0}
    exact = SupervisedSVC(**options).fit(X, truth)
    assert (exact.machine_.report.form, exact.machine_.report.n_landmarks) == ("kernel", 0)
    asked = SupervisedSVC(approximation="nystroem", **options).fit(X, truth)
    monkeypatch.setattr(training, "MAX_EXACT", 500)
    by_size = SupervisedSVC(**options).fit(X, truth)
    assert (asked.machine_.report.form, asked.machine_.report.n_landmarks) == ("landmarks", 500)
    np.testing.assert_array_equal(by_size.decision_function(X), asked.decision_function(X))
    kept = SupervisedSVC(approximation="none", **options).fit(X, truth)
    np.testing.assert_array_equal(kept.decision_function(X), exact.decision_function(X))


def test_stage(capsys, monkeypatch):
    X, _, y = blobs()
    monkeypatch.setattr(_progress, "time", SimpleNamespace(perf_counter=lambda: 3.0))
    SupervisedSVC(verbose=1).fit(X, y)
    SupervisedSVC().fit(X, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.splitlines() == [
        "[graphmargin] max-margin classifier on 10 points ...",
        "[graphmargin] max-margin classifier on 10 points: done in 0.00 s",
    ]


@pytest.mark.parametrize("changed", [{"C": -1.0}, {"kernel": "unknown"}, {"width": "binary"}])
def test_failed_fit_is_no_fit(changed):
    X, _, y = blobs()
    model = SupervisedSVC().fit(X, y)
    with pytest.raises(ValueError, match="`"):
        model.set_params(**changed).fit(X, y)
    with pytest.raises(NotFittedError):
        model.predict(X)


def test_sparse_rows_with_long_indices_are_those_with_short_ones():
    random = np.random.default_rng(0)
    X = sparse.csr_array(random.normal(size=(600, 8)) * (random.random((600, 8)) < 0.4))
    y = (X.sum(axis=1) > 0).astype(int)
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    expected = SupervisedSVC().fit(X, y).decision_function(X)
    model = SupervisedSVC().fit(long, y)
    assert model.machine_.report.solver == "libsvm"
    np.testing.assert_allclose(model.decision_function(long), expected)
    assert long.indices.dtype == np.int64
