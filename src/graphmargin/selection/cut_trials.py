"""Trials of max-margin graph cuts: shared solutions, one kernel matrix, warm starts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin._solvers.kernel_training import train_on_kernel
from graphmargin.margin.induced import InducedLabels, induced_labels, supervised_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, pairwise_values, subtract_center
from graphmargin.margin.training import choose_center
from graphmargin.selection.execution import Execution
from graphmargin.selection.gamma_path import GammaStatistics, solve_folds
from graphmargin.selection.grids import c_grid, gamma_g_grid, prior_grid
from graphmargin.selection.held_out import NOTHING_HELD_OUT, HeldOutLabels
from graphmargin.selection.parameters import Parameters
from graphmargin.selection.tasks import (
    Candidate,
    Task,
    TaskTrials,
    normalize_to_priors,
    task_candidates,
)
from graphmargin.selection.trial_rows import (
    MAX_UNLABELED,
    TrialRows,
    draw_trial_rows,
    sample_rows,
)
from graphmargin.selection.trials import pairwise_trials

InducedLabelKey = tuple[float, Any]
"""gamma_g and class priors of a candidate, which determine its induced labels."""

MAX_SCALE_ROWS = 500
"""Largest number of rows on which the scale of a function and its class shares are measured."""
MAX_BLENDED = 4
"""Largest number of machines in a blend that have to be trained after trials on a sample."""
TRIAL_TOLERANCE = 1e-3
"""Tolerance of trial machines, in units of f: it changes scores slightly, but no label."""


@dataclass(frozen=True)
class CutTrials(TaskTrials):
    """The trials of a task, with the machines and solutions that the final fit can use.

    Attributes
    ----------
    n_rows : int
        Number of rows in the graph of the trials.
    rows : array of shape (s,)
        Rows that the machines learned from: all, or a sample.
    machines : list of MarginMachine
        Machines of every candidate, trained on all labels; their vectors are positions in `rows`.
    center : array or float
        Subtracted from the rows before the kernel was evaluated.
    solutions : dict from gamma_g to HarmonicSolution
        Solutions on all labels, for finite gamma_g.
    statistics : dict from gamma_g to GammaStatistics
    held_out_distributions : dict from gamma_g to array of shape (h, c)
        Class probabilities of the graph at the held-out labels, solved without them; empty for a
        validation set.
    """

    n_rows: int
    rows: IntArray
    machines: list[MarginMachine]
    center: FloatArray | float
    solutions: dict[float, HarmonicSolution]
    statistics: dict[float, GammaStatistics]
    held_out_distributions: dict[float, FloatArray]

    @property
    def has_all_rows(self) -> bool:
        """True if the machines learned from all rows, so that none has to be trained again."""
        return bool(len(self.rows) == self.task.X.shape[0])


def cut_candidates(task: Task) -> list[Candidate]:
    """Return all combinations of gamma_g, C and class priors, which gamma_g = inf does not need."""
    candidates = task_candidates(
        task,
        {
            "gamma_g": lambda: gamma_g_grid(task.W),
            "C": lambda: c_grid(task.X, task.kernel),
            "class_mass_normalization": lambda: prior_grid(task.labels),
        },
    )
    priors = candidates[0]["class_mass_normalization"]
    return [
        candidate
        for candidate in candidates
        if np.isfinite(candidate["gamma_g"]) or candidate["class_mass_normalization"] == priors
    ]


def try_cuts(
    tasks: Sequence[Task], held_out: HeldOutLabels, execution: Execution
) -> tuple[CutTrials, ...]:
    """Return the predictions of the candidates of all tasks for the held-out labels.

    The row of a held-out label remains in the graph as an unlabeled vertex. The harmonic solutions
    of all folds are solved together (`fold_solutions`), once for each graph. All machines of a task
    share a kernel matrix, each starts from the machine of the same candidate on all labels or with
    the last C, and candidates that induce the same labels with the same weights share a machine.

    Candidates are tried on at most 20,000 unlabeled rows, unless the graph is given: a sample would
    keep few of its edges. Of more than 1,000 labeled or 1,000 unlabeled rows, machines learn from a
    random sample, whose losses are weighted to represent all rows.
    """
    candidates = [cut_candidates(task) for task in tasks]
    trial_rows: dict[int, TrialRows] = {}
    for task in tasks:
        if id(task.problem) not in trial_rows:
            trial_rows[id(task.problem)] = draw_trial_rows(task, held_out, execution)
    n_candidates = sum(map(len, candidates))
    trials = []
    with report_stage(f"trial of {n_candidates} candidates", execution.verbose) as progress:
        induced: dict[Any, _InducedFolds] = {}
        for task, of_task in zip(tasks, candidates, strict=True):
            parameters, rows = task.parameters, trial_rows[id(task.problem)]
            keys = list(dict.fromkeys(_induced_label_key(candidate) for candidate in of_task))
            rule = (parameters.eps, parameters.loss_weights, parameters.class_weight)
            key = (id(task.problem), rule, tuple(keys))
            if key not in induced:
                induced[key] = _induce_folds(task, rows, keys, execution, progress)
            trials.append(
                _try_machines(task, of_task, rows, induced[key], held_out.validation, execution)
            )
    return tuple(trials)


def max_blended(trials: Sequence[CutTrials]) -> int | None:
    """Return the largest number of candidates in a blend, None if all are trained already."""
    return None if all(part.has_all_rows for part in trials) else MAX_BLENDED


@dataclass(frozen=True)
class _InducedFold:
    """Induced labels of the rows that machines learn from, without the labels of a fold.

    `distributions` has the class probabilities of the graph at the rows of the fold, by gamma_g.
    """

    labels: dict[InducedLabelKey, InducedLabels]
    distributions: dict[float, FloatArray]


@dataclass(frozen=True)
class _InducedFolds:
    """Induced labels of the rows that machines learn from: with all labels, then fold by fold."""

    rows: IntArray
    parts: list[_InducedFold]
    solutions: dict[float, HarmonicSolution]
    statistics: dict[float, GammaStatistics]


def _induce_folds(
    task: Task,
    trial: TrialRows,
    keys: Sequence[InducedLabelKey],
    execution: Execution,
    progress: ProgressCallback | None,
) -> _InducedFolds:
    """Return the induced labels of all folds for the rows that machines learn from."""
    labels, parameters = trial.labels, task.parameters
    # Without folds, class shares decide, which more rows tell better, and machines are few.
    size = None if trial.folds else MAX_UNLABELED
    rows, factors = sample_rows(labels.codes, check_random_state(execution.seed), size)
    n_classes = len(labels.classes)

    def induce(fold: IntArray, solutions: dict[float, HarmonicSolution]) -> _InducedFold:
        kept, at_rows = labels.without(fold), {}
        tested = rows[np.isin(rows, fold)]
        for gamma_g, priors in keys:
            induced = labels_to_learn(kept, solutions.get(gamma_g), priors, parameters)
            codes, weights = np.maximum(induced.codes[rows], 0), induced.weights[rows] * factors
            at_rows[gamma_g, priors] = InducedLabels(codes, weights, induced.fell_back_to_given)
        distributions: dict[float, FloatArray] = {
            gamma_g: solution.class_mass[tested] + solution.sink_mass[tested, None] / n_classes
            for gamma_g, solution in solutions.items()
        }
        return _InducedFold(at_rows, distributions)

    gammas = sorted({gamma_g for gamma_g, _ in keys if np.isfinite(gamma_g)})
    problem, folds = trial.problem, trial.folds
    return _InducedFolds(
        rows, *solve_folds(problem, gammas, folds, induce, parameters, execution, progress)
    )


def labels_to_learn(
    labels: EncodedLabels, solution: HarmonicSolution | None, priors: Any, parameters: Parameters
) -> InducedLabels:
    """Return the labels that a candidate learns from; without a solution, the given ones."""
    if solution is None or np.isinf(solution.gamma_g):
        induced = supervised_labels(labels)
    else:
        normalized = normalize_to_priors(solution, priors)
        induced = induced_labels(
            normalized, eps=parameters.eps, loss_weights=parameters.loss_weights
        )
    return induced.weighted_by_class(parameters.class_weight)


def _try_machines(
    task: Task,
    candidates: Sequence[Candidate],
    trial: TrialRows,
    induced: _InducedFolds,
    validation: tuple[Any, IntArray] | None,
    execution: Execution,
) -> CutTrials:
    """Return the trials of all candidates of a task."""
    labels, kernel, rows = trial.labels, task.kernel, induced.rows
    points = trial.X if len(rows) == trial.X.shape[0] else kernel.select_rows(trial.X, rows)
    center = choose_center(points, kernel)
    K = _kernel_values(points, points, kernel, center)
    machines = _train_candidates(K, induced.parts[0].labels, candidates, None)
    held_out_rows, distributions = None, {}
    if validation is None:
        tested = [np.flatnonzero(np.isin(rows, fold)) for fold in trial.folds]
        trained = map_in_threads(
            lambda part: _train_candidates(K, part.labels, candidates, machines),
            induced.parts[1:],
            n_jobs=execution.n_jobs,
        )
        values = [K[part] for part in tested]
        places = rows[np.concatenate([NOTHING_HELD_OUT, *tested])]
        held_out_rows, held_out_codes = trial.numbers[places], labels.codes[places]
        distributions = {
            gamma_g: np.concatenate([part.distributions[gamma_g] for part in induced.parts[1:]])
            for gamma_g in (induced.solutions if len(places) else ())
        }
    else:
        trained = [machines]
        new, held_out_codes = validation
        if kernel.kind == "precomputed" and len(rows) < new.shape[1]:
            new = new[:, rows]
        values = [_kernel_values(new, points, kernel, center)]
    unlabeled = np.flatnonzero(labels.codes[rows] == UNLABELED)
    scale_rows = unlabeled[:: -(-len(unlabeled) // MAX_SCALE_ROWS) or 1]
    evidence = pairwise_trials(
        candidates,
        [np.isinf(candidate["gamma_g"]) for candidate in candidates],
        held_out_codes,
        [pairwise_values(part, block) for part, block in zip(trained, values, strict=True)],
        pairwise_values(machines, K[scale_rows]),
        len(labels.classes),
        held_out_rows,
    )
    return CutTrials(
        task,
        evidence,
        len(labels.codes),
        rows,
        machines,
        center,
        induced.solutions,
        induced.statistics,
        distributions,
    )


def _induced_label_key(candidate: Candidate) -> InducedLabelKey:
    gamma_g = float(candidate["gamma_g"])
    return gamma_g, candidate["class_mass_normalization"] if np.isfinite(gamma_g) else False


def _kernel_values(A: Any, B: Any, kernel: Kernel, center: FloatArray | float) -> FloatArray:
    """Return k(a, b) for rows of A and B, in double precision."""
    values: Any = A
    if kernel.kind != "precomputed":
        values = kernel(subtract_center(A, center), subtract_center(B, center))
    elif sparse.issparse(A):
        values = A.toarray()
    return np.ascontiguousarray(values, dtype=np.float64)


def _train_candidates(
    K: FloatArray,
    induced: dict[InducedLabelKey, InducedLabels],
    candidates: Sequence[Candidate],
    start: list[MarginMachine] | None,
) -> list[MarginMachine]:
    """Return the machines of all candidates, each started from a similar one."""
    machines: list[MarginMachine] = []
    last: dict[InducedLabelKey, MarginMachine] = {}
    same: dict[tuple[bytes, bytes, float], MarginMachine] = {}
    for i, candidate in enumerate(candidates):
        key, C = _induced_label_key(candidate), float(candidate["C"])
        labels = induced[key]
        identity = (labels.codes.tobytes(), labels.weights.tobytes(), C)
        if identity not in same:
            same[identity] = train_on_kernel(
                K,
                labels.codes,
                C=C,
                sample_weight=labels.weights,
                start=last.get(key) if start is None else start[i],
                tolerance=TRIAL_TOLERANCE,
                n_jobs=1,
            )
        last[key] = same[identity]
        machines.append(same[identity])
    return machines
