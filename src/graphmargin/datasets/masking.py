"""Masking of labels, which turns a labeled table into a semi-supervised problem."""

from __future__ import annotations

from numbers import Real

import numpy as np
import numpy.typing as npt

from graphmargin._checks import check_integer, check_random_state
from graphmargin._typing import AnyArray, IntArray
from graphmargin.labels import encode_labels, set_unlabeled


def mask_labels(
    y: npt.ArrayLike,
    *,
    fraction: float | None = None,
    per_class: int | None = None,
    random_state: int | np.random.RandomState | None = None,
) -> AnyArray:
    """Return a copy of `y` in which all but a few random labels are masked.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        A label for every row, of two classes or more.
    fraction : float in (0, 1], optional
        Share of all rows that keep their label. At least one row of every class is kept, so
        ``max(n_classes, round(fraction * n_samples))`` labels remain.
    per_class : int >= 1, optional
        Number of rows of every class that keep their label; a smaller class keeps all of them.
        Pass exactly one of `fraction` and `per_class`.
    random_state : int, RandomState instance or None, default=None
        Seed of the choice.

    Returns
    -------
    ndarray of shape (n_samples,)
        Masked labels are -1 among signed integers, "" among strings and NaN among floats; labels of
        another dtype become an object array in which the masked ones are None.

    Examples
    --------
    >>> from graphmargin.datasets import mask_labels
    >>> mask_labels([0, 0, 0, 1, 1, 1], per_class=1, random_state=0)
    array([-1, -1,  0, -1, -1,  1])
    >>> mask_labels(["a", "b", "a", "b"], fraction=0.5, random_state=0)
    array(['', '', 'a', 'b'], dtype='<U1')
    """
    _check_share(fraction, per_class)
    encoded = encode_labels(y)
    y = np.array(y).ravel()
    if not encoded.labeled.all():
        row = int(np.argmin(encoded.labeled))
        msg = (
            f"`y` must be labeled in every row, got {y.tolist()[row]!r} in row {row}, which means "
            "unlabeled; drop such rows, or rename the class"
        )
        raise ValueError(msg)

    order = check_random_state(random_state).permutation(len(y))
    first = _first_of_each_class(encoded.codes[order], per_class or 1)
    kept = order[first]
    if fraction is not None:
        n_more = max(0, round(fraction * len(y)) - len(kept))
        kept = np.append(kept, np.delete(order, first)[:n_more])
    masked = np.ones(len(y), dtype=bool)
    masked[kept] = False
    return set_unlabeled(y, masked)


def _first_of_each_class(codes: IntArray, count: int) -> IntArray:
    """Return the positions of the first `count` rows of every class."""
    by_class = np.argsort(codes, kind="stable")
    sizes = np.bincount(codes)
    rank = np.arange(len(codes)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
    return by_class[rank < count]


def _check_share(fraction: float | None, per_class: int | None) -> None:
    if (fraction is None) == (per_class is None):
        msg = (
            "exactly one of `fraction` and `per_class` must be given, "
            f"got fraction={fraction!r} and per_class={per_class!r}"
        )
        raise ValueError(msg)
    if per_class is not None:
        check_integer("per_class", per_class, low=1)
    is_number = isinstance(fraction, Real) and not isinstance(fraction, bool)
    if fraction is not None and not (is_number and 0 < fraction <= 1):
        msg = (
            f"`fraction` must be in (0, 1], got {fraction!r}; "
            "use `per_class` for a number of rows in each class"
        )
        raise ValueError(msg)
