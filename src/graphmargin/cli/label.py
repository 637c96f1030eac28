"""The commands ``graphmargin label`` and ``graphmargin fit``."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmargin._files import all_or_none, default_output
from graphmargin._permissions import made_from
from graphmargin.cli.dask_commands import (
    check_option_conflicts,
    check_unsupported,
    label_on_dask,
)
from graphmargin.cli.files import check_files, write_model_and_page
from graphmargin.cli.options import (
    Category,
    ClassWeights,
    Dask,
    Ignore,
    Json,
    Keep,
    MethodOption,
    MinConfidence,
    NJobs,
    OutOrFolder,
    Quiet,
    Seed,
    Sets,
    Table,
    TableOrUrl,
    TargetOption,
    Unlabeled,
    parse_class_weight,
)
from graphmargin.cli.printing import console, line, print_json, print_summary
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.labeling.labeled_table import LabeledTable
    from graphmargin.labeling.labeling_task import LabelingTask
    from graphmargin.margin.class_weights import ClassWeight
    from graphmargin.report.content import Report
    from graphmargin.report.summary import Summary

LABEL_HELP = """Predict the missing labels of a table.

A few rows have a label in the column `--target`. The result has a label in every row, and two new
columns: the confidence of each label, which is the probability that it is right, and its
source, *given* or *predicted*. All parameters, such as the influence of the graph, are chosen on
held-out labels. The table itself is not changed.

With `--min-confidence`, rows with a smaller confidence get no label. With `--sets`, a third column
has the prediction set of each row, all classes that it may have.

With `--dask`, the workers of a cluster label a table that need not fit into the memory of a
machine. They read and write Parquet files.

Examples:

    graphmargin label cats.csv --target kind
    graphmargin label cats.parquet -t kind --out full.parquet --report cats.html
    graphmargin label cats.csv -t kind --unlabeled "?" --ignore photo --model cats.graphmargin
    graphmargin label cats.csv -t kind --min-confidence 0.95 --sets 0.9
    graphmargin label cats.csv -t kind --class-weight balanced
    graphmargin label cats.csv -t kind --method cut
    graphmargin label cats.csv -t kind --journal cats.csv.studio.jsonl
    graphmargin label s3://pets/cats -t kind --dask tcp://10.0.0.1:8786
"""
FIT_HELP = """Learn a model for new rows from a partly labeled table.

The command does the same as `label`, but writes the model only. `graphmargin predict` labels other
tables with it.

Examples:

    graphmargin fit cats.csv --target kind --model cats.graphmargin
    graphmargin fit cats.csv -t kind --model cats.graphmargin --report cats.html
"""

ReportFile = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Write an HTML page on the result.")
]


def label(
    table: TableOrUrl,
    target: TargetOption,
    out: OutOrFolder = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a model for `graphmargin predict`.")
    ] = None,
    report: ReportFile = None,
    journal: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            help="Apply the labels of a journal that `graphmargin studio` wrote.",
        ),
    ] = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    category: Category = [],  # noqa: B006 - typer copies it
    min_confidence: MinConfidence = 0.0,
    sets: Sets = None,
    method: MethodOption = "auto",
    class_weight: ClassWeights = None,
    n_jobs: NJobs = None,
    seed: Seed = 0,
    dask: Dask = None,
    work_dir: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="With --dask: folder for checkpoints, which all workers can reach. By default, "
            "it is next to the result and is removed at the end.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --dask: continue an interrupted command.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the labeled table and, if requested, a model and a report."""
    began = time.perf_counter()
    weights = parse_class_weight(class_weight)
    if dask is not None:
        check_option_conflicts(
            {"--jobs": n_jobs}, "cannot be used with --dask: the workers have their own threads"
        )
        check_option_conflicts({"--journal": journal}, "cannot be used with --dask")
        if method not in ("auto", "cut"):
            msg = "with --dask, the method is 'cut'."
            raise typer.BadParameter(msg, param_hint="--method")
        check_unsupported(min_confidence, sets)
        summary, files = label_on_dask(
            table,
            target,
            dask=dask,
            out=out,
            model=model,
            report=report,
            work_dir=work_dir,
            resume=resume,
            unlabeled=unlabeled,
            ignore=ignore,
            keep=keep,
            category=category,
            class_weight=weights,
            seed=seed,
            began=began,
            quiet=quiet or json,
        )
        _print_result(summary, files, json=json, quiet=quiet)
        return
    check_option_conflicts({"--work-dir": work_dir, "--resume": resume}, "needs --dask")
    from graphmargin.labeling.labeling_task import check_has_unlabeled, check_new_columns, read_task
    from graphmargin.tables.file_formats import format_of
    from graphmargin.tables.format_limits import check_storable
    from graphmargin.tables.writing import table_writer

    source = Path(table)
    labeled_file = default_output(source, "labeled") if out is None else Path(out)
    for path in (source, labeled_file):
        format_of(path)
    check_files({"--out": labeled_file, "--model": model, "--report": report}, inputs=[source])
    task = read_task(
        *(source, target),
        unlabeled=unlabeled,
        ignore=ignore,
        keep=keep,
        category=category,
        min_classes=2 if journal is None else 0,
    )
    if journal is not None:
        task = _apply_journal(task, journal, quiet=quiet or json)
    check_new_columns(task, sets)
    check_has_unlabeled(task)
    check_storable(task.table, labeled_file)
    labeled, summary, content = _label_task(
        task,
        method,
        weights,
        n_jobs,
        seed,
        report,
        began=began,
        quiet=quiet or json,
        min_confidence=min_confidence,
        coverage=sets,
    )
    named = {"labeled": labeled_file, "model": model, "report": report}
    files = {name: str(path) for name, path in named.items() if path is not None}
    inputs = [source] if journal is None else [source, journal]
    with made_from(*inputs), all_or_none():
        write_model_and_page(labeled, summary, content, files)
        with table_writer(labeled_file, like=source) as write:
            write(labeled.table)
    _print_result(summary, files, json=json, quiet=quiet)


