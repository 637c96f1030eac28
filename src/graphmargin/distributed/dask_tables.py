"""Tables of columns of any kind on a cluster, which the commands label with ``--dask``."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from sklearn.exceptions import ConvergenceWarning

from graphmargin import __version__
from graphmargin._progress import report_stage
from graphmargin.confidence.held_out_predictions import estimate_accuracy
from graphmargin.distributed.cluster_errors import WorkDirError
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.sampling import allocate_sample, draw_sample
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.label_column import LabelColumn
from graphmargin.distributed.io.output import (
    STAGE,
    Layout,
    atomic_folder,
    check_empty,
    check_not_in_input,
    check_not_within,
    table_layout,
)
from graphmargin.distributed.io.parquet_files import check_columns, check_types
from graphmargin.distributed.io.row_ranges import RowRange, Source, open_source, read_batches
from graphmargin.distributed.pipeline import FitRequest, FittedOnCluster, run_fit
from graphmargin.labeling.labeling_task import all_labeled_message
from graphmargin.labeling.summary import candidates_of
from graphmargin.labels import UNLABELED_IN_TABLES
from graphmargin.margin.class_weights import ClassWeight, check_class_weight
from graphmargin.methods.cut import Cut
from graphmargin.models.table_model import TableModel
from graphmargin.report.summary import ClusterUse, Summary
from graphmargin.reports.advice import evidence_advice, unreached_advice
from graphmargin.search.choice import Choice
from graphmargin.search.member import CLUSTERS, LABELS_ALONE
from graphmargin.search.parameters import (
    N_NEIGHBORS,
    GraphParameters,
    KernelParameters,
    WalkParameters,
)
from graphmargin.tables.column_names import check_not_target
from graphmargin.tables.reading import to_frame
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures, fit_transform
from graphmargin.tables.target import similar_class_warnings

if TYPE_CHECKING:
    import pandas as pd

MAX_SAMPLED = 50_000
"""Largest number of rows on which the features are fitted."""
ROWS_PER_RANGE = 1 << 20
"""Largest number of rows of a row range, a constant so that workers do not change the sample."""


@dataclass(frozen=True)
class TableRequest:
    """A partly labeled table, and the folder for the result; see `open_table`.

    Attributes
    ----------
    name : str
        Name of the table in summaries.
    source : Source
    label : LabelColumn
    ignore, keep, category : tuple of str
    layout : Layout
        The columns of the result.
    out, work_dir : Folder
    resume : bool
    """

    name: str
    source: Source
    label: LabelColumn
    ignore: tuple[str, ...]
    keep: tuple[str, ...]
    category: tuple[str, ...]
    layout: Layout
    out: Folder
    work_dir: Folder
    resume: bool


def open_table(
    table: str,
    target: str,
    *,
    out: str,
    work_dir: str,
    resume: bool = False,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
    category: Sequence[str] = (),
) -> TableRequest:
    """Return the request for a table, after checks that read only the footers of its files.

    Parameters
    ----------
    table : str
        See `open_source`.
    target : str
        Column of the labels.
    out : str
        New or empty folder for the result.
    work_dir : str
        Folder for the results of all stages.
    resume : bool, default=False
        Continue with the results of the same fit in `work_dir`, if there are any.
    unlabeled : sequence of str
        Values of the target that mean unlabeled, in addition to empty cells.
    ignore : sequence of str
        Columns that are not features.
    keep : sequence of str
        Columns that are features although they look like an ID.
    category : sequence of str
        Columns that are categories whatever their cells are.

    Raises
    ------
    InputError
        If the table lacks one of the columns, `out` is not empty, or one of the folders is in
        another.
    WorkDirError
        If `work_dir` is not empty, and `resume` is not set.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pa.table({"size": [1.0, 5.0, 5.2], "kind": ["cat", "dog", None]})
    ...     pa.parquet.write_table(table, f"{folder}/cats.parquet")
    ...     out, work = f"{folder}/cats-labeled", f"{folder}/work"
    ...     request = open_table(f"{folder}/cats.parquet", "kind", out=out, work_dir=work)
    >>> request.name, request.layout.confidence
    ('cats.parquet', 'kind_confidence')
    """
    out_folder, work_folder = Folder.at(out), Folder.at(work_dir)
    check_empty(out_folder)
    for folder in (out_folder, work_folder):
        check_not_in_input(folder, table)
    check_not_within(work_folder, out_folder, "which must be empty")
    if not resume and work_folder.names():
        msg = (
            f"work_dir {work_folder.url} is not empty; continue with resume=True, or choose "
            "another folder"
        )
        raise WorkDirError(msg)
    check_not_target(target, keep=keep, category=category)
    source = open_source(table, ROWS_PER_RANGE)
    check_columns(source.schema, [target, *ignore, *keep, *category], source.files[0].url)
    check_types(source.files, source.schema.names, any_type=[target])
    return TableRequest(
        name=posixpath.basename(table.rstrip("/")) or table,
        source=source,
        label=LabelColumn(target, UNLABELED_IN_TABLES.with_texts(unlabeled)),
        ignore=tuple(ignore),
        keep=tuple(keep),
        category=tuple(category),
        layout=table_layout(source, target),
        out=out_folder,
        work_dir=work_folder,
        resume=resume,
    )


@dataclass(frozen=True)
class LabeledOnCluster:
    """The labels of all rows of a table on storage, and the predictor of new rows.

    Attributes
    ----------
    request : TableRequest
    fitted : FittedOnCluster
    features : TableFeatures
        Features that were fitted on a sample.
    n_sampled : int
        Number of rows of the sample.
    warnings : tuple of str
    seconds : float
    """

    request: TableRequest
    fitted: FittedOnCluster
    features: TableFeatures
    n_sampled: int
    warnings: tuple[str, ...]
    seconds: float

    def write(self) -> None:
        """Write the table with labels, confidences and sources, completely or not at all."""
        with atomic_folder(self.request.out) as draft:
            # The markers of an earlier attempt are those of files that were removed.
            self.fitted.run.folder.remove([STAGE])
            self.fitted.write(self.request.layout, draft)

    def model(self, **details: Any) -> TableModel:
        """Return the model for new rows, with `details` and the values that mean unlabeled."""
        fitted, label = self.fitted, self.request.label
        details = {**details, "unlabeled": list(label.rule.texts)}
        return TableModel(self.features, fitted.predictor, label.name, fitted.held_out, details)


def label_table(
    cluster: Cluster,
    request: TableRequest,
    *,
    class_weight: ClassWeight = None,
    seed: int,
    began: float | None = None,
) -> LabeledOnCluster:
    """Fit the features on a sample, choose the parameters, and label all rows.

    Parameters
    ----------
    cluster : Cluster
    request : TableRequest
    class_weight : None, "balanced" or mapping from class to float, default=None
        Factors of the losses of each class, as in `MaxMarginGraphCut`.
    seed : int
        Seed of samples and folds.
    began : float, default=None
        When the call began that opened the table, by `time.perf_counter`; None is now.

    Raises
    ------
    TableError
        If no row is unlabeled, there are fewer than two classes, or a cell is of another type than
        those of the sample.
    """
    began = time.perf_counter() if began is None else began
    n_neighbors = min(N_NEIGHBORS, request.source.n_rows - 1)
    parameters = Cut(
        WalkParameters(GraphParameters(n_neighbors)),
        KernelParameters(),
        class_mass_normalization=(False,),  # it takes the masses of all rows
    )
    sample = sample_table(cluster, request, seed)
    ignore = (request.label.name, *request.ignore)
    features = _without_rows(
        fit_transform(sample, ignore=ignore, keep=request.keep, category=request.category)[0]
    )
    fitted = run_fit(
        cluster,
        FitRequest(
            data=request.source,
            features=features,
            label=request.label,
            id=None,
            parameters=parameters,
            class_weight=check_class_weight(class_weight),
            seed=seed,
            work_dir=request.work_dir,
            resume=request.resume,
        ),
    )
    return LabeledOnCluster(
        request=request,
        fitted=fitted,
        features=features,
        n_sampled=len(sample),
        # Other warnings name parameters, which users of the command do not set; the summary has
        # advice in their place.
        warnings=tuple(
            warning.text
            for warning in fitted.warnings
            if issubclass(warning.category, ConvergenceWarning)
        ),
        seconds=time.perf_counter() - began,
    )


def _without_rows(features: TableFeatures) -> TableFeatures:
    """Return features with invalid cells without their rows, which are numbers in the sample."""
    columns = [
        use if use.invalid is None else replace(use, invalid=replace(use.invalid, rows=()))
        for use in features.columns
    ]
    return replace(features, columns=tuple(columns))


def summarize_table(labeled: LabeledOnCluster) -> Summary:
    """Return the summary of a table that a cluster labeled."""
    request, fitted = labeled.request, labeled.fitted
    table = fitted.table
    choice = cast("Choice", fitted.choice)  # not None, as parameters are "auto"
    weights = {CLUSTERS: 1 - choice.supervised_weight, LABELS_ALONE: choice.supervised_weight}
    advice = [unreached_advice(fitted.n_unreached)] if fitted.n_unreached else []
    on_labels = evidence_advice(choice.trials.held_out_codes, choice.error)
    advice += [] if on_labels is None else [on_labels]
    held_out = fitted.held_out
    return Summary(
        table=request.name,
        target=request.label.name,
        n_rows=table.n_rows,
        n_labels=table.n_labeled,
        classes=tuple(map(str, table.classes.tolist())),
        given_counts=tuple(table.label_counts.sum(axis=0).tolist()),
        final_counts=tuple(fitted.class_counts.tolist()),
        n_predicted=table.n_rows - table.n_labeled,
        columns=tuple(use for use in labeled.features.columns if use.name != request.label.name),
        scaling=labeled.features.scaling,
        assumptions=dict(sorted(weights.items(), key=lambda item: -item[1])),
        candidates=candidates_of(choice),
        supervised_share=choice.supervised_weight,
        estimate=None if held_out is None else estimate_accuracy(held_out, table.classes),
        warnings=(
            *labeled.features.warnings,
            *similar_class_warnings(table.classes),
            *labeled.warnings,
            *(piece.for_tables for piece in advice if piece.for_tables),
        ),
        seconds=labeled.seconds,
        version=__version__,
        cluster=ClusterUse(
            sampled_rows=labeled.n_sampled,
            tried_labeled=fitted.sample.n_labeled,
            tried_unlabeled=fitted.sample.n_unlabeled,
            graph_recall=fitted.graph.recall,
            n_partitions=fitted.graph.n_partitions,
        ),
    )


def sample_table(cluster: Cluster, request: TableRequest, seed: int) -> pd.DataFrame:
    """Return up to `MAX_SAMPLED` random rows in the order of the table.

    Cells of columns that are not features are empty.

    Raises
    ------
    TableError
        If all rows of the table are labeled, or a label is not a class.
    """
    source, unused = request.source, {request.label.name, *request.ignore}
    schema = pa.schema([field for field in source.schema if field.name not in unused])
    counts = np.array([[row_range.n_rows] for row_range in source.row_ranges])
    quotas = allocate_sample(counts, np.array([MAX_SAMPLED]), seed)[:, 0].tolist()
    items = [(i, row_range, quotas[i], seed) for i, row_range in enumerate(source.row_ranges)]
    with report_stage("sample for features", verbose=0) as report_progress:
        samples = cluster.run(
            "sample", _sample_range, items, schema, request.label, progress=report_progress
        )
    if sum(n_labeled for _, n_labeled in samples) == source.n_rows:
        raise TableError(all_labeled_message(source.n_rows, request.name, request.label.name))
    sample = pa.concat_tables([rows for rows, _ in samples])
    empty = pa.nulls(sum(quotas))
    columns = {name: empty if name in unused else sample[name] for name in source.schema.names}
    return to_frame(pa.table(columns))


def _sample_range(
    item: tuple[int, RowRange, int, int], schema: pa.Schema, label: LabelColumn
) -> tuple[pa.Table, int]:
    """Return random rows of a row range, and the number of labeled rows in it."""
    number, row_range, quota, seed = item
    rows = draw_sample(np.zeros(row_range.n_rows, dtype=np.int8), np.array([quota]), [seed, number])
    drawn, n_labeled, first = [], 0, 0
    for batch in read_batches(row_range, [*schema.names, label.name]):
        values, codes = label.encode(batch.column(label.name), row_range, first)
        n_labeled += int(np.array([value is not None for value in values])[codes].sum())
        end = first + batch.num_rows
        in_batch = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)] - first
        drawn.append(batch.select(schema.names).cast(schema).take(in_batch))
        first = end
    return pa.concat_tables(drawn), n_labeled
