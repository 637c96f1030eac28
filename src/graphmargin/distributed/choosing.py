"""gamma_g and C by the rule of one machine, on a sample of the rows.

Candidates are tried on a graph of the labeled rows, up to 1,000 of them or ten a class, and of up
to 50,000 unlabeled ones, drawn at random, as `MaxMarginGraphCut` does with more rows than that.
The values of gamma_g are in units of the degrees of the whole graph. Each of them is a task.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin._typing import FloatArray
from graphmargin.distributed.ingest import Table, draw_rows, rows_at
from graphmargin.distributed.run import Run
from graphmargin.distributed.storage import Folder
from graphmargin.estimators.margin_classifier import MAX_BLENDED
from graphmargin.estimators.max_margin_graph_cut import MAX_TRIED, MaxMarginGraphCut
from graphmargin.graph.adjacency import Metric, neighbor_graph
from graphmargin.labels import EncodedLabels
from graphmargin.margin.calibration import calibration_targets, fit_calibration
from graphmargin.margin.features import even_quotas
from graphmargin.margin.machine import class_scores
from graphmargin.selection.choice import Choice, Trials, choose, join
from graphmargin.selection.cut import LABELED_A_CLASS, MAX_LABELED
from graphmargin.selection.grids import default_folds, is_auto, sink_grid

SAMPLE, SAMPLE_GRAPH, TRIALS = "sample.pack", "sample-graph", "trials"


@dataclass(frozen=True)
class SampledChoice:
    """Which candidates were chosen, on a sample of the rows.

    Attributes
    ----------
    choice : Choice
        Candidates, what speaks for each, their weights, and the estimated error.
    n_labeled, n_unlabeled : int
        Rows of the sample.
    """

    choice: Choice
    n_labeled: int
    n_unlabeled: int

    @property
    def blended(self) -> list[tuple[float, float, float]]:
        """gamma_g, C and factor of the candidates in the blend, the most important first."""
        params = self.choice.trials.params
        return [(params[i]["gamma_g"], params[i]["C"], f) for i, f in self.choice.blended]

    @property
    def calibration(self) -> tuple[float, float] | None:
        """Sharpness and doubt of probabilities, from hidden labels; None if there were none."""
        given = self.choice.trials.given
        if not len(given):
            return None
        targets = calibration_targets(np.eye(len(self.choice.label_counts))[given], given)
        return fit_calibration(self.choice.scores, targets)


def choose_parameters(
    run: Run,
    table: Table,
    cut: MaxMarginGraphCut,
    degrees: FloatArray,
    *,
    widths: tuple[float, float],
    seed: int,
) -> SampledChoice:
    """Return the weights of the candidates for gamma_g and C.

    Parameters
    ----------
    run : Run
    table : Table
    cut : MaxMarginGraphCut
        Its parameters, "auto" where a value is to be chosen.
    degrees : array
        Of a sample of the vertices of the whole graph.
    widths : tuple of two floats
        Of the kernel and of the edges.
    seed : int
    """
    n_classes = len(table.classes)
    if not run.folder.exists(SAMPLE):
        most = max(MAX_LABELED, LABELED_A_CLASS * n_classes)
        counts = table.label_counts.sum(axis=0)
        rows = draw_rows(run, table, even_quotas(counts, most), MAX_TRIED, seed)
        X, codes = rows_at(run, table, rows)
        run.folder.write(SAMPLE, {"X": X, "codes": codes})
    kernel_width, edge_width = widths
    parameters = {
        **cut.get_params(),
        "width": kernel_width,
        "affinity": "precomputed",
        "class_mass_normalization": False,
        "n_jobs": 1,
        "random_state": seed,
    }
    run.once(SAMPLE_GRAPH, _sample_graph, cut.n_neighbors, edge_width, cut.metric, seed)
    gammas = sink_grid(degrees) if is_auto(cut.gamma_g) else [float(cut.gamma_g)]
    notes = run.stage(TRIALS, _try, gammas, parameters, n_classes, seed)
    codes = run.folder.read(SAMPLE, ["codes"])["codes"]
    counts = np.bincount(codes[codes >= 0], minlength=n_classes)
    trials = join([_trials_of(note, n_classes) for note in notes])
    choice = choose(trials, counts, MAX_BLENDED)
    return SampledChoice(choice, int(counts.sum()), int((codes < 0).sum()))


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
    parameters: dict[str, Any],
    n_classes: int,
    seed: int,
) -> dict[str, Any]:
    """Try all values of C for one gamma_g."""
    sample = folder.read(SAMPLE)
    found = (folder / SAMPLE_GRAPH).read("graph.pack")
    n = len(sample["codes"])
    W = sparse.csr_array((found["data"], found["indices"], found["indptr"]), shape=(n, n))
    cut = MaxMarginGraphCut(**parameters)
    labels = EncodedLabels(np.arange(n_classes), sample["codes"].astype(np.int64))
    hidden = default_folds(labels.codes, seed)
    trials = cut._search(sample["X"], labels, W, {"gamma_g": [gamma_g]}, hidden).trials
    return {
        "gamma_g": [params["gamma_g"] for params in trials.params],
        "C": [params["C"] for params in trials.params],
        "supervised": trials.supervised,
        "given": trials.given,
        "fold": trials.fold,
        "held_out": trials.held_out,
        "scales": trials.scales,
        "shares": trials.shares,
    }


def _trials_of(note: dict[str, Any], n_classes: int) -> Trials:
    params = [
        {"gamma_g": float(gamma_g), "C": float(C)}
        for gamma_g, C in zip(note["gamma_g"], note["C"], strict=True)
    ]
    arrays = {name: note[name] for name in note if name not in ("gamma_g", "C")}
    return Trials(params=params, decide=partial(class_scores, n_classes=n_classes), **arrays)
