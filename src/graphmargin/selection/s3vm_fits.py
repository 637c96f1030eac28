"""Semi-supervised SVMs with fixed or chosen parameters: candidates, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED
from graphmargin.margin._solvers.feature_maps import explicit_features
from graphmargin.margin._solvers.feature_training import feature_precision
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, blend_machines
from graphmargin.margin.s3vm import S3VMSolution
from graphmargin.margin.s3vm_training import anneal_features, train_s3vm, train_smooth
from graphmargin.margin.training import choose_center
from graphmargin.selection.choice import Choice
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
TRIAL_TOLERANCES = 2e-3, 2e-2
"""Tolerances of the machines of trials, for their values of gamma_u, and in other stages."""


@dataclass(frozen=True)
class FittedS3VM(FittedClassifier):
    """A fitted semi-supervised SVM, with a solution for each pair of classes; a blend has none."""

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
    """Return the blend of the chosen candidates, trained on all rows.

    Its machines minimize the smooth objective of trials, in a fraction of the time.
    """
    members = blend_members(trials, choice)
    machines: dict[int, MarginMachine] = {}
    with report_stage(f"blend of {len(members)} classifiers", execution.verbose) as progress:
        for part in trials:
            of_task = [member for member in members if member.trials is part]
            if not of_task:
                continue
            trained = train_smooth(
                **_arguments(part.task, [member.candidate for member in of_task], execution)
            )
            machines |= zip((member.number for member in of_task), trained, strict=True)
            if progress is not None:
                progress(len(machines) / len(members), "")
    ordered = [machines[member.number] for member in members]
    blended = blend_machines(ordered, [member.factor for member in members])
    task = members[0].trials.task
    fitted = calibrate_and_label(task, blended, choice, machine_warnings(ordered))
    return FittedS3VM(**vars(fitted), solutions=())


def fit_s3vm(task: Task, execution: Execution) -> FittedS3VM:
    """Return the semi-supervised SVM with the fixed parameters of a task, a local optimum."""
    stage = f"semi-supervised SVM on {task.X.shape[0]:,} points"
    with report_stage(stage, execution.verbose) as progress:
        [(machine, solutions)] = train_s3vm(
            **_arguments(task, s3vm_candidates(task), execution), progress=progress
        )
        warnings = [*_solution_warnings(solutions), *machine_warnings([machine])]
        fitted = calibrate_and_label(task, [machine.collapse_linear()], None, warnings)
        return FittedS3VM(**vars(fitted), solutions=tuple(solutions))


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


def _arguments(task: Task, candidates: Sequence[Candidate], execution: Execution) -> dict[str, Any]:
    """Return the arguments that train the machines of candidates on all rows."""
    parameters = task.parameters
    return {
        "X": task.X,
        "codes": task.labels.codes,
        "kernel": task.kernel,
        "C": [float(candidate["C"]) for candidate in candidates],
        "gamma_us": [float(candidate["gamma_u"]) for candidate in candidates],
        "class_weight": parameters.class_weight,
        "class_prior": parameters.class_prior,
        "approximation": parameters.approximation,
        "n_jobs": execution.n_jobs,
        "random_state": execution.seed,
    }


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
        points,
        np.arange(len(rows)),
        n_jobs=execution.n_jobs,
        dtype=feature_precision(task.kernel),
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
    C = [float(candidate["C"]) for candidate in candidates]
    functions = anneal_features(
        F,
        codes,
        C=C,
        gamma_us=[factor * float(candidate["gamma_u"]) for candidate in candidates],
        class_weight=parameters.class_weight,
        class_prior=parameters.class_prior,
        tolerances=TRIAL_TOLERANCES,
        n_jobs=1,
    )
    return [
        MarginMachine(
            Kernel("linear"),
            None,
            *function,
            n_classes,
            0.0,
            TrainingReport("L-BFGS", value, len(F), form="rows"),
        )
        for value, function in zip(C, functions, strict=True)
    ]
