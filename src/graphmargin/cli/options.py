"""Arguments and options that commands share, and the defaults of files that they write."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

FORMATS = "CSV, TSV, Parquet, Excel, JSON lines or npz"


def check_regular(path: Path) -> Path:
    """Refuse an input that exists and is no regular file: a FIFO would block without a word."""
    if path.exists() and not path.is_file():
        msg = f"file {str(path)!r} is no regular file."
        raise typer.BadParameter(msg)
    return path


Table: TypeAlias = Annotated[
    Path,
    typer.Argument(
        metavar="TABLE",
        exists=True,
        dir_okay=False,
        callback=check_regular,
        help=f"{FORMATS}.",
    ),
]
Dask: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        is_eager=True,  # as it tells what TABLE may be
        help="Use a Dask cluster: the address of its scheduler, or the cores of this machine.",
    ),
]


def _check_file(context: typer.Context, table: str) -> str:
    """Refuse what is no file, as `Table` does; with --dask, TABLE may be something else."""
    if context.params.get("dask") is None:
        path = Path(table)
        if not path.exists():
            msg = f"file {table!r} does not exist."
            raise typer.BadParameter(msg)
        if path.is_dir():
            msg = f"file {table!r} is a directory."
            raise typer.BadParameter(msg)
        if not os.access(path, os.R_OK):
            msg = f"file {table!r} is not readable."
            raise typer.BadParameter(msg)
        check_regular(path)
    return table


TableOrUrl: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        callback=_check_file,
        help=f"{FORMATS}; with --dask a file, folder, pattern or URL of Parquet.",
    ),
]
OutOrFolder: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The labeled table; by default, beside TABLE. With --dask, a new folder.",
    ),
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
Keep: TypeAlias = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN",
        help="Column that is a feature although it looks like an ID; can be repeated.",
    ),
]
Jobs: TypeAlias = Annotated[
    int | None, typer.Option(min=1, metavar="N", help="Threads; by default, one a core.")
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of folds and samples.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")]


def beside(table: Path, what: str) -> Path:
    """Return the file of a result beside the table that it is made from.

    Examples
    --------
    >>> beside(Path("data/cats.csv.gz"), "labeled").as_posix()
    'data/cats-labeled.csv.gz'
    >>> beside(Path(".cats.csv"), "labeled").as_posix()
    '.cats-labeled.csv'
    """
    stem = _stem(table.name)
    ending = table.name[len(stem) :]
    # npz files are read, not written.
    ending = ".parquet" if ending.lower() == ".npz" else ending
    return table.with_name(f"{stem}-{what}{ending}")


def _stem(name: str) -> str:
    """Return the name without its endings; the dot of a hidden file is none."""
    bare = name.lstrip(".")
    return name[: len(name) - len(bare)] + bare.partition(".")[0]


def folder_beside(place: str, what: str) -> str:
    """Return the folder of a result beside the Parquet files that it is made from.

    Examples
    --------
    >>> folder_beside("s3://pets/cats.parquet", "labeled"), folder_beside("data/cats/", "labeled")
    ('s3://pets/cats-labeled', 'data/cats-labeled')
    """
    folder, slash, name = place.rstrip("/").rpartition("/")
    stem = _stem(name)
    if not stem.strip(".") or folder.endswith(":/") or any(sign in place for sign in "*?["):
        msg = f"{place} has no name for a folder beside it; name the folder of the result by --out"
        raise typer.BadParameter(msg, param_hint="--out")
    return f"{folder}{slash}{stem}-{what}"