def _apply_journal(task: LabelingTask, journal: Path, *, quiet: bool) -> LabelingTask:
    """Return the task with the labels of a journal of the studio, and print notes on it."""
    from graphmargin.labeling.labeling_task import relabel
    from graphmargin.studio.journal import session_from_journal
    from graphmargin.studio.session import label_names

    session, notes = session_from_journal(journal, task)
    if not quiet:
        for note in notes:
            console().print(line(note, style="yellow"))
    return relabel(task, label_names(session))


def fit(
    table: Table,
    target: TargetOption,
    model: Annotated[Path, typer.Option(metavar="FILE", help="Where to write the model.")],
    report: ReportFile = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    category: Category = [],  # noqa: B006 - typer copies it
    method: MethodOption = "auto",
    class_weight: ClassWeights = None,
    n_jobs: NJobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model and, if requested, a report."""
    began = time.perf_counter()
    from graphmargin.labeling.labeling_task import read_task

    weights = parse_class_weight(class_weight)
    check_files({"--model": model, "--report": report}, inputs=[table])
    task = read_task(
        table, target, unlabeled=unlabeled, ignore=ignore, keep=keep, category=category
    )
    labeled, summary, content = _label_task(
        task, method, weights, n_jobs, seed, report, began=began, quiet=quiet or json
    )
    files = {"model": str(model)} | ({} if report is None else {"report": str(report)})
    with made_from(table), all_or_none():
        write_model_and_page(labeled, summary, content, files)
    _print_result(summary, files, json=json, quiet=quiet)


def _label_task(
    task: LabelingTask,
    method: str,
    class_weight: ClassWeight,
    n_jobs: int | None,
    seed: int,
    report: Path | None,
    *,
    began: float,
    quiet: bool,
    min_confidence: float = 0.0,
    coverage: float | None = None,
) -> tuple[LabeledTable, Summary, Report | None]:
    """Return the labeled table, its summary and, if a file for it is named, its report."""
    from graphmargin._progress import announce
    from graphmargin.labeling.table_labeling import label_rows

    with show_progress(quiet=quiet) as listener:
        labeled = label_rows(
            task,
            method=method,
            min_confidence=min_confidence,
            coverage=coverage,
            class_weight=class_weight,
            n_jobs=n_jobs,
            seed=seed,
            listener=listener,
            began=began,
        )
        if report is None:
            return labeled, labeled.summary, None
        with announce(listener, "report"):
            content = labeled.content
        return labeled, content.summary, content


def _print_result(summary: Summary, files: dict[str, str], *, json: bool, quiet: bool) -> None:
    if json:
        print_json({"files": files, **asdict(summary)})
    elif not quiet:
        print_summary(summary, files)
