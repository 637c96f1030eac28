"""Splitters: cross-validation of labels that always trains on the unlabeled rows."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from graphmargin._checks import check_integer
from graphmargin._typing import AnyArray, IntArray
from graphmargin.labels import decode_labels, encode_labels, set_unlabeled
from graphmargin.search.held_out import rows_that_can_be_held_out, stratified_label_folds


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
        if not len(rows_that_can_be_held_out(codes)):
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
        available = len(rows_that_can_be_held_out(codes))
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
        return list(rows_that_can_be_held_out(codes)[:, None])
