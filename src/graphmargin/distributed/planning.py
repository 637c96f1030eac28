"""How many parts a job needs, and whether the workers can hold it."""

from __future__ import annotations

from dask.utils import format_bytes

from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.diffusion import bytes_of_a_vertex
from graphmargin.distributed.errors import ClusterError

TASKS_A_THREAD = 4
"""Parts for every thread, at least, so that none waits for the slowest."""
LEAST_ROWS = 2_500
"""Of a part: smaller ones are mostly border."""
MOST_ROWS = 250_000
"""Of a part: so much is to be done again when a worker dies."""
VISITS = 2.0
"""Regions that a row is known in, at most, as a rule."""
COPIES = 4
"""Of the features of a part, in double precision, while its neighbors are found."""


def rows_at_once(cluster: Cluster, n_columns: int) -> int:
    """Return the number of rows of a table that a task can hold.

    Parameters
    ----------
    cluster : Cluster
    n_columns : int
        Numbers in a row.
    """
    return max(1, cluster.memory_of_a_task // _bytes_of_a_row(n_columns, 0))


def count_parts(
    cluster: Cluster, *, n_rows: int, n_features: int, n_neighbors: int, n_classes: int
) -> int:
    """Return the number of parts of a job.

    Raises
    ------
    ClusterError
        If the workers together cannot hold what the iterations keep in memory.
    """
    needed = n_rows * bytes_of_a_vertex(n_classes, 2 * n_neighbors)
    if needed > cluster.memory:
        msg = (
            f"{n_rows:,} rows of {n_classes} classes need {format_bytes(needed)} of memory between "
            f"tasks, and the workers have {format_bytes(max(0, cluster.memory))} for that; start "
            "more workers, or larger ones"
        )
        raise ClusterError(msg)
    a_row = VISITS * _bytes_of_a_row(n_features, n_neighbors)
    most = min(MOST_ROWS, int(cluster.memory_of_a_task / a_row))
    for_threads = min(TASKS_A_THREAD * cluster.n_threads, n_rows // LEAST_ROWS)
    return max(1, for_threads, -(-n_rows // max(most, 1)))


def _bytes_of_a_row(n_features: int, n_neighbors: int) -> int:
    return 8 * COPIES * n_features + 64 * n_neighbors + 128
