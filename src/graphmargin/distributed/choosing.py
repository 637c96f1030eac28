"""gamma_g and C by the rule of one machine, on a sample of the rows.

Candidates are tried on a graph of the labeled rows, up to 1,000 of them or ten a class, and of up
to 50,000 unlabeled ones, drawn at random, as `MaxMarginGraphCut` does with more rows than that.
The values of gamma_g are in units of the degrees of the whole graph. Each of them is a task.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._typing import AnyArray, FloatArray
from graphmargin.distributed.ingest import Table, draw_rows, rows_at
from graphmargin.distributed.parameters import graph_parameters
from graphmargin.distributed.run import Run
from graphmargin.distributed.storage import Folder
from graphmargin.graph.adjacency import Metric, neighbor_graph
from graphmargin.labels import EncodedLabels
from graphmargin.margin.calibration import Calibration, calibration_targets, fit_calibration
from graphmargin.margin.features import even_quotas
from graphmargin.selection.choice import Choice, choose
from graphmargin.selection.cut_trials import (
    LABELED_A_CLASS,
    MAX_BLENDED,
    MAX_LABELED,
    MAX_TRIAL_ROWS,
    try_cuts,
)
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import sink_grid
from graphmargin.selection.held_out import default_held_out
from graphmargin.selection.parameters import Parameters
from graphmargin.selection.tasks import make_tasks
from graphmargin.selection.trials import Trials, join

SAMPLE, SAMPLE_GRAPH, TRIALS = "sample.pack", "sample-graph", "trials"


class SampleSize(NamedTuple):
    """Numbers of labeled and unlabeled rows that candidates were tried on."""

    n_labeled: int
    n_unlabeled: int


def choose_parameters(
    run: Run,
    table: Table,
    parameters: Parameters,
    degrees: FloatArray,
    *,
    widths: tuple[float, float],
    seed: int,
) -> tuple[Choice, SampleSize]:
    """Return the weights of the candidates for gamma_g and C, and the size of the sample.

    Parameters
    ----------
    run : Run
    table : Table
    parameters : Parameters
        Those of the job, None where a value is to be chosen.
    degrees : array
        Of a sample of the vertices of the whole graph.
    widths : tuple of two floats
        Of the kernel and of the edges.
    seed : int
    """
    n_classes, graph = len(table.classes), graph_parameters(parameters)
    if not run.folder.exists(SAMPLE):
        most = max(MAX_LABELED, LABELED_A_CLASS * n_classes)
        counts = table.label_counts.sum(axis=0)
        rows = draw_rows(run, table, even_quotas(counts, most), MAX_TRIAL_ROWS, seed)
        X, codes = rows_at(run, table, rows)
        run.folder.write(SAMPLE, {"X": X, "codes": codes})
    kernel_width, edge_width = widths
    run.once(SAMPLE_GRAPH, _sample_graph, graph.n_neighbors, edge_width, graph.metric, seed)
    on_sample = replace(
        parameters, kernel=replace(parameters.kernel, width=kernel_width), graph=None
    )
    gammas = sink_grid(degrees) if parameters.gamma_g is None else list(parameters.gamma_g)
    notes = run.stage(TRIALS, _try, gammas, on_sample, n_classes, seed)
    codes = run.folder.read(SAMPLE, ["codes"])["codes"]
    counts = np.bincount(codes[codes >= 0], minlength=n_classes)
    choice = choose(join([_trials_of(note) for note in notes]), counts, MAX_BLENDED)
    return choice, SampleSize(int(counts.sum()), int((codes < 0).sum()))


def blended_candidates(choice: Choice) -> list[tuple[float, float, float]]:
    """Return gamma_g, C and factor of the candidates in the blend, the most important first."""
    params = choice.trials.params
    return [(params[i]["gamma_g"], params[i]["C"], factor) for i, factor in choice.blended]


def held_out_calibration(choice: Choice) -> Calibration | None:
    """Return the calibration of the blend on held-out labels; None if no label was held out."""
    codes = choice.trials.held_out_codes
    if not len(codes):
        return None
    targets = calibration_targets(np.eye(len(choice.label_counts))[codes], codes)
    return fit_calibration(choice.scores, targets)


def _sample_graph(
    folder: Folder, _: int, n_neighbors: int, width: float, metric: Metric, seed: int
) -> dict[str, Any]:
    """Write the graph of the sampled rows."""
    X = folder.read(SAMPLE, ["X"])["X"]
    graph = neighbor_graph(
        X,
        n_neighbors,
        width="binary" if np.isinf(width) else width,
        metric=metric,
        n_jobs=1,
        random_state=seed,
    )
    W = graph.W
    arrays = {"indptr": W.indptr, "indices": W.indices, "data": W.data}
    (folder / SAMPLE_GRAPH).write("graph.pack", arrays)
    return {"recall": graph.recall}


def _try(
    folder: Folder,
    _: int,
    gamma_g: float,
    parameters: Parameters,
    n_classes: int,
    seed: int,
) -> dict[str, Any]:
    """Return the trials of all values of C for one gamma_g."""
    sample = folder.read(SAMPLE)
    graph = (folder / SAMPLE_GRAPH).read("graph.pack")
    n = len(sample["codes"])
    W = sparse.csr_array((graph["data"], graph["indices"], graph["indptr"]), shape=(n, n))
    labels = EncodedLabels(np.arange(n_classes), sample["codes"].astype(np.int64))
    execution = Execution(n_jobs=1, seed=seed)
    tasks = make_tasks(sample["X"], labels, W, [replace(parameters, gamma_g=(gamma_g,))], execution)
    (trials,) = try_cuts(tasks, default_held_out(labels, seed), execution)
    evidence = trials.evidence
    return {
        "gamma_g": [params["gamma_g"] for params in evidence.params],
        "C": [params["C"] for params in evidence.params],
        "supervised": evidence.supervised,
        "held_out_codes": evidence.held_out_codes,
        "fold": evidence.fold,
        "held_out_values": evidence.held_out_values,
        "scales": evidence.scales,
        "shares": evidence.shares,
    }


def _trials_of(note: Mapping[str, AnyArray]) -> Trials:
    params = [
        {"gamma_g": float(gamma_g), "C": float(C)}
        for gamma_g, C in zip(note["gamma_g"], note["C"], strict=True)
    ]
    arrays: dict[str, Any] = {name: note[name] for name in note if name not in ("gamma_g", "C")}
    return Trials(params=params, columns="pairs", **arrays)
