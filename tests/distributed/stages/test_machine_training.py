"""The machine of rows in parts: the same problem, solved to the same gap, as on one machine."""

import re
from dataclasses import replace

import numpy as np
import pytest

from graphmargin.distributed.engine.handles import (
    PartitionedGraph,
    PartitionedPoints,
    Points,
    Solution,
    StoredMachine,
    StoredSolution,
    Vertices,
    take_rows,
)
from graphmargin.distributed.engine.run import open_run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages import machine_training as module
from graphmargin.distributed.stages import pair_solver, score_calibration
from graphmargin.distributed.stages.machine_training import train
from graphmargin.distributed.stages.score_calibration import calibrate
from graphmargin.distributed.stages.training_rows import BlendedCandidate, TrainingPlan
from graphmargin.margin._solvers.coordinate_descent import best_shift
from graphmargin.margin.calibration import calibrate_machine, calibration_targets
from graphmargin.margin.induced import confident_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import blend_machines, predicted_codes
from graphmargin.margin.training import train_machine

FIRST, SECOND = 0.1, 0.2
"""Values of gamma_g, whose solutions are written."""


def mixture(n, n_classes, *, d=8, n_modes=3, n_labels=20, seed=0):
    """Return rows, given codes, and an induced solution that errs now and then."""
    random = np.random.default_rng(seed)
    true = random.integers(0, n_classes, n)
    centers = random.normal(size=(n_classes, n_modes, d)) * 2.0
    X = (centers[true, random.integers(0, n_modes, n)] + random.normal(size=(n, d))).astype(
        np.float32
    )
    given = np.full(n, -1, dtype=np.int32)
    for c in range(n_classes):
        given[np.flatnonzero(true == c)[:n_labels]] = c
    mass = random.dirichlet(np.full(n_classes, 0.3), n) + 2.0 * np.eye(n_classes)[true]
    mass = (mass / mass.sum(axis=1, keepdims=True)).astype(np.float32)
    mass[given >= 0] = np.eye(n_classes)[given[given >= 0]]
    best = np.sort(mass, axis=1)
    confidence = np.where(given >= 0, 1.0, best[:, -1] - best[:, -2])
    codes = np.where(given >= 0, given, mass.argmax(axis=1)).astype(np.int32)
    nowhere = random.random(n) < 0.02
    nowhere[given >= 0] = False
    codes[nowhere], confidence[nowhere] = -1, 0.0
    return X, given, Solution(codes, confidence, mass)


def write(folder, X, given, *solutions, n_partitions=6):
    """Write partitions that are regions of space, the second one empty."""
    edges = np.quantile(X[:, 0], np.linspace(0, 1, n_partitions)[1:-1])
    owner = np.searchsorted(edges, X[:, 0])
    owner[owner > 0] += 1
    for number in range(n_partitions):
        rows = np.flatnonzero(owner == number)
        PartitionedGraph(folder).write(number, Vertices(rows, given[rows]))
        PartitionedPoints(folder).write(number, Points(X[rows]))
        for gamma_g, solution in zip((FIRST, SECOND), solutions, strict=False):
            StoredSolution(folder, gamma_g).write(number, take_rows(solution, rows))
    return np.argsort(owner, kind="stable")


