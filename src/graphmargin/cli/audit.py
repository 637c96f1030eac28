"""The command ``graphmargin audit``, which lists given labels that look wrong."""

from __future__ import annotations

from typing import Annotated

import typer

from graphmargin.cli.options import (
    ClassWeights,
    Ignore,
    Json,
    Keep,
    NJobs,
    Quiet,
    Seed,
    Table,
    Target,
    Unlabeled,
    parse_class_weight,
)
from graphmargin.cli.printing import console, line, print_json
from graphmargin.cli.progress import show_progress
from graphmargin.cli.row_lists import Out, check_list, list_row, print_list, write_list

HELP = """List given labels that look wrong.

Every label is held out once, and the suspicion is how strongly the other labels suggest another
class. The most suspicious label comes first; labels with a suspicion of 0.5 or less are not listed.
If the graph does not help to predict held-out labels, no label is listed.

Examples:

    graphmargin audit cats.csv --target kind
    graphmargin audit cats.csv -t kind -n 100 --out suspicious.csv
"""
HEADER = ("row", "given", "suggested", "suspicion")


def audit(
    table: Table,
    target: Target,
    n: Annotated[int, typer.Option("-n", min=1, metavar="N", help="Largest number of rows.")] = 20,
    out: Out = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    class_weight: ClassWeights = None,
    n_jobs: NJobs = None,
    seed: Seed = 0,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Print the rows whose labels look wrong."""
    from graphmargin.labeling.label_audit import audit_labels
    from graphmargin.labeling.labeling_task import label_rows, read_task, table_report

    weights = parse_class_weight(class_weight)
    check_list(out, table)
    task = read_task(table, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    with show_progress(quiet=quiet or json) as listener:
        labeled = label_rows(
            task, class_weight=weights, n_jobs=n_jobs, seed=seed, listener=listener
        )
        report = table_report(labeled, hold_out_labels=False)
        audited = audit_labels(labeled, report)
    notes = audited.notes or ()
    rows = [
        list_row(HEADER, (note.row, note.label, note.other, round(note.score, 3)), note.cells)
        for note in notes[:n]
    ]
    if out is not None:
        write_list(out, HEADER, rows)
    if json:
        print_json(
            {
                "labels": task.n_labels,
                "verdict": report.verdict,
                "n_suspicious": None if audited.notes is None else len(notes),
                "note": audited.reason,
                "suspicious_labels": notes[:n],
            }
        )
    elif not quiet:
        no_rows = f"None of the {task.n_labels:,} given labels looks wrong."
        print_list(HEADER, rows, audited.reason or no_rows)
        if len(notes) > n:
            console().print(line(f"and {len(notes) - n:,} more; -n {len(notes)} lists all"))
