"""Harmonic solutions with fixed or chosen parameters: tasks, candidates, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.graph.neighbors import nearest_neighbors
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor, PointGraph, WalkPart, attach
from graphmargin.harmonic.solution import HarmonicSolution, mean_solution
from graphmargin.labels import UNLABELED
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import Execution, solution_warnings
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.gamma_path import GammaStatistics, gamma_path, solve_folds
from graphmargin.selection.grids import gamma_g_grid, label_counts, prior_grid
from graphmargin.selection.held_out import NOTHING_HELD_OUT, HeldOutLabels
from graphmargin.selection.tasks import (
    Candidate,
    Task,
    TaskTrials,
    blend_members,
    solve_fixed,
    task_candidates,
    try_tasks,
    with_priors,
)
from graphmargin.selection.trials import Trials, smoothed_shares, stack_folds

TINY = float(np.finfo(np.float64).tiny)
NEAREST_RECALL = 0.9
"""Recall for rows that no label reaches: their confidence is 0, and a near label does as well."""


@dataclass(frozen=True)
class HarmonicTrials(TaskTrials):
    """The trials of a task, and the solutions on all labels, by gamma_g."""

    solutions: dict[float, HarmonicSolution]
    statistics: dict[float, GammaStatistics]


@dataclass(frozen=True)
class FittedHarmonic(FittedClassifier):
    """A fitted harmonic classifier.

    Attributes
    ----------
    solution : HarmonicSolution
        As solved; if parameters were chosen, for the heaviest candidate.
    gamma_path : dict or None
        Set if parameters were chosen, see `graphmargin.selection.gamma_path`.
    """

    solution: HarmonicSolution
    gamma_path: dict[str, FloatArray] | None = None


def harmonic_candidates(task: Task) -> list[Candidate]:
    """Return all combinations of gamma_g and class priors; "auto" has finite gamma_g only."""
    return task_candidates(
        task,
        {
            "gamma_g": lambda: gamma_g_grid(task.W)[1:],
            "class_mass_normalization": lambda: prior_grid(task.labels),
        },
    )


def try_harmonic(
    tasks: Sequence[Task], held_out: HeldOutLabels, execution: Execution
) -> tuple[HarmonicTrials, ...]:
    """Return what harmonic solutions say about labels that are held out from them.

    Columns are class masses. With a large gamma_g most of the walks end in the sink, and the
    masses of all classes are tiny; with few labels and a small one they are large, but nearly the
    same everywhere. What decides is the best minus the second best, so that the mean confidence
    of the unlabeled vertices is the scale of a candidate, abs(l) for two classes. Without it, a
    large gamma_g would have no say in a blend.
    """
    return try_tasks(tasks, harmonic_candidates, _try_task, held_out, execution)


def blend_harmonic(
    trials: Sequence[HarmonicTrials], choice: Choice, execution: Execution
) -> FittedHarmonic:
    """Return the mean of the chosen solutions, weighted by their factors."""
    members = blend_members(trials, choice)
    factors = np.array([member.factor for member in members])
    shares = factors / factors.sum()
    solutions = [_with_candidate(member.trials.solutions, member.candidate) for member in members]
    parts = []
    for part in trials:
        own = [k for k, member in enumerate(members) if member.trials is part]
        if own:
            mean = mean_solution([solutions[k] for k in own], shares[own])
            sinks = tuple((float(shares[k]), _sink_rate(solutions[k])) for k in own)
            parts.append(WalkPart(mean.class_mass, sinks, point_graph(part.task)))
    heaviest = members[0]
    return _fitted(
        heaviest.trials.task,
        choice,
        mean_solution(solutions, shares),
        heaviest.trials.solutions[solutions[0].gamma_g],
        tuple(parts),
        execution,
        gamma_path(choice, heaviest.numbers, heaviest.trials.statistics),
    )


def fit_harmonic(task: Task, execution: Execution) -> FittedHarmonic:
    """Return the harmonic solution with the one candidate of a task."""
    solution, normalized = solve_fixed(task, execution)
    part = WalkPart(normalized.class_mass, ((1.0, _sink_rate(solution)),), point_graph(task))
    return _fitted(task, None, normalized, solution, (part,), execution, None)


def _try_task(
    task: Task,
    candidates: Sequence[Candidate],
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> HarmonicTrials:
    labels, n_classes = task.labels, len(task.labels.classes)
    tested = [np.sort(fold) for fold in held_out.folds]
    gammas = sorted({float(candidate["gamma_g"]) for candidate in candidates})

    def answer(fold: IntArray, solutions: dict[float, HarmonicSolution]) -> list[FloatArray]:
        return [_with_candidate(solutions, one).class_mass[fold] for one in candidates]

    wanted = replace(task.parameters, eps=0.0)  # it has no eps: every confidence counts
    (_, *parts), solutions, statistics = solve_folds(
        task.problem, gammas, tested, answer, wanted, execution, progress
    )
    complete = [_with_candidate(solutions, candidate) for candidate in candidates]
    held_out_codes = labels.codes[np.concatenate([NOTHING_HELD_OUT, *tested])]
    if held_out.validation is not None:
        X, held_out_codes = held_out.validation
        moves = attach(point_graph(task), X).moves
        parts = [[np.asarray(moves @ solution.class_mass) for solution in complete]]
    scales = np.array([_mean_confidence(solution) for solution in complete])
    values, fold = stack_folds(parts, scales, n_classes)
    unlabeled = ~labels.labeled
    evidence = Trials(
        params=list(candidates),
        supervised=np.zeros(len(candidates), dtype=np.bool_),
        held_out_codes=held_out_codes,
        fold=fold,
        held_out_values=values,
        scales=scales,
        shares=np.array(
            [smoothed_shares(solution.codes[unlabeled], n_classes) for solution in complete]
        ),
        columns="masses",
    )
    return HarmonicTrials(task, evidence, solutions, statistics)


def point_graph(task: Task) -> PointGraph | None:
    """Return what attaches new points to the graph; None for a given one."""
    wanted, graph = task.parameters.graph, task.graph
    if wanted is None or graph is None:
        return None
    return PointGraph(graph.search, graph.weighting, wanted.n_neighbors, wanted.metric)


def _with_candidate(
    solutions: dict[float, HarmonicSolution], candidate: Candidate
) -> HarmonicSolution:
    solution = solutions[float(candidate["gamma_g"])]
    return with_priors(solution, candidate["class_mass_normalization"])


def _mean_confidence(solution: HarmonicSolution) -> float:
    """Return the mean confidence of the unlabeled vertices, 1 if they have none."""
    unlabeled = ~solution.problem.labels.labeled
    mean = float(solution.confidence[unlabeled].sum()) / max(1, int(unlabeled.sum()))
    return mean if mean > TINY else 1.0  # labels that are held out may have some


def _sink_rate(solution: HarmonicSolution) -> float:
    """Return the rate at which a new point falls into the sink."""
    return float(solution.gamma_g + solution.problem.c_unlabeled)


def _fitted(
    task: Task,
    choice: Choice | None,
    solution: HarmonicSolution,
    as_solved: HarmonicSolution,
    parts: tuple[WalkPart, ...],
    execution: Execution,
    path: dict[str, FloatArray] | None,
) -> FittedHarmonic:
    """Return what a solution, with class masses as they are used, makes of the rows."""
    labels = task.labels
    majority = int(label_counts(labels).argmax())
    induced = np.where(solution.codes == UNLABELED, labels.codes, solution.codes)
    codes = _complete(induced, task, majority, execution)
    return FittedHarmonic(
        task=task,
        choice=choice,
        predictor=HarmonicPredictor(labels.classes, parts, codes, majority),
        codes=codes,
        label_distributions=solution.label_distributions,
        confidence=solution.confidence,
        warnings=tuple(solution_warnings(solution)),
        solution=as_solved,
        gamma_path=path,
    )


def _complete(codes: IntArray, task: Task, majority: int, execution: Execution) -> IntArray:
    """Give points that no label reaches the label of the nearest point that has one."""
    unknown = np.flatnonzero(codes == UNLABELED)
    if task.graph is None or not len(unknown):
        return np.where(codes == UNLABELED, majority, codes)
    known, points = np.flatnonzero(codes != UNLABELED), task.graph.search.X
    nearest = nearest_neighbors(
        points[known],
        1,
        queries=points[unknown],
        recall=NEAREST_RECALL,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
    )
    codes = codes.copy()
    codes[unknown] = codes[known[nearest.indices[:, 0]]]
    return codes
