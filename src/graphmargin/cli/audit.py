"""The command ``graphmargin audit``, which lists given labels that look wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from graphmargin.cli.options import (
    Category,
    ClassWeights,
    Ignore,
    Json,
    Keep,
    MethodOption,
    NJobs,
    Quiet,
    Seed,
    Table,
    TargetOption,
    Unlabeled,
    parse_class_weight,
)
from graphmargin.cli.printing import console, line, print_json, print_warnings
from graphmargin.cli.progress import show_progress
from graphmargin.cli.row_lists import Out, check_list, list_row, print_list, write_list

HELP = """List given labels that look wrong.

Every label is held out and predicted by the classifier that would label the table. A label is
listed if it is wrong with a probability above --threshold, the most likely error first. The command
says how many of the listed labels are expected to be right.

Examples:

    graphmargin audit cats.csv --target kind
    graphmargin audit cats.csv -t kind -n 100 --out suspicious.csv
    graphmargin audit cats.csv -t kind --threshold 0.2
"""
HEADER = ("row", "given", "suggested", "probability")


def audit(
    table: Table,
    target: TargetOption,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Largest number of rows.")] = 20,
    threshold: Annotated[
        float,
        typer.Option(
            min=0.0,
            max=0.999,
            metavar="P",
            help="List labels that are wrong with a probability above P.",
        ),
    ] = 0.5,
    out: Out = None,
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
    """Print the rows whose labels look wrong."""
    from graphmargin.labeling.labeling_task import read_task
    from graphmargin.labeling.table_labeling import label_rows

    weights = parse_class_weight(class_weight)
    check_list(out, table)
    task = read_task(
        table, target, unlabeled=unlabeled, ignore=ignore, keep=keep, category=category
    )
    with show_progress(quiet=quiet or json) as listener:
        labeled = label_rows(
            task,
            method=method,
            class_weight=weights,
            n_jobs=n_jobs,
            seed=seed,
            listener=listener,
        )
    audited = labeled.label_errors(threshold)
    notes = audited.notes or ()
    rows = [
        list_row(HEADER, (note.row, note.label, note.other, round(note.score, 3)), note.cells)
        for note in notes[:n]
    ]
    if out is not None:
        write_list(out, table, HEADER, rows)
    if json:
        print_json(
            {
                "labels": task.n_labels,
                "checked": audited.n_checked,
                "threshold": threshold,
                "n_suspicious": None if audited.notes is None else len(notes),
                "expected_false_alarms": audited.expected_false_alarms,
                "summary": audited.summary,
                "suspicious_labels": notes[:n],
                "warnings": task.warnings,
            }
        )
    elif not quiet:
        print_warnings(task.warnings)
        if rows:
            console().print(line(audited.summary))
        print_list(HEADER, rows, audited.summary)
        if len(notes) > n:
            console().print(line(f"and {len(notes) - n:,} more; -n {len(notes)} lists all"))
