"""Tables of columns of any kind on a cluster: what the commands compute with ``--dask``."""

from __future__ import annotations

import posixpath
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pyarrow as pa
from sklearn.exceptions import ConvergenceWarning

from graphmargin import __version__
from graphmargin._progress import report_stage
from graphmargin.distributed.classes import LabelColumn
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.errors import WorkDirError
from graphmargin.distributed.files import check_columns, check_types
from graphmargin.distributed.fitting import Fitted
from graphmargin.distributed.job import Job, do_job
from graphmargin.distributed.output import (
    STAGE,
    Layout,
    all_or_nothing,
    check_apart,
    check_new,
    check_outside,
    table_layout,
)
from graphmargin.distributed.sampling import apportion, draw
from graphmargin.distributed.source import Piece, Source, batches_of, open_source
from graphmargin.distributed.storage import Folder
from graphmargin.labeling.findings import SOURCES, Findings
from graphmargin.labeling.inspection import candidates_of, estimate_of
from graphmargin.labeling.job import N_NEIGHBORS
from graphmargin.labels import UNLABELED_IN_TABLES
from graphmargin.margin.kernels import Kernel
from graphmargin.models.table_model import TableModel
from graphmargin.selection.advice import counted, evidence_advice
from graphmargin.selection.choice import Choice
from graphmargin.selection.graph_reports import compare
from graphmargin.selection.parameters import GraphParameters, KernelParameters, Parameters
from graphmargin.tables.errors import TableError
from graphmargin.tables.features import TableFeatures
from graphmargin.tables.reading import to_frame

if TYPE_CHECKING:
    import pandas as pd

MOST_SAMPLED = 50_000
"""Rows that the features are learned from."""
ROWS_OF_A_PIECE = 1 << 20
"""Whatever the workers are, so that the sample is the same."""


@dataclass(frozen=True)
class TableJob:
    """A table with a column of labels, some of them missing, and where to write it.

    Attributes
    ----------
    name : str
        Of the table, for people.
    source : Source
    label : LabelColumn
    ignore : tuple of str
        Columns that are no features.
    keep : tuple of str
        Columns that are features although they look like an ID.
    layout : Layout
        The columns of the result.
    out, work_dir : Folder
    resume : bool
        Go on with what `work_dir` has of this job, if anything.
    """

    name: str
    source: Source
    label: LabelColumn
    ignore: tuple[str, ...]
    keep: tuple[str, ...]
    layout: Layout
    out: Folder
    work_dir: Folder
    resume: bool


def open_table(
    place: str,
    target: str,
    *,
    out: str,
    work_dir: str,
    resume: bool = False,
    unlabeled: Sequence[str] = (),
    ignore: Sequence[str] = (),
    keep: Sequence[str] = (),
) -> TableJob:
    """Return a job, after a look at the end of each file: most of what can be wrong is seen now.

    Parameters
    ----------
    place : str
        See `open_source`.
    target : str
        Column of the labels.
    out : str
        New or empty folder for the result.
    work_dir : str
        Folder for all that is kept between stages.
    resume : bool, default=False
        Go on with what `work_dir` has of the same job, if anything.
    unlabeled : sequence of str
        Values of the target that mean that there is no label, beside empty cells.
    ignore : sequence of str
        Columns that are no features.
    keep : sequence of str
        Columns that are features although they look like an ID.

    Raises
    ------
    InputError
        If the table has not these columns, or the folders are in use or in each other.
    WorkDirError
        If there is something to go on with, and nobody wants to.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     table = pa.table({"size": [1.0, 5.0, 5.2], "kind": ["cat", "dog", None]})
    ...     pa.parquet.write_table(table, f"{folder}/cats.parquet")
    ...     out, work = f"{folder}/cats-labeled", f"{folder}/work"
    ...     job = open_table(f"{folder}/cats.parquet", "kind", out=out, work_dir=work)
    >>> job.name, job.layout.confidence
    ('cats.parquet', 'kind_confidence')
    """
    target_folder, work_folder = Folder.at(out), Folder.at(work_dir)
    check_new(target_folder)
    for folder in (target_folder, work_folder):
        check_outside(folder, place)
    check_apart(work_folder, target_folder, "which must be empty")
    if not resume and work_folder.names():
        msg = (
            f"work_dir {work_folder.url} is in use; go on with resume=True, or choose another "
            "folder"
        )
        raise WorkDirError(msg)
    source = open_source(place, ROWS_OF_A_PIECE)
    check_columns(source.schema, [target, *ignore, *keep], source.files[0].url)
    check_types(source.files, source.schema.names, but=[target])
    return TableJob(
        name=posixpath.basename(place.rstrip("/")) or place,
        source=source,
        label=LabelColumn(target, UNLABELED_IN_TABLES.with_texts(unlabeled)),
        ignore=tuple(ignore),
        keep=tuple(keep),
        layout=table_layout(source, target),
        out=target_folder,
        work_dir=work_folder,
        resume=resume,
    )


