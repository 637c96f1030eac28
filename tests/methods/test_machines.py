"""Every family of classifiers: trials and blends against fits of one candidate at a time."""

import re
from itertools import product

import numpy as np
import pytest
from graphmargin.selection import s3vm_fits, trial_rows
from graphmargin.selection.choice import choose
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import (
    HAT_LOSS_GRID,
    c_grid,
    gamma_g_grid,
    gamma_u_grid,
)
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.trials import join_trials, smoothed_shares
from scipy import sparse
from tests.selection.tasks import (
    CUT,
    FAMILIES,
    HARMONIC,
    MANIFOLD,
    RUN,
    S3VM,
    TRIAL_ERROR,
    WITH_MARGIN,
    assert_consistent,
    assert_is_weighted_sum,
    assert_same_trials,
    clusters,
    folds_of,
    function_of,
    without,
)

from graphmargin.graph import knn_graph
from graphmargin.margin import Kernel, class_scores
from graphmargin.margin.machine import predicted_codes

every_family = pytest.mark.parametrize("family", FAMILIES.values(), ids=FAMILIES)
with_margin = pytest.mark.parametrize("name", WITH_MARGIN)


def short(value):
    """Return the name of a case, which has no address of a function in it."""
    return re.sub(r"<function (\w+) at \w+>", r"\1", str(value))[:48]


# Candidates


def test_auto_means_the_grids():
    X, y = clusters(n_labeled=2)
    auto = {"C": "auto", "gamma_g": "auto", "gamma_u": "auto", "class_mass_normalization": "auto"}

    def candidates(family, **changed):
        defaults = family.classifier().get_params()
        parameters = {key: value for key, value in {**auto, **changed}.items() if key in defaults}
        (task,) = family.tasks(X, y, **parameters)
        return [tuple(candidate.values()) for candidate in family.candidates(task)]

    (task,) = CUT.tasks(X, y)
    gammas, costs = gamma_g_grid(task.W), c_grid(X, task.kernel)
    priors = [False, (3, 3)]
    assert candidates(HARMONIC) == list(product(gammas[1:], priors)), "finite values"
    assert candidates(CUT) == [
        (gamma_g, C, prior)
        for gamma_g, C, prior in product(gammas, costs, priors)
        if np.isfinite(gamma_g) or prior is False
    ]
    assert candidates(CUT, C=3.7, class_mass_normalization=[1.0, 3.0]) == [
        (gamma_g, 3.7, (1.0, 3.0)) for gamma_g in gammas
    ]
    assert candidates(FAMILIES["supervised"]) == [(np.inf, C, False) for C in costs]
    assert candidates(MANIFOLD) == list(product(gamma_u_grid(60), costs))
    assert candidates(MANIFOLD, C=10.0) == list(product(gamma_u_grid(60), [10.0]))
    assert candidates(S3VM) == list(product(HAT_LOSS_GRID, costs))


# Trials: what the candidates say about held-out labels

# Those of semi-supervised SVMs are not fits, and tested in test_s3vm_fits.py.
TRIALS = [
    ("harmonic", {}, 2),
    ("harmonic", {"class_mass_normalization": [False, [1, 2, 3]]}, 3),
    ("cut", {"kernel": "linear", "C": [5.0, 50.0]}, 2),
    ("cut", {"kernel": ["poly", "rbf"]}, 3),
    ("cut", {"eps": [0.0, 0.2], "loss_weights": ["equal", "confidence"]}, 3),
    ("cut", {"class_mass_normalization": [[1, 99], False]}, 2),
    ("supervised", {"kernel": ["linear", "rbf"]}, 3),
    ("manifold", {"kernel": "linear"}, 2),
    ("manifold", {"kernel": ["poly", "rbf"], "approximation": "nystroem"}, 3),
    ("manifold", {"kernel": "linear", "normalized": True, "laplacian_power": 2}, 2),
    ("manifold", {"kernel": "linear", "fit_intercept": False}, 2),
]
SUPERVISED = {"gamma_g": np.inf, "gamma_u": 0.0}
ERRORS = {"harmonic": 1e-6, "manifold": 1e-4}


def values_of(fitted, task):
    """Return class masses of the training rows, or f of every pair of classes."""
    if hasattr(fitted.predictor, "machines"):
        return function_of(fitted)(task.X)
    return fitted.predictor.parts[0].class_mass


