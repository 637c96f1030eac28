"""Manifold-regularized SVMs with fixed or chosen parameters: candidates, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._typing import BoolArray, IntArray, ProgressCallback
from graphmargin.labels import UNLABELED
from graphmargin.margin.machine import MarginMachine, blend_machines
from graphmargin.margin.manifold import WarpedFeatures, train_manifold, warp_features
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import Execution, machine_warnings
from graphmargin.selection.fitted import FittedClassifier, calibrate_and_label
from graphmargin.selection.grids import c_grid, gamma_u_grid
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


def manifold_candidates(task: Task) -> list[Candidate]:
    """Return all combinations of gamma_u and C; gamma_u = 0 is supervised."""
    return task_candidates(
        task,
        {
            "gamma_u": lambda: gamma_u_grid(task.X.shape[0]),
            "C": lambda: c_grid(task.X, task.kernel),
        },
    )


def try_manifold(
    tasks: Sequence[Task], held_out: HeldOutLabels, execution: Execution
) -> tuple[TaskTrials, ...]:
    """Return the predictions of manifold-regularized machines for the held-out labels.

    The graph does not depend on the labels. It warps the features of ``approximation="nystroem"``
    once, and every fold and candidate then takes a small machine on the remaining labels. Of more
    than 1,000 labeled rows, machines learn from and are tested on a random sample.
    """
    return try_tasks(tasks, manifold_candidates, _try_task, held_out, execution)


def blend_manifold(
    trials: Sequence[TaskTrials], choice: Choice, execution: Execution
) -> FittedClassifier:
    """Return the blend of the chosen candidates, trained on all rows, task by task."""
    members = blend_members(trials, choice)
    machines: dict[int, MarginMachine] = {}
    with report_stage(f"blend of {len(members)} classifiers", execution.verbose) as progress:
        for part in trials:
            of_task = [member for member in members if member.trials is part]
            if not of_task:
                continue
            trained = _train(part.task, [member.candidate for member in of_task], execution)
            machines |= zip((member.number for member in of_task), trained, strict=True)
            if progress is not None:
                progress(len(machines) / len(members), "")
    ordered = [machines[member.number] for member in members]
    blended = blend_machines(ordered, [member.factor for member in members])
    task = members[0].trials.task
    return calibrate_and_label(task, blended, choice, machine_warnings(ordered))


def fit_manifold(task: Task, execution: Execution) -> FittedClassifier:
    """Return the manifold-regularized SVM with the fixed parameters of a task."""
    (candidate,) = manifold_candidates(task)
    stage = f"manifold-regularized SVM on {task.X.shape[0]:,} points"
    with report_stage(stage, execution.verbose):
        (machine,) = _train(task, [candidate], execution)
        warnings = machine_warnings([machine])
        return calibrate_and_label(task, [machine.collapse_linear()], None, warnings)


def _train(
    task: Task, candidates: Sequence[Candidate], execution: Execution
) -> list[MarginMachine]:
    """Return the machines of some candidates, trained on all rows."""
    parameters = task.parameters
    return train_manifold(
        task.X,
        task.labels.codes,
        task.kernel,
        task.W,
        C=[float(candidate["C"]) for candidate in candidates],
        gamma_us=[candidate["gamma_u"] for candidate in candidates],
        class_weight=parameters.class_weight,
        normalized=parameters.normalized,
        power=parameters.laplacian_power,
        fit_intercept=parameters.fit_intercept,
        approximation=parameters.approximation,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
    )


def _try_task(
    task: Task,
    candidates: Sequence[Candidate],
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> TaskTrials:
    parameters, labels = task.parameters, task.labels
    labeled = np.flatnonzero(labels.labeled)
    features = warp_features(
        task.X,
        labeled,
        task.kernel,
        task.W,
        normalized=parameters.normalized,
        power=parameters.laplacian_power,
        fit_intercept=parameters.fit_intercept,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
    )
    # The sample is the same for all tasks, however many landmarks each of them draws.
    rows, _ = sample_rows(labels.codes, check_random_state(execution.seed))
    features = replace(features, rotated=features.rotated[np.isin(labeled, rows)])
    train = partial(_train_on_fold, features, labels.labeled[rows], parameters, candidates)
    return try_machines(task, candidates, train, task.X[rows], rows, held_out, execution, progress)


def _train_on_fold(
    features: WarpedFeatures,
    labeled: BoolArray,
    parameters: Parameters,
    candidates: Sequence[Candidate],
    codes: IntArray,
) -> list[MarginMachine]:
    """Return the machines of all candidates on the labels that a fold keeps."""
    labeled_codes = codes[labeled]
    kept = labeled_codes != UNLABELED
    features = replace(features, rotated=features.rotated[kept])
    return [
        features.train(
            2 * float(candidate["C"]) * candidate["gamma_u"],
            labeled_codes[kept],
            float(candidate["C"]),
            parameters.fit_intercept,
            n_jobs=1,
            class_weight=parameters.class_weight,
        )
        for candidate in candidates
    ]
