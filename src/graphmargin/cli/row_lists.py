"""Lists of rows, which `suggest` and `audit` print and write."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from graphmargin.cli.files import check_files
from graphmargin.cli.printing import console, line, print_table

Out: TypeAlias = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Also write the list as a table.")
]


def check_list(out: Path | None, table: Path) -> None:
    """Raise an error before the work begins if the file cannot be written."""
    from graphmargin.tables.file_formats import format_of

    if out is not None:
        format_of(out)
        check_files({"--out": out}, inputs=[table])


def list_row(
    header: Sequence[str], values: Sequence[Any], cells: Mapping[str, str]
) -> dict[str, Any]:
    """Return a row of a list: its values, then its cells, renamed if the header has their name.

    Examples
    --------
    >>> list_row(["row", "why"], [7, "unsure"], {"row": "a1", "size": "1.5"})
    {'row': 7, 'why': 'unsure', 'row (cell)': 'a1', 'size': '1.5'}
    """
    named = {f"{name} (cell)" if name in header else name: cell for name, cell in cells.items()}
    return {**dict(zip(header, values, strict=True)), **named}


def write_list(
    out: Path, table: Path, header: Sequence[str], rows: Sequence[Mapping[str, Any]]
) -> None:
    """Write rows of a table as another table; without rows, it has a header only."""
    import pandas as pd

    from graphmargin._permissions import made_from
    from graphmargin.tables.writing import table_writer

    with made_from(table), table_writer(out) as write:
        write(pd.DataFrame(rows, columns=None if rows else list(header)))


def print_list(header: Sequence[str], rows: Sequence[Mapping[str, Any]], no_rows: str) -> None:
    """Print rows as a table, numbers with three digits, or a sentence if there are none."""
    if not rows:
        console().print(line(no_rows))
        return
    texts = [[_text(value) for value in row.values()] for row in rows]
    print_table(list(rows[0]), texts, n_needed=len(header))


def _text(value: Any) -> str:
    return f"{value:.3f}" if isinstance(value, float) else str(value)
