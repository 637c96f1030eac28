"""``graphmargin info``: what is in a model file, or how a table would be used."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated
from zipfile import BadZipFile, ZipFile, is_zipfile

import typer

from graphmargin.cli.options import Ignore, Json, Keep, Unlabeled, check_regular
from graphmargin.cli.printing import console, line, print_json, print_table

HELP = """Show what is in a model file, or how the columns of a table would be used.

Nothing of a model file is run. With `--target`, the labels of a table are counted, too.

Examples:

    graphmargin info cats.graphmargin
    graphmargin info cats.csv --target kind
"""


def info(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="FILE",
            exists=True,
            dir_okay=False,
            callback=check_regular,
            help="A model file or a table.",
        ),
    ],
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="Column of the labels of a table."),
    ] = None,
    unlabeled: Unlabeled = [],  # noqa: B006 - typer copies it
    ignore: Ignore = [],  # noqa: B006 - typer copies it
    keep: Keep = [],  # noqa: B006 - typer copies it
    json: Json = False,
) -> None:
    """Print what a file holds."""
    if path.suffix == ".graphmargin" or _holds_model(path):
        from graphmargin.models import model_info

        found = model_info(path)
        if json:
            print_json(found)
        else:
            for text in str(found).splitlines():
                console().print(line(text))
        return
    from graphmargin.labeling.column_overview import column_overview

    seen = column_overview(path, target, unlabeled=unlabeled, ignore=ignore, keep=keep)
    if json:
        print_json(seen)
        return
    console().print(line(f"{seen.table}: {seen.n_rows:,} rows; {seen.scaling}"))
    print_table(
        ["column", "used as", "features", "note"],
        [(use.name, use.role, str(use.n_features), use.note) for use in seen.columns],
    )
    if target is not None:
        counts = [(name, f"{count:,}") for name, count in seen.label_counts.items()]
        print_table([target, "labels"], counts)
        console().print(line(f"{seen.n_unlabeled:,} rows without a label"))


def _holds_model(path: Path) -> bool:
    """Tell whether a file is a model by what is in it; Excel and npz files are archives, too."""
    if not is_zipfile(path):
        return False
    from graphmargin.models.archive import DESCRIPTION

    try:
        with ZipFile(path) as archive:
            return DESCRIPTION in archive.namelist()
    except (BadZipFile, OSError, ValueError, NotImplementedError):
        return False
