"""Trials of the rivals against refits, one for every fold and candidate."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from graphmargin import knn_graph
from graphmargin.datasets import load_digits, make_lattices, mask_labels
from graphmargin.graph.attachment import attach_by_weights
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic.problem import harmonic_problem
from graphmargin.harmonic.solution import normalize_class_mass
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel, train_machine, train_manifold, training
from graphmargin.margin.machine import class_scores, winner
from graphmargin.margin.semi_supervised_training import train_semi_supervised
from graphmargin.selection import cut, rivals
from graphmargin.selection.choice import choose, smoothed_shares
from graphmargin.selection.folds import label_folds
from graphmargin.selection.rivals import harmonic_trials, manifold_trials, semi_supervised_trials


def classes_of_digits(n_classes, n=80, per_class=4):
    """Rows, a few labels, all classes, and the graph."""
    X, y = load_digits()
    rows = np.random.default_rng(0).permutation(np.flatnonzero(y < n_classes))[:n]
    X, y = X[rows], y[rows]
    return X, mask_labels(y, per_class=per_class, random_state=1), y, knn_graph(X)


DIGITS = {n_classes: classes_of_digits(n_classes) for n_classes in (2, 3)}
KERNELS = {
    "linear": Kernel("linear", width=40.0),
    "cubic": Kernel("cubic", width=60.0),
    "rbf": Kernel("rbf", width=30.0),
}
two_and_three = pytest.mark.parametrize("n_classes", [2, 3])
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())

MASSES = [{"gamma_g": gamma_g, "class_mass_normalization": False} for gamma_g in (1.0, 0.0, 1e-3)]
PENALTIES = [{"gamma_u": gamma_u, "C": C} for gamma_u in (0.0, 0.01) for C in (0.5, 10.0)]
HAT_LOSSES = [{"gamma_u": gamma_u, "C": 1.0} for gamma_u in (0.0, 0.05, 0.3)]


def problem_of(n_classes, n_splits=3):
    """Rows, labels, graph and folds."""
    X, few, _, W = DIGITS[n_classes]
    labels = encode_labels(few)
    return X, labels, W, label_folds(labels.codes, n_splits, random_state=0)


def hidden(codes, fold):
    codes = codes.copy()
    codes[fold] = -1
    return codes


def assert_consistent(trials, labels, folds, n_columns):
    """Check all that does not depend on the method."""
    m, n_classes = len(trials.params), len(labels.classes)
    np.testing.assert_array_equal(trials.given, labels.codes[np.concatenate(folds)])
    np.testing.assert_array_equal(trials.fold, np.repeat([0, 1, 2], [len(f) for f in folds]))
    assert trials.held_out.shape == (m, len(trials.given), n_columns)
    assert trials.shares.shape == (m, n_classes)
    np.testing.assert_allclose(trials.shares.sum(axis=1), 1.0)
    assert (trials.shares > 0).all()
    assert (trials.scales > 0).all()
    assert trials.supervised.shape == (m,)
    scores = trials.decide(trials.held_out[0])
    assert scores.shape == ((len(scores),) if n_classes == 2 else (len(scores), n_classes))


def assert_same(one, other, atol=0.0):
    for name in ("given", "fold", "held_out", "scales", "shares", "supervised"):
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=0, atol=atol)


@two_and_three
def test_harmonic_trials_are_solutions_without_the_labels(n_classes):
    _, labels, W, folds = problem_of(n_classes)
    priors = tuple(np.arange(1, n_classes + 1) / 10)
    candidates = [*MASSES, {"gamma_g": 0.01, "class_mass_normalization": priors}]
    found = harmonic_trials(harmonic_problem(W, labels.codes), candidates, folds)
    trials = found.trials
    assert_consistent(trials, labels, folds, n_classes)
    assert not trials.supervised.any()
    unlabeled = labels.codes == -1
    for i, candidate in enumerate(candidates):

        def solve(codes, candidate=candidate):
            solution = harmonic_solution(W, codes, gamma_g=candidate["gamma_g"])
            if candidate["class_mass_normalization"]:
                return normalize_class_mass(solution, priors)
            return solution

        complete = solve(labels.codes)
        np.testing.assert_allclose(trials.scales[i], complete.confidence[unlabeled].mean(), 1e-6)
        shares = smoothed_shares(complete.codes[unlabeled], n_classes)
        np.testing.assert_array_equal(trials.shares[i], shares)
        masses = [solve(hidden(labels.codes, fold)).class_mass[fold] for fold in folds]
        expected = np.concatenate(masses)
        np.testing.assert_allclose(trials.held_out[i] * trials.scales[i], expected, atol=1e-6)
        if n_classes == 2:
            ell = (expected[:, 1] - expected[:, 0]) / trials.scales[i]
            np.testing.assert_allclose(trials.decide(trials.held_out[i]), ell, atol=1e-5)
        plain = harmonic_solution(W, labels.codes, gamma_g=candidate["gamma_g"])
        known = found.solutions[candidate["gamma_g"]].class_mass
        np.testing.assert_allclose(known, plain.class_mass, atol=1e-6)


def test_masses_of_all_sizes_have_a_say():
    """A walk that hardly ever gets anywhere still tells the nearest class."""
    _, labels, W, folds = problem_of(2)
    candidates = [{**MASSES[0], "gamma_g": gamma_g} for gamma_g in (1e-3, 1e5)]
    trials = harmonic_trials(harmonic_problem(W, labels.codes), candidates, folds).trials
    assert trials.scales[1] < 1e-4 * trials.scales[0]
    size = np.abs(trials.held_out).max(axis=(1, 2))
    assert size.min() > 0.1 * size.max()
    assert choose(trials, np.bincount(labels.codes[labels.labeled])).error == 0


@two_and_three
def test_harmonic_validation_is_a_step_into_the_graph(n_classes):
    X, labels, W, folds = problem_of(n_classes)
    new = np.arange(20)
    weights = sparse.csr_array(np.exp(-(((X[new][:, None] - X) ** 2).sum(axis=2)) / 800))
    moves, codes = attach_by_weights(weights).moves, DIGITS[n_classes][2][new]
    trials = harmonic_trials(
        harmonic_problem(W, labels.codes), MASSES, folds, validation=(moves, codes)
    ).trials
    np.testing.assert_array_equal(trials.given, codes)
    assert not trials.fold.any()
    for i, candidate in enumerate(MASSES):
        mass = harmonic_solution(W, labels.codes, gamma_g=candidate["gamma_g"]).class_mass
        columns = trials.held_out[i] * trials.scales[i]
        np.testing.assert_allclose(columns, moves @ mass, atol=1e-6)


@pytest.mark.parametrize("y", [[0, 0, 1, 0, 1, 1], [0, 0, 1, -1, -1, -1]], ids=str)
def test_without_an_unlabeled_vertex_that_is_reached_the_scale_is_one(y):
    triangles = np.kron(np.eye(2), np.ones((3, 3)) - np.eye(3))
    trials = harmonic_trials(harmonic_problem(triangles, y), MASSES, [np.array([0])]).trials
    np.testing.assert_array_equal(trials.scales, 1.0)
    np.testing.assert_allclose(
        trials.held_out[:, 0], [[1 / 3] * 2, [0.5] * 2, [0.4998] * 2], atol=1e-4
    )


@two_and_three
@every_kernel
def test_manifold_trials_are_machines_without_the_labels(n_classes, kernel):
    X, labels, W, folds = problem_of(n_classes)
    # All rows as landmarks: which rows are labeled makes no difference.
    options = {"n_landmarks": len(X), "random_state": 0}
    found = manifold_trials(X, labels, kernel, W, PENALTIES, folds, **options)
    trials = found.trials
    assert_consistent(trials, labels, folds, n_classes * (n_classes - 1) // 2)
    np.testing.assert_array_equal(trials.supervised, [p["gamma_u"] == 0 for p in PENALTIES])
    gamma_us = [0.0, 0.01]
    for C in (0.5, 10.0):
        # From all labels, then from those of every fold; a machine for each gamma_u.
        models = [
            train_manifold(
                *(X, hidden(labels.codes, fold), kernel, W),
                C=C,
                gamma_us=gamma_us,
                approximation="nystroem",
                **options,
            )
            for fold in ([], *folds)
        ]
        for which, gamma_u in enumerate(gamma_us):
            i = PENALTIES.index({"gamma_u": gamma_u, "C": C})
            f = models[0][which].pairwise(X)
            seen = np.abs(f[~labels.labeled])
            np.testing.assert_allclose(trials.scales[i], seen.mean(), rtol=1e-4)
            np.testing.assert_allclose(found.machines[i].pairwise(X), f, atol=1e-4)
            assigned = winner(class_scores(f, n_classes))[~labels.labeled]
            np.testing.assert_array_equal(trials.shares[i], smoothed_shares(assigned, n_classes))
            expected = [
                some[which].pairwise(X[fold]) for some, fold in zip(models[1:], folds, strict=True)
            ]
            columns = trials.held_out[i] * trials.scales[i]
            np.testing.assert_allclose(columns, np.concatenate(expected), atol=1e-4)


@pytest.mark.parametrize("option", [{"normalized": True}, {"power": 2}, {"fit_intercept": False}])
def test_manifold_options_are_those_of_training(option):
    X, labels, W, folds = problem_of(2)
    kernel, (gamma_u, C) = KERNELS["linear"], (0.01, 1.0)
    candidates = [{"gamma_u": gamma_u, "C": C}]
    trials = manifold_trials(X, labels, kernel, W, candidates, folds, **option).trials
    expected = [
        train_manifold(X, hidden(labels.codes, fold), kernel, W, C=C, gamma_us=[gamma_u], **option)[
            0
        ].pairwise(X[fold])
        for fold in folds
    ]
    columns = trials.held_out[0] * trials.scales[0]
    np.testing.assert_allclose(columns, np.concatenate(expected), atol=1e-4)


@two_and_three
def test_manifold_trials_on_a_kernel_matrix(n_classes):
    X, labels, W, folds = problem_of(n_classes)
    K = KERNELS["rbf"](X, X)
    of_rows = manifold_trials(X, labels, KERNELS["rbf"], W, PENALTIES, folds)
    for matrix in (K, sparse.csr_array(K)):
        found = manifold_trials(matrix, labels, Kernel("precomputed"), W, PENALTIES, folds)
        assert_same(found.trials, of_rows.trials, atol=1e-4)
    new = X[:7] + 1.0
    codes = np.zeros(7, dtype=np.int64)
    matrix = manifold_trials(
        K,
        labels,
        Kernel("precomputed"),
        W,
        PENALTIES,
        folds,
        validation=(KERNELS["rbf"](new, X), codes),
    )
    rows = manifold_trials(X, labels, KERNELS["rbf"], W, PENALTIES, folds, validation=(new, codes))
    assert_same(matrix.trials, rows.trials, atol=1e-4)
    assert rows.trials.held_out.shape[1] == 7


def test_supervised_candidates_do_not_ask_the_graph():
    X, labels, W, folds = problem_of(2)
    labeled = np.flatnonzero(labels.labeled)
    for trials in (
        manifold_trials(X, labels, KERNELS["linear"], W, PENALTIES, folds).trials,
        semi_supervised_trials(X, labels, KERNELS["linear"], PENALTIES, folds),
    ):
        for i in np.flatnonzero(trials.supervised):
            for number, fold in enumerate(folds):
                kept = np.setdiff1d(labeled, fold)
                machine = train_machine(
                    X[kept], labels.codes[kept], KERNELS["linear"], C=PENALTIES[i]["C"]
                )
                columns = trials.held_out[i, trials.fold == number] * trials.scales[i]
                np.testing.assert_allclose(columns, machine.pairwise(X[fold]), atol=5e-3)


@two_and_three
@pytest.mark.parametrize(("kind", "with_prior"), [("linear", False), ("rbf", True)])
def test_semi_supervised_trials_are_machines_without_the_labels(n_classes, kind, with_prior):
    X, labels, _, folds = problem_of(n_classes)
    kernel = KERNELS[kind]
    prior = np.full(n_classes, 1 / n_classes) if with_prior else None
    trials = semi_supervised_trials(X, labels, kernel, HAT_LOSSES, folds, class_prior=prior)
    assert_consistent(trials, labels, folds, n_classes * (n_classes - 1) // 2)
    np.testing.assert_array_equal(trials.supervised, [True, False, False])
    for i, candidate in enumerate(HAT_LOSSES):
        expected = [
            train_semi_supervised(
                X, hidden(labels.codes, fold), kernel, class_prior=prior, **candidate
            )[0].pairwise(X[fold])
            for fold in folds
        ]
        columns = trials.held_out[i] * trials.scales[i]
        np.testing.assert_allclose(columns, np.concatenate(expected), atol=1e-3)


def test_semi_supervised_trials_on_a_kernel_matrix_and_on_new_rows(monkeypatch):
    monkeypatch.setattr(rivals, "MAX_HAT_LOSSES", 40)
    X, labels, _, folds = problem_of(2)
    kernel, precomputed = KERNELS["rbf"], Kernel("precomputed")
    K = kernel(X, X)
    of_rows = semi_supervised_trials(X, labels, kernel, HAT_LOSSES, folds, random_state=0)
    of_matrix = semi_supervised_trials(K, labels, precomputed, HAT_LOSSES, folds, random_state=0)
    assert_same(of_rows, of_matrix, atol=1e-3)
    new, codes = X[:7] + 1.0, np.zeros(7, dtype=np.int64)
    of_rows = semi_supervised_trials(
        X, labels, kernel, HAT_LOSSES, folds, validation=(new, codes), random_state=0
    )
    of_matrix = semi_supervised_trials(
        *(K, labels, precomputed, HAT_LOSSES, folds),
        validation=(kernel(new, X), codes),
        random_state=0,
    )
    assert_same(of_rows, of_matrix, atol=1e-3)
    assert of_rows.held_out.shape == (3, 7, 1)
    assert not of_rows.fold.any()


def test_hat_losses_of_a_sample_count_for_all_rows(monkeypatch):
    """One of ten equal rows has ten times the loss."""
    X, few, _, _ = DIGITS[2]
    labeled, unlabeled = np.flatnonzero(few >= 0), np.flatnonzero(few < 0)[:1]
    rows = np.concatenate([labeled, np.repeat(unlabeled, 10)])

    def scales(rows, gamma_u):
        candidates = [{"gamma_u": gamma_u, "C": 1.0}]
        labels = encode_labels(few[rows])
        return semi_supervised_trials(X[rows], labels, KERNELS["linear"], candidates, []).scales

    monkeypatch.setattr(rivals, "MAX_HAT_LOSSES", 1)
    once = scales(rows[: len(labeled) + 1], 3.0)
    np.testing.assert_allclose(scales(rows, 0.3), once, rtol=1e-6)
    assert abs(scales(rows[: len(labeled) + 1], 0.3) - once) > 1e-3


def all_trials(X, labels, W, folds, **options):
    """Return the trials of all three on the lattices or digits."""
    seed = {"random_state": options.pop("random_state", 0)}
    kernel = KERNELS["rbf"]
    return (
        harmonic_trials(harmonic_problem(W, labels.codes), MASSES, folds, **options).trials,
        manifold_trials(X, labels, kernel, W, PENALTIES, folds, **seed, **options).trials,
        semi_supervised_trials(X, labels, kernel, HAT_LOSSES, folds, **seed, **options),
    )


def test_trials_depend_on_the_seed_and_not_on_threads(monkeypatch):
    monkeypatch.setattr(rivals, "MAX_HAT_LOSSES", 40)
    monkeypatch.setattr(cut, "MAX_UNLABELED", 60)
    monkeypatch.setattr(cut, "MAX_LABELED", 9)
    monkeypatch.setattr(cut, "LABELED_A_CLASS", 0)
    X, labels, W, folds = problem_of(3)
    first, second, other = (
        all_trials(X, labels, W, folds, n_jobs=n_jobs, random_state=seed)
        for n_jobs, seed in ((1, 0), (3, 0), (1, 1))
    )
    for one, same in zip(first, second, strict=True):
        assert_same(one, same)
    for one, another in zip(first[1:], other[1:], strict=True):
        assert one.held_out.shape == another.held_out.shape == (len(one.params), 9, 3)
        assert not np.allclose(one.scales, another.scales)


def test_progress_is_reported():
    X, labels, W, folds = problem_of(2)
    news = []
    all_trials(X, labels, W, folds, n_jobs=1, progress=lambda share, _: news.append(share))
    assert news.count(1.0) == 2
    assert news[0] == 0.0


def test_nothing_to_hide():
    X, y, _, W = make_lattices()
    labels = encode_labels(y)
    for trials in all_trials(X, labels, W, []):
        m = len(trials.params)
        assert trials.held_out.shape == (m, 0, 2 if "gamma_g" in trials.params[0] else 1)
        assert trials.given.shape == trials.fold.shape == (0,)
        assert trials.decide(trials.held_out[0]).shape == (0,)
        weights = choose(trials, np.bincount(labels.codes[labels.labeled])).weights
        assert weights.sum() == pytest.approx(1.0)


@two_and_three
def test_the_rule_takes_the_trials(n_classes):
    X, labels, W, folds = problem_of(n_classes)
    counts = np.bincount(labels.codes[labels.labeled])
    for trials in all_trials(X, labels, W, folds):
        choice = choose(trials, counts)
        assert choice.error < 0.3
        assert len(choice.results()["split2_test_score"]) == len(trials.params)
        copy = pickle.loads(pickle.dumps(trials))
        np.testing.assert_array_equal(choose(copy, counts).weights, choice.weights)


def test_machines_that_do_not_converge_are_the_business_of_the_last_fit(monkeypatch):
    X, labels, W, folds = problem_of(2)
    monkeypatch.setattr(training, "MAX_ITERATIONS", 1)
    fit = (KERNELS["linear"], W)
    with pytest.warns(ConvergenceWarning, match="scale the features or lower C"):
        train_manifold(X, labels.codes, *fit, C=10.0, gamma_us=[0.01])
    trials = manifold_trials(X, labels, *fit, PENALTIES, folds).trials  # warnings are errors
    assert np.isfinite(trials.held_out).all()


@pytest.mark.parametrize("gamma_u", [-1.0, np.nan, "auto"])
def test_bad_gamma_u(gamma_u):
    X, labels, W, folds = problem_of(2)
    candidates = [{"gamma_u": gamma_u, "C": 1.0}]
    with pytest.raises(ValueError, match="`gamma_u` must be"):
        manifold_trials(X, labels, KERNELS["linear"], W, candidates, folds)
    with pytest.raises(ValueError, match="`gamma_u` must be"):
        semi_supervised_trials(X, labels, KERNELS["linear"], candidates, folds)


def test_folds_that_a_sample_misses(monkeypatch):
    monkeypatch.setattr(cut, "MAX_LABELED", 4)
    monkeypatch.setattr(cut, "LABELED_A_CLASS", 0)
    X, labels, W, _ = problem_of(2, n_splits=8)
    folds = label_folds(labels.codes, 8, random_state=0)
    trials = manifold_trials(
        X, labels, KERNELS["linear"], W, PENALTIES, folds, random_state=0
    ).trials
    assert trials.held_out.shape[1] == len(trials.given) == len(trials.fold) == 4
    assert len(np.unique(trials.fold)) == 4
