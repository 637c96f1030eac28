"""A fit in stages, each of which leaves its results in a folder and is done once.

A stage is a task for each of some numbers. A task writes its files, and then, as the last thing, a
small *completion marker*, which holds what the task returns; a task with a marker is not done
again. So a run goes on where it was, whoever died: a worker, the scheduler or the program that
started it.
"""

from __future__ import annotations

import ctypes
import json
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.storage import Folder

SETTINGS = "run.json"
MARKER = ".done"
MAX_SHOWN = 200
"""Number of characters of a value in a message."""
_READERS = 16
"""Number of markers that are read at once: an object store takes a while for each."""

Task = Callable[..., Mapping[str, Any]]
"""``task(folder, number, *shared)`` returns a few small arrays."""


@dataclass(frozen=True)
class Run:
    """A fit on a cluster, and the folder that holds what is done of it.

    Attributes
    ----------
    folder : Folder
    cluster : Cluster
    verbose : int
    seconds : dict from str to float
        Time that each stage took, in the order of the stages.
    """

    folder: Folder
    cluster: Cluster
    verbose: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def stage(
        self, name: str, task: Task, items: int | Sequence[Any], *shared: Any
    ) -> list[dict[str, AnyArray]]:
        """Return the results of a stage, after its tasks that were not done before.

        Parameters
        ----------
        name : str
            Name of the stage, and of the folder of its completion markers.
        task : callable
            See `Task`. What it finds must depend on its arguments alone.
        items : int or sequence
            The number of tasks, or what each of them gets after its number.
        shared
            Small values that all tasks get.
        """
        given = [()] * items if isinstance(items, int) else [(item,) for item in items]
        began = time.perf_counter()
        with report_stage(name, self.verbose) as report_progress:
            folder = self.folder / name
            done = set(folder.names())
            todo = [i for i in range(len(given)) if marker_name(i) not in done]
            new = self.cluster.run(
                name,
                _mark_done,
                [(i, *given[i], *shared) for i in todo],
                task,
                self.folder,
                name,
                progress=report_progress,
            )
            results = dict(zip(todo, new, strict=True))
            old = [i for i in range(len(given)) if i not in results]
            with ThreadPoolExecutor(_READERS) as pool:
                results.update(zip(old, pool.map(folder.read, map(marker_name, old)), strict=True))
            in_order = [results[i] for i in range(len(given))]
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
        return in_order

    def checkpointed(self, name: str, value: Any) -> Any:
        """Return a JSON value as it was when the run came here first.

        What depends on the workers of the day, such as the size of row ranges, must not change when
        a run goes on with others.
        """
        if not self.folder.exists(name):
            self.folder.write_json(name, value)
        return self.folder.read_json(name)


def marker_name(number: int) -> str:
    """Return the name of the completion marker of a task."""
    return f"{number:06d}{MARKER}"


def _mark_done(
    arguments: tuple[Any, ...], task: Task, folder: Folder, name: str
) -> dict[str, AnyArray]:
    """Do a task and write its completion marker."""
    number, *rest = arguments
    result = {key: np.asarray(value) for key, value in task(folder, number, *rest).items()}
    (folder / name).write(marker_name(number), result)
    trim_malloc()
    return result


def trim_malloc() -> None:
    """Give freed memory back to the system, which Dask would take for used, where that is needed.

    glibc keeps what lies between blocks that are in use.
    """
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
    """Return a run in a folder: a new one, or one that goes on.

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
        If the folder holds something else, of which nothing is touched, or workers do not see it.
    """
    names = folder.names()
    wanted = json.loads(json.dumps(settings, default=np.generic.item))
    if SETTINGS in names:
        before = folder.read_json(SETTINGS)
        if before != wanted:
            msg = (
                f"work_dir {folder.url} holds another run: {_difference('', before, wanted)}; "
                "choose another folder, or remove this one"
            )
            raise WorkDirError(msg)
        if not resume:
            msg = (
                f"work_dir {folder.url} holds this run already; go on with resume=True, or choose "
                "another folder"
            )
            raise WorkDirError(msg)
    elif names:
        msg = (
            f"work_dir {folder.url} holds {names[0]!r}, which is no part of a run; choose an empty "
            "folder"
        )
        raise WorkDirError(msg)
    else:
        folder.write_json(SETTINGS, wanted)
    _check_seen(folder, cluster)
    return Run(folder, cluster, verbose)


def _check_seen(folder: Folder, cluster: Cluster) -> None:
    """Refuse a folder that is on a disk of this machine alone, as workers see it."""
    seen = cluster.client.run(folder.exists, SETTINGS, on_error="return")
    blind = [worker for worker, sees in seen.items() if sees is False]
    if blind:
        msg = (
            f"worker {blind[0]} does not see {folder.path(SETTINGS)}; choose a work_dir on storage "
            "that all workers share"
        )
        raise WorkDirError(msg)


def _difference(name: str, before: Any, now: Any) -> str:
    """Return in words where two values differ: in the first such item, as they may have many."""
    if isinstance(before, dict) and isinstance(now, dict):
        keys = {**before, **now}
        key = next(
            key for key in keys if [key in before, before.get(key)] != [key in now, now.get(key)]
        )
        return _difference(key, before.get(key), now.get(key))
    if isinstance(before, list) and isinstance(now, list):
        pairs = enumerate(zip_longest(before, now))
        i, (before, now) = next((i, pair) for i, pair in pairs if pair[0] != pair[1])
        name = f"{name}[{i}]"
    return f"{name} was {_short(before)} and is {_short(now)} now"


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
