"""The max-margin machine of rows that lie in partitions on storage.

Rows are counted, drawn and turned into features, which stay with the workers in groups; the pairs
of classes are solved on these groups; and the solutions are added up to one machine.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from distributed import Future

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.handles import StoredMachine
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.sampling import allocate_sample
from graphmargin.distributed.stages.class_pairs import PairIterate, class_moments, pair_problems
from graphmargin.distributed.stages.pair_solver import best_biases, solve_pairs
from graphmargin.distributed.stages.training_rows import (
    RowGroup,
    TrainingPlan,
    count_rows,
    group_rows,
    load_group,
    sample_rows,
    stratum_quotas,
)
from graphmargin.margin.coordinate_descent import RELATIVE_GAP
from graphmargin.margin.feature_maps import (
    FeatureMap,
    balanced_quotas,
    landmark_features,
    row_features,
)
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, blend_machines
from graphmargin.margin.training import (
    LINEAR_GAP,
    MAX_FEATURE_ROWS,
    N_LANDMARKS,
    gap_message,
    landmark_precision,
)

GROUP_ROWS = "group_rows.json"
GROUP_SHARE = 0.5
"""Share of the memory of a task that the features of its group may take."""


def train(
    run: Run,
    n_partitions: int,
    plan: TrainingPlan,
    kernel: Kernel,
    center: FloatArray | float,
) -> MarginMachine:
    """Return the sum of the candidates' max-margin machines, each times its factor.

    The problem of each is that of `graphmargin.margin.training.train_machine` with
    ``approximation="nystroem"``: on the rows themselves for a linear kernel, else on kernel values
    to 500 landmarks, for up to 200,000 rows that stand for the others.

    Parameters
    ----------
    run : Run
        Its folder has the graph, the points and the harmonic solutions of the candidates. The
        machine is kept as `StoredMachine`, which a run that goes on reads.
    n_partitions : int
    plan : TrainingPlan
    kernel : Kernel
    center : array of shape (d,) or 0.0
        What to subtract from all rows; an array if the kernel is linear.

    Returns
    -------
    MarginMachine
        Its report is that of the first candidate, with the largest gap of all.
    """
    stored = StoredMachine(run.folder)
    if not stored.exists():
        sample = _draw_rows(run, n_partitions, plan, kernel)
        feature_map = _feature_map(kernel, sample.landmarks, center)
        solution = _solve(run, plan, sample, feature_map)
        stored.write(_blended_machine(plan, sample, feature_map, solution))
    return stored.read()


class _Sample(NamedTuple):
    """The rows to learn from: how many of each stratum in each partition, and the landmarks."""

    quotas: IntArray
    factors: FloatArray
    """The weight of a row of each stratum, as it stands for others, for each candidate."""
    landmarks: FloatArray


def _draw_rows(run: Run, n_partitions: int, plan: TrainingPlan, kernel: Kernel) -> _Sample:
    """Return the sample of the rows: all of them for a linear kernel, which has no landmarks."""
    is_linear = kernel.kind == "linear"
    counted = run.stage("rows to learn from", count_rows, n_partitions, plan)
    counts = np.array([result["counts"] for result in counted])
    totals = counts.sum(axis=0)
    wanted = totals if is_linear else stratum_quotas(totals, MAX_FEATURE_ROWS)
    quotas = allocate_sample(counts, wanted, plan.seed)
    by_class = counts[:, : plan.n_classes] + counts[:, plan.n_classes :]
    of_classes = balanced_quotas(by_class.sum(axis=0), 0 if is_linear else N_LANDMARKS)
    landmarks = allocate_sample(by_class, of_classes, plan.seed)
    drawn = run.stage("landmarks", sample_rows, list(zip(quotas, landmarks, strict=True)), plan)
    weight = np.sum([result["weights"] for result in counted], axis=0)
    drawn_weight = np.sum([result["weights"] for result in drawn], axis=0)
    return _Sample(
        quotas,
        np.divide(weight, drawn_weight, out=np.ones_like(weight), where=drawn_weight > 0),
        np.concatenate([result["landmarks"] for result in drawn]),
    )


def _feature_map(kernel: Kernel, landmarks: FloatArray, center: FloatArray | float) -> FeatureMap:
    if kernel.kind == "linear":
        return row_features(kernel, np.asarray(center))
    rows = landmarks.astype(landmark_precision(kernel), copy=False)
    return landmark_features(kernel, rows, center)


@dataclass(frozen=True)
class _PairSolutions:
    """The solutions of all pairs of classes, candidate by candidate."""

    iterates: list[PairIterate]
    biases: FloatArray
    n_rows: int
    """Rows that the first candidate has learned from."""
    approximation_error: float
    relative_gap: float
    """The gap at which a pair is solved."""


def _solve(run: Run, plan: TrainingPlan, sample: _Sample, features: FeatureMap) -> _PairSolutions:
    """Return the solutions of all pairs, on features that stay with the workers meanwhile."""
    cluster = run.cluster
    most = rows_per_group(cluster, features.dimension, plan)
    group_size = int(run.checkpointed(GROUP_ROWS, most))
    slices = group_rows(sample.quotas, group_size)
    relative_gap = LINEAR_GAP if features.kernel.kind == "linear" else RELATIVE_GAP
    name = f"max-margin machine on {int(sample.quotas.sum()):,} rows in {len(slices)} groups"
    began = time.perf_counter()
    with report_stage(name, run.verbose) as report_progress:
        shared = cluster.share("feature map", features)
        groups = cluster.submit(
            "features", load_group, slices, run.folder, plan, shared, sample.factors
        )
        moments = _summed_moments(cluster, groups)
        pairs = pair_problems(moments)
        iterates = solve_pairs(
            cluster,
            groups,
            pairs,
            relative_gap=relative_gap,
            max_pooled=group_size,
            seed=plan.seed,
            progress=report_progress,
        )
        biases = best_biases(cluster, groups, pairs, iterates)
        error, n_measured = np.sum(cluster.run("error", _group_error, groups), axis=0)
        cluster.release(groups)
    run.seconds["machine"] = time.perf_counter() - began
    n_rows = int(moments[0][0].sum())
    return _PairSolutions(iterates, biases, n_rows, float(error / max(n_measured, 1)), relative_gap)


def _summed_moments(cluster: Cluster, groups: Sequence[Future[Any]]) -> list[tuple[Any, ...]]:
    """Return the moments of the classes over all groups, for each candidate."""
    by_group = cluster.run("moments", class_moments, groups)
    return [
        tuple(np.sum(values, axis=0) for values in zip(*candidate, strict=True))
        for candidate in zip(*by_group, strict=True)
    ]


def _group_error(group: RowGroup) -> tuple[float, int]:
    return group.error, group.n_measured


def _blended_machine(
    plan: TrainingPlan, sample: _Sample, features: FeatureMap, solution: _PairSolutions
) -> MarginMachine:
    """Return one machine: those of one kernel and center add up."""
    gap = max(iterate.gap for iterate in solution.iterates)
    report = TrainingReport(
        "coordinate descent",
        plan.candidates[0].C,
        solution.n_rows,
        form="rows" if features.kernel.kind == "linear" else "landmarks",
        n_landmarks=len(sample.landmarks),
        approximation_error=solution.approximation_error,
        gap=gap,
        failure="" if gap <= solution.relative_gap else gap_message(gap),
    )
    n_candidates = len(plan.candidates)
    weights = np.column_stack([iterate.weights for iterate in solution.iterates])
    machines = [
        features.machine_from_weights(of_candidate, intercepts, plan.n_classes, report)
        for of_candidate, intercepts in zip(
            np.split(weights, n_candidates, axis=1),
            solution.biases.reshape(n_candidates, -1),
            strict=True,
        )
    ]
    (machine,) = blend_machines(machines, [candidate.factor for candidate in plan.candidates])
    return machine


def rows_per_group(cluster: Cluster, n_features: int, plan: TrainingPlan) -> int:
    """Return how many rows a group may have: their features and dual variables stay in memory."""
    variables = 2 * len(plan.candidates) * (plan.n_classes - 1)
    memory = GROUP_SHARE * cluster.task_memory
    return max(1, int(memory / (4 * (n_features + variables))))
