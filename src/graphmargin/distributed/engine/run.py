"""A fit in stages, each of which keeps its results in a folder and runs only once.

A stage consists of numbered tasks. A task writes its files, and last a small *completion marker*
with its result; a task that has a marker is not run again. So a run can go on from there after a
worker, the scheduler or the program that started it was killed.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray, ProgressCallback
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.storage import Folder

SETTINGS = "run.json"
MARKER = ".done"
MAX_SHOWN = 200
"""Largest number of characters of a value in a message."""
_READERS = 16
"""Number of markers that are read at once, since an object store takes a while for each."""

Task = Callable[..., Mapping[str, Any]]
"""A function ``task(folder, number, *shared)`` that returns a few small arrays."""


@dataclass(frozen=True)
class Run:
    """A fit on a cluster, and the folder with the results of its stages.

    Attributes
    ----------
    folder : Folder
    cluster : Cluster
    verbose : int
    seconds : dict from str to float
        Time of each stage, in the order of the stages.
    """

    folder: Folder
    cluster: Cluster
    verbose: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def stage(
        self, name: str, task: Task, items: int | Sequence[Any], *shared: Any
    ) -> list[dict[str, AnyArray]]:
        """Run the tasks of a stage that have no completion marker, and return all results.

        Parameters
        ----------
        name : str
            Name of the stage, and of the folder of its completion markers.
        task : callable
            See `Task`. Its result must depend on its arguments and on storage alone.
        items : int or sequence
            The number of tasks, or the argument that each of them gets after its number.
        shared
            Small values that all tasks get.
        """
        arguments = [()] * items if isinstance(items, int) else [(item,) for item in items]
        with self.timed(name) as report_progress:
            folder = self.folder / name
            done = set(folder.names())
            todo = [i for i in range(len(arguments)) if marker_name(i) not in done]
            new = self.cluster.run(
                name,
                _run_and_mark,
                [(i, *arguments[i], *shared) for i in todo],
                task,
                self.folder,
                name,
                progress=report_progress,
            )
            results = dict(zip(todo, new, strict=True))
            old = [i for i in range(len(arguments)) if i not in results]
            with ThreadPoolExecutor(_READERS) as pool:
                results.update(zip(old, pool.map(folder.read, map(marker_name, old)), strict=True))
            return [results[i] for i in range(len(arguments))]

    @contextmanager
    def timed(self, name: str, title: str = "") -> Iterator[ProgressCallback | None]:
        """Report a stage to the user, by its title or name, and add its time to `seconds`."""
        began = time.perf_counter()
        with report_stage(title or name, self.verbose) as report_progress:
            yield report_progress
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def checkpointed(self, name: str, value: Any) -> Any:
        """Return a JSON value that is written the first time, and read when a run goes on.

        Values that depend on the workers, such as the size of row ranges, must not change when a
        run goes on with other workers.
        """
        if not self.folder.exists(name):
            self.folder.write_json(name, value)
        return self.folder.read_json(name)


def marker_name(number: int) -> str:
    """Return the name of the completion marker of a task."""
    return f"{number:06d}{MARKER}"


def _run_and_mark(
    arguments: tuple[Any, ...], task: Task, folder: Folder, name: str
) -> dict[str, AnyArray]:
    """Run a task, write its completion marker, and return its result."""
    number, *rest = arguments
    result = {key: np.asarray(value) for key, value in task(folder, number, *rest).items()}
    (folder / name).write(marker_name(number), result)
    trim_malloc()
    return result


def trim_malloc() -> None:
    """Return freed memory to the system, as Dask counts what glibc keeps of it as used."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


def open_run(
    folder: Folder,
    cluster: Cluster,
    settings: Mapping[str, Any],
    *,
    resume: bool,
    verbose: int = 0,
) -> Run:
    """Return the run of a folder, which is a new one or goes on.

    Parameters
    ----------
    folder : Folder
        Empty, unless `resume`.
    cluster : Cluster
    settings : mapping
        All that the results depend on, as JSON values.
    resume : bool
        Go on with a run of the same settings, if there is one.
    verbose : int

    Raises
    ------
    WorkDirError
        If the folder holds anything else, which is not touched, or a worker does not see it.
    """
    names = folder.names()
    current = json.loads(json.dumps(settings, default=np.generic.item))
    if SETTINGS in names:
        stored = folder.read_json(SETTINGS)
        if stored != current:
            msg = (
                f"work_dir {folder.url} has another run: {_first_difference('', stored, current)}; "
                "choose another folder, or remove this one"
            )
            raise WorkDirError(msg)
        if not resume:
            msg = (
                f"work_dir {folder.url} already has this run; go on with resume=True, or choose "
                "another folder"
            )
            raise WorkDirError(msg)
    elif names:
        msg = (
            f"work_dir {folder.url} has {names[0]!r}, which is not part of a run; choose an empty "
            "folder"
        )
        raise WorkDirError(msg)
    else:
        folder.write_json(SETTINGS, current)
    _check_visible(folder, cluster)
    return Run(folder, cluster, verbose)


def _check_visible(folder: Folder, cluster: Cluster) -> None:
    """Refuse a folder that some worker does not see, such as one on a disk of this machine."""
    seen = cluster.client.run(folder.exists, SETTINGS, on_error="return")
    without = [worker for worker, sees in seen.items() if sees is False]
    if without:
        msg = (
            f"worker {without[0]} does not see {folder.path(SETTINGS)}; choose a work_dir on "
            "storage that all workers share"
        )
        raise WorkDirError(msg)


def _first_difference(name: str, before: Any, now: Any) -> str:
    """Return a text about the first item in which two values differ."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = {**before, **now}
        key = next(
            key for key in keys if [key in before, before.get(key)] != [key in now, now.get(key)]
        )
        return _first_difference(key, before.get(key), now.get(key))
    if isinstance(before, list) and isinstance(now, list):
        pairs = enumerate(zip_longest(before, now))
        i, (before, now) = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
        name = f"{name}[{i}]"
    return f"{name} was {_shortened(before)} and is {_shortened(now)} now"


def _shortened(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
