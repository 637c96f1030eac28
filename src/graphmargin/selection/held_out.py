"""Held-out labels: cross-validation of the labels that leaves the unlabeled rows where they are."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._checks import check_integer, check_random_state
from graphmargin._rows import check_no_mask
from graphmargin._typing import AnyArray, IntArray
from graphmargin.labels import (
    UNLABELED,
    EncodedLabels,
    decode_labels,
    encode_labels,
    is_label,
    set_unlabeled,
)

NOTHING_HELD_OUT: IntArray = np.zeros(0, dtype=np.int64)
FEW_LABELS = 20
"""Number of labels up to which there are ten folds, and five above."""


@dataclass(frozen=True)
class HeldOutLabels:
    """The labels on which candidates are tested.

    Attributes
    ----------
    folds : tuple of arrays
        Labeled rows whose labels are held out, fold by fold; the rows stay as unlabeled ones.
    validation : tuple of rows and class codes, or None
        Labeled rows outside of the training rows, in place of folds.
    """

    folds: tuple[IntArray, ...]
    validation: tuple[Any, IntArray] | None = None


def default_held_out(labels: EncodedLabels, seed: int) -> HeldOutLabels:
    """Return five folds of the labels, ten if there are at most 20 labels.

    Examples
    --------
    >>> len(default_held_out(encode_labels([0, 0, 1, 1, -1]), 0).folds)
    4
    """
    few = labels.labeled.sum() <= FEW_LABELS
    return HeldOutLabels(tuple(stratified_label_folds(labels.codes, 10 if few else 5, seed)))


def held_out_from(cv: Any, X: Any, y: Any, labels: EncodedLabels, seed: int) -> HeldOutLabels:
    """Return the folds of labels that a `cv` other than a validation set asks for.

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
        If this is no cross-validation, holds out no label, or all labels of a class in a fold.

    Examples
    --------
    >>> y = ["a", "a", "b", "b", None]
    >>> held_out = held_out_from("loo", None, y, encode_labels(y), 0)
    >>> [fold.tolist() for fold in held_out.folds]
    [[0], [1], [2], [3]]
    """
    if cv is None:
        return default_held_out(labels, seed)
    if isinstance(cv, str) and cv == "loo":
        cv = LabeledLeaveOneOut()
    elif isinstance(cv, int | np.integer) and not isinstance(cv, bool):
        cv = LabeledKFold(check_integer("cv", cv, low=2), random_state=seed)
    if hasattr(cv, "split") and not isinstance(cv, str):
        splits = list(cv.split(X, y))
    elif isinstance(cv, Iterable) and not isinstance(cv, str):
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


def validation_set(rows: Any, y: Any, classes: AnyArray) -> HeldOutLabels:
    """Return validated rows outside of the training rows, with their labels, to test on.

    Examples
    --------
    >>> validation_set(np.zeros((2, 1)), ["b", "a"], np.array(["a", "b"])).validation[1].tolist()
    [1, 0]
    """
    check_no_mask(y, "y_val")
    values = np.asarray(y).ravel().tolist()
    if len(values) != rows.shape[0]:
        msg = f"`cv` has {rows.shape[0]} rows in X_val and {len(values)} labels in y_val"
        raise ValueError(msg)
    code_of = {value: code for code, value in enumerate(classes.tolist())}
    unknown = [value for value in values if not is_label(value) or value not in code_of]
    if unknown:
        msg = (
            f"`cv` has the label {unknown[0]!r} in y_val, but y has {list(code_of)}; "
            "validation rows must be labeled, with classes that y has"
        )
        raise ValueError(msg)
    codes = np.array([code_of[value] for value in values], dtype=np.int64)
    return HeldOutLabels((), (rows, codes))


def _held_out_rows(split: Any, labels: EncodedLabels) -> IntArray:
    """Return the labeled ones of the test rows of a fold, which must leave some of each class."""
    try:
        _, test = split
        rows = np.arange(len(labels.codes))[test]
    except (IndexError, TypeError, ValueError) as error:
        msg = f"`cv` must yield (train, test) with the numbers of rows of X, got {split!r}"
        raise ValueError(msg) from error
    held_out = np.unique(rows[labels.labeled[rows]])
    lost = np.setdiff1d(labels.codes[held_out], labels.without(held_out).codes)
    if len(lost):
        msg = (
            f"`cv` holds out all labels of class {labels.classes[lost].tolist()[0]!r} in a fold; "
            "use an integer or LabeledKFold, which keep some of each class"
        )
        raise ValueError(msg)
    return held_out


def stratified_label_folds(
    codes: IntArray,
    n_splits: int,
    random_state: int | np.random.RandomState | None = None,
) -> list[IntArray]:
    """Return the rows that lose their label in each fold, a stratified partition.

    The labels of a class are shuffled and dealt out to the folds in turn, each class starting
    where the last one ended. So folds are of equal size up to one, in total and in each class, and
    no fold hides a class whole. The only label of a class is in no fold.

    Parameters
    ----------
    codes : int array of shape (n,)
        Classes 0..c-1, -1 where there is no label.
    n_splits : int >= 2
        Number of folds; with fewer labels to hide there is one fold for each of them.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle.

    Returns
    -------
    list of int arrays
        Sorted row numbers, none of the arrays empty. The list is empty if no class has two labels.

    Examples
    --------
    >>> codes = np.array([0, 0, 0, 0, 1, 1, 2, -1])
    >>> [hidden.tolist() for hidden in stratified_label_folds(codes, 2, random_state=0)]
    [[2, 3, 5], [0, 1, 4]]
    """
    n_splits = check_integer("n_splits", n_splits, low=2)
    rows = check_random_state(random_state).permutation(_rows_that_can_be_held_out(codes))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return [np.sort(rows[first::n_splits]) for first in range(min(n_splits, len(rows)))]


class _LabelSplitter(ABC):
    """Base of the splitters that hold labels out."""

    @abstractmethod
    def _folds(self, codes: IntArray) -> list[IntArray]:
        """Return the rows to hide in each fold."""

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the rows of the training and of the test part of each fold.

        Parameters
        ----------
        X : array-like with n rows, or None
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        groups : ignored
            With a warning.

        Yields
        ------
        train : int array
            All rows but those of `test`: the other labels, and every unlabeled row.
        test : int array
            Rows whose label is hidden.
        """
        if groups is not None:
            msg = f"`groups` is ignored by {type(self).__name__}; its folds are made from `y` alone"
            warnings.warn(msg, UserWarning, stacklevel=2)
        from sklearn.utils.validation import check_consistent_length

        codes = encode_labels(y).codes
        check_consistent_length(X, codes)
        for test in self._hidden(codes):
            yield np.delete(np.arange(len(codes)), test), test

    def hide(self, y: npt.ArrayLike) -> Iterator[tuple[AnyArray, IntArray]]:
        """Yield the labels that are left in each fold, and the rows of those hidden.

        This is for loops of your own, in which hidden rows stay in the graph as unlabeled vertices.
        In the tools of scikit-learn (`split`) a row is either in the training part with its label,
        or not in it at all.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".

        Yields
        ------
        y_hidden : array of shape (n,)
            Copy of `y` with the hidden labels -1 among signed integers, "" among strings, NaN among
            floats, and else None in an object array.
        hidden : int array
            Rows whose label is hidden.
        """
        labels = encode_labels(y)
        # A list has no dtype of its own: it takes that of its classes.
        is_array = hasattr(y, "__array__")
        values = np.asarray(y).ravel() if is_array else decode_labels(labels.classes, labels.codes)
        for hidden in self._hidden(labels.codes):
            mask = np.zeros(len(values), dtype=bool)
            mask[hidden] = True
            yield set_unlabeled(values, mask), hidden

    def _hidden(self, codes: IntArray) -> list[IntArray]:
        """Return the folds, or raise ValueError if there is none."""
        if not len(_rows_that_can_be_held_out(codes)):
            msg = (
                "`y` has one label in each class, and hiding it would hide the class; label at "
                "least two rows of a class"
            )
            raise ValueError(msg)
        return self._folds(codes)


