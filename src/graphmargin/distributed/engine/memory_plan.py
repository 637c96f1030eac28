"""The number of partitions of a fit, and the check that the workers have enough memory for it."""

from __future__ import annotations

import numpy as np
from dask.utils import format_bytes

from graphmargin.distributed.cluster_errors import ClusterError
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.harmonic._solvers.iterative import pad_columns

TASKS_PER_THREAD = 4
"""Least number of partitions for each thread, so that none waits long for the slowest."""
MIN_ROWS = 2_500
"""Least number of rows of a partition, as small partitions have mostly replicas of others."""
MAX_ROWS = 250_000
"""Largest number of rows of a partition, whose work is repeated if a worker dies."""
MAX_REPLICATION = 2.0
"""Number of partitions that a row is in, which few tables exceed."""
FEATURE_COPIES = 4
"""Number of copies of the features of a partition during the search for neighbors."""


def rows_per_task(cluster: Cluster, n_columns: int) -> int:
    """Return the number of rows with so many columns of numbers that a task can hold."""
    return max(1, cluster.task_memory // _row_bytes(n_columns, 0))


def count_partitions(
    cluster: Cluster, *, n_rows: int, n_features: int, n_neighbors: int, n_classes: int
) -> int:
    """Return the number of partitions of a fit.

    Raises
    ------
    ClusterError
        If all workers together have too little memory for the iterations.
    """
    needed = n_rows * vertex_bytes(n_classes, 2 * n_neighbors)
    if needed > cluster.memory:
        msg = (
            f"{n_rows:,} rows of {n_classes} classes need {format_bytes(needed)} of memory, but "
            f"the workers have {format_bytes(max(0, cluster.memory))} for them; start more "
            "workers, or workers with a larger memory_limit"
        )
        raise ClusterError(msg)
    row_bytes = MAX_REPLICATION * _row_bytes(n_features, n_neighbors)
    max_rows = min(MAX_ROWS, int(cluster.task_memory / row_bytes))
    for_threads = min(TASKS_PER_THREAD * cluster.n_threads, n_rows // MIN_ROWS)
    return max(1, for_threads, -(-n_rows // max(max_rows, 1)))


def vertex_bytes(n_classes: int, n_edges: float) -> int:
    """Return the bytes that workers keep for a vertex with `n_edges` edges between iterations.

    A task needs as much again for the vertices of its partition.

    Examples
    --------
    >>> vertex_bytes(10, n_edges=14)
    808
    """
    columns = pad_columns(np.zeros((0, n_classes + 2))).shape[1]
    state, edges, others = 6 * 8 * columns, 12 * n_edges, 64
    return int(state + edges + others)


def _row_bytes(n_features: int, n_neighbors: int) -> int:
    return 8 * FEATURE_COPIES * n_features + 64 * n_neighbors + 128
