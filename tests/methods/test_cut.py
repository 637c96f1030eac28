"""Max-margin graph cuts: shared machines, samples of many rows, and the details of a blend.

Their trials and blends are compared with separate fits in test_machines.py.
"""

import numpy as np
import pytest

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from graphmargin.margin import Kernel, train_machine
from graphmargin.margin._solvers import feature_training, kernel_training
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.machine import predicted_codes
from graphmargin.methods import cut, machines
from graphmargin.search import data as data_module
from graphmargin.search.held_out import HeldOutLabels
from tests.methods.problems import TRIAL_ERROR, assert_is_weighted_sum, fit_chosen
from tests.search.problems import (
    NOTHING,
    choose_by,
    clusters,
    data_of,
    fit_one,
    folds_of,
    member_of,
    without,
)


def try_cuts(X, y, held_out, W=None, **parameters):
    """Return the trials of a cut, and the rows that they were made on."""
    data = data_of(X, y, held_out, W)
    choice = choose_by("cut", data, **parameters)
    return choice.trials, data.trial(choice.member.method.walk)


# Candidates


def test_candidates_are_in_the_order_of_the_lists():
    X, y = clusters()
    data = data_of(X, y, folds_of(y))
    lists = {"gamma_g": [0.1, np.inf], "C": [10.0, 1.0], "class_mass_normalization": [True, False]}
    candidates = member_of("cut", data, **lists).method.candidates(data)
    assert [tuple(candidate.values()) for candidate in candidates] == [
        *[(0.1, C, shares) for C in (10.0, 1.0) for shares in ((4.0, 4.0), False)],
        *[(np.inf, C, (4.0, 4.0)) for C in (10.0, 1.0)],
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_and_scales_are_those_of_the_machines_at_a_sample_of_unlabeled_rows(
    monkeypatch, n_classes
):
    X, y = clusters(n_classes)
    monkeypatch.setattr(machines, "MAX_SCALE_ROWS", 20)
    data = data_of(X, y, folds_of(y, 4))
    choice = choose_by("cut", data)
    method, trials = choice.member.method, choice.trials
    seen = X[np.flatnonzero(y < 0)[::3]]
    assert len(seen) <= 20
    for i, machine in enumerate(trials.details.machines):
        K = data.kernel(method.kernel, method.walk.graph)(seen, X[machine.vectors])
        f = K @ machine.coefficients + machine.intercepts
        assert trials.scales[i] == pytest.approx(np.abs(f).mean())
        units = np.abs(f).mean(axis=0)
        np.testing.assert_allclose(trials.pair_scales[i] * trials.scales[i], units)
        codes = predicted_codes(class_scores(f, n_classes, units))
        expected = (np.bincount(codes, minlength=n_classes) + 1) / (len(seen) + n_classes)
        np.testing.assert_allclose(trials.shares[i], expected)


# Work that is shared


def test_candidates_that_induce_the_same_labels_share_a_machine_that_is_trained_once(monkeypatch):
    # Two cliques, each with labels of its own: every gamma_g induces the same labels.
    X, y = clusters(n=20)
    same = np.arange(20) % 2
    W = (same[:, None] == same).astype(float) - np.eye(20)
    trained = []

    def count(K, codes, **options):
        trained.append(options["C"])
        return kernel_training.train_on_kernel(K, codes, **options)

    monkeypatch.setattr(machines, "train_on_kernel", count)
    options = {"gamma_g": [0.1, 0.01, np.inf], "C": [1.0, 5.0]}
    trials, _ = try_cuts(X, y, folds_of(y, 4), W, loss_weights="equal", **options)
    first, second, third, fourth, *_ = trials.details.machines
    assert first is third
    assert second is fourth
    assert len(trained) == 4 * (1 + 4), "by C, and with or without a walk, in each fold"
    weighted, _ = try_cuts(X, y, folds_of(y, 4), W, **options)
    assert weighted.details.machines[0] is not weighted.details.machines[2]


def test_order_of_the_candidates_does_not_matter():
    X, y = clusters(3)
    first, second = (
        try_cuts(X, y, folds_of(y), gamma_g=gammas, C=[5.0, 50.0])[0]
        for gammas in ([0.1, np.inf], [np.inf, 0.1])
    )
    order = [2, 3, 0, 1]
    np.testing.assert_allclose(
        second.held_out_values[order], first.held_out_values, atol=2 * TRIAL_ERROR
    )
    np.testing.assert_allclose(second.scales[order], first.scales, rtol=TRIAL_ERROR)


# Samples of many rows


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(data_module, "MAX_LABELED", 30)
    monkeypatch.setattr(data_module, "MAX_UNLABELED", 30)
    monkeypatch.setattr(data_module, "N_SAMPLED", 20)
    monkeypatch.setattr(data_module, "N_SAMPLED_PER_CLASS", 1)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "precomputed"])