@dataclass(frozen=True)
class LabeledTable:
    """A label for every row of a table, on storage, and what labels new rows.

    Attributes
    ----------
    asked : TableJob
    done : Job
    features : TableFeatures
        Learned from a sample.
    n_sampled : int
        Rows of the sample.
    warnings : tuple of str
    seconds : float
    """

    asked: TableJob
    done: Job
    features: TableFeatures
    n_sampled: int
    warnings: tuple[str, ...]
    seconds: float

    def write(self) -> None:
        """Write the table with labels, confidences and sources, as a whole or not at all."""
        with all_or_nothing(self.asked.out) as draft:
            # Notes of an earlier attempt are on files that are gone.
            self.done.run.folder.remove([STAGE])
            self.done.write(self.asked.layout, draft)

    def model(self, **details: Any) -> TableModel:
        """Return what labels new rows; `details` are kept in its file, with what means no label."""
        fitted, table, label = self.done.fitted, self.done.table, self.asked.label
        is_text = table.classes.dtype.kind == "U"
        classes = table.classes.astype(object) if is_text else table.classes
        known = {**details, "unlabeled": list(label.rule.texts)}
        predictor = fitted.predictor(np.arange(len(classes)))
        return TableModel(self.features, predictor, classes, label.name, known)


@dataclass(frozen=True, kw_only=True)
class TableFindings(Findings):
    """What a summary shows of a table that was labeled on a cluster.

    Attributes
    ----------
    sampled_rows : int
        Rows that the features were learned from.
    tried_labeled, tried_unlabeled : int
        Rows of the sample that parameters were chosen on.
    graph_recall : float
        Share of the true neighbors in the graph.
    n_parts : int
        Of the graph.
    """

    sampled_rows: int
    tried_labeled: int
    tried_unlabeled: int
    graph_recall: float
    n_parts: int


def label_table(cluster: Cluster, asked: TableJob, *, seed: int) -> LabeledTable:
    """Learn the features from a sample, choose the parameters, and label all rows.

    Parameters
    ----------
    cluster : Cluster
    asked : TableJob
    seed : int
        Of samples and folds.

    Raises
    ------
    TableError
        If no row is to be labeled, there are no two classes, or a cell is not like those of the
        sample.
    """
    began = time.perf_counter()
    parameters = Parameters(
        kernel=KernelParameters(Kernel("rbf"), "paper"),
        graph=GraphParameters(min(N_NEIGHBORS, asked.source.n_rows - 1), "paper", "euclidean"),
        gamma_g=None,
        C=None,
    )
    sample = sample_rows(cluster, asked, seed)
    ignore = (asked.label.name, *asked.ignore)
    features = TableFeatures(ignore=ignore, keep=asked.keep).fit(sample)
    done = do_job(
        cluster,
        asked.source,
        parameters,
        seed=seed,
        features=features,
        label=asked.label,
        id=None,
        work_dir=asked.work_dir,
        resume=asked.resume,
    )
    warnings = done.fitted.warnings
    return LabeledTable(
        asked=asked,
        done=done,
        features=features,
        n_sampled=len(sample),
        # Others name parameters, which are chosen here; the summary has its own words for them.
        warnings=tuple(w.text for w in warnings if issubclass(w.category, ConvergenceWarning)),
        seconds=time.perf_counter() - began,
    )


