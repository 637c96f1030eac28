"""Training rows of max-margin machines, drawn from the rows of all partitions.

All candidates share their rows and features, so that these are drawn and computed only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.engine.handles import (
    Codes,
    Induced,
    PartitionedGraph,
    PartitionedPoints,
    Points,
    StoredSolution,
)
from graphmargin.distributed.engine.sampling import draw_sample
from graphmargin.distributed.engine.storage import Arrays, Folder
from graphmargin.labels import UNLABELED
from graphmargin.margin._solvers.feature_maps import ERROR_ROWS, FeatureMap, balanced_quotas
from graphmargin.margin.induced import InducedLabels, confident_labels
from graphmargin.margin.pairs import rows_by_class


@dataclass(frozen=True)
class BlendedCandidate:
    """A machine to train, and its factor in the blend.

    Attributes
    ----------
    gamma_g : float >= 0
        The gamma_g of the harmonic solution that induces its labels; infinite for given labels
        only.
    C : float > 0
        Weight of the hinge losses.
    factor : float
    """

    gamma_g: float
    C: float
    factor: float


@dataclass(frozen=True)
class TrainingPlan:
    """The machines to train, and the rule for their training rows.

    Attributes
    ----------
    candidates : tuple of BlendedCandidate
    n_classes : int
        Number of classes, all of which have labeled rows.
    eps, loss_weights
        As in `graphmargin.margin.induced.induced_labels`.
    seed : int
        Seed of the rows that are drawn.
    class_weight : tuple of float or None
        Factors of the losses of each class.
    """

    candidates: tuple[BlendedCandidate, ...]
    n_classes: int
    eps: float
    loss_weights: str
    seed: int
    class_weight: tuple[float, ...] | None = None

    @property
    def n_strata(self) -> int:
        """Number of strata: the unlabeled rows of each class, then the labeled ones."""
        return 2 * self.n_classes


@dataclass(frozen=True)
class LossTerms:
    """The induced labels of the rows of a partition, from which candidates learn.

    Attributes
    ----------
    labels : list of InducedLabels
        The labels and loss weights for each candidate.
    strata : array of shape (n,)
        The class of each row, plus the number of classes if it is labeled; -1 if no candidate
        learns from it.
    """

    labels: list[InducedLabels]
    strata: IntArray

    def stratum_weights(self, rows: IntArray, n_strata: int) -> FloatArray:
        """Return the total weight of some rows, for each candidate and stratum."""
        strata = self.strata[rows]
        return np.array(
            [np.bincount(strata, labels.weights[rows], n_strata) for labels in self.labels]
        )


def loss_terms(folder: Folder, partition: int, plan: TrainingPlan) -> LossTerms:
    """Return the loss terms of the rows of a partition.

    If candidates have different labels for a row, its stratum is that of the first candidate that
    learns from it.
    """
    given = PartitionedGraph(folder).read(partition, Codes).codes
    labels = [
        _candidate_labels(folder, partition, candidate.gamma_g, given, plan)
        for candidate in plan.candidates
    ]
    strata = np.full(len(given), -1)
    for induced in reversed(labels):
        strata = np.where(induced.mask, induced.codes, strata)
    strata = np.where(given == UNLABELED, strata, given + plan.n_classes)
    return LossTerms(labels, strata)


def _candidate_labels(
    folder: Folder, partition: int, gamma_g: float, given: IntArray, plan: TrainingPlan
) -> InducedLabels:
    if np.isinf(gamma_g):
        labels = InducedLabels(given, (given != UNLABELED).astype(np.float64))
    else:
        induced = StoredSolution(folder, gamma_g).read(partition, Induced)
        labels = confident_labels(*induced, given, eps=plan.eps, loss_weights=plan.loss_weights)
    return labels.weighted_by_class(plan.class_weight)


def count_rows(folder: Folder, partition: int, plan: TrainingPlan) -> Arrays:
    """Return the number of rows and their total weight in each stratum of a partition."""
    terms = loss_terms(folder, partition, plan)
    used = np.flatnonzero(terms.strata >= 0)
    return {
        "counts": np.bincount(terms.strata[used], minlength=plan.n_strata),
        "weights": terms.stratum_weights(used, plan.n_strata),
    }


def stratum_quotas(counts: IntArray, n_rows: int) -> IntArray:
    """Return how many rows of each stratum to draw.

    Half of them are labeled rows, or more if there are few unlabeled ones, because a supervised
    candidate learns from labeled rows only.

    Parameters
    ----------
    counts : array of shape (2 c,)
        Unlabeled rows of each class, then labeled ones.
    n_rows : int

    Examples
    --------
    >>> stratum_quotas(np.array([900, 900, 50, 10]), 100).tolist()
    [25, 25, 40, 10]
    """
    unlabeled, labeled = np.split(counts, 2)
    for_labeled = balanced_quotas(labeled, max(n_rows // 2, n_rows - int(unlabeled.sum())))
    for_unlabeled = balanced_quotas(unlabeled, n_rows - int(for_labeled.sum()))
    return np.concatenate([for_unlabeled, for_labeled])


def draw_landmarks(
    folder: Folder, partition: int, quotas: tuple[IntArray, IntArray], plan: TrainingPlan
) -> Arrays:
    """Return the landmarks of a partition, and the total weight of its training rows.

    `quotas` has the training rows of each stratum, and the landmarks of each class.
    """
    terms = loss_terms(folder, partition, plan)
    drawn = _draw_rows(terms, partition, quotas[0], plan)
    classes = np.where(terms.strata < 0, -1, terms.strata % plan.n_classes)
    chosen = draw_sample(classes, quotas[1], [plan.seed, partition, 1])
    return {
        "weights": terms.stratum_weights(drawn, plan.n_strata),
        "landmarks": PartitionedPoints(folder).read(partition, Points, rows=chosen).X,
    }


def _draw_rows(terms: LossTerms, partition: int, quotas: IntArray, plan: TrainingPlan) -> IntArray:
    return draw_sample(terms.strata, quotas, [plan.seed, partition, 0])


@dataclass(frozen=True)
class RowSlice:
    """Rows ``first:last`` of the training rows of a partition, of which `quotas` are drawn."""

    partition: int
    quotas: IntArray
    first: int
    last: int


def group_rows(quotas: IntArray, n_rows: int) -> list[list[RowSlice]]:
    """Return groups of training rows of about equal size, with at most `n_rows` rows each.

    Parameters
    ----------
    quotas : array of shape (n_partitions, n_strata)
        Number of rows that are drawn.
    n_rows : int

    Examples
    --------
    >>> groups = group_rows(np.array([[3], [0], [5]]), 4)
    >>> [[(rows.partition, rows.first, rows.last) for rows in group] for group in groups]
    [[(0, 0, 3), (2, 0, 1)], [(2, 1, 5)]]
    """
    ends = np.cumsum(quotas.sum(axis=1)).tolist()
    total = ends[-1]
    n_groups = max(1, -(-total // n_rows))
    edges = [total * group // n_groups for group in range(n_groups + 1)]
    groups: list[list[RowSlice]] = []
    for low, high in pairwise(edges):
        slices = [
            RowSlice(partition, quotas[partition], max(low - start, 0), min(high, end) - start)
            for partition, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
            if max(low, start) < min(high, end)
        ]
        groups.append(slices)
    return groups


@dataclass(frozen=True)
class RowGroup:
    """Training rows that a worker keeps.

    Attributes
    ----------
    F : array of shape (n, m)
        Features of the rows, float32.
    bounds : array of shape (n_candidates, n)
        C_i, the weight of each loss, float32; 0 if a candidate does not learn from the row.
    members : list of list of array
        Rows of each class, for each candidate.
    error : float
        Sum of the approximation errors of `n_measured` rows, as shares of k(x, x).
    n_measured : int
    """

    F: FloatArray
    bounds: FloatArray
    members: list[list[IntArray]]
    error: float
    n_measured: int


def load_group(
    slices: Sequence[RowSlice],
    folder: Folder,
    plan: TrainingPlan,
    feature_map: FeatureMap,
    factors: FloatArray,
) -> RowGroup:
    """Return a group of rows with their features.

    `factors` has a row for each candidate and a column for each stratum. The losses of drawn rows
    are multiplied by them, as these rows represent those that were not drawn.
    """
    n = sum(rows.last - rows.first for rows in slices)
    F = np.empty((n, feature_map.dimension), dtype=np.float32)
    bounds = np.empty((len(plan.candidates), n), dtype=np.float32)
    codes = np.empty((len(plan.candidates), n), dtype=np.int32)
    error, n_measured, end = 0.0, 0, 0
    for part in slices:
        terms = loss_terms(folder, part.partition, plan)
        rows = _draw_rows(terms, part.partition, part.quotas, plan)[part.first : part.last]
        X = PartitionedPoints(folder).read(part.partition, Points, rows=rows).X
        target = slice(end, end := end + len(rows))
        F[target] = feature_map.transform_rows(X, np.arange(len(rows)), n_jobs=1)
        for k, (candidate, labels) in enumerate(zip(plan.candidates, terms.labels, strict=True)):
            codes[k, target] = labels.codes[rows]
            weights = labels.weights[rows] * factors[k, terms.strata[rows]]
            bounds[k, target] = candidate.C * weights
        if feature_map.basis is not None:
            measured = X[:: -(-n // ERROR_ROWS)]
            error += feature_map.approximation_error(measured) * len(measured)
            n_measured += len(measured)
    members = [rows_by_class(*pair, plan.n_classes) for pair in zip(codes, bounds, strict=True)]
    return RowGroup(F, bounds, members, error, n_measured)
