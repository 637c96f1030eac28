"""Trials, blends and calibrated labels of max-margin machines, which several methods share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._progress import report_stage
from graphmargin._rows import subtract_center
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.walk_part import WalkPart
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibrate_machine, calibration_targets
from graphmargin.margin.coupling import class_scores, mean_sizes, scales_of_pairs
from graphmargin.margin.induced import InducedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import (
    MarginMachine,
    blend_machines,
    pairwise_values,
    predicted_codes,
    shortlisted_values,
)
from graphmargin.margin.machine_part import MachinePart
from graphmargin.margin.pairs import MarginProblem
from graphmargin.margin.solvers import MAX_ALL_PAIRS, train_on_kernel
from graphmargin.margin.training import Approximation, choose_center, train_machines
from graphmargin.search.choice import Choice
from graphmargin.search.data import InducedKey, TrainingData, TrialRows
from graphmargin.search.execution import FitWarning
from graphmargin.search.held_out import NOTHING_HELD_OUT
from graphmargin.search.member import Candidate, FittedMember
from graphmargin.search.trials import Trials, pairwise_trials

HeldOutValues = tuple[list[FloatArray], IntArray | None]
"""f of pairs of classes at some rows, for each machine, and the shortlists of many classes."""
UnlabeledSizes = Sequence[tuple[FloatArray, IntArray]]
"""Mean absolute values of f of all pairs, and class codes, of some rows, for each machine."""
MAX_SCALE_ROWS = 500
"""Largest number of rows on which the scale of a function and its class shares are measured."""
MAX_BLENDED = 4
"""Largest number of machines in a blend that have to be trained after trials on a sample."""
TRIAL_TOLERANCE = 1e-3
"""Tolerance of trial machines, in units of f: it changes scores slightly, but no label."""
TRIAL_ITERATIONS = 300
"""Largest number of iterations of trial machines for each row, and 10,000 more.

Pairs of letters with 20 labels a class take up to 180 for each of their rows, and other tables
fewer. Kernel values that are rounding errors would take millions.
"""
FEW_LABELED = 300
"""Largest number of given labels for which landmarks replace exact machines at fewer rows.

