"""Trials against machines that are trained one by one, with labels hidden by hand."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.harmonic.problem import harmonic_problem
from graphmargin.labels import encode_labels
from graphmargin.margin import Kernel, train_machine, training
from graphmargin.margin.induced import induced_labels
from graphmargin.margin.machine import class_scores, winner
from graphmargin.selection import cut
from graphmargin.selection.choice import choose
from graphmargin.selection.cut import cut_trials
from graphmargin.selection.folds import label_folds

TRIAL_ERROR = 1e-2
"""Of f, for machines that violate optimality by up to 1e-3."""


def laplace_kernel(first, second):
    return np.exp(-np.abs(first[:, None] - second[None]).sum(axis=2) / 4)


KERNELS = {
    "rbf": Kernel("rbf", width=1.2),
    "linear": Kernel("linear", width=1.5),
    "cubic": Kernel("cubic", width=2.0),
    "callable": Kernel(laplace_kernel),
}
every_kernel = pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS.keys())


def clusters(n_classes=2, n=60, n_labeled=4, seed=0):
    """Return rows, labels (a few of each class) and a graph."""
    rng = np.random.default_rng(seed)
    classes = np.arange(n) % n_classes
    X = rng.normal(size=(n, 2)) + 2.5 * np.column_stack([classes, classes % 2])
    y = np.full(n, -1)
    for c in range(n_classes):
        rows = rng.permutation(np.flatnonzero(classes == c))[:n_labeled]
        y[rows] = c
    return X, y, knn_graph(X, n_neighbors=6)


def candidate(gamma_g, C=5.0, priors=False):
    return {"gamma_g": gamma_g, "C": C, "class_mass_normalization": priors}


def try_all(X, y, W, kernel, candidates, folds, **options):
    """Return the trials; precomputed kernels are given by their matrix."""
    labels = encode_labels(y)
    problem = None if W is None else harmonic_problem(W, y)
    return cut_trials(X, labels, kernel, problem, candidates, folds, **options)


def refit(X, y, W, kernel, one, eps=1e-6, loss_weights="confidence"):
    """Return the machine of a candidate, trained alone, as a function of rows."""
    if np.isinf(one["gamma_g"]):
        rows = np.flatnonzero(y >= 0)
        codes, weights = y[rows], None
    else:
        solution = harmonic_solution(W, y, gamma_g=one["gamma_g"])
        if one["class_mass_normalization"] is not False:
            solution = normalize_class_mass(solution, one["class_mass_normalization"])
        induced = induced_labels(solution, eps=eps, loss_weights=loss_weights)
        rows = np.flatnonzero(induced.mask)
        codes, weights = induced.codes[rows], induced.weights[rows]
    points = X[rows][:, rows] if kernel.kind == "precomputed" else X[rows]
    machine = train_machine(
        points, codes, kernel, C=one["C"], sample_weight=weights, approximation="none"
    )
    if kernel.kind == "precomputed":
        return lambda new: machine.pairwise(new[:, rows])
    return machine.pairwise


def hide(y, rows):
    y = y.copy()
    y[rows] = -1
    return y


def assert_equals_refits(found, X, y, W, kernel, folds, **options):
    trials = found.trials
    for i, one in enumerate(trials.params):
        f = refit(X, y, W, kernel, one, **options)(X)
        assert trials.scales[i] == pytest.approx(np.abs(f[y < 0]).mean(), rel=TRIAL_ERROR)
        expected = [
            refit(X, hide(y, fold), W, kernel, one, **options)(X[np.sort(fold)]) for fold in folds
        ]
        np.testing.assert_allclose(
            trials.held_out[i] * trials.scales[i],
            np.vstack(expected),
            atol=TRIAL_ERROR * np.abs(f).max(),
        )


# What the candidates say about hidden labels.


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_held_out_scores_are_those_of_machines_trained_without_the_label(kernel, n_classes):
    X, y, W = clusters(n_classes)
    folds = label_folds(y, 3, 0)
    candidates = [candidate(gamma_g, C) for gamma_g in (0.01, 1.0, np.inf) for C in (5.0, 50.0)]
    found = try_all(X, y, W, kernel, candidates, folds)
    assert_equals_refits(found, X, y, W, kernel, folds)
    assert found.trials.supervised.tolist() == [False] * 4 + [True] * 2
    assert found.trials.params == candidates
    np.testing.assert_array_equal(found.trials.given, y[np.concatenate(folds)])
    np.testing.assert_array_equal(found.trials.fold, np.repeat([0, 1, 2], [len(f) for f in folds]))


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_precomputed_kernel_gives_the_trials_of_the_kernel_by_name(n_classes, container):
    X, y, W = clusters(n_classes)
    kernel = KERNELS["cubic"]  # of rows that are not centered
    folds = label_folds(y, 4, 0)
    candidates = [candidate(0.1), candidate(np.inf)]
    by_name = try_all(X, y, W, kernel, candidates, folds)
    by_matrix = try_all(container(kernel(X, X)), y, W, Kernel("precomputed"), candidates, folds)
    np.testing.assert_allclose(by_matrix.trials.held_out, by_name.trials.held_out, atol=1e-8)
    np.testing.assert_allclose(by_matrix.trials.scales, by_name.trials.scales)
    if container is np.asarray:
        K = kernel(X, X)
        assert_equals_refits(by_matrix, K, y, W, Kernel("precomputed"), folds)


@pytest.mark.parametrize("kind", ["rbf", "linear"])
def test_sparse_rows_give_the_trials_of_dense_ones(kind):
    X, y, W = clusters()
    candidates, folds = [candidate(0.1), candidate(np.inf)], label_folds(y, 4, 0)
    dense = try_all(X, y, W, KERNELS[kind], candidates, folds)
    found = try_all(sparse.csr_array(X), y, W, KERNELS[kind], candidates, folds)
    np.testing.assert_allclose(found.trials.held_out, dense.trials.held_out, atol=TRIAL_ERROR)


@pytest.mark.parametrize(
    "options", [{"loss_weights": "equal"}, {"eps": 0.2}, {"eps": 0.2, "loss_weights": "equal"}]
)
def test_options_decide_what_the_machines_learn_from(options):
    X, y, W = clusters(3)
    folds = label_folds(y, 3, 0)
    found = try_all(X, y, W, KERNELS["rbf"], [candidate(0.01), candidate(1.0)], folds, **options)
    assert_equals_refits(found, X, y, W, KERNELS["rbf"], folds, **options)
    plain = try_all(X, y, W, KERNELS["rbf"], [candidate(0.01), candidate(1.0)], folds)
    assert np.abs(plain.trials.held_out - found.trials.held_out).max() > 2 * TRIAL_ERROR


def test_candidates_may_normalize_class_masses_to_priors():
    X, y, W = clusters()
    folds = label_folds(y, 4, 0)
    candidates = [candidate(0.1, priors=(1, 9)), candidate(0.1), candidate(np.inf, priors=(1, 9))]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, folds)
    assert_equals_refits(found, X, y, W, KERNELS["rbf"], folds)
    assert found.trials.shares[0, 1] > found.trials.shares[1, 1] + 0.05


@pytest.mark.parametrize("graph", [True, False], ids=["graph", "no-graph"])
def test_infinite_gamma_g_is_the_supervised_machine_on_the_labels_that_are_kept(graph):
    X, y, W = clusters(3)
    folds = list(np.flatnonzero(y >= 0)[:, None])
    one = candidate(np.inf, 2.0)
    found = try_all(X, y, W if graph else None, KERNELS["rbf"], [one], folds)
    assert found.solutions == {}
    for i, (row,) in enumerate(folds):
        rows = np.setdiff1d(np.flatnonzero(y >= 0), row)
        machine = train_machine(X[rows], y[rows], KERNELS["rbf"], C=2.0)
        expected = machine.pairwise(X[[row]])[0]
        f = found.trials.held_out[0, i] * found.trials.scales[0]
        np.testing.assert_allclose(f, expected, atol=TRIAL_ERROR)


def test_supervised_candidates_do_not_depend_on_the_graph():
    X, y, W = clusters()
    folds = label_folds(y, 4, 0)
    together = try_all(X, y, W, KERNELS["rbf"], [candidate(0.1), candidate(np.inf)], folds)
    alone = try_all(X, y, None, KERNELS["rbf"], [candidate(np.inf)], folds)
    np.testing.assert_allclose(together.trials.held_out[1], alone.trials.held_out[0], atol=1e-8)


def test_machines_of_the_candidates_are_those_on_all_labels():
    X, y, W = clusters(3)
    candidates = [candidate(0.1, C) for C in (0.5, 5.0)] + [candidate(np.inf)]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, label_folds(y, 3, 0))
    new = np.random.default_rng(1).normal(size=(20, 2)) + 2
    for i, one in enumerate(candidates):
        expected = refit(X, y, W, KERNELS["rbf"], one)
        for rows in (X, new):
            f = found.blend([(i, 1.0)], X, KERNELS["rbf"]).pairwise(rows)
            np.testing.assert_allclose(f, expected(rows), atol=TRIAL_ERROR)


def test_solutions_are_those_on_all_labels():
    X, y, W = clusters()
    candidates = [candidate(1.0), candidate(0.1), candidate(np.inf)]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, label_folds(y, 4, 0))
    assert sorted(found.solutions) == [0.1, 1.0]
    for gamma_g, solution in found.solutions.items():
        expected = harmonic_solution(W, y, gamma_g=gamma_g)
        np.testing.assert_allclose(solution.class_mass, expected.class_mass, atol=1e-7)
        np.testing.assert_array_equal(solution.codes, expected.codes)


def test_shares_are_those_of_the_machines_at_the_unlabeled_rows():
    X, y, W = clusters(3, n_labeled=3)
    candidates = [candidate(0.1), candidate(np.inf)]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, label_folds(y, 3, 0))
    unlabeled = X[y < 0]
    for i, shares in enumerate(found.trials.shares):
        codes = winner(found.blend([(i, 1.0)], X, KERNELS["rbf"]).decision(unlabeled))
        expected = (np.bincount(codes, minlength=3) + 1) / (len(unlabeled) + 3)
        np.testing.assert_allclose(shares, expected)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_columns_decide_as_machines_do(n_classes):
    X, y, W = clusters(n_classes)
    found = try_all(X, y, W, KERNELS["rbf"], [candidate(0.1)], label_folds(y, 4, 0))
    columns = found.trials.held_out[0]
    assert columns.shape[1] == len(list(combinations(range(n_classes), 2)))
    np.testing.assert_array_equal(found.trials.decide(columns), class_scores(columns, n_classes))
    choice = choose(found.trials, np.bincount(y[y >= 0]))
    assert choice.error <= 0.5
    assert choice.weights.tolist() == [1.0]


# Validation rows.


@every_kernel
@pytest.mark.parametrize("n_classes", [2, 3])
def test_validation_rows_are_scored_by_the_machines_on_all_labels(kernel, n_classes):
    X, y, W = clusters(n_classes)
    new, codes, _ = clusters(n_classes, n=12, n_labeled=12 // n_classes, seed=1)
    candidates = [candidate(0.1), candidate(np.inf)]
    folds = label_folds(y, 4, 0)  # not used
    found = try_all(X, y, W, kernel, candidates, folds, validation=(new, codes))
    np.testing.assert_array_equal(found.trials.given, codes)
    np.testing.assert_array_equal(found.trials.fold, np.zeros(12))
    for i, one in enumerate(candidates):
        expected = refit(X, y, W, kernel, one)(new)
        f = found.trials.held_out[i] * found.trials.scales[i]
        np.testing.assert_allclose(f, expected, atol=TRIAL_ERROR * np.abs(expected).max())


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_validation_rows_of_a_precomputed_kernel(container):
    X, y, W = clusters()
    new, codes, _ = clusters(n=12, n_labeled=6, seed=1)
    kernel = KERNELS["cubic"]
    expected = try_all(X, y, W, kernel, [candidate(0.1)], [], validation=(new, codes))
    found = try_all(
        container(kernel(X, X)),
        *(y, W, Kernel("precomputed"), [candidate(0.1)], []),
        validation=(container(kernel(new, X)), codes),
    )
    np.testing.assert_allclose(found.trials.held_out, expected.trials.held_out, atol=1e-8)


# Work that is shared.


def test_candidates_that_induce_the_same_labels_share_a_machine():
    # Two lattices, each with its own label: every gamma_g induces the same labels.
    X, y, _ = clusters(n=20)
    same = np.arange(20) % 2
    W = (same[:, None] == same).astype(float) - np.eye(20)
    candidates = [candidate(gamma_g, C) for C in (1.0, 5.0) for gamma_g in (0.1, 0.01)]
    found = try_all(
        *(X, y, W, KERNELS["rbf"], candidates, label_folds(y, 4, 0)), loss_weights="equal"
    )
    first, second, third, fourth = found.machines
    assert first is second
    assert third is fourth
    assert first is not third
    np.testing.assert_array_equal(found.trials.held_out[0], found.trials.held_out[1])
    weighted = try_all(X, y, W, KERNELS["rbf"], candidates, label_folds(y, 4, 0))
    assert weighted.machines[0] is not weighted.machines[1]


def test_each_different_machine_is_trained_once(monkeypatch):
    X, y, W = clusters()
    trained = []

    def counted(K, codes, **options):
        trained.append((codes.tobytes(), options["sample_weight"].tobytes(), options["C"]))
        return training.train_on_kernel(K, codes, **options)

    monkeypatch.setattr(cut, "train_on_kernel", counted)
    one = candidate(0.1)
    # Normalization says nothing to a candidate that does not look at the graph.
    candidates = [one, dict(one), candidate(np.inf), candidate(np.inf, priors=(1, 2))]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, label_folds(y, 4, 0))
    assert len(trained) == 2 * (1 + 4)
    assert found.machines[0] is found.machines[1]
    assert found.machines[2] is found.machines[3]
    assert [len(params) for params in found.trials.params] == [3] * 4


def test_order_of_the_candidates_does_not_matter():
    X, y, W = clusters(3)
    folds = label_folds(y, 3, 0)
    candidates = [candidate(gamma_g, C) for gamma_g in (0.1, np.inf) for C in (5.0, 50.0)]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, folds)
    other = try_all(X, y, W, KERNELS["rbf"], candidates[::-1], folds)
    np.testing.assert_allclose(
        other.trials.held_out[::-1], found.trials.held_out, atol=2 * TRIAL_ERROR
    )
    np.testing.assert_allclose(other.trials.scales[::-1], found.trials.scales, rtol=TRIAL_ERROR)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_trials_do_not_depend_on_the_number_of_threads(n_classes):
    X, y, W = clusters(n_classes)
    folds = label_folds(y, 5, 0)
    candidates = [candidate(gamma_g, C) for gamma_g in (0.1, np.inf) for C in (0.5, 5.0)]
    one, two = (
        try_all(X, y, W, KERNELS["rbf"], candidates, folds, n_jobs=n_jobs).trials
        for n_jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.held_out, two.held_out)
    np.testing.assert_array_equal(one.scales, two.scales)
    np.testing.assert_array_equal(one.shares, two.shares)


def test_input_is_not_changed():
    X, y, W = clusters()
    labels, problem = encode_labels(y), harmonic_problem(W, y)
    candidates = [candidate(0.1), candidate(np.inf)]
    rows, copies = X.copy(), [dict(one) for one in candidates]
    cut_trials(X, labels, KERNELS["linear"], problem, candidates, label_folds(y, 4, 0))
    np.testing.assert_array_equal(X, rows)
    np.testing.assert_array_equal(labels.codes, y)
    np.testing.assert_array_equal(problem.labels.codes, y)
    assert candidates == copies


# Samples of many rows.


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), max_labeled=st.integers(1, 80), max_unlabeled=st.integers(1, 40))
def test_sample_keeps_all_classes_and_stands_for_all_rows(seed, max_labeled, max_unlabeled):
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1, 0, 1, 2], size=120, p=[0.3, 0.4, 0.2, 0.1])
    codes[:3] = [0, 1, 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(cut, "MAX_LABELED", max_labeled)
        patch.setattr(cut, "MAX_UNLABELED", max_unlabeled)
        rows, factors = cut.sample_rows(codes, np.random.RandomState(seed % 1000))
    assert (np.diff(rows) > 0).all()
    n_labeled = (codes >= 0).sum()
    assert (codes[rows] >= 0).sum() == min(n_labeled, max(max_labeled, 30))
    assert (codes[rows] < 0).sum() == min(120 - n_labeled, max_unlabeled)
    sizes = np.bincount(codes[codes >= 0])
    assert (np.bincount(codes[rows][codes[rows] >= 0]) >= np.minimum(sizes, 10)).all()
    assert factors.sum() == pytest.approx(120)
    for code in np.unique(codes):
        assert factors[codes[rows] == code].sum() == pytest.approx((codes == code).sum())


def test_number_of_unlabeled_rows_in_a_sample_may_be_given():
    codes = np.repeat([-1, 0, 1], [30, 2, 3])
    rows, factors = cut.sample_rows(codes, np.random.RandomState(0), 6)
    assert (codes[rows] < 0).sum() == 6
    np.testing.assert_array_equal(rows[-5:], np.arange(30, 35))
    np.testing.assert_allclose(factors, [5.0] * 6 + [1.0] * 5)


def test_few_rows_are_not_sampled():
    X, y, W = clusters()
    found = try_all(X, y, W, KERNELS["rbf"], [candidate(0.1)], label_folds(y, 4, 0))
    np.testing.assert_array_equal(found.rows, np.arange(len(X)))


@pytest.mark.parametrize("precomputed", [False, True], ids=["rows", "precomputed"])
def test_machines_of_a_sample_learn_from_its_rows_alone(monkeypatch, precomputed):
    X, y, W = clusters(3, n=90, n_labeled=15)
    monkeypatch.setattr(cut, "MAX_LABELED", 30)
    monkeypatch.setattr(cut, "MAX_UNLABELED", 20)
    folds = label_folds(y, 4, 0)
    candidates = [candidate(0.1), candidate(np.inf)]
    kernel = KERNELS["rbf"]
    points, given_kernel = (kernel(X, X), Kernel("precomputed")) if precomputed else (X, kernel)
    found = try_all(points, y, W, given_kernel, candidates, folds, random_state=0)
    rows = found.rows
    assert len(rows) == 50
    assert np.bincount(y[rows][y[rows] >= 0]).tolist() == [10, 10, 10]
    # Hidden labels of the sample, in the order of the folds.
    tested = [np.intersect1d(rows, fold) for fold in folds]
    np.testing.assert_array_equal(found.trials.given, y[np.concatenate(tested)])
    factors = np.where(y[rows] >= 0, 15 / 10, 45 / 20)
    start = 0
    for fold, hidden in enumerate(tested):
        kept = hide(y, folds[fold])
        induced = induced_labels(harmonic_solution(W, kept, gamma_g=0.1))
        used = induced.mask[rows]
        machine = train_machine(
            *(X[rows[used]], induced.codes[rows[used]], kernel),
            C=5.0,
            sample_weight=(induced.weights[rows] * factors)[used],
            approximation="none",
        )
        found_here = found.trials.held_out[0, start : start + len(hidden)]
        np.testing.assert_allclose(
            found_here * found.trials.scales[0], machine.pairwise(X[hidden]), atol=TRIAL_ERROR
        )
        start += len(hidden)
    assert start == len(found.trials.given)
    expected = found.blend([(0, 1.0)], points, given_kernel).pairwise(points)
    full = refit(X, y, W, kernel, candidates[0])(X)
    assert np.corrcoef(expected[:, 0], full[:, 0])[0, 1] > 0.8


def test_sample_depends_on_the_seed_alone(monkeypatch):
    X, y, W = clusters(n=80)
    monkeypatch.setattr(cut, "MAX_UNLABELED", 20)
    folds = label_folds(y, 4, 0)
    first, again, other = (
        try_all(X, y, W, KERNELS["rbf"], [candidate(0.1)], folds, random_state=seed)
        for seed in (0, 0, 1)
    )
    np.testing.assert_array_equal(first.rows, again.rows)
    np.testing.assert_array_equal(first.trials.held_out, again.trials.held_out)
    assert first.rows.tolist() != other.rows.tolist()


def test_fold_without_a_row_in_the_sample_tests_nothing(monkeypatch):
    X, y, W = clusters(n_labeled=13)
    monkeypatch.setattr(cut, "MAX_LABELED", 20)
    folds = list(np.flatnonzero(y >= 0)[:, None])
    candidates = [candidate(0.1), candidate(np.inf)]
    found = try_all(X, y, W, KERNELS["rbf"], candidates, folds, random_state=0)
    assert len(found.trials.given) == 20
    sampled = np.isin(np.concatenate(folds), found.rows)
    np.testing.assert_array_equal(found.trials.fold, np.flatnonzero(sampled))
    choice = choose(found.trials, np.bincount(y[y >= 0]))
    splits = [name for name in choice.results() if name.startswith("split")]
    assert len(splits) == 20


# Degenerate input.


@pytest.mark.parametrize("n_classes", [2, 3])
def test_nothing_to_hide_leaves_machines_without_hidden_labels(n_classes):
    X, y, W = clusters(n_classes, n_labeled=1)
    pairs = n_classes * (n_classes - 1) // 2
    found = try_all(X, y, W, KERNELS["rbf"], [candidate(0.1), candidate(np.inf)], [])
    assert found.trials.held_out.shape == (2, 0, pairs)
    assert found.trials.given.shape == found.trials.fold.shape == (0,)
    assert len(found.machines) == 2
    choice = choose(found.trials, np.ones(n_classes, dtype=int))
    assert np.isnan(choice.error)
    assert choice.weights.sum() == pytest.approx(1.0)


def test_only_some_unlabeled_rows_tell_the_scale_and_the_shares(monkeypatch):
    X, y, W = clusters()
    monkeypatch.setattr(cut, "MAX_SEEN", 20)
    found = try_all(X, y, W, KERNELS["rbf"], [candidate(0.1)], label_folds(y, 4, 0))
    seen = X[np.flatnonzero(y < 0)[::3]]  # 18 of 52
    f = found.blend([(0, 1.0)], X, KERNELS["rbf"]).pairwise(seen)
    assert found.trials.scales[0] == pytest.approx(np.abs(f).mean())
    assert found.trials.shares[0, 0] == pytest.approx(((f > 0).sum() + 1) / (len(seen) + 2))


def test_no_unlabeled_rows():
    X, y, W = clusters(n=16, n_labeled=8)
    assert (y >= 0).all()
    found = try_all(
        X, y, W, KERNELS["rbf"], [candidate(0.1), candidate(np.inf)], label_folds(y, 4, 0)
    )
    np.testing.assert_array_equal(found.trials.shares, 0.5)
    np.testing.assert_array_equal(found.trials.scales, 1.0)
    assert np.isfinite(found.trials.held_out).all()


@every_kernel
def test_rows_that_are_all_the_same_have_finite_scores(kernel):
    _, y, W = clusters(n=16, n_labeled=3)
    candidates = [candidate(gamma_g, C) for gamma_g in (0.1, np.inf) for C in (1.0, 10.0)]
    found = try_all(np.ones((16, 2)), y, W, kernel, candidates, label_folds(y, 6, 0))
    assert np.abs(found.trials.held_out).max() < 1e6
    choice = choose(found.trials, np.bincount(y[y >= 0]))
    assert np.isfinite(choice.weights).all()
    assert np.isfinite([factor for _, factor in choice.blended]).all()


def test_vertices_that_no_label_reaches_are_not_learned_from():
    X, y, W = clusters()
    alone = np.flatnonzero(y < 0)[:5]
    W = W.tolil()
    W[alone] = 0
    W[:, alone] = 0
    W = sparse.csr_array(W.tocsr())
    W.eliminate_zeros()
    folds = label_folds(y, 4, 0)
    found = try_all(X, y, W, KERNELS["rbf"], [candidate(0.01)], folds)
    assert not np.isin(alone, found.machines[0].vectors).any()
    assert_equals_refits(found, X, y, W, KERNELS["rbf"], folds)


def test_progress_is_told():
    X, y, W = clusters()
    told = []
    try_all(
        *(X, y, W, KERNELS["rbf"], [candidate(0.1)], label_folds(y, 4, 0)),
        progress=lambda share, message: told.append((share, message)),
    )
    assert told
    assert all(0 <= share <= 1 and message for share, message in told)
