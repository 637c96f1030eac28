"""``graphmargin audit``: given labels that look wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from graphmargin.cli.options import Ignore, Jobs, Json, Keep, Quiet, Seed, Table, Target, Unlabeled
from graphmargin.cli.printing import console, line, print_json
from graphmargin.cli.progress import show_progress
from graphmargin.cli.rows import Out, check_list, list_row, print_list, write_list

HELP = """Find given labels that look wrong.

Every label is held out once; the suspicion is how strongly the others speak for another class,
above 0.5 for all rows in the list. The most suspicious label comes first. Where the graph does not
help to predict held-out labels, it cannot tell, and no label is listed.

Examples:

    graphmargin audit cats.csv --target kind
    graphmargin audit cats.csv -t kind -n 100 --out doubts.csv
"""
HEADER = ("row", "given", "others say", "suspicion")


def audit(
    table: Table,
    target: Target,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Rows, at most.")] = 20,
    out: Out = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print a row for each label that looks wrong."""
    from graphmargin.labeling.label_audit import audit_labels
    from graphmargin.labeling.labeling_task import label_rows, read_task, table_report

    check_list(out, table)
    task = read_task(table, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    with show_progress(quiet=quiet or json) as listener:
        labeled = label_rows(task, n_jobs=jobs, seed=seed, listener=listener)
        report = table_report(labeled, hide_labels=False)
        doubts = audit_labels(labeled, report)
    notes = doubts.notes or ()
    rows = [
        list_row(HEADER, (one.row, one.label, one.other, round(one.score, 3)), one.cells)
        for one in notes[:n]
    ]
    if out is not None:
        write_list(out, HEADER, rows)
    if json:
        print_json(
            {
                "labels": task.n_labels,
                "verdict": report.verdict,
                "doubted": None if doubts.notes is None else len(notes),
                "note": doubts.reason,
                "doubts": notes[:n],
            }
        )
    elif not quiet:
        nothing = f"the others contradict none of the {task.n_labels:,} labels"
        print_list(HEADER, rows, doubts.reason or nothing)
        if len(notes) > n:
            console().print(line(f"and {len(notes) - n:,} more; -n shows more"))
