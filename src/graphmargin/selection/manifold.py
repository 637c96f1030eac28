"""Manifold-regularized SVMs with fixed or chosen parameters: tasks, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from graphmargin._progress import report_stage
from graphmargin._threads import in_threads, pause
from graphmargin._typing import IntArray, ProgressCallback
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, blend
from graphmargin.margin.manifold import WarpedFeatures, warp, warp_features
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import sample_rows
from graphmargin.selection.execution import Execution, machine_warnings
from graphmargin.selection.fitted import FittedClassifier, calibrate_and_label
from graphmargin.selection.graphs import FittedGraph, fit_graphs
from graphmargin.selection.grids import c_grid, gamma_u_grid
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.parameters import GraphParameters, ManifoldParameters, fixed_value
from graphmargin.selection.trials import Trials, codes_by_fold, machine_trials

Candidate = dict[str, Any]
"""Values of ``gamma_u`` and ``C``; ``gamma_u = 0`` is supervised."""


@dataclass(frozen=True)
class ManifoldTask:
    """The rows, labels, graph and kernel that candidates share."""

    parameters: ManifoldParameters
    X: Any
    labels: EncodedLabels
    kernel: Kernel
    graph: FittedGraph


@dataclass(frozen=True)
class ManifoldTrials:
    """The trials of a task."""

    task: ManifoldTask
    evidence: Trials


@dataclass(frozen=True)
class FittedManifold(FittedClassifier):
    """A fitted manifold-regularized SVM, with the graph of its heaviest candidate."""

    graph: FittedGraph


def manifold_tasks(
    X: Any,
    labels: EncodedLabels,
    W: Any,
    parameters: Sequence[ManifoldParameters],
    execution: Execution,
) -> tuple[ManifoldTask, ...]:
    """Return a task for each set of parameters; every graph is built once."""
    wanted_graphs: list[GraphParameters | None] = [wanted.graph for wanted in parameters]
    graphs = fit_graphs(X, W, wanted_graphs, execution)
    return tuple(
        ManifoldTask(wanted, X, labels, wanted.kernel.on(X), graphs[wanted.graph])
        for wanted in parameters
    )


def manifold_candidates(task: ManifoldTask) -> list[Candidate]:
    """Return all combinations of gamma_u and C."""
    gammas, costs = task.parameters.gamma_u, task.parameters.C
    gammas = tuple(gamma_u_grid(task.X.shape[0])) if gammas is None else gammas
    costs = tuple(c_grid(task.X, task.kernel)) if costs is None else costs
    return [{"gamma_u": gamma_u, "C": C} for gamma_u, C in product(gammas, costs)]


def try_manifold(
    tasks: Sequence[ManifoldTask], held_out: HeldOutLabels, execution: Execution
) -> tuple[ManifoldTrials, ...]:
    """Return what manifold-regularized machines say about labels that are held out from them.

    The graph does not see the labels: it warps the features once, those of
    ``approximation="nystroem"``, and every fold and candidate is then a small machine on the
    labels that are left. Of more than 1,000 labeled rows, machines learn from and are tested on a
    random sample.

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> from graphmargin.selection.parameters import KernelParameters
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    >>> W = np.exp(-np.abs(X - X.T)) - np.eye(6)
    >>> kernel = KernelParameters(Kernel("linear"), 1.0)
    >>> parameters = ManifoldParameters(
    ...     kernel, None, (0.0, 0.1), (10.0,), 1, False, True, "auto"
    ... )
    >>> labels = encode_labels([0, -1, 0, 1, -1, 1])
    >>> tasks = manifold_tasks(X, labels, W, [parameters], Execution())
    >>> held_out = HeldOutLabels((np.array([0, 3]), np.array([2, 5])))
    >>> (trials,) = try_manifold(tasks, held_out, Execution())
    >>> evidence = trials.evidence
    >>> (evidence.scores(evidence.held_out_values[1]) > 0).tolist()
    [False, True, False, True]
    """
    candidates = [manifold_candidates(task) for task in tasks]
    n_candidates = sum(map(len, candidates))
    with report_stage(f"trial of {n_candidates} candidates", execution.verbose) as progress:
        return tuple(
            _try_task(task, some, held_out, execution, progress)
            for task, some in zip(tasks, candidates, strict=True)
        )


def blend_manifold(
    trials: Sequence[ManifoldTrials], choice: Choice, execution: Execution
) -> FittedManifold:
    """Return the blend of the chosen candidates, trained on all rows; a task is warped once."""
    places = [(part, i) for part in trials for i in range(len(part.evidence.params))]
    members = [(*places[i], factor) for i, factor in choice.blended]
    trained: dict[int, MarginMachine] = {}
    with report_stage(f"blend of {len(members)} classifiers", execution.verbose) as progress:
        for part in trials:
            own = [k for k, member in enumerate(members) if member[0] is part]
            candidates = [part.evidence.params[members[k][1]] for k in own]
            trained.update(zip(own, _train(part.task, candidates, execution), strict=True))
            if progress is not None:
                progress(len(trained) / len(members), "")
    machines = [trained[k] for k in range(len(members))]  # the heaviest first
    task = members[0][0].task
    fitted = calibrate_and_label(
        task.X,
        task.labels,
        blend(machines, [factor for _, _, factor in members]),
        choice,
        machine_warnings(machines),
    )
    return FittedManifold(**vars(fitted), graph=task.graph)


def fit_manifold(task: ManifoldTask, execution: Execution) -> FittedManifold:
    """Return the manifold-regularized SVM with the one candidate of a task."""
    wanted = task.parameters
    candidate = {"gamma_u": fixed_value(wanted.gamma_u), "C": fixed_value(wanted.C)}
    stage = f"manifold-regularized SVM on {task.X.shape[0]:,} points"
    with report_stage(stage, execution.verbose):
        (machine,) = _train(task, [candidate], execution)
        fitted = calibrate_and_label(
            task.X, task.labels, [machine.collapsed()], None, machine_warnings([machine])
        )
    return FittedManifold(**vars(fitted), graph=task.graph)


def _train(
    task: ManifoldTask, candidates: Sequence[Candidate], execution: Execution
) -> list[MarginMachine]:
    """Return the machines of some candidates, trained on all rows."""
    if not candidates:
        return []
    wanted, codes = task.parameters, task.labels.codes
    form = warp(
        task.X,
        codes,
        task.kernel,
        task.graph.W,
        normalized=wanted.normalized,
        power=wanted.laplacian_power,
        fit_intercept=wanted.fit_intercept,
        approximation=wanted.approximation,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
    )
    machines = []
    for candidate in candidates:
        C = float(candidate["C"])
        machines.append(
            form.machine(
                2 * C * candidate["gamma_u"],
                codes[codes != UNLABELED],
                C,
                wanted.fit_intercept,
                execution.n_jobs,
            )
        )
        pause()
    return machines


def _try_task(
    task: ManifoldTask,
    candidates: Sequence[Candidate],
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> ManifoldTrials:
    wanted, labels = task.parameters, task.labels
    labeled = np.flatnonzero(labels.labeled)
    form = warp_features(
        task.X,
        labeled,
        task.kernel,
        task.graph.W,
        normalized=wanted.normalized,
        power=wanted.laplacian_power,
        fit_intercept=wanted.fit_intercept,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
    )
    # The sample is the same for all tasks, however many landmarks each of them draws.
    rows, _ = sample_rows(labels.codes, check_random_state(execution.seed))
    codes = labels.codes[rows]
    form = replace(form, rotated=form.rotated[np.isin(labeled, rows)])
    tested = [np.flatnonzero(np.isin(rows, fold)) for fold in held_out.folds]
    pieces = product(codes_by_fold(codes, tested), candidates)
    machines = in_threads(
        partial(_train_piece, form, codes != UNLABELED, wanted.fit_intercept),
        pieces,
        n_jobs=execution.n_jobs,
        progress=progress,
    )
    m = len(candidates)
    evidence = machine_trials(
        [{**(wanted.listed or {}), **candidate} for candidate in candidates],
        [machines[first : first + m] for first in range(0, len(machines), m)],
        task.X[rows],
        codes,
        tested,
        held_out.validation,
    )
    return ManifoldTrials(task, evidence)


def _train_piece(
    form: WarpedFeatures,
    labeled: IntArray,
    fit_intercept: bool,
    piece: tuple[IntArray, Candidate],
) -> MarginMachine:
    """Return the machine of a candidate on the labels that a fold keeps."""
    codes, candidate = piece
    left = codes[labeled]
    kept = left != UNLABELED
    C = float(candidate["C"])
    return replace(form, rotated=form.rotated[kept]).machine(
        2 * C * candidate["gamma_u"], left[kept], C, fit_intercept, n_jobs=1
    )
