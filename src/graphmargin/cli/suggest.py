"""``graphmargin suggest``: which rows to label next."""

from __future__ import annotations

from typing import Annotated

import typer

from graphmargin.cli.options import Ignore, Jobs, Json, Keep, Quiet, Seed, Table, Target, Unlabeled
from graphmargin.cli.printing import print_json
from graphmargin.cli.progress import show_progress
from graphmargin.cli.rows import Out, check_list, list_row, print_list, write_list

HELP = """Tell which rows to label next, and why.

Every suggestion is the row whose label is expected to save most errors, given that the rows before
it in the list are labeled: rows that stand for many others, in doubt, each in a place of its own.

Examples:

    graphmargin suggest cats.csv --target kind
    graphmargin suggest cats.csv -t kind -n 50 --out next.csv
"""
HEADER = ("row", "label now", "confidence", "errors saved", "why")


def suggest(
    table: Table,
    target: Target,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Number of rows.")] = 20,
    out: Out = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print a row for each suggestion."""
    from graphmargin._progress import announce
    from graphmargin.labeling.labeling_task import label_rows, read_task
    from graphmargin.labeling.suggestions import suggest_rows
    from graphmargin.tables.table_errors import TableError

    check_list(out, table)
    task = read_task(table, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    if task.target.labeled.all():
        msg = f"all {len(task.table):,} rows of {table.name} have a label in {target!r}"
        raise TableError(msg)
    with show_progress(quiet=quiet or json) as listener:
        labeled = label_rows(task, n_jobs=jobs, seed=seed, listener=listener)
        with announce(listener, "suggestions"):
            found = suggest_rows(labeled, n)
    rows = [
        list_row(
            HEADER,
            (one.row, one.label, round(one.confidence, 3), round(one.gain, 3), one.reason),
            one.cells,
        )
        for one in found
    ]
    if out is not None:
        write_list(out, HEADER, rows)
    if json:
        print_json({"suggestions": found})
    elif not quiet:
        print_list(HEADER, rows, "nothing is left to label")