def force_groups(monkeypatch, n_rows, n_groups):
    monkeypatch.setattr(module, "rows_per_group", lambda *_: -(-n_rows // n_groups))


def objectives(machine, X, codes, weights, C):
    """Return the primal objective of every pair of classes, on the machine's own features."""
    if machine.vectors is None:  # a linear machine keeps its weights
        norms = (machine.coefficients**2).sum(axis=0) / machine.kernel.width**2
    else:
        K = machine.kernel(machine.vectors - machine.center, machine.vectors - machine.center)
        norms = np.einsum("ip,ij,jp->p", machine.coefficients, K, machine.coefficients)
    f, found, pair = machine.pairwise(X.astype(np.float64)), [], 0
    for i in range(machine.n_classes):
        for j in range(i + 1, machine.n_classes):
            rows = np.isin(codes, [i, j]) & (weights > 0)
            signs = np.where(codes[rows] == i, 1.0, -1.0)
            losses = weights[rows] @ np.maximum(1 - signs * f[rows, pair], 0)
            found.append(norms[pair] / 2 + C * losses)
            pair += 1
    return np.array(found)


@pytest.fixture
def run(cluster, tmp_path):
    return open_run(Folder(str(tmp_path)), cluster, {}, resume=False)


def plan_of(n_classes, *candidates):
    return TrainingPlan(candidates, n_classes, eps=1e-6, loss_weights="confidence", seed=0)


def learned(run, kernel, n_classes, *candidates, center=None):
    """Return what is learned from six partitions."""
    center = np.zeros(8) if center is None else center
    return train(run, 6, plan_of(n_classes, *candidates), kernel, center)


def learned_from(given, solution):
    return confident_labels(
        solution.codes, solution.confidence, given, eps=1e-6, loss_weights="confidence"
    )


@pytest.mark.parametrize(
    ("kind", "n_classes", "n_groups"),
    [("rbf", 2, 1), ("rbf", 4, 3), ("linear", 2, 5), ("linear", 4, 3)],
)
def test_objective_and_predictions_are_those_of_one_machine(
    run, monkeypatch, kind, n_classes, n_groups
):
    X, given, solution = mixture(4_000, n_classes, n_modes=1 if kind == "linear" else 3)
    write(run.folder, X, given, solution)
    labels = learned_from(given, solution)
    used = np.flatnonzero(labels.mask)
    force_groups(monkeypatch, len(used), n_groups)
    center, kernel = np.median(X, axis=0).astype(np.float64), Kernel(kind, 4.0)
    machine = learned(run, kernel, n_classes, BlendedCandidate(FIRST, 1.0, 1.0), center=center)
    assert machine.report.converged
    assert machine.report.gap <= (0.002 if kind == "linear" else 0.01)
    assert machine.report.n_rows == len(used)
    alone = train_machine(
        X[used],
        labels.codes[used],
        kernel,
        C=1.0,
        sample_weight=labels.weights[used],
        approximation="nystroem",
        center=center,
        random_state=0,
    )
    objective, expected = (
        objectives(m, X, labels.codes, labels.weights, 1.0) for m in (machine, alone)
    )
    # Landmarks are other random rows; with the rows as features, the problem is the same.
    tolerance = 0.005 if kind == "linear" else 0.02
    np.testing.assert_allclose(objective, expected, rtol=tolerance)
    agree = predicted_codes(machine.decision(X)) == predicted_codes(alone.decision(X))
    assert agree.mean() > (0.995 if kind == "linear" else 0.99)


@pytest.mark.parametrize(("n_classes", "C"), [(2, 30.0), (4, 1.0)])
def test_groups_agree_with_a_single_one_on_the_same_landmarks(
    cluster, tmp_path, monkeypatch, n_classes, C
):
    X, given, solution = mixture(4_000, n_classes, seed=1)
    labels = learned_from(given, solution)
    machines = []
    for n_groups in (1, 3):
        run = open_run(Folder(str(tmp_path / str(n_groups))), cluster, {}, resume=False)
        write(run.folder, X, given, solution)
        force_groups(monkeypatch, int(labels.mask.sum()), n_groups)
        machines.append(
            learned(run, Kernel("rbf", 4.0), n_classes, BlendedCandidate(FIRST, C, 1.0))
        )
    single, several = machines
    np.testing.assert_array_equal(single.vectors, several.vectors)
    assert several.report.converged
    assert several.report.approximation_error == pytest.approx(
        single.report.approximation_error, rel=0.1
    )
    values = [objectives(machine, X, labels.codes, labels.weights, C) for machine in machines]
    np.testing.assert_allclose(*values, rtol=0.01)
    agree = predicted_codes(single.decision(X)) == predicted_codes(several.decision(X))
    assert agree.mean() > 0.995


@pytest.mark.parametrize("n_groups", [1, 3])
def test_the_machine_is_the_weighted_sum_of_its_candidates(
    cluster, tmp_path, monkeypatch, n_groups
):
    X, given, first = mixture(2000, 3, n_labels=60)
    other = first._replace(confidence=np.where(given >= 0, 1.0, first.confidence**2))
    candidates = [
        BlendedCandidate(FIRST, 1.0, 0.5),
        BlendedCandidate(np.inf, 3.0, 0.3),
        BlendedCandidate(SECOND, 0.5, 0.2),
    ]
    force_groups(monkeypatch, 2000, n_groups)

    def sum_of(name, *some):
        run = open_run(Folder(str(tmp_path / name)), cluster, {}, resume=False)
        write(run.folder, X, given, first, other)
        # The features of a linear kernel do not depend on the rows.
        return learned(run, Kernel("linear", 4.0), 3, *some)

    together = sum_of("all", *candidates)
    alone = [
        sum_of(str(i), replace(candidate, factor=1.0)) for i, candidate in enumerate(candidates)
    ]
    mean = blend_machines(alone, [0.5, 0.3, 0.2])
    expected = mean.pairwise(X)
    # One group takes the same steps, whoever learns beside; several take them in turn.
    tolerance = 1e-4 if n_groups == 1 else 0.2
    np.testing.assert_allclose(together.pairwise(X), expected, atol=tolerance)


@pytest.mark.parametrize(("kind", "n_groups"), [("rbf", 3), ("linear", 1)])
def test_a_supervised_candidate_learns_from_given_labels(run, monkeypatch, kind, n_groups):
    X, given, solution = mixture(2000, 3, n_labels=60)
    write(run.folder, X, given, solution)
    force_groups(monkeypatch, 180, n_groups)
    supervised = learned(run, Kernel(kind, 4.0), 3, BlendedCandidate(np.inf, 3.0, 0.3))
    labeled = given >= 0
    assert supervised.report.n_rows == labeled.sum()
    exact = train_machine(
        X[labeled],
        given[labeled],
        Kernel(kind, 4.0),
        C=3.0,
        approximation="none",
        center=np.zeros(8),
    )
    agree = predicted_codes(supervised.decision(X)) == predicted_codes(exact.decision(X))
    assert agree.mean() > 0.98


def test_drawn_rows_have_the_weight_of_all_rows(cluster, tmp_path, monkeypatch):
    X, given, solution = mixture(8000, 3, n_labels=50)
    labels = learned_from(given, solution)
    machines = []
    for limit in (50_000, 2000):
        run = open_run(Folder(str(tmp_path / str(limit))), cluster, {}, resume=False)
        write(run.folder, X, given, solution)
        monkeypatch.setattr(module, "MAX_FEATURE_ROWS", limit)
        machines.append(
            learned(
                run,
                Kernel("rbf", 4.0),
                3,
                BlendedCandidate(FIRST, 0.01, 1.0),
                BlendedCandidate(np.inf, 0.01, 0.0),
            )
        )
    whole, drawn = machines
    assert whole.report.n_rows == labels.mask.sum()
    assert drawn.report.n_rows == 2000
    np.testing.assert_array_equal(whole.vectors, drawn.vectors)
    values = [objectives(machine, X, labels.codes, labels.weights, 0.01) for machine in machines]
    np.testing.assert_allclose(*values, rtol=0.03)


def test_a_class_may_be_in_one_group_only(run, monkeypatch):
    X, given, solution = mixture(2000, 4)
    far = solution.codes == 3
    X[far, 0] += 10
    write(run.folder, X, given, solution)
    force_groups(monkeypatch, 2000, 4)
    machine = learned(run, Kernel("linear", 4.0), 4, BlendedCandidate(FIRST, 1.0, 1.0))
    assert machine.report.converged
    assert (predicted_codes(machine.decision(X))[far] == 3).mean() > 0.99


def test_biases_are_the_best_for_the_weights(run, monkeypatch):
    X, given, solution = mixture(5000, 3, seed=2)
    write(run.folder, X, given, solution)
    force_groups(monkeypatch, 5000, 3)
    machine = learned(run, Kernel("linear", 4.0), 3, BlendedCandidate(FIRST, 1.0, 1.0))
    labels, f = learned_from(given, solution), machine.pairwise(X.astype(np.float64))
    for pair, classes in enumerate([(0, 1), (0, 2), (1, 2)]):
        rows = np.isin(labels.codes, classes) & labels.mask
        signs = np.where(labels.codes[rows] == classes[0], 1.0, -1.0)
        shift = best_shift(f[rows, pair], signs, labels.weights[rows])
        assert abs(shift) < 1e-5


def test_too_few_epochs_are_reported_as_a_failure(run, monkeypatch):
    X, given, solution = mixture(2000, 2)
    write(run.folder, X, given, solution)
    monkeypatch.setattr(pair_solver, "MAX_EPOCHS", 2)
    arguments = (run, Kernel("linear", 4.0), 2, BlendedCandidate(FIRST, 100.0, 1.0))
    machine = learned(*arguments)
    assert re.search("gap is .* scale the features or lower C", machine.report.failure)
    assert machine.report.gap > 0.002
    assert learned(*arguments).report == machine.report


def test_a_run_that_goes_on_reads_the_machine(run, monkeypatch):
    X, given, solution = mixture(2000, 3)
    write(run.folder, X, given, solution)
    plan = plan_of(3, BlendedCandidate(FIRST, 1.0, 1.0))
    arguments = (run, 6, plan, Kernel("poly", 4.0, 2, 0.5), 0.0)
    machine = train(*arguments)
    monkeypatch.setattr(module, "_solve", None)
    for again in (train(*arguments), StoredMachine(run.folder).read()):
        assert again.kernel == machine.kernel
        assert again.report == machine.report
        assert (again.n_classes, again.center) == (3, 0.0)
        np.testing.assert_array_equal(again.decision(X), machine.decision(X))


@pytest.mark.parametrize("is_supervised", [False, True])
def test_calibration_is_that_of_a_sample_of_the_rows_learned_from(run, monkeypatch, is_supervised):
    X, given, solution = mixture(3000, 3, n_labels=40)
    order = write(run.folder, X, given, solution)
    gamma_g = np.inf if is_supervised else FIRST
    plan = plan_of(3, BlendedCandidate(gamma_g, 1.0, 1.0))
    machine = train(run, 6, plan, Kernel("linear", 4.0), np.zeros(8))
    monkeypatch.setattr(score_calibration, "CALIBRATION_ROWS", 5000)
    calibration = calibrate(run, 6, machine, plan, gamma_g)
    used = given >= 0 if is_supervised else learned_from(given, solution).mask
    rows = order[used[order]]
    targets = calibration_targets(solution.mass.astype(np.float64), given)[rows]
    expected = calibrate_machine(machine, X[rows], targets)
    np.testing.assert_allclose(calibration.pair_scales, expected.pair_scales)
    assert calibration.inverse_temperature == pytest.approx(expected.inverse_temperature)
    assert calibration.uniform_share == pytest.approx(expected.uniform_share)


def test_the_uniform_share_of_a_calibration_counts_all_labels(run, monkeypatch):
    X, given, solution = mixture(3000, 2, n_labels=500)
    write(run.folder, X, given, solution)
    plan = plan_of(2, BlendedCandidate(np.inf, 1.0, 1.0))
    machine = train(run, 6, plan, Kernel("linear", 4.0), np.zeros(8))
    seen = []
    monkeypatch.setattr(
        score_calibration,
        "calibrate_machine",
        lambda _, rows, targets, __: seen.append((rows, targets)),
    )
    monkeypatch.setattr(score_calibration, "CALIBRATION_ROWS", 100)
    calibrate(run, 6, machine, plan, np.inf)
    ((rows, targets),) = seen
    assert len(rows) == len(targets) == 100
    np.testing.assert_allclose(targets.max(axis=1), 501 / 502)
