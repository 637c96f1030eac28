"""The supervised machine is the cut without its graph, and scikit-learn's."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.estimators import MaxMarginGraphCut, SupervisedSVC
from graphmargin.margin import Kernel, training
from tests.estimators.problems import (
    blobs,
    laplacian_kernel,
    support_vector_machine,
    width_of,
)


@pytest.mark.parametrize(
    ("kernel", "n_classes", "C"),
    [("linear", 2, 0.05), ("cubic", 3, 1.0), ("rbf", 3, 100.0), (laplacian_kernel, 2, 1.0)],
    ids=["linear", "cubic", "rbf", "callable"],
)
def test_supervised_machine_is_the_cut_that_no_label_travels_in(kernel, n_classes, C):
    X, _, y = blobs(n_classes, distance=1.0)
    new = X[::3] + 0.1
    model = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    cut = MaxMarginGraphCut(kernel=kernel, C=C, gamma_g=np.inf).fit(X, y)
    np.testing.assert_array_equal(model.decision_function(new), cut.decision_function(new))
    np.testing.assert_array_equal(model.transduction_, cut.transduction_)
    np.testing.assert_allclose(model.predict_proba(new), cut.predict_proba(new), atol=1e-9)


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_kernel_matrix_is_that_of_the_kernel_by_name(convert):
    X, _, y = blobs(3, distance=1.0)
    new = X[::3] + 0.1
    by_name = SupervisedSVC(C=2.0).fit(X, y)
    K = Kernel("rbf", width=width_of(X))
    model = SupervisedSVC(kernel="precomputed", C=2.0).fit(convert(K(X, X)), y)
    values = convert(K(new, X))
    np.testing.assert_allclose(
        model.decision_function(values), by_name.decision_function(new), atol=1e-3
    )
    np.testing.assert_array_equal(model.transduction_, by_name.transduction_)
    assert set(model.predictor_.machines[0].vectors) <= set(np.flatnonzero(y >= 0))


@pytest.mark.parametrize(
    ("kernel", "n_classes", "C"),
    [
        ("linear", 3, 100.0),
        ("cubic", 2, 0.05),
        ("cubic", 4, 1.0),
        ("rbf", 2, 1.0),
        ("rbf", 4, 0.05),
    ],
)
def test_predictions_are_those_of_scikit_learn(kernel, n_classes, C):
    X, _, y = blobs(n_classes, distance=1.0, per_class=5)
    labeled = y >= 0
    model = SupervisedSVC(kernel=kernel, C=C).fit(X, y)
    center = np.median(X[labeled], axis=0) if kernel == "linear" else 0.0
    rows = (X - center) / width_of(X)
    svm = support_vector_machine(kernel, C).fit(rows[labeled], y[labeled])
    f, g = model.decision_function(X), svm.decision_function(rows)
    np.testing.assert_allclose(f, g, rtol=2e-3, atol=2e-3)
    clear = np.abs(g) > 1e-2 if n_classes == 2 else np.ones(len(X), dtype=bool)
    np.testing.assert_array_equal(model.predict(X)[clear], svm.predict(rows)[clear])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_unlabeled_rows_matter_through_the_width_only(kernel):
    X, _, y = blobs(3)
    labeled = y >= 0
    all_rows = SupervisedSVC(kernel=kernel, C=2.0).fit(X, y)
    width = all_rows.predictor_.machines[0].kernel.width
    assert width == pytest.approx(width_of(X), rel=1e-12)
    alone = SupervisedSVC(kernel=kernel, C=2.0, width=width).fit(X[labeled], y[labeled])
    np.testing.assert_array_equal(alone.decision_function(X), all_rows.decision_function(X))
    np.testing.assert_allclose(alone.predict_proba(X), all_rows.predict_proba(X), atol=1e-9)
    other = SupervisedSVC(kernel=kernel, C=2.0).fit(X[labeled], y[labeled])
    assert other.predictor_.machines[0].kernel.width != width


def test_transduction_keeps_given_labels_that_the_machine_would_change():
    X, truth, _ = blobs(distance=4.0)
    y = np.where(np.arange(45) < 40, truth, -1)
    y[0] = 1 - truth[0]
    model = SupervisedSVC(kernel="linear", C=0.2).fit(X, y)
    assert model.predict(X)[0] != y[0]
    np.testing.assert_array_equal(model.transduction_[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(model.transduction_[y < 0], model.predict(X)[y < 0])
    np.testing.assert_array_equal(model.label_distributions_, model.predict_proba(X))


def test_linear_machine_keeps_its_weights_and_no_support_vectors():
    X, _, y = blobs(3)
    (machine,) = SupervisedSVC(kernel="linear").fit(X, y).predictor_.machines
    assert machine.vectors is None
    assert machine.coefficients.shape == (4, 3)


def test_approximation_is_chosen_by_the_number_of_rows(monkeypatch):
    X, truth, _ = blobs(n=90, distance=3.0)
    monkeypatch.setattr(training, "N_LANDMARKS", 30)

    def machine(**options):
        return SupervisedSVC(C=0.1, random_state=0, **options).fit(X, truth).predictor_.machines[0]

    exact, asked = machine(), machine(approximation="nystroem")
    assert (exact.report.form, exact.report.n_landmarks) == ("kernel", 0)
    assert (asked.report.form, asked.report.n_landmarks) == ("landmarks", 30)
    monkeypatch.setattr(training, "MAX_EXACT", 50)
    np.testing.assert_array_equal(machine().decision(X), asked.decision(X))
    np.testing.assert_array_equal(machine(approximation="none").decision(X), exact.decision(X))


def test_sparse_rows_with_long_indices_are_those_with_short_ones():
    random = np.random.default_rng(0)
    X = sparse.csr_array(random.normal(size=(600, 8)) * (random.random((600, 8)) < 0.4))
    y = (X.sum(axis=1) > 0).astype(int)
    long = X.copy()
    long.indices, long.indptr = long.indices.astype(np.int64), long.indptr.astype(np.int64)
    expected = SupervisedSVC().fit(X, y).decision_function(X)
    model = SupervisedSVC().fit(long, y)
    assert model.predictor_.machines[0].report.solver == "libsvm"
    np.testing.assert_allclose(model.decision_function(long), expected)
    assert long.indices.dtype == np.int64