def summarize_table(labeled: LabeledTable) -> TableFindings:
    """Return what a summary shows; the parts that only a report has are empty."""
    asked, done = labeled.asked, labeled.done
    fitted, table = done.fitted, done.table
    choice = cast("Choice", fitted.choice)  # as parameters are "auto"
    comparison = compare(choice)
    advice = evidence_advice(comparison.n_hidden, comparison.error, comparison.majority_error)
    on_labels = () if advice is None or not advice.for_tables else (advice.for_tables,)
    return TableFindings(
        table=asked.name,
        target=asked.label.name,
        n_rows=table.n_rows,
        n_labels=table.n_labeled,
        classes=tuple(map(str, table.classes.tolist())),
        given_counts=tuple(table.label_counts.sum(axis=0).tolist()),
        final_counts=tuple(fitted.class_counts.tolist()),
        source_counts=dict(zip(SOURCES, fitted.source_counts.tolist(), strict=True)),
        columns=tuple(use for use in labeled.features.columns_ if use.name != asked.label.name),
        scaling=labeled.features.scaling_,
        candidates=candidates_of(choice),
        supervised_share=choice.supervised_share,
        estimate=estimate_of(choice),
        verdict=comparison.verdict,
        warnings=(*labeled.warnings, *_advice_on_reach(fitted), *on_labels),
        seconds=labeled.seconds,
        version=__version__,
        sampled_rows=labeled.n_sampled,
        tried_labeled=fitted.sample.n_labeled,
        tried_unlabeled=fitted.sample.n_unlabeled,
        graph_recall=fitted.blocks.recall,
        n_parts=fitted.blocks.n_parts,
    )


def sample_rows(cluster: Cluster, asked: TableJob, seed: int) -> pd.DataFrame:
    """Return up to `MOST_SAMPLED` random rows in the order of the table, all if there are no more.

    Cells of columns that are no features are empty.

    Raises
    ------
    TableError
        If all rows of the table have a label, or one is no class.
    """
    source, unused = asked.source, {asked.label.name, *asked.ignore}
    schema = pa.schema([field for field in source.schema if field.name not in unused])
    counts = np.array([[piece.n_rows] for piece in source.pieces])
    quotas = apportion(counts, np.array([MOST_SAMPLED]), seed)[:, 0].tolist()
    items = [(i, piece, quotas[i], seed) for i, piece in enumerate(source.pieces)]
    with report_stage("sample for features", verbose=0) as news:
        found = cluster.run("sample", _sample_piece, items, schema, asked.label, progress=news)
    if sum(n_labeled for _, n_labeled in found) == source.n_rows:
        msg = (
            f"all {source.n_rows:,} rows of {asked.name} have a label in {asked.label.name!r}: "
            "nothing to fill in"
        )
        raise TableError(msg)
    sample = pa.concat_tables([rows for rows, _ in found])
    empty = pa.nulls(sum(quotas))
    columns = {name: empty if name in unused else sample[name] for name in source.schema.names}
    return to_frame(pa.table(columns))


def _sample_piece(
    item: tuple[int, Piece, int, int], schema: pa.Schema, label: LabelColumn
) -> tuple[pa.Table, int]:
    """Return random rows of a piece, and how many of all its rows have a label."""
    number, piece, quota, seed = item
    rows = draw(np.zeros(piece.n_rows, dtype=np.int8), np.array([quota]), [seed, number])
    drawn, n_labeled, first = [], 0, 0
    for batch in batches_of(piece, [*schema.names, label.name]):
        values, codes = label.encode(batch.column(label.name), piece, first)
        n_labeled += int(np.array([value is not None for value in values])[codes].sum())
        end = first + batch.num_rows
        here = rows[np.searchsorted(rows, first) : np.searchsorted(rows, end)] - first
        drawn.append(batch.select(schema.names).cast(schema).take(here))
        first = end
    return pa.concat_tables(drawn), n_labeled


def _advice_on_reach(fitted: Fitted) -> tuple[str, ...]:
    n_unreached = 0 if fitted.reached is None else fitted.reached.n_unreached
    if not n_unreached:
        return ()
    rows = counted(n_unreached, "row")
    return (f"No label reaches {rows}, which the model alone labels: label some of them.",)
