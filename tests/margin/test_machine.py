"""The machine against an exact quadratic program, a duality certificate and scikit-learn's SVC."""

import itertools
import re
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.svm import SVC

import graphmargin._blocks
from graphmargin.margin import Kernel, train_machine, training
from graphmargin.margin._solvers import feature_training, kernel_training
from graphmargin.margin._solvers.coordinate_descent import solve_centered
from graphmargin.margin._solvers.kernel_training import train_on_kernel
from graphmargin.margin._solvers.smo import solve_smo_pairs
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.machine import blend_machines, pairwise_values, predicted_codes
from graphmargin.margin.manifold import train_manifold
from tests.margin.problems import (
    KERNELS,
    alternating_cases,
    every_kernel,
    solve_primal,
)

NAMED = ["linear", "poly", "rbf"]
QUADRATIC = Kernel("poly", width=2.0, degree=2, coef0=0.5)


def overlapping_classes(n_classes=2, n=60, seed=0):
    """Classes that no machine separates, so that many slacks are active."""
    rng = np.random.default_rng(seed)
    codes = np.arange(n) % n_classes
    return rng.normal(size=(n, 2)) + 0.9 * codes[:, None], codes


def squared_norm(machine):
    """Return norm(f)_K^2 for a machine of two classes."""
    alpha = machine.coefficients[:, 0]
    return float(alpha @ machine.kernel(machine.vectors, machine.vectors) @ alpha)


def hinge(signs, f):
    return np.maximum(1 - signs * f, 0)


@alternating_cases(
    kind=[*KERNELS, "quadratic"], gamma=[1.0, 0.2], weighted=[False, True, True, False]
)
def test_machine_solves_the_quadratic_program_with_active_slacks(kind, gamma, weighted):
    X, codes = overlapping_classes()
    kernel, signs = KERNELS.get(kind, QUADRATIC), 2.0 * codes - 1
    weights = np.random.default_rng(0).uniform(0.1, 3.0, size=len(X)) if weighted else np.ones(60)
    before = X.copy(), codes.copy(), weights.copy()
    expected, objective = solve_primal(kernel(X, X), codes, gamma, losses=weights)
    slacks = hinge(signs, expected)
    assert (slacks > 1e-3).sum() >= 10, "the comparison needs active slacks"
    assert (slacks < 1e-6).sum() >= 3, "and points outside the margin"

    machine = train_machine(X, codes, kernel, C=1 / (2 * gamma), sample_weight=weights)
    f = machine.decision(X)
    np.testing.assert_allclose(f, expected, atol=1e-3)
    reached = weights @ hinge(signs, f) + gamma * squared_norm(machine)
    assert reached == pytest.approx(objective, rel=1e-4)
    for array, copy in zip((X, codes, weights), before, strict=True):
        np.testing.assert_array_equal(array, copy)
    for C in (0.25 / gamma, 1 / gamma):
        other = train_machine(X, codes, kernel, C=C, sample_weight=weights).decision(X)
        assert np.abs(other - expected).max() > 0.01


@every_kernel
@pytest.mark.parametrize("C", [0.5, 5.0])
def test_duality_gap_is_closed_and_karush_kuhn_tucker_conditions_hold(kernel, C):
    X, codes = overlapping_classes(seed=2)
    machine = train_machine(X, codes, kernel, C=C)
    row = {tuple(x): i for i, x in enumerate(X)}
    support = [row[tuple(x)] for x in machine.vectors]
    signs = 2.0 * codes - 1
    # The column of a pair is positive for its first class.
    alpha = np.zeros(len(X))
    alpha[support] = -signs[support] * machine.coefficients[:, 0]
    assert alpha.min() >= 0
    assert alpha.max() <= C * (1 + 1e-12)
    assert signs @ alpha == pytest.approx(0.0, abs=1e-10)

    margins, norm = signs * machine.decision(X), squared_norm(machine)
    primal = norm / 2 + C * np.maximum(1 - margins, 0).sum()
    dual = alpha.sum() - norm / 2
    assert 0 <= primal - dual <= 1e-3 * primal

    free = (alpha > 0) & (alpha < C * (1 - 1e-9))
    assert free.any()
    np.testing.assert_allclose(margins[free], 1.0, atol=1e-3)
    assert margins[alpha == 0].min() >= 1 - 1e-3
    assert margins[alpha >= C * (1 - 1e-9)].max() <= 1 + 1e-3


