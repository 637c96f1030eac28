"""Max-margin graph cuts with fixed or chosen parameters, fitted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import BoolArray, FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.solution import HarmonicSolution, solve_path
from graphmargin.labels import UNLABELED
from graphmargin.margin.calibration import calibrate_pairs, calibration_targets
from graphmargin.margin.induced import InducedLabels, induced_labels, supervised_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, blend_machines, predicted_codes
from graphmargin.margin.margin_predictor import MarginPredictor, log_graph_probabilities
from graphmargin.margin.pairs import MarginProblem
from graphmargin.margin.training import train_machines
from graphmargin.selection.choice import Choice
from graphmargin.selection.cut_trials import CutTrials, labels_to_learn
from graphmargin.selection.execution import (
    Execution,
    FitWarning,
    machine_warnings,
    solution_warnings,
)
from graphmargin.selection.fitted import (
    FittedClassifier,
    GraphProbabilities,
    calibrate_and_label,
)
from graphmargin.selection.gamma_path import gamma_path
from graphmargin.selection.harmonic_fits import point_graph, walk_parts
from graphmargin.selection.parameters import fixed_value
from graphmargin.selection.tasks import BlendMember, Task, blend_members, solve_fixed

CALIBRATION_ROWS = 2_000
"""Largest number of training rows on which scores are calibrated."""
FEW_LABELS = 300
"""Largest number of given labels with which landmarks replace exact machines from fewer rows on.

