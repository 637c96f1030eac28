"""Arguments and options that commands share, and the defaults of files that they write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

FORMATS = "CSV, TSV, Parquet, Excel, JSON lines or npz"

Table: TypeAlias = Annotated[
    Path, typer.Argument(metavar="TABLE", exists=True, dir_okay=False, help=f"{FORMATS}.")
]
Target: TypeAlias = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="Column of the labels.")
]
Unlabeled: TypeAlias = Annotated[
    list[str],
    typer.Option(
        metavar="VALUE", help="Value that means no label, beside empty cells; can be repeated."
    ),
]
Ignore: TypeAlias = Annotated[
    list[str],
    typer.Option(metavar="COLUMN", help="Column that is no feature; can be repeated."),
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Threads; by default, one a core.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, metavar="N", help="Seed of folds and samples.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def beside(table: Path, what: str) -> Path:
    """Return the file of a result beside the table that it is made from.

    Examples
    --------
    >>> beside(Path("data/cats.csv.gz"), "labeled").as_posix()
    'data/cats-labeled.csv.gz'
    """
    stem = table.name.partition(".")[0]
    return table.with_name(f"{stem}-{what}{table.name[len(stem) :]}")