@pytest.mark.parametrize(("name", "parameters", "n_classes"), TRIALS, ids=short)
def test_trials_are_fits_without_the_held_out_labels(name, parameters, n_classes):
    X, y = clusters(n_classes, n=40)
    held_out, family, error = folds_of(y), FAMILIES[name], ERRORS.get(name, TRIAL_ERROR)
    all_trials = family.try_tasks(family.tasks(X, y, **parameters), held_out, RUN)
    for trials in all_trials:
        evidence, task = trials.evidence, trials.task
        n_columns = n_classes if name == "harmonic" else n_classes * (n_classes - 1) // 2
        assert_consistent(evidence, y, held_out, n_columns)
        assert evidence.columns == ("masses" if name == "harmonic" else "pairs")
        for i, candidate in enumerate(evidence.params):
            single = {**parameters, **candidate}
            fitted = family.fit_one(X, y, **single)
            f = values_of(fitted, task)
            g, n_unclear = f[y < 0], 0
            if name == "harmonic":
                scale, codes = fitted.confidence[y < 0].mean(), g.argmax(axis=1)
            else:
                scale, units = np.abs(g).mean(), np.abs(g).mean(axis=0)
                codes = predicted_codes(class_scores(g, n_classes, units))
                n_unclear = (np.abs(g) < error * np.abs(f).max()).any(axis=1).sum()
            assert evidence.scales[i] == pytest.approx(scale, rel=error)
            shares = smoothed_shares(codes, n_classes)
            atol = 1e-12 + n_unclear / (len(g) + n_classes)  # labels that the error may change
            np.testing.assert_allclose(evidence.shares[i], shares, atol=atol)
            expected = [
                values_of(family.fit_one(X, without(y, fold), **single), task)[fold]
                for fold in held_out.folds
            ]
            np.testing.assert_allclose(
                evidence.held_out_values[i] * evidence.scales[i],
                np.concatenate(expected),
                atol=error * max(1.0, np.abs(f).max()),
            )
            is_supervised = any(candidate.get(key) == value for key, value in SUPERVISED.items())
            assert evidence.supervised[i] == is_supervised
    first = all_trials[0].evidence
    for trials in all_trials[1:]:
        assert np.abs(trials.evidence.held_out_values - first.held_out_values).max() > 0.02


@pytest.mark.parametrize("name", ["cut", "manifold", "s3vm"])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_trials_without_a_weight_of_unlabeled_rows_are_supervised(name, kernel):
    X, y = clusters(3)
    one_by_one = HeldOutLabels(tuple(np.flatnonzero(y >= 0)[:, None]))
    unweighted = {"gamma_g": np.inf} if name == "cut" else {"gamma_u": 0.0}
    options = {"kernel": kernel, "C": [0.5, 10.0]}
    family, supervised = FAMILIES[name], FAMILIES["supervised"]
    (trials,) = family.try_tasks(family.tasks(X, y, **unweighted, **options), one_by_one, RUN)
    (expected,) = supervised.try_tasks(supervised.tasks(X, y, **options), one_by_one, RUN)
    assert expected.solutions == {}
    assert trials.evidence.supervised.all()
    atol = 0.0 if name == "cut" else TRIAL_ERROR
    assert_same_trials(trials.evidence, expected.evidence, atol)


@with_margin
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_validation_rows_are_scored_by_the_fits_on_all_labels(name, kernel):
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    family = FAMILIES[name]
    # Trials of semi-supervised SVMs minimize a smooth objective, unless they are supervised.
    unweighted = {"gamma_u": 0.0, "C": [0.1, 1.0]} if name == "s3vm" else {}
    tasks = family.tasks(X, y, kernel=kernel, **unweighted)
    (trials,) = family.try_tasks(tasks, HeldOutLabels((), (new, codes)), RUN)
    evidence = trials.evidence
    np.testing.assert_array_equal(evidence.held_out_codes, codes)
    np.testing.assert_array_equal(evidence.fold, np.zeros(12))
    for i, candidate in enumerate(evidence.params):
        f = function_of(family.fit_one(X, y, kernel=kernel, **candidate))(new)
        values = evidence.held_out_values[i] * evidence.scales[i]
        np.testing.assert_allclose(values, f, atol=TRIAL_ERROR * np.abs(f).max())


