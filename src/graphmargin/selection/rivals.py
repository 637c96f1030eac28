"""Trials of the other classifiers: harmonic solutions, manifold regularization, S3VMs.

Each does the part that no label enters once: the order of elimination, features that the graph has
warped, features of a sample of the rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from graphmargin._threads import in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.hidden_labels import solve_hidden
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.harmonic.solve import Solver
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.features import explicit_features
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, joint_pairwise
from graphmargin.margin.manifold import WarpedFeatures, check_gamma_u, warp_features
from graphmargin.margin.semi_supervised import SemiSupervisedSolver
from graphmargin.margin.semi_supervised_training import train_semi_supervised
from graphmargin.margin.training import N_LANDMARKS, center_of
from graphmargin.selection.choice import (
    Trials,
    pairwise_trials,
    smoothed_shares,
    stack_folds,
)
from graphmargin.selection.cut import NOTHING_HIDDEN, sample_rows, with_priors

Candidate = dict[str, Any]

MAX_HAT_LOSSES = 500
"""Unlabeled rows, at most, that trials of semi-supervised machines learn from: they are slow."""
TINY = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True)
class HarmonicTrials:
    """The trials, and the solutions on all labels.

    Attributes
    ----------
    trials : Trials
    solutions : dict from gamma_g to HarmonicSolution
        Before class mass normalization.
    """

    trials: Trials
    solutions: dict[float, HarmonicSolution]

    def solution(self, candidate: Candidate) -> HarmonicSolution:
        """Return the solution of a candidate on all labels."""
        return _normalized(self.solutions, candidate)


@dataclass(frozen=True)
class ManifoldTrials:
    """The trials, and what they leave for the machine that is trained in the end.

    Attributes
    ----------
    trials : Trials
    form : WarpedFeatures
        Of all labeled rows: machines of any gamma_u and C are a short way from here.
    machines : list of MarginMachine
        Of every candidate, trained on all labels, or on 1,000 of more.
    """

    trials: Trials
    form: WarpedFeatures
    machines: list[MarginMachine]


def harmonic_trials(
    problem: HarmonicProblem,
    candidates: Sequence[Candidate],
    folds: Sequence[IntArray],
    *,
    validation: tuple[Any, IntArray] | None = None,
    solver: Solver = "auto",
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> HarmonicTrials:
    """Return what harmonic solutions say about labels that are hidden from them.

    Columns are class masses. With a large gamma_g most of the walks end in the sink, and the
    masses of all classes are tiny; with few labels and a small one they are large, but nearly the
    same everywhere. What decides is the best minus the second best, so that the mean confidence
    of the unlabeled vertices is the scale of a candidate, abs(l) for two classes. Without it, a
    large gamma_g would have no say in a blend.

    Parameters
    ----------
    problem : HarmonicProblem
        With all labels.
    candidates : sequence of dict
        With keys ``gamma_g`` and ``class_mass_normalization``: False, or a tuple of priors.
    folds : sequence of arrays
        Labeled vertices to hide.
    validation : tuple of a sparse matrix of shape (h, n) and class codes, default=None
        Labeled points outside of the graph to test on, in place of hidden labels: the probability
        of a first step to each vertex (`Attachment.moves`), and the classes.
    solver, n_jobs, progress
        As in `harmonic_solution`.

    Returns
    -------
    HarmonicTrials

    Examples
    --------
    >>> from graphmargin.harmonic.problem import harmonic_problem
    >>> x = np.array([0.0, 1.0, 2.0, 5.0, 6.0, 7.0])
    >>> W = np.exp(-np.abs(x[:, None] - x)) - np.eye(6)
    >>> found = harmonic_trials(
    ...     harmonic_problem(W, [0, -1, 0, 1, -1, 1]),
    ...     [{"gamma_g": 0.1, "class_mass_normalization": False}],
    ...     [np.array([0, 3]), np.array([2, 5])],
    ... )
    >>> (found.trials.decide(found.trials.held_out[0]) > 0).tolist()
    [False, True, False, True]
    """
    labels = problem.labels
    tested = [np.sort(fold) for fold in folds] if validation is None else []
    gammas = sorted({float(candidate["gamma_g"]) for candidate in candidates})
    solved = (
        dict(zip(gammas, solutions, strict=True))
        for solutions in solve_hidden(
            *(problem, gammas, [NOTHING_HIDDEN, *tested]),
            solver=solver,
            n_jobs=n_jobs,
            progress=progress,
        )
    )
    all_labels = next(solved)
    complete = [_normalized(all_labels, candidate) for candidate in candidates]
    if validation is None:
        parts = [
            [_normalized(solutions, candidate).class_mass[rows] for candidate in candidates]
            for rows, solutions in zip(tested, solved, strict=True)
        ]
        given = labels.codes[np.concatenate([NOTHING_HIDDEN, *tested])]
    else:
        moves, given = validation
        parts = [[np.asarray(moves @ solution.class_mass) for solution in complete]]
    n_classes = len(labels.classes)
    scales = np.array([_mean_confidence(solution) for solution in complete])
    held_out, fold = stack_folds(parts, scales, n_classes)
    trials = Trials(
        params=[dict(candidate) for candidate in candidates],
        supervised=np.zeros(len(candidates), dtype=np.bool_),
        given=given,
        fold=fold,
        held_out=held_out,
        scales=scales,
        shares=np.array(
            [smoothed_shares(solution.codes[~labels.labeled], n_classes) for solution in complete]
        ),
        decide=mass_scores,
    )
    return HarmonicTrials(trials, all_labels)


def manifold_trials(
    X: Any,
    labels: EncodedLabels,
    kernel: Kernel,
    W: sparse.csr_array,
    candidates: Sequence[Candidate],
    folds: Sequence[IntArray],
    *,
    normalized: bool = False,
    power: int = 1,
    fit_intercept: bool = True,
    validation: tuple[Any, IntArray] | None = None,
    n_landmarks: int = N_LANDMARKS,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> ManifoldTrials:
    """Return what manifold-regularized machines say about labels that are hidden from them.

    The graph does not see the labels: it warps the features once, those of
    ``approximation="nystroem"``, and every fold and candidate is then a small machine on the
    labels that are left.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or a kernel matrix
    labels : EncodedLabels
    kernel : Kernel
    W : csr_array of shape (n, n)
    candidates : sequence of dict
        With keys ``gamma_u`` and ``C``; ``gamma_u = 0`` is supervised.
    folds : sequence of arrays
        Labeled rows to hide; each leaves a label of every class.
    normalized, power, fit_intercept, n_landmarks, n_jobs, random_state, progress
        As in `train_manifold`. Of more than 1,000 labeled rows, machines learn from and are
        tested on a random sample.
    validation : tuple of rows and class codes, default=None
        Labeled rows outside of X to test on, in place of hidden ones.

    Returns
    -------
    ManifoldTrials

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    >>> W = sparse.csr_array(np.exp(-np.abs(X - X.T)) - np.eye(6))
    >>> found = manifold_trials(
    ...     X,
    ...     encode_labels([0, -1, 0, 1, -1, 1]),
    ...     Kernel("linear"),
    ...     W,
    ...     [{"gamma_u": 0.0, "C": 10.0}, {"gamma_u": 0.1, "C": 10.0}],
    ...     [np.array([0, 3]), np.array([2, 5])],
    ... )
    >>> (found.trials.decide(found.trials.held_out[1]) > 0).tolist()
    [False, True, False, True]
    """
    random = check_random_state(random_state)
    labeled = np.flatnonzero(labels.labeled)
    form = warp_features(
        *(X, labeled, kernel, W),
        normalized=normalized,
        power=power,
        fit_intercept=fit_intercept,
        n_landmarks=n_landmarks,
        n_jobs=n_jobs,
        random_state=random,
    )
    rows, _ = sample_rows(labels.codes, random)
    learned = labels.labeled[rows]
    rotated = form.rotated[np.isin(labeled, rows)]

    def train(codes: IntArray, candidate: Candidate) -> MarginMachine:
        left = codes[learned]
        kept = left != UNLABELED
        C, gamma_u = float(candidate["C"]), check_gamma_u(candidate["gamma_u"])
        return replace(form, rotated=rotated[kept]).machine(
            2 * C * gamma_u, left[kept], C, fit_intercept, n_jobs=1
        )

    trials, machines = _pairwise_trials(
        X[rows], labels, rows, train, candidates, folds, validation, n_jobs, progress
    )
    return ManifoldTrials(trials, form, machines)


def semi_supervised_trials(
    X: Any,
    labels: EncodedLabels,
    kernel: Kernel,
    candidates: Sequence[Candidate],
    folds: Sequence[IntArray],
    *,
    class_prior: FloatArray | None = None,
    solver: SemiSupervisedSolver = "gradient",
    validation: tuple[Any, IntArray] | None = None,
    n_jobs: int | None = None,
    random_state: Any = None,
    progress: ProgressCallback | None = None,
) -> Trials:
    """Return what semi-supervised machines say about labels that are hidden from them.

    Every fold and candidate is a search of its own, on features that all of them share. A hidden
    label's row is one more unlabeled row there.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d), or a kernel matrix
    labels : EncodedLabels
    kernel : Kernel
    candidates : sequence of dict
        With keys ``gamma_u`` and ``C``; ``gamma_u = 0`` is supervised.
    folds : sequence of arrays
        Labeled rows to hide; each leaves a label of every class.
    class_prior, solver, n_jobs, random_state, progress
        As in `train_semi_supervised`. Of more than 1,000 labeled or 500 unlabeled rows, machines
        learn from a random sample, whose hat losses count for all unlabeled rows.
    validation : tuple of rows and class codes, default=None
        Labeled rows outside of X to test on, in place of hidden ones.

    Returns
    -------
    Trials

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> X = np.array([[0.0], [1.0], [2.0], [5.0], [6.0], [7.0]])
    >>> trials = semi_supervised_trials(
    ...     X,
    ...     encode_labels([0, -1, 0, 1, -1, 1]),
    ...     Kernel("linear"),
    ...     [{"gamma_u": 0.0, "C": 10.0}, {"gamma_u": 0.1, "C": 10.0}],
    ...     [np.array([0, 3]), np.array([2, 5])],
    ... )
    >>> (trials.decide(trials.held_out[1]) > 0).tolist()
    [False, True, False, True]
    """
    random = check_random_state(random_state)
    rows, _ = sample_rows(labels.codes, random, MAX_HAT_LOSSES)
    is_matrix = kernel.kind == "precomputed"
    points = X[rows][:, rows] if is_matrix else X[rows]
    learned = np.flatnonzero(labels.labeled[rows])
    center = center_of(points, kernel)
    feature_map = explicit_features(points, learned, kernel, N_LANDMARKS, center, random)
    F = feature_map.table(points, np.arange(len(rows)), n_jobs=n_jobs, dtype=np.float64)
    if validation is not None:
        new = validation[0][:, rows] if is_matrix else validation[0]
        validation = feature_map(new), validation[1]
    left_out = len(labels.codes) - int(labels.labeled.sum()) - (len(rows) - len(learned))

    def train(codes: IntArray, candidate: Candidate) -> MarginMachine:
        n_unlabeled = int((codes == UNLABELED).sum())
        return train_semi_supervised(
            *(F, codes, Kernel("linear")),
            C=float(candidate["C"]),
            gamma_u=check_gamma_u(candidate["gamma_u"]) * (1 + left_out / max(1, n_unlabeled)),
            class_prior=class_prior,
            solver=solver,
            approximation="nystroem",  # of a linear kernel: the features as they are
            n_jobs=1,
            random_state=0,
        )[0]

    return _pairwise_trials(
        F, labels, rows, train, candidates, folds, validation, n_jobs, progress
    )[0]


def mass_scores(class_mass: FloatArray) -> FloatArray:
    """Return scores from class masses: for two classes l, positive for the second, else as is.

    Examples
    --------
    >>> mass_scores(np.array([[0.5, 0.25], [0.0, 1.0]])).tolist()
    [-0.25, 1.0]
    """
    if class_mass.shape[1] == 2:
        return np.asarray(class_mass[:, 1] - class_mass[:, 0])
    return class_mass


def _normalized(solutions: dict[float, HarmonicSolution], candidate: Candidate) -> HarmonicSolution:
    """Return a candidate's solution."""
    solution = solutions[float(candidate["gamma_g"])]
    return with_priors(solution, candidate["class_mass_normalization"])


