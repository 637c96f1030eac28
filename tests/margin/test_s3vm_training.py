"""Semi-supervised machines: their limits, their objective, kinds of rows, samples and two moons."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_moons

from graphmargin.margin import Kernel, s3vm_training, train_machine
from graphmargin.margin.s3vm_training import train_smooth
from tests.margin.problems import KERNELS


def overlapping_classes(n_classes=2, n=60, n_labeled=18, seed=0):
    """Return rows around the centers of the classes, and the classes of a few of them, else -1."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % n_classes
    X = rng.normal(size=(n, 3)) + 1.2 * np.eye(3)[truth]
    return X, np.where(np.arange(n) < n_labeled, truth, -1)


def train_one(X, codes, kernel, *, C=2.0, gamma_u=0.1, **options):
    """Return the machine of a single C and gamma_u."""
    (machine,) = train_smooth(X, codes, kernel, C=[C], gamma_us=[gamma_u], n_jobs=1, **options)
    return machine


def hinge_objective(machine, X, codes, C):
    """Return ``norm(f)^2 / 2 + C sum_l V`` of a linear machine of two classes."""
    machine = machine.collapse_linear()
    w = machine.coefficients[:, 0] / machine.kernel.width
    labeled = codes >= 0
    margins = (2 * codes - 1)[labeled] * machine.decision(X[labeled])
    return w @ w / 2 + C * np.maximum(1 - margins, 0).sum()


# Limits


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_supervised_machine_results_without_weight_or_unlabeled_rows(n_classes, C):
    X, codes = overlapping_classes(n_classes, n_labeled=40)
    labeled = codes >= 0
    expected = train_machine(X[labeled], codes[labeled], Kernel("linear"), C=C).pairwise(X)
    for prior in (None, np.full(n_classes, 1 / n_classes)):
        for rows, gamma_u in ((slice(None), 0.0), (labeled, 1.0)):
            options = {"C": C, "gamma_u": gamma_u, "class_prior": prior}
            machine = train_one(X[rows], codes[rows], Kernel("linear"), **options)
            np.testing.assert_allclose(machine.pairwise(X), expected, atol=3e-4, rtol=1e-4)


@pytest.mark.parametrize("C", [0.1, 2.0, 100.0])
def test_tiny_weight_gives_the_supervised_machine_up_to_the_smooth_loss(C):
    """The smooth hinge loss is at most 0.125 above the hinge loss."""
    X, codes = overlapping_classes()
    supervised, smooth = (
        hinge_objective(train_one(X, codes, Kernel("linear"), C=C, gamma_u=gamma_u), X, codes, C)
        for gamma_u in (0.0, 1e-9)
    )
    assert supervised * (1 - 1e-4) <= smooth <= supervised + 0.125 * C * (codes >= 0).sum()


# Two moons


@pytest.mark.parametrize(("seed", "width"), [(0, 0.2), (2, 0.2)])
def test_two_moons_are_learned_from_two_labels(seed, width):
    """Labels are not at the tips, each of which is next to the other moon."""
    X, truth = make_moons(200, noise=0.05, random_state=seed)
    rng = np.random.default_rng(seed)
    codes = np.full(200, -1)
    for c in (0, 1):
        codes[rng.choice(np.flatnonzero((truth == c) & (np.abs(X[:, 0] - c) < 0.7)))] = c
    prior = np.bincount(truth[codes < 0]) / 198
    errors = []
    for gamma_u in (0.1, 0.0):
        options = {"C": 1.0, "gamma_u": gamma_u, "class_prior": prior}
        f = train_one(X, codes, Kernel("rbf", width), **options).decision(X)
        errors.append(np.mean((f > 0) != truth))
    assert errors[0] <= 0.01
    assert errors[1] >= 0.05


# Rows, kernels and samples


