"""Class weights: their values, their errors, and that all solvers take them alike."""

import numpy as np
import pytest
from scipy.special import expit
from sklearn.svm import SVC
from sklearn.utils.class_weight import compute_class_weight

from graphmargin.margin import training
from graphmargin.margin._solvers.kernel_training import train_on_kernel, train_without_bias
from graphmargin.margin.calibration import fit_calibration
from graphmargin.margin.class_weights import check_class_weight, class_weights, weights_of_rows
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.manifold import train_manifold
from graphmargin.margin.s3vm_training import train_smooth
from graphmargin.margin.training import train_machine

WEIGHTS = (0.5, 4.0)


def overlapping(n=80, n_classes=2, seed=0):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.arange(n) % n_classes)
    return rng.normal(size=(n, 3)) + np.eye(3)[codes], codes


def test_balanced_weights_are_those_of_scikit_learn():
    y = np.repeat(["a", "b", "c"], [7, 2, 1])
    expected = compute_class_weight("balanced", classes=np.unique(y), y=y)
    assert class_weights("balanced", np.unique(y), np.array([7, 2, 1])) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("given", "classes", "expected"),
    [
        (None, ["a", "b"], None),
        ({}, ["a", "b"], (1.0, 1.0)),
        ({"b": 3}, ["a", "b"], (1.0, 3.0)),
        ({1: 2.0, np.int64(0): 5}, np.array([0, 1]), (5.0, 2.0)),
        ({"1": 2.0}, np.array([0, 1]), (1.0, 2.0)),
        ({"True": 2.0}, np.array([False, True]), (1.0, 2.0)),
    ],
)
def test_weights_by_class_may_lack_classes_and_name_them_by_their_text(given, classes, expected):
    assert class_weights(given, classes, np.array([1, 1])) == expected


@pytest.mark.parametrize(
    ("given", "parts"),
    [
        ("ballanced", ["class_weight", "'balanced'", "'ballanced'"]),
        (3.0, ["class_weight", "'balanced'", "3.0"]),
        ([1.0, 2.0], ["class_weight", "dict"]),
        ({"b": -1}, ["class_weight['b']", "> 0", "-1", "removed"]),
        ({"b": 0}, ["class_weight['b']", "> 0", "removed"]),
        ({"b": np.nan}, ["class_weight['b']", "nan"]),
        ({"b": np.inf}, ["class_weight['b']", "finite"]),
        ({"b": 1e9}, ["class_weight['b']", "1e+06"]),
        ({"b": "heavy"}, ["class_weight['b']", "'heavy'"]),
        ({"c": 2.0}, ["class_weight", "'c'", "'a', 'b'"]),
    ],
)
def test_errors_name_the_argument_the_value_and_a_way_out(given, parts):
    with pytest.raises(ValueError, match="class_weight") as error:
        class_weights(given, ["a", "b"], np.array([1, 1]))
    assert all(part in str(error.value) for part in parts)


def test_a_valid_value_needs_no_classes():
    assert check_class_weight({"b": 2}) == {"b": 2.0}
    assert check_class_weight("balanced") == "balanced"


def test_without_class_weights_every_row_counts_as_it_is():
    assert weights_of_rows(None, np.array([0, 1])).tolist() == [1.0, 1.0]


def test_smo_libsvm_and_coordinate_descent_agree(monkeypatch):
    X, codes = overlapping()
    kernel, weights = Kernel("linear"), weights_of_rows(WEIGHTS, codes)
    options = {"C": 2.0, "sample_weight": weights, "random_state": 0}
    by_smo = train_machine(X, codes, kernel, approximation="none", **options)
    by_descent = train_machine(X, codes, kernel, approximation="nystroem", **options)
    monkeypatch.setattr(training, "MAX_SMO", 1)
    by_libsvm = train_machine(X, codes, kernel, approximation="none", **options)
    machines = (by_smo, by_libsvm, by_descent)
    solvers = [machine.report.solver for machine in machines]
    assert solvers == ["smo", "libsvm", "coordinate descent"]
    reference = SVC(C=2.0, kernel="linear", class_weight=dict(enumerate(WEIGHTS)), tol=1e-8)
    expected = reference.fit(X, codes).decision_function(X)
    for machine, tolerance in zip(machines, (2e-3, 2e-3, 0.1), strict=True):
        np.testing.assert_allclose(machine.decision(X), expected, atol=tolerance)


def test_a_weight_is_as_many_copies_of_a_row_without_a_bias_too():
    X, codes = overlapping(n=20)
    copies = np.concatenate([np.arange(20), np.repeat(np.flatnonzero(codes == 1), 2)])
    weighted = train_without_bias(X, codes, C=1.0, sample_weight=weights_of_rows((1, 3), codes))
    copied = train_without_bias(X[copies], codes[copies], C=1.0)
    np.testing.assert_allclose(
        weighted.decision(X @ X.T), copied.decision(X @ X[copies].T), atol=1e-4
    )


@pytest.mark.parametrize("approximation", ["none", "nystroem"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_manifold_machines_without_a_graph_penalty_are_weighted_svms(approximation, n_classes):
    from scipy import sparse

    X, codes = overlapping(n=60, n_classes=n_classes)
    weights = (0.5, 4.0, 2.0)[:n_classes]
    (machine,) = train_manifold(
        X,
        codes,
        Kernel("linear"),
        sparse.csr_array((60, 60)),
        C=1.0,
        gamma_us=[0.0],
        class_weight=weights,
        approximation=approximation,
    )
    expected = train_on_kernel(
        X @ X.T, codes, C=1.0, sample_weight=weights_of_rows(weights, codes), tolerance=1e-6
    )
    np.testing.assert_allclose(machine.pairwise(X), expected.pairwise(X @ X.T), atol=1e-3)


def test_semi_supervised_machines_weight_the_losses_of_labels():
    X, codes = overlapping(n=60)
    few = np.where(np.arange(60) < 30, codes, -1)
    rows = few >= 0
    (supervised,) = train_smooth(
        X, few, Kernel("linear"), C=[1.0], gamma_us=[0.0], class_weight=WEIGHTS
    )
    expected = train_on_kernel(
        X[rows] @ X[rows].T,
        few[rows],
        C=1.0,
        sample_weight=weights_of_rows(WEIGHTS, few[rows]),
        tolerance=1e-6,
    )
    np.testing.assert_allclose(supervised.decision(X), expected.decision(X @ X[rows].T), atol=1e-3)
    shares = []
    for weights in (None, (1.0, 10.0)):
        (machine,) = train_smooth(
            X, few, Kernel("linear"), C=[1.0], gamma_us=[0.1], class_weight=weights
        )
        shares.append((machine.decision(X) > 0).mean())
    assert shares[1] > shares[0]


def test_calibration_takes_back_the_shift_of_class_weights():
    rng = np.random.default_rng(0)
    log_odds = rng.normal(-3, 2, size=20_000)
    targets = np.eye(2)[(rng.random(20_000) < expit(log_odds)).astype(int)]
    weights = (0.5, 5.0)
    shifted = log_odds + np.log(weights[1] / weights[0])
    calibration = fit_calibration(shifted, targets, class_weight=weights)
    P = calibration.probabilities(shifted)
    assert calibration.offsets == pytest.approx(-np.log(weights))
    assert P[:, 1].mean() == pytest.approx(targets[:, 1].mean(), rel=0.03)
    np.testing.assert_allclose(P[:, 1], expit(log_odds), atol=0.03)
    assert fit_calibration(shifted, targets).offsets.tolist() == [0.0]
