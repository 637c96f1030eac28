"""Training of semi-supervised SVMs: features of all rows, then pairs of classes.

With several classes, a pair learns from its labels and from those unlabeled rows that the
supervised machine assigns to one of the two. Other rows would only push away a boundary that does
not concern them, as they do in one-vs-rest, where a single boundary has to go around every class.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from graphmargin._checks import check_random_state, check_real
from graphmargin._typing import FloatArray, IntArray
from graphmargin.labels import UNLABELED
from graphmargin.margin._solvers.annealing import SMOOTHNESS, anneal_pairs
from graphmargin.margin._solvers.feature_maps import FeatureMap, explicit_features
from graphmargin.margin._solvers.feature_training import N_LANDMARKS, feature_precision
from graphmargin.margin._solvers.kernel_training import train_on_kernel
from graphmargin.margin._solvers.shortlists import MAX_ALL_PAIRS, pair_numbers
from graphmargin.margin.class_weights import weights_of_rows
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport, predicted_codes
from graphmargin.margin.pairs import class_pairs
from graphmargin.margin.training import (
    Approximation,
    check_approximation,
    choose_center,
    train_machine,
)

MAX_EXACT = 1000
"""Largest number of rows for which "auto" takes all rows as landmarks."""
MAX_KERNEL = 3000
"""Largest number of labeled rows whose supervised machine is trained on their kernel matrix."""
TOLERANCES = 1e-4, 1e-3
"""Tolerances of `anneal_pairs`, for the values of gamma_u asked for, and in other stages."""
MAX_PAIR_ROWS, MAX_ROWS_OF_PAIRS = 2000, 150_000
"""Largest number of unlabeled rows of a pair of classes, and of all pairs."""
N_COMPETING = 5
"""Number of likeliest classes of a row whose pairs are annealed, if classes are many."""


FAILURE = (
    "semi-supervised SVM: L-BFGS did not reach its tolerance; scale the features, or lower `C` or "
    "`gamma_u`"
)


class PairFunctions(NamedTuple):
    """Linear functions of the features for all pairs of classes, and whether training converged.

    Attributes
    ----------
    weights : array of shape (r, n_pairs)
    intercepts : array of shape (n_pairs,)
    converged : bool
    """

    weights: FloatArray
    intercepts: FloatArray
    converged: bool

    def replaced(self, pairs: IntArray, other: PairFunctions) -> PairFunctions:
        """Return these functions with those of some pairs in place of their own."""
        if len(pairs) == len(self.intercepts):
            return other
        weights, intercepts = self.weights.copy(order="F"), self.intercepts.copy()
        weights[:, pairs], intercepts[pairs] = other.weights, other.intercepts
        return PairFunctions(weights, intercepts, other.converged)


def train_smooth(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    *,
    C: Sequence[float],
    gamma_us: Sequence[float],
    class_weight: Sequence[float] | None = None,
    class_prior: FloatArray | None = None,
    approximation: Approximation = "auto",
    smoothness: float = SMOOTHNESS,
    n_jobs: int | None = None,
    random_state: Any = None,
) -> list[MarginMachine]:
    """Return semi-supervised machines on rows X that minimize the objective of `anneal_pairs`.

    This objective approximates eq. S3VM: its hinge loss is smooth, and a bump replaces the hat
    loss. The result is a local optimum, which is followed from the supervised machine while gamma_u
    grows. All machines share their features, and those with the same C the path.

    Parameters
    ----------
    X : array or CSR matrix of shape (n, d)
        All rows; the (n, n) kernel matrix for a precomputed kernel.
    codes : array of shape (n,)
        Class of each labeled row, -1 for the others; every class 0..c-1 occurs.
    kernel : Kernel
    C : sequence of m floats > 0
        1 / (2 gamma), the weight of the hinge losses of each machine.
    gamma_us : sequence of m floats >= 0
        Weight of the hat losses of each machine; 0 is the supervised machine.
    class_weight : sequence of c floats > 0, default=None
        Factors of the hinge losses of each class; the hat losses of unlabeled rows have none.
    class_prior : array of shape (c,), default=None
        Shares of the classes among the unlabeled rows, which fix the mean of f there; None
        leaves it free.
    approximation : {"auto", "none", "nystroem"}, default="auto"
        Features are the rows for a linear kernel on dense X, else kernel values to landmarks:
        all rows with "none", 500 of them with "nystroem", and all of up to 1,000 with "auto".
        At most 1,000 unlabeled rows for each class are used (fewer with more than twelve classes),
        a sample with larger weights if there are more.
    smoothness : float > 0, default=0.5
        Half the width of the interval around 1 on which the hinge loss is quadratic.
    n_jobs, random_state
        As in `train_machine`.

    Examples
    --------
    >>> X = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> (machine,) = train_smooth(
    ...     X, np.array([0, -1, -1, -1, -1, 1]), Kernel("linear"), C=[10.0], gamma_us=[1.0]
    ... )
    >>> machine.decision(X).round(1).tolist()
    [-2.9, -1.9, -1.3, 1.3, 1.9, 2.4]
    """
    check_approximation(approximation, kernel.kind)
    for gamma_u in gamma_us:
        check_real("gamma_u", gamma_u, hint="; 0 is the supervised machine")
    n_classes = int(codes.max()) + 1
    n_pairs = n_classes * (n_classes - 1) // 2
    limit = min(MAX_PAIR_ROWS, MAX_ROWS_OF_PAIRS // n_pairs) * n_classes // 2
    random = check_random_state(random_state)
    feature_map, used = _feature_map(X, codes, kernel, limit, approximation, random)
    functions = anneal_features(
        feature_map.transform_rows(X, used, n_jobs=n_jobs, dtype=feature_precision(kernel)),
        codes[used],
        C=C,
        gamma_us=[_represented(codes, used) * gamma_u for gamma_u in gamma_us],
        class_weight=class_weight,
        class_prior=class_prior,
        tolerances=TOLERANCES,
        smoothness=smoothness,
        n_jobs=n_jobs,
    )
    fields = feature_map.report_fields(X)
    return [
        feature_map.machine_from_weights(
            function.weights,
            function.intercepts,
            n_classes,
            TrainingReport(
                "L-BFGS", value, len(used), failure="" if function.converged else FAILURE, **fields
            ),
        )
        for value, function in zip(C, functions, strict=True)
    ]


def anneal_features(
    F: FloatArray,
    codes: IntArray,
    *,
    C: Sequence[float],
    gamma_us: Sequence[float],
    class_weight: Sequence[float] | None,
    class_prior: FloatArray | None,
    tolerances: tuple[float, float],
    smoothness: float = SMOOTHNESS,
    n_jobs: int | None,
) -> list[PairFunctions]:
    """Return the functions of m machines on features F.

    They minimize the objective of `anneal_pairs`; those with ``gamma_u = 0`` are supervised
    machines, at which paths of growing gamma_u with the same C start.
    """
    is_supervised = (codes != UNLABELED).all()
    costs = [1.0] * (int(codes.max()) + 1) if class_weight is None else class_weight
    values = np.where(is_supervised, 0.0, gamma_us)
    functions = {}
    for value in set(C):
        supervised = train_supervised(F, codes, C=value, class_weight=costs, n_jobs=n_jobs)
        functions[value, 0.0] = supervised
        positive = np.unique([g for c, g in zip(C, values, strict=True) if c == value and g > 0])
        if not len(positive):
            continue
        completed, contested = complete(F, codes, supervised)
        weights, intercepts, converged = anneal_pairs(
            F,
            codes,
            completed,
            supervised.weights[:, contested],
            supervised.intercepts[contested],
            pairs=class_pairs(len(costs))[contested],
            costs=value * np.asarray(costs),
            hat_losses=value * positive,
            means=None if class_prior is None else _pair_means(class_prior)[contested],
            tolerances=tolerances,
            smoothness=smoothness,
        )
        annealed = map(PairFunctions, weights, intercepts, converged.tolist())
        for gamma_u, function in zip(positive.tolist(), annealed, strict=True):
            functions[value, gamma_u] = supervised.replaced(contested, function)
    return [functions[key] for key in zip(C, values.tolist(), strict=True)]


def _feature_map(
    X: Any,
    codes: IntArray,
    kernel: Kernel,
    max_unlabeled: int,
    approximation: Approximation,
    random: np.random.RandomState,
) -> tuple[FeatureMap, IntArray]:
    """Return a feature map, and the rows to train on: all labeled ones and a sample of others."""
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    if len(unlabeled) > max_unlabeled and kernel.kind != "precomputed":
        unlabeled = random.permutation(unlabeled)[:max_unlabeled]
    exact = approximation == "none" or (approximation == "auto" and len(codes) <= MAX_EXACT)
    feature_map = explicit_features(
        X, labeled, kernel, len(codes) if exact else N_LANDMARKS, choose_center(X, kernel), random
    )
    return feature_map, np.sort(np.concatenate([labeled, unlabeled]))


def _represented(codes: IntArray, used: IntArray) -> float:
    """Return the number of unlabeled rows that each of those in a sample represents."""
    return float((codes == UNLABELED).sum() / max(1, (codes[used] == UNLABELED).sum()))


def _pair_means(class_prior: FloatArray) -> FloatArray:
    """Return the mean of f over the unlabeled rows of each pair, from the shares of its classes."""
    first, second = class_prior[class_pairs(len(class_prior))].T
    return np.asarray((first - second) / (first + second))


def train_supervised(
    F: FloatArray,
    codes: IntArray,
    *,
    C: float,
    class_weight: Sequence[float],
    n_jobs: int | None,
) -> PairFunctions:
    """Return the functions of the machine of labeled rows."""
    labeled = np.flatnonzero(codes != UNLABELED)
    given, rows = codes[labeled], F[labeled]
    costs = weights_of_rows(class_weight, given)
    if len(labeled) <= MAX_KERNEL:
        rows = rows.astype(np.float64, copy=False)
        machine = train_on_kernel(rows @ rows.T, given, C=C, sample_weight=costs, n_jobs=n_jobs)
        weights = rows[machine.vectors].T @ machine.coefficients
        return PairFunctions(np.asfortranarray(weights), machine.intercepts, True)
    machine = train_machine(
        rows, given, Kernel("linear"), C=C, sample_weight=costs, n_jobs=n_jobs, random_state=0
    ).collapse_linear()
    shift = np.broadcast_to(machine.center, F.shape[1]) @ machine.coefficients
    return PairFunctions(machine.coefficients, machine.intercepts - shift, True)


def complete(
    F: FloatArray, codes: IntArray, supervised: PairFunctions
) -> tuple[IntArray, IntArray]:
    """Return a class for every row, and the numbers of the pairs of classes to anneal.

    Rows without a label have the class that the supervised machine predicts. All pairs are annealed
    or, with many classes, those of the five likeliest classes of such a row. Unlabeled rows tell
    little about a boundary between classes that are likely for none of them.
    """
    unlabeled, n_classes = codes == UNLABELED, int(codes.max()) + 1
    report = TrainingReport("smo", 1.0, len(F), form="rows")
    weights, intercepts, _ = supervised
    machine = MarginMachine(Kernel("linear"), None, weights, intercepts, n_classes, 0.0, report)
    scores, completed = machine.scores(F[unlabeled]), codes.copy()
    completed[unlabeled] = predicted_codes(scores)
    if n_classes <= MAX_ALL_PAIRS:
        return completed, np.arange(len(intercepts))
    likeliest = np.sort(np.argpartition(-scores, N_COMPETING, axis=1)[:, :N_COMPETING], axis=1)
    return completed, np.unique(pair_numbers(likeliest, n_classes))
