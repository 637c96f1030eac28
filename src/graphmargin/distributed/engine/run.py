"""A fit in stages, each of which keeps its results in a folder and runs only once.

A stage consists of numbered tasks. A task writes its files, its result, and last a small
*completion marker* with the sizes and checksums of all these files. A task is not run again if it
has a marker and its files are as the marker says. So a run can be resumed from there after a
worker, the scheduler or the program that started it was killed, and also if files were removed or
damaged.
"""

from __future__ import annotations

import ctypes
import json
import os
import platform
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import IO, Any

import numpy as np

from graphmargin._errors import InputError
from graphmargin._progress import report_stage
from graphmargin._typing import AnyArray, ProgressCallback
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.storage import LOCK, Folder, recorded_writes, url_to_fs

try:
    import fcntl
except ImportError:  # a system without these locks
    fcntl = None  # type: ignore[assignment]

SETTINGS = "run.json"
"""Name of the file with the settings of a run, and with the values that it has to keep."""
MARKER, RESULT = ".done", ".result"
LOCK_FILE = f"run{LOCK}"
MAX_SHOWN = 200
"""Largest number of characters of a value in a message."""

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
        with self.timed(name) as report_progress:
            return self.run_tasks(name, task, items, *shared, progress=report_progress)

    def run_tasks(
        self,
        name: str,
        task: Task,
        items: int | Sequence[Any],
        *shared: Any,
        progress: ProgressCallback | None = None,
    ) -> list[dict[str, AnyArray]]:
        """Do what `stage` does for a part of a stage, which is not reported to the user."""
        arguments = [()] * items if isinstance(items, int) else [(item,) for item in items]
        results = self.finished(name, len(arguments))
        todo = [i for i in range(len(arguments)) if i not in results]
        new = self.cluster.run(
            name,
            _run_and_mark,
            [(i, *arguments[i], *shared) for i in todo],
            task,
            self.folder,
            name,
            progress=progress,
        )
        results.update(zip(todo, new, strict=True))
        return [results[i] for i in range(len(arguments))]

    def finished(self, name: str, n_tasks: int) -> dict[int, dict[str, AnyArray]]:
        """Return the results of the tasks that need not be run again, by their numbers."""
        marked = set((self.folder / name).names())
        numbers = [i for i in range(n_tasks) if marker_name(i) in marked]
        results = self.cluster.run(f"check of {name}", _read_result, numbers, self.folder, name)
        checked = zip(numbers, results, strict=True)
        return {number: result for number, result in checked if result is not None}

    def run_once(self, name: str, write: Callable[[], None]) -> None:
        """Call a function that writes files in this process, unless they are there already."""

        def write_files(*_: Any) -> dict[str, Any]:
            write()
            return {}

        if _read_result(0, self.folder, name) is None:
            _run_and_mark((0,), write_files, self.folder, name)

    @contextmanager
    def timed(self, name: str, title: str = "") -> Iterator[ProgressCallback | None]:
        """Report a stage to the user, by its title or name, and add its time to `seconds`."""
        began = time.perf_counter()
        with report_stage(title or name, self.verbose) as report_progress:
            yield report_progress
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began

    def checkpointed(self, name: str, value: Any) -> Any:
        """Return a JSON value that is written the first time, and read when a run is resumed.

        Values that depend on the workers, such as the size of row ranges, must not change when a
        run is resumed with other workers. They are in the file of the settings: a run that lost
        them cannot be resumed.
        """
        if name not in self.kept_values:
            stored = self.folder.read_json(SETTINGS)
            stored["kept"][name] = value
            with recorded_writes():  # the file is not a result of the task that keeps a value
                self.folder.write_json(SETTINGS, stored)
        return self.kept_values[name]

    @property
    def kept_values(self) -> dict[str, Any]:
        """The values of `checkpointed`, by their names."""
        kept: dict[str, Any] = self.folder.read_json(SETTINGS)["kept"]
        return kept


def marker_name(number: int) -> str:
    """Return the name of the completion marker of a task."""
    return f"{number:06d}{MARKER}"


def _result_name(number: int) -> str:
    return f"{number:06d}{RESULT}"


