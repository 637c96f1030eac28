"""Max-margin graph cuts: shared work, samples of many rows, and what a blend keeps.

Their trials and blends are compared with separate fits in test_families.py.
"""

import numpy as np
import pytest
from graphmargin.selection import cut_trials, cuts, gamma_path, trial_rows
from graphmargin.selection.choice import choose
from graphmargin.selection.cut_trials import cut_candidates, max_blended, try_cuts
from graphmargin.selection.cuts import blend_cuts, fit_cut
from graphmargin.selection.grids import label_counts
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.trial_rows import sample_rows
from graphmargin.selection.trials import join_trials
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.selection.tasks import (
    CUT,
    RUN,
    TRIAL_ERROR,
    assert_is_weighted_sum,
    clusters,
    folds_of,
    without,
)

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel, class_scores, train_machine
from graphmargin.margin._solvers import feature_training, kernel_training
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.machine import predicted_codes

# Tasks and candidates


def test_tasks_of_one_graph_share_the_problem_and_their_kernels_its_width():
    X, y = clusters()
    trust = np.full(60, 2.0)
    tasks = CUT.tasks(X, y, kernel=["linear", "rbf"], n_neighbors=[4, 5], c_labeled=[np.inf, trust])
    assert len(tasks) == 8
    assert len({id(task.problem) for task in tasks}) == 4, "graphs times trusts"
    width = np.sqrt(2) * X.std(axis=0).mean()
    for task in tasks:
        assert task.kernel.width == pytest.approx(width, rel=1e-12)
        assert task.kernel.kind == task.parameters.list_values["kernel"]
        np.testing.assert_array_equal(task.problem.W.toarray(), task.W.toarray())
        assert task.problem.hard.any() == (task.parameters.c_labeled is not trust)


def test_candidates_are_in_the_order_of_the_lists():
    X, y = clusters()
    (task,) = CUT.tasks(
        X, y, gamma_g=[0.1, np.inf], C=[10.0, 1.0], class_mass_normalization=[True, False]
    )
    assert [tuple(candidate.values()) for candidate in cut_candidates(task)] == [
        *[(0.1, C, priors) for C in (10.0, 1.0) for priors in ((4.0, 4.0), False)],
        *[(np.inf, C, (4.0, 4.0)) for C in (10.0, 1.0)],
    ]


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_and_scales_are_those_of_the_machines_at_a_sample_of_unlabeled_rows(
    monkeypatch, n_classes
):
    X, y = clusters(n_classes)
    monkeypatch.setattr(cut_trials, "MAX_SCALE_ROWS", 20)
    (trials,) = try_cuts(CUT.tasks(X, y), folds_of(y, 4), RUN)
    seen = X[np.flatnonzero(y < 0)[::3]]
    assert len(seen) <= 20
    for i, machine in enumerate(trials.machines):
        K = trials.task.kernel(seen, X[machine.vectors])
        f = K @ machine.coefficients + machine.intercepts
        assert trials.evidence.scales[i] == pytest.approx(np.abs(f).mean())
        units = np.abs(f).mean(axis=0)
        np.testing.assert_allclose(
            trials.evidence.pair_scales[i] * trials.evidence.scales[i], units
        )
        codes = predicted_codes(class_scores(f, n_classes, units))
        expected = (np.bincount(codes, minlength=n_classes) + 1) / (len(seen) + n_classes)
        np.testing.assert_allclose(trials.evidence.shares[i], expected)


# Work that is shared


def test_solutions_are_found_once_for_each_graph(monkeypatch):
    """There are twelve tasks: two graphs, with and without an `eps`, and three kernels."""
    X, y = clusters()
    solved = []

    def count(problem, gammas, folds, **options):
        solved.append((id(problem), tuple(gammas)))
        return solve(problem, gammas, folds, **options)

    solve = gamma_path.fold_solutions
    monkeypatch.setattr(gamma_path, "fold_solutions", count)
    tasks = CUT.tasks(
        X, y, gamma_g=[0.1, np.inf], C=1.0, kernel=["linear", "poly", "rbf"], n_neighbors=[4, 6]
    )
    trials = try_cuts(tasks, folds_of(y, 4), RUN)
    assert len(trials) == 6
    assert len(solved) == 2
    assert {gammas for _, gammas in solved} == {(0.1,)}
    for part in trials:
        same = [other for other in trials if other.task.problem is part.task.problem]
        assert len(same) == 3
        assert all(other.solutions[0.1] is part.solutions[0.1] for other in same)
    monkeypatch.setattr(cuts, "solve_path", None)  # which would fail if it were called
    evidence = join_trials([part.evidence for part in trials])
    blend_cuts(trials, choose(evidence, np.array([4, 4])), RUN)


