"""The max-margin machine of rows that lie in parts on storage."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.blocks import GRAPH, POINTS
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.duels import duels_of, moments_of
from graphmargin.distributed.lessons import (
    Candidate,
    Lesson,
    count_rows,
    group_rows,
    load_group,
    quotas_of,
    sample_rows,
    terms_of,
)
from graphmargin.distributed.rounds import biases_of, solve_duels
from graphmargin.distributed.run import Run, file_name
from graphmargin.distributed.sampling import apportion, draw
from graphmargin.distributed.storage import Arrays, Folder
from graphmargin.margin.calibration import Calibration, calibration_targets, fit_calibration
from graphmargin.margin.coordinate_descent import RELATIVE_GAP
from graphmargin.margin.features import FeatureMap, even_quotas, landmark_features, row_features
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, blend
from graphmargin.margin.training import (
    LINEAR_GAP,
    MAX_FEATURE_ROWS,
    N_LANDMARKS,
    gap_message,
    landmark_precision,
)
from graphmargin.selection.cuts import CALIBRATION_ROWS

MACHINE = "machine.pack"
GROUPS = "groups.json"
SHARE_OF_A_GROUP = 0.5
"""Of the memory of a task, for the features of its group."""
REPORT = ("C", "n_rows", "n_landmarks", "approximation_error", "gap", "converged")


def learn(
    run: Run,
    n_parts: int,
    candidates: Sequence[Candidate],
    kernel: Kernel,
    *,
    center: FloatArray | float,
    n_classes: int,
    eps: float,
    loss_weights: str,
    seed: int,
) -> MarginMachine:
    """Return the sum of the candidates' max-margin machines, each times its factor.

    The problem of each is that of `graphmargin.margin.training.train_machine` with
    ``approximation="nystroem"``: on the rows themselves for a linear kernel, else on kernel values
    to 500 landmarks, for up to 200,000 rows that stand for the others.

    Parameters
    ----------
    run : Run
        Of which ``graph/``, ``points/`` and the solutions of the candidates are there. The machine
        is kept as ``machine.pack``: a run that goes on reads it.
    n_parts : int
    candidates : sequence of Candidate
    kernel : Kernel
    center : array of shape (d,) or 0.0
        What to subtract from all rows; an array if the kernel is linear.
    n_classes : int
        All of which have labeled rows.
    eps, loss_weights
        As in `graphmargin.margin.induced.induced_labels`.
    seed : int

    Returns
    -------
    MarginMachine
        Its report is that of the first candidate, with the largest gap of all.
    """
    if not run.folder.exists(MACHINE):
        lesson = Lesson(tuple(candidates), n_classes, eps, loss_weights, seed)
        _save_machine(run.folder, _learn(run, n_parts, lesson, kernel, center))
    return load_machine(run.folder)


def _learn(
    run: Run, n_parts: int, lesson: Lesson, kernel: Kernel, center: FloatArray | float
) -> MarginMachine:
    is_linear = kernel.kind == "linear"
    notes = run.stage("rows to learn from", count_rows, n_parts, lesson)
    counts = np.array([note["counts"] for note in notes])
    totals = counts.sum(axis=0)
    quotas = apportion(
        counts, totals if is_linear else quotas_of(totals, MAX_FEATURE_ROWS), lesson.seed
    )
    by_class = counts[:, : lesson.n_classes] + counts[:, lesson.n_classes :]
    n_landmarks = 0 if is_linear else N_LANDMARKS
    of_landmarks = apportion(by_class, even_quotas(by_class.sum(axis=0), n_landmarks), lesson.seed)
    items = list(zip(quotas, of_landmarks, strict=True))
    samples = run.stage("landmarks", sample_rows, items, lesson)
    drawn = np.sum([note["weights"] for note in samples], axis=0)
    total = np.sum([note["weights"] for note in notes], axis=0)
    factors = np.divide(total, drawn, out=np.ones_like(total), where=drawn > 0)
    feature_map = _feature_map(kernel, [note["landmarks"] for note in samples], center)
    n_rows = int(run.settled(GROUPS, rows_of_a_group(run.cluster, feature_map.dimension, lesson)))
    stretches = group_rows(quotas, n_rows)
    name = f"max-margin machine on {int(quotas.sum()):,} rows in {len(stretches)} groups"
    began, cluster = time.perf_counter(), run.cluster
    with report_stage(name, run.verbose) as news:
        groups = cluster.submit(
            "features",
            load_group,
            stretches,
            run.folder,
            lesson,
            cluster.share("feature map", feature_map),
            factors,
        )
        found = cluster.run("moments", moments_of, groups)
        moments = [
            tuple(np.sum(parts, axis=0) for parts in zip(*candidate, strict=True))
            for candidate in zip(*found, strict=True)
        ]
        duels = duels_of(moments)
        gap = LINEAR_GAP if is_linear else RELATIVE_GAP
        points = solve_duels(
            *(cluster, groups, duels),
            relative_gap=gap,
            most_pooled=n_rows,
            seed=lesson.seed,
            progress=news,
        )
        biases = biases_of(cluster, groups, duels, points)
        errors = cluster.run("error", _error_of, groups)
        cluster.release(groups)
    run.seconds["machine"] = time.perf_counter() - began
    error, n_measured = np.sum(errors, axis=0)
    largest_gap = max(point.gap for point in points)
    converged = all(point.gap <= gap for point in points)
    report = TrainingReport(
        "coordinate descent",
        lesson.candidates[0].C,
        int(moments[0][0].sum()),
        form="rows" if is_linear else "landmarks",
        n_landmarks=sum(len(note["landmarks"]) for note in samples),
        approximation_error=float(error / max(n_measured, 1)),
        gap=largest_gap,
        failure="" if converged else gap_message(largest_gap),
    )
    weights = np.column_stack([point.weights for point in points])
    n_pairs = len(points) // len(lesson.candidates)
    machines = [
        feature_map.machine(some, intercepts, lesson.n_classes, report)
        for some, intercepts in zip(
            np.split(weights, len(lesson.candidates), axis=1),
            biases.reshape(-1, n_pairs),
            strict=True,
        )
    ]
    # Machines of one kernel and center add up to a single one.
    (machine,) = blend(machines, [candidate.factor for candidate in lesson.candidates])
    return machine


def _feature_map(
    kernel: Kernel, landmarks: Sequence[FloatArray], center: FloatArray | float
) -> FeatureMap:
    if kernel.kind == "linear":
        return row_features(kernel, np.asarray(center))
    rows = np.concatenate(landmarks).astype(landmark_precision(kernel), copy=False)
    return landmark_features(kernel, rows, center)


def rows_of_a_group(cluster: Cluster, n_features: int, lesson: Lesson) -> int:
    """Return how many rows a group may have: their features and dual variables stay in memory."""
    variables = 2 * len(lesson.candidates) * (lesson.n_classes - 1)
    memory = SHARE_OF_A_GROUP * cluster.memory_of_a_task
    return max(1, int(memory / (4 * (n_features + variables))))


def _error_of(group: Any) -> tuple[float, int]:
    return group.error, group.n_measured


def _save_machine(folder: Folder, machine: MarginMachine) -> None:
    kernel, report = machine.kernel, machine.report
    vectors = {} if machine.vectors is None else {"vectors": machine.vectors}
    arrays = {
        **vectors,
        "coefficients": machine.coefficients,
        "intercepts": machine.intercepts,
        "n_classes": np.array(machine.n_classes),
        "center": np.asarray(machine.center),
        "kind": np.array(kernel.kind),
        "kernel": np.array([kernel.width, kernel.degree, kernel.coef0]),
        "report": np.array([float(getattr(report, name)) for name in REPORT]),
    }
    folder.write(MACHINE, arrays)


def load_machine(folder: Folder) -> MarginMachine:
    """Return the machine that `learn` has kept in the folder of a run."""
    kept = folder.read(MACHINE)
    kind: Any = str(kept["kind"])
    width, degree, coef0 = kept["kernel"].tolist()
    numbers = dict(zip(REPORT, kept["report"].tolist(), strict=True))
    form: Literal["rows", "landmarks"] = "rows" if kind == "linear" else "landmarks"
    report = TrainingReport(
        "coordinate descent",
        numbers["C"],
        int(numbers["n_rows"]),
        form=form,
        n_landmarks=int(numbers["n_landmarks"]),
        approximation_error=numbers["approximation_error"],
        gap=numbers["gap"],
        failure="" if numbers["converged"] else gap_message(numbers["gap"]),
    )
    center = kept["center"]
    return MarginMachine(
        Kernel(kind, width, int(degree), coef0),
        kept.get("vectors"),
        kept["coefficients"],
        kept["intercepts"],
        n_classes=int(kept["n_classes"]),
        center=center if center.ndim else float(center),
        report=report,
    )


def calibrate(
    run: Run, n_parts: int, machine: MarginMachine, solution: str | None, *, eps: float, seed: int
) -> Calibration:
    """Return the calibration of the machine's probabilities.

    They fit the class masses of up to 2,000 rows that the machine has learned from, as those of
    `graphmargin.MaxMarginGraphCut` do.

    Parameters
    ----------
    run : Run
    n_parts : int
    machine : MarginMachine
    solution : str or None
        Folder of the solution that the machine has learned from; None if that were given labels.
    eps : float
        Confidence from which on an induced label was learned from.
    seed : int
    """
    candidate = Candidate(machine.report.C, 1.0, solution)
    lesson = Lesson((candidate,), machine.n_classes, eps, "equal", seed)
    notes = run.stage("rows to calibrate", count_rows, n_parts, lesson)
    counts = np.array([note["counts"] for note in notes])
    quotas = apportion(counts.sum(axis=1, keepdims=True), np.array([CALIBRATION_ROWS]), seed)
    samples = run.stage("calibration", _sample_to_calibrate, list(quotas), lesson)
    X, mass, codes = (
        np.concatenate([note[name] for note in samples]) for name in ("X", "mass", "codes")
    )
    n_labels = counts[:, machine.n_classes :].sum(axis=0)
    targets = calibration_targets(mass.astype(np.float64), codes, n_labels)
    return fit_calibration(machine.decision(X), targets)


def _sample_to_calibrate(folder: Folder, part: int, quotas: IntArray, lesson: Lesson) -> Arrays:
    """Return some rows that were learned from, where their walks end, and their given labels."""
    terms = terms_of(folder, part, lesson)
    rows = draw(np.minimum(terms.strata, 0), quotas, [lesson.seed, part])
    solution = lesson.candidates[0].solution
    mass = np.zeros((len(rows), lesson.n_classes))
    if solution is not None:
        mass = (folder / solution).read(file_name(part), ["mass"], rows=rows)["mass"]
    return {
        "X": (folder / POINTS).read(file_name(part), ["X"], rows=rows)["X"],
        "mass": mass,
        "codes": (folder / GRAPH).read(file_name(part), ["codes"], rows=rows)["codes"],
    }
