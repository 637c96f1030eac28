"""Semi-supervised SVMs with fixed or chosen parameters: candidates, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED
from graphmargin.margin.feature_maps import explicit_features
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, blend_machines
from graphmargin.margin.s3vm import S3VMSolution
from graphmargin.margin.s3vm_training import train_annealed, train_s3vm, train_supervised
from graphmargin.margin.training import choose_center
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import MAX_SCALE_ROWS
from graphmargin.selection.execution import Execution, FitWarning, machine_warnings
from graphmargin.selection.fitted import FittedClassifier, calibrate_and_label
from graphmargin.selection.grids import HAT_LOSS_GRID, c_grid
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.machine_trials import try_machines
from graphmargin.selection.parameters import Parameters
from graphmargin.selection.tasks import (
    Candidate,
    Task,
    TaskTrials,
    blend_members,
    task_candidates,
    try_tasks,
)
from graphmargin.selection.trial_rows import sample_rows

MAX_HAT_LOSSES = 500
"""Largest number of unlabeled rows that trials learn from."""
N_TRIAL_LANDMARKS = 200
"""Number of landmarks in trials."""


@dataclass(frozen=True)
class FittedS3VM(FittedClassifier):
    """A fitted semi-supervised SVM, with a solution for each pair of classes and candidate."""

    solutions: tuple[S3VMSolution, ...]


def s3vm_candidates(task: Task) -> list[Candidate]:
    """Return all combinations of gamma_u and C; gamma_u = 0 is supervised."""
    return task_candidates(
        task, {"gamma_u": lambda: HAT_LOSS_GRID, "C": lambda: c_grid(task.X, task.kernel)}
    )


def try_s3vm(
    tasks: Sequence[Task], held_out: HeldOutLabels, execution: Execution
) -> tuple[TaskTrials, ...]:
    """Return the predictions of semi-supervised machines for the held-out labels.

    All folds and candidates share their features, with at most 200 landmarks, and those with the
    same C the path of growing gamma_u. The machines minimize a smooth objective. The row of a
    held-out label is one more unlabeled row. Of more than 1,000 labeled or 500 unlabeled rows,
    machines learn from a random sample, whose hat losses are weighted to represent all unlabeled
    rows.
    """
    return try_tasks(tasks, s3vm_candidates, _try_task, held_out, execution)


def blend_s3vm(trials: Sequence[TaskTrials], choice: Choice, execution: Execution) -> FittedS3VM:
    """Return the blend of the chosen candidates, trained on all rows."""
    members = blend_members(trials, choice)
    with report_stage(f"blend of {len(members)} classifiers", execution.verbose) as progress:
        by_number: dict[int, Trained] = {}
        for part in trials:
            of_task = [member for member in members if member.trials is part]
            candidates = [member.candidate for member in of_task]
            trained = _train(part.task, candidates, execution, progress) if of_task else []
            by_number |= zip((member.number for member in of_task), trained, strict=True)
    trained = [by_number[member.number] for member in members]
    task = members[0].trials.task
    choice = _with_scales(choice, task, [machine for machine, _ in trained])
    factors = [factor for _, factor in choice.blended]
    machines = blend_machines([machine for machine, _ in trained], factors)
    return _fitted(task, machines, trained, choice)


def _with_scales(choice: Choice, task: Task, machines: Sequence[MarginMachine]) -> Choice:
    """Return the choice with the scales of the machines of the blend, the heaviest first.

    Those of trials minimize a smooth objective, which has a larger f.
    """
    unlabeled = np.flatnonzero(~task.labels.labeled)
    if not len(unlabeled):
        return choice
    rows = unlabeled[:: -(-len(unlabeled) // MAX_SCALE_ROWS)]
    points = task.X[rows]
    scales = choice.trials.scales.copy()
    for (number, _), machine in zip(choice.blended, machines, strict=True):
        scale = float(np.abs(machine.pairwise(points)).mean())
        scales[number] = scale if scale > np.finfo(np.float64).eps else 1.0
    return replace(choice, trials=replace(choice.trials, scales=scales))


def fit_s3vm(task: Task, execution: Execution) -> FittedS3VM:
    """Return the semi-supervised SVM with the fixed parameters of a task."""
    (candidate,) = s3vm_candidates(task)
    stage = f"semi-supervised SVM on {task.X.shape[0]:,} points"
    with report_stage(stage, execution.verbose) as progress:
        trained = _train(task, [candidate], execution, progress)
        return _fitted(task, [trained[0][0].collapse_linear()], trained, None)


Trained = tuple[MarginMachine, list[S3VMSolution]]


def _fitted(
    task: Task,
    machines: Sequence[MarginMachine],
    trained: Sequence[Trained],
    choice: Choice | None,
) -> FittedS3VM:
    solutions = tuple(solution for _, of_pairs in trained for solution in of_pairs)
    warnings = [
        *_solution_warnings(solutions),
        *machine_warnings([machine for machine, _ in trained]),
    ]
    fitted = calibrate_and_label(task, machines, choice, warnings)
    return FittedS3VM(**vars(fitted), solutions=solutions)


def _solution_warnings(solutions: Sequence[S3VMSolution]) -> list[FitWarning]:
    """Return a warning about local optima that are worse than their supervised start."""
    kept = [solution for solution in solutions if solution.kept_supervised]
    if not kept:
        return []
    reached, start = kept[0].trace[-1], kept[0].supervised_objective
    return [
        FitWarning(
            f"semi-supervised SVM: {len(kept)} of {len(solutions)} runs ended in a local optimum "
            f"that is worse than the supervised solution (objective {reached:.6g}, supervised "
            f"{start:.6g}), which is kept; pass a known `class_prior`, or lower `gamma_u`",
            UserWarning,
        )
    ]


def _train(
    task: Task,
    candidates: Sequence[Candidate],
    execution: Execution,
    progress: ProgressCallback | None,
) -> list[Trained]:
    """Return machines of candidates, trained on all rows, and the solutions of their pairs."""
    parameters = task.parameters
    return train_s3vm(
        task.X,
        task.labels.codes,
        task.kernel,
        C=[float(candidate["C"]) for candidate in candidates],
        gamma_us=[float(candidate["gamma_u"]) for candidate in candidates],
        class_weight=parameters.class_weight,
        class_prior=parameters.class_prior,
        approximation=parameters.approximation,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
        progress=progress,
    )


def _try_task(
    task: Task,
    candidates: Sequence[Candidate],
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> TaskTrials:
    X, labels, parameters = task.X, task.labels, task.parameters
    random = check_random_state(execution.seed)
    rows, _ = sample_rows(labels.codes, random, MAX_HAT_LOSSES)
    points = task.kernel.select_rows(X, rows)
    labeled = np.flatnonzero(labels.labeled[rows])
    center = choose_center(points, task.kernel)
    feature_map = explicit_features(points, labeled, task.kernel, N_TRIAL_LANDMARKS, center, random)
    F = feature_map.transform_rows(
        points, np.arange(len(rows)), n_jobs=execution.n_jobs, dtype=np.float64
    )
    if held_out.validation is not None:
        new, codes = held_out.validation
        new = feature_map(new[:, rows] if task.kernel.kind == "precomputed" else new)
        held_out = replace(held_out, validation=(new, codes))
    n_left_out = int((~labels.labeled).sum()) - (len(rows) - len(labeled))
    train = partial(_train_on_fold, F, n_left_out, parameters, candidates)
    return try_machines(task, candidates, train, F, rows, held_out, execution, progress)


def _train_on_fold(
    F: FloatArray,
    n_left_out: int,
    parameters: Parameters,
    candidates: Sequence[Candidate],
    codes: IntArray,
) -> list[MarginMachine]:
    """Return the machines of all candidates on the labels that a fold keeps.

    The hat losses of the sampled rows are weighted to represent `n_left_out` more rows.
    """
    n_unlabeled, n_classes = int((codes == UNLABELED).sum()), int(codes.max()) + 1
    factor = 1 + n_left_out / max(1, n_unlabeled)
    costs = parameters.class_weight or [1.0] * n_classes
    machines: dict[tuple[float, float], MarginMachine] = {}
    for C in {float(candidate["C"]) for candidate in candidates}:
        supervised = train_supervised(F, codes, C=C, class_weight=costs, n_jobs=1)
        values = {float(candidate["gamma_u"]) for candidate in candidates if candidate["C"] == C}
        gamma_us, functions = sorted(values - {0.0}), {0.0: supervised}
        if gamma_us and n_unlabeled:
            annealed = train_annealed(
                F,
                codes,
                supervised,
                C=C,
                gamma_us=[factor * gamma_u for gamma_u in gamma_us],
                class_weight=costs,
                class_prior=parameters.class_prior,
            )
            functions |= zip(gamma_us, annealed, strict=True)
        report = TrainingReport("coordinate descent", C, len(F), form="rows")
        for gamma_u in values:
            coefficients, biases = functions.get(gamma_u, supervised)
            machines[gamma_u, C] = MarginMachine(
                Kernel("linear"), None, coefficients, biases, n_classes, 0.0, report
            )
    return [
        machines[float(candidate["gamma_u"]), float(candidate["C"])] for candidate in candidates
    ]
