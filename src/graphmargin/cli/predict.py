"""The command ``graphmargin predict``, which labels new rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from graphmargin._files import default_output
from graphmargin._permissions import made_from
from graphmargin.cli.dask_commands import check_unsupported, predict_on_dask
from graphmargin.cli.files import check_files
from graphmargin.cli.options import (
    Dask,
    Json,
    MinConfidence,
    OutOrFolder,
    Quiet,
    Sets,
    TableOrUrl,
    file_argument,
)
from graphmargin.cli.printing import console, line, print_json, print_table, print_warnings
from graphmargin.cli.progress import show_progress

if TYPE_CHECKING:
    from graphmargin.labeling.prediction import PredictionSummary

HELP = """Label new rows with a model of `label` or `fit`.

The table must have the columns from which the model was learned; other columns are copied. It is
read in chunks, so that it may be larger than memory. If it has the column of the labels, this
column stays, predictions go to a new column, and both are compared. With `--min-confidence`, rows
with a smaller confidence get no label. With `--sets`, a column has the prediction set of each row,
all classes that it may have.

With `--dask`, the workers of a cluster label the rows. They read and write Parquet files.

Examples:

    graphmargin predict cats.graphmargin new.csv
    graphmargin predict cats.graphmargin new.parquet --out new-labeled.parquet
    graphmargin predict cats.graphmargin "new/*.parquet" --out labeled --dask local
"""


def predict(
    model: Annotated[Path, file_argument("MODEL", "A model file.")],
    table: TableOrUrl,
    out: OutOrFolder = None,
    min_confidence: MinConfidence = 0.0,
    sets: Sets = None,
    dask: Dask = None,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Write the table with labels and confidences."""
    if dask is None:
        written = default_output(Path(table), "predicted") if out is None else Path(out)
        summary = _predict_file(
            model, Path(table), written, min_confidence, sets, quiet=quiet or json
        )
        path = str(written)
    else:
        check_unsupported(min_confidence, sets)
        summary, path = predict_on_dask(model, table, dask=dask, out=out, quiet=quiet or json)
    if json:
        print_json({"files": {"predicted": path}, "predicted": summary})
    elif not quiet:
        text = f"{summary.n_rows:,} rows"
        if summary.n_rows:
            text += f", mean confidence {summary.mean_confidence:.3f}"
        if summary.n_checked:
            text += f"; {summary.n_right:,} of {summary.n_checked:,} agree with given labels"
        if summary.n_left_empty:
            text += f"; {summary.n_left_empty:,} left empty, their confidence is below "
            text += f"{min_confidence:g}"
        console().print(line(text))
        counts = [(name, f"{count:,}") for name, count in summary.counts.items()]
        print_table([summary.column, "rows"], counts)
        print_warnings(summary.warnings)
        console().print(line(path, style="green"))


def _predict_file(
    model: Path,
    table: Path,
    out: Path,
    min_confidence: float,
    coverage: float | None,
    *,
    quiet: bool,
) -> PredictionSummary:
    from graphmargin._progress import announce
    from graphmargin.labeling.prediction import load_table_model, predict_file
    from graphmargin.tables.file_formats import format_of

    for path in (table, out):
        format_of(path)
    check_files({"--out": out}, inputs=[table, model])
    loaded = load_table_model(model)
    with (
        made_from(table, model),
        show_progress(quiet=quiet) as listener,
        announce(listener, f"rows of {table.name}") as report_progress,
    ):
        return predict_file(
            loaded,
            table,
            out,
            min_confidence=min_confidence,
            coverage=coverage,
            progress=report_progress,
        )