def test_machine_of_two_points_is_that_computed_by_hand():
    # The widest margin between x = -1 and x = 3 is f(x) = (x - 1) / 2.
    X = np.array([[-1.0], [3.0]])
    machine = train_machine(X, np.array([0, 1]), Kernel("linear"), C=1e6)
    np.testing.assert_allclose(machine.decision(np.array([[-1.0], [1.0], [5.0]])), [-1, 0, 2])
    # A small C caps the coefficients: f(x) = C (3 - (-1)) x + b.
    machine = train_machine(X, np.array([0, 1]), Kernel("linear"), C=0.01)
    np.testing.assert_allclose(sorted(machine.coefficients[:, 0]), [-0.01, 0.01])
    assert np.diff(machine.decision(np.array([[0.0], [1.0]]))) == pytest.approx(0.04)


@alternating_cases(kind=list(KERNELS), n_classes=[3, 4, 7])
def test_pairs_of_classes_are_those_of_scikit_learn(kind, n_classes):
    kernel = KERNELS[kind]
    X, codes = overlapping_classes(n_classes, n=84, seed=5)
    new = np.random.default_rng(6).normal(size=(50, 2)) + n_classes / 2
    machine = train_machine(X, codes, kernel, C=2.0)
    svm = SVC(kernel="precomputed", C=2.0, tol=1e-4, decision_function_shape="ovo")
    svm.fit(kernel(X, X), codes)
    for rows in (X, new):
        expected = svm.decision_function(kernel(rows, X))
        np.testing.assert_allclose(machine.pairwise(rows), expected, rtol=2e-3, atol=1e-3)
    # Where a class beats all others, coupled pairs and votes agree.
    f = machine.pairwise(new)
    first, second = np.triu_indices(n_classes, 1)
    winners = np.where(f > 0, first, second)
    wins = np.array([np.bincount(row, minlength=n_classes) for row in winners])
    clear = new[(wins.max(axis=1) == n_classes - 1) & (np.abs(f).min(axis=1) > 2e-3)]
    assert len(clear) > 40
    codes = predicted_codes(machine.decision(clear))
    np.testing.assert_array_equal(codes, svm.predict(kernel(clear, X)))


@alternating_cases(
    kind=NAMED, container=[sparse.csr_array, sparse.csr_matrix], n_classes=[3, 2, 2, 3]
)
def test_sparse_rows_give_the_machine_of_dense_ones(kind, container, n_classes):
    X, codes = overlapping_classes(n_classes, seed=10)
    X[np.random.default_rng(0).random(X.shape) < 0.3] = 0.0
    dense = train_machine(X, codes, KERNELS[kind], C=0.8)
    machine = train_machine(container(X), codes, KERNELS[kind], C=0.8)
    assert sparse.issparse(machine.vectors)
    for rows in (X, container(X)):
        np.testing.assert_allclose(machine.pairwise(rows), dense.pairwise(X), atol=1e-3)


@alternating_cases(
    kind=["linear", "rbf", "precomputed", "sparse"],
    block_bytes=[1, 5_000],
    n_classes=[2, 3, 3],
)
def test_prediction_in_blocks_equals_one_block(monkeypatch, kind, block_bytes, n_classes):
    X, codes = overlapping_classes(n_classes, seed=11)
    kernel = KERNELS.get(kind, Kernel("linear"))
    rows = sparse.csr_array(X) if kind == "sparse" else X
    if kind == "precomputed":
        rows, kernel = X @ X.T, Kernel("precomputed")
    machine = train_machine(rows, codes, kernel, C=1.0)
    at_once = machine.pairwise(rows)
    monkeypatch.setattr(graphmargin._blocks, "BLOCK_BYTES", block_bytes)
    blocks = graphmargin._blocks.row_slices(len(X), 16 * len(machine.coefficients))
    assert len(list(blocks)) > 1
    np.testing.assert_allclose(machine.pairwise(rows), at_once, rtol=1e-12, atol=1e-12)