@dataclass(frozen=True)
class LabeledKFold(_LabelSplitter):
    """Stratified k-fold cross-validation of the labels; unlabeled rows are always trained on.

    scikit-learn's own splitters take the marker for unlabeled for a class, and put such rows into
    the test part (its issue #2593). Here each fold tests on a part of the labels, and trains on
    all other rows. Every class keeps a label in every training part, so the only label of a class
    is never hidden. Pass it as `cv` to `GridSearchCV`, `cross_validate` and their like. A training
    score (`return_train_score`) means nothing there, since it counts unlabeled rows, too.

    Parameters
    ----------
    n_splits : int >= 2, default=5
        Number of folds, at most the number of labels that can be hidden.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle; with None every call of `split` makes other folds.

    See Also
    --------
    LabeledLeaveOneOut : Hides one label at a time.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    >>> cv = LabeledKFold(3, random_state=0)
    >>> for train, test in cv.split(np.zeros((8, 2)), y):
    ...     print(train, test)
    [0 1 3 4 6 7] [2 5]
    [0 2 4 5 6 7] [1 3]
    [1 2 3 5 6 7] [0 4]
    >>> for y_hidden, hidden in cv.hide(y):
    ...     print(y_hidden, hidden)
    [ 0  0 -1  1  1 -1 -1 -1] [2 5]
    [ 0 -1  0 -1  1  1 -1 -1] [1 3]
    [-1  0  0  1 -1  1 -1 -1] [0 4]
    """

    n_splits: int = 5
    random_state: int | np.random.RandomState | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        """Check the number of folds."""
        check_integer("n_splits", self.n_splits, low=2)

    # scikit-learn passes all three, where the number may depend on them.
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds."""
        return self.n_splits

    def _folds(self, codes: IntArray) -> list[IntArray]:
        available = len(_rows_that_can_be_held_out(codes))
        if available < self.n_splits:
            msg = (
                f"`n_splits` must be at most {available}, the number of labels in `y` that can be "
                f"held out, got {self.n_splits}; use LabeledLeaveOneOut, or label more rows (the "
                "only label of a class is never held out)"
            )
            raise ValueError(msg)
        return stratified_label_folds(codes, self.n_splits, self.random_state)


@dataclass(frozen=True)
class LabeledLeaveOneOut(_LabelSplitter):
    """Leave-one-out cross-validation of the labels; unlabeled rows are always trained on.

    There is a fold for each label whose class has another one: it is the test part, and all other
    rows are the training part.

    See Also
    --------
    LabeledKFold : Fewer folds, hence fewer fits.

    Examples
    --------
    >>> y = ["cat", "cat", "dog", None, "dog", "fox"]
    >>> for train, test in LabeledLeaveOneOut().split(np.zeros((6, 2)), y):
    ...     print(train, test)
    [1 2 3 4 5] [0]
    [0 2 3 4 5] [1]
    [0 1 3 4 5] [2]
    [0 1 2 3 5] [4]
    """

    # scikit-learn passes all three, where the number may depend on them.
    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None) -> int:  # noqa: ARG002
        """Return the number of folds, which takes `y`."""
        return len(self._hidden(encode_labels(y).codes))

    def _folds(self, codes: IntArray) -> list[IntArray]:
        return list(_rows_that_can_be_held_out(codes)[:, None])


def _rows_that_can_be_held_out(codes: IntArray) -> IntArray:
    """Return the rows with a label that is not the only one of its class."""
    labeled = np.flatnonzero(codes != UNLABELED)
    sizes = np.bincount(codes[labeled])
    return labeled[sizes[codes[labeled]] > 1]