@with_margin
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_kernel_matrix_gives_the_trials_of_its_rows(monkeypatch, name, container):
    monkeypatch.setattr(s3vm_fits, "MAX_HAT_LOSSES", 20)  # machines learn from a sample
    monkeypatch.setattr(trial_rows, "MAX_UNLABELED", 30)
    monkeypatch.setattr(trial_rows, "N_SAMPLED", 20)
    monkeypatch.setattr(trial_rows, "N_SAMPLED_PER_CLASS", 1)
    X, y = clusters(3, n=45)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    family, K = FAMILIES[name], Kernel("poly", width=2.0)  # of rows that are not centered
    W = knn_graph(X, 6) if name in ("cut", "manifold") else None
    by_name = family.tasks(X, y, W, kernel="poly", width=2.0)
    by_matrix = family.tasks(container(K(X, X)), y, W, kernel="precomputed")
    for rows, matrix in (
        (folds_of(y), folds_of(y)),
        (HeldOutLabels((), (new, codes)), HeldOutLabels((), (container(K(new, X)), codes))),
    ):
        (expected,) = family.try_tasks(by_name, rows, RUN)
        (trials,) = family.try_tasks(by_matrix, matrix, RUN)
        assert_same_trials(trials.evidence, expected.evidence, atol=1e-3)


@every_family
def test_sparse_rows_give_the_trials_of_dense_ones(family):
    X, y = clusters(n=40)
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense, thin = (
        family.try_tasks(family.tasks(rows, y), folds_of(y), RUN)[0].evidence
        for rows in (X, sparse.csr_array(X))
    )
    assert_same_trials(thin, dense, atol=TRIAL_ERROR)


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(trial_rows, "MAX_LABELED", 9)
    monkeypatch.setattr(trial_rows, "MAX_UNLABELED", 30)
    monkeypatch.setattr(trial_rows, "N_SAMPLED", 20)
    monkeypatch.setattr(trial_rows, "N_SAMPLED_PER_CLASS", 1)
    monkeypatch.setattr(trial_rows, "MIN_LABELED_PER_CLASS", 0)
    monkeypatch.setattr(s3vm_fits, "MAX_HAT_LOSSES", 15)


@pytest.mark.usefixtures("small_samples")
@with_margin
def test_samples_depend_on_the_seed_and_not_on_threads_or_kernels(name):
    X, y = clusters(3, n=90, n_labeled=6)
    family = FAMILIES[name]
    tasks = family.tasks(X, y, kernel=["linear", "rbf"])  # the first draws no landmarks
    first, second, other = (
        family.try_tasks(tasks, folds_of(y), Execution(n_jobs=n_jobs, seed=seed))
        for n_jobs, seed in ((1, 0), (3, 0), (1, 1))
    )
    for trials, again in zip(first, second, strict=True):
        assert_same_trials(trials.evidence, again.evidence)
    assert first[0].evidence.held_out_values.shape[1:] == (9, 3)
    assert not np.allclose(first[0].evidence.scales, other[0].evidence.scales)
    linear, rbf = (trials.evidence for trials in first)
    np.testing.assert_array_equal(linear.held_out_codes, rbf.held_out_codes)
    np.testing.assert_array_equal(linear.fold, rbf.fold)
    assert choose(join_trials([linear, rbf]), np.array([6, 6, 6])).error < 0.7


# The blend: the weighted sum of what candidates are alone

