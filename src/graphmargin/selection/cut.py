"""Trials of max-margin graph cuts: one graph, one kernel matrix, machines that start warm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils import check_random_state

from graphmargin._threads import in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.hidden_labels import solve_hidden
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution, normalize_class_mass
from graphmargin.harmonic.solve import Solver
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.features import spread_rows
from graphmargin.margin.induced import InducedLabels, given_labels, induced_labels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, blend, centered, joint_pairwise
from graphmargin.margin.training import center_of, train_on_kernel
from graphmargin.selection.choice import Trials, pairwise_trials

Key = tuple[float, Any]

MAX_LABELED = 1000
"""Labeled rows, at most, that machines of a trial learn from and are tested on."""
LABELED_A_CLASS = 10
"""Labeled rows that are taken of each class in any case, lest a fold hides all of them."""
MAX_UNLABELED = 1000
"""Unlabeled rows, at most, that machines of a trial learn from."""
NOTHING_HIDDEN: IntArray = np.zeros(0, dtype=np.int64)
MAX_SEEN = 500
"""Rows whose scores tell the scale of a function, and its class shares."""
TRIAL_TOLERANCE = 1e-3
"""Of trial machines, in units of f: it moves a score, not a label."""


@dataclass(frozen=True)
class CutTrials:
    """The trials, and what they leave for the machine that is trained in the end.

    Attributes
    ----------
    trials : Trials
    n_rows : int
        Rows that were tried on.
    rows : array of shape (s,)
        Those that the machines learned from: all, or a sample.
    machines : list of MarginMachine
        Of every candidate, trained on all labels; their vectors are positions in `rows`.
    center : array or float
        What was subtracted from the rows before the kernel saw them.
    solutions : dict from gamma_g to HarmonicSolution
        On all labels, for finite gamma_g.
    """

    trials: Trials
    n_rows: int
    rows: IntArray
    machines: list[MarginMachine]
    center: FloatArray | float
    solutions: dict[float, HarmonicSolution]

    def blend(self, parts: Sequence[tuple[int, float]], X: Any, kernel: Kernel) -> MarginMachine:
        """Return the sum of some candidates, by number and factor, as a function of rows."""
        numbers, factors = zip(*parts, strict=True)
        machine = blend([self.machines[i] for i in numbers], factors)
        rows = self.rows[machine.vectors]
        if kernel.kind == "precomputed":
            return replace(machine, vectors=rows)
        return replace(machine, kernel=kernel, vectors=X[rows], center=self.center)


def cut_trials(
    X: Any,
    labels: EncodedLabels,
    kernel: Kernel,
    problem: HarmonicProblem | None,
    candidates: Sequence[dict[str, Any]],
    folds: Sequence[IntArray],
    *,
    eps: float = 1e-6,
    loss_weights: str = "confidence",
    validation: tuple[Any, IntArray] | None = None,
    solver: Solver = "auto",
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> CutTrials:
    """Return what max-margin graph cuts say about labels that are hidden from them.

    A hidden label's row stays in the graph as an unlabeled vertex. The harmonic solutions of all
    folds are solved together (`solve_hidden`), all machines share a kernel matrix, each starts at
    that of the same candidate on all labels or of the last C, and candidates that induce the same
    labels with the same weights are one machine.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or a kernel matrix
    labels : EncodedLabels
    kernel : Kernel
    problem : HarmonicProblem or None
        The graph with all labels; None if all gamma_g are inf.
    candidates : sequence of dict
        With keys ``gamma_g``, ``C`` and ``class_mass_normalization``: False, or a tuple of priors.
    folds : sequence of arrays
        Labeled rows to hide.
    eps, loss_weights, solver, n_jobs, random_state, progress
        As in `MaxMarginGraphCut`. Of more than 1,000 labeled or 1,000 unlabeled rows, machines
        learn from a random sample, whose losses count for all rows.
    validation : tuple of rows and class codes, default=None
        Labeled rows outside of X to test on, in place of hidden ones.

    Returns
    -------
    CutTrials

    Examples
    --------
    >>> from graphmargin.harmonic.problem import harmonic_problem
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    >>> W = np.exp(-np.abs(X - X.T)) - np.eye(6)
    >>> problem = harmonic_problem(W, [0, -1, 0, 1, -1, 1])
    >>> found = cut_trials(
    ...     X,
    ...     problem.labels,
    ...     Kernel("linear"),
    ...     problem,
    ...     [{"gamma_g": 0.1, "C": 10.0, "class_mass_normalization": False}],
    ...     [np.array([0, 3]), np.array([2, 5])],
    ... )
    >>> (found.trials.decide(found.trials.held_out[0]) > 0).tolist()
    [False, True, False, True]
    """
    rows, factors = sample_rows(labels.codes, check_random_state(random_state))
    points = _points(X, rows, kernel)
    center = center_of(points, kernel)
    K = _kernel_values(points, points, kernel, center)
    hidden = [NOTHING_HIDDEN, *(folds if validation is None else [])]
    keys = list(dict.fromkeys(_key(candidate) for candidate in candidates))
    parts: list[dict[Key, InducedLabels]] = []
    solutions: dict[float, HarmonicSolution] = {}
    for one, solved in _solve(labels, problem, keys, hidden, solver, n_jobs, progress):
        solutions = solutions or solved
        parts.append(
            {key: _induce(one, solved, key, rows, factors, eps, loss_weights) for key in keys}
        )
    machines = _train(K, parts[0], candidates, None)

    if validation is None:
        tested = [np.flatnonzero(np.isin(rows, fold)) for fold in folds]
        trained = in_threads(
            lambda part: _train(K, part, candidates, machines), parts[1:], n_jobs=n_jobs
        )
        values = [K[places] for places in tested]
        given = labels.codes[rows[np.concatenate([NOTHING_HIDDEN, *tested])]]
    else:
        trained = [machines]
        new = validation[0]
        if kernel.kind == "precomputed" and len(rows) < new.shape[1]:
            new = new[:, rows]
        values = [_kernel_values(new, points, kernel, center)]
        given = validation[1]
    unlabeled = np.flatnonzero(labels.codes[rows] == UNLABELED)
    seen = K[unlabeled[:: -(-len(unlabeled) // MAX_SEEN) or 1]]
    trials = pairwise_trials(
        candidates,
        [np.isinf(candidate["gamma_g"]) for candidate in candidates],
        given,
        [joint_pairwise(some, block) for some, block in zip(trained, values, strict=True)],
        joint_pairwise(machines, seen),
        len(labels.classes),
    )
    return CutTrials(trials, len(labels.codes), rows, machines, center, solutions)


def _key(candidate: dict[str, Any]) -> Key:
    """Return what the induced labels of a candidate depend on."""
    gamma_g = float(candidate["gamma_g"])
    return gamma_g, candidate["class_mass_normalization"] if np.isfinite(gamma_g) else False


def with_priors(solution: HarmonicSolution, priors: Any) -> HarmonicSolution:
    """Return the solution with class masses that match the priors of a candidate, if not False."""
    return solution if priors is False else normalize_class_mass(solution, priors)


def sample_rows(
    codes: IntArray, random: np.random.RandomState, max_unlabeled: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Return rows for the machines of trials, and how many rows each of them stands for.

    These are up to 1,000 labeled rows, or ten a class, and up to 1,000 unlabeled ones by default.

    Examples
    --------
    >>> rows, factors = sample_rows(np.array([0, -1, 1, -1]), np.random.RandomState(0), 1)
    >>> rows.tolist(), factors.tolist()
    ([0, 2, 3], [1.0, 1.0, 2.0])
    """
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    most = max(MAX_LABELED, LABELED_A_CLASS * (int(codes.max()) + 1))
    if len(labeled) > most:
        labeled = labeled[spread_rows(codes[labeled], most, random)]
    most = max_unlabeled or MAX_UNLABELED
    if len(unlabeled) > most:
        unlabeled = random.choice(unlabeled, most, replace=False)
    rows = np.sort(np.concatenate([labeled, unlabeled]))
    kinds = codes - UNLABELED  # a row stands for rows of the same class, or unlabeled ones
    factors = np.bincount(kinds) / np.maximum(1, np.bincount(kinds[rows]))
    return rows, factors[kinds[rows]]


