"""Held-out labels, on which the candidates of a search are tested."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._checks import check_integer, check_random_state
from graphmargin._rows import check_no_mask
from graphmargin._typing import AnyArray, IntArray
from graphmargin.labels import (
    UNLABELED,
    EncodedLabels,
    is_label,
)

NOTHING_HELD_OUT: IntArray = np.zeros(0, dtype=np.int64)
FEW_LABELS = 20
"""Largest number of labels with ten folds; more have five."""


@dataclass(frozen=True)
class HeldOutLabels:
    """The labels that candidates are tested on.

    Attributes
    ----------
    folds : tuple of arrays
        Labeled rows whose labels are held out, fold by fold; the rows remain as unlabeled ones.
    validation : tuple of rows and class codes, or None
        Labeled rows outside of the training rows, in place of folds.
    """

    folds: tuple[IntArray, ...]
    validation: tuple[Any, IntArray] | None = None


def default_held_out(labels: EncodedLabels, seed: int) -> HeldOutLabels:
    """Return five folds of the labels, ten if there are at most 20 labels.

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> len(default_held_out(encode_labels([0, 0, 1, 1, -1]), 0).folds)
    4
    """
    few = labels.labeled.sum() <= FEW_LABELS
    return HeldOutLabels(tuple(stratified_label_folds(labels.codes, 10 if few else 5, seed)))


def held_out_from(cv: Any, X: Any, y: Any, labels: EncodedLabels, seed: int) -> HeldOutLabels:
    """Return the folds of labels for a `cv` that is not a validation set.

    Parameters
    ----------
    cv : None, int, "loo", splitter or iterable of (train, test)
        None is `default_held_out`.
    X, y
        Rows and labels as a splitter should see them.
    labels : EncodedLabels
        Encoded y.
    seed : int

    Raises
    ------
    ValueError
        If `cv` has no valid form, holds out no label, or all labels of a class in one fold.

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> y = ["a", "a", "b", "b", None]
    >>> held_out = held_out_from("loo", None, y, encode_labels(y), 0)
    >>> [fold.tolist() for fold in held_out.folds]
    [[0], [1], [2], [3]]
    """
    if cv is None:
        return default_held_out(labels, seed)
    from graphmargin.search.splitters import LabeledKFold, LabeledLeaveOneOut  # rarely needed

    if isinstance(cv, str) and cv == "loo":
        cv = LabeledLeaveOneOut()
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        cv = LabeledKFold(check_integer("cv", cv, low=2), random_state=seed)
    is_text = isinstance(cv, str | bytes)
    if hasattr(cv, "split") and not is_text:
        splits = _splits_of(cv, X, y, labels)
    elif isinstance(cv, Iterable) and not is_text:
        splits = list(cv)
    else:
        msg = (
            "`cv` must be an integer, 'loo', a splitter, an iterable of (train, test) or a "
            f"tuple (X_val, y_val), got {cv!r}"
        )
        raise ValueError(msg)
    folds = tuple(_held_out_rows(split, labels) for split in splits)
    if not any(len(fold) for fold in folds):
        msg = f"`cv` holds out no label in its {len(folds)} folds; use an integer or LabeledKFold"
        raise ValueError(msg)
    return HeldOutLabels(folds)


def _splits_of(splitter: Any, X: Any, y: Any, labels: EncodedLabels) -> list[Any]:
    """Return the folds of a splitter, which may not know the marker of unlabeled rows in y.

    It then sees class codes, with -1 for unlabeled rows, as scikit-learn's own classifiers do.
    """
    try:
        return list(splitter.split(X, y))
    except (TypeError, ValueError):
        if labels.labeled.all():
            raise
    try:
        return list(splitter.split(X, labels.codes))
    except (TypeError, ValueError) as error:
        msg = f"`cv`={splitter!r} cannot split the rows: {error}; use LabeledKFold or an integer"
        raise ValueError(msg) from error


def validation_set(rows: Any, y: Any, classes: AnyArray) -> HeldOutLabels:
    """Return a validation set of rows outside of the training rows, with class codes.

    Examples
    --------
    >>> validation_set(np.zeros((2, 1)), ["b", "a"], np.array(["a", "b"])).validation[1].tolist()
    [1, 0]
    """
    check_no_mask(y, "y_val")
    values = np.asarray(y).ravel().tolist()
    if len(values) != rows.shape[0]:
        msg = f"`cv` must label all {rows.shape[0]} validation rows, got {len(values)} labels"
        raise ValueError(msg)
    code_of = {value: code for code, value in enumerate(classes.tolist())}
    unknown = [value for value in values if not is_label(value) or value not in code_of]
    if unknown:
        msg = (
            f"`cv` has the label {unknown[0]!r} in y_val, but the classes of y are "
            f"{list(code_of)}; pass labeled validation rows of these classes"
        )
        raise ValueError(msg)
    codes = np.array([code_of[value] for value in values], dtype=np.int64)
    return HeldOutLabels((), (rows, codes))


def _held_out_rows(split: Any, labels: EncodedLabels) -> IntArray:
    """Return the labeled test rows of a fold, which must leave a label of every class."""
    try:
        _, test = split
        rows = np.arange(len(labels.codes))[test]
    except (IndexError, TypeError, ValueError) as error:
        msg = f"`cv` must yield (train, test) with row numbers of X, got {split!r}"
        raise ValueError(msg) from error
    held_out = np.unique(rows[labels.labeled[rows]])
    lost = np.setdiff1d(labels.codes[held_out], labels.without(held_out).codes)
    if len(lost):
        msg = (
            f"`cv` holds out all labels of class {labels.classes[lost].tolist()[0]!r} in a fold; "
            "use an integer or LabeledKFold, which keep a label of every class"
        )
        raise ValueError(msg)
    return held_out


def stratified_label_folds(
    codes: IntArray,
    n_splits: int,
    random_state: int | np.random.RandomState | None = None,
) -> list[IntArray]:
    """Return the rows whose labels are held out in each fold, a stratified partition.

    The labels of a class are shuffled and assigned to the folds in turn, each class starting where
    the last one ended. So the sizes of folds differ by at most one, in total and in each class, and
    no fold holds out all labels of a class. The only label of a class is in no fold.

    Parameters
    ----------
    codes : int array of shape (n,)
        Classes 0..c-1, -1 where there is no label.
    n_splits : int >= 2
        Number of folds; if fewer labels can be held out, each of them has its own fold.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.

    Returns
    -------
    list of int arrays
        Sorted row numbers; no array is empty. The list is empty if no class has two labels.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 1, 1, 2, -1])
    >>> [fold.tolist() for fold in stratified_label_folds(codes, 2, random_state=0)]
    [[2, 3, 5], [0, 1, 4]]
    """
    n_splits = check_integer("n_splits", n_splits, low=2)
    rows = check_random_state(random_state).permutation(rows_that_can_be_held_out(codes))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return [np.sort(rows[first::n_splits]) for first in range(min(n_splits, len(rows)))]


def rows_that_can_be_held_out(codes: IntArray) -> IntArray:
    """Return the rows with a label that is not the only one of its class."""
    labeled = np.flatnonzero(codes != UNLABELED)
    sizes = np.bincount(codes[labeled])
    return labeled[sizes[codes[labeled]] > 1]
