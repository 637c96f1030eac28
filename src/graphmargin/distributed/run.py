"""A job in stages, each of which leaves its results in a folder and is done once.

A stage is a task for each of some numbers. A task writes what it found to files, and then, as the
last thing, a small *note* that says so; a task with a note is not done again. So a job goes on
where it was, whoever died: a worker, the scheduler or the program that started it.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.errors import WorkDirError
from graphmargin.distributed.storage import Folder
from graphmargin.estimators.progress import stage

SETTINGS = "run.json"
NOTE = ".note"

Task = Callable[..., Mapping[str, Any]]
"""``task(folder, number, *shared)`` returns the note: a few small arrays."""


@dataclass(frozen=True)
class Run:
    """A job on a cluster, and the folder that holds what is done of it.

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
        """Return the notes of a stage, after its tasks that were not done before.

        Parameters
        ----------
        name : str
            Of the stage, and of the folder within `folder` where its tasks should write.
        task : callable
            See `Task`. What it finds must depend on its arguments alone.
        items : int or sequence
            The number of tasks, or what each of them gets after its number.
        shared
            What all tasks get; small.
        """
        given = [()] * items if isinstance(items, int) else [(item,) for item in items]
        began = time.perf_counter()
        with stage(name, self.verbose) as news:
            folder = self.folder / name
            done = set(folder.names())
            todo = [i for i in range(len(given)) if note_name(i) not in done]
            new = self.cluster.run(
                name,
                _noted,
                [(i, *given[i], *shared) for i in todo],
                task,
                self.folder,
                name,
                progress=news,
            )
            notes = dict(zip(todo, new, strict=True))
            found = [
                notes[i] if i in notes else folder.read(note_name(i)) for i in range(len(given))
            ]
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
        return found

    def once(self, name: str, task: Task, *shared: Any) -> dict[str, AnyArray]:
        """Return the note of a stage of a single task, which a worker does."""
        return self.stage(name, task, 1, *shared)[0]

    def settled(self, name: str, value: Any) -> Any:
        """Return a JSON value as it was when the run came here first.

        What depends on the workers of the day, such as the size of pieces, must not change when a
        run goes on with others.
        """
        if not self.folder.exists(name):
            self.folder.write_json(name, value)
        return self.folder.read_json(name)


def note_name(number: int) -> str:
    """Return the file that says that a task is done."""
    return f"{number:06d}{NOTE}"


def file_name(number: int) -> str:
    """Return the file of the results of a task."""
    return f"{number:06d}.pack"


def _noted(
    arguments: tuple[Any, ...], task: Task, folder: Folder, name: str
) -> dict[str, AnyArray]:
    """Do a task and leave its note."""
    number, *rest = arguments
    note = {key: np.asarray(value) for key, value in task(folder, number, *rest).items()}
    (folder / name).write(note_name(number), note)
    return note


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
        If the folder holds something else. Nothing in it is touched.
    """
    found = folder.names()
    wanted = json.loads(json.dumps(settings))
    if SETTINGS in found:
        before = folder.read_json(SETTINGS)
        changed = [key for key in {**before, **wanted} if before.get(key) != wanted.get(key)]
        if changed:
            key = changed[0]
            msg = (
                f"work_dir {folder.url} holds another run: {key} was {before.get(key)!r} and is "
                f"{wanted.get(key)!r} now; choose another folder, or remove this one"
            )
            raise WorkDirError(msg)
        if not resume:
            msg = (
                f"work_dir {folder.url} holds this run already; go on with resume=True, or choose "
                "another folder"
            )
            raise WorkDirError(msg)
    elif found:
        msg = (
            f"work_dir {folder.url} holds {found[0]!r}, which is no part of a run; choose an empty "
            "folder"
        )
        raise WorkDirError(msg)
    else:
        folder.write_json(SETTINGS, wanted)
    return Run(folder, cluster, verbose)
