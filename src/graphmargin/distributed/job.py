"""A job as a user asks for it: which table, which columns, which folder."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from graphmargin import __version__
from graphmargin.distributed.classes import LabelColumn
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.files import check_types
from graphmargin.distributed.fitting import Fitted, fit_cut
from graphmargin.distributed.ingest import Table, ingest
from graphmargin.distributed.output import Layout, check_outside, write_labels
from graphmargin.distributed.parameters import graph_parameters, settings_of
from graphmargin.distributed.planning import rows_at_once
from graphmargin.distributed.points import Points, choose_points
from graphmargin.distributed.run import Run, open_run
from graphmargin.distributed.source import (
    Source,
    cut,
    frame_fingerprint,
    frame_schema,
    is_dask_frame,
    open_source,
    store_frame,
)
from graphmargin.distributed.storage import Folder
from graphmargin.selection.parameters import Parameters
from graphmargin.tables.errors import TableError
from graphmargin.tables.features import TableFeatures


@dataclass(frozen=True)
class Job:
    """A table whose rows have labels now.

    Attributes
    ----------
    run : Run
    source : Source
    points : Points
        The features.
    label : LabelColumn
    id : str or None
    table : Table
    fitted : Fitted
    """

    run: Run
    source: Source
    points: Points
    label: LabelColumn
    id: str | None
    table: Table
    fitted: Fitted

    def write(self, layout: Layout, out: Folder) -> None:
        """Write the labels of all rows, see `write_labels`."""
        n_parts = self.fitted.blocks.n_parts
        write_labels(self.run, self.table, self.source, layout, n_parts, out)


def do_job(
    cluster: Cluster,
    data: Any,
    parameters: Parameters,
    *,
    seed: int,
    features: Sequence[str] | TableFeatures | None,
    label: LabelColumn,
    id: str | None,
    work_dir: Folder,
    resume: bool,
    verbose: int = 0,
) -> Job:
    """Label all rows of a table, and learn the machine that labels new ones.

    Parameters
    ----------
    cluster : Cluster
    data : Dask DataFrame, Source, str, Path or a sequence of these two
    parameters : Parameters
        See `read_cluster_parameters`.
    seed : int
        Seed of samples and folds.
    features : sequence of str, TableFeatures or None
        See `choose_points`.
    label : LabelColumn
    id : str or None
        Column that names the rows.
    work_dir : Folder
        Where everything is written.
    resume : bool
        Go on with what `work_dir` has of this job.
    verbose : int
    """
    source: Source | None = None
    if isinstance(data, Source):
        source = data
    elif not is_dask_frame(data):
        source = open_source(data)
        check_outside(work_dir, data)
    schema = frame_schema(data) if source is None else source.schema
    where = "the Dask DataFrame" if source is None else source.files[0].url
    points = choose_points(schema, features, label=label.name, id=id, where=where)
    columns = list(dict.fromkeys([*points.columns, label.name, *([] if id is None else [id])]))
    if source is not None:
        check_types(source.files, columns, but=[label.name])
    rows = rows_at_once(cluster, points.n_features)
    settings = {
        "version": __version__,
        "parameters": settings_of(parameters, seed),
        "features": list(points.columns),
        "label": label.name,
        "unlabeled": list(label.rule.texts),
        "id": id,
        "data": frame_fingerprint(data) if source is None else source.fingerprint,
    }
    run = open_run(work_dir, cluster, settings, resume=resume, verbose=verbose)
    source = store_frame(run, data, columns, rows) if source is None else cut(run, source, rows)
    n_neighbors = graph_parameters(parameters).n_neighbors
    if source.n_rows <= n_neighbors:
        msg = (
            f"`n_neighbors` must be below the number of rows, got n_neighbors={n_neighbors} for "
            f"{source.n_rows} rows; take fewer neighbors"
        )
        raise TableError(msg)
    table = ingest(run, source, points, label, id)
    fitted = fit_cut(run, table, parameters, seed=seed)
    return Job(run, source, points, label, id, table, fitted)
