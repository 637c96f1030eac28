from __future__ import annotations

from types import SimpleNamespace

import pytest

from graphmargin.distributed.errors import ClusterError
from graphmargin.distributed.planning import LEAST_ROWS, MOST_ROWS, count_parts, rows_at_once

MB = 2**20


def workers(n=2, *, task=500 * MB, memory=1000 * MB):
    return SimpleNamespace(n_threads=n, memory_of_a_task=task, memory=memory)


def parts_of(cluster, n_rows, n_features=16, n_neighbors=5, n_classes=10):
    return count_parts(
        cluster,
        n_rows=n_rows,
        n_features=n_features,
        n_neighbors=n_neighbors,
        n_classes=n_classes,
    )


def test_every_thread_has_some_parts():
    assert parts_of(workers(2), 1_000_000) == 8
    assert parts_of(workers(2), 4 * LEAST_ROWS) == 4
    assert parts_of(workers(2), 10) == 1


def test_a_part_fits_in_a_task_and_is_not_too_large():
    large = workers(2, task=10_000 * MB, memory=10**12)
    assert parts_of(large, 10_000_000) == 10_000_000 // MOST_ROWS
    small = workers(2, task=64 * MB, memory=10**12)
    n_parts = parts_of(small, 10_000_000)
    assert n_parts > 10_000_000 // MOST_ROWS
    assert parts_of(small, 10_000_000, n_features=64) > 2 * n_parts


def test_what_stays_between_tasks_has_to_fit_in_all_workers():
    assert parts_of(workers(2, memory=760 * MB), 1_000_000) == 8
    with pytest.raises(ClusterError, match=r"1,000,000 rows of 10 classes need 724\.\d+ MiB"):
        parts_of(workers(2, memory=700 * MB), 1_000_000)


def test_a_piece_of_wide_rows_has_fewer():
    assert rows_at_once(workers(), 1000) < rows_at_once(workers(), 16) / 20