def _points(X: Any, rows: IntArray, kernel: Kernel) -> Any:
    """Return some rows, or their part of a kernel matrix, without a copy if these are all."""
    if len(rows) == X.shape[0]:
        return X
    return X[rows] if kernel.kind != "precomputed" else X[rows][:, rows]


def _kernel_values(A: Any, B: Any, kernel: Kernel, center: FloatArray | float) -> FloatArray:
    """Return k(a, b) for rows of A and B, in double precision."""
    values: Any = A
    if kernel.kind != "precomputed":
        values = kernel(centered(A, center), centered(B, center))
    elif sparse.issparse(A):
        values = A.toarray()
    return np.ascontiguousarray(values, dtype=np.float64)


def _solve(
    labels: EncodedLabels,
    problem: HarmonicProblem | None,
    keys: Sequence[Key],
    folds: Sequence[IntArray],
    solver: Solver,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> Iterator[tuple[EncodedLabels, dict[float, HarmonicSolution]]]:
    """Yield the labels that each fold keeps, and the solutions by gamma_g."""
    gammas = sorted({gamma_g for gamma_g, _ in keys if np.isfinite(gamma_g)})
    if problem is None or not gammas:
        for fold in folds:
            codes = labels.codes.copy()
            codes[fold] = UNLABELED
            yield EncodedLabels(labels.classes, codes), {}
        return
    found = solve_hidden(problem, gammas, folds, solver=solver, n_jobs=n_jobs, progress=progress)
    for solutions in found:
        yield solutions[0].problem.labels, dict(zip(gammas, solutions, strict=True))


def _induce(
    labels: EncodedLabels,
    solutions: dict[float, HarmonicSolution],
    key: Key,
    rows: IntArray,
    factors: FloatArray,
    eps: float,
    loss_weights: str,
) -> InducedLabels:
    """Return what a fold induces at the sampled rows."""
    gamma_g, priors = key
    if np.isinf(gamma_g):
        found = given_labels(labels)
    else:
        solution = with_priors(solutions[gamma_g], priors)
        found = induced_labels(solution, eps=eps, loss_weights=loss_weights)
    weights = found.weights[rows] * factors
    return InducedLabels(np.maximum(found.codes[rows], 0), weights, found.kept_given)


def _train(
    K: FloatArray,
    induced: dict[Key, InducedLabels],
    candidates: Sequence[dict[str, Any]],
    start: list[MarginMachine] | None,
) -> list[MarginMachine]:
    """Return the machines of all candidates, each from the nearest one that is known."""
    machines: list[MarginMachine] = []
    last: dict[Key, MarginMachine] = {}
    same: dict[tuple[bytes, bytes, float], MarginMachine] = {}
    for i, candidate in enumerate(candidates):
        key, C = _key(candidate), float(candidate["C"])
        found = induced[key]
        identity = (found.codes.tobytes(), found.weights.tobytes(), C)
        if identity not in same:
            same[identity] = train_on_kernel(
                *(K, found.codes),
                C=C,
                sample_weight=found.weights,
                start=last.get(key) if start is None else start[i],
                tolerance=TRIAL_TOLERANCE,
                n_jobs=1,
            )
        last[key] = same[identity]
        machines.append(same[identity])
    return machines
