"""``--dask`` of `label` and `predict`: Parquet files, by the workers of a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from graphmargin._errors import InputError
from graphmargin.cli.files import check_files, write_files
from graphmargin.cli.options import folder_beside
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.distributed.dask_tables import TableRequest
    from graphmargin.distributed.engine.storage import Folder
    from graphmargin.labeling.findings import Findings
    from graphmargin.labeling.prediction import Predicted

EXTRA = ("dask", "distributed")
"""Packages that only clusters need."""
LOGGING = "DASK_LOGGING__DISTRIBUTED"
"""Variable of the environment by which Dask, in all processes, knows what to tell on stderr."""


def check_option_conflicts(given: Mapping[str, object], why: str) -> None:
    """Refuse options that do not go together with another one.

    Examples
    --------
    >>> check_option_conflicts({"--jobs": None, "--resume": False}, "goes with --dask")
    >>> check_option_conflicts({"--jobs": 2}, "is for one machine")
    Traceback (most recent call last):
    typer.exceptions.TyperException: --jobs is for one machine
    """
    for name, value in given.items():
        if value:
            msg = f"{name} {why}"
            raise typer.TyperException(msg)


def label_on_dask(
    table: str,
    target: str,
    *,
    dask: str,
    out: str | None,
    model: Path | None,
    report: Path | None,
    work_dir: str | None,
    resume: bool,
    unlabeled: Sequence[str],
    ignore: Sequence[str],
    keep: Sequence[str],
    seed: int,
    quiet: bool,
) -> tuple[Findings, dict[str, str]]:
    """Label a table, write it, a model and a report; return what to tell, and the files."""
    _prepare()
    from graphmargin._files import all_or_none
    from graphmargin._progress import progress_listener
    from graphmargin.distributed.dask_tables import label_table, open_table, summarize_table
    from graphmargin.distributed.engine.cluster import cluster_at
    from graphmargin.distributed.engine.storage import Folder

    folder = (folder_beside(table, "labeled") if out is None else out).rstrip("/")
    kept = Folder.at(f"{folder}.work" if work_dir is None else work_dir)
    named = {"labeled": folder, "model": model, "report": report}
    files = {name: str(path) for name, path in named.items() if path is not None}
    with _with_resume_hint(kept), ExitStack() as stack:
        request = open_table(
            table,
            target,
            out=folder,
            work_dir=kept.url,
            resume=resume,
            unlabeled=unlabeled,
            ignore=ignore,
            keep=keep,
        )
        for path in (model, report):
            if path is not None:
                _check_file(path, request)
        check_files(model, report)
        watch = stack.enter_context(show_progress(quiet=quiet))
        stack.enter_context(progress_listener(watch))
        cluster = stack.enter_context(cluster_at(dask))
        labeled = label_table(cluster, request, seed=seed)
        found = summarize_table(labeled)
        with all_or_none():  # they become files when the table is there
            write_files(labeled, found, files)
            labeled.write()
    if work_dir is None:
        kept.remove()
    return found, files


def predict_on_dask(
    model: Path, table: str, *, dask: str, out: str | None, quiet: bool
) -> tuple[Predicted, str]:
    """Label new rows; return what to tell, and the folder of the result."""
    _prepare()
    from graphmargin._progress import announce
    from graphmargin.distributed.engine.cluster import cluster_at
    from graphmargin.distributed.engine.storage import Folder
    from graphmargin.distributed.io.output import check_empty, check_not_in_input
    from graphmargin.distributed.io.row_prediction import RowPredictor, predict_parquet
    from graphmargin.labeling.prediction import load_table_model

    place = (folder_beside(table, "predicted") if out is None else out).rstrip("/")
    folder = Folder.at(place)
    check_empty(folder)
    check_not_in_input(folder, table)
    learned = RowPredictor.of_table(load_table_model(model))
    with (
        _with_restart_hint(),
        show_progress(quiet=quiet) as watch,
        cluster_at(dask) as cluster,
        announce(watch, f"rows of {table}") as tell,
    ):
        return predict_parquet(cluster, learned, table, folder, progress=tell), place


def _prepare() -> None:
    """Refuse to work without Dask, and keep its log off the terminal."""
    missing = [package for package in EXTRA if find_spec(package) is None]
    if missing:
        msg = f'--dask needs {", ".join(missing)}; pip install "graphmargin[dask]"'
        raise typer.TyperException(msg)
    # What workers log is said in the end, in a line; who wants more sets the variable.
    os.environ.setdefault(LOGGING, "critical")


def _check_file(file: Path, request: TableRequest) -> None:
    """Refuse a file that cannot be written, is a part of the table, or in the result."""
    from graphmargin._files import check_writable

    check_writable(file, inputs=[Path(file.url) for file in request.source.files])
    if Path(request.out.url) in file.resolve().parents:
        msg = f"{file} is in the folder of the result; choose a place outside of it"
        raise InputError(msg)


@contextmanager
def _with_resume_hint(work_dir: Folder) -> Iterator[None]:
    """Put errors into the words of the command, with what to do once their reason is gone.

    A table that was mended is another one, so that there is nothing to go on with.
    """
    from graphmargin.distributed.cluster_errors import WorkDirError
    from graphmargin.tables.table_errors import TableError

    was_there = bool(work_dir.names())
    try:
        yield
    except (InputError, OSError) as error:
        text = str(error).replace("resume=True", "--resume").replace("work_dir", "--work-dir")
        of_table = isinstance(error, TableError)
        if of_table and not was_there:
            work_dir.remove()
        can_go_on = not (of_table or isinstance(error, WorkDirError)) and work_dir.names()
        if can_go_on and "--resume" not in text:
            text += f"; what is done is kept in {work_dir.url}: go on with --resume"
        raise InputError(text) from error


@contextmanager
def _with_restart_hint() -> Iterator[None]:
    """Put errors of clusters into the words of a command that keeps nothing to go on with."""
    try:
        yield
    except InputError as error:
        text = str(error).replace("go on with resume=True", "start the command again")
        raise InputError(text) from error