def test_candidates_that_induce_the_same_labels_share_a_machine_that_is_trained_once(monkeypatch):
    # Two cliques, each with labels of its own: every gamma_g induces the same labels.
    X, y = clusters(n=20)
    same = np.arange(20) % 2
    W = (same[:, None] == same).astype(float) - np.eye(20)
    trained = []

    def count(K, codes, **options):
        trained.append(options["C"])
        return kernel_training.train_on_kernel(K, codes, **options)

    monkeypatch.setattr(cut_trials, "train_on_kernel", count)
    options = {"gamma_g": [0.1, 0.01, np.inf], "C": [1.0, 5.0]}
    tasks = CUT.tasks(X, y, W, loss_weights="equal", **options)
    (trials,) = try_cuts(tasks, folds_of(y, 4), RUN)
    first, second, third, fourth, *_ = trials.machines
    assert first is third
    assert second is fourth
    assert len(trained) == 4 * (1 + 4), "by C, and with or without a walk, in each fold"
    (weighted,) = try_cuts(CUT.tasks(X, y, W, **options), folds_of(y, 4), RUN)
    assert weighted.machines[0] is not weighted.machines[2]


def test_order_of_the_candidates_does_not_matter():
    X, y = clusters(3)
    trials = [
        try_cuts(CUT.tasks(X, y, gamma_g=gammas, C=[5.0, 50.0]), folds_of(y), RUN)[0].evidence
        for gammas in ([0.1, np.inf], [np.inf, 0.1])
    ]
    order = [2, 3, 0, 1]
    np.testing.assert_allclose(
        trials[1].held_out_values[order], trials[0].held_out_values, atol=2 * TRIAL_ERROR
    )
    np.testing.assert_allclose(trials[1].scales[order], trials[0].scales, rtol=TRIAL_ERROR)


# Samples of many rows


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), max_labeled=st.integers(1, 80), max_unlabeled=st.integers(1, 40))
def test_sample_keeps_all_classes_and_represents_all_rows(seed, max_labeled, max_unlabeled):
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1, 0, 1, 2], size=120, p=[0.3, 0.4, 0.2, 0.1])
    codes[:3] = [0, 1, 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(trial_rows, "MAX_LABELED", max_labeled)
        patch.setattr(trial_rows, "MAX_UNLABELED", max_unlabeled)
        patch.setattr(trial_rows, "N_SAMPLED", 10)
        patch.setattr(trial_rows, "N_SAMPLED_PER_CLASS", 5)
        rows, factors = sample_rows(codes, np.random.RandomState(seed % 1000))
    assert (np.diff(rows) > 0).all()
    n_labeled = (codes >= 0).sum()
    assert (codes[rows] >= 0).sum() == min(n_labeled, max(max_labeled, 30))
    n_unlabeled = 120 - n_labeled
    sampled = n_unlabeled if n_unlabeled <= max_unlabeled else min(max_unlabeled, 15)
    assert (codes[rows] < 0).sum() == sampled
    sizes = np.bincount(codes[codes >= 0])
    assert (np.bincount(codes[rows][codes[rows] >= 0]) >= np.minimum(sizes, 10)).all()
    for code in np.unique(codes):
        assert factors[codes[rows] == code].sum() == pytest.approx((codes == code).sum())


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(trial_rows, "MAX_LABELED", 30)
    monkeypatch.setattr(trial_rows, "MAX_UNLABELED", 30)
    monkeypatch.setattr(trial_rows, "N_SAMPLED", 20)
    monkeypatch.setattr(trial_rows, "N_SAMPLED_PER_CLASS", 1)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "precomputed"])
def test_machines_of_a_sample_learn_from_its_rows_alone(precomputed):
    X, y = clusters(3, n=90, n_labeled=15)
    held_out, W, kernel = folds_of(y, 4), knn_graph(X, 6), Kernel("rbf", width=1.2)
    options = {"gamma_g": 0.1, "C": 5.0}
    if precomputed:
        tasks = CUT.tasks(kernel(X, X), y, W, kernel="precomputed", **options)
    else:
        tasks = CUT.tasks(X, y, W, width=1.2, **options)
    (trials,) = try_cuts(tasks, held_out, RUN)
    rows, evidence = trials.rows, trials.evidence
    assert (len(rows), trials.n_rows, trials.has_all_rows) == (50, 90, False)
    assert max_blended([trials]) == 4
    tested = [np.intersect1d(rows, fold) for fold in held_out.folds]
    np.testing.assert_array_equal(evidence.held_out_codes, y[np.concatenate(tested)])
    factors = np.where(y[rows] >= 0, 15 / 10, 45 / 20)
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
    values = evidence.held_out_values[0] * evidence.scales[0]
    np.testing.assert_allclose(values, np.concatenate(expected), atol=TRIAL_ERROR)


@pytest.mark.usefixtures("small_samples")
def test_fold_without_a_row_in_the_sample_tests_nothing():
    X, y = clusters(3, n=90, n_labeled=12)
    held_out = HeldOutLabels(tuple(np.flatnonzero(y >= 0)[:, None]))
    (trials,) = try_cuts(CUT.tasks(X, y), held_out, RUN)
    sampled = np.isin(np.concatenate(held_out.folds), trials.rows)
    assert sampled.sum() == len(trials.evidence.held_out_codes) == 30
    np.testing.assert_array_equal(trials.evidence.fold, np.flatnonzero(sampled))
    results = choose(trials.evidence, label_counts(encode_labels(y))).results()
    assert sum(name.startswith("split") for name in results) == 30


