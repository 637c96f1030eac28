"""What max-margin machines learn from, where the rows lie in parts on storage.

All candidates share their rows and features, so that these are drawn and computed once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.distributed.blocks import GRAPH, POINTS
from graphmargin.distributed.run import file_name
from graphmargin.distributed.sampling import draw
from graphmargin.distributed.storage import Arrays, Folder
from graphmargin.labels import UNLABELED
from graphmargin.margin.features import ERROR_ROWS, FeatureMap, even_quotas
from graphmargin.margin.induced import InducedLabels, confident_labels
from graphmargin.margin.training import members_of


@dataclass(frozen=True)
class Candidate:
    """A machine to learn, and its part in the sum of all of them.

    Attributes
    ----------
    C : float > 0
        Weight of the hinge losses.
    factor : float
        Of this machine in the sum.
    solution : str or None
        Folder of the induced labels that it learns from; None is supervised: given labels alone.

    Examples
    --------
    >>> Candidate(C=10.0, factor=1.0, solution=None).solution is None
    True
    """

    C: float
    factor: float
    solution: str | None


@dataclass(frozen=True)
class Lesson:
    """What is learned by whom.

    Attributes
    ----------
    candidates : tuple of Candidate
    n_classes : int
    eps, loss_weights
        As in `graphmargin.margin.induced.induced_labels`.
    seed : int
        Of the rows that are drawn.
    """

    candidates: tuple[Candidate, ...]
    n_classes: int
    eps: float
    loss_weights: str
    seed: int

    @property
    def n_strata(self) -> int:
        """Unlabeled rows of each class, then labeled ones."""
        return 2 * self.n_classes


@dataclass(frozen=True)
class Terms:
    """The terms that the rows of one part contribute.

    Attributes
    ----------
    labels : list of InducedLabels
        One for each candidate.
    strata : array of shape (n,)
        Class, plus the number of classes for a labeled row; -1 if no candidate learns from it.
    """

    labels: list[InducedLabels]
    strata: IntArray

    def weights_of_strata(self, rows: IntArray, n_strata: int) -> FloatArray:
        """Return the total weight of some rows, for each candidate and stratum."""
        strata = self.strata[rows]
        return np.array(
            [np.bincount(strata, found.weights[rows], n_strata) for found in self.labels]
        )


def terms_of(folder: Folder, part: int, lesson: Lesson) -> Terms:
    """Return what the rows of a part contribute.

    A row that candidates see in several classes is in the stratum of the first who learns from it.
    """
    given = (folder / GRAPH).read(file_name(part), ["codes"])["codes"]
    labels = [_labels_of(folder, part, candidate, given, lesson) for candidate in lesson.candidates]
    strata = np.full(len(given), -1)
    for found in reversed(labels):
        strata = np.where(found.mask, found.codes, strata)
    strata = np.where(given == UNLABELED, strata, given + lesson.n_classes)
    return Terms(labels, strata)


def _labels_of(
    folder: Folder, part: int, candidate: Candidate, given: IntArray, lesson: Lesson
) -> InducedLabels:
    if candidate.solution is None:
        return InducedLabels(given, (given != UNLABELED).astype(np.float64))
    found = (folder / candidate.solution).read(file_name(part), ["codes", "confidence"])
    return confident_labels(
        found["codes"],
        found["confidence"],
        given,
        eps=lesson.eps,
        loss_weights=lesson.loss_weights,
    )


def count_rows(folder: Folder, part: int, lesson: Lesson) -> Arrays:
    """Return the number of rows and their total weight in each stratum of a part."""
    terms = terms_of(folder, part, lesson)
    used = np.flatnonzero(terms.strata >= 0)
    return {
        "counts": np.bincount(terms.strata[used], minlength=lesson.n_strata),
        "weights": terms.weights_of_strata(used, lesson.n_strata),
    }


def quotas_of(counts: IntArray, n_rows: int) -> IntArray:
    """Return how many rows of each stratum to draw.

    Labeled rows have half of them, or what the others leave: a supervised candidate has no more.

    Parameters
    ----------
    counts : array of shape (2 c,)
        Unlabeled rows of each class, then labeled ones.
    n_rows : int

    Examples
    --------
    >>> quotas_of(np.array([900, 900, 50, 10]), 100).tolist()
    [25, 25, 40, 10]
    """
    unlabeled, labeled = np.split(counts, 2)
    for_labeled = even_quotas(labeled, max(n_rows // 2, n_rows - int(unlabeled.sum())))
    for_unlabeled = even_quotas(unlabeled, n_rows - int(for_labeled.sum()))
    return np.concatenate([for_unlabeled, for_labeled])


def sample_rows(
    folder: Folder, part: int, quotas: tuple[IntArray, IntArray], lesson: Lesson
) -> Arrays:
    """Return the total weight of the rows that are drawn in a part, and its landmarks.

    Parameters
    ----------
    folder : Folder
    part : int
    quotas : tuple of an array of shape (2 c,) and one of shape (c,)
        Rows of each stratum, and landmarks of each class.
    lesson : Lesson
    """
    terms = terms_of(folder, part, lesson)
    drawn = _drawn(terms, part, quotas[0], lesson)
    classes = np.where(terms.strata < 0, -1, terms.strata % lesson.n_classes)
    chosen = draw(classes, quotas[1], [lesson.seed, part, 1])
    points = (folder / POINTS).read(file_name(part), ["X"], rows=chosen)
    return {
        "weights": terms.weights_of_strata(drawn, lesson.n_strata),
        "landmarks": points["X"],
    }


def _drawn(terms: Terms, part: int, quotas: IntArray, lesson: Lesson) -> IntArray:
    return draw(terms.strata, quotas, [lesson.seed, part, 0])


@dataclass(frozen=True)
class Stretch:
    """Rows ``first:last`` of those that are drawn in a part, `quotas` of each stratum."""

    part: int
    quotas: IntArray
    first: int
    last: int


def group_rows(quotas: IntArray, n_rows: int) -> list[list[Stretch]]:
    """Return groups of about equal size, of at most `n_rows` rows, in the order of the parts.

    Parameters
    ----------
    quotas : array of shape (n_parts, n_strata)
        Rows that are drawn.
    n_rows : int

    Examples
    --------
    >>> groups = group_rows(np.array([[3], [0], [5]]), 4)
    >>> [[(some.part, some.first, some.last) for some in group] for group in groups]
    [[(0, 0, 3), (2, 0, 1)], [(2, 1, 5)]]
    """
    ends = np.cumsum(quotas.sum(axis=1)).tolist()
    total = ends[-1]
    n_groups = max(1, -(-total // n_rows))
    edges = [total * group // n_groups for group in range(n_groups + 1)]
    groups: list[list[Stretch]] = []
    for low, high in pairwise(edges):
        stretches = [
            Stretch(part, quotas[part], max(low - start, 0), min(high, end) - start)
            for part, (start, end) in enumerate(zip([0, *ends[:-1]], ends, strict=True))
            if max(low, start) < min(high, end)
        ]
        groups.append(stretches)
    return groups


@dataclass(frozen=True)
class Group:
    """Rows that stay together with a worker.

    Attributes
    ----------
    F : array of shape (n, m)
        Their features, float32.
    bounds : array of shape (n_candidates, n)
        C_i, the weight of each loss, float32; 0 if a candidate does not learn from the row.
    members : list of list of array
        Rows of each class, for each candidate.
    error : float
        Sum of what the features lack of `n_measured` rows, as a share of k(x, x).
    n_measured : int
    """

    F: FloatArray
    bounds: FloatArray
    members: list[list[IntArray]]
    error: float
    n_measured: int


def load_group(
    stretches: Sequence[Stretch],
    folder: Folder,
    lesson: Lesson,
    feature_map: FeatureMap,
    factors: FloatArray,
) -> Group:
    """Return a group with its features.

    Parameters
    ----------
    stretches : sequence of Stretch
    folder : Folder
    lesson : Lesson
    feature_map : FeatureMap
    factors : array of shape (n_candidates, n_strata)
        Rows of a stratum stand for those that were not drawn: their losses count more.
    """
    n = sum(some.last - some.first for some in stretches)
    F = np.empty((n, feature_map.dimension), dtype=np.float32)
    bounds = np.empty((len(lesson.candidates), n), dtype=np.float32)
    codes = np.empty((len(lesson.candidates), n), dtype=np.int32)
    error, n_measured, end = 0.0, 0, 0
    for some in stretches:
        terms = terms_of(folder, some.part, lesson)
        rows = _drawn(terms, some.part, some.quotas, lesson)[some.first : some.last]
        X = (folder / POINTS).read(file_name(some.part), ["X"], rows=rows)["X"]
        here = slice(end, end := end + len(rows))
        F[here] = feature_map.table(X, np.arange(len(rows)), n_jobs=1)
        for k, (candidate, found) in enumerate(zip(lesson.candidates, terms.labels, strict=True)):
            codes[k, here] = found.codes[rows]
            weights = found.weights[rows] * factors[k, terms.strata[rows]]
            bounds[k, here] = candidate.C * weights
        if feature_map.basis is not None:
            measured = X[:: -(-n // ERROR_ROWS)]
            error += feature_map.error(measured) * len(measured)
            n_measured += len(measured)
    members = [members_of(*pair, lesson.n_classes) for pair in zip(codes, bounds, strict=True)]
    return Group(F, bounds, members, error, n_measured)
