"""The example tables of `graphmargin demo` and `studio`: handwritten digits with few labels."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.datasets import load_digits, mask_labels

if TYPE_CHECKING:
    import pandas as pd

TARGET = "digit"


def demo_table() -> pd.DataFrame:
    """Return 5,620 digits, 64 gray values each, with labels in 1 % of the rows.

    Examples
    --------
    >>> table = demo_table()
    >>> table.shape, int(table["digit"].notna().sum())
    ((5620, 65), 56)
    """
    X, y = load_digits()
    return _table(X, mask_labels(y, fraction=0.01, random_state=0))


def studio_table() -> pd.DataFrame:
    """Return the same digits, of which one of each class has a label.

    Examples
    --------
    >>> table = studio_table()
    >>> table.shape, int(table["digit"].notna().sum())
    ((5620, 65), 10)
    """
    X, y = load_digits()
    return _table(X, mask_labels(y, per_class=1, random_state=0))


def _table(X: FloatArray, few: IntArray) -> pd.DataFrame:
    import pandas as pd

    names = [f"row{i}_col{j}" for i in range(8) for j in range(8)]
    table = pd.DataFrame(X, columns=names)
    return table.assign(**{TARGET: pd.array(few, dtype="Int64")}).replace({TARGET: {-1: pd.NA}})


def demo_accuracy(labeled: pd.DataFrame) -> float:
    """Return the accuracy of the predicted labels, as the true labels of the digits are known."""
    _, y = load_digits()
    filled = (labeled[f"{TARGET}_source"] != "given").to_numpy()
    return float(np.mean(labeled[TARGET].astype(int).to_numpy()[filled] == y[filled]))
