"""The workers of a Dask cluster: their threads, their memory, and the tasks that they run."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import dask
from dask.utils import format_bytes
from distributed import Client, Future, KilledWorker, LocalCluster, Security, get_client, wait
from distributed.client import FuturesCancelledError

from graphmargin._typing import ProgressCallback
from graphmargin.distributed.cluster_errors import ClusterError

LOCAL = "local"
WORKER_SETUP = """
import signal
signal.signal(signal.SIGINT, signal.SIG_IGN)

def dask_setup(worker):
    worker.http_server.stop()
"""
"""Code that local workers run first. Ctrl-C is for the program, which then stops its workers, and
pages about a worker would be open to all users of the machine."""
IDLE_BYTES = 450 * 2**20
"""Memory of a worker without any data: Python, libraries, and compiled code."""
TASK_SHARE = 0.5
"""Share of the remaining memory for tasks; the other half is for results that workers keep."""
MIN_TASK_MEMORY = 64 * 2**20
"""Smallest memory of a task that is of any use."""
DEFAULT_THREAD_BYTES = 4 * 2**30
"""Memory that is assumed for each thread of a worker without a memory limit."""
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": 2**25, "MALLOC_TRIM_THRESHOLD_": 2**26}
"""Sizes up to which glibc reuses freed arrays. With Dask's defaults it returns them to the system,
and allocating them again takes half of the time of the iterations."""
POLL_SECONDS = 1.0
WAIT_SECONDS = 120.0
"""Time to wait for workers to join, or to resume after they have paused for lack of memory."""


class Cluster:
    """The workers of a Dask client.

    Attributes
    ----------
    client : distributed.Client
    """

    def __init__(self, client: Client) -> None:
        self.client = client

    @property
    def workers(self) -> dict[str, Any]:
        """The scheduler's description of each worker, by its address."""
        workers: dict[str, Any] = self.client.scheduler_info(n_workers=-1)["workers"]
        return workers

    @property
    def n_threads(self) -> int:
        """Number of tasks that can run at once."""
        return sum(worker["nthreads"] for worker in self.workers.values())

    @property
    def memory(self) -> int:
        """Bytes of results that all workers together can keep between tasks."""
        free = (_memory_limit(worker) - IDLE_BYTES for worker in self.workers.values())
        return int((1 - TASK_SHARE) * sum(free))

    @property
    def task_memory(self) -> int:
        """Bytes that a task may use on the smallest worker.

        Raises
        ------
        ClusterError
            If these are fewer than `MIN_TASK_MEMORY`, or there is no worker.
        """
        workers = self._wait_for_workers()
        shares = {
            name: TASK_SHARE * (_memory_limit(worker) - IDLE_BYTES) / worker["nthreads"]
            for name, worker in workers.items()
        }
        name, least = min(shares.items(), key=lambda item: item[1])
        if least < MIN_TASK_MEMORY:
            threads = workers[name]["nthreads"]
            needed = IDLE_BYTES + MIN_TASK_MEMORY / TASK_SHARE * threads
            msg = (
                f"worker {name} has {format_bytes(_memory_limit(workers[name]))} of memory for "
                f"{threads} threads, but needs at least {format_bytes(int(needed))}; start workers "
                "with a larger memory_limit, or with fewer threads"
            )
            raise ClusterError(msg)
        return int(least)

    def run(
        self,
        name: str,
        function: Callable[..., Any],
        items: Sequence[Any],
        *shared: Any,
        progress: ProgressCallback | None = None,
    ) -> list[Any]:
        """Return ``function(item, *shared)`` for all items, in their order.

        If a worker dies, other workers repeat its tasks.

        Parameters
        ----------
        name : str
            Name of the tasks on Dask's dashboard.
        function : callable
        items : sequence
        shared
            Small values, which are sent with every task.
        progress : callable, default=None
        """
        futures = self.submit(name, function, items, *shared)
        try:
            return self.results(name, futures, progress)
        finally:
            self.release(futures)

    def submit(
        self, name: str, function: Callable[..., Any], items: Sequence[Any], *shared: Any
    ) -> list[Future[Any]]:
        """Return futures of ``function(item, *shared)``; an item may be a future itself."""
        n, token = len(items), uuid4().hex
        keys = [f"{name}-{token}-{i}" for i in range(n)]
        repeated = [[value] * n for value in shared]
        futures: list[Future[Any]] = self.client.map(function, items, *repeated, key=keys)
        return futures

    def release(self, futures: Sequence[Future[Any]]) -> None:
        """Let the workers delete results, unless tasks that were submitted still need them.

        Python would release futures that nothing refers to, but task graphs refer to them until
        the next garbage collection, and the results are large.
        """
        for future in futures:
            future.release()

    def share(self, name: str, value: Any) -> Future[Any]:
        """Return a future of a large value, which tasks take as an argument in its place.

        The value is sent to the cluster once, and from worker to worker as they need it. The
        scheduler keeps a copy in case all of these workers die.
        """
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.submit(name, _identity, [value])[0]

    def results(
        self, name: str, futures: Sequence[Future[Any]], progress: ProgressCallback | None = None
    ) -> list[Any]:
        """Return the results of futures, or raise the error of the first that failed."""
        self.wait(name, futures, progress)
        return list(self.client.gather(list(futures)))

    def wait(
        self, name: str, futures: Sequence[Future[Any]], progress: ProgressCallback | None = None
    ) -> None:
        """Wait until all futures are done, or raise the error of the first that failed."""
        pending = list(futures)
        stuck_since: float | None = None
        try:
            while pending:
                # Waiting for the next one alone would check all futures after each of them.
                with suppress(TimeoutError):
                    wait(pending, POLL_SECONDS)
                failed = next((future for future in futures if future.status == "error"), None)
                if failed is not None:
                    failed.result()
                n_before = len(pending)
                # All futures again: a result is lost, and computed again, if its worker dies.
                pending = [future for future in futures if future.status in ("pending", "lost")]
                is_moving = len(pending) < n_before
                stuck_since = None if is_moving else self._stuck_since(name, stuck_since)
                if progress is not None:
                    n_done = len(futures) - len(pending)
                    progress(n_done / len(futures), f"{n_done:,} of {len(futures):,} tasks")
        except KilledWorker as error:
            msg = (
                f"{name}: a task was tried {error.allowed_failures + 1} times, and each time its "
                "worker died, most likely for lack of memory; start workers with a larger "
                "memory_limit, or with fewer threads, and continue with resume=True"
            )
            raise ClusterError(msg) from error
        except FuturesCancelledError as error:
            msg = f"{name}: the scheduler was stopped, or lost its tasks; continue with resume=True"
            raise ClusterError(msg) from error
        finally:
            if pending and self.client.status == "running":
                self.client.cancel(pending)

    def _wait_for_workers(self) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_SECONDS
        while not (workers := self.workers):
            if time.monotonic() > deadline:
                address = self.client.scheduler_info()["address"]
                msg = (
                    f"no worker has joined the scheduler at {address} in {WAIT_SECONDS:.0f} "
                    "seconds; start workers"
                )
                raise ClusterError(msg)
            time.sleep(0.2)
        return workers

    def _stuck_since(self, name: str, since: float | None) -> float | None:
        """Return the time since which no worker runs tasks, None if one does.

        Raises
        ------
        ClusterError
            If that is so for longer than `WAIT_SECONDS`.
        """
        workers = self.workers
        if any(worker["status"] == "running" for worker in workers.values()):
            return None
        if since is None:
            return time.monotonic()
        if time.monotonic() - since > WAIT_SECONDS:
            state = "all workers have paused for lack of memory" if workers else "no worker is left"
            msg = (
                f"{name}: {state}; start more workers, or workers with a larger memory_limit, and "
                "continue with resume=True"
            )
            raise ClusterError(msg)
        return since


