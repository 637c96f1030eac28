"""The command ``graphmargin info``, which describes a model file or a table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile, ZipFile, is_zipfile

import typer

from graphmargin.cli.dask_commands import check_option_conflicts
from graphmargin.cli.options import (
    Category,
    Ignore,
    Json,
    Keep,
    Unlabeled,
    file_argument,
)
from graphmargin.cli.printing import console, line, print_json, print_table, print_warnings

HELP = """Describe a model file, or show how the columns of a table would be used.

No code of a model file is run. With `--target`, the labels of a table are counted.

Examples:

    graphmargin info cats.graphmargin
    graphmargin info cats.csv --target kind
"""


def info(
    path: Annotated[Path, file_argument("FILE", "A model file or a table.")],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Column with the labels of a table."),
    ] = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    category: Category = [],  # noqa: B006 - typer copies it
    json: Json = False,
) -> None:
    """Print a description of a file."""
    if path.suffix == ".graphmargin" or _is_model_file(path):
        from graphmargin.models import model_info

        check_option_conflicts(
            {"--target": target, "--unlabeled": unlabeled, "--ignore": ignore, "--keep": keep}
            | {"--category": category},
            "is for tables, and FILE is a model",
        )
        description = model_info(path)
        if json:
            print_json(description)
        else:
            for text in str(description).splitlines():
                console().print(line(text))
        return
    from graphmargin.labeling.column_overview import column_overview

    overview = column_overview(
        path, target, unlabeled=unlabeled, ignore=ignore, keep=keep, category=category
    )
    if json:
        print_json(overview)
        return
    console().print(line(f"{overview.table}: {overview.n_rows:,} rows; {overview.scaling}"))
    print_table(
        ["column", "used as", "features", "note"],
        [
            (
                use.name,
                use.role,
                f"up to {use.n_features}" if use.role == "text" else str(use.n_features),
                use.remarks,
            )
            for use in overview.columns
        ],
    )
    if target is not None:
        counts = [(name, f"{count:,}") for name, count in overview.label_counts.items()]
        print_table([target, "labels"], counts)
        console().print(line(f"{overview.n_unlabeled:,} rows without a label"))
    print_warnings(overview.warnings)


def _is_model_file(path: Path) -> bool:
    """Return whether a file is a model by its content; Excel files are archives, too."""
    if not is_zipfile(path):
        return False
    from graphmargin.models.archive import DESCRIPTION

    try:
        with ZipFile(path) as archive:
            return DESCRIPTION in archive.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False
