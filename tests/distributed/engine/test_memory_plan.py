from __future__ import annotations

from types import SimpleNamespace

import pytest

from graphmargin.distributed.cluster_errors import ClusterError
from graphmargin.distributed.engine.memory_plan import (
    MAX_ROWS,
    MIN_ROWS,
    count_partitions,
    rows_per_task,
)

MB = 2**20


def workers(n=2, *, task=500 * MB, memory=1000 * MB):
    return SimpleNamespace(n_threads=n, task_memory=task, memory=memory)


def partitions_of(cluster, n_rows, n_features=16, n_neighbors=5, n_classes=10):
    return count_partitions(
        cluster,
        n_rows=n_rows,
        n_features=n_features,
        n_neighbors=n_neighbors,
        n_classes=n_classes,
    )


def test_every_thread_has_several_partitions():
    assert partitions_of(workers(2), 1_000_000) == 8
    assert partitions_of(workers(2), 4 * MIN_ROWS) == 4
    assert partitions_of(workers(2), 10) == 1


def test_a_partition_fits_in_a_task_and_is_not_too_large():
    large = workers(2, task=10_000 * MB, memory=10**12)
    assert partitions_of(large, 10_000_000) == 10_000_000 // MAX_ROWS
    small = workers(2, task=64 * MB, memory=10**12)
    n_partitions = partitions_of(small, 10_000_000)
    assert n_partitions > 10_000_000 // MAX_ROWS
    assert partitions_of(small, 10_000_000, n_features=64) > 2 * n_partitions


def test_too_little_memory_for_the_iterations_is_refused():
    assert partitions_of(workers(2, memory=760 * MB), 1_000_000) == 8
    with pytest.raises(ClusterError, match=r"1,000,000 rows of 10 classes need 724\.\d+ MiB"):
        partitions_of(workers(2, memory=700 * MB), 1_000_000)


def test_a_row_range_of_wide_rows_has_fewer_rows():
    assert rows_per_task(workers(), 1000) < rows_per_task(workers(), 16) / 20
