"""Cross-validation that hides labels, and leaves the unlabeled rows where they are."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_consistent_length

from graphmargin._checks import check_integer
from graphmargin._typing import AnyArray, IntArray
from graphmargin.labels import UNLABELED, decode_labels, encode_labels, set_unlabeled


def label_folds(
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
    >>> [hidden.tolist() for hidden in label_folds(codes, 2, random_state=0)]
    [[2, 3, 5], [0, 1, 4]]
    """
    n_splits = check_integer("n_splits", n_splits, low=2)
    rows = check_random_state(random_state).permutation(_hideable(codes))
    rows = rows[np.argsort(codes[rows], kind="stable")]
    return [np.sort(rows[first::n_splits]) for first in range(min(n_splits, len(rows)))]


class _LabelSplitter(ABC):
    """What splitters that hide labels have in common."""

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
        if not len(_hideable(codes)):
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
        available = len(_hideable(codes))
        if available < self.n_splits:
            msg = (
                f"`n_splits` must be at most {available}, the number of labels in `y` that can be "
                f"hidden, got {self.n_splits}; use LabeledLeaveOneOut, or label more rows (the "
                "only label of a class is never hidden)"
            )
            raise ValueError(msg)
        return label_folds(codes, self.n_splits, self.random_state)


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
        return list(_hideable(codes)[:, None])


def _hideable(codes: IntArray) -> IntArray:
    """Return the rows with a label that is not the only one of its class."""
    labeled = np.flatnonzero(codes != UNLABELED)
    sizes = np.bincount(codes[labeled])
    return labeled[sizes[codes[labeled]] > 1]