def test_kernel_is_evaluated_one_block_at_a_time(monkeypatch):
    X, codes = overlapping_classes()
    machine = train_machine(X, codes, KERNELS["rbf"], C=1.0)
    evaluate, heights = Kernel.__call__, []

    def counting(kernel, first, second):
        heights.append(len(first))
        return evaluate(kernel, first, second)

    monkeypatch.setattr(Kernel, "__call__", counting)
    monkeypatch.setattr(graphmargin._blocks, "BLOCK_BYTES", 7 * 16 * machine.coefficients.shape[0])
    machine.decision(X)
    assert sorted(heights) == [4] + [7] * 8


@pytest.mark.parametrize(("kind", "offset"), [("linear", 10.0), ("linear", 1e6), ("rbf", 1e6)])
def test_shifting_the_data_shifts_the_function(kind, offset):
    """The bias is free, so that a common offset of all rows costs nothing."""
    X, codes = overlapping_classes(seed=13)
    expected = train_machine(X, codes, KERNELS[kind], C=1.0).decision(X)
    shifted = train_machine(X + offset, codes, KERNELS[kind], C=1.0)
    np.testing.assert_allclose(shifted.decision(X + offset), expected, atol=2e-3)


# Which solver when, and that they agree


def solved_by(monkeypatch, solver, *arguments, **options):
    """Return the machine of one of the solvers, whatever the number of rows."""
    if solver == "libsvm":
        monkeypatch.setattr(training, "MAX_SMO", 0)
    monkeypatch.setattr(feature_training, "RELATIVE_GAP", 1e-3)
    approximation = "nystroem" if solver == "coordinate descent" else "none"
    machine = train_machine(*arguments, approximation=approximation, random_state=0, **options)
    monkeypatch.undo()
    assert machine.report.solver == solver
    return machine


@alternating_cases(
    kind=["linear", "rbf", "poly", "quadratic"],
    n_classes=[2, 4, 4],
    weighted=[False, True, True, False, True],
)
def test_every_solver_finds_the_same_machine(monkeypatch, kind, n_classes, weighted):
    X, codes = overlapping_classes(n_classes, n=240, seed=14)
    options = {"C": 2.0}
    if weighted:
        options["sample_weight"] = np.random.default_rng(0).uniform(0.1, 3.0, size=240)
    smo, libsvm, descent = (
        solved_by(monkeypatch, solver, X, codes, KERNELS.get(kind, QUADRATIC), **options)
        for solver in ("smo", "libsvm", "coordinate descent")
    )
    np.testing.assert_allclose(smo.pairwise(X), libsvm.pairwise(X), rtol=1e-3, atol=2e-3)
    assert np.mean((smo.pairwise(X) > 0) == (descent.pairwise(X) > 0)) >= 0.985
    typical = np.median(np.abs(smo.pairwise(X) - descent.pairwise(X)))
    assert typical < 0.1 * np.median(np.abs(smo.pairwise(X)))


@pytest.mark.parametrize("kind", ["rbf", "poly", "sparse"])
def test_landmarks_serve_every_kernel_and_sparse_rows(monkeypatch, kind):
    monkeypatch.setattr(feature_training, "N_LANDMARKS", 200)
    monkeypatch.setattr(feature_training, "RELATIVE_GAP", 1e-3)
    X, codes = overlapping_classes(3, n=400, seed=15)
    kernel = KERNELS.get(kind, KERNELS["rbf"])
    rows = sparse.csr_array(X) if kind == "sparse" else X
    exact = train_machine(rows, codes, kernel, C=1.0, approximation="none")
    machine = train_machine(rows, codes, kernel, C=1.0, approximation="nystroem", random_state=0)
    report = machine.report
    assert report.n_landmarks == 200
    assert report.n_rows == 400
    assert 0 <= report.approximation_error < 0.05
    assert 0 <= report.gap <= 1e-3
    assert report.converged
    assert machine.vectors.shape == (200, 2)
    agreement = machine.decision(rows).argmax(axis=1) == exact.decision(rows).argmax(axis=1)
    assert agreement.mean() >= 0.98


def test_linear_kernel_needs_no_landmarks():
    X, codes = overlapping_classes(3, n=400, seed=16)
    X = X + 1e3
    exact = train_machine(X, codes, KERNELS["linear"], C=1.0, approximation="none")
    machine = train_machine(X, codes, KERNELS["linear"], C=1.0, approximation="nystroem")
    assert machine.vectors is None
    assert machine.coefficients.shape == (2, 3)
    assert machine.report.n_landmarks == 0
    assert machine.report.approximation_error == 0.0
    assert np.mean((machine.pairwise(X) > 0) == (exact.pairwise(X) > 0)) >= 0.985