def _run_and_mark(
    arguments: tuple[Any, ...], task: Task, folder: Folder, name: str
) -> dict[str, AnyArray]:
    """Run a task, write its result and its completion marker, and return the result."""
    number, *rest = arguments
    with recorded_writes() as files:
        result = {key: np.asarray(value) for key, value in task(folder, number, *rest).items()}
        (folder / name).write(_result_name(number), result)
    # The folder of a run may be moved. Files elsewhere are not its results.
    parent = folder.path("")
    within = {
        path.removeprefix(parent): checksum
        for path, checksum in files.items()
        if path.startswith(parent)
    }
    (folder / name).write_json(marker_name(number), within)
    trim_malloc()
    return result


def _read_result(number: int, folder: Folder, name: str) -> dict[str, AnyArray] | None:
    """Return the result of a task, None if one of its files is missing or has changed."""
    stage = folder / name
    try:
        files = stage.read_json(marker_name(number))
        if all(folder.checksum(path) == checksum for path, checksum in files.items()):
            return stage.read(_result_name(number))
    except InputError:  # the marker itself is missing or damaged
        return None
    return None


def trim_malloc() -> None:
    """Return freed memory to the system, as Dask counts what glibc keeps of it as used."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)


@contextmanager
def locked(folder: Folder) -> Iterator[None]:
    """Refuse other runs in a folder as long as the block runs, even if this process is killed.

    Object stores, and file systems without locks, do not refuse them.

    Raises
    ------
    WorkDirError
        If another run is in the folder, or the folder cannot be created.
    """
    if fcntl is None or not folder.is_local:
        yield
        return
    path = Path(url_to_fs(folder.url)[1])
    new = [parent for parent in (path, *path.parents) if not parent.exists()]
    try:
        path.mkdir(parents=True, exist_ok=True)
        file = _open_lock(path / LOCK_FILE, folder)
    except OSError as error:
        msg = f"work_dir {folder.url} cannot be used: {error.strerror}; choose another folder"
        raise WorkDirError(msg) from error
    try:
        yield
    finally:
        (path / LOCK_FILE).unlink(missing_ok=True)
        file.close()
        with suppress(OSError):  # the first folder that is not empty, and those that it is in
            for parent in new:
                parent.rmdir()


def _open_lock(path: Path, folder: Folder) -> IO[str]:
    """Return the open file of a lock, with the name of this process in it."""
    while True:
        file = path.open("a+")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            file.seek(0)
            msg = (
                f"work_dir {folder.url} is in use by {file.read() or 'another run'}; wait until it "
                "ends, or choose another folder"
            )
            file.close()
            raise WorkDirError(msg) from error
        except OSError:
            return file  # the file system has no locks
        if os.fstat(file.fileno()).st_nlink:
            break
        file.close()  # a run that has just ended has removed it
    file.truncate(0)
    file.write(f"process {os.getpid()} on {platform.node()}")
    file.flush()
    return file


def open_run(
    folder: Folder,
    cluster: Cluster,
    settings: Mapping[str, Any],
    *,
    resume: bool,
    verbose: int = 0,
) -> Run:
    """Return the run of a folder, which is new or resumed.

    Parameters
    ----------
    folder : Folder
        Empty, unless `resume`.
    cluster : Cluster
    settings : mapping
        All that the results depend on, as JSON values.
    resume : bool
        Continue a run of the same settings, if there is one.
    verbose : int

    Raises
    ------
    WorkDirError
        If the folder holds anything else, which is not touched, or a worker does not see it.
    """
    names = folder.names()
    current = json.loads(json.dumps(settings, default=np.generic.item))
    if SETTINGS in names:
        stored = folder.read_json(SETTINGS)["settings"]
        if stored != current:
            msg = (
                f"work_dir {folder.url} has another run: {_first_difference('', stored, current)}; "
                "choose another folder, or remove this one"
            )
            raise WorkDirError(msg)
        if not resume:
            msg = (
                f"work_dir {folder.url} already has this run; continue with resume=True, or choose "
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
        folder.write_json(SETTINGS, {"settings": current, "kept": {}})
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
