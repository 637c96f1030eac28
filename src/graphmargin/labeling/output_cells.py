"""Cells of the columns that a labeled table gets: labels and prediction sets."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, BoolArray

SET_SEPARATOR = " | "
"""Text between the classes of a prediction set; a class that has it is in quotes."""


def label_cells(labels: AnyArray, is_sure: BoolArray) -> Any:
    """Return a pandas array of labels with missing cells where the confidence is too low.

    Integers and booleans keep their type, which is one of pandas that allows missing cells.

    Examples
    --------
    >>> label_cells(np.array([3, 7]), np.array([True, False]))
    <IntegerArray>
    [3, <NA>]
    Length: 2, dtype: Int64
    """
    import pandas as pd

    dtype = {"i": "Int64", "b": "boolean"}.get(labels.dtype.kind, "string")
    cells = pd.array(labels.tolist(), dtype=dtype)
    cells[~is_sure] = pd.NA
    return cells


def set_cells(sets: BoolArray, classes: AnyArray) -> Any:
    """Return a pandas array with the classes of each prediction set; empty sets are missing cells.

    The name of a class with a vertical bar or a quote is a JSON string, so that no two sets have
    the same text.

    Parameters
    ----------
    sets : array of shape (m, c)
    classes : array of shape (c,)

    Examples
    --------
    >>> set_cells(np.array([[1, 0], [1, 1], [0, 0]], dtype=bool), np.array(["cat", "dog"])).tolist()
    ['cat', 'cat | dog', <NA>]
    >>> set_cells(np.array([[1, 0], [1, 1], [0, 1]], dtype=bool), np.array(["a", "a | b"])).tolist()
    ['a', 'a | "a | b"', '"a | b"']
    """
    import pandas as pd

    names = [_set_member(str(name)) for name in classes.tolist()]
    different, numbers = np.unique(sets, axis=0, return_inverse=True)
    texts = [SET_SEPARATOR.join(np.array(names, dtype=object)[chosen]) for chosen in different]
    cells = np.array([text or None for text in texts], dtype=object)[numbers.ravel()]
    return pd.array(cells, dtype="string")


def _set_member(name: str) -> str:
    return json.dumps(name, ensure_ascii=False) if "|" in name or '"' in name else name