@pytest.mark.parametrize(
    ("kind", "limit", "solver"),
    [
        ("rbf", "MAX_EXACT", "coordinate descent"),
        ("linear", "MAX_EXACT_LINEAR", "coordinate descent"),
        ("rbf", "MAX_SMO", "libsvm"),
        ("poly", "MAX_SMO", "libsvm"),
    ],
)
def test_solver_is_chosen_by_the_number_of_rows(monkeypatch, kind, limit, solver):
    X, codes = overlapping_classes()
    assert train_machine(X, codes, KERNELS[kind], C=1.0).report.solver == "smo"
    monkeypatch.setattr(training, limit, 59)
    assert train_machine(X, codes, KERNELS[kind], C=1.0).report.solver == solver
    exact = train_machine(X, codes, KERNELS[kind], C=1.0, approximation="none")
    assert exact.report.solver in ("smo", "libsvm")


def test_precomputed_kernel_is_exact_whatever_the_number_of_rows(monkeypatch):
    X, codes = overlapping_classes(3)
    monkeypatch.setattr(training, "MAX_EXACT", 10)
    monkeypatch.setattr(training, "MAX_SMO", 10)
    by_name = train_machine(X, codes, Kernel("linear"), C=1.0, approximation="none")
    new = X[::3] + 0.1
    for container in (np.asarray, sparse.csr_array):
        machine = train_machine(container(X @ X.T), codes, Kernel("precomputed"), C=1.0)
        assert machine.report.solver == "smo"
        values = machine.pairwise(container(new @ X.T))
        np.testing.assert_allclose(values, by_name.pairwise(new), atol=1e-3)
    with pytest.raises(ValueError, match="`approximation`='nystroem' needs rows"):
        train_machine(X @ X.T, codes, Kernel("precomputed"), C=1.0, approximation="nystroem")


def test_drawn_rows_are_weighted_to_represent_all_rows(monkeypatch):
    X, codes = overlapping_classes(2, n=1500, seed=17)
    rare = (codes == 0) | (np.arange(1500) < 150)  # ten times as many of one class
    X, codes = X[rare], codes[rare]
    options = {"C": 1.0, "approximation": "nystroem", "random_state": 0}
    whole = train_machine(X, codes, KERNELS["rbf"], **options)
    monkeypatch.setattr(feature_training, "MAX_FEATURE_ROWS", 400)
    part = train_machine(X, codes, KERNELS["rbf"], **options)
    assert (whole.report.n_rows, part.report.n_rows) == (825, 400)
    assert np.mean((whole.decision(X) > 0) == (part.decision(X) > 0)) > 0.97


@pytest.mark.parametrize(
    ("kind", "approximation"), [("linear", "nystroem"), ("rbf", "none"), ("rbf", "nystroem")]
)
def test_machine_does_not_depend_on_the_number_of_threads(kind, approximation):
    X, codes = overlapping_classes(5, n=300, seed=18)
    options = {"C": 1.0, "approximation": approximation, "random_state": 0}
    machines = [
        train_machine(X, codes, KERNELS[kind], n_jobs=n_jobs, **options) for n_jobs in (1, 2, None)
    ]
    for machine in machines[1:]:
        np.testing.assert_array_equal(machine.coefficients, machines[0].coefficients)
        np.testing.assert_array_equal(machine.intercepts, machines[0].intercepts)


@alternating_cases(kind=NAMED * 2, approximation=["none", "nystroem"], n_classes=[2, 3, 3, 2])
def test_scores_have_the_precision_of_the_rows(kind, approximation, n_classes):
    X, codes = overlapping_classes(n_classes, n=150, seed=19)
    options = {"C": 10.0, "approximation": approximation, "random_state": 0}
    machine = train_machine(X, codes, KERNELS[kind], **options)
    single = X.astype(np.float32)
    for rows in (X, single):
        f = machine.pairwise(rows)
        assert f.dtype == rows.dtype
        np.testing.assert_array_equal(machine.decision(rows), class_scores(f, n_classes))
    expected = machine.pairwise(single.astype(float))
    np.testing.assert_allclose(machine.pairwise(single), expected, rtol=1e-3, atol=1e-3)
    if approximation == "none":
        learned, expected = (
            train_machine(rows, codes, KERNELS[kind], **options).pairwise(X)
            for rows in (single, single.astype(float))
        )
        np.testing.assert_allclose(learned, expected, atol=1e-3)