Errors of labels that are induced from few given ones hide those of landmarks: with up to 300 labels
of digits and letters, exact machines are not more accurate (docs/design.md).
"""
MAX_EXACT_INDUCED = 2000
"""Largest number of rows for which machines are then exact."""


@dataclass(frozen=True)
class KernelTrials:
    """The machines of trials on a kernel matrix.

    Attributes
    ----------
    machines : list of MarginMachine
        Machines of every candidate, trained on all labels; their vectors are row numbers.
    center : array or float
        Subtracted from the rows before the kernel was evaluated.
    has_all_rows : bool
        True if the machines learned from all rows, so that none has to be trained again.
    """

    machines: list[MarginMachine]
    center: FloatArray | float
    has_all_rows: bool


def try_on_kernel(
    data: TrainingData,
    trial: TrialRows,
    kernel: Kernel,
    candidates: Sequence[Candidate],
    keys: Sequence[InducedKey],
    learned: Sequence[dict[InducedKey, InducedLabels]],
) -> Trials:
    """Return the trials of machines that share a kernel matrix.

    Each machine starts from that of the same candidate on all labels, or with the last C.
    Candidates that learn the same labels with the same weights share a machine.

    Parameters
    ----------
    data : TrainingData
    trial : TrialRows
    kernel : Kernel
    candidates : sequence of dict
        Dicts with the key ``C``.
    keys : sequence of (gamma_g, class shares)
        What each candidate learns from, a key of `learned`; gamma_g = inf is supervised.
    learned : sequence of dict
        Labels that machines learn from: with all labels, then without those of each fold.
    """
    labels, rows = trial.labels, trial.learned
    points = trial.X if len(rows) == trial.X.shape[0] else kernel.select_rows(trial.X, rows)
    center = choose_center(points, kernel)
    K = _kernel_values(points, points, kernel, center)
    machines = _train_candidates(K, learned[0], candidates, keys, None)
    unlabeled = np.flatnonzero(labels.codes[rows] == UNLABELED)
    scale_rows = unlabeled[:: -(-len(unlabeled) // MAX_SCALE_ROWS) or 1]
    sizes = _unlabeled_sizes(machines, K[scale_rows])
    held_out_rows = None
    if data.validation is None:
        tested = [np.flatnonzero(np.isin(rows, fold)) for fold in trial.folds]
        tests = map_in_threads(
            lambda fold: _held_out_values(
                _train_candidates(K, fold[0], candidates, keys, machines), K[fold[1]], sizes
            ),
            zip(learned[1:], tested, strict=True),
            n_jobs=data.execution.n_jobs,
        )
        places = rows[np.concatenate([NOTHING_HELD_OUT, *tested])]
        held_out_rows, held_out_codes = trial.numbers[places], labels.codes[places]
    else:
        new, held_out_codes = data.validation
        if kernel.kind == "precomputed" and len(rows) < new.shape[1]:
            new = new[:, rows]
        tests = [_held_out_values(machines, _kernel_values(new, points, kernel, center), sizes)]
    trials = pairwise_trials(
        candidates,
        [bool(np.isinf(gamma_g)) for gamma_g, _ in keys],
        held_out_codes,
        [values for values, _ in tests],
        sizes,
        len(labels.classes),
        held_out_rows,
        _stacked_shortlists(tests),
    )
    has_all_rows = len(rows) == data.X.shape[0]
    return replace(
        trials,
        max_blended=None if has_all_rows else MAX_BLENDED,
        details=KernelTrials(machines, center, has_all_rows),
    )


def try_on_features(
    data: TrainingData,
    candidates: Sequence[Candidate],
    train: Callable[[IntArray], list[MarginMachine]],
    points: Any,
    rows: IntArray,
    validation: tuple[Any, IntArray] | None,
    progress: ProgressCallback | None,
) -> Trials:
    """Return the trials of machines on the same features; ``gamma_u = 0`` is supervised.

    Parameters
    ----------
    data : TrainingData
    candidates : sequence of dict
        Dicts with the keys ``gamma_u`` and ``C``.
    train : callable
        Takes the class of each row, -1 for unlabeled; returns the machines of all candidates.
    points : array or CSR matrix of shape (s, d)
        The rows that machines learn from and are tested on, in the form that they take.
    rows : array of shape (s,)
        Numbers of these rows.
    validation : tuple of rows and class codes, or None
        Rows in the form that machines take.
    progress : callable or None
    """
    labels = EncodedLabels(data.labels.classes, data.labels.codes[rows])
    tested = [np.flatnonzero(np.isin(rows, fold)) for fold in data.folds]
    unlabeled, execution = points[~labels.labeled], data.execution

    # Machines are not kept: those of many classes take much memory.
    def try_on_all(codes: IntArray) -> tuple[UnlabeledSizes, HeldOutValues | None]:
        machines = train(codes)
        sizes = _unlabeled_sizes(machines, unlabeled)
        return sizes, validation and _held_out_values(machines, validation[0], sizes)

    def try_fold(places: IntArray, sizes: UnlabeledSizes = ()) -> HeldOutValues:
        return _held_out_values(train(labels.without(places).codes), points[places], sizes)

    tests: list[Any]
    if data.n_classes > MAX_ALL_PAIRS:
        sizes, test = try_on_all(labels.codes)
        tests = map_in_threads(
            lambda places: try_fold(places, sizes),
            tested,
            n_jobs=execution.n_jobs,
            progress=progress,
        )
    else:  # folds need no sizes, so that threads have more to do at a time
        tasks: list[Callable[[], Any]] = [partial(try_on_all, labels.codes)]
        tasks += [partial(try_fold, fold) for fold in tested]
        (sizes, test), *tests = map_in_threads(
            lambda task: task(), tasks, n_jobs=execution.n_jobs, progress=progress
        )
    if validation is None:
        places = np.concatenate([NOTHING_HELD_OUT, *tested])
        held_out_rows, held_out_codes = rows[places], labels.codes[places]
    else:
        tests, held_out_rows, held_out_codes = [test], None, validation[1]
    trials = pairwise_trials(
        candidates,
        [float(candidate["gamma_u"]) == 0 for candidate in candidates],
        held_out_codes,
        [values for values, _ in tests],
        sizes,
        len(labels.classes),
        held_out_rows,
        _stacked_shortlists(tests),
    )
    return replace(trials, max_blended=MAX_BLENDED)


def _held_out_values(
    machines: Sequence[MarginMachine], X: Any, sizes: UnlabeledSizes
) -> HeldOutValues:
    """Return f of pairs of classes for each machine, and the shortlists of many classes.

    `sizes` are those of machines on all labels, and tell the units of many classes.
    """
    if machines[0].n_classes <= MAX_ALL_PAIRS:
        return pairwise_values(machines, X), None
    return shortlisted_values(machines, X, [scales_of_pairs(means) for means, _ in sizes])


def _stacked_shortlists(tests: Sequence[HeldOutValues]) -> IntArray | None:
    shortlists = [part for _, part in tests if part is not None]
    return np.concatenate(shortlists) if shortlists else None


def _unlabeled_sizes(machines: Sequence[MarginMachine], X: Any) -> UnlabeledSizes:
    """Return mean absolute values of f of all pairs, and class codes, for each machine."""
    sizes = []
    if machines[0].n_classes <= MAX_ALL_PAIRS:
        for f in pairwise_values(machines, X):
            means = mean_sizes(f)
            scores = class_scores(f, machines[0].n_classes, scales_of_pairs(means))
            sizes.append((means, predicted_codes(scores)))
        return sizes
    for machine in machines:
        means, scores = machine.scores_in_own_units(X)
        sizes.append((means, predicted_codes(scores)))
    return sizes


def labels_of_trial(data: TrainingData, trial: TrialRows, induced: InducedLabels) -> InducedLabels:
    """Return the labels of the rows that trial machines learn from, with weights of their losses.

    They are weighted by their classes, and by the number of rows that each represents.
    """
    weighted = induced.weighted_by_class(data.class_weight)
    codes = np.maximum(weighted.codes, 0)
    return replace(weighted, codes=codes, weights=weighted.weights * trial.factors)


def blend_on_rows(
    data: TrainingData,
    kernel: Kernel,
    approximation: Approximation,
    choice: Choice,
    learned: Callable[[int], InducedLabels],
    stage: str,
) -> tuple[MarginMachine, list[MarginMachine]]:
    """Return the blend of the chosen machines on all rows, and the machines.

    They are those of the trials if these learned from all rows. Else they are trained, and
    `learned` takes the number of a candidate and returns the labels that it learns from.
    """
    numbers, factors = zip(*choice.blended, strict=True)
    tried: KernelTrials | None = choice.trials.details
    if tried is None or not tried.has_all_rows:
        with report_stage(stage, data.execution.verbose) as progress:
            labels = [(learned(i), float(choice.trials.params[i]["C"])) for i in numbers]
            problems = [MarginProblem(part.codes, part.weights, C) for part, C in labels]
            trained = train_on_rows(data, problems, kernel, approximation, choice, progress)
        return blend_machines(trained, factors), trained
    trained = [tried.machines[i] for i in numbers]
    machine = blend_machines(trained, factors)
    if kernel.kind != "precomputed":
        vectors = data.X[machine.vectors]
        machine = replace(machine, kernel=kernel, vectors=vectors, center=tried.center)
    return machine.collapse_linear(), trained


def train_on_rows(
    data: TrainingData,
    problems: Sequence[MarginProblem],
    kernel: Kernel,
    approximation: Approximation,
    choice: Choice,
    progress: ProgressCallback | None,
) -> list[MarginMachine]:
    """Return the machines of some problems on all rows, with the center of trials if any."""
    has_few_labels = np.count_nonzero(data.labels.labeled) <= FEW_LABELED
    tried: KernelTrials | None = choice.trials.details
    return train_machines(
        data.X,
        problems,
        kernel,
        approximation=approximation,
        max_exact=MAX_EXACT_INDUCED if has_few_labels else None,
        center=None if tried is None else tried.center,
        n_jobs=data.execution.n_jobs,
        random_state=data.execution.seed,
        progress=progress,
    )


def calibrate_and_label(
    data: TrainingData,
    machine: MarginMachine,
    choice: Choice,
    warnings: Sequence[FitWarning],
    graph: tuple[WalkPart, FloatArray] | None = None,
    details: Any = None,
) -> FittedMember:
    """Return a machine with calibrated probabilities, and its labels of all rows.

    Probabilities are calibrated on the held-out labels of the choice, or else on the given labels.
    Given labels are kept, and the machine predicts all others, together with the graph if this
    makes the held-out labels likelier. `graph` has the walk of new rows, and the log-probabilities
    of all rows.
    """
    labels, n_classes = data.labels, data.n_classes
    if choice.is_tested:
        calibration = choice.calibration
    else:
        given = labels.codes[labels.labeled]
        targets = calibration_targets(np.eye(n_classes)[given], given)
        rows = data.X[np.flatnonzero(labels.labeled)]
        calibration = calibrate_machine(machine, rows, targets, data.class_weight)
    scores = machine.scores(data.X, calibration.pair_scales)
    walk = None
    if graph is not None and calibration.graph_weight > 0:
        walk, log_graph = graph
        scores = scores + calibration.graph_weight * log_graph
    codes = np.where(labels.labeled, labels.codes, predicted_codes(scores))
    distributions = calibration.probabilities(scores)
    return FittedMember(
        part=MachinePart(machine, calibration, walk),
        codes=codes,
        label_distributions=distributions,
        confidence=distributions[np.arange(len(codes)), codes],
        warnings=tuple(warnings),
        details=details,
    )


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
    learned: dict[InducedKey, InducedLabels],
    candidates: Sequence[Candidate],
    keys: Sequence[InducedKey],
    start: list[MarginMachine] | None,
) -> list[MarginMachine]:
    """Return the machines of all candidates, each started from a similar one."""
    machines: list[MarginMachine] = []
    last: dict[InducedKey, MarginMachine] = {}
    same: dict[tuple[bytes, bytes, float], MarginMachine] = {}
    for i, (candidate, key) in enumerate(zip(candidates, keys, strict=True)):
        labels, C = learned[key], float(candidate["C"])
        identity = (labels.codes.tobytes(), labels.weights.tobytes(), C)
        if identity not in same:
            same[identity] = train_on_kernel(
                K,
                labels.codes,
                C=C,
                sample_weight=labels.weights,
                start=last.get(key) if start is None else start[i],
                tolerance=TRIAL_TOLERANCE,
                max_iterations=10_000 + TRIAL_ITERATIONS * len(K),
                n_jobs=1,
            )
        last[key] = same[identity]
        machines.append(same[identity])
    return machines
