"""A real cluster of two worker processes, shared by all tests of a process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from distributed import Client, LocalCluster

from graphmargin.distributed.cluster import Cluster


@pytest.fixture(scope="session")
def client() -> Iterator[Client]:
    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            memory_limit="2GiB",
            dashboard_address="localhost:0",
        ) as local,
        Client(local) as client,
    ):
        yield client


@pytest.fixture(scope="session")
def cluster(client: Client) -> Cluster:
    return Cluster(client)