Errors of labels that are induced from few given ones hide those of landmarks: with up to 300 labels
of digits and letters, exact machines are not more accurate (docs/design.md).
"""
MAX_EXACT_INDUCED = 2000
"""Largest number of rows for which machines are then exact."""
MAX_GRAPH_ROWS = 20_000
"""Largest number of rows that a model keeps in order to attach new rows to its graph."""


@dataclass(frozen=True)
class FittedCut(FittedClassifier):
    """A fitted max-margin graph cut.

    Attributes
    ----------
    solution : HarmonicSolution
        Solution before class mass normalization; if parameters were chosen, that of the heaviest
        candidate that uses the graph.
    training_mask : array of shape (n,)
        Rows that the machine of this candidate was trained on.
    gamma_path : dict or None
        Set if parameters were chosen, see `graphmargin.selection.gamma_path`.
    training_scores : array of shape (n,) or None
        f at all rows, for two classes with soft labels and fixed parameters, for which the risk
        bound holds.
    """

    solution: HarmonicSolution
    training_mask: BoolArray
    gamma_path: dict[str, FloatArray] | None = None
    training_scores: FloatArray | None = None


def blend_cuts(trials: Sequence[CutTrials], choice: Choice, execution: Execution) -> FittedCut:
    """Return the blend of the chosen candidates of all tasks, fitted on all rows."""
    members = blend_members(trials, choice)
    with_graph = _members_with_graph(members)
    heaviest = (with_graph or members)[0]
    if all(member.trials.has_all_rows for member in members):
        solutions = _solutions_on_all_rows([*with_graph, heaviest], execution)
        trained = [member.trials.machines[member.position] for member in members]
        machines = _blend_of_trials(members)
    else:
        solutions = _solutions_on_all_rows([*members, heaviest], execution)
        trained = _train_members(members, solutions, execution)
        machines = blend_machines(trained, [member.factor for member in members])
    solution = solutions[_solution_key(heaviest)]
    warnings = [*solution_warnings(solution), *machine_warnings(trained)]
    graph = _graph_probabilities(trials, with_graph, solutions, choice)
    fitted = calibrate_and_label(heaviest.trials.task, machines, choice, warnings, graph)
    return FittedCut(
        **vars(fitted),
        solution=solution,
        training_mask=_induced(heaviest, solutions).mask,
        gamma_path=gamma_path(choice, heaviest.numbers, heaviest.trials.statistics),
    )


def fit_cut(task: Task, execution: Execution) -> FittedCut:
    """Return the max-margin graph cut with the fixed parameters of a task, fitted on all rows."""
    parameters, labels = task.parameters, task.labels
    solution, normalized = solve_fixed(task, execution)
    induced = induced_labels(
        normalized, eps=parameters.eps, loss_weights=parameters.loss_weights
    ).weighted_by_class(parameters.class_weight)
    warnings = [*solution_warnings(normalized), *_induced_warnings(induced)]
    rows = np.flatnonzero(induced.mask)
    stage = f"max-margin classifier on {len(rows):,} points"
    with report_stage(stage, execution.verbose) as progress:
        problem = MarginProblem(induced.codes, induced.weights, fixed_value(parameters.C))
        (machine,) = _train_on_rows(task, [problem], None, execution, progress)
        predictor = _calibrated_predictor(task, machine, normalized, rows)
        distributions, codes = normalized.label_distributions, induced.codes
        unreached = codes == UNLABELED
        if unreached.any():
            scores = predictor.decision(task.X[unreached])
            distributions[unreached] = predictor.calibration.probabilities(scores)
            codes = codes.copy()
            codes[unreached] = predicted_codes(scores)
    scores_for_bound = None
    if len(labels.classes) == 2 and normalized is solution and not task.problem.hard.any():
        scores_for_bound = machine.decision(task.X)
    return FittedCut(
        task=task,
        choice=None,
        predictor=predictor,
        codes=codes,
        label_distributions=distributions,
        confidence=distributions[np.arange(len(codes)), codes],
        warnings=(*warnings, *machine_warnings([machine])),
        held_out=None,
        solution=solution,
        training_mask=induced.mask,
        training_scores=scores_for_bound,
    )


def fit_supervised(task: Task, execution: Execution) -> FittedClassifier:
    """Return the supervised SVM with the fixed parameters of a task."""
    n_labeled = int(task.labels.labeled.sum())
    stage = f"max-margin classifier on {n_labeled:,} points"
    with report_stage(stage, execution.verbose) as progress:
        given = supervised_labels(task.labels).weighted_by_class(task.parameters.class_weight)
        problem = MarginProblem(given.codes, given.weights, fixed_value(task.parameters.C))
        machines = _train_on_rows(task, [problem], None, execution, progress)
        collapsed = [machine.collapse_linear() for machine in machines]
        return calibrate_and_label(task, collapsed, None, machine_warnings(machines))


def held_out_log_graph(trials: Sequence[CutTrials], choice: Choice) -> FloatArray | None:
    """Return log-probabilities of the held-out labels by the graphs of a blend, if these are used.

    Each label is predicted by harmonic solutions without it, of shape (h, c).
    """
    members = _members_with_graph(blend_members(trials, choice))
    if not _graph_is_used(members, choice):
        return None
    held_out = [
        member.trials.held_out_distributions[float(member.candidate["gamma_g"])]
        for member in members
    ]
    return log_graph_probabilities(np.tensordot(_graph_shares(members, choice), held_out, axes=1))


def _members_with_graph(members: Sequence[BlendMember]) -> list[BlendMember]:
    return [member for member in members if np.isfinite(member.candidate["gamma_g"])]


def _graph_shares(members: Sequence[BlendMember], choice: Choice) -> FloatArray:
    """Return the shares of the members with a graph, by their weights."""
    weights = np.array([choice.weights[member.number] for member in members])
    return np.asarray(weights / weights.sum())


def _graph_is_used(members: Sequence[BlendMember], choice: Choice) -> bool:
    """Tell whether class probabilities of the graphs are added to those of the machines.

    With two classes they make probabilities no better (docs/evidence.md). A given graph has no
    edges to new rows, and a model does not keep the rows of a large table.
    """
    if len(choice.label_counts) == 2 or not members or not choice.is_tested:
        return False
    if members[0].trials.task.X.shape[0] > MAX_GRAPH_ROWS:
        return False
    return all(
        member.trials.held_out_distributions and point_graph(member.trials.task) is not None
        for member in members
    )


def _graph_probabilities(
    trials: Sequence[CutTrials],
    members: Sequence[BlendMember],
    solutions: Solutions,
    choice: Choice,
) -> GraphProbabilities | None:
    """Return the class probabilities of the graphs of a blend, None if they are not to be used."""
    at_held_out = held_out_log_graph(trials, choice)
    if at_held_out is None:
        return None
    tasks, shares = [member.trials.task for member in members], _graph_shares(members, choice)
    of_members = [solutions[_solution_key(member)] for member in members]
    distributions = [solution.label_distributions for solution in of_members]
    return GraphProbabilities(
        at_rows=log_graph_probabilities(np.tensordot(shares, distributions, axes=1)),
        at_held_out=at_held_out,
        parts=walk_parts(tasks, of_members, shares),
    )


Solutions = dict[tuple[int, float], HarmonicSolution]
"""Harmonic solutions on all rows and labels, by problem and gamma_g."""


def _solution_key(member: BlendMember) -> tuple[int, float]:
    return id(member.trials.task.problem), float(member.candidate["gamma_g"])


def _solutions_on_all_rows(members: Sequence[BlendMember], execution: Execution) -> Solutions:
    """Return the solutions that members learn from, those of the trials if these had all rows."""
    solutions: Solutions = {}
    missing: dict[int, tuple[Task, set[float]]] = {}
    for member in members:
        problem, gamma_g = _solution_key(member)
        task = member.trials.task
        if member.trials.n_rows == task.X.shape[0] and gamma_g in member.trials.solutions:
            solutions[problem, gamma_g] = member.trials.solutions[gamma_g]
        else:
            missing.setdefault(problem, (task, set()))[1].add(gamma_g)
    for problem, (task, gammas) in missing.items():
        for solution in solve_path(task.problem, sorted(gammas), n_jobs=execution.n_jobs):
            solutions[problem, solution.gamma_g] = solution
    return solutions


def _train_members(
    members: Sequence[BlendMember], solutions: Solutions, execution: Execution
) -> list[MarginMachine]:
    """Return the machines of a blend, trained on all rows; those of a task are trained together."""
    by_task: dict[int, list[int]] = {}
    for i, member in enumerate(members):
        by_task.setdefault(id(member.trials), []).append(i)
    machines: dict[int, MarginMachine] = {}
    with report_stage(f"blend of {len(members)} classifiers", execution.verbose) as progress:
        for numbers in by_task.values():
            trials = members[numbers[0]].trials
            trained = _train_on_rows(
                trials.task,
                [_margin_problem(members[i], solutions) for i in numbers],
                trials.center,
                execution,
                progress,
            )
            machines.update(zip(numbers, trained, strict=True))
    return [machines[i] for i in range(len(members))]


def _margin_problem(member: BlendMember, solutions: Solutions) -> MarginProblem:
    """Return the problem of a candidate on all rows."""
    induced = _induced(member, solutions)
    return MarginProblem(induced.codes, induced.weights, float(member.candidate["C"]))


def _blend_of_trials(members: Sequence[BlendMember]) -> tuple[MarginMachine, ...]:
    """Return the blend of trial machines that learned from all rows, one for each kernel."""
    groups: dict[Kernel, list[BlendMember]] = {}
    for member in members:
        groups.setdefault(member.trials.task.kernel, []).append(member)
    machines = []
    for kernel, group in groups.items():
        trials = group[0].trials
        (machine,) = blend_machines(
            [member.trials.machines[member.position] for member in group],
            [member.factor for member in group],
        )
        if kernel.kind != "precomputed":
            vectors = trials.task.X[machine.vectors]
            machine = replace(machine, kernel=kernel, vectors=vectors, center=trials.center)
        machines.append(machine.collapse_linear())
    return tuple(machines)


def _induced(member: BlendMember, solutions: Solutions) -> InducedLabels:
    """Return the induced labels that a candidate learns from, on all rows."""
    task, priors = member.trials.task, member.candidate["class_mass_normalization"]
    solution = solutions.get(_solution_key(member))
    return labels_to_learn(task.labels, solution, priors, task.parameters)


def _induced_warnings(induced: InducedLabels) -> list[FitWarning]:
    if not induced.fell_back_to_given:
        return []
    return [
        FitWarning(
            "the soft solution induces no label of some class, so that labeled points keep their "
            "given labels; raise `c_labeled` or lower `gamma_g`",
            UserWarning,
        )
    ]


def _train_on_rows(
    task: Task,
    problems: Sequence[MarginProblem],
    center: FloatArray | float | None,
    execution: Execution,
    progress: ProgressCallback | None,
) -> list[MarginMachine]:
    """Return the machines that are trained on the rows of a task."""
    has_few_labels = np.count_nonzero(task.labels.labeled) <= FEW_LABELS
    return train_machines(
        task.X,
        problems,
        task.kernel,
        approximation=task.parameters.approximation,
        max_exact=MAX_EXACT_INDUCED if has_few_labels else None,
        center=center,
        n_jobs=execution.n_jobs,
        random_state=execution.seed,
        progress=progress,
    )


def _calibrated_predictor(
    task: Task, machine: MarginMachine, solution: HarmonicSolution, rows: IntArray
) -> MarginPredictor:
    """Return the predictor of a machine, calibrated on the class masses of some training rows."""
    sample = rows[:: -(-len(rows) // CALIBRATION_ROWS)]
    targets = calibration_targets(solution.class_mass, task.labels.codes)[sample]
    class_weight = task.parameters.class_weight
    calibration = calibrate_pairs(machine.pairwise(task.X[sample]), targets, class_weight)
    return MarginPredictor(task.labels.classes, (machine.collapse_linear(),), calibration)
