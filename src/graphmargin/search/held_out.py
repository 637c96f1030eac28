"""Held-out labels: cross-validation of labels that always trains on the unlabeled rows."""

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
    rows = check_random_state(random_state).permutation(_rows_that_can_be_held_out(codes))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return [np.sort(rows[first::n_splits]) for first in range(min(n_splits, len(rows)))]


class _LabelSplitter(ABC):
    """Base class of the splitters that hold out labels."""

    @abstractmethod
    def _folds(self, codes: IntArray) -> list[IntArray]:
        """Return the rows whose labels are held out in each fold."""

    def split(self, X: Any, y: Any, groups: Any = None) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the training and the test rows of each fold.

        Parameters
        ----------
        X : array-like with n rows, or None
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".
        groups : ignored
            A value raises a warning.

        Yields
        ------
        train : int array
            All rows but those of `test`: the other labeled rows, and every unlabeled row.
        test : int array
            Rows whose label is held out.
        """
        if groups is not None:
            msg = f"`groups` is ignored by {type(self).__name__}; its folds are made from `y` alone"
            warnings.warn(msg, UserWarning, stacklevel=2)
        from sklearn.utils.validation import check_consistent_length

        codes = encode_labels(y).codes
        check_consistent_length(X, codes)
        for test in self._checked_folds(codes):
            yield np.delete(np.arange(len(codes)), test), test

    def split_labels(self, y: npt.ArrayLike) -> Iterator[tuple[AnyArray, IntArray]]:
        """Yield the training labels of each fold, and the rows whose label is held out.

        Use it in your own loops, in which these rows remain in the graph as unlabeled vertices. In
        scikit-learn's tools, which call `split`, they are left out of the training rows.

        Parameters
        ----------
        y : array-like of shape (n,)
            Labels; unlabeled is -1, None, NaN, pandas.NA or "".

        Yields
        ------
        y_train : array of shape (n,)
            Copy of `y` in which held-out labels are -1 among signed integers, "" among strings, NaN
            among floats, and else None in an object array.
        test : int array
            Rows whose label is held out.
        """
        labels = encode_labels(y)
        # A list has no dtype; its labels take that of the classes.
        is_array = hasattr(y, "__array__")
        values = np.asarray(y).ravel() if is_array else decode_labels(labels.classes, labels.codes)
        for test in self._checked_folds(labels.codes):
            mask = np.zeros(len(values), dtype=bool)
            mask[test] = True
            yield set_unlabeled(values, mask), test

    def _checked_folds(self, codes: IntArray) -> list[IntArray]:
        """Return the folds, or raise ValueError if there is none."""
        if not len(_rows_that_can_be_held_out(codes)):
            msg = (
                "`y` has only one label in each class, and none of them can be held out; label at "
                "least two rows of a class"
            )
            raise ValueError(msg)
        return self._folds(codes)


@dataclass(frozen=True)
class LabeledKFold(_LabelSplitter):
    """Stratified k-fold cross-validation of the labels; unlabeled rows are always trained on.

    scikit-learn's own splitters treat the marker of unlabeled rows as a class, and put such rows
    into the test set (its issue #2593). Here each fold tests on some of the labeled rows, and
    trains on all other rows. Every class keeps a label in every training set, so the only label of
    a class is never held out. Pass it as `cv` to `GridSearchCV`, `cross_validate` and similar
    tools. Training scores (`return_train_score`) are meaningless there, since they count unlabeled
    rows, too.

    Parameters
    ----------
    n_splits : int >= 2, default=5
        Number of folds, at most the number of labels that can be held out.
    random_state : int, RandomState or None, default=None
        Seed of the shuffle; with None, each call of `split` returns different folds.

    See Also
    --------
    LabeledLeaveOneOut : Holds out one label at a time.

    Examples
    --------
    >>> y = np.array([0, 0, 0, 1, 1, 1, -1, -1])
    >>> cv = LabeledKFold(3, random_state=0)
    >>> for train, test in cv.split(np.zeros((8, 2)), y):
    ...     print(train, test)
    [0 1 3 4 6 7] [2 5]
    [0 2 4 5 6 7] [1 3]
    [1 2 3 5 6 7] [0 4]
    >>> for y_train, test in cv.split_labels(y):
    ...     print(y_train, test)
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

    There is a fold for each label whose class has another label: it is the test set, and all other
    rows are the training set.

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
        """Return the number of folds, for which `y` is needed."""
        return len(self._checked_folds(encode_labels(y).codes))

    def _folds(self, codes: IntArray) -> list[IntArray]:
        return list(_rows_that_can_be_held_out(codes)[:, None])


def _rows_that_can_be_held_out(codes: IntArray) -> IntArray:
    """Return the rows with a label that is not the only one of its class."""
    labeled = np.flatnonzero(codes != UNLABELED)
    sizes = np.bincount(codes[labeled])
    return labeled[sizes[codes[labeled]] > 1]
