"""Harmonic solutions with fixed or chosen parameters: tasks, candidates, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.confidence.held_out_predictions import predictions_for
from graphmargin.graph._search.neighbors import nearest_neighbors
from graphmargin.harmonic.harmonic_predictor import HarmonicPredictor, PointGraph, WalkPart, attach
from graphmargin.harmonic.solution import (
    HarmonicSolution,
    mean_solution,
    solve_path,
    spread_sink_mass,
)
from graphmargin.labels import UNLABELED
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import Execution, solution_warnings
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.gamma_path import GammaStatistics, gamma_path, solve_folds
from graphmargin.selection.grids import gamma_g_grid, label_counts, prior_grid
from graphmargin.selection.held_out import NOTHING_HELD_OUT, HeldOutLabels
from graphmargin.selection.tasks import (
    BlendMember,
    Candidate,
    Task,
    TaskTrials,
    blend_members,
    normalize_to_priors,
    solve_fixed,
    task_candidates,
    try_tasks,
)
from graphmargin.selection.trial_rows import draw_trial_rows
from graphmargin.selection.trials import Trials, smoothed_shares, stack_folds

TINY = float(np.finfo(np.float64).tiny)
NEAREST_RECALL = 0.9
"""Recall of the neighbor search for unreached rows, whose label has confidence 0 anyway."""


@dataclass(frozen=True)
class HarmonicTrials(TaskTrials):
    """The trials of a task, the solutions on all labels by gamma_g, and validation rows if any.

    There are no solutions after trials on a sample of the rows.
    """

    solutions: dict[float, HarmonicSolution]
    statistics: dict[float, GammaStatistics]
    validation_rows: Any


@dataclass(frozen=True)
class FittedHarmonic(FittedClassifier):
    """A fitted harmonic classifier.

    Attributes
    ----------
    solution : HarmonicSolution
        Solution before class mass normalization; if parameters were chosen, that of the heaviest
        candidate.
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
    """Return the predictions of harmonic solutions for the held-out labels.

    Columns are class masses. With a large gamma_g most walks end in the sink, and the masses of all
    classes are tiny; with few labels and a small gamma_g they are large, but nearly the same
    everywhere. The difference between the best and the second best class decides. So the scale of a
    candidate is the mean confidence of the unlabeled vertices, abs(l) for two classes. Without it,
    a large gamma_g would not count in a blend.

    Candidates are tried on a sample of the rows if they are many and the graph is not given.
    """
    return try_tasks(tasks, harmonic_candidates, _try_task, held_out, execution)


def blend_harmonic(
    trials: Sequence[HarmonicTrials], choice: Choice, execution: Execution
) -> FittedHarmonic:
    """Return the mean of the chosen solutions, weighted by their factors."""
    members = blend_members(trials, choice)
    unnormalized = _solutions_on_all_rows(members, execution)
    solutions = [
        normalize_to_priors(solution, member.candidate["class_mass_normalization"])
        for solution, member in zip(unnormalized, members, strict=True)
    ]
    weights = np.array([choice.weights[member.number] for member in members])
    factors = weights / [_mean_confidence(solution) for solution in solutions]
    shares = factors / factors.sum()
    parts = walk_parts([member.trials.task for member in members], solutions, shares)
    heaviest = members[0]
    return _fitted(
        heaviest.trials.task,
        choice,
        mean_solution(solutions, shares),
        unnormalized[0],
        parts,
        execution,
        gamma_path(choice, heaviest.numbers, heaviest.trials.statistics),
        heaviest.trials.validation_rows,
    )


def _solutions_on_all_rows(
    members: Sequence[BlendMember], execution: Execution
) -> list[HarmonicSolution]:
    """Return the solutions of the members, those of the trials if these had all rows."""
    solutions: dict[tuple[int, float], HarmonicSolution] = {}
    for trials in {id(member.trials): member.trials for member in members}.values():
        task, of_task = trials.task, dict(trials.solutions)
        if not of_task:
            gammas = {float(m.candidate["gamma_g"]) for m in members if m.trials is trials}
            with report_stage(f"{len(gammas)} harmonic solutions", execution.verbose) as progress:
                path = solve_path(
                    task.problem,
                    sorted(gammas),
                    n_jobs=execution.n_jobs,
                    progress=progress,
                )
            of_task = {solution.gamma_g: solution for solution in path}
        solutions |= {(id(trials), gamma_g): solved for gamma_g, solved in of_task.items()}
    return [solutions[id(m.trials), float(m.candidate["gamma_g"])] for m in members]


def walk_parts(
    tasks: Sequence[Task], solutions: Sequence[HarmonicSolution], shares: FloatArray
) -> tuple[WalkPart, ...]:
    """Return the graphs of a blend of solutions, each of them on the graph of its task."""
    parts = []
    for task in {id(task): task for task in tasks}.values():
        of_task = [k for k in range(len(tasks)) if tasks[k] is task]
        mean = mean_solution([solutions[k] for k in of_task], shares[of_task])
        sinks = tuple((float(shares[k]), _sink_rate(solutions[k])) for k in of_task)
        parts.append(WalkPart(mean.class_mass, sinks, point_graph(task)))
    return tuple(parts)


def fit_harmonic(task: Task, execution: Execution) -> FittedHarmonic:
    """Return the harmonic classifier with the fixed parameters of a task."""
    solution, normalized = solve_fixed(task, execution)
    part = WalkPart(normalized.class_mass, ((1.0, _sink_rate(solution)),), point_graph(task))
    return _fitted(task, None, normalized, solution, (part,), execution)