@pytest.mark.parametrize("kind", list(KERNELS))
@pytest.mark.parametrize("prior", [None, np.array([0.3, 0.3, 0.4])], ids=["free", "fixed"])
def test_kernel_matrix_and_sparse_rows_give_the_machine_of_dense_rows(monkeypatch, kind, prior):
    monkeypatch.setattr(s3vm_training, "TOLERANCES", (1e-9, 1e-7))  # else rounding adds a step
    X, codes = overlapping_classes(3)
    X[np.abs(X) < 0.3] = 0.0
    expected = train_one(X, codes, KERNELS[kind], class_prior=prior).pairwise(X)
    K = KERNELS[kind](X, X)
    given = train_one(K, codes, Kernel("precomputed"), class_prior=prior)
    np.testing.assert_allclose(given.pairwise(K), expected, atol=0.02)
    rows = sparse.csr_array(X)
    thin = train_one(rows, codes, KERNELS[kind], class_prior=prior)
    np.testing.assert_allclose(thin.pairwise(rows), expected, atol=0.02)


def test_all_landmarks_are_exact_and_a_few_are_close(monkeypatch):
    X, codes = overlapping_classes(n=200)
    exact = train_one(X, codes, Kernel("rbf", 2.0), approximation="none")
    monkeypatch.setattr(s3vm_training, "N_LANDMARKS", 200)
    same = train_one(X, codes, Kernel("rbf", 2.0), approximation="nystroem")
    np.testing.assert_allclose(same.pairwise(X), exact.pairwise(X), atol=1e-3)
    monkeypatch.setattr(s3vm_training, "N_LANDMARKS", 60)
    close = train_one(X, codes, Kernel("rbf", 2.0), approximation="nystroem")
    assert close.report.n_landmarks == 60
    assert np.mean((close.decision(X) > 0) == (exact.decision(X) > 0)) > 0.97


@pytest.mark.parametrize("prior", [None, np.array([0.4, 0.6])], ids=["free", "fixed"])
def test_the_same_rows_and_seed_give_the_same_machine_to_the_last_bit(prior):
    X, codes = overlapping_classes(n=200)
    options = {"class_prior": prior, "approximation": "nystroem", "random_state": 0}
    runs = [train_one(X, codes, Kernel("rbf"), **options) for _ in range(2)]
    np.testing.assert_array_equal(runs[0].pairwise(X), runs[1].pairwise(X))


def test_machines_of_several_parameters_are_those_of_each_alone():
    X, codes = overlapping_classes(3)
    C, gamma_us = [1.0, 5.0, 1.0], [0.01, 0.01, 0.0]
    machines = train_smooth(X, codes, Kernel("linear"), C=C, gamma_us=gamma_us)
    for machine, value, gamma_u in zip(machines, C, gamma_us, strict=True):
        alone = train_one(X, codes, Kernel("linear"), C=value, gamma_u=gamma_u)
        np.testing.assert_array_equal(machine.pairwise(X), alone.pairwise(X))


# Reports


def test_solvers_that_do_not_converge_are_reported(monkeypatch):
    X, codes = overlapping_classes()
    assert train_one(X, codes, Kernel("linear")).report.failure == ""
    solve = s3vm_training.anneal_pairs
    monkeypatch.setattr(
        s3vm_training,
        "anneal_pairs",
        lambda *args, **options: (*solve(*args, **options)[:2], np.zeros(1, dtype=bool)),
    )
    failure = train_one(X, codes, Kernel("linear")).report.failure
    assert failure.startswith("semi-supervised SVM: L-BFGS did not reach its tolerance; scale")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gamma_u": -1.0}, "`gamma_u` must be >= 0, got -1.0; 0 is the supervised machine"),
        ({"approximation": "some"}, "`approximation` must be one of 'auto', 'none', 'nystroem'"),
    ],
)
def test_errors_name_the_argument(options, message):
    X, codes = overlapping_classes()
    with pytest.raises(ValueError, match=message):
        train_one(X, codes, Kernel("linear"), **options)
