"""The stage that trains the max-margin machine on the rows of all partitions.

Training rows are counted and drawn, and their features stay with the workers in groups. The pairs
of classes are solved on these groups, and the solutions of all candidates are added to one machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Any, NamedTuple

import numpy as np
from distributed import Future

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.handles import StoredMachine
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.sampling import allocate_sample
from graphmargin.distributed.stages.class_pairs import class_moments, pair_problems
from graphmargin.distributed.stages.pair_solver import best_biases, solve_pairs
from graphmargin.distributed.stages.training_rows import (
    TrainingPlan,
    count_rows,
    draw_landmarks,
    group_rows,
    load_group,
    stratum_quotas,
)
from graphmargin.margin._solvers.coordinate_descent import RELATIVE_GAP
from graphmargin.margin._solvers.feature_maps import (
    FeatureMap,
    balanced_quotas,
    landmark_features,
    row_features,
)
from graphmargin.margin._solvers.feature_training import (
    LINEAR_GAP,
    MAX_FEATURE_ROWS,
    N_LANDMARKS,
    gap_message,
    landmark_precision,
)
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, blend_machines

GROUP_ROWS = "group_rows"
GROUP_SHARE = 0.5
"""Share of the memory of a task for the features of its group."""


def train(
    run: Run,
    n_partitions: int,
    plan: TrainingPlan,
    kernel: Kernel,
    center: FloatArray | float,
) -> MarginMachine:
    """Return the blend of the candidates' max-margin machines.

    The problem of each is that of `graphmargin.margin.training.train_machine` with
    ``approximation="nystroem"``. For a linear kernel, the machine learns from all rows; for other
    kernels, from the kernel values of up to 200,000 rows to 500 landmarks.

    Parameters
    ----------
    run : Run
        Its folder has the graph, the points and the harmonic solutions of the candidates. The
        machine is written as `StoredMachine`, which a resumed run reads.
    n_partitions : int
    plan : TrainingPlan
    kernel : Kernel
    center : array of shape (d,) or 0.0
        Point to subtract from all rows; an array if the kernel is linear.

    Returns
    -------
    MarginMachine
        The machine. Its report is that of the first candidate, with the largest gap of all.
    """
    stored = StoredMachine(run.folder)

    def write_machine() -> None:
        sample = _draw_sample(run, n_partitions, plan, kernel)
        feature_map = _feature_map(kernel, sample.landmarks, center)
        stored.write(_solve(run, plan, sample, feature_map))

    run.run_once("machine", write_machine)
    return stored.read()


class _Sample(NamedTuple):
    """The sample of training rows."""

    quotas: IntArray
    """Number of rows of each stratum in each partition."""
    factors: FloatArray
    """Factor of the losses of each stratum, whose drawn rows represent all, by candidate."""
    landmarks: FloatArray


def _draw_sample(run: Run, n_partitions: int, plan: TrainingPlan, kernel: Kernel) -> _Sample:
    """Return the sample of the rows: all of them for a linear kernel, which has no landmarks."""
    is_linear = kernel.kind == "linear"
    counted = run.stage("rows to learn from", count_rows, n_partitions, plan)
    counts = np.array([result["counts"] for result in counted])
    totals = counts.sum(axis=0)
    by_stratum = totals if is_linear else stratum_quotas(totals, MAX_FEATURE_ROWS)
    quotas = allocate_sample(counts, by_stratum, plan.seed)
    class_counts = counts[:, : plan.n_classes] + counts[:, plan.n_classes :]
    by_class = balanced_quotas(class_counts.sum(axis=0), 0 if is_linear else N_LANDMARKS)
    landmarks = allocate_sample(class_counts, by_class, plan.seed)
    drawn = run.stage("landmarks", draw_landmarks, list(zip(quotas, landmarks, strict=True)), plan)
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
    rows = landmarks.astype(landmark_precision(kernel, landmarks), copy=False)
    return landmark_features(kernel, rows, center)


def _solve(run: Run, plan: TrainingPlan, sample: _Sample, features: FeatureMap) -> MarginMachine:
    """Return the blended machine, trained on features that stay with the workers."""
    cluster = run.cluster
    max_rows = rows_per_group(cluster, features.dimension, plan)
    group_size = int(run.checkpointed(GROUP_ROWS, max_rows))
    slices = group_rows(sample.quotas, group_size)
    is_linear = features.kernel.kind == "linear"
    relative_gap = LINEAR_GAP if is_linear else RELATIVE_GAP
    title = f"max-margin machine on {int(sample.quotas.sum()):,} rows in {len(slices)} groups"
    with run.timed("machine", title) as report_progress:
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
        errors = cluster.run("error", attrgetter("error", "n_measured"), groups)
        error, n_measured = np.sum(errors, axis=0)
        cluster.release(groups)
    gap = max(iterate.gap for iterate in iterates)
    report = TrainingReport(
        "coordinate descent",
        plan.candidates[0].C,
        int(moments[0][0].sum()),
        form="rows" if is_linear else "landmarks",
        n_landmarks=len(sample.landmarks),
        approximation_error=float(error / max(n_measured, 1)),
        gap=gap,
        failure="" if gap <= relative_gap else gap_message(gap),
    )
    weights = np.column_stack([iterate.weights for iterate in iterates])
    n_candidates = len(plan.candidates)
    machines = [
        features.machine_from_weights(*solution, plan.n_classes, report)
        for solution in zip(
            np.split(weights, n_candidates, axis=1),
            biases.reshape(n_candidates, -1),
            strict=True,
        )
    ]
    return blend_machines(machines, [candidate.factor for candidate in plan.candidates])


def _summed_moments(cluster: Cluster, groups: Sequence[Future[Any]]) -> list[tuple[Any, ...]]:
    """Return the moments of the classes over all groups, for each candidate."""
    by_group = cluster.run("moments", class_moments, groups)
    return [
        tuple(np.sum(values, axis=0) for values in zip(*candidate, strict=True))
        for candidate in zip(*by_group, strict=True)
    ]


def rows_per_group(cluster: Cluster, n_features: int, plan: TrainingPlan) -> int:
    """Return the largest number of rows of a group, which keeps features and dual variables."""
    variables = 2 * len(plan.candidates) * (plan.n_classes - 1)
    memory = GROUP_SHARE * cluster.task_memory
    return max(1, int(memory / (4 * (n_features + variables))))
