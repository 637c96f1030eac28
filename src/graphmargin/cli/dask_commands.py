"""The option ``--dask`` of `label` and `predict`: Parquet files are labeled on a cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from graphmargin._errors import InputError
from graphmargin.cli.files import check_files, write_model_and_page
from graphmargin.cli.options import default_output_folder
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.distributed.dask_tables import TableRequest
    from graphmargin.distributed.engine.storage import Folder
    from graphmargin.labeling.prediction import PredictionSummary
    from graphmargin.margin.class_weights import ClassWeight
    from graphmargin.report.summary import Summary

REQUIRED_PACKAGES = ("cryptography", "dask", "distributed")
"""Packages that only ``--dask`` imports."""
LOGGING_VARIABLE = "DASK_LOGGING__DISTRIBUTED"
"""Environment variable with the level of Dask's log, in all processes."""


def check_option_conflicts(given: Mapping[str, object], why: str) -> None:
    """Raise an error for the first option with a value, with the reason why it cannot be used.

    Examples
    --------
    >>> check_option_conflicts({"--resume": False}, "needs --dask")
    >>> check_option_conflicts({"--resume": True}, "needs --dask")
    Traceback (most recent call last):
    typer.exceptions.TyperException: --resume needs --dask
    """
    for name, value in given.items():
        if value:
            msg = f"{name} {why}"
            raise typer.TyperException(msg)


def check_unsupported(min_confidence: float, coverage: float | None) -> None:
    """Raise an error for options on confidence, which a cluster does not apply."""
    check_option_conflicts(
        {"--min-confidence": min_confidence, "--sets": coverage},
        "cannot be used with --dask; filter the result by its column of confidences",
    )


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
    category: Sequence[str],
    class_weight: ClassWeight,
    seed: int,
    began: float,
    quiet: bool,
) -> tuple[Summary, dict[str, str]]:
    """Label a table and write all files; return the summary, and the paths of the files."""
    _require_dask()
    from graphmargin._files import all_or_none
    from graphmargin._permissions import made_from
    from graphmargin._progress import progress_listener
    from graphmargin.distributed.dask_tables import label_table, open_table, summarize_table
    from graphmargin.distributed.engine.cluster import cluster_at
    from graphmargin.distributed.engine.run import locked
    from graphmargin.distributed.engine.storage import Folder
    from graphmargin.report.content import Report

    folder = (default_output_folder(table, "labeled") if out is None else out).rstrip("/")
    work_folder = Folder.at(f"{folder}.work" if work_dir is None else work_dir)
    named = {"labeled": folder, "model": model, "report": report}
    files = {name: str(path) for name, path in named.items() if path is not None}
    with _with_resume_hint(work_folder), ExitStack() as stack:
        request = open_table(
            table,
            target,
            out=folder,
            work_dir=work_folder.url,
            resume=resume,
            unlabeled=unlabeled,
            ignore=ignore,
            keep=keep,
            category=category,
        )
        for path in (model, report):
            if path is not None:
                _check_file(path, request)
        check_files({"--model": model, "--report": report})
        listener = stack.enter_context(show_progress(quiet=quiet))
        stack.enter_context(progress_listener(listener))
        cluster = stack.enter_context(cluster_at(dask))
        stack.enter_context(locked(work_folder))
        labeled = label_table(cluster, request, class_weight=class_weight, seed=seed, began=began)
        summary = summarize_table(labeled)
        content = None if report is None else Report(summary=summary)
        inputs = [Path(file.url) for file in request.source.files]
        # The model and the report appear together with the table.
        with made_from(*inputs), all_or_none():
            write_model_and_page(labeled, summary, content, files)
            labeled.write()
    if work_dir is None:
        work_folder.remove()
    return summary, files


def predict_on_dask(
    model: Path, table: str, *, dask: str, out: str | None, quiet: bool
) -> tuple[PredictionSummary, str]:
    """Label new rows; return a summary, and the folder of the result."""
    _require_dask()
    from graphmargin._progress import announce
    from graphmargin.distributed.engine.cluster import cluster_at
    from graphmargin.distributed.engine.storage import Folder
    from graphmargin.distributed.io.output import check_empty, check_not_in_input
    from graphmargin.distributed.io.row_prediction import RowPredictor, predict_parquet
    from graphmargin.labeling.prediction import load_table_model

    path = (default_output_folder(table, "predicted") if out is None else out).rstrip("/")
    folder = Folder.at(path)
    check_empty(folder)
    check_not_in_input(folder, table)
    predictor = RowPredictor.of_table(load_table_model(model))
    with (
        _with_restart_hint(),
        show_progress(quiet=quiet) as listener,
        cluster_at(dask) as cluster,
        announce(listener, f"rows of {table}") as report_progress,
    ):
        return predict_parquet(cluster, predictor, table, folder, progress=report_progress), path


def _require_dask() -> None:
    """Raise an error if Dask is not installed, and keep its log off the terminal."""
    missing = [package for package in REQUIRED_PACKAGES if find_spec(package) is None]
    if missing:
        msg = f'--dask needs the packages {", ".join(missing)}; pip install "graphmargin[dask]"'
        raise typer.TyperException(msg)
    # The command ends with one line about an error; users set the variable to see the log.
    os.environ.setdefault(LOGGING_VARIABLE, "critical")


def _check_file(file: Path, request: TableRequest) -> None:
    """Raise an error for a file that cannot be written, or is part of the table or the result."""
    from graphmargin._files import check_writable

    check_writable(file, inputs=[Path(file.url) for file in request.source.files])
    if Path(request.out.url) in file.resolve().parents:
        msg = f"{file} is in the folder of the result; choose a path outside of it"
        raise InputError(msg)


@contextmanager
def _with_resume_hint(work_dir: Folder) -> Iterator[None]:
    """Rephrase errors for the command line, and say how to continue the run.

    A run cannot be continued after an error in the table, because the corrected table is another
    one.
    """
    from graphmargin.distributed.cluster_errors import WorkDirError
    from graphmargin.tables.table_errors import TableError

    existed = bool(work_dir.names())
    try:
        yield
    except (InputError, OSError) as error:
        text = str(error).replace("resume=True", "--resume").replace("work_dir", "--work-dir")
        is_table_error = isinstance(error, TableError)
        if is_table_error and not existed:
            work_dir.remove()
        can_resume = not (is_table_error or isinstance(error, WorkDirError)) and work_dir.names()
        if can_resume and "--resume" not in text:
            text += f"; the checkpoints are in {work_dir.url}: continue with --resume"
        raise InputError(text) from error


@contextmanager
def _with_restart_hint() -> Iterator[None]:
    """Rephrase errors of clusters for a command without checkpoints."""
    try:
        yield
    except InputError as error:
        text = str(error).replace("continue with resume=True", "start the command again")
        raise InputError(text) from error