def test_machines_of_a_sample_learn_from_its_rows_alone(precomputed):
    X, y = clusters(3, n=90, n_labeled=15)
    held_out, W, kernel = folds_of(y, 4), knn_graph(X, 6), Kernel("rbf", width=1.2)
    options = {"gamma_g": 0.1, "C": [5.0]}
    if precomputed:
        trials, trial = try_cuts(kernel(X, X), y, held_out, W, kernel="precomputed", **options)
    else:
        trials, trial = try_cuts(X, y, held_out, W, width=1.2, **options)
    rows = trial.learned
    assert (len(rows), len(trial.numbers), trials.details.has_all_rows) == (50, 90, False)
    assert trials.max_blended == 4
    tested = [np.intersect1d(rows, fold) for fold in held_out.folds]
    np.testing.assert_array_equal(trials.held_out_codes, y[np.concatenate(tested)])
    np.testing.assert_array_equal(trials.held_out_rows, np.concatenate(tested))
    factors = np.where(y[rows] >= 0, 15 / 10, 45 / 20)
    np.testing.assert_allclose(trial.factors, factors)
    expected = []
    for fold, places in zip(held_out.folds, tested, strict=True):
        induced = induced_labels(harmonic_solution(W, without(y, fold), gamma_g=0.1))
        used = induced.mask[rows]
        machine = train_machine(
            X[rows[used]],
            induced.codes[rows[used]],
            kernel,
            C=5.0,
            sample_weight=(induced.weights[rows] * factors)[used],
            approximation="none",
        )
        expected.append(machine.pairwise(X[places]))
    values = trials.held_out_values[0] * trials.scales[0]
    np.testing.assert_allclose(values, np.concatenate(expected), atol=TRIAL_ERROR)


@pytest.mark.usefixtures("small_samples")
def test_fold_without_a_row_in_the_sample_tests_nothing():
    X, y = clusters(3, n=90, n_labeled=12)
    held_out = HeldOutLabels(tuple(np.flatnonzero(y >= 0)[:, None]))
    data = data_of(X, y, held_out)
    choice = choose_by("cut", data)
    learned = data.trial(choice.member.method.walk).learned
    sampled = np.isin(np.concatenate(held_out.folds), learned)
    assert sampled.sum() == len(choice.trials.held_out_codes) == 30
    np.testing.assert_array_equal(choice.trials.fold, np.flatnonzero(sampled))
    assert sum(name.startswith("split") for name in choice.results()) == 30


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({"kernel": "linear"}, 2),
        ({"kernel": "poly"}, 3),
        ({"n_neighbors": 4, "width": 2.0}, 3),
        ({"approximation": "nystroem"}, 2),
    ],
    ids=str,
)
def test_after_trials_on_a_sample_machines_are_trained_on_all_rows(
    monkeypatch, parameters, n_classes
):
    monkeypatch.setattr(feature_training, "RELATIVE_GAP", 1e-5)
    X, y = clusters(n_classes, n=120, n_labeled=14)
    parameters = {"gamma_g": [0.1, np.inf], "C": [1.0, 10.0], **parameters}
    fitted = fit_chosen("cut", X, y, folds_of(y, 4), **parameters)
    assert not fitted.choice.trials.details.has_all_rows
    assert len(fitted.choice.blended) <= 4
    assert_is_weighted_sum("cut", fitted, X, y, **parameters)
    is_approximate = fitted.predictor.part.machine.report.form == "landmarks"
    assert is_approximate == ("approximation" in parameters)


