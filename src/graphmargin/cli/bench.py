"""``graphmargin bench``: how fast this machine is."""

from __future__ import annotations

from typing import Annotated

import typer

from graphmargin.cli.options import Jobs, Json
from graphmargin.cli.printing import print_json, print_table
from graphmargin.cli.progress import watching

HELP = """Measure speed and accuracy on this machine, beside scikit-learn.

Labels rows of the letter table (26 classes, 10 labels each) by graphmargin and by what
scikit-learn has for it, one after the other.

Examples:

    graphmargin bench
    graphmargin bench --rows 5000 --jobs 1
"""


def bench(
    rows: Annotated[
        int, typer.Option(min=500, max=20_000, metavar="N", help="Rows of the table.")
    ] = 10_000,
    jobs: Jobs = None,
    json: Json = False,
) -> None:
    """Print a line for each system."""
    from graphmargin._progress import announce
    from graphmargin.experiments.this_machine import measure

    with watching(quiet=json) as watch, announce(watch, "systems") as tell:
        found = measure(rows, n_jobs=jobs, progress=tell)
    if json:
        print_json({"rows": rows, "systems": found})
        return
    first = {one.task: one.seconds for one in reversed(found)}
    print_table(
        ["task", "system", "seconds", "times ours", "error"],
        [
            (
                one.task,
                one.system,
                f"{one.seconds:.2f}",
                f"{one.seconds / first[one.task]:.2g}",
                f"{one.error:.1%}",
            )
            for one in found
        ],
    )