def _try_task(
    task: Task,
    candidates: Sequence[Candidate],
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> HarmonicTrials:
    trial = draw_trial_rows(task, held_out, execution)
    labels, n_classes = trial.labels, len(task.labels.classes)
    gammas = sorted({float(candidate["gamma_g"]) for candidate in candidates})

    def class_masses(fold: IntArray, solutions: dict[float, HarmonicSolution]) -> list[FloatArray]:
        return [_normalized(solutions, candidate).class_mass[fold] for candidate in candidates]

    parameters = replace(task.parameters, eps=0.0)  # every confidence counts
    (_, *parts), solutions, statistics = solve_folds(
        trial.problem, gammas, trial.folds, class_masses, parameters, execution, progress
    )
    on_all_labels = [_normalized(solutions, candidate) for candidate in candidates]
    places = np.concatenate([NOTHING_HELD_OUT, *trial.folds])
    held_out_rows: IntArray | None = trial.numbers[places]
    held_out_codes, X = labels.codes[places], None
    if held_out.validation is not None:
        held_out_rows = None
        X, held_out_codes = held_out.validation
        transition = attach(point_graph(replace(task, graph=trial.graph)), X).transition
        parts = [[np.asarray(transition @ solution.class_mass) for solution in on_all_labels]]
    scales = np.array([_mean_confidence(solution) for solution in on_all_labels])
    values, fold = stack_folds(parts, scales, n_classes)
    unlabeled = ~labels.labeled
    evidence = Trials(
        params=list(candidates),
        supervised=np.zeros(len(candidates), dtype=np.bool_),
        held_out_codes=held_out_codes,
        fold=fold,
        held_out_values=values,
        scales=scales,
        pair_scales=np.ones((len(candidates), n_classes)),
        shares=np.array(
            [smoothed_shares(solution.codes[unlabeled], n_classes) for solution in on_all_labels]
        ),
        held_out_rows=held_out_rows,
        columns="masses",
    )
    if len(trial.numbers) < len(task.labels.codes):
        solutions = {}
    return HarmonicTrials(task, evidence, solutions, statistics, X)


def point_graph(task: Task) -> PointGraph | None:
    """Return the data that attach new points to the graph, None if the graph is given."""
    parameters, graph = task.parameters.graph, task.graph
    if parameters is None or graph is None:
        return None
    return PointGraph(graph.search, graph.width, parameters.n_neighbors, parameters.metric)


def _normalized(solutions: dict[float, HarmonicSolution], candidate: Candidate) -> HarmonicSolution:
    solution = solutions[float(candidate["gamma_g"])]
    return normalize_to_priors(solution, candidate["class_mass_normalization"])


def _mean_confidence(solution: HarmonicSolution) -> float:
    """Return the mean confidence of the unlabeled vertices, 1 if it is zero."""
    unlabeled = ~solution.problem.labels.labeled
    mean = float(solution.confidence[unlabeled].sum()) / max(1, int(unlabeled.sum()))
    return mean if mean > TINY else 1.0  # it may be positive in a fold


def _sink_rate(solution: HarmonicSolution) -> float:
    """Return the rate at which the walk of a new point ends in the sink."""
    return float(solution.gamma_g + solution.problem.c_unlabeled)


def _fitted(
    task: Task,
    choice: Choice | None,
    solution: HarmonicSolution,
    unnormalized: HarmonicSolution,
    parts: tuple[WalkPart, ...],
    execution: Execution,
    path: dict[str, FloatArray] | None = None,
    validation_rows: Any = None,
) -> FittedHarmonic:
    """Return the classifier of a solution, which is normalized, with labels of all rows."""
    labels, distributions = task.labels, solution.label_distributions
    majority = int(label_counts(labels).argmax())
    induced = np.where(solution.codes == UNLABELED, labels.codes, solution.codes)
    codes = _label_unreached(induced, task, majority, execution)
    predictor = HarmonicPredictor(labels.classes, parts, codes, majority)
    held_out = None
    if choice is not None and choice.is_tested:
        held_out = predictions_for(
            choice.trials.held_out_codes,
            _held_out_distributions(choice)
            if validation_rows is None
            else predictor.probabilities(validation_rows),
            choice.trials.held_out_rows,
            doubt=0.0,
            unlabeled=distributions[~labels.labeled],
        )
    return FittedHarmonic(
        task=task,
        choice=choice,
        predictor=predictor,
        codes=codes,
        label_distributions=distributions,
        confidence=solution.confidence,
        warnings=tuple(solution_warnings(solution)),
        held_out=held_out,
        solution=unnormalized,
        gamma_path=path,
    )


def _held_out_distributions(choice: Choice) -> FloatArray:
    """Return the class probabilities of the held-out labels, by blends that have not seen them."""
    trials = choice.trials
    distributions = np.empty(trials.held_out_values.shape[1:])
    for fold, weights in choice.fold_weights.items():
        rows = trials.fold == fold
        mass = np.tensordot(weights, trials.held_out_values[:, rows], axes=1)
        mass /= (weights / trials.scales).sum()
        distributions[rows] = spread_sink_mass(mass)
    return distributions


def _label_unreached(codes: IntArray, task: Task, majority: int, execution: Execution) -> IntArray:
    """Return labels of all points, for unreached ones that of the nearest point with a label."""
    unreached = np.flatnonzero(codes == UNLABELED)
    if task.graph is None or not len(unreached):
        return np.where(codes == UNLABELED, majority, codes)
    labeled, points = np.flatnonzero(codes != UNLABELED), task.graph.search.X
    nearest = nearest_neighbors(
        points[labeled],
        1,
        queries=points[unreached],
        recall=NEAREST_RECALL,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
    )
    codes = codes.copy()
    codes[unreached] = codes[labeled[nearest.indices[:, 0]]]
    return codes