# Degenerate input


def test_vertices_that_no_label_reaches_are_not_learned_from():
    X, y = clusters()
    W = knn_graph(X, 6).toarray()
    lost = np.flatnonzero(y < 0)[:5]
    W[lost] = W[:, lost] = 0
    tasks = CUT.tasks(X, y, W, gamma_g=[0.01])
    trials, choice, fitted = CUT.try_and_choose(tasks, folds_of(y, 4))
    assert not np.isin(lost, trials[0].machines[0].vectors).any()
    assert_is_weighted_sum(CUT, fitted, choice, X, y, W, gamma_g=0.01)
    assert [warning.text[:20] for warning in fitted.warnings] == ["5 of 60 rows are in "]


# The blend: the weighted sum of what candidates are alone


@pytest.mark.parametrize(
    ("few", "n_rows", "form"), [(99, 50, "landmarks"), (99, 120, "kernel"), (5, 50, "kernel")]
)
def test_few_labels_are_learned_by_landmarks_from_fewer_rows_on(monkeypatch, few, n_rows, form):
    monkeypatch.setattr(cuts, "FEW_LABELS", few)
    monkeypatch.setattr(cuts, "MAX_EXACT_INDUCED", n_rows)
    X, y = clusters(3, n=120, n_labeled=12)
    (task,) = CUT.tasks(X, y, gamma_g=0.1, C=1.0)
    (machine,) = fit_cut(task, RUN).predictor.machines
    assert machine.report.form == form
    (task,) = CUT.tasks(X, y, gamma_g=np.inf, C=1.0)  # it learns from the given labels alone
    assert fit_cut(task, RUN).predictor.machines[0].report.form == "kernel"


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({"kernel": ["linear", "rbf"]}, 2),
        ({"kernel": "poly"}, 3),
        ({"n_neighbors": [4, 6], "width": [2.0, "paper"]}, 3),
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
    trials, choice, fitted = CUT.try_and_choose(CUT.tasks(X, y, **parameters), folds_of(y, 4))
    assert not any(part.has_all_rows for part in trials)
    assert len(choice.blended) <= 4
    assert_is_weighted_sum(CUT, fitted, choice, X, y, **parameters)
    is_approximate = fitted.predictor.machines[0].report.form == "landmarks"
    assert is_approximate == ("approximation" in parameters)


@pytest.mark.parametrize("trust", [np.inf, 5.0, np.full(120, 5.0)], ids=["inf", "number", "array"])
def test_after_trials_on_the_graph_of_a_sample_all_rows_are_solved(monkeypatch, trust):
    monkeypatch.setattr(trial_rows, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(trial_rows, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    parameters = {"c_labeled": trust, "kernel": ["rbf", "linear"]}
    trials, choice, fitted = CUT.try_and_choose(CUT.tasks(X, y, **parameters), folds_of(y, 4))
    assert [part.n_rows for part in trials] == [72, 72]
    assert len(choice.trials.held_out_codes) == 12
    assert len(fitted.solution.codes) == len(fitted.codes) == 120
    assert_is_weighted_sum(CUT, fitted, choice, X, y, **parameters)
    # Few edges of a given graph would be left in a sample.
    (given,) = try_cuts(CUT.tasks(X, y, knn_graph(X)), folds_of(y, 4), RUN)
    assert given.n_rows == 120


@pytest.mark.parametrize(
    "parameters",
    [
        {"kernel": ["linear", "poly", "rbf"]},
        {"n_neighbors": [4, 6], "metric": ["euclidean", "cosine"]},
        {"c_labeled": [np.inf, 2.0, np.full(60, 3.0)], "c_unlabeled": [0.0, 0.05]},
        {"gamma_g": np.inf, "C": [0.1, 1.0, 10.0]},
    ],
    ids=["kernels", "graphs", "soft-labels", "supervised"],
)
def test_graph_and_solution_are_those_of_the_heaviest_candidate_that_uses_the_graph(parameters):
    X, y = clusters()
    parameters = {"gamma_g": [0.1, 0.01, np.inf], **parameters}
    trials, choice, fitted = CUT.try_and_choose(CUT.tasks(X + 1, y, **parameters), folds_of(y, 4))
    used = np.where(choice.trials.supervised, -1.0, choice.weights)
    best = int(used.argmax()) if used.max() > 0 else choice.best
    places = [part for part in trials for _ in part.machines]
    assert fitted.task is places[best].task
    candidate = {**parameters, **choice.trials.params[best]}
    expected = CUT.fit_one(X + 1, y, **candidate)
    assert fitted.solution.gamma_g == candidate["gamma_g"]
    np.testing.assert_allclose(fitted.solution.class_mass, expected.solution.class_mass, atol=1e-7)
    np.testing.assert_array_equal(fitted.training_mask, expected.training_mask)
