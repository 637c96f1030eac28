"""``graphmargin predict``: labels for new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from graphmargin.cli.dask_commands import predict_on_dask
from graphmargin.cli.options import (
    FORMATS,
    Dask,
    Json,
    OutOrFolder,
    Quiet,
    TableOrUrl,
    beside,
    check_regular,
)
from graphmargin.cli.printing import console, line, print_json, print_table
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.labeling.prediction import PredictionSummary

HELP = f"""Label new rows with a model of `label` or `fit`.

The table ({FORMATS}) needs the columns that the model has learned from; others are kept as they
are. It is read in chunks, so that it may be larger than memory. If it has the column of the labels,
that stays, predictions have a column of their own, and the accuracy is printed.

With `--dask`, workers of a cluster label the rows, from Parquet to Parquet.

Examples:

    graphmargin predict cats.graphmargin new.csv
    graphmargin predict cats.graphmargin new.parquet --out new-labeled.parquet
    graphmargin predict cats.graphmargin "new/*.parquet" --out labeled --dask local
"""


def predict(
    model: Annotated[
        Path,
        typer.Argument(
            metavar="MODEL",
            exists=True,
            dir_okay=False,
            callback=check_regular,
            help="A model file.",
        ),
    ],
    table: TableOrUrl,
    out: OutOrFolder = None,
    dask: Dask = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the table with labels and confidences."""
    if dask is None:
        written = beside(Path(table), "predicted") if out is None else Path(out)
        found = _predict_file(model, Path(table), written, quiet=quiet or json)
        place = str(written)
    else:
        found, place = predict_on_dask(model, table, dask=dask, out=out, quiet=quiet or json)
    if json:
        print_json({"files": {"predicted": place}, "predicted": found})
    elif not quiet:
        text = f"{found.n_rows:,} rows"
        if found.n_rows:
            text += f", mean confidence {found.mean_confidence:.3f}"
        if found.n_checked:
            text += f"; {found.n_right:,} of {found.n_checked:,} given labels are the same"
        console().print(line(text))
        print_table(
            [found.column, "rows"], [(name, f"{count:,}") for name, count in found.counts.items()]
        )
        console().print(line(place, style="green"))


def _predict_file(model: Path, table: Path, out: Path, *, quiet: bool) -> PredictionSummary:
    from graphmargin._progress import announce
    from graphmargin.labeling.prediction import load_table_model, predict_file
    from graphmargin.tables.writing import check_output

    check_output(out, inputs=[table, model])
    learned = load_table_model(model)
    with (
        show_progress(quiet=quiet) as listener,
        announce(listener, f"rows of {table.name}") as tell,
    ):
        return predict_file(learned, table, out, progress=tell)
