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
from graphmargin.cli.options import folder_beside
from graphmargin.cli.progress import PATIENCE, watching

if TYPE_CHECKING:
    from graphmargin.distributed.storage import Folder
    from graphmargin.distributed.tables import TableFindings, TableJob
    from graphmargin.labeling.prediction import Predicted

EXTRA = ("dask", "distributed")
"""Packages that only clusters need."""
LOGGING = "DASK_LOGGING__DISTRIBUTED"
"""Variable of the environment by which Dask, in all processes, knows what to tell on stderr."""


def refuse_options(given: Mapping[str, object], why: str) -> None:
    """Refuse options that do not go together with another one.

    Examples
    --------
    >>> refuse_options({"--jobs": None, "--resume": False}, "goes with --dask")
    >>> refuse_options({"--jobs": 2}, "is for one machine")
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
    work_dir: str | None,
    resume: bool,
    unlabeled: Sequence[str],
    ignore: Sequence[str],
    keep: Sequence[str],
    seed: int,
    quiet: bool,
) -> tuple[TableFindings, dict[str, str]]:
    """Label a table, write it and a model, both or none; return what to tell, and the files."""
    _prepare()
    from graphmargin._files import replacing
    from graphmargin._progress import progress_listener
    from graphmargin.distributed.cluster import cluster_at
    from graphmargin.distributed.storage import Folder
    from graphmargin.distributed.tables import label_table, open_table, summarize_table
    from graphmargin.models import save_model

    folder = (folder_beside(table, "labeled") if out is None else out).rstrip("/")
    kept = Folder.at(f"{folder}.work" if work_dir is None else work_dir)
    with _telling_how_to_go_on(kept), ExitStack() as stack:
        asked = open_table(
            table,
            target,
            out=folder,
            work_dir=kept.url,
            resume=resume,
            unlabeled=unlabeled,
            ignore=ignore,
            keep=keep,
        )
        if model is not None:
            _check_model(model, asked)
        watch = stack.enter_context(watching(quiet=quiet, patience=PATIENCE))
        stack.enter_context(progress_listener(watch))
        cluster = stack.enter_context(cluster_at(dask))
        labeled = label_table(cluster, asked, seed=seed)
        found = summarize_table(labeled)
        if model is not None:
            # The draft becomes a file at the end of the block, when the table is there.
            draft = stack.enter_context(replacing(model))
            save_model(labeled.model(**found.details), draft)
        labeled.write()
    if work_dir is None:
        kept.remove()
    return found, {"labeled": folder, **({} if model is None else {"model": str(model)})}


def predict_on_dask(
    model: Path, table: str, *, dask: str, out: str | None, quiet: bool
) -> tuple[Predicted, str]:
    """Label new rows; return what to tell, and the folder of the result."""
    _prepare()
    from graphmargin._progress import announce
    from graphmargin.distributed.cluster import cluster_at
    from graphmargin.distributed.output import check_new, check_outside
    from graphmargin.distributed.prediction import LabelerOfTables, predict_parquet
    from graphmargin.distributed.storage import Folder
    from graphmargin.labeling.prediction import load_table_model

    place = (folder_beside(table, "predicted") if out is None else out).rstrip("/")
    folder = Folder.at(place)
    check_new(folder)
    check_outside(folder, table)
    learned = LabelerOfTables(load_table_model(model))
    with (
        _telling_to_start_again(),
        watching(quiet=quiet, patience=PATIENCE) as watch,
        cluster_at(dask) as cluster,
        announce(watch, f"rows of {table}") as tell,
    ):
        return predict_parquet(cluster, learned, table, folder, progress=tell), place


def sample_in_words(found: TableFindings) -> list[tuple[str, str]]:
    """Return the lines that a summary has with a cluster alone."""
    parts = "1 part" if found.n_parts == 1 else f"{found.n_parts:,} parts"
    return [
        (
            "samples",
            f"features learned from {found.sampled_rows:,} rows; chosen on "
            f"{found.tried_labeled:,} labels and {found.tried_unlabeled:,} other rows",
        ),
        ("parts", f"{parts} of the graph, with {found.graph_recall:.1%} of the true neighbors"),
    ]


def _prepare() -> None:
    """Refuse to work without Dask, and keep its log off the terminal."""
    missing = [package for package in EXTRA if find_spec(package) is None]
    if missing:
        msg = f'--dask needs {", ".join(missing)}; pip install "graphmargin[dask]"'
        raise typer.TyperException(msg)
    # What workers log is said in the end, in a line; who wants more sets the variable.
    os.environ.setdefault(LOGGING, "critical")


def _check_model(model: Path, asked: TableJob) -> None:
    """Refuse a model that cannot be written, is a part of the table, or in the result."""
    from graphmargin._files import check_writable

    check_writable(model, inputs=[Path(file.url) for file in asked.source.files])
    if Path(asked.out.url) in model.resolve().parents:
        msg = f"{model} is in the folder of the result; choose a place outside of it"
        raise InputError(msg)


@contextmanager
def _telling_how_to_go_on(work_dir: Folder) -> Iterator[None]:
    """Put errors into the words of the command, with what to do once their reason is gone.

    A table that was mended is another one, so that there is nothing to go on with.
    """
    from graphmargin.distributed.errors import WorkDirError
    from graphmargin.tables.errors import TableError

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
def _telling_to_start_again() -> Iterator[None]:
    """Put errors of clusters into the words of a command that keeps nothing to go on with."""
    try:
        yield
    except InputError as error:
        text = str(error).replace("go on with resume=True", "start the command again")
        raise InputError(text) from error
