"""``graphmargin explain``: why a row has its label."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from graphmargin.cli.options import Ignore, Jobs, Json, Keep, Seed, Table, Target, Unlabeled
from graphmargin.cli.printing import console, line, print_json, print_table
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.labeling.explanation import Influence, RowExplanation

HELP = """Tell why a row has its label.

Shows the labeled rows that its label comes from, with their shares, its neighbors in the graph, how
sure the label is, and what would change it. Rows are counted from 1; `--id` finds them by their
value in a column.

Examples:

    graphmargin explain cats.csv --target kind --row 17
    graphmargin explain cats.csv -t kind --row tom --id name
"""
MOST_CLASSES = 5


def explain(
    table: Table,
    target: Target,
    row: Annotated[str, typer.Option(metavar="ID", help="Number of the row, or its value.")],
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column in which ID is looked up.")
    ] = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    jobs: Jobs = None,
    seed: Seed = 0,
    json: Json = False,
) -> None:
    """Print an explanation."""
    from graphmargin.labeling.explanation import explain_row, find_row
    from graphmargin.labeling.labeling_task import label_rows, read_task

    task = read_task(table, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    place = find_row(task, row, id_column)
    with show_progress(quiet=json) as listener:
        labeled = label_rows(task, n_jobs=jobs, seed=seed, listener=listener)
    found = explain_row(labeled, place)
    if json:
        print_json(found)
    else:
        _show(found, target)


def _show(found: RowExplanation, target: str) -> None:
    out = console()
    out.print(
        line(
            (f"row {found.row:,}", "bold"),
            f": {target} ",
            (repr(found.label), "bold"),
            f", {found.source}, confidence {found.confidence:.3f}",
        )
    )
    for name, value in found.cells.items():
        out.print(line((f"  {name}: ", "dim"), value))
    best = list(found.probabilities.items())[:MOST_CLASSES]
    shares = ", ".join(f"{name!r} {share:.1%}" for name, share in best)
    out.print(line(f"The classifier: {shares}."))
    out.print(line(_of_the_graph(found)))
    if found.labels:
        _show_rows("labels behind it", found.labels)
    if found.neighbors:
        _show_rows("neighbors", found.neighbors)
    out.print(line(found.change))


def _of_the_graph(found: RowExplanation) -> str:
    hidden = ", its own label being held out" if found.source == "given" else ""
    unused = "" if found.graph_is_used else " It was not used: supervised learning was chosen."
    if found.graph_label is None:
        return f"The graph: no label reaches this row{hidden}.{unused}"
    return (
        f"The graph: {found.graph_label!r}{hidden}, confidence {found.graph_confidence:.3f}; "
        f"{found.sink_share:.1%} of walks end in the sink (gamma_g {found.gamma_g:.3g}).{unused}"
    )


def _show_rows(title: str, rows: Sequence[Influence]) -> None:
    header = (title, "label", "source", "share")
    print_table(
        [*header, *rows[0].cells],
        [
            (f"{one.row:,}", one.label, one.source, f"{one.share:.1%}", *one.cells.values())
            for one in rows
        ],
        n_needed=len(header),
    )
