"""Class weights: factors of the hinge losses of each class, for rare classes and unequal costs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphmargin._checks import check_real
from graphmargin._errors import InputError
from graphmargin._typing import AnyArray, FloatArray, IntArray

BALANCED = "balanced"
WEIGHT_LIMITS = (1e-6, 1e6)
"""Range of class weights, whose products with C and losses are finite in single precision."""

ClassWeight = Mapping[Any, float] | str | None
"""None, "balanced", or weights by class."""


def check_class_weight(class_weight: Any) -> ClassWeight:
    """Return a valid class weight, whose classes are not compared with those of labels yet.

    Raises
    ------
    ValueError
        If it is neither None, "balanced" nor a mapping to positive numbers.

    Examples
    --------
    >>> check_class_weight({"rare": 10, "common": -1})
    Traceback (most recent call last):
    ValueError: `class_weight['common']` must be > 0, got -1; labels of a class that is not ...
    """
    if class_weight is None or (isinstance(class_weight, str) and class_weight == BALANCED):
        return class_weight
    if not isinstance(class_weight, Mapping):
        msg = (
            "`class_weight` must be None, 'balanced' or a dict from class to weight, got "
            f"{class_weight!r}"
        )
        raise InputError(msg)
    return {name: _check_weight(name, weight) for name, weight in class_weight.items()}


def class_weights(
    class_weight: Any, classes: Sequence[Any] | AnyArray, counts: IntArray
) -> tuple[float, ...] | None:
    """Return the weight of each class, or None if all losses count as they are.

    Parameters
    ----------
    class_weight : None, "balanced" or mapping from class to float > 0
        "balanced" is ``n / (c n_k)`` for a class with n_k of n given labels, as in scikit-learn.
        A class that the mapping lacks has weight 1. A class can be given by its text as well.
    classes : sequence of length c
    counts : array of shape (c,)
        Number of given labels of each class.

    Raises
    ------
    ValueError
        If a weight is not valid, or is that of an unknown class.

    Examples
    --------
    >>> class_weights("balanced", ["common", "rare"], np.array([90, 10]))
    (0.5555555555555556, 5.0)
    >>> class_weights({"rare": 3}, ["common", "rare"], np.array([90, 10]))
    (1.0, 3.0)
    """
    checked = check_class_weight(class_weight)
    if checked is None:
        return None
    if isinstance(checked, str):
        return tuple((counts.sum() / (len(counts) * np.maximum(counts, 1))).tolist())
    names = [_plain(name) for name in classes]
    positions = {str(name): i for i, name in enumerate(names)}
    positions |= {name: i for i, name in enumerate(names)}
    weights = [1.0] * len(names)
    for name, weight in checked.items():
        if name not in positions:
            listed = ", ".join(map(repr, names[:10])) + (", ..." if len(names) > 10 else "")
            msg = (
                f"`class_weight` has a weight of class {_plain(name)!r}, which no label has; "
                f"classes are {listed}"
            )
            raise InputError(msg)
        weights[positions[name]] = weight
    return tuple(weights)


def weights_of_rows(weights: Sequence[float] | None, codes: IntArray) -> FloatArray:
    """Return the weight of the class of each row, one without class weights.

    Examples
    --------
    >>> weights_of_rows((0.5, 5.0), np.array([0, 1, 0])).tolist()
    [0.5, 5.0, 0.5]
    """
    return np.ones(len(codes)) if weights is None else np.asarray(weights)[codes]


def _check_weight(name: Any, weight: Any) -> float:
    return check_real(
        f"class_weight[{_plain(name)!r}]",
        weight,
        positive=True,
        limits=WEIGHT_LIMITS,
        hint="; labels of a class that is not to be learned can be removed",
    )


def _plain(name: Any) -> Any:
    """Return a class as a Python object, which is how messages show it."""
    return name.item() if isinstance(name, np.generic) else name