def test_rbf_of_far_single_precision_rows_is_computed_in_double():
    X, codes = overlapping_classes()
    machine = train_machine(X, codes, Kernel("rbf", width=0.01), C=1.0)
    single = X.astype(np.float32)
    np.testing.assert_allclose(
        machine.decision(single), machine.decision(single.astype(float)), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("approximation", ["none", "nystroem"])
@pytest.mark.parametrize("kind", NAMED)
def test_small_classes_duplicates_and_constant_features_are_learned(kind, approximation):
    X = np.array([[0.0, 5.0], [2.0, 5.0], [2.0, 5.0], [2.0, 5.0], [-3.0, 5.0]])
    codes = np.array([0, 1, 1, 1, 2])
    options = {"approximation": approximation, "random_state": 0}
    small, large = (train_machine(X, codes, KERNELS[kind], C=C, **options) for C in (1e-4, 100.0))
    assert np.isfinite(small.pairwise(X)).all()
    np.testing.assert_array_equal(large.decision(X).argmax(axis=1), codes)


@pytest.mark.parametrize("approximation", ["none", "nystroem"])
def test_rows_of_weight_zero_do_not_matter(approximation):
    X, codes = overlapping_classes(3, n=120, seed=20)
    weights = (np.random.default_rng(20).random(120) < 0.6).astype(float)
    options = {"C": 1.0, "approximation": approximation, "random_state": 0}
    weighted = train_machine(X, codes, KERNELS["rbf"], sample_weight=weights, **options)
    kept = weights > 0
    expected = train_machine(X[kept], codes[kept], KERNELS["rbf"], **options)
    difference = np.abs(weighted.pairwise(X) - expected.pairwise(X)).mean()
    assert difference < (1e-3 if approximation == "none" else 0.05)


@pytest.mark.parametrize("weights", [[1, 1, -1, 1], [1, 1, 0, 0], [1, 1, np.nan, 1]], ids=str)
def test_sample_weights_must_be_positive_in_every_class(weights):
    with pytest.raises(ValueError, match="`sample_weight` must be >= 0, with a positive weight"):
        train_machine(
            np.eye(4), np.array([0, 0, 1, 1]), Kernel("rbf"), C=1.0, sample_weight=np.array(weights)
        )


@pytest.mark.parametrize(("n_classes", "changed"), [(2, "C"), (3, "labels"), (3, "nothing")])
def test_start_from_another_machine_changes_nothing_but_the_work(monkeypatch, n_classes, changed):
    iterations = {"cold": 0, "warm": 0}
    solve = kernel_training.solve_smo_pairs
    for seed in range(5):
        X, codes = overlapping_classes(n_classes, n=150, seed=seed)
        K = KERNELS["rbf"](X, X)
        before = train_on_kernel(K, codes, C=1.0)
        if changed == "labels":
            codes = np.where(np.arange(150) < 5, (codes + 1) % n_classes, codes)
        values = {}
        for kind, start in (("cold", None), ("warm", before)):

            def counting(*arguments, kind=kind, **options):
                solution = solve(*arguments, **options)
                iterations[kind] += solution.iterations.sum()
                return solution

            monkeypatch.setattr(kernel_training, "solve_smo_pairs", counting)
            C = 1.5 if changed == "C" else 1.0
            values[kind] = train_on_kernel(K, codes, C=C, start=start).pairwise(K)
        monkeypatch.setattr(kernel_training, "solve_smo_pairs", solve)
        np.testing.assert_allclose(values["warm"], values["cold"], atol=1e-3)
    assert changed == "labels" or iterations["warm"] < iterations["cold"]
    assert changed != "nothing" or iterations["warm"] == 0


def limited(solve, **limits):
    return lambda *arguments, **options: solve(*arguments, **{**options, **limits})


@pytest.mark.parametrize("kind", ["precomputed", "nystroem"])
def test_failure_to_converge_is_in_the_report(monkeypatch, kind):
    X, codes = overlapping_classes()
    monkeypatch.setattr(
        kernel_training, "solve_smo_pairs", limited(solve_smo_pairs, max_iterations=5)
    )
    monkeypatch.setattr(feature_training, "solve_centered", limited(solve_centered, max_epochs=2))
    rows, kernel, approximation = {
        "precomputed": (X @ X.T, Kernel("precomputed"), "none"),
        "nystroem": (X, KERNELS["rbf"], "nystroem"),
    }[kind]
    machine = train_machine(rows, codes, kernel, C=100.0, approximation=approximation)
    assert not machine.report.converged
    assert re.match("max-margin machine: .* lower C", machine.report.failure)


def test_libsvm_is_used_where_smo_does_not_converge(monkeypatch):
    X, codes = overlapping_classes()
    expected = train_machine(X, codes, KERNELS["rbf"], C=1.0)
    monkeypatch.setattr(
        kernel_training, "solve_smo_pairs", limited(solve_smo_pairs, max_iterations=5)
    )
    machine = train_machine(X, codes, KERNELS["rbf"], C=1.0)
    assert expected.report.solver == "smo"
    assert machine.report.solver == "libsvm"
    np.testing.assert_allclose(machine.decision(X), expected.decision(X), atol=2e-3)


@pytest.mark.parametrize("approximation", ["none", "nystroem"])
def test_progress_is_reported_and_its_callback_can_interrupt(approximation):
    X, codes = overlapping_classes(4, n=200)
    news = []
    options = {"C": 1.0, "approximation": approximation, "random_state": 0}
    train_machine(X, codes, KERNELS["rbf"], progress=lambda *a: news.append(a), **options)
    assert news[-1][0] == 1.0
    assert all(0 <= share <= 1 for share, _ in news)

    def interrupt(_share, _message):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train_machine(X, codes, KERNELS["rbf"], progress=interrupt, **options)


@pytest.mark.parametrize(("kind", "n_classes"), [("linear", 2), ("rbf", 4)])
def test_joint_values_of_a_path_are_those_of_its_machines(kind, n_classes):
    X, codes = overlapping_classes(n_classes)
    few = np.where(np.arange(len(codes)) < 24, codes, -1)
    W = sparse.csr_array(np.exp(-np.square(X[:, None] - X).sum(axis=2)))
    machines = train_manifold(
        *(X, few, KERNELS[kind], W), C=2.0, gamma_us=[0.0, 1e-3, 0.1], approximation="nystroem"
    )
    for machine, values in zip(machines, pairwise_values(machines, X), strict=True):
        np.testing.assert_allclose(values, machine.pairwise(X), atol=1e-10)


@pytest.mark.parametrize(
    ("n_classes", "n_machines", "n"), [(2, 1, 24), (2, 30, 24), (3, 9, 24), (4, 11, 24), (8, 3, 16)]
)
def test_joint_values_on_a_kernel_matrix_are_those_of_each_machine(n_classes, n_machines, n):
    # 24 rows are 24 machines at a time for two classes, 8 for three and 4 for four. The 28 pairs
    # of 8 classes are more than 16 rows: one machine at a time.
    X, codes = overlapping_classes(n_classes, n=n)
    K, rng = KERNELS["rbf"](X, X), np.random.default_rng(0)
    machines = [
        train_on_kernel(K, codes, C=0.1 * (1 + i % 7), sample_weight=rng.uniform(0.01, 2, size=n))
        for i in range(n_machines)
    ]
    assert n_machines < 5 or len({machine.vectors.tobytes() for machine in machines}) > 1
    for rows in (K, K[::5], K[:0]):
        for machine, values in zip(machines, pairwise_values(machines, rows), strict=True):
            assert values.shape == (len(rows), n_classes * (n_classes - 1) // 2)
            np.testing.assert_allclose(values, machine.pairwise(rows), atol=1e-12)


@alternating_cases(kind=list(KERNELS), n_classes=[2, 3])
def test_machine_without_bias_fulfills_its_optimality_conditions(kind, n_classes):
    X, codes = overlapping_classes(n_classes)
    K = KERNELS[kind](X, X)
    values, vectors = np.linalg.eigh(K)
    machine = kernel_training.train_without_bias(
        vectors * np.sqrt(np.maximum(values, 0.0)), codes, C=0.7
    )
    assert (machine.intercepts == 0).all()
    for pair, (i, j) in enumerate(itertools.combinations(range(n_classes), 2)):
        alpha = np.zeros(len(X))
        alpha[machine.vectors] = machine.coefficients[:, pair]
        signs = np.select([codes == i, codes == j], [1.0, -1.0])
        margins = signs * machine.pairwise(K)[:, pair]
        assert (alpha[signs == 0] == 0).all()
        assert (signs * alpha >= 0).all()
        assert (margins[(signs != 0) & (signs * alpha < 0.7)] >= 1 - 1e-5).all()
        assert (margins[signs * alpha > 0] <= 1 + 1e-5).all()


# Scores of pairs.


def test_scores_of_two_classes_are_positive_for_the_second():
    scores = class_scores(np.array([[1.5], [-2.0], [0.0]]), 2)
    assert scores.tolist() == [-1.5, 2.0, 0.0]
    assert predicted_codes(scores).tolist() == [0, 1, 0]
    assert predicted_codes(scores[:0]).shape == (0,)


# Weighted sums.


def assert_is_weighted_sum(total, machines, weights, X):
    expected = sum(w * machine.pairwise(X) for w, machine in zip(weights, machines, strict=True))
    np.testing.assert_allclose(total.pairwise(X), expected, atol=1e-10)


@alternating_cases(
    kind=list(KERNELS),
    n_classes=[2, 4, 4],
    container=[np.asarray, np.asarray, sparse.csr_array, sparse.csr_array, sparse.csr_array],
)
def test_blend_is_the_weighted_sum_of_machines_with_different_vectors(kind, n_classes, container):
    kernel = KERNELS[kind]
    X, codes = overlapping_classes(n_classes)
    new = container(np.random.default_rng(1).normal(size=(15, 2)))
    X = container(X)
    machines = [train_machine(X, codes, kernel, C=C) for C in (0.05, 1.0, 20.0)]
    assert len({machine.vectors.shape[0] for machine in machines}) > 1
    before = [machine.pairwise(X) for machine in machines]
    weights = [0.2, 1.5, -0.3]
    total = blend_machines(machines, weights)
    np.testing.assert_array_equal([machine.pairwise(X) for machine in machines], before)
    assert total.vectors is None if kernel.kind == "linear" else type(total.vectors) is type(X)
    for rows in (X, new):
        assert_is_weighted_sum(total, machines, weights, rows)


@pytest.mark.parametrize(
    ("container", "kind", "n_classes"),
    [(np.asarray, "linear", 3), (np.asarray, "rbf", 2), (sparse.csr_array, "rbf", 3)],
)
def test_blend_of_machines_with_the_same_vectors_keeps_them_once(container, kind, n_classes):
    X, codes = overlapping_classes(n_classes)
    X = container(X)
    first = train_machine(X, codes, KERNELS[kind], C=1.0)
    same = replace(first, coefficients=2 * first.coefficients, intercepts=first.intercepts + 1)
    copied = replace(same, vectors=first.vectors.copy())
    for other in (same, copied):
        total = blend_machines([first, other], [0.25, 0.5])
        assert kind == "linear" or total.vectors.shape == first.vectors.shape
        assert_is_weighted_sum(total, [first, other], [0.25, 0.5], X)


def test_blend_of_a_precomputed_kernel_adds_up_coefficients_by_row_number():
    X, codes = overlapping_classes(3)
    K = KERNELS["rbf"](X, X)
    machines = [train_on_kernel(K, codes, C=C) for C in (0.05, 1.0, 20.0)]
    assert len({len(machine.vectors) for machine in machines}) > 1
    total = blend_machines(machines, [0.5, 0.2, 0.3])
    everyone = np.unique(np.concatenate([machine.vectors for machine in machines]))
    np.testing.assert_array_equal(total.vectors, everyone)
    assert_is_weighted_sum(total, machines, [0.5, 0.2, 0.3], K)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_a_collapsed_linear_machine_is_the_same_function(container):
    X, codes = overlapping_classes(3)
    X = container(X)
    machine = train_machine(X, codes, Kernel("linear", width=2.5), C=1.0)
    collapsed = machine.collapse_linear()
    assert machine.vectors is not None
    assert collapsed.vectors is None
    assert collapsed.coefficients.shape == (2, 3)
    np.testing.assert_allclose(collapsed.pairwise(X), machine.pairwise(X), atol=1e-12)
    assert collapsed.collapse_linear() is collapsed
