"""The command ``graphmargin suggest``, which lists rows to label next."""

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
from graphmargin.cli.printing import print_json, print_warnings
from graphmargin.cli.progress import show_progress
from graphmargin.cli.row_lists import Out, check_list, list_row, print_list, write_list

HELP = """List the rows to label next.

Each row is the one whose label is expected to avoid the most errors, if all rows above it in the
list have been labeled. So the rows have uncertain labels, are similar to many others, and differ
from each other.

Examples:

    graphmargin suggest cats.csv --target kind
    graphmargin suggest cats.csv -t kind -n 50 --out next.csv
"""
HEADER = ("row", "predicted", "confidence", "errors avoided", "reason")


def suggest(
    table: Table,
    target: TargetOption,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Number of rows.")] = 20,
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
    """Print the suggested rows."""
    from graphmargin._progress import announce
    from graphmargin.labeling.labeling_task import check_has_unlabeled, read_task
    from graphmargin.labeling.table_labeling import label_rows

    weights = parse_class_weight(class_weight)
    check_list(out, table)
    task = read_task(
        table, target, unlabeled=unlabeled, ignore=ignore, keep=keep, category=category
    )
    check_has_unlabeled(task)
    with show_progress(quiet=quiet or json) as listener:
        labeled = label_rows(
            task,
            method=method,
            class_weight=weights,
            n_jobs=n_jobs,
            seed=seed,
            listener=listener,
        )
        with announce(listener, "suggestions"):
            suggestions = labeled.suggest(n)
    rows = [
        list_row(
            HEADER,
            (row.row, row.label, round(row.confidence, 3), round(row.gain, 3), row.reason),
            row.cells,
        )
        for row in suggestions
    ]
    if out is not None:
        write_list(out, table, HEADER, rows)
    if json:
        print_json({"suggestions": suggestions, "warnings": task.warnings})
    elif not quiet:
        print_warnings(task.warnings)
        print_list(HEADER, rows, "There are no rows to suggest.")
