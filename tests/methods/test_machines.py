"""All methods of max-margin machines: trials and blends against fits of one candidate at a time."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.margin import Kernel
from graphmargin.margin.calibration import calibrate_machine, calibration_targets
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.machine import predicted_codes
from graphmargin.methods import low_density
from graphmargin.search import data as data_module
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import HeldOutLabels
from graphmargin.search.search import fit
from graphmargin.search.trials import smoothed_shares
from tests.methods.problems import (
    TRIAL_ERROR,
    assert_consistent,
    assert_is_weighted_sum,
    fit_chosen,
)
from tests.search.problems import (
    NOTHING,
    WITH_MARGIN,
    assert_same_trials,
    choose_by,
    clusters,
    data_of,
    fit_one,
    folds_of,
    without,
)

with_margin = pytest.mark.parametrize("name", WITH_MARGIN)


def pairwise(fitted, X):
    """Return f of every pair of classes."""
    return fitted.predictor.part.machine.pairwise(X)


def try_candidates(name, X, y, held_out, W=None, **parameters):
    """Return the trials of a method."""
    return choose_by(name, data_of(X, y, held_out, W), **parameters).trials


# Trials: the predictions of candidates for held-out labels

# Those of semi-supervised SVMs are not fits, and tested in test_low_density.py.
TRIALS = [
    ("cut", {"kernel": "linear", "C": [5.0, 50.0]}, 2),
    ("cut", {"kernel": "poly"}, 3),
    ("cut", {"eps": 0.2, "loss_weights": "equal"}, 3),
    ("cut", {"class_mass_normalization": [[1, 99], False]}, 2),
    ("cut", {"c_labeled": 2.0, "c_unlabeled": 0.05, "metric": "cosine"}, 2),
    ("supervised", {"kernel": "linear"}, 3),
    ("manifold", {"kernel": "linear"}, 2),
    ("manifold", {"kernel": "poly", "approximation": "nystroem"}, 3),
    ("manifold", {"kernel": "linear", "normalized": True, "laplacian_power": 2}, 2),
    ("manifold", {"kernel": "linear", "fit_intercept": False}, 2),
]
SUPERVISED = {"gamma_g": np.inf, "gamma_u": 0.0}


@pytest.mark.parametrize(("name", "parameters", "n_classes"), TRIALS, ids=lambda v: str(v)[:48])
def test_trials_are_fits_without_the_held_out_labels(name, parameters, n_classes):
    X, y = clusters(n_classes, n=40)
    X = X + 1.0  # for the cosine metric
    held_out, error = folds_of(y), 1e-4 if name == "manifold" else TRIAL_ERROR
    trials = try_candidates(name, X, y, held_out, **parameters)
    assert_consistent(trials, y, held_out, n_classes * (n_classes - 1) // 2)
    assert trials.columns == "pairs"
    assert len(trials.params) > 1
    for i, candidate in enumerate(trials.params):
        single = {**parameters, **candidate}
        f = pairwise(fit_one(name, X, y, **single), X)
        g = f[y < 0]
        assert trials.scales[i] == pytest.approx(np.abs(g).mean(), rel=error)
        codes = predicted_codes(class_scores(g, n_classes, np.abs(g).mean(axis=0)))
        shares = smoothed_shares(codes, n_classes)
        n_unclear = (np.abs(g) < error * np.abs(f).max()).any(axis=1).sum()
        atol = 1e-12 + n_unclear / (len(g) + n_classes)  # labels that the error may change
        np.testing.assert_allclose(trials.shares[i], shares, atol=atol)
        expected = [
            pairwise(fit_one(name, X, without(y, fold), **single), X[fold])
            for fold in held_out.folds
        ]
        np.testing.assert_allclose(
            trials.held_out_values[i] * trials.scales[i],
            np.concatenate(expected),
            atol=error * max(1.0, np.abs(f).max()),
        )
        is_supervised = name == "supervised" or any(
            candidate.get(key) == value for key, value in SUPERVISED.items()
        )
        assert trials.supervised[i] == is_supervised


@pytest.mark.parametrize("name", ["cut", "manifold", "low-density"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_trials_without_a_weight_of_unlabeled_rows_are_supervised(name, kernel):
    X, y = clusters(3)
    one_by_one = HeldOutLabels(tuple(np.flatnonzero(y >= 0)[:, None]))
    unweighted = {"gamma_g": np.inf} if name == "cut" else {"gamma_u": 0.0}
    options = {"kernel": kernel, "C": [0.5, 10.0]}
    trials = try_candidates(name, X, y, one_by_one, **unweighted, **options)
    expected = try_candidates("supervised", X, y, one_by_one, **options)
    assert trials.supervised.all()
    assert_same_trials(trials, expected, atol=0.0 if name == "cut" else TRIAL_ERROR)


@with_margin
def test_class_weights_count_in_trials_as_in_fits(name):
    X, y = clusters()
    held_out, fixed = folds_of(y), {"gamma_u": 0.0} if name == "low-density" else {}
    data = replace(data_of(X, y, held_out), class_weight=(1.0, 4.0))
    trials = choose_by(name, data, **fixed).trials
    single = {**fixed, **trials.params[0]}
    for number, fold in enumerate(held_out.folds):
        data = replace(data_of(X, without(y, fold)), class_weight=(1.0, 4.0))
        f = pairwise(fit(data, choose_by(name, data, **single)), X[fold])
        values = trials.held_out_values[0, trials.fold == number] * trials.scales[0]
        np.testing.assert_allclose(values, f, atol=TRIAL_ERROR * max(1.0, np.abs(f).max()))


@with_margin
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_validation_rows_are_scored_by_the_fits_on_all_labels(name, kernel):
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    # Semi-supervised SVMs are annealed with few landmarks in trials, unless they are supervised.
    unweighted = {"gamma_u": 0.0, "C": [0.1, 1.0]} if name == "low-density" else {}
    held_out = HeldOutLabels((), (new, codes))
    trials = try_candidates(name, X, y, held_out, kernel=kernel, **unweighted)
    np.testing.assert_array_equal(trials.held_out_codes, codes)
    np.testing.assert_array_equal(trials.fold, np.zeros(12))
    assert trials.held_out_rows is None
    for i, candidate in enumerate(trials.params):
        f = pairwise(fit_one(name, X, y, kernel=kernel, **candidate), new)
        values = trials.held_out_values[i] * trials.scales[i]
        np.testing.assert_allclose(values, f, atol=TRIAL_ERROR * np.abs(f).max())


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(data_module, "MAX_LABELED", 9)
    monkeypatch.setattr(data_module, "MAX_UNLABELED", 30)
    monkeypatch.setattr(data_module, "N_SAMPLED", 20)
    monkeypatch.setattr(data_module, "N_SAMPLED_PER_CLASS", 1)
    monkeypatch.setattr(data_module, "MIN_LABELED_PER_CLASS", 0)
    monkeypatch.setattr(low_density, "MAX_HAT_LOSSES", 15)


@pytest.mark.usefixtures("small_samples")
@with_margin
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_kernel_matrix_gives_the_trials_of_its_rows(name, container):
    X, y = clusters(3, n=45)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    K = Kernel("poly", width=2.0)  # of rows that are not centered
    W = knn_graph(X, 6) if name in ("cut", "manifold") else None
    for rows, matrix in (
        (folds_of(y), folds_of(y)),
        (HeldOutLabels((), (new, codes)), HeldOutLabels((), (container(K(new, X)), codes))),
    ):
        expected = try_candidates(name, X, y, rows, W, kernel="poly", width=2.0)
        trials = try_candidates(name, container(K(X, X)), y, matrix, W, kernel="precomputed")
        # L-BFGS ends trials of semi-supervised SVMs early, so that rounding changes f more.
        assert_same_trials(trials, expected, atol=3e-2 if name == "low-density" else 5e-3)


@pytest.mark.usefixtures("small_samples")
@with_margin
def test_samples_depend_on_the_seed_and_not_on_threads_or_kernels(name):
    """The linear kernel draws no landmarks; all members have to hold out the same labels."""
    X, y = clusters(3, n=90, n_labeled=6)
    first, threads, rbf, other = (
        choose_by(
            name, data_of(X, y, folds_of(y), None, Execution(n_jobs, seed)), kernel=kernel
        ).trials
        for n_jobs, seed, kernel in (
            (1, 0, "linear"),
            (3, 0, "linear"),
            (1, 0, "rbf"),
            (1, 1, "linear"),
        )
    )
    assert_same_trials(first, threads)
    assert first.held_out_values.shape[1:] == (9, 3)
    assert not np.allclose(first.scales, other.scales)
    for field in ("held_out_rows", "held_out_codes", "fold"):
        np.testing.assert_array_equal(getattr(first, field), getattr(rbf, field))


# The blend: the weighted sum of the functions of candidates

BLENDS = [
    ("cut", {"kernel": "linear"}, 2),
    ("cut", {"kernel": "poly", "degree": 2}, 2),
    ("cut", {"gamma_g": [0.1, 0.01], "class_mass_normalization": [False, [1.0, 3.0]]}, 2),
    ("cut", {"n_neighbors": 4, "metric": "cosine", "gamma_g": [0.1, 0.01]}, 3),
    ("cut", {"width": 3.0, "loss_weights": "equal", "eps": 0.1}, 3),
    ("cut", {"c_labeled": np.full(60, 3.0), "c_unlabeled": 0.05}, 2),
    ("cut", {"gamma_g": np.inf, "C": [0.1, 1.0, 10.0]}, 2),
    ("supervised", {"kernel": "linear"}, 3),
    ("manifold", {"kernel": "linear"}, 2),
    ("manifold", {"normalized": True, "laplacian_power": 2}, 2),
    ("manifold", {"kernel": "poly", "fit_intercept": False}, 3),
    ("manifold", {"n_neighbors": 4, "metric": "cosine", "width": 3.0}, 3),
    ("manifold", {"approximation": "nystroem"}, 2),
    ("low-density", {"class_prior": "labels"}, 3),
    ("low-density", {"class_prior": None}, 2),
    ("low-density", {"class_prior": [0.4, 0.6], "kernel": "linear"}, 2),
    ("low-density", {"kernel": "poly", "degree": 2, "width": 3.0}, 2),
]


@pytest.mark.parametrize(("name", "parameters", "n_classes"), BLENDS, ids=lambda v: str(v)[:48])
def test_blend_is_the_weighted_sum_of_separate_fits(name, parameters, n_classes):
    X, y = clusters(n_classes)
    X = X + 1.0  # for the cosine metric
    fitted = fit_chosen(name, X, y, folds_of(y), **parameters)
    assert len(fitted.choice.blended) > 1
    assert_is_weighted_sum(name, fitted, X, y, **parameters)
    part = fitted.predictor.part
    assert part.machine.kernel.kind == parameters.get("kernel", "rbf")
    if part.walk is None:
        np.testing.assert_array_equal(fitted.label_distributions, part.probabilities(X))
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])
    predicted = fitted.label_distributions.argmax(axis=1)
    np.testing.assert_array_equal(fitted.codes[y < 0], predicted[y < 0])
    np.testing.assert_array_equal(
        fitted.confidence, fitted.label_distributions[np.arange(60), fitted.codes]
    )


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@with_margin
def test_blend_of_three_classes_on_a_kernel_matrix(name, convert):
    X, y = clusters(3, n=45)
    K = convert(Kernel("rbf", width=2.0)(X, X))
    W = knn_graph(X, 5) if name in ("cut", "manifold") else None
    fitted = fit_chosen(name, K, y, folds_of(y), W, kernel="precomputed")
    assert set(fitted.predictor.part.machine.vectors) <= set(range(45))
    assert_is_weighted_sum(name, fitted, K, y, W, kernel="precomputed")


@pytest.mark.parametrize("name", ["supervised", "manifold", "low-density"])
def test_without_held_out_labels_probabilities_are_calibrated_on_given_labels(name):
    X, y = clusters(3, n_labeled=1)
    fitted = fit_chosen(name, X, y, NOTHING)
    given = y[y >= 0]
    targets = calibration_targets(np.eye(3)[given], given)
    expected = calibrate_machine(fitted.predictor.part.machine, X[y >= 0], targets)
    calibration = fitted.predictor.part.calibration
    assert (calibration.inverse_temperature, calibration.uniform_share) == (
        expected.inverse_temperature,
        expected.uniform_share,
    )
    np.testing.assert_array_equal(calibration.pair_scales, expected.pair_scales)


@with_margin
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_rows_that_are_all_the_same_have_finite_scores(name, kernel):
    _, y = clusters(3, n=18, n_labeled=3)
    fitted = fit_chosen(name, np.ones((18, 2)), y, folds_of(y), kernel=kernel)
    assert np.abs(fitted.choice.trials.held_out_values).max() < 1e6
    decision = fitted.predictor.part.decision(np.ones((3, 2)))
    assert np.ptp(decision, axis=0).max() < 1e-12
    assert np.isfinite(fitted.label_distributions).all()