@pytest.mark.parametrize("trust", [np.inf, 5.0, np.full(120, 5.0)], ids=["inf", "number", "array"])
def test_after_trials_on_the_graph_of_a_sample_all_rows_are_solved(monkeypatch, trust):
    monkeypatch.setattr(data_module, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(data_module, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    fitted = fit_chosen("cut", X, y, folds_of(y, 4), c_labeled=trust)
    assert len(fitted.choice.trials.held_out_codes) == 12
    assert len(fitted.members["cut"].details.solution.codes) == len(fitted.codes) == 120
    assert_is_weighted_sum("cut", fitted, X, y, c_labeled=trust)


# Class probabilities of the graph


def test_trials_of_three_classes_have_the_probabilities_of_the_graph():
    X, y = clusters(3)
    held_out = folds_of(y)
    trials, _ = try_cuts(X, y, held_out, gamma_g=[0.1, np.inf, 1.0])
    assert trials.graph_distributions[1] is None, "which labels nothing"
    for i, gamma_g in ((0, 0.1), (2, 1.0)):
        expected = [
            harmonic_solution(knn_graph(X), without(y, fold), gamma_g=gamma_g).label_distributions[
                fold
            ]
            for fold in held_out.folds
        ]
        np.testing.assert_allclose(
            trials.graph_distributions[i], np.concatenate(expected), atol=1e-6
        )


@pytest.mark.parametrize("case", ["two classes", "given graph", "many rows", "nothing held out"])
def test_graph_has_no_say_where_it_does_not_help_or_has_no_new_rows(monkeypatch, case):
    X, y = clusters(2 if case == "two classes" else 3)
    if case == "many rows":
        monkeypatch.setattr(cut, "MAX_GRAPH_ROWS", 59)
    W = knn_graph(X) if case == "given graph" else None
    held_out = NOTHING if case == "nothing held out" else folds_of(y)
    fitted = fit_chosen("cut", X, y, held_out, W)
    assert fitted.choice.trials.graph_distributions == ()
    assert fitted.predictor.part.walk is None


def test_blend_adds_the_mean_probabilities_of_its_graphs():
    """The weight of the graph is that of the held-out labels, and new rows are attached to it."""
    X, y = clusters(3, n=90, n_labeled=8, seed=3)
    X[:, 1] *= 5  # a kernel that is too wide
    fitted = fit_chosen("cut", X, y, folds_of(y), gamma_g=[0.1, 0.01], C=1e-3)
    choice, part = fitted.choice, fitted.predictor.part
    assert part.calibration.graph_weight == choice.calibration.graph_weight > 0
    P = sum(
        choice.weights[i] * harmonic_solution(knn_graph(X), y, gamma_g=gamma_g).label_distributions
        for i, gamma_g in enumerate((0.1, 0.01))
    )
    f = class_scores(part.machine.pairwise(X), 3, part.calibration.pair_scales)
    scores = f + part.calibration.graph_weight * np.log(np.maximum(P, 1e-6))
    expected = part.calibration.probabilities(scores)
    np.testing.assert_allclose(fitted.label_distributions, expected, atol=1e-6)
    assert_is_weighted_sum("cut", fitted, X, y, gamma_g=[0.1, 0.01], C=1e-3)


# The fit


def test_vertices_that_no_label_reaches_are_not_learned_from():
    X, y = clusters()
    W = knn_graph(X, 6).toarray()
    lost = np.flatnonzero(y < 0)[:5]
    W[lost] = W[:, lost] = 0
    fitted = fit_chosen("cut", X, y, folds_of(y, 4), W, gamma_g=[0.01])
    assert not np.isin(lost, fitted.choice.trials.details.machines[0].vectors).any()
    assert_is_weighted_sum("cut", fitted, X, y, W, gamma_g=0.01)
    assert [warning.text[:20] for warning in fitted.warnings] == ["5 of 60 rows are in "]


@pytest.mark.parametrize(
    ("few", "n_rows", "form"), [(99, 50, "landmarks"), (99, 120, "kernel"), (5, 50, "kernel")]
)
def test_few_labels_are_learned_by_landmarks_from_fewer_rows_on(monkeypatch, few, n_rows, form):
    monkeypatch.setattr(machines, "FEW_LABELED", few)
    monkeypatch.setattr(machines, "MAX_EXACT_INDUCED", n_rows)
    X, y = clusters(3, n=120, n_labeled=12)
    by_graph = fit_one("cut", X, y, gamma_g=0.1, C=1.0)
    assert by_graph.predictor.part.machine.report.form == form
    given = fit_one("cut", X, y, gamma_g=np.inf, C=1.0)  # it learns from the given labels alone
    assert given.predictor.part.machine.report.form == "kernel"


def test_fixed_cut_learns_the_induced_labels():
    X, y = clusters(3)
    fitted = fit_one("cut", X, y, gamma_g=0.1, C=5.0, width=1.2, eps=0.3)
    solution = harmonic_solution(knn_graph(X, width=1.2), y, gamma_g=0.1)
    induced = induced_labels(solution, eps=0.3)
    rows, details = induced.mask, fitted.members["cut"].details
    np.testing.assert_array_equal(details.training_mask, rows)
    assert 0 < rows.sum() < 60
    machine = train_machine(
        X[rows],
        induced.codes[rows],
        Kernel("rbf", width=1.2),
        C=5.0,
        sample_weight=induced.weights[rows],
    )
    f = fitted.predictor.part.machine.pairwise(X)
    np.testing.assert_allclose(f, machine.pairwise(X), atol=1e-3)
    np.testing.assert_allclose(fitted.label_distributions, solution.label_distributions, atol=1e-9)
    np.testing.assert_array_equal(fitted.codes, solution.codes)


def test_soft_solution_without_a_label_of_some_class_keeps_the_given_ones():
    W = np.ones((6, 6)) - np.eye(6)
    y = np.array([0, 0, 0, 0, 1, -1])
    X = np.arange(6.0)[:, None]
    fitted = fit_one("cut", X, y, W, gamma_g=0.1, C=1.0, c_labeled=0.01)
    assert [warning.text[:40] for warning in fitted.warnings] == [
        "the soft solution induces no label of so"
    ]
    np.testing.assert_array_equal(fitted.codes[:5], y[:5])


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": "linear"},
        {"metric": "cosine", "n_neighbors": 4},
        {"c_labeled": np.full(60, 3.0), "c_unlabeled": 0.05},
        {"gamma_g": np.inf, "C": [0.1, 1.0, 10.0]},
    ],
    ids=["kernel", "graph", "soft-labels", "supervised"],
)
def test_details_are_those_of_the_heaviest_candidate_that_uses_the_graph(parameters):
    X, y = clusters()
    parameters = {"gamma_g": [0.1, 0.01, np.inf], **parameters}
    fitted = fit_chosen("cut", X + 1, y, folds_of(y, 4), **parameters)
    choice, details = fitted.choice, fitted.members["cut"].details
    used = np.where(choice.trials.supervised, -1.0, choice.weights)
    best = int(used.argmax()) if used.max() > 0 else choice.best
    candidate = {**parameters, **choice.trials.params[best]}
    expected = fit_one("cut", X + 1, y, **candidate).members["cut"].details
    assert details.solution.gamma_g == candidate["gamma_g"]
    np.testing.assert_allclose(details.solution.class_mass, expected.solution.class_mass, atol=1e-7)
    np.testing.assert_array_equal(details.training_mask, expected.training_mask)
    np.testing.assert_array_equal(details.W.toarray(), expected.W.toarray())
    assert details.recall == 1.0
    assert (details.gamma_path is None, expected.gamma_path is None) == (False, True)
