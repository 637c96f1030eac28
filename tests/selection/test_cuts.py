"""Max-margin graph cuts: tasks, candidates, trials and blends against machines trained alone."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel, train_machine, training
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.machine import class_scores, winner
from graphmargin.selection import cut_trials, cuts, gamma_path
from graphmargin.selection.choice import choose
from graphmargin.selection.cut_trials import (
    cut_candidates,
    max_blended,
    sample_rows,
    try_cuts,
)
from graphmargin.selection.cuts import blend_cuts, fit_cut, fit_supervised
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import c_grid, gamma_g_grid, label_counts
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.trials import join
from tests.selection.tasks import (
    RUN,
    assert_consistent,
    assert_same_trials,
    clusters,
    folds_of,
    laplace_kernel,
    tasks_of_cuts,
    tasks_of_supervised,
    without,
)

TRIAL_ERROR = 1e-2
"""Error of f relative to its size, for machines that violate optimality by up to 1e-3."""
NOTHING = HeldOutLabels(())


def alone(X, y, W, kernel, candidate, eps=1e-6, loss_weights="confidence"):
    """Return f of a candidate, trained without the help of `selection`, as a function of rows."""
    if np.isinf(candidate["gamma_g"]):
        rows = np.flatnonzero(y >= 0)
        codes, weights = y[rows], None
    else:
        solution = harmonic_solution(W, y, gamma_g=candidate["gamma_g"])
        if candidate["class_mass_normalization"] is not False:
            solution = normalize_class_mass(solution, candidate["class_mass_normalization"])
        induced = induced_labels(solution, eps=eps, loss_weights=loss_weights)
        rows = np.flatnonzero(induced.mask)
        codes, weights = induced.codes[rows], induced.weights[rows]
    points = X[rows][:, rows] if kernel.kind == "precomputed" else X[rows]
    machine = train_machine(
        points, codes, kernel, C=candidate["C"], sample_weight=weights, approximation="none"
    )
    if kernel.kind == "precomputed":
        return lambda new: machine.pairwise(new[:, rows])
    return machine.pairwise


def assert_trials_are_separate_fits(trials, y, held_out, **options):
    """Compare a machine for each candidate and fold with those of the trials."""
    task, evidence = trials.task, trials.evidence
    X, W = task.X, task.W
    for i, candidate in enumerate(evidence.params):
        f = alone(X, y, W, task.kernel, candidate, **options)(X)
        assert evidence.scales[i] == pytest.approx(np.abs(f[y < 0]).mean(), rel=TRIAL_ERROR)
        expected = [
            alone(X, without(y, fold), W, task.kernel, candidate, **options)(X[fold])
            for fold in held_out.folds
        ]
        np.testing.assert_allclose(
            evidence.held_out_values[i] * evidence.scales[i],
            np.vstack(expected),
            atol=TRIAL_ERROR * np.abs(f).max(),
        )


# Tasks and candidates


def test_tasks_of_one_graph_share_the_problem_and_their_kernels_its_width():
    X, y = clusters()
    trust = np.full(60, 2.0)
    tasks = tasks_of_cuts(
        X, y, kernel=["linear", "rbf"], n_neighbors=[4, 5], c_labeled=[np.inf, trust]
    )
    assert len(tasks) == 8
    assert len({id(task.problem) for task in tasks}) == 4, "graphs times trusts"
    width = np.sqrt(2) * X.std(axis=0).mean()
    for task in tasks:
        assert task.kernel.width == pytest.approx(width, rel=1e-12)
        assert task.kernel.kind == task.parameters.listed["kernel"]
        np.testing.assert_array_equal(task.problem.W.toarray(), task.W.toarray())
        assert task.problem.hard.any() == (task.parameters.c_labeled is not trust)


@pytest.mark.parametrize(
    "options", [{"width": "binary"}, {"width": "self-tuning"}, {"metric": "cosine"}], ids=str
)
def test_edges_of_another_width_leave_the_kernel_that_of_the_paper(options):
    X, y = clusters()
    (task,) = tasks_of_cuts(X + 1, y, **options)
    assert task.kernel.width == pytest.approx(np.sqrt(2) * X.std(axis=0).mean(), rel=1e-12)


def test_auto_stands_for_the_grids():
    X, y = clusters(n_labeled=2)
    (task,) = tasks_of_cuts(X, y)
    found = [tuple(candidate.values()) for candidate in cut_candidates(task)]
    gammas, costs = gamma_g_grid(task.W), c_grid(X, task.kernel)
    assert found == [
        (gamma_g, C, priors)
        for gamma_g, C, priors in product(gammas, costs, [False, (3, 3)])
        if np.isfinite(gamma_g) or priors is False
    ]
    (task,) = tasks_of_cuts(X, y, C=3.7, class_mass_normalization=[1.0, 3.0])
    assert cut_candidates(task) == [
        {"gamma_g": gamma_g, "C": 3.7, "class_mass_normalization": (1.0, 3.0)} for gamma_g in gammas
    ]


def test_candidates_are_in_the_order_of_the_lists():
    X, y = clusters()
    (task,) = tasks_of_cuts(
        X, y, gamma_g=[0.1, np.inf], C=[10.0, 1.0], class_mass_normalization=[True, False]
    )
    assert [tuple(candidate.values()) for candidate in cut_candidates(task)] == [
        *[(0.1, C, priors) for C in (10.0, 1.0) for priors in ((4.0, 4.0), False)],
        *[(np.inf, C, (4.0, 4.0)) for C in (10.0, 1.0)],
    ]


# Trials: what the candidates say about held-out labels

KERNELS = {"linear": 2, "cubic": 3, "rbf": 3, laplace_kernel: 2}
"""Kernels, each with a number of classes."""
with_classes = pytest.mark.parametrize(
    ("kernel", "n_classes"), KERNELS.items(), ids=["linear-2", "cubic-3", "rbf-3", "callable-2"]
)
BOTH = {"gamma_g": [0.1, np.inf], "C": 5.0, "class_mass_normalization": False}


@with_classes
def test_held_out_scores_are_those_of_machines_trained_without_the_labels(kernel, n_classes):
    X, y = clusters(n_classes)
    held_out = folds_of(y)
    tasks = tasks_of_cuts(X, y, kernel=kernel, gamma_g=[0.01, np.inf], C=[5.0, 50.0])
    (trials,) = try_cuts(tasks, held_out, RUN)
    assert_trials_are_separate_fits(trials, y, held_out)
    assert_consistent(trials.evidence, y, held_out, n_classes * (n_classes - 1) // 2)
    assert trials.evidence.supervised.tolist() == [False, False, True, True]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_kernel_matrix_gives_the_trials_of_the_kernel_by_name(container):
    X, y = clusters(3)
    new, codes = clusters(3, n=12, n_labeled=4, seed=1)
    W, width = knn_graph(X, 6), 2.0
    K = Kernel("cubic", width=width)  # of rows that are not centered
    for held_out, given_rows in (
        (folds_of(y, 4), folds_of(y, 4)),
        (HeldOutLabels((), (new, codes)), HeldOutLabels((), (container(K(new, X)), codes))),
    ):
        tasks = tasks_of_cuts(X, y, W, kernel="cubic", width=width, **BOTH)
        (by_name,) = try_cuts(tasks, held_out, RUN)
        tasks = tasks_of_cuts(container(K(X, X)), y, W, kernel="precomputed", **BOTH)
        (by_matrix,) = try_cuts(tasks, given_rows, RUN)
        assert_same_trials(by_matrix.evidence, by_name.evidence, atol=1e-7)


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
def test_sparse_rows_give_the_trials_of_dense_ones(kernel):
    X, y = clusters()
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense, thin = (
        try_cuts(tasks_of_cuts(rows, y, kernel=kernel, **BOTH), folds_of(y, 4), RUN)[0].evidence
        for rows in (X, sparse.csr_array(X))
    )
    assert_same_trials(thin, dense, atol=TRIAL_ERROR)


def test_options_decide_what_the_machines_learn_from():
    X, y = clusters(3)
    held_out = folds_of(y)
    tasks = tasks_of_cuts(
        X, y, gamma_g=[0.01, 1.0], C=5.0, eps=[0.0, 0.2], loss_weights=["equal", "confidence"]
    )
    found = try_cuts(tasks, held_out, RUN)
    assert len(found) == 4
    for trials in found:
        assert_trials_are_separate_fits(trials, y, held_out, **trials.task.parameters.listed)
    first = found[0].evidence.held_out_values
    for trials in found[1:]:
        assert np.abs(trials.evidence.held_out_values - first).max() > 2 * TRIAL_ERROR


def test_candidates_may_normalize_class_masses_to_priors():
    X, y = clusters()
    held_out = folds_of(y, 4)
    tasks = tasks_of_cuts(X, y, gamma_g=0.1, C=5.0, class_mass_normalization=[[1, 99], False])
    (trials,) = try_cuts(tasks, held_out, RUN)
    assert_trials_are_separate_fits(trials, y, held_out)
    assert trials.evidence.shares[0, 1] > trials.evidence.shares[1, 1] + 0.05


def test_supervised_trials_are_cuts_in_which_no_label_travels():
    X, y = clusters(3)
    held_out = HeldOutLabels(tuple(np.flatnonzero(y >= 0)[:, None]))
    (cut,) = try_cuts(tasks_of_cuts(X, y, gamma_g=np.inf, C=2.0), held_out, RUN)
    (trials,) = try_cuts(tasks_of_supervised(X, y, C=2.0), held_out, RUN)
    assert trials.solutions == cut.solutions == {}
    assert_same_trials(trials.evidence, cut.evidence)
    assert_trials_are_separate_fits(trials, y, held_out)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_shares_and_scales_are_those_of_the_machines_at_unlabeled_rows(monkeypatch, n_classes):
    X, y = clusters(n_classes)
    for limit, step in ((500, 1), (20, 3)):
        monkeypatch.setattr(cut_trials, "MAX_SCALE_ROWS", limit)
        (trials,) = try_cuts(tasks_of_cuts(X, y, **BOTH), folds_of(y, 4), RUN)
        seen = X[np.flatnonzero(y < 0)[::step]]
        assert len(seen) <= limit
        for i, machine in enumerate(trials.machines):
            K = trials.task.kernel(seen, X[machine.vectors])
            f = K @ machine.coefficients + machine.intercepts
            assert trials.evidence.scales[i] == pytest.approx(np.abs(f).mean())
            codes = winner(class_scores(f, n_classes))
            expected = (np.bincount(codes, minlength=n_classes) + 1) / (len(seen) + n_classes)
            np.testing.assert_allclose(trials.evidence.shares[i], expected)


def test_solutions_are_those_on_all_labels():
    X, y = clusters()
    tasks = tasks_of_cuts(X, y, gamma_g=[1.0, 0.1, np.inf], C=5.0)
    (trials,) = try_cuts(tasks, folds_of(y, 4), RUN)
    assert sorted(trials.solutions) == [0.1, 1.0]
    for gamma_g, solution in trials.solutions.items():
        expected = harmonic_solution(trials.task.W, y, gamma_g=gamma_g)
        np.testing.assert_allclose(solution.class_mass, expected.class_mass, atol=1e-7)
        np.testing.assert_array_equal(solution.codes, expected.codes)


@with_classes
def test_validation_rows_are_scored_by_the_machines_on_all_labels(kernel, n_classes):
    X, y = clusters(n_classes)
    new, codes = clusters(n_classes, n=12, n_labeled=12 // n_classes, seed=1)
    tasks = tasks_of_cuts(X, y, kernel=kernel, **BOTH)
    (trials,) = try_cuts(tasks, HeldOutLabels((), (new, codes)), RUN)
    evidence = trials.evidence
    np.testing.assert_array_equal(evidence.held_out_codes, codes)
    np.testing.assert_array_equal(evidence.fold, np.zeros(12))
    for i, candidate in enumerate(evidence.params):
        f = alone(X, y, trials.task.W, trials.task.kernel, candidate)(new)
        values = evidence.held_out_values[i] * evidence.scales[i]
        np.testing.assert_allclose(values, f, atol=TRIAL_ERROR * np.abs(f).max())


# Work that is shared


def test_solutions_are_found_once_for_each_graph(monkeypatch):
    """Of twelve tasks: two graphs, with and without an `eps`, and three kernels."""
    X, y = clusters()
    solved = []

    def count(problem, gammas, folds, **options):
        solved.append((id(problem), tuple(gammas)))
        return solve(problem, gammas, folds, **options)

    solve = gamma_path.solve_hidden
    monkeypatch.setattr(gamma_path, "solve_hidden", count)
    tasks = tasks_of_cuts(
        X, y, gamma_g=[0.1, np.inf], C=1.0, kernel=["linear", "cubic", "rbf"], n_neighbors=[4, 6]
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
    evidence = join([part.evidence for part in trials])
    blend_cuts(trials, choose(evidence, np.array([4, 4])), RUN)


def test_candidates_that_induce_the_same_labels_share_a_machine():
    # Two cliques, each with labels of its own: every gamma_g induces the same labels.
    X, y = clusters(n=20)
    same = np.arange(20) % 2
    W = (same[:, None] == same).astype(float) - np.eye(20)
    options = {"gamma_g": [0.1, 0.01], "C": [1.0, 5.0]}
    (trials,) = try_cuts(
        tasks_of_cuts(X, y, W, loss_weights="equal", **options), folds_of(y, 4), RUN
    )
    first, second, third, fourth = trials.machines
    assert first is third
    assert second is fourth
    assert first is not second
    (weighted,) = try_cuts(tasks_of_cuts(X, y, W, **options), folds_of(y, 4), RUN)
    assert weighted.machines[0] is not weighted.machines[2]


def test_each_different_machine_is_trained_once(monkeypatch):
    X, y = clusters()
    trained = []

    def count(K, codes, **options):
        trained.append((codes.tobytes(), options["sample_weight"].tobytes(), options["C"]))
        return training.train_on_kernel(K, codes, **options)

    monkeypatch.setattr(cut_trials, "train_on_kernel", count)
    tasks = tasks_of_cuts(X, y, gamma_g=[0.1, 0.1, np.inf, np.inf], C=1.0)
    (trials,) = try_cuts(tasks, folds_of(y, 4), RUN)
    assert len(trained) == len(set(trained)) == 2 * (1 + 4)
    assert trials.machines[0] is trials.machines[1]
    assert trials.machines[2] is trials.machines[3]


def test_order_of_the_candidates_does_not_matter():
    X, y = clusters(3)
    found = [
        try_cuts(tasks_of_cuts(X, y, gamma_g=gammas, C=[5.0, 50.0]), folds_of(y), RUN)[0].evidence
        for gammas in ([0.1, np.inf], [np.inf, 0.1])
    ]
    order = [2, 3, 0, 1]
    np.testing.assert_allclose(
        found[1].held_out_values[order], found[0].held_out_values, atol=2 * TRIAL_ERROR
    )
    np.testing.assert_allclose(found[1].scales[order], found[0].scales, rtol=TRIAL_ERROR)


# Samples of many rows


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), max_labeled=st.integers(1, 80), max_unlabeled=st.integers(1, 40))
def test_sample_keeps_all_classes_and_stands_for_all_rows(seed, max_labeled, max_unlabeled):
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1, 0, 1, 2], size=120, p=[0.3, 0.4, 0.2, 0.1])
    codes[:3] = [0, 1, 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut_trials, "MAX_LABELED", max_labeled)
        patch.setattr(cut_trials, "MAX_UNLABELED", max_unlabeled)
        rows, factors = sample_rows(codes, np.random.RandomState(seed % 1000))
    assert (np.diff(rows) > 0).all()
    n_labeled = (codes >= 0).sum()
    assert (codes[rows] >= 0).sum() == min(n_labeled, max(max_labeled, 30))
    assert (codes[rows] < 0).sum() == min(120 - n_labeled, max_unlabeled)
    sizes = np.bincount(codes[codes >= 0])
    assert (np.bincount(codes[rows][codes[rows] >= 0]) >= np.minimum(sizes, 10)).all()
    for code in np.unique(codes):
        assert factors[codes[rows] == code].sum() == pytest.approx((codes == code).sum())


@pytest.fixture
def small_samples(monkeypatch):
    monkeypatch.setattr(cut_trials, "MAX_LABELED", 30)
    monkeypatch.setattr(cut_trials, "MAX_UNLABELED", 20)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "precomputed"])
def test_machines_of_a_sample_learn_from_its_rows_alone(precomputed):
    X, y = clusters(3, n=90, n_labeled=15)
    held_out, W, kernel = folds_of(y, 4), knn_graph(X, 6), Kernel("rbf", width=1.2)
    options = {"gamma_g": 0.1, "C": 5.0}
    if precomputed:
        tasks = tasks_of_cuts(kernel(X, X), y, W, kernel="precomputed", **options)
    else:
        tasks = tasks_of_cuts(X, y, W, width=1.2, **options)
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
def test_sample_depends_on_the_seed_alone():
    X, y = clusters(n=80)
    tasks = tasks_of_cuts(X, y, gamma_g=0.1, C=5.0)
    first, again, other = (
        try_cuts(tasks, folds_of(y, 4), Execution(n_jobs=1, seed=seed))[0] for seed in (0, 0, 1)
    )
    assert_same_trials(first.evidence, again.evidence)
    assert first.rows.tolist() != other.rows.tolist()


@pytest.mark.usefixtures("small_samples")
def test_fold_without_a_row_in_the_sample_tests_nothing():
    X, y = clusters(3, n=90, n_labeled=12)
    held_out = HeldOutLabels(tuple(np.flatnonzero(y >= 0)[:, None]))
    (trials,) = try_cuts(tasks_of_cuts(X, y, **BOTH), held_out, RUN)
    sampled = np.isin(np.concatenate(held_out.folds), trials.rows)
    assert sampled.sum() == len(trials.evidence.held_out_codes) == 30
    np.testing.assert_array_equal(trials.evidence.fold, np.flatnonzero(sampled))
    results = choose(trials.evidence, label_counts(encode_labels(y))).results()
    assert sum(name.startswith("split") for name in results) == 30


# Degenerate input


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_to_hold_out_leaves_machines_without_held_out_labels(n_classes):
    X, y = clusters(n_classes, n_labeled=1)
    (trials,) = try_cuts(tasks_of_cuts(X, y, **BOTH), NOTHING, RUN)
    pairs = n_classes * (n_classes - 1) // 2
    assert trials.evidence.held_out_values.shape == (2, 0, pairs)
    assert trials.evidence.held_out_codes.shape == trials.evidence.fold.shape == (0,)
    choice = choose(trials.evidence, np.ones(n_classes, dtype=int))
    assert np.isnan(choice.error)
    fitted = blend_cuts([trials], choice, RUN)
    assert np.isfinite(fitted.label_distributions).all()
    assert np.isnan(fitted.gamma_path["graph_score"]).all()


@with_classes
def test_rows_that_are_all_the_same_have_finite_scores(kernel, n_classes):
    _, y = clusters(n_classes, n=18, n_labeled=3)
    tasks = tasks_of_cuts(np.ones((18, 2)), y, kernel=kernel, C=[1.0, 10.0], gamma_g=[0.1, np.inf])
    trials = try_cuts(tasks, folds_of(y, 6), RUN)
    assert np.abs(trials[0].evidence.held_out_values).max() < 1e6
    choice = choose(trials[0].evidence, label_counts(encode_labels(y)))
    fitted = blend_cuts(trials, choice, RUN)
    assert np.ptp(fitted.predictor.decision(np.ones((3, 2))), axis=0).max() < 1e-12
    assert np.isfinite(fitted.label_distributions).all()


def test_vertices_that_no_label_reaches_are_not_learned_from():
    X, y = clusters()
    W = knn_graph(X, 6).toarray()
    lost = np.flatnonzero(y < 0)[:5]
    W[lost] = W[:, lost] = 0
    held_out = folds_of(y, 4)
    trials = try_cuts(tasks_of_cuts(X, y, W, gamma_g=0.01, C=5.0), held_out, RUN)
    assert not np.isin(lost, trials[0].machines[0].vectors).any()
    assert_trials_are_separate_fits(trials[0], y, held_out)
    fitted = blend_cuts(trials, choose(trials[0].evidence, np.array([4, 4])), RUN)
    assert [warning.text[:22] for warning in fitted.warnings] == ["5 of 60 points are in "]


# The blend: the weighted sum of what candidates are alone

BLENDS = {
    "linear": {"kernel": "linear"},
    "cubic": {"kernel": "cubic"},
    "rbf-with-priors": {"gamma_g": [0.1, 0.01], "class_mass_normalization": [False, [1.0, 3.0]]},
    "callable": {"kernel": laplace_kernel},
    "kernels": {"kernel": ["linear", "cubic", "rbf", laplace_kernel]},
    "graphs": {"n_neighbors": [4, 6], "metric": ["euclidean", "cosine"]},
    "widths": {"width": [1.0, 3.0, "paper"], "kernel": ["linear", "rbf"]},
    "degrees": {"kernel": ["linear", "cubic"], "degree": [2, 3]},
    "losses": {"loss_weights": ["equal", "confidence"], "eps": [0.0, 0.1]},
    "soft-labels": {"c_labeled": [np.inf, 2.0, np.full(60, 3.0)], "c_unlabeled": [0.0, 0.05]},
    "supervised": {"gamma_g": np.inf, "C": [0.1, 1.0, 10.0], "kernel": ["linear", "rbf"]},
}


def try_and_choose(tasks, held_out, run=RUN):
    """Return the trials, the choice and the blend, as a classifier makes them."""
    trials = try_cuts(tasks, held_out, run)
    evidence = join([part.evidence for part in trials])
    choice = choose(evidence, label_counts(tasks[0].labels), max_blended(trials))
    return trials, choice, blend_cuts(trials, choice, run)


def weighted_sum(X, y, choice, new, W=None, run=RUN, **parameters):
    """Return f of every pair of classes, from a fit of each blended candidate."""
    total = 0.0
    for i, factor in choice.blended:
        candidate = {**parameters, **choice.trials.params[i]}
        (task,) = tasks_of_cuts(X, y, W, run, **candidate)
        predictor = fit_cut(task, run).predictor
        total = total + factor * sum(machine.pairwise(new) for machine in predictor.machines)
    return total


def assert_is_weighted_sum(fitted, choice, new, expected):
    """Compare f of a blend with a sum of separate machines, up to the tolerance of trials."""
    f = sum(machine.pairwise(new) for machine in fitted.predictor.machines)
    factors = sum(factor for _, factor in choice.blended)
    np.testing.assert_allclose(f, expected, atol=2 * cut_trials.TRIAL_TOLERANCE * factors)
    n_classes = len(fitted.predictor.classes)
    np.testing.assert_allclose(fitted.predictor.decision(new), class_scores(f, n_classes))


@pytest.mark.parametrize("parameters", BLENDS.values(), ids=BLENDS.keys())
def test_blend_is_the_weighted_sum_of_separate_fits(parameters):
    X, y = clusters(2, n=60)
    X = X + 1.0  # for the cosine metric
    parameters = {"gamma_g": [0.1, np.inf], "C": 5.0, **parameters}
    new = X[::3] + 0.1
    _, choice, fitted = try_and_choose(tasks_of_cuts(X, y, **parameters), folds_of(y, 4))
    assert len(choice.blended) > 1
    assert_is_weighted_sum(fitted, choice, new, weighted_sum(X, y, choice, new, **parameters))
    kernels = {machine.kernel for machine in fitted.predictor.machines}
    assert len(kernels) == len(fitted.predictor.machines), "a machine for each kernel"
    best = fitted.predictor.machines[0].kernel
    assert best.kind == choice.best_params.get("kernel", parameters.get("kernel", "rbf"))


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_blend_of_three_classes_on_a_kernel_matrix(convert):
    X, y = clusters(3, n=60)
    K, W = convert(Kernel("rbf", width=2.0)(X, X)), knn_graph(X, 5)
    parameters = {"kernel": "precomputed", "gamma_g": [0.1, np.inf], "C": [1.0, 10.0]}
    _, choice, fitted = try_and_choose(tasks_of_cuts(K, y, W, **parameters), folds_of(y, 4))
    (machine,) = fitted.predictor.machines
    assert set(machine.vectors) <= set(range(60))
    expected = weighted_sum(K, y, choice, K[::3], W, **parameters)
    assert_is_weighted_sum(fitted, choice, K[::3], expected)


@pytest.mark.usefixtures("small_samples")
@pytest.mark.parametrize(
    ("parameters", "n_classes"),
    [
        ({"kernel": ["linear", "rbf"]}, 2),
        ({"kernel": "cubic"}, 3),
        ({"n_neighbors": [4, 6], "width": [2.0, "paper"]}, 3),
        ({"approximation": "nystroem"}, 2),
    ],
    ids=str,
)
def test_after_trials_on_a_sample_machines_are_trained_on_all_rows(parameters, n_classes):
    X, y = clusters(n_classes, n=120, n_labeled=14)
    parameters = {"gamma_g": [0.1, np.inf], "C": [1.0, 10.0], **parameters}
    trials, choice, fitted = try_and_choose(tasks_of_cuts(X, y, **parameters), folds_of(y, 4))
    assert not any(part.has_all_rows for part in trials)
    assert len(choice.blended) <= 4
    assert_is_weighted_sum(fitted, choice, X, weighted_sum(X, y, choice, X, **parameters))
    is_approximate = fitted.predictor.machines[0].report.form == "landmarks"
    assert is_approximate == ("approximation" in parameters)


@pytest.mark.parametrize("trust", [np.inf, 5.0, np.full(120, 5.0)], ids=["inf", "number", "array"])
def test_after_trials_on_the_graph_of_a_sample_all_rows_are_solved(monkeypatch, trust):
    monkeypatch.setattr(cut_trials, "MAX_TRIAL_ROWS", 60)
    X, y = clusters(3, n=120)
    parameters = {
        "c_labeled": trust,
        "gamma_g": [0.1, np.inf],
        "C": 5.0,
        "kernel": ["rbf", "linear"],
    }
    trials, choice, fitted = try_and_choose(tasks_of_cuts(X, y, **parameters), folds_of(y, 4))
    assert [part.n_rows for part in trials] == [72, 72]
    assert len(choice.trials.held_out_codes) == 12
    assert len(fitted.solution.codes) == len(fitted.codes) == 120
    assert_is_weighted_sum(fitted, choice, X, weighted_sum(X, y, choice, X, **parameters))
    # Few edges of a given graph would be left in a sample.
    (given,) = try_cuts(tasks_of_cuts(X, y, knn_graph(X), **BOTH), folds_of(y, 4), RUN)
    assert given.n_rows == 120


def test_rows_get_their_label_or_that_of_the_blend():
    X, y = clusters(3)
    _, choice, fitted = try_and_choose(tasks_of_cuts(X, y, **BOTH), folds_of(y, 4))
    predictor = fitted.predictor
    np.testing.assert_array_equal(fitted.label_distributions, predictor.probabilities(X))
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])
    np.testing.assert_array_equal(fitted.codes[y < 0], predictor.predict(X)[y < 0])
    ranked = np.sort(fitted.label_distributions, axis=1)
    np.testing.assert_array_equal(fitted.confidence, ranked[:, -1] - ranked[:, -2])
    assert fitted.warnings == ()
    assert choice.weights.sum() == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["kernels", "graphs", "soft-labels", "supervised"])
def test_graph_and_solution_are_those_of_the_heaviest_candidate_that_uses_the_graph(name):
    X, y = clusters()
    parameters = {"gamma_g": [0.1, 0.01, np.inf], "C": 5.0, **BLENDS[name]}
    trials, choice, fitted = try_and_choose(tasks_of_cuts(X + 1, y, **parameters), folds_of(y, 4))
    used = np.where(choice.trials.supervised, -1.0, choice.weights)
    best = int(used.argmax()) if used.max() > 0 else choice.best
    places = [part for part in trials for _ in part.machines]
    task = places[best].task
    assert fitted.task is task
    candidate = {**parameters, **choice.trials.params[best]}
    (single,) = tasks_of_cuts(X + 1, y, **candidate)
    expected = fit_cut(single, RUN)
    assert fitted.solution.gamma_g == candidate["gamma_g"]
    np.testing.assert_allclose(fitted.solution.class_mass, expected.solution.class_mass, atol=1e-7)
    np.testing.assert_array_equal(fitted.training_mask, expected.training_mask)


# Fixed parameters


def test_fixed_cut_is_the_machine_of_its_candidate():
    X, y = clusters(3)
    (task,) = tasks_of_cuts(X, y, gamma_g=0.1, C=5.0, eps=0.1, class_mass_normalization=[1, 2, 3])
    fitted = fit_cut(task, RUN)
    solution = harmonic_solution(task.W, y, gamma_g=0.1)
    np.testing.assert_array_equal(fitted.solution.class_mass, solution.class_mass)
    normalized = normalize_class_mass(solution, [1, 2, 3])
    np.testing.assert_array_equal(fitted.confidence, normalized.confidence)
    np.testing.assert_array_equal(fitted.label_distributions, normalized.label_distributions)
    np.testing.assert_array_equal(fitted.codes, normalized.codes)
    np.testing.assert_array_equal(fitted.training_mask, (normalized.confidence >= 0.1) | (y >= 0))
    candidate = {"gamma_g": 0.1, "C": 5.0, "class_mass_normalization": [1, 2, 3]}
    f = alone(X, y, task.W, task.kernel, candidate, eps=0.1)(X)
    np.testing.assert_allclose(fitted.predictor.machines[0].pairwise(X), f, atol=1e-9)
    assert fitted.gamma_path is None


def test_scores_for_the_risk_bound_are_kept_for_two_classes_with_soft_labels():
    X, y = clusters()
    for options, kept in (
        ({"c_labeled": 1.0}, True),
        ({}, False),
        ({"c_labeled": 1.0, "class_mass_normalization": True}, False),
    ):
        (task,) = tasks_of_cuts(X, y, gamma_g=0.1, C=5.0, **options)
        fitted = fit_cut(task, RUN)
        if kept:
            np.testing.assert_allclose(fitted.training_scores, fitted.predictor.decision(X))
        else:
            assert fitted.training_scores is None


def test_fixed_supervised_machine():
    X, y = clusters(3)
    (task,) = tasks_of_supervised(X, y, C=2.0)
    fitted = fit_supervised(task, RUN)
    candidate = {"gamma_g": np.inf, "C": 2.0}
    f = alone(X, y, None, task.kernel, candidate)(X)
    np.testing.assert_allclose(fitted.predictor.machines[0].pairwise(X), f, atol=1e-9)
    np.testing.assert_array_equal(fitted.codes[y >= 0], y[y >= 0])
