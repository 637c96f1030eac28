"""The command ``graphmargin demo``, which labels an example table."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from graphmargin.cli.label import label
from graphmargin.cli.printing import console, line

HELP = """Label an example table of handwritten digits.

The table is a CSV file of 5,620 digits, of which 56 have a label. The command predicts all other
labels, and writes the labeled table, a model and a report into the same folder. As the true labels
of the digits are known, it prints the accuracy.

Examples:

    graphmargin demo
    graphmargin demo --out digits
"""


def demo(
    out: Annotated[Path, typer.Option(metavar="DIR", help="Folder for the files.")] = Path(
        "graphmargin-demo"
    ),
) -> None:
    """Write a table, label it, and print the accuracy."""
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
        line(f"The true digits are known: {accuracy:.1%} of the predicted labels are right.")
    )
    for name in ("suggest", "audit"):
        words = ["graphmargin", name, table, "--target", TARGET]
        console().print(line(f"next: {shlex.join(map(str, words))}", style="dim"))