BLENDS = [
    ("cut", {"kernel": "linear"}, 2),
    ("cut", {"kernel": "poly"}, 2),
    ("cut", {"gamma_g": [0.1, 0.01], "class_mass_normalization": [False, [1.0, 3.0]]}, 2),
    ("cut", {"kernel": ["linear", "poly", "rbf"]}, 2),
    ("cut", {"n_neighbors": [4, 6], "metric": ["euclidean", "cosine"]}, 2),
    ("cut", {"width": [1.0, 3.0, "paper"], "kernel": ["linear", "rbf"]}, 3),
    ("cut", {"kernel": ["linear", "poly"], "degree": [2, 3]}, 2),
    ("cut", {"loss_weights": ["equal", "confidence"], "eps": [0.0, 0.1]}, 2),
    ("cut", {"c_labeled": [np.inf, 2.0, np.full(60, 3.0)], "c_unlabeled": [0.0, 0.05]}, 2),
    ("cut", {"gamma_g": np.inf, "C": [0.1, 1.0, 10.0], "kernel": ["linear", "rbf"]}, 2),
    ("supervised", {"kernel": ["linear", "rbf"]}, 3),
    ("manifold", {"kernel": "linear"}, 2),
    ("manifold", {"normalized": True, "laplacian_power": 2}, 2),
    ("manifold", {"kernel": "poly", "fit_intercept": False}, 3),
    ("manifold", {"kernel": ["linear", "rbf"]}, 3),
    ("manifold", {"n_neighbors": [4, 6], "metric": ["euclidean", "cosine"]}, 2),
    ("manifold", {"width": [1.0, 3.0], "kernel": ["linear", "rbf"]}, 2),
    ("manifold", {"normalized": [False, True], "fit_intercept": [False, True]}, 2),
    ("manifold", {"approximation": "nystroem"}, 2),
    ("s3vm", {"class_prior": "labels"}, 3),
    ("s3vm", {"class_prior": ["labels", None, [0.4, 0.6]]}, 2),
    ("s3vm", {"kernel": ["linear", "rbf"], "width": [1.0, 3.0]}, 2),
    ("s3vm", {"kernel": ["linear", "poly"], "degree": [2, 3], "gamma_u": [0.0, 0.1]}, 2),
]


@pytest.mark.parametrize(("name", "parameters", "n_classes"), BLENDS, ids=short)
def test_blend_is_the_weighted_sum_of_separate_fits(name, parameters, n_classes):
    X, y = clusters(n_classes)
    X, family = X + 1.0, FAMILIES[name]  # for the cosine metric
    trials, choice, fitted = family.try_and_choose(family.tasks(X, y, **parameters), folds_of(y))
    assert len(choice.blended) > 1
    assert_is_weighted_sum(family, fitted, fitted.choice, X, y, **parameters)
    machines = fitted.predictor.machines
    assert len({machine.kernel for machine in machines}) == len(machines), "one for each kernel"
    kind = choice.best_params.get("kernel", parameters.get("kernel", "rbf"))
    assert machines[0].kernel.kind == kind
    if not fitted.predictor.graph:
        np.testing.assert_array_equal(fitted.label_distributions, fitted.predictor.probabilities(X))
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])
    predicted = fitted.label_distributions.argmax(axis=1)
    np.testing.assert_array_equal(fitted.codes[y < 0], predicted[y < 0])
    best = [part.task for part in trials for _ in part.evidence.params][choice.best]
    if name in ("manifold", "s3vm"):
        assert fitted.task is best


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
@with_margin
def test_blend_of_three_classes_on_a_kernel_matrix(name, convert):
    X, y = clusters(3, n=45)
    K, family = convert(Kernel("rbf", width=2.0)(X, X)), FAMILIES[name]
    W = knn_graph(X, 5) if name in ("cut", "manifold") else None
    tasks = family.tasks(K, y, W, kernel="precomputed")
    _, _, fitted = family.try_and_choose(tasks, folds_of(y))
    (machine,) = fitted.predictor.machines
    assert set(machine.vectors) <= set(range(45))
    assert_is_weighted_sum(family, fitted, fitted.choice, K, y, W, kernel="precomputed")


# Degenerate input


@pytest.mark.parametrize("n_classes", [2, 3])
@every_family
def test_without_held_out_labels_trials_are_the_fits_on_all_labels(family, n_classes):
    X, y = clusters(n_classes, n_labeled=1)
    trials, choice, fitted = family.try_and_choose(family.tasks(X, y), HeldOutLabels(()))
    evidence = trials[0].evidence
    assert evidence.held_out_values.shape[:2] == (len(evidence.params), 0)
    assert evidence.held_out_codes.shape == evidence.fold.shape == (0,)
    assert np.isnan(choice.error)
    assert np.isfinite(fitted.label_distributions).all()


@with_margin
@pytest.mark.parametrize("kernel", ["linear", "poly", "rbf"])
def test_rows_that_are_all_the_same_have_finite_scores(name, kernel):
    _, y = clusters(3, n=18, n_labeled=3)
    family = FAMILIES[name]
    tasks = family.tasks(np.ones((18, 2)), y, kernel=kernel)
    trials, _, fitted = family.try_and_choose(tasks, folds_of(y))
    assert np.abs(trials[0].evidence.held_out_values).max() < 1e6
    assert np.ptp(fitted.predictor.decision(np.ones((3, 2))), axis=0).max() < 1e-12
    assert np.isfinite(fitted.label_distributions).all()
