"""Lists of rows: printed, and written as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer
from rich.text import Text

from graphmargin.cli.printing import console, print_table

Out: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write the list as a table, too.")
]


def check_list(out: Path | None, table: Path) -> None:
    """Refuse a file that cannot be written before the work begins."""
    from graphmargin.tables.writing import check_output

    if out is not None:
        check_output(out, inputs=[table])


def write_list(out: Path, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write rows as a table."""
    import pandas as pd

    from graphmargin.tables.writing import table_writer

    with table_writer(out) as write:
        write(pd.DataFrame(rows))


def print_list(rows: Sequence[Mapping[str, Any]], nothing: str) -> None:
    """Print rows as a table, or a sentence if there is none."""
    if not rows:
        console().print(Text(nothing))
        return
    print_table(list(rows[0]), [[str(value) for value in row.values()] for row in rows])
