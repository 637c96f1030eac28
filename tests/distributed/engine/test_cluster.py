"""Errors when workers are missing, too small or dying."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import time
from contextlib import suppress
from pathlib import Path

import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster

from graphmargin.distributed.cluster_errors import ClusterError
from graphmargin.distributed.engine import cluster as module
from graphmargin.distributed.engine.cluster import IDLE_BYTES, Cluster, cluster_at, local_cluster


def double(x):
    return 2 * x


def slow(x):
    time.sleep(x)
    return x


def fail(x):
    message = f"{x} is wrong"
    raise ValueError(message)


def size_of(number, value):
    return number, value.nbytes


def test_results_come_in_the_order_of_the_items(cluster):
    reports = []
    results = cluster.run(
        "double", double, range(20), progress=lambda *report: reports.append(report)
    )
    assert results == [2 * i for i in range(20)]
    assert reports[-1] == (1.0, "20 of 20 tasks")
    assert cluster.run("double", double, []) == []


def test_futures_may_be_items(cluster):
    first = cluster.submit("double", double, [1, 2])
    assert cluster.results("again", cluster.submit("again", double, first)) == [4, 8]


def test_an_error_of_a_task_is_raised_unchanged(cluster):
    with pytest.raises(ValueError, match=r"^3 is wrong$"):
        cluster.run("fail", fail, [3])


def test_an_error_is_raised_before_the_others_are_done(cluster):
    futures = [
        *cluster.submit("slow", slow, [2]),
        *cluster.submit("fail", fail, [1]),
    ]
    with pytest.raises(ValueError, match="1 is wrong"):
        cluster.results("both", futures)
    assert futures[0].cancelled()


def test_a_large_value_goes_to_the_cluster_once(cluster):
    value = np.zeros(3_000_000)  # beyond the size that Dask warns of
    shared = cluster.share("large", value)
    assert cluster.run("size", size_of, [1, 2, 3], shared) == [(i, value.nbytes) for i in (1, 2, 3)]


def test_memory_is_shared_among_threads(cluster):
    assert cluster.n_threads == 2
    assert cluster.task_memory == (2 * 2**30 - IDLE_BYTES) // 2
    assert cluster.memory == 2 * cluster.task_memory


def test_missing_workers_are_reported(monkeypatch):
    monkeypatch.setattr(module, "WAIT_SECONDS", 0.5)
    with (
        LocalCluster(n_workers=0, dashboard_address="localhost:0") as local,
        Client(local) as client,
    ):
        with pytest.raises(ClusterError, match=r"no worker has joined .*tcp://.*; start workers"):
            _ = Cluster(client).task_memory
        with pytest.raises(ClusterError, match="double: no worker is left; start more"):
            Cluster(client).run("double", double, [1])


def allow_failures(dask_scheduler, number):
    dask_scheduler.allowed_failures = number


def test_a_task_that_kills_its_workers_is_reported_as_lack_of_memory(mortal_cluster):
    def deadly(_):
        os.kill(os.getpid(), signal.SIGKILL)

    mortal_cluster.client.run_on_scheduler(allow_failures, number=0)
    with pytest.raises(ClusterError, match=r"deadly: a task was tried 1 times, .* memory_limit"):
        mortal_cluster.run("deadly", deadly, [1])
    mortal_cluster.client.run_on_scheduler(allow_failures, number=3)


def test_a_task_whose_worker_dies_is_repeated_by_another(mortal_cluster):
    first = next(iter(mortal_cluster.client.run(os.getpid).values()))

    def die_or_answer(_):
        if os.getpid() == first:
            os.kill(first, signal.SIGKILL)
        time.sleep(0.2)
        return os.getpid()

    assert first not in mortal_cluster.run("dies once", die_or_answer, [1, 2])


def test_a_shared_value_survives_its_worker(mortal_cluster):
    shared = mortal_cluster.share("large", np.zeros(10))
    assert mortal_cluster.run("size", size_of, [1], shared) == [(1, 80)]
    (holders,) = mortal_cluster.client.who_has([shared]).values()
    for pid in mortal_cluster.client.run(os.getpid, workers=list(holders)).values():
        os.kill(pid, signal.SIGKILL)
    assert mortal_cluster.run("size", size_of, [2], shared) == [(2, 80)]


def test_a_stopped_scheduler_is_reported():
    local = LocalCluster(n_workers=0, dashboard_address="localhost:0")
    with dask.config.set({"distributed.comm.timeouts.connect": "300ms"}), Client(local) as client:
        futures = Cluster(client).submit("slow", slow, [60])
        local.close()
        with pytest.raises(ClusterError, match="slow: the scheduler was stopped"):
            Cluster(client).results("slow", futures)


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nonsense", "nonsense://x:1"])
def test_an_address_without_a_scheduler_is_named(address):
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "300ms"}),
        pytest.raises(ClusterError, match=f"no Dask scheduler answers at '{address}'"),
        cluster_at(address),
    ):
        pass


def test_a_cluster_is_found_by_client_or_address_or_as_the_current_one(cluster):
    with cluster_at(cluster.client) as current:
        assert current.client is cluster.client
    with cluster_at(cluster.client.scheduler.address) as current:
        assert current.client is not cluster.client
        assert current.run("double", double, [4]) == [8]
    with cluster.client.as_current(), cluster_at(None) as current:
        assert current.client is cluster.client


def listening_ports(pids):
    """Return the TCP ports that some processes listen to, from the tables of Linux."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(FileNotFoundError):
                sockets.add(str(link.readlink()))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    is_listening = "0A"
    return {
        int(row[1].split(":")[1], 16)
        for row in rows
        if row[3] == is_listening and f"socket:[{row[9]}]" in sockets
    }


@pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="the system does not list ports")
def test_nobody_else_can_run_code_in_a_local_cluster():
    before = listening_ports([os.getpid()])
    with local_cluster(1) as local:
        pids = [os.getpid(), *local.client.run(os.getpid).values()]
        ports = listening_ports(pids) - before
        assert len(ports) == 3  # of the scheduler, the nanny and the worker
        trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)  # it has no key, and accepts any
        trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
        for port in ports:
            with (
                dask.config.set({"distributed.comm.timeouts.connect": "500ms"}),
                pytest.raises(OSError, match=r"Timed out|closed"),
            ):
                Client(f"tcp://127.0.0.1:{port}")
            with (
                socket.create_connection(("127.0.0.1", port)) as connection,
                trusting.wrap_socket(connection) as encrypted,
                pytest.raises(ssl.SSLError, match="certificate required"),
            ):
                encrypted.recv(1)


def test_a_local_cluster_ends_with_the_block():
    with cluster_at("local") as local:
        assert local.n_threads >= 1
        assert local.run("absolute", abs, [-4]) == [4]
        client = local.client
    assert client.status == "closed"
