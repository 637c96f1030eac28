"""Harmonic solutions with fixed or chosen parameters: tasks, candidates, trials, and the blend."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.graph.neighbors import nearest_neighbors
from graphmargin.harmonic.hidden_labels import solve_hidden
from graphmargin.harmonic.predictor import HarmonicPredictor, PointGraph, WalkPart, attach
from graphmargin.harmonic.problem import HarmonicProblem, problem_on
from graphmargin.harmonic.solution import HarmonicSolution, mean_solution, solve_path
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import NOTHING_HELD_OUT, with_priors
from graphmargin.selection.execution import Execution, solution_warnings
from graphmargin.selection.fitted import FittedClassifier
from graphmargin.selection.gamma_path import (
    GammaStatistics,
    count_right,
    gamma_path,
    solution_statistics,
)
from graphmargin.selection.graphs import FittedGraph, fit_graphs
from graphmargin.selection.grids import gamma_g_grid, label_counts, prior_grid
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.parameters import GraphParameters, HarmonicParameters, fixed_value
from graphmargin.selection.trials import Trials, smoothed_shares, stack_folds

Candidate = dict[str, Any]
"""Values of ``gamma_g`` and ``class_mass_normalization`` (False, or a tuple of priors)."""

TINY = float(np.finfo(np.float64).tiny)
NEAREST_RECALL = 0.9
"""Recall for rows that no label reaches: their confidence is 0, and a near label does as well."""


@dataclass(frozen=True)
class HarmonicTask:
    """The labels and the graph that candidates share.

    Attributes
    ----------
    parameters : HarmonicParameters
    labels : EncodedLabels
    graph : FittedGraph
    problem : HarmonicProblem
    """

    parameters: HarmonicParameters
    labels: EncodedLabels
    graph: FittedGraph
    problem: HarmonicProblem

    @property
    def points(self) -> PointGraph | None:
        """What attaches new points to the graph; None for a given one."""
        wanted, graph = self.parameters.graph, self.graph.points
        if wanted is None or graph is None:
            return None
        return PointGraph(graph.search, graph.weighting, wanted.n_neighbors, wanted.metric)


@dataclass(frozen=True)
class HarmonicTrials:
    """The trials of a task, and the solutions on all labels, by gamma_g."""

    task: HarmonicTask
    evidence: Trials
    solutions: dict[float, HarmonicSolution]
    statistics: dict[float, GammaStatistics]


@dataclass(frozen=True)
class FittedHarmonic(FittedClassifier):
    """A fitted harmonic classifier.

    Attributes
    ----------
    graph : FittedGraph
    solution : HarmonicSolution
        As solved; if parameters were chosen, for the heaviest candidate.
    gamma_path : dict or None
        Set if parameters were chosen, see `graphmargin.selection.gamma_path`.
    """

    graph: FittedGraph
    solution: HarmonicSolution
    gamma_path: dict[str, FloatArray] | None = None


def harmonic_tasks(
    X: Any,
    labels: EncodedLabels,
    W: Any,
    parameters: Sequence[HarmonicParameters],
    execution: Execution,
) -> tuple[HarmonicTask, ...]:
    """Return a task for each set of parameters; every graph is built once."""
    wanted_graphs: list[GraphParameters | None] = [wanted.graph for wanted in parameters]
    graphs = fit_graphs(X, W, wanted_graphs, execution)
    return tuple(
        HarmonicTask(
            wanted,
            labels,
            graphs[wanted.graph],
            problem_on(
                graphs[wanted.graph].W,
                labels,
                c_labeled=wanted.c_labeled,
                c_unlabeled=wanted.c_unlabeled,
            ),
        )
        for wanted in parameters
    )


def harmonic_candidates(task: HarmonicTask) -> list[Candidate]:
    """Return all combinations of gamma_g and class priors; "auto" has finite gamma_g only."""
    gammas, priors = task.parameters.gamma_g, task.parameters.class_mass_normalization
    gammas = tuple(gamma_g_grid(task.graph.W)[1:]) if gammas is None else gammas
    priors = tuple(prior_grid(task.labels)) if priors is None else priors
    return [
        {"gamma_g": gamma_g, "class_mass_normalization": prior}
        for gamma_g, prior in product(gammas, priors)
    ]


def try_harmonic(
    tasks: Sequence[HarmonicTask], held_out: HeldOutLabels, execution: Execution
) -> tuple[HarmonicTrials, ...]:
    """Return what harmonic solutions say about labels that are held out from them.

    Columns are class masses. With a large gamma_g most of the walks end in the sink, and the
    masses of all classes are tiny; with few labels and a small one they are large, but nearly the
    same everywhere. What decides is the best minus the second best, so that the mean confidence
    of the unlabeled vertices is the scale of a candidate, abs(l) for two classes. Without it, a
    large gamma_g would have no say in a blend.

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> x = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0])
    >>> W = np.exp(-np.abs(x[:, None] - x)) - np.eye(6)
    >>> parameters = HarmonicParameters(None, (0.1,), (False,), "auto", np.inf, 0.0)
    >>> labels = encode_labels([0, -1, 0, 1, -1, 1])
    >>> tasks = harmonic_tasks(W, labels, W, [parameters], Execution())
    >>> held_out = HeldOutLabels((np.array([0, 3]), np.array([2, 5])))
    >>> (trials,) = try_harmonic(tasks, held_out, Execution())
    >>> evidence = trials.evidence
    >>> (evidence.scores(evidence.held_out_values[0]) > 0).tolist()
    [False, True, False, True]
    """
    candidates = [harmonic_candidates(task) for task in tasks]
    n_candidates = sum(map(len, candidates))
    with report_stage(f"trial of {n_candidates} candidates", execution.verbose) as progress:
        return tuple(
            _try_task(task, some, held_out, execution, progress)
            for task, some in zip(tasks, candidates, strict=True)
        )


def blend_harmonic(
    trials: Sequence[HarmonicTrials], choice: Choice, execution: Execution
) -> FittedHarmonic:
    """Return the mean of the chosen solutions, weighted by their factors."""
    places = [(part, i) for part in trials for i in range(len(part.evidence.params))]
    numbers, factors = zip(*choice.blended, strict=True)
    shares = np.array(factors) / np.sum(factors)
    members = [(*places[i], share) for i, share in zip(numbers, shares, strict=True)]
    solutions = [_candidate_solution(part, part.evidence.params[i]) for part, i, _ in members]
    solution = mean_solution(solutions, shares)
    parts = []
    for part in dict.fromkeys(id(part) for part, _, _ in members):
        own = [k for k, member in enumerate(members) if id(member[0]) == part]
        task = members[own[0]][0].task
        mean = mean_solution([solutions[k] for k in own], [shares[k] for k in own])
        sinks = tuple((float(shares[k]), _sink_rate(solutions[k])) for k in own)
        parts.append(WalkPart(mean.class_mass, sinks, task.points))
    heaviest, place = places[numbers[0]]
    first = numbers[0] - place
    return _fitted(
        heaviest.task,
        solution,
        heaviest.solutions[solutions[0].gamma_g],
        tuple(parts),
        execution,
        gamma_path(
            choice, range(first, first + len(heaviest.evidence.params)), heaviest.statistics
        ),
    )


def fit_harmonic(task: HarmonicTask, execution: Execution) -> FittedHarmonic:
    """Return the harmonic solution with the one candidate of a task."""
    wanted, n_classes = task.parameters, len(task.labels.classes)
    with report_stage(f"harmonic solution of {n_classes} classes", execution.verbose) as progress:
        solution = solve_path(
            task.problem,
            [fixed_value(wanted.gamma_g)],
            solver=wanted.solver,
            n_jobs=execution.n_jobs,
            progress=progress,
        )[0]
    priors = wanted.class_mass_normalization
    normalized = with_priors(solution, False if priors is None else priors[0])
    part = WalkPart(normalized.class_mass, ((1.0, _sink_rate(solution)),), task.points)
    return _fitted(task, normalized, solution, (part,), execution, None)


def _try_task(
    task: HarmonicTask,
    candidates: Sequence[Candidate],
    held_out: HeldOutLabels,
    execution: Execution,
    progress: ProgressCallback | None,
) -> HarmonicTrials:
    labels, n_classes = task.labels, len(task.labels.classes)
    tested = [np.sort(fold) for fold in held_out.folds]
    gammas = sorted({float(candidate["gamma_g"]) for candidate in candidates})
    solved = solve_hidden(
        task.problem,
        gammas,
        [NOTHING_HELD_OUT, *tested],
        solver=task.parameters.solver,
        n_jobs=execution.n_jobs,
        progress=progress,
    )
    solutions = dict(zip(gammas, next(solved), strict=True))
    complete = [_with_candidate(solutions, candidate) for candidate in candidates]
    n_right = dict.fromkeys(gammas, 0)
    parts = []
    for rows, fold_solutions in zip(tested, solved, strict=True):
        by_gamma = dict(zip(gammas, fold_solutions, strict=True))
        parts.append(
            [_with_candidate(by_gamma, candidate).class_mass[rows] for candidate in candidates]
        )
        for gamma_g, solution in by_gamma.items():
            n_right[gamma_g] += count_right(solution, rows, labels.codes)
    held_out_codes = labels.codes[np.concatenate([NOTHING_HELD_OUT, *tested])]
    if held_out.validation is not None:
        X, held_out_codes = held_out.validation
        moves = attach(task.points, X).moves
        parts = [[np.asarray(moves @ solution.class_mass) for solution in complete]]
    scales = np.array([_mean_confidence(solution) for solution in complete])
    values, fold = stack_folds(parts, scales, n_classes)
    unlabeled = ~labels.labeled
    evidence = Trials(
        params=[{**(task.parameters.listed or {}), **candidate} for candidate in candidates],
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
    n_held_out = sum(map(len, tested))
    statistics = {
        gamma_g: solution_statistics(solution, n_right[gamma_g], n_held_out, eps=0.0)
        for gamma_g, solution in solutions.items()
    }
    return HarmonicTrials(task, evidence, solutions, statistics)


def _with_candidate(
    solutions: dict[float, HarmonicSolution], candidate: Candidate
) -> HarmonicSolution:
    solution = solutions[float(candidate["gamma_g"])]
    return with_priors(solution, candidate["class_mass_normalization"])


def _candidate_solution(trials: HarmonicTrials, candidate: Candidate) -> HarmonicSolution:
    return _with_candidate(trials.solutions, candidate)


def _mean_confidence(solution: HarmonicSolution) -> float:
    """Return the mean confidence of the unlabeled vertices, 1 if they have none."""
    unlabeled = ~solution.problem.labels.labeled
    mean = float(solution.confidence[unlabeled].sum()) / max(1, int(unlabeled.sum()))
    return mean if mean > TINY else 1.0  # labels that are held out may have some


def _sink_rate(solution: HarmonicSolution) -> float:
    """Return the rate at which a new point falls into the sink."""
    return float(solution.gamma_g + solution.problem.c_unlabeled)


def _fitted(
    task: HarmonicTask,
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
        predictor=HarmonicPredictor(labels.classes, parts, codes, majority),
        codes=codes,
        label_distributions=solution.label_distributions,
        confidence=solution.confidence,
        warnings=tuple(solution_warnings(solution)),
        graph=task.graph,
        solution=as_solved,
        gamma_path=path,
    )


def _complete(codes: IntArray, task: HarmonicTask, majority: int, execution: Execution) -> IntArray:
    """Give points that no label reaches the label of the nearest point that has one."""
    unknown = np.flatnonzero(codes == UNLABELED)
    if task.graph.points is None or not len(unknown):
        return np.where(codes == UNLABELED, majority, codes)
    known, points = np.flatnonzero(codes != UNLABELED), task.graph.points.search.X
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
