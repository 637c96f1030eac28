"""Random samples of the rows of a table in partitions or row ranges."""

from __future__ import annotations

import numpy as np

from graphmargin._typing import IntArray


def allocate_sample(counts: IntArray, quotas: IntArray, seed: int) -> IntArray:
    """Return how many rows of each stratum to draw in each partition, in proportion to its rows.

    Parameters
    ----------
    counts : array of shape (n_partitions, n_strata)
        Rows of each stratum, such as a class, in each partition.
    quotas : array of shape (n_strata,)
        Rows to draw of each stratum; all rows of a smaller stratum are drawn.
    seed : int

    Returns
    -------
    array of shape (n_partitions, n_strata)

    Examples
    --------
    >>> counts = np.array([[100, 1], [300, 0]])
    >>> allocate_sample(counts, np.array([40, 5]), seed=0).sum(axis=0).tolist()
    [40, 1]
    """
    random = np.random.default_rng(seed)
    drawn = np.zeros_like(counts)
    for stratum, quota in enumerate(np.minimum(quotas, counts.sum(axis=0)).tolist()):
        # Every (total / quota)-th row, beginning at a random one: exact for integers of any size.
        ends = np.cumsum(counts[:, stratum]).tolist()
        total = ends[-1]
        first = int(random.integers(max(total, 1)))
        passed = [(end * quota + first) // max(total, 1) for end in ends]
        drawn[:, stratum] = np.diff(passed, prepend=0)
    return drawn


def draw_sample(strata: IntArray, quotas: IntArray, seed: list[int]) -> IntArray:
    """Return the sorted numbers of random rows of a partition, `quotas` of each stratum.

    Parameters
    ----------
    strata : array of shape (n,)
        Stratum of every row, -1 for rows that must not be drawn.
    quotas : array of shape (n_strata,)
    seed : list of int
        Includes the number of the partition, so that partitions draw independently.

    Examples
    --------
    >>> strata = np.array([0, 0, -1, 1, 1, 1])
    >>> strata[draw_sample(strata, np.array([1, 2]), seed=[0, 3])].tolist()
    [0, 1, 1]
    """
    random = np.random.default_rng(seed)
    chosen = [
        random.choice(np.flatnonzero(strata == stratum), quota, replace=False)
        for stratum, quota in enumerate(quotas)
        if quota
    ]
    return np.sort(np.concatenate([np.zeros(0, dtype=np.int64), *chosen]))
