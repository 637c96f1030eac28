"""Arguments and options that commands share."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Annotated, Any, TypeAlias

import typer

from graphmargin._files import file_stem

FORMATS = "CSV, TSV, Parquet, Excel or JSON lines"


OPTIONS = {
    "category": "--category",
    "class_weight": "--class-weight",
    "coverage": "--sets",
    "ignore": "--ignore",
    "keep": "--keep",
    "method": "--method",
    "min_confidence": "--min-confidence",
    "n_jobs": "--jobs",
    "target": "--target",
    "unlabeled": "--unlabeled",
}
"""Options by the arguments of functions that messages name."""
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/+(.*)")


def with_option_names(text: str) -> str:
    """Return a message in which arguments of functions are called by their options.

    Examples
    --------
    >>> with_option_names("`keep`: there is no column 'x'; see `graphmargin info`")
    "--keep: there is no column 'x'; see `graphmargin info`"
    """
    return re.sub(r"`(\w+)`", lambda match: OPTIONS.get(match[1], match[0]), text)


def check_file(context: typer.Context, path: Path) -> Path:
    """Return the path of a file that can be read, or raise an error."""
    has_dask = any(param.name == "dask" for param in context.command.params)
    url = _URL.fullmatch(str(path))
    if url is not None:
        msg = f"'{url[1]}://{url[2]}' is a URL; download the file, and pass its path."
        if has_dask:
            msg += " With --dask, Parquet files may be on storage, such as s3://bucket/folder."
        raise typer.BadParameter(msg)
    if not path.exists():
        msg = f"file {str(path)!r} does not exist."
        raise typer.BadParameter(msg)
    if path.is_dir():
        msg = f"{str(path)!r} is a folder; pass one of its files."
        if has_dask:
            msg += " With --dask, it may be a folder of Parquet files."
        raise typer.BadParameter(msg)
    if not os.access(path, os.R_OK):
        msg = f"file {str(path)!r} is not readable."
        raise typer.BadParameter(msg)
    if not path.is_file():  # reading a FIFO would block
        msg = f"file {str(path)!r} is not a regular file."
        raise typer.BadParameter(msg)
    return path


def file_argument(metavar: str, help_text: str) -> Any:
    """Return an argument that must be an existing regular file."""
    return typer.Argument(metavar=metavar, callback=check_file, help=help_text)


def columns_to_choose(context: typer.Context) -> str:
    """Return a sentence with the columns of TABLE, one of which `--target` has to name.

    Without a table that can be read, it says why.
    """
    from graphmargin._errors import InputError
    from graphmargin.tables.column_names import format_names
    from graphmargin.tables.reading import read_chunks, table_name

    table = context.params.get("table")
    if table is None or context.params.get("dask") is not None:
        return "Name the column with the labels."
    try:
        columns = next(read_chunks(Path(table), 1)).columns
    except (InputError, OSError) as error:
        return str(error)
    names = format_names([str(name) for name in columns])
    return f"Name the column with the labels; {table_name(Path(table))} has: {names}"


Table: TypeAlias = Annotated[Path, file_argument("TABLE", f"A {FORMATS} file.")]
Dask: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--dask",
        metavar="ADDRESS|local",
        is_eager=True,  # because the check of TABLE depends on it
        help="Use a Dask cluster: the address of its scheduler, or 'local' for this machine.",
    ),
]


def _check_file_unless_dask(context: typer.Context, table: str) -> str:
    """Raise an error if TABLE is no file; with --dask, it may also be a folder or a URL."""
    if context.params.get("dask") is None:
        check_file(context, Path(table))
    return table


TableOrUrl: TypeAlias = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        callback=_check_file_unless_dask,
        help=f"A {FORMATS} file; with --dask, a file, folder, pattern or URL of Parquet files.",
    ),
]
OutOrFolder: TypeAlias = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="Where to write the labeled table; by default, next to TABLE. With --dask, a folder.",
    ),
]
TargetOption: TypeAlias = Annotated[
    str, typer.Option("--target", "-t", metavar="COLUMN", help="Column with the labels.")
]
Unlabeled: TypeAlias = Annotated[
    list[str],
    typer.Option(
        metavar="VALUE", help="Value that means unlabeled, like an empty cell; can be repeated."
    ),
]
Ignore: TypeAlias = Annotated[
    list[str],
    typer.Option(metavar="COLUMN", help="Column that is not a feature; can be repeated."),
]
Keep: TypeAlias = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN",
        help="Column that is a feature although it looks like an ID; can be repeated.",
    ),
]
Category: TypeAlias = Annotated[
    list[str],
    typer.Option(
        metavar="COLUMN",
        help="Column that is a category, whatever its cells look like; can be repeated.",
    ),
]


def _check_method(value: str) -> str:
    if value == "auto":
        return value
    from graphmargin.methods import member_names  # which takes a second

    if value not in member_names():
        msg = f"{value!r} is not one of auto, {', '.join(member_names())}."
        raise typer.BadParameter(msg)
    return value


ClassWeights: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--class-weight",
        metavar="balanced|CLASS=WEIGHT,...",
        help="Weights of the errors in each class: 'balanced' for weights against the number of "
        "labels, or numbers, such as rare=10,common=1.",
    ),
]
MethodOption: TypeAlias = Annotated[
    str,
    typer.Option(
        metavar="auto|METHOD",
        callback=_check_method,
        help="'auto' weighs methods by held-out labels; or one of them: cut, harmonic, "
        "low-density, manifold, supervised, or linear-cut, linear-low-density, ...",
    ),
]
NJobs: TypeAlias = Annotated[
    int | None,
    typer.Option("--jobs", min=1, metavar="N", help="Number of threads; by default, all cores."),
]
Seed: TypeAlias = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, metavar="N", help="Seed of folds and samples.")
]


def _check_confidence(value: float) -> float:
    if not 0 <= value <= 1:  # which nan is not, either
        msg = f"{value} is not a number from 0 to 1, such as 0.95."
        raise typer.BadParameter(msg)
    return value


def _check_coverage(value: float | None) -> float | None:
    if value is not None and not 0 < value < 1:  # which nan is not, either
        msg = f"{value} is not a number between 0 and 1, such as 0.9."
        raise typer.BadParameter(msg)
    return value


MinConfidence: TypeAlias = Annotated[
    float,
    typer.Option(
        metavar="P",
        callback=_check_confidence,
        help="Leave rows empty whose label is right with a probability below P.",
    ),
]
Sets: TypeAlias = Annotated[
    float | None,
    typer.Option(
        metavar="COVERAGE",
        callback=_check_coverage,
        help="Add a column of prediction sets, which have the true class with this probability.",
    ),
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Quiet: TypeAlias = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]


def parse_class_weight(text: str | None) -> str | dict[str, float] | None:
    """Return the value of --class-weight: None, "balanced", or weights by class.

    Examples
    --------
    >>> parse_class_weight("rare=10,common=1")
    {'rare': 10.0, 'common': 1.0}
    >>> parse_class_weight("rare")
    Traceback (most recent call last):
    typer._click.exceptions.BadParameter: 'rare' is neither 'balanced' nor a list of CLASS=WEIGHT...
    """
    if text is None or text == "balanced":
        return text
    pairs = re.findall(r"(.+?)=([^=,]*)(?:,|$)", text)  # names may have commas
    try:
        weights = {name: float(weight) for name, weight in pairs}
    except ValueError:
        weights = {}
    if not weights or ",".join(f"{name}={weight}" for name, weight in pairs) != text:
        msg = (
            f"{text!r} is neither 'balanced' nor a list of CLASS=WEIGHT, such as rare=10,common=1."
        )
        raise typer.BadParameter(msg, param_hint="--class-weight")
    for name, weight in weights.items():
        if not 1e-6 <= weight <= 1e6:
            msg = f"the weight of {name!r} must be from 1e-6 to 1e6, got {weight:g}."
            raise typer.BadParameter(msg, param_hint="--class-weight")
    return weights


def default_output_folder(source: str, what: str) -> str:
    """Return the default folder of a result, next to the Parquet files.

    Examples
    --------
    >>> default_output_folder("s3://pets/cats.parquet", "labeled")
    's3://pets/cats-labeled'
    """
    folder, slash, name = source.rstrip("/").rpartition("/")
    stem = file_stem(name)
    if not stem.strip(".") or folder.endswith(":/") or any(sign in source for sign in "*?["):
        msg = f"there is no default folder for the result of {source}; pass one with --out"
        raise typer.BadParameter(msg, param_hint="--out")
    return f"{folder}{slash}{stem}-{what}"
