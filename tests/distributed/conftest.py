"""A real cluster of two worker processes, shared by all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client

from graphmargin.distributed.cluster import Cluster, local_cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    with local_cluster(2, "2GiB") as found:
        yield found


@pytest.fixture(scope="session")
def client(cluster: Cluster) -> Client:
    return cluster.client