def _identity(value: Any) -> Any:
    return value


def _memory_limit(worker: dict[str, Any]) -> int:
    return int(worker["memory_limit"] or DEFAULT_THREAD_BYTES * worker["nthreads"])


@contextmanager
def local_cluster(
    n_workers: int | None = None, memory_limit: str = "auto", security: Security | None = None
) -> Iterator[Cluster]:
    """Yield a cluster of worker processes on this machine, by default one for every core.

    A scheduler and its workers run the code that is sent to their ports, which all users of the
    machine can reach. So they speak to holders of their key alone, and have no dashboard.

    Parameters
    ----------
    n_workers : int, default=None
    memory_limit : str
        Memory of a worker, such as "2GiB"; "auto" gives each an equal share of the machine's.
    security : distributed.Security, default=None
        None makes a key that only the processes of this cluster have, in memory. An empty
        ``Security()`` lets everyone on the machine connect.
    """
    environment = {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in ALLOCATOR.items()}
    with (
        dask.config.set(environment),
        # A nanny starts its worker again. Dask looks for a dead worker once, after this time, and
        # ends the nanny if the worker has just died a second time.
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 day"}),
        # Dask always opens a port for pages: any free one, as another cluster may use the default.
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address="localhost:0",
            preload=[WORKER_SETUP],
            security=Security.temporary() if security is None else security,
        ) as local,
        Client(local) as client,
    ):
        local.scheduler.http_server.stop()
        yield Cluster(client)


@contextmanager
def cluster_at(where: Client | str | None) -> Iterator[Cluster]:
    """Yield the cluster of a client, the one at an address, the current one, or a local one.

    Parameters
    ----------
    where : Client, str or None
        An address such as ``tcp://host:8786``, or "local" for one worker process on every core
        of this machine, which ends with the block. None is the current client, if there is one,
        and else "local".

    Raises
    ------
    ClusterError
        If no scheduler answers at the address.
    """
    if isinstance(where, Client):
        yield Cluster(where)
        return
    if where is None:
        try:
            current = get_client()
        except ValueError:
            where = LOCAL
        else:
            yield Cluster(current)
            return
    if where == LOCAL:
        with local_cluster() as cluster:
            yield cluster
        return
    try:
        client = Client(where)
    except (OSError, ValueError) as error:
        msg = (
            f"no Dask scheduler answers at {where!r} ({error}); pass an address such as "
            "tcp://host:8786, or 'local'"
        )
        raise ClusterError(msg) from error
    with client:
        yield Cluster(client)
