"""The stage that chooses gamma_g and C, by the rule of one machine, on a sample of the rows.

Candidates are tried on a graph of up to 1,000 labeled rows, or ten of each class, and of up to
20,000 unlabeled ones, drawn at random, as `MaxMarginGraphCut` does if it has more rows. The values
of gamma_g are in units of the degrees of the whole graph. There is a task for each of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._typing import AnyArray, FloatArray
from graphmargin.distributed.cluster_parameters import graph_parameters
from graphmargin.distributed.engine.handles import (
    Codes,
    Points,
    Rows,
    SampledGraph,
    SampledRows,
    SparseMatrix,
)
from graphmargin.distributed.engine.run import Run
from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.io.ingest import TableSummary, draw_rows, read_sample
from graphmargin.graph.adjacency import neighbor_graph
from graphmargin.labels import EncodedLabels
from graphmargin.margin._solvers.feature_maps import balanced_quotas
from graphmargin.margin.solvers import MAX_ALL_PAIRS
from graphmargin.methods.cut import Cut
from graphmargin.methods.machines import MAX_BLENDED
from graphmargin.search.choice import Choice
from graphmargin.search.data import (
    MAX_LABELED,
    MAX_TRIAL_ROWS,
    MIN_LABELED_PER_CLASS,
    TrainingData,
)
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import default_held_out
from graphmargin.search.parameters import GraphParameters, gamma_g_grid_of_degrees
from graphmargin.search.trials import Trials, join_trials
from graphmargin.search.weighing import choose


class SampleSize(NamedTuple):
    """Numbers of labeled and unlabeled rows on which candidates were tried."""

    n_labeled: int
    n_unlabeled: int


def choose_parameters(
    run: Run,
    table: TableSummary,
    parameters: Cut,
    class_weight: tuple[float, ...] | None,
    degrees: FloatArray,
    widths: tuple[float, float],
    seed: int,
) -> tuple[Choice, SampleSize]:
    """Return the weights of the candidates for gamma_g and C, and the size of the sample.

    Parameters
    ----------
    run : Run
    table : TableSummary
    parameters : Cut
        Parameters of the fit, in which gamma_g or C is None if it is to be chosen.
    class_weight : tuple of float or None
        Weight of the losses of each class.
    degrees : array
        Degrees of a sample of the vertices of the whole graph.
    widths : tuple of two floats
        Widths of the kernel and of the edges.
    seed : int
    """
    n_classes, sampled = len(table.classes), SampledRows(run.folder)
    kernel_width, edge_width = widths

    def write_sample() -> None:
        n_labeled = max(MAX_LABELED, MIN_LABELED_PER_CLASS * n_classes)
        quotas = balanced_quotas(table.label_counts.sum(axis=0), n_labeled)
        rows = draw_rows(run, table, quotas, MAX_TRIAL_ROWS, seed)
        sampled.write(0, read_sample(run, table, rows))

    run.run_once(SampledRows.name, write_sample)
    run.stage(SampledGraph.name, _build_graph, 1, graph_parameters(parameters), edge_width, seed)
    on_sample = replace(
        parameters,
        kernel=replace(parameters.kernel, width=kernel_width),
        walk=replace(parameters.walk, graph=None),
    )
    gammas = (
        gamma_g_grid_of_degrees(degrees) if parameters.gamma_g is None else list(parameters.gamma_g)
    )
    # Candidates of many classes are tried together, because they share shortlists of classes.
    groups = [(gamma_g,) for gamma_g in gammas] if n_classes <= MAX_ALL_PAIRS else [tuple(gammas)]
    results = run.stage("trials", _try_gammas, groups, on_sample, class_weight, n_classes, seed)
    codes = sampled.read(0, Codes).codes
    counts = np.bincount(codes[codes >= 0], minlength=n_classes)
    trials = join_trials([_trials_of(result) for result in results])
    choice = choose(replace(trials, max_blended=MAX_BLENDED), counts, class_weight)
    return choice, SampleSize(int(counts.sum()), int((codes < 0).sum()))


def _build_graph(
    folder: Folder, _: int, graph: GraphParameters, width: float, seed: int
) -> dict[str, Any]:
    """Write the graph of the sampled rows."""
    neighbors = neighbor_graph(
        SampledRows(folder).read(0, Points).X,
        graph.n_neighbors,
        width=width,
        metric=graph.metric,
        n_jobs=1,
        random_state=seed,
    )
    W = neighbors.W
    SampledGraph(folder).write(0, SparseMatrix(W.data, W.indices, W.indptr))
    return {"recall": neighbors.recall}


def _try_gammas(
    folder: Folder,
    _: int,
    gammas: tuple[float, ...],
    parameters: Cut,
    class_weight: tuple[float, ...] | None,
    n_classes: int,
    seed: int,
) -> dict[str, Any]:
    """Return the trials of all values of C for some gamma_g."""
    X, codes = SampledRows(folder).read(0, Rows)
    matrix, n = SampledGraph(folder).read(0, SparseMatrix), len(codes)
    W = sparse.csr_array(tuple(matrix), shape=(n, n))
    labels = EncodedLabels(np.arange(n_classes), codes.astype(np.int64))
    held_out, execution = default_held_out(labels, seed), Execution(n_jobs=1, seed=seed)
    data = TrainingData(X, labels, held_out, execution, W, class_weight)
    cut = replace(parameters, gamma_g=gammas)
    evidence = cut.try_(data, cut.candidates(data), None)
    many = {} if evidence.shortlists is None else {"shortlists": evidence.shortlists}
    return {
        **many,
        "gamma_g": [params["gamma_g"] for params in evidence.params],
        "C": [params["C"] for params in evidence.params],
        "supervised": evidence.supervised,
        "held_out_codes": evidence.held_out_codes,
        "fold": evidence.fold,
        "held_out_values": evidence.held_out_values,
        "scales": evidence.scales,
        "pair_scales": evidence.pair_scales,
        "shares": evidence.shares,
    }


def _trials_of(result: Mapping[str, AnyArray]) -> Trials:
    """Return trials from the result of `_try_gammas`."""
    params = [
        {"gamma_g": float(gamma_g), "C": float(C)}
        for gamma_g, C in zip(result["gamma_g"], result["C"], strict=True)
    ]
    arrays: dict[str, Any] = {name: result[name] for name in result if name not in ("gamma_g", "C")}
    return Trials(params=params, columns="pairs", **arrays)
