"""The workers of a Dask cluster: their number and memory, and one way to give them tasks."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import dask
from dask.utils import format_bytes
from distributed import Client, Future, KilledWorker, LocalCluster, get_client, wait
from distributed.client import FuturesCancelledError

from graphmargin._typing import ProgressCallback
from graphmargin.distributed.cluster_errors import ClusterError

LOCAL = "local"
IGNORE_SIGINT = "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
"""Code that workers of this machine run first: Ctrl-C is for the program, which ends them."""
IDLE_BYTES = 450 * 2**20
"""Memory of a worker without any data: Python, libraries, and compiled code."""
TASK_SHARE = 0.5
"""Share of the memory beyond that for tasks; the other half is for what stays between them."""
MIN_TASK_MEMORY = 64 * 2**20
"""Memory of a task below which nothing useful can be done."""
DEFAULT_THREAD_BYTES = 4 * 2**30
"""Memory that is assumed for a thread of a worker without a limit."""
ALLOCATOR = {"MALLOC_MMAP_THRESHOLD_": 2**25, "MALLOC_TRIM_THRESHOLD_": 2**26}
"""Freed arrays up to this size are used again. Dask's default gives all of them back to the system,
and to get them again takes half of the time of the iterations."""
POLL_SECONDS = 1.0
WAIT_SECONDS = 120.0
"""Time to wait for workers that have gone, or that are full, to come back."""


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
        """Bytes that all workers together can keep between tasks."""
        free = (_limit(worker) - IDLE_BYTES for worker in self.workers.values())
        return int((1 - TASK_SHARE) * sum(free))

    @property
    def task_memory(self) -> int:
        """Bytes that a task may take on the smallest worker.

        Raises
        ------
        ClusterError
            If that is next to nothing, or there is no worker.
        """
        workers = self._wait_for_workers()
        shares = {
            name: TASK_SHARE * (_limit(worker) - IDLE_BYTES) / worker["nthreads"]
            for name, worker in workers.items()
        }
        name, least = min(shares.items(), key=lambda item: item[1])
        if least < MIN_TASK_MEMORY:
            threads = workers[name]["nthreads"]
            needed = IDLE_BYTES + MIN_TASK_MEMORY / TASK_SHARE * threads
            msg = (
                f"worker {name} has {format_bytes(_limit(workers[name]))} of memory for "
                f"{threads} threads, and needs {format_bytes(int(needed))} at least; start workers "
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

        A task whose worker dies is done again by another one.

        Parameters
        ----------
        name : str
            Name of the tasks on Dask's dashboard.
        function : callable
        items : sequence
        shared
            Small values: each task gets its own copy.
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
        """Let workers forget results, unless tasks that are to come need them.

        Python would do so when nobody knows the futures any more, but graphs of tasks know them
        until garbage is collected, and results are large.
        """
        for future in futures:
            future.release()

    def share(self, name: str, value: Any) -> Future[Any]:
        """Return what stands for a large value among the arguments of tasks.

        It goes to the cluster once, and from worker to worker as they need it; if all who have it
        die, the scheduler has it still.
        """
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"}):
            return self.submit(name, _same, [value])[0]

    def results(
        self, name: str, futures: Sequence[Future[Any]], progress: ProgressCallback | None = None
    ) -> list[Any]:
        """Return the results of futures, or raise what the first failure says."""
        self.wait(name, futures, progress)
        return list(self.client.gather(list(futures)))

    def wait(
        self, name: str, futures: Sequence[Future[Any]], progress: ProgressCallback | None = None
    ) -> None:
        """Return when all are done, or raise what the first failure says."""
        pending = list(futures)
        stuck_since: float | None = None
        try:
            while pending:
                # Not the first of them: to look at all after each would take their square.
                with suppress(TimeoutError):
                    wait(pending, POLL_SECONDS)
                failed = next((future for future in futures if future.status == "error"), None)
                if failed is not None:
                    failed.result()
                n_before = len(pending)
                # All of them: what is done is to do again if a worker dies with it.
                pending = [future for future in futures if future.status in ("pending", "lost")]
                is_moving = len(pending) < n_before
                stuck_since = None if is_moving else self._stuck(name, stuck_since)
                if progress is not None:
                    n_done = len(futures) - len(pending)
                    progress(n_done / len(futures), f"{n_done:,} of {len(futures):,} tasks")
        except KilledWorker as error:
            msg = (
                f"{name}: a worker died {error.allowed_failures + 1} times on the same task, most "
                "often for lack of memory; start workers with a larger memory_limit, or with fewer "
                "threads, and go on with resume=True"
            )
            raise ClusterError(msg) from error
        except FuturesCancelledError as error:
            msg = f"{name}: the scheduler has gone, or forgot its tasks; go on with resume=True"
            raise ClusterError(msg) from error
        finally:
            if pending and self.client.status == "running":
                self.client.cancel(pending)

    def _wait_for_workers(self) -> dict[str, Any]:
        deadline = time.monotonic() + WAIT_SECONDS
        while not (workers := self.workers):
            if time.monotonic() > deadline:
                address = self.client.scheduler_info()["address"]
                msg = f"no worker has joined {address} in {WAIT_SECONDS:.0f} s; start some"
                raise ClusterError(msg)
            time.sleep(0.2)
        return workers

    def _stuck(self, name: str, since: float | None) -> float | None:
        """Return since when no worker takes tasks, None if one does; raise after a while."""
        workers = self.workers
        if any(worker["status"] == "running" for worker in workers.values()):
            return None
        if since is None:
            return time.monotonic()
        if time.monotonic() - since > WAIT_SECONDS:
            state = "all workers are full and have paused" if workers else "there is no worker left"
            msg = (
                f"{name}: {state}; start more workers, or workers with a larger memory_limit, and "
                "go on with resume=True"
            )
            raise ClusterError(msg)
        return since


def _same(value: Any) -> Any:
    return value


def _limit(worker: dict[str, Any]) -> int:
    return int(worker["memory_limit"] or DEFAULT_THREAD_BYTES * worker["nthreads"])


@contextmanager
def local_cluster(n_workers: int | None = None, memory_limit: str = "auto") -> Iterator[Cluster]:
    """Yield worker processes on this machine, one on every core by default.

    Parameters
    ----------
    n_workers : int, default=None
    memory_limit : str
        Memory of a worker, such as "2GiB"; "auto" is its share of the memory of the machine.
    """
    environment = {f"distributed.nanny.pre-spawn-environ.{k}": v for k, v in ALLOCATOR.items()}
    with (
        dask.config.set(environment),
        # A free port for the dashboard: another cluster may have the usual one.
        LocalCluster(
            n_workers=n_workers,
            threads_per_worker=1,
            memory_limit=memory_limit,
            dashboard_address="localhost:0",
            preload=[IGNORE_SIGINT],
        ) as local,
        Client(local) as client,
    ):
        yield Cluster(client)


@contextmanager
def cluster_at(where: Client | str | None) -> Iterator[Cluster]:
    """Yield a cluster: that of a client, at an address, the present one, or a local one.

    Parameters
    ----------
    where : Client, str or None
        An address such as ``tcp://host:8786``, or "local" for one worker process on every core
        of this machine, which ends with the block. None is the client that is in use, if any, and
        else "local".

    Raises
    ------
    ClusterError
        If nobody answers at the address.
    """
    if isinstance(where, Client):
        yield Cluster(where)
        return
    if where is None:
        try:
            present = get_client()
        except ValueError:
            where = LOCAL
        else:
            yield Cluster(present)
            return
    if where == LOCAL:
        with local_cluster() as cluster:
            yield cluster
        return
    try:
        client = Client(where)
    except (OSError, ValueError) as error:
        msg = (
            f"no Dask scheduler answers at {where!r} ({error}); give an address such as "
            "tcp://host:8786, or 'local'"
        )
        raise ClusterError(msg) from error
    with client:
        yield Cluster(client)
