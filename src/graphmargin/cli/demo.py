"""``graphmargin demo``: a first look, without data of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from graphmargin.cli.label import label
from graphmargin.cli.printing import console, line

HELP = """Try it on a table of handwritten digits.

Writes a CSV file of 5,620 digits, of which 56 have a label, fills in the others, and writes the
labeled table, a model and a report beside it. As all labels are known here, it tells how many are
right.

Examples:

    graphmargin demo
    graphmargin demo --out digits
"""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the files.")] = Path(
        "graphmargin-demo"
    ),
) -> None:
    """Write a table, label it, and compare with the truth."""
    from graphmargin.labeling.demo_table import TARGET, demo_accuracy, demo_table
    from graphmargin.tables.reading import read_table
    from graphmargin.tables.writing import table_writer

    table, full = out / "digits.csv", out / "digits-labeled.csv"
    model, report = out / "digits.graphmargin", out / "digits.html"
    with table_writer(table) as write:
        write(demo_table())
    words = ["graphmargin", "label", table, "--target", TARGET, "--model", model]
    console().print(line(f"$ {shlex.join(map(str, [*words, '--report', report]))}", style="bold"))
    label(str(table), TARGET, out=str(full), model=model, report=report)
    accuracy = demo_accuracy(read_table(full))
    console().print(
        line(f"The truth is known here: {accuracy:.1%} of the filled in labels are right.")
    )
    for name in ("suggest", "audit"):
        words = ["graphmargin", name, table, "--target", TARGET]
        console().print(line(f"next: {shlex.join(map(str, words))}", style="dim"))
