"""``graphmargin label`` and ``graphmargin fit``: from a few labels to all of them, and a model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from graphmargin.cli.dask_commands import check_option_conflicts, label_on_dask
from graphmargin.cli.files import check_files, write_files
from graphmargin.cli.options import (
    Dask,
    Ignore,
    Jobs,
    Json,
    Keep,
    OutOrFolder,
    Quiet,
    Seed,
    Table,
    TableOrUrl,
    Target,
    Unlabeled,
    beside,
)
from graphmargin.cli.printing import print_json, print_summary
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.labeling.findings import Findings
    from graphmargin.labeling.labeling_task import LabeledTable, LabelingTask

LABEL_HELP = """Fill in the missing labels of a table.

A few rows have a label in the column that `--target` names; the result has one in every row, with
two new columns: the confidence, from 0 to 1, and the source of each label. *given* was in the
table, *induced* was found by the graph and the classifier agrees, *model* is by the classifier
alone. All parameters are chosen, in a way that is safe where the graph does not help. The table
itself is never touched.

With `--dask`, workers of a cluster label tables that no machine can hold, from Parquet to Parquet.

Examples:

    graphmargin label cats.csv --target kind
    graphmargin label cats.parquet -t kind --out full.parquet --report cats.html
    graphmargin label cats.csv -t kind --unlabeled "?" --ignore photo --model cats.graphmargin
    graphmargin label s3://pets/cats -t kind --dask tcp://10.0.0.1:8786
"""
FIT_HELP = """Learn a model for new rows from a partly labeled table.

The same as `label`, but the table is not written: `graphmargin predict` labels others with the
model.

Examples:

    graphmargin fit cats.csv --target kind --model cats.graphmargin
    graphmargin fit cats.csv -t kind --model cats.graphmargin --report cats.html
"""
REPORT_ONLY = frozenset(
    ("graph_lines", "path", "histogram", "map", "least_certain", "suspicious_labels", "certificate")
)
"""Fields of the findings that only a report shows."""

Report = Annotated[
    Path | None, typer.Option(metavar="FILE.html", help="Write a page with all that was found.")
]


def label(
    table: TableOrUrl,
    target: Target,
    out: OutOrFolder = None,
    model: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a model for `graphmargin predict`.")
    ] = None,
    report: Report = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    jobs: Jobs = None,
    seed: Seed = 0,
    dask: Dask = None,
    work_dir: Annotated[
        str | None,
        typer.Option(
            metavar="FOLDER",
            help="With --dask: what is kept between stages, where all workers see it; by default, "
            "beside the result, and removed in the end.",
        ),
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="With --dask: go on where the same command stopped.")
    ] = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the labeled table, and what else is asked for."""
    if dask is not None:
        check_option_conflicts(
            {"--jobs": jobs}, "is for one machine: a cluster has its own threads"
        )
        found, files = label_on_dask(
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
            seed=seed,
            quiet=quiet or json,
        )
        _tell(found, files, json=json, quiet=quiet)
        return
    check_option_conflicts({"--work-dir": work_dir, "--resume": resume}, "goes with --dask")
    from graphmargin.labeling.labeling_task import check_has_unlabeled, check_new_columns, read_task
    from graphmargin.tables.writing import check_output

    source = Path(table)
    labeled_file = beside(source, "labeled") if out is None else Path(out)
    check_output(labeled_file, inputs=[source])
    check_files(source, labeled_file, model, report)
    task = read_task(source, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    check_new_columns(task)
    check_has_unlabeled(task)
    labeled, findings = _labeled(task, jobs, seed, report, quiet=quiet or json)
    files = _write_files(labeled, findings, source, labeled_file, model, report)
    _tell(findings, files, json=json, quiet=quiet)


def fit(
    table: Table,
    target: Target,
    model: Annotated[Path, typer.Option(metavar="FILE", help="The model.")],
    report: Report = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write a model."""
    from graphmargin.labeling.labeling_task import read_task

    check_files(table, model, report)
    task = read_task(table, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    labeled, findings = _labeled(task, jobs, seed, report, quiet=quiet or json)
    files = _write_files(labeled, findings, table, None, model, report)
    _tell(findings, files, json=json, quiet=quiet)


def _labeled(
    task: LabelingTask, jobs: int | None, seed: int, report: Path | None, *, quiet: bool
) -> tuple[LabeledTable, Findings]:
    from graphmargin._progress import announce
    from graphmargin.labeling.inspection import full_findings, summarize
    from graphmargin.labeling.labeling_task import label_rows

    with show_progress(quiet=quiet) as listener:
        labeled = label_rows(task, n_jobs=jobs, seed=seed, listener=listener)
        if report is None:
            return labeled, summarize(labeled)
        with announce(listener, "report"):
            return labeled, full_findings(labeled)


def _write_files(
    labeled: LabeledTable,
    findings: Findings,
    source: Path,
    out: Path | None,
    model: Path | None,
    report: Path | None,
) -> dict[str, str]:
    """Write the files that are asked for, all or none of them; return where they are."""
    from graphmargin._files import all_or_none

    named = {"labeled": out, "model": model, "report": report}
    files = {name: str(path) for name, path in named.items() if path is not None}
    with all_or_none():
        write_files(labeled, findings, files)
        if out is not None:
            from graphmargin.tables.writing import table_writer

            with table_writer(out, like=source) as write:
                write(labeled.table)
    return files


def _tell(findings: Findings, files: dict[str, str], *, json: bool, quiet: bool) -> None:
    if json:
        print_json({"files": files, **_summary(findings)})
    elif not quiet:
        print_summary(findings, files)


def _summary(findings: Findings) -> dict[str, Any]:
    """Return findings without what only a report shows."""
    return {k: value for k, value in asdict(findings).items() if k not in REPORT_ONLY}