def _mean_confidence(solution: HarmonicSolution) -> float:
    """Return the mean confidence of the unlabeled vertices, 1 if they have none."""
    unlabeled = ~solution.problem.labels.labeled
    mean = float(solution.confidence[unlabeled].sum()) / max(1, int(unlabeled.sum()))
    return mean if mean > TINY else 1.0  # labels that are hidden may have some


def _pairwise_trials(
    points: Any,
    labels: EncodedLabels,
    rows: IntArray,
    train: Callable[[IntArray, Candidate], MarginMachine],
    candidates: Sequence[Candidate],
    folds: Sequence[IntArray],
    validation: tuple[Any, IntArray] | None,
    n_jobs: int | None,
    progress: ProgressCallback | None,
) -> tuple[Trials, list[MarginMachine]]:
    """Return the trials of machines on the same landmarks, and those trained on all labels.

    `train` takes the class codes of the sampled `rows`, which `points` stand for, and a candidate.
    """
    given, m = labels.codes[rows], len(candidates)
    tested = [np.flatnonzero(np.isin(rows, fold)) for fold in folds] if validation is None else []
    pieces = []
    for places in (NOTHING_HIDDEN, *tested):
        codes = given.copy()
        codes[places] = UNLABELED
        pieces += [(codes, candidate) for candidate in candidates]
    # The machine that is trained in the end warns for itself. All threads share the filters, so
    # that these are set outside of them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        machines = in_threads(lambda piece: train(*piece), pieces, n_jobs=n_jobs, progress=progress)
    models = [machines[first : first + m] for first in range(0, len(machines), m)]
    if validation is None:
        blocks = zip(models[1:], tested, strict=True)
        parts = [joint_pairwise(some, points[places]) for some, places in blocks]
        known = given[np.concatenate([NOTHING_HIDDEN, *tested])]
    else:
        parts, known = [joint_pairwise(models[0], validation[0])], validation[1]
    trials = pairwise_trials(
        candidates,
        [float(candidate["gamma_u"]) == 0 for candidate in candidates],
        known,
        parts,
        joint_pairwise(models[0], points[given == UNLABELED]),
        len(labels.classes),
    )
    return trials, models[0]
