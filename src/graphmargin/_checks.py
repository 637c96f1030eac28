"""Checks of arguments, with messages that name the argument, the value and a way out."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np


def check_choice(name: str, value: Any, choices: Sequence[str], hint: str = "") -> Any:
    """Return `value`, or raise ValueError unless it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        names = ", ".join(repr(choice) for choice in choices)
        msg = f"`{name}` must be one of {names}{hint}, got {value!r}"
        raise ValueError(msg)
    return value


def check_integer(name: str, value: Any, *, low: int) -> int:
    """Return `value` as an int, or raise ValueError unless it is an integer >= `low`."""
    if not isinstance(value, Integral) or isinstance(value, bool) or value < low:
        msg = f"`{name}` must be an integer >= {low}, got {value!r}"
        raise ValueError(msg)
    return int(value)


def check_real(
    name: str,
    value: Any,
    *,
    positive: bool = False,
    finite: bool = True,
    limits: tuple[float, float] = (0.0, float("inf")),
    hint: str = "",
) -> float:
    """Return `value` as a float, or raise ValueError unless it is a number >= 0 (or > 0).

    `limits` are the smallest and the largest valid number besides 0 and infinity.
    """
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or not (value > 0 or (value == 0 and not positive)):
        msg = f"`{name}` must be {'>' if positive else '>='} 0, got {value!r}{hint}"
        raise ValueError(msg)
    if finite and value == float("inf"):
        msg = f"`{name}` must be finite, got {value!r}{hint}"
        raise ValueError(msg)
    number = float(value)
    if 0 < number < float("inf") and not limits[0] <= number <= limits[1]:
        msg = f"`{name}` must be from {limits[0]:g} to {limits[1]:g}, got {value!r}{hint}"
        raise ValueError(msg)
    return number


def check_random_state(value: Any) -> np.random.RandomState:
    """Return the random number generator for a seed, a `RandomState` or None.

    A seed needs no scikit-learn, whose import takes longer than most fits of small tables.
    """
    if isinstance(value, np.random.RandomState):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return np.random.RandomState(int(value))
    from sklearn.utils import check_random_state as scikit_learn_random_state

    random: np.random.RandomState = scikit_learn_random_state(value)
    return random
