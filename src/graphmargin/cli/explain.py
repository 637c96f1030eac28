"""The command ``graphmargin explain``, which explains the label of a row."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from graphmargin.cli.options import (
    Category,
    ClassWeights,
    Ignore,
    Json,
    Keep,
    MethodOption,
    NJobs,
    Seed,
    Table,
    TargetOption,
    Unlabeled,
    parse_class_weight,
)
from graphmargin.cli.printing import console, line, print_json, print_table, print_warnings
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.labeling.explanation import Influence, RowExplanation

HELP = """Explain the label of a row.

The explanation has the class probabilities, the labeled rows that support the label, with their
shares, the neighbors of the row in the graph, and the labels that would change it. Rows are counted
from 1; with `--id`, a row is found by its value in a column.

Examples:

    graphmargin explain cats.csv --target kind --row 17
    graphmargin explain cats.csv -t kind --row tom --id name
"""
MAX_CLASSES = 5


def explain(
    table: Table,
    target: TargetOption,
    row: Annotated[
        str,
        typer.Option(metavar="ID", help="Number of the row, or its value in the column of --id."),
    ],
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column in which --row is found.")
    ] = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    category: Category = [],  # noqa: B006 - typer copies it
    method: MethodOption = "auto",
    class_weight: ClassWeights = None,
    n_jobs: NJobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print an explanation."""
    from graphmargin.labeling.explanation import explain_row, find_row
    from graphmargin.labeling.labeling_task import read_task
    from graphmargin.labeling.table_labeling import label_rows

    weights = parse_class_weight(class_weight)
    task = read_task(
        table, target, unlabeled=unlabeled, ignore=ignore, keep=keep, category=category
    )
    position = find_row(task, row, id_column)
    with show_progress(quiet=json) as listener:
        labeled = label_rows(
            task,
            method=method,
            class_weight=weights,
            n_jobs=n_jobs,
            seed=seed,
            listener=listener,
        )
    explanation = explain_row(labeled, position)
    if json:
        print_json(explanation)
    else:
        print_warnings(task.warnings)
        _print_explanation(explanation, target)


def _print_explanation(explanation: RowExplanation, target: str) -> None:
    out = console()
    out.print(
        line(
            (f"row {explanation.row:,}", "bold"),
            f": {target} ",
            (repr(explanation.label), "bold"),
            f", {explanation.source}, confidence {explanation.confidence:.3f}",
        )
    )
    for name, value in explanation.cells.items():
        out.print(line((f"  {name}: ", "dim"), value))
    best = list(explanation.probabilities.items())[:MAX_CLASSES]
    shares = ", ".join(f"{name!r} {share:.1%}" for name, share in best)
    out.print(line(f"Classifier: {shares}."))
    out.print(line(_graph_line(explanation)))
    if explanation.labels:
        _print_influences("labeled row", explanation.labels)
    if explanation.neighbors:
        _print_influences("neighbor", explanation.neighbors)
    out.print(line(explanation.counterfactual))


def _graph_line(explanation: RowExplanation) -> str:
    held_out = " with its own label held out" if explanation.source == "given" else ""
    unused = "" if explanation.graph_is_used else " Supervised learning was chosen instead."
    if explanation.graph_label is None:
        return f"Graph: no label reaches this row{held_out}.{unused}"
    return (
        f"Graph: {explanation.graph_label!r}{held_out}, confidence "
        f"{explanation.graph_confidence:.3f}; {explanation.sink_share:.1%} of walks end in the "
        f"sink (gamma_g {explanation.gamma_g:.3g}).{unused}"
    )


def _print_influences(title: str, rows: Sequence[Influence]) -> None:
    header = (title, "label", "source", "share")
    print_table(
        [*header, *rows[0].cells],
        [
            (f"{row.row:,}", row.label, row.source, f"{row.share:.1%}", *row.cells.values())
            for row in rows
        ],
        n_needed=len(header),
    )
