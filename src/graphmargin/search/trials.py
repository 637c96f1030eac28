"""Trials: the predictions of candidates for labels that were held out from their training."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from graphmargin._typing import BoolArray, FloatArray, IntArray
from graphmargin.labels import EncodedLabels
from graphmargin.margin.coupling import class_scores, scales_of_pairs
from graphmargin.search.held_out import NOTHING_HELD_OUT
from graphmargin.search.predictor import Part, as_scores

if TYPE_CHECKING:
    from graphmargin.search.data import TrainingData


@dataclass(frozen=True)
class Trials:
    """The predictions of candidates for held-out labels.

    A candidate's function has q columns: f of every pair of classes, or class masses. The columns
    of several candidates can be averaged, and `scores` returns class scores from them.

    Attributes
    ----------
    params : list of dict, length m
    supervised : array of shape (m,)
        True for candidates that do not learn from unlabeled rows.
    held_out_codes : array of shape (h,)
        Codes of the labels that were held out.
    held_out_rows : array of shape (h,) or None
        Numbers of their rows; None for a validation set.
    fold : array of shape (h,)
        Fold in which each of them was held out.
    held_out_values : array of shape (m, h, q)
        Columns of the candidates trained without the label, divided by their `scales`. Of many
        classes, they are the pairs of a shortlist.
    shortlists : array of shape (h, k) or None
        Classes whose pairs are in the columns; None if all are.
    scales : array of shape (m,)
        Mean absolute value of a candidate's function, trained on all labels.
    pair_scales : array of shape (m, n_pairs)
        The same for every pair of classes, divided by `scales`.
    shares : array of shape (m, c)
        Shares of the classes among the rows that this function labels, smoothed so that none is
        zero.
    columns : {"pairs", "masses"}
        Content of the columns: f of pairs of classes, or class masses, which probabilities are too.
    graph_distributions : sequence of m arrays of shape (h, c), or empty
        Class probabilities of the held-out labels by the graph alone, solved without them, for
        candidates whose predictions may be mixed with those of their graph; None for those without.
    max_blended : int or None
        Largest number of candidates in a blend; None if it does not matter.
    is_untried : bool
        True for fixed parameters, for which no candidate is tried.
    details : object
        What the method that was tried can use again in its fit.

    Examples
    --------
    >>> from graphmargin import MaxMarginGraphCut
    >>> from graphmargin.datasets import load_digits, mask_labels
    >>> X, y = load_digits()
    >>> few = mask_labels(y[:500], per_class=5, random_state=0)
    >>> trials = MaxMarginGraphCut(random_state=0).fit(X[:500], few).choice_.trials
    >>> trials.params[-1], trials.held_out_values.shape[:2]
    ({'gamma_g': 0.01, 'C': 100.0, 'class_mass_normalization': False}, (15, 50))
    """

    params: list[dict[str, Any]]
    supervised: BoolArray
    held_out_codes: IntArray
    fold: IntArray
    held_out_values: FloatArray
    scales: FloatArray
    pair_scales: FloatArray
    shares: FloatArray
    held_out_rows: IntArray | None = None
    shortlists: IntArray | None = None
    columns: Literal["pairs", "masses"] = "pairs"
    graph_distributions: Sequence[FloatArray | None] = ()
    max_blended: int | None = None
    is_untried: bool = False
    details: Any = None

    @classmethod
    def from_parts(
        cls,
        data: TrainingData,
        candidates: Sequence[dict[str, Any]],
        train: Callable[[EncodedLabels, dict[str, Any]], Part],
        *,
        supervised: Sequence[bool],
    ) -> Trials:
        """Return the trials of a method whose candidates are parts with class probabilities.

        Each candidate is trained on all labels, and again without the labels of each fold. Only the
        candidate with the largest weight is kept, because parts of any kind have no blend.

        Parameters
        ----------
        data : TrainingData
        candidates : sequence of dict
        train : callable
            Takes the labels of all rows and a candidate, and returns a part.
        supervised : sequence of bool
            True for candidates that do not learn from unlabeled rows.

        Examples
        --------
        See "Adding a method" in CONTRIBUTING.md.
        """
        labels, folds, m, c = data.labels, data.folds, len(candidates), data.n_classes
        trained = [train(labels, candidate) for candidate in candidates]
        values = []
        for fold in folds:
            parts = [train(labels.without(fold), candidate) for candidate in candidates]
            values.append([part.probabilities(data.X[fold]) for part in parts])
        rows = np.concatenate([NOTHING_HELD_OUT, *folds])
        held_out_rows: IntArray | None = rows
        held_out_codes = labels.codes[rows]
        if data.validation is not None:
            new, held_out_codes = data.validation
            held_out_rows, values = None, [[part.probabilities(new) for part in trained]]
        held_out_values, fold_numbers = stack_folds(values, np.ones(m), c)
        unlabeled = data.X[np.flatnonzero(~labels.labeled)]
        return cls(
            params=[dict(candidate) for candidate in candidates],
            supervised=np.array(supervised, dtype=np.bool_),
            held_out_codes=held_out_codes,
            fold=fold_numbers,
            held_out_values=held_out_values,
            scales=np.ones(m),
            pair_scales=np.ones((m, c)),
            shares=np.array([smoothed_shares(part.label(unlabeled)[0], c) for part in trained]),
            held_out_rows=held_out_rows,
            columns="masses",
            max_blended=1,
        )

    def scores(self, weights: FloatArray, rows: Any = slice(None)) -> FloatArray:
        """Return the class scores of a weighted mean of candidates, for some held-out labels.

        Examples
        --------
        >>> values = [[np.array([[0.5], [-0.25]])]]
        >>> unlabeled = [(np.ones(1), np.zeros(1, dtype=int))]
        >>> trials = pairwise_trials([{}], [False], np.zeros(2), values, unlabeled, 2)
        >>> trials.scores(np.ones(1)).tolist()
        [-0.5, 0.25]
        """
        values = np.tensordot(weights, self.held_out_values[:, rows], axes=1)
        return self._class_scores(values, weights @ self.pair_scales, rows)

    @cached_property
    def candidate_scores(self) -> tuple[FloatArray, ...]:
        """Class scores of each candidate for all held-out labels."""
        return tuple(map(self._class_scores, self.held_out_values, self.pair_scales))

    def _class_scores(
        self, values: FloatArray, pair_scales: FloatArray, rows: Any = slice(None)
    ) -> FloatArray:
        if self.columns == "masses":
            return as_scores(values)
        shortlists = None if self.shortlists is None else self.shortlists[rows]
        return class_scores(values, self.shares.shape[1], pair_scales, shortlists)


def labels_of_other_folds(fold: IntArray, rows: IntArray | None) -> dict[int, BoolArray]:
    """Return, for each fold, the held-out labels from which its weights are computed.

    They are those of the other folds, without labels that the fold holds out as well. A single
    fold, such as a validation set, has all of them.

    Examples
    --------
    >>> others = labels_of_other_folds(np.array([0, 0, 1]), np.array([4, 7, 7]))
    >>> {number: used.tolist() for number, used in others.items()}
    {0: [False, False, False], 1: [True, False, False]}
    """
    folds = np.unique(fold).tolist()
    if len(folds) < 2:
        return dict.fromkeys(folds, np.ones(len(fold), dtype=np.bool_))
    used = {number: fold != number for number in folds}
    if rows is not None:
        used = {number: mask & ~np.isin(rows, rows[~mask]) for number, mask in used.items()}
    return used


def untried(candidate: dict[str, Any], n_classes: int) -> Trials:
    """Return the trials of fixed parameters: a single candidate, of which no label was held out."""
    return Trials(
        params=[candidate],
        supervised=np.zeros(1, dtype=np.bool_),
        held_out_codes=np.zeros(0, dtype=np.int64),
        fold=np.zeros(0, dtype=np.int64),
        held_out_values=np.zeros((1, 0, n_classes)),
        scales=np.ones(1),
        pair_scales=np.ones((1, n_classes * (n_classes - 1) // 2)),
        shares=np.full((1, n_classes), 1 / n_classes),
        columns="masses",
        is_untried=True,
    )


def join_trials(parts: Sequence[Trials]) -> Trials:
    """Return one set of trials from those of several groups on the same held-out labels."""
    return replace(
        parts[0],
        params=[params for part in parts for params in part.params],
        supervised=np.concatenate([part.supervised for part in parts]),
        held_out_values=np.concatenate([part.held_out_values for part in parts]),
        scales=np.concatenate([part.scales for part in parts]),
        pair_scales=np.concatenate([part.pair_scales for part in parts]),
        shares=np.concatenate([part.shares for part in parts]),
        graph_distributions=[
            distributions
            for part in parts
            for distributions in part.graph_distributions or [None] * len(part.params)
        ],
    )


def pairwise_trials(
    params: Sequence[dict[str, Any]],
    supervised: Sequence[bool],
    held_out_codes: IntArray,
    parts: Sequence[Sequence[FloatArray]],
    unlabeled: Sequence[tuple[FloatArray, IntArray]],
    n_classes: int,
    held_out_rows: IntArray | None = None,
    shortlists: IntArray | None = None,
) -> Trials:
    """Return the trials of max-margin machines.

    Parameters
    ----------
    params, supervised, held_out_codes
        See `Trials`.
    parts : sequence of sequences of arrays of shape (h_i, q)
        f at the held-out labels, fold by fold and candidate by candidate.
    unlabeled : sequence of (array of shape (n_pairs,), array of int)
        For machines on all labels, mean absolute values of f of every pair at some unlabeled rows,
        and class codes of such rows.
    n_classes : int
    held_out_rows, shortlists
        See `Trials`.
    """
    means = np.array([sizes for sizes, _ in unlabeled])
    scales = scales_of_pairs(means.mean(axis=1))
    n_columns = means.shape[1] if shortlists is None else parts[0][0].shape[1]
    held_out_values, fold = stack_folds(parts, scales, n_columns)
    return Trials(
        params=[dict(candidate) for candidate in params],
        supervised=np.array(supervised, dtype=np.bool_),
        held_out_codes=held_out_codes,
        fold=fold,
        held_out_values=held_out_values,
        scales=scales,
        pair_scales=scales_of_pairs(means) / scales[:, None],
        shares=np.array([smoothed_shares(codes, n_classes) for _, codes in unlabeled]),
        held_out_rows=held_out_rows,
        shortlists=shortlists,
    )


def stack_folds(
    parts: Sequence[Sequence[FloatArray]], scales: FloatArray, n_columns: int
) -> tuple[FloatArray, IntArray]:
    """Return the scaled columns of all folds as one array, and the fold of each row.

    Examples
    --------
    >>> values, fold = stack_folds([[np.ones((2, 1))], [np.ones((1, 1))]], np.array([2.0]), 1)
    >>> values.tolist(), fold.tolist()
    ([[[0.5], [0.5], [0.5]]], [0, 0, 1])
    """
    sizes = [part[0].shape[0] for part in parts]
    empty = np.zeros((len(scales), 0, n_columns))
    values = np.concatenate([empty, *(np.array(part) for part in parts)], axis=1)
    return values / scales[:, None, None], np.repeat(np.arange(len(sizes)), sizes)


def smoothed_shares(codes: IntArray, n_classes: int) -> FloatArray:
    """Return the shares of the classes among the codes of some rows, none of them zero.

    Examples
    --------
    >>> smoothed_shares(np.array([0, 0, 0, 0, 1, 1]), 2).tolist()
    [0.625, 0.375]
    """
    counts = np.bincount(codes[codes >= 0], minlength=n_classes) + 1.0
    return np.asarray(counts / counts.sum())
