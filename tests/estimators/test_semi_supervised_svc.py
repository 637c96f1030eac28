"""The semi-supervised machine: its limits, its pairs of classes, and its balance."""

import numpy as np
import pytest

from graphmargin.estimators import SemiSupervisedSVC, SupervisedSVC
from graphmargin.margin import Kernel, s3vm_training
from graphmargin.margin.s3vm_training import train_smooth
from tests.estimators.problems import blobs, pairwise, width_of

# The estimator is its training


@pytest.mark.parametrize(
    ("kernel", "n_classes", "changed"),
    [
        ("linear", 2, {}),
        ("linear", 3, {"C": 0.3}),
        ("poly", 2, {"gamma_u": 1.0}),
        ("rbf", 3, {"approximation": "nystroem"}),
        ("rbf", 2, {}),
    ],
)
def test_classifier_is_train_smooth(kernel, n_classes, changed):
    X, _, y = blobs(n_classes, distance=2.0)
    options = {"C": 2.0, "gamma_u": 0.1, "random_state": 0, **changed}
    shares = np.full(n_classes, 1 / n_classes)
    model = SemiSupervisedSVC(kernel=kernel, class_prior=shares, **options).fit(X, y)
    options |= {"C": [options["C"]], "gamma_us": [options.pop("gamma_u")]}
    (machine,) = train_smooth(
        X, y, Kernel(kernel, width=width_of(X)), class_prior=shares, **options
    )
    np.testing.assert_allclose(pairwise(model, X), machine.pairwise(X), atol=1e-6)


# Limits


@pytest.mark.parametrize(
    ("kernel", "C", "n_classes"),
    [
        ("linear", 10.0, 2),
        ("poly", 0.1, 3),
        ("rbf", 0.1, 4),
    ],
)
def test_supervised_machine_results_without_weight_or_unlabeled_rows(kernel, C, n_classes):
    X, truth, y = blobs(n_classes, distance=1.0)
    for labels, gamma_u, prior in ((y, 0.0, "labels"), (y, 0.0, None), (truth, 5.0, "labels")):
        supervised = SupervisedSVC(kernel=kernel, C=C).fit(X, labels)
        options = {"gamma_u": gamma_u, "class_prior": prior, "random_state": 0}
        model = SemiSupervisedSVC(kernel=kernel, C=C, **options).fit(X, labels)
        np.testing.assert_allclose(
            model.decision_function(X), supervised.decision_function(X), rtol=1e-3, atol=1e-3
        )


def test_every_pair_of_classes_is_a_problem_of_two():
    """A pair has its labels, and the rows that the supervised machine gives to one of the two."""
    X, _, y = blobs(3, distance=2.0)
    width, shares = 2.0, np.array([0.3, 0.3, 0.4])
    options = {"C": 2.0, "gamma_u": 0.1, "width": width}
    model = SemiSupervisedSVC(class_prior=shares, **options).fit(X, y)
    likely = SupervisedSVC(C=2.0, width=width).fit(X, y).transduction_
    for pair, (i, j) in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = (likely == i) | (likely == j)
        two = SemiSupervisedSVC(class_prior=shares[[i, j]], **options).fit(X[rows], y[rows])
        np.testing.assert_allclose(
            pairwise(model, X)[:, pair], -two.decision_function(X), atol=1e-3
        )


# Class shares


@pytest.mark.parametrize(
    ("kernel", "prior"),
    [
        ("linear", "labels"),
        ("poly", [0.4, 0.6]),
        ("rbf", [2.0, 6.0]),
        ("linear", [2.0, 6.0]),
    ],
    ids=str,
)
def test_mean_of_f_over_unlabeled_rows_is_given_by_the_shares(kernel, prior):
    X, _, y = blobs(distance=1.0)
    model = SemiSupervisedSVC(kernel=kernel, C=2.0, class_prior=prior, random_state=0).fit(X, y)
    share = model.class_prior_[1]
    assert model.decision_function(X[y < 0]).mean() == pytest.approx(2 * share - 1, abs=1e-6)


def test_none_leaves_the_mean_free():
    X, truth, _ = blobs(n=60, distance=4.0)
    keep = (np.arange(60) < 20) | (truth == 0)  # most rows are of class 0
    X, truth = X[keep], truth[keep]
    y = np.where(np.arange(len(X)) < 8, truth, -1)
    free = SemiSupervisedSVC(C=2.0, class_prior=None).fit(X, y)
    assert free.class_prior_ is None
    assert abs(free.decision_function(X[y < 0]).mean()) > 0.05


# Approximation


def test_report_has_the_form_of_the_machine(monkeypatch):
    X, _, y = blobs()

    def fitted(**options):
        return SemiSupervisedSVC(C=2.0, random_state=0, **options).fit(X, y)

    def report(model):
        return model.predictor_.part.machine.report

    exact = report(fitted())
    assert (exact.form, exact.n_landmarks, exact.n_rows) == ("landmarks", 45, 45)
    assert exact.approximation_error < 1e-9
    assert report(fitted(kernel="linear")).form == "rows"
    monkeypatch.setattr(s3vm_training, "N_LANDMARKS", 20)
    landmarks = fitted(approximation="nystroem")
    assert report(landmarks).n_landmarks == 20
    assert report(landmarks).approximation_error > 1e-3
    monkeypatch.setattr(s3vm_training, "MAX_EXACT", 44)
    np.testing.assert_array_equal(fitted().decision_function(X), landmarks.decision_function(X))
    assert report(fitted(approximation="none")).n_landmarks == 45


def test_drawn_unlabeled_rows_represent_all_of_them(monkeypatch):
    """Half of equal rows with twice the weight are the same problem."""
    X, _, y = blobs(distance=1.0)
    X = np.vstack([X[y >= 0], np.repeat(X[[-1]], 64, axis=0)])
    y = np.append(y[y >= 0], [-1] * 64)
    options = {"width": 2.0, "C": 2.0, "class_prior": None, "random_state": 0}
    expected = SemiSupervisedSVC(**options).fit(X, y)
    monkeypatch.setattr(s3vm_training, "MAX_PAIR_ROWS", 32)
    model = SemiSupervisedSVC(**options).fit(X, y)
    n_rows = [fit.predictor_.part.machine.report.n_rows for fit in (expected, model)]
    assert n_rows == [72, 40]
    np.testing.assert_allclose(model.decision_function(X), expected.decision_function(X), atol=1e-3)
