"""A fit on a cluster: all stages in their order.

`run_fit` opens the table and the folder of the run, reads the rows, builds the graph, chooses the
parameters, solves the harmonic systems, trains the machine and labels all rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from graphmargin import __version__
from graphmargin._typing import IntArray
from graphmargin.confidence.held_out_predictions import HeldOutPredictions
from graphmargin.distributed.cluster_parameters import graph_parameters, settings_of
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.engine.handles import ExactNeighbors, Points
from graphmargin.distributed.engine.memory_plan import count_partitions, rows_per_task
from graphmargin.distributed.engine.run import Run, open_run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.ingest import TableSummary, ingest
from graphmargin.distributed.io.label_column import LabelColumn
from graphmargin.distributed.io.output import Layout, check_not_in_input, write_labels
from graphmargin.distributed.io.parquet_files import check_types
from graphmargin.distributed.io.row_encoder import RowEncoder, choose_encoder
from graphmargin.distributed.io.row_ranges import (
    Source,
    frame_fingerprint,
    frame_schema,
    is_dask_frame,
    open_source,
    split_rows,
    store_frame,
)
from graphmargin.distributed.stages.components import find_reached
from graphmargin.distributed.stages.graph import GraphSummary, build_graph
from graphmargin.distributed.stages.harmonic_iteration import HarmonicReport, solve
from graphmargin.distributed.stages.machine_training import train
from graphmargin.distributed.stages.parameter_choice import SampleSize, choose_parameters
from graphmargin.distributed.stages.partitioning import partition_rows
from graphmargin.distributed.stages.score_calibration import calibrate
from graphmargin.distributed.stages.training_rows import BlendedCandidate, TrainingPlan
from graphmargin.distributed.stages.transduction import label_partitions
from graphmargin.graph.weights import paper_width
from graphmargin.margin.class_weights import ClassWeight, class_weights
from graphmargin.margin.machine_part import MachinePart
from graphmargin.methods.cut import Cut
from graphmargin.search.choice import Choice
from graphmargin.search.execution import (
    FitWarning,
    convergence_warning,
    machine_warnings,
    unreached_warning,
)
from graphmargin.search.parameters import GraphParameters, fixed_value
from graphmargin.search.predictor import Predictor, WeightedPart
from graphmargin.search.search import held_out_predictions
from graphmargin.tables.table_errors import TableError
from graphmargin.tables.table_features import TableFeatures


@dataclass(frozen=True)
class FitRequest:
    """The table, columns, parameters and folder of a fit.

    Attributes
    ----------
    data : Dask DataFrame, Source, str, Path or a sequence of these two
    features : sequence of str, TableFeatures or None
        See `choose_encoder`.
    label : LabelColumn
    id : str or None
        Column with the IDs of the rows.
    parameters : Cut
        See `read_cluster_parameters`.
    class_weight : None, "balanced" or mapping from class to float
    seed : int
        Seed of samples and folds.
    work_dir : Folder
        Folder for the results of all stages.
    resume : bool
        Continue with the results of this fit in `work_dir`, if there are any.
    verbose : int
    """

    data: Any
    features: Sequence[str] | TableFeatures | None
    label: LabelColumn
    id: str | None
    parameters: Cut
    class_weight: ClassWeight
    seed: int
    work_dir: Folder
    resume: bool
    verbose: int = 0


@dataclass(frozen=True)
class FittedOnCluster:
    """The result of a fit: labels of all rows on storage, and the predictor of new rows.

    Attributes
    ----------
    run : Run
        Its folder has the `StoredLabels`, cut by the row ranges of the input.
    source : Source
    encoder : RowEncoder
    table : TableSummary
    predictor : Predictor
    graph : GraphSummary
    replication : float
        Average number of partitions that a row is in.
    n_unreached : int
        Number of rows in components of the graph without a label; 0 if no harmonic system was
        solved.
    reports : dict from gamma_g to HarmonicReport
        Reports on the solver of the harmonic systems.
    choice : Choice or None
        The choice of parameters; None if they were fixed.
    held_out : HeldOutPredictions or None
        Predictions for held-out labels of the sample; None if no label was held out.
    sample : SampleSize
        Numbers of rows on which parameters were chosen.
    class_counts : array of shape (c,)
        Rows of each class.
    warnings : tuple of FitWarning
    """

    run: Run
    source: Source
    encoder: RowEncoder
    table: TableSummary
    predictor: Predictor
    graph: GraphSummary
    replication: float
    n_unreached: int
    reports: dict[float, HarmonicReport]
    choice: Choice | None
    held_out: HeldOutPredictions | None
    sample: SampleSize
    class_counts: IntArray
    warnings: tuple[FitWarning, ...]

    def write(self, layout: Layout, out: Folder) -> None:
        """Write the labels of all rows, see `write_labels`."""
        write_labels(
            self.run, self.table.classes, self.source, layout, self.graph.n_partitions, out
        )


def run_fit(cluster: Cluster, request: FitRequest) -> FittedOnCluster:
    """Label all rows of a table, and train the machine that labels new ones.

    Raises
    ------
    InputError
        If the table, the folder or the workers do not allow the fit.
    """
    parameters, seed = request.parameters, request.seed
    graph_options = graph_parameters(parameters)
    run, source, encoder = _open_run(cluster, request)
    table = ingest(run, source, encoder, request.label, request.id)
    counts = table.label_counts.sum(axis=0)
    class_weight = class_weights(request.class_weight, table.classes, counts)
    n_partitions, n_classes = _plan_partitions(run, table, graph_options), len(table.classes)

    replication = partition_rows(run, table, n_partitions, graph_options, seed)
    kernel_width, edge_width = _widths(run, table, graph_options)
    graph = build_graph(run, table.n_ranges, n_partitions, graph_options, edge_width, seed)

    choice, sample = None, SampleSize(0, 0)
    if parameters.gamma_g is None or parameters.C is None:
        widths = kernel_width, edge_width
        choice, sample = choose_parameters(
            run, table, parameters, class_weight, graph.degrees, widths, seed
        )
    candidates = _candidates(parameters, choice)

    gammas = dict.fromkeys(c.gamma_g for c in candidates if np.isfinite(c.gamma_g))
    n_unreached = find_reached(run, n_partitions) if gammas else 0
    reports = {gamma_g: solve(run, n_partitions, n_classes, gamma_g) for gamma_g in gammas}
    # The candidate of the largest weight is the first, and its solution induces the labels.
    gamma_g = next(iter(gammas), np.inf)

    plan = TrainingPlan(
        candidates,
        n_classes,
        parameters.eps,
        parameters.loss_weights,
        seed,
        class_weight,
    )
    kernel = replace(parameters.kernel.kernel, width=kernel_width)
    center = table.mean if kernel.kind in ("linear", "rbf") else 0.0
    machine = train(run, n_partitions, plan, kernel, center)
    if choice is not None and choice.is_tested:
        calibration = choice.calibration
    else:
        calibration = calibrate(run, n_partitions, machine, plan, gamma_g)

    class_counts, joint = label_partitions(
        run, n_partitions, table.offsets, gamma_g, calibration, by_machine=choice is not None
    )
    held_out = None
    if choice is not None and choice.is_tested:
        held_out = held_out_predictions(choice, joint)
    warnings = *_graph_warnings(n_unreached, table.n_rows, reports), *machine_warnings([machine])
    return FittedOnCluster(
        run=run,
        source=source,
        encoder=encoder,
        table=table,
        predictor=Predictor(table.classes, (WeightedPart(MachinePart(machine, calibration)),)),
        graph=graph,
        replication=replication,
        n_unreached=n_unreached,
        reports=reports,
        choice=choice,
        held_out=held_out,
        sample=sample,
        class_counts=class_counts,
        warnings=warnings,
    )


def _open_run(cluster: Cluster, request: FitRequest) -> tuple[Run, Source, RowEncoder]:
    """Return the run in its folder, the row ranges of the table, and the encoder of its rows."""
    data, label, id = request.data, request.label, request.id
    source: Source | None = None
    if isinstance(data, Source):
        source = data
    elif not is_dask_frame(data):
        source = open_source(data)
        check_not_in_input(request.work_dir, data)
    schema = frame_schema(data) if source is None else source.schema
    where = "the Dask DataFrame" if source is None else source.files[0].url
    encoder = choose_encoder(schema, request.features, label=label.name, id=id, where=where)
    columns = list(dict.fromkeys([*encoder.columns, label.name, *([] if id is None else [id])]))
    if source is not None:
        check_types(source.files, columns, any_type=[label.name])
    max_rows = rows_per_task(cluster, encoder.n_features)  # raises if workers are too small
    settings = {
        "version": __version__,
        "parameters": settings_of(request.parameters, request.class_weight, request.seed),
        "features": list(encoder.columns),
        "label": label.name,
        "unlabeled": list(label.rule.texts),
        "id": id,
        "data": frame_fingerprint(data) if source is None else source.fingerprint,
    }
    run = open_run(
        request.work_dir, cluster, settings, resume=request.resume, verbose=request.verbose
    )
    if source is None:
        source = store_frame(run, data, columns)
    source = split_rows(run, source, max_rows)
    n_neighbors = graph_parameters(request.parameters).n_neighbors
    if source.n_rows <= n_neighbors:
        msg = (
            f"`n_neighbors` must be below the number of rows, got n_neighbors={n_neighbors} for "
            f"{source.n_rows} rows; pass a smaller number"
        )
        raise TableError(msg)
    return run, source, encoder


def _plan_partitions(run: Run, table: TableSummary, graph: GraphParameters) -> int:
    """Return the number of partitions, which a resumed run with other workers keeps."""
    n_partitions = count_partitions(
        run.cluster,
        n_rows=table.n_rows,
        n_features=table.n_features,
        n_neighbors=graph.n_neighbors,
        n_classes=len(table.classes),
    )
    return int(run.checkpointed("n_partitions", n_partitions))


def _widths(run: Run, table: TableSummary, graph: GraphParameters) -> tuple[float, float]:
    """Return the widths of the kernel and of the edges."""
    paper = float(np.sqrt(table.n_features) * table.spread.mean()) or 1.0
    if graph.width != "paper":
        return float(graph.width), float(graph.width)
    if graph.metric == "cosine":  # whose spread, of rows of unit length, is estimated on a sample
        return paper, paper_width(ExactNeighbors(run.folder).read(0, Points).X)
    return paper, paper


def _candidates(parameters: Cut, choice: Choice | None) -> tuple[BlendedCandidate, ...]:
    """Return the machines to train: those of a blend by falling weight, or a single one."""
    if choice is None:
        gamma_g, C = fixed_value(parameters.gamma_g), fixed_value(parameters.C)
        return (BlendedCandidate(gamma_g, C, 1.0),)
    params = choice.trials.params
    return tuple(
        BlendedCandidate(params[i]["gamma_g"], params[i]["C"], factor)
        for i, factor in choice.blended
    )


def _graph_warnings(
    n_unreached: int, n_rows: int, reports: dict[float, HarmonicReport]
) -> list[FitWarning]:
    """Return the warnings about rows that no label reaches, and about uncertain labels."""
    warnings = [unreached_warning(n_unreached, n_rows)] if n_unreached else []
    for gamma_g, report in reports.items():
        if not (report.converged and report.certain):
            text = (
                f"the harmonic solution for gamma_g={gamma_g:g} has a violation of "
                f"{report.violation:.1e} after {report.iterations:,} iterations, so that some "
                "labels of the graph are uncertain; try a larger gamma_g"
            )
            warnings.append(convergence_warning(text))
    return warnings
