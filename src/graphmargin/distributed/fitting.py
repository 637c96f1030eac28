"""The whole way: rows, regions, graph, harmonic solutions, max-margin machine, labels."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from graphmargin._typing import AnyArray, IntArray
from graphmargin.distributed.blocks import Blocks, build_graph
from graphmargin.distributed.choosing import SampledChoice, choose_parameters
from graphmargin.distributed.components import Reached, find_reached
from graphmargin.distributed.diffusion import DiffusionFacts, solve
from graphmargin.distributed.ingest import Table
from graphmargin.distributed.learning import calibrate, learn
from graphmargin.distributed.lessons import Candidate
from graphmargin.distributed.placing import QUERIES, place_rows
from graphmargin.distributed.planning import count_parts
from graphmargin.distributed.run import Run
from graphmargin.distributed.transducing import label_parts
from graphmargin.estimators.max_margin_graph_cut import MaxMarginGraphCut
from graphmargin.graph.weights import paper_width
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.predictor import MarginPredictor
from graphmargin.selection.grids import is_auto

PLAN = "plan.json"
CALLER_OF_FIT = 5
"""Stack level of who calls `DistributedGraphCut.fit`, as seen from `_warn`."""


@dataclass(frozen=True)
class Fitted:
    """What a job has found.

    Attributes
    ----------
    machine : MarginMachine
    calibration : tuple of two floats
        Sharpness and doubt of its probabilities.
    blocks : Blocks
        The graph.
    replication : float
        Regions that a row was known in, on average.
    reached : Reached or None
        Which components have a label; None if no harmonic system was to be solved.
    facts : dict from gamma_g to DiffusionFacts
        How the harmonic systems were solved.
    choice : SampledChoice or None
        If parameters were chosen.
    class_counts, source_counts : array
        Rows of each class, and of each of `graphmargin.labeling.findings.SOURCES`.
    """

    machine: MarginMachine
    calibration: tuple[float, float]
    blocks: Blocks
    replication: float
    reached: Reached | None
    facts: dict[float, DiffusionFacts]
    choice: SampledChoice | None
    class_counts: IntArray
    source_counts: IntArray

    def predictor(self, classes: AnyArray) -> MarginPredictor:
        """Return what labels new rows, with these classes for the codes 0..c-1."""
        calibration = Calibration(*self.calibration)
        return MarginPredictor(classes, (self.machine.collapsed(),), calibration)


def fit_cut(run: Run, table: Table, cut: MaxMarginGraphCut, *, seed: int) -> Fitted:
    """Label all rows of a table, and learn the max-margin machine.

    Parameters
    ----------
    run : Run
    table : Table
    cut : MaxMarginGraphCut
        The parameters.
    seed : int

    Returns
    -------
    Fitted
        The labels themselves are in ``labels/``, cut by the pieces of the input.
    """
    n_parts = _count_parts(run, table, cut)
    options = {"n_neighbors": cut.n_neighbors, "metric": cut.metric, "seed": seed}
    replication = place_rows(run, table, n_parts, **options)
    kernel_width, edge_width = _widths(run, table, cut)
    blocks = build_graph(run, table.n_pieces, n_parts, width=edge_width, **options)
    choice = None
    if is_auto(cut.gamma_g) or is_auto(cut.C):
        widths = kernel_width, edge_width
        choice = choose_parameters(run, table, cut, blocks.degrees, widths=widths, seed=seed)
    candidates = choice.blended if choice else [(float(cut.gamma_g), float(cut.C), 1.0)]
    # The one that counts most comes first: it tells which labels the graph induces.
    folders = {gamma: f"harmonic-{gamma:g}" for gamma, _, _ in candidates if np.isfinite(gamma)}
    solution = next(iter(folders.values()), None)
    n_classes = len(table.classes)
    reached = find_reached(run, n_parts) if folders else None
    facts = {
        gamma: solve(run, n_parts, n_classes, gamma, folder) for gamma, folder in folders.items()
    }
    _warn(reached, facts, table)
    machine = learn(
        run,
        n_parts,
        [Candidate(C, factor, folders.get(gamma)) for gamma, C, factor in candidates],
        Kernel(cut.kernel, degree=cut.degree, coef0=cut.coef0, width=kernel_width),
        center=table.mean if cut.kernel in ("linear", "rbf") else 0.0,
        n_classes=n_classes,
        eps=cut.eps,
        loss_weights=cut.loss_weights,
        seed=seed,
    )
    calibration = None if choice is None else choice.calibration
    if calibration is None:
        calibration = calibrate(run, n_parts, machine, solution, eps=cut.eps, seed=seed)
    of_machine = None if choice is None else calibration
    counts = label_parts(run, n_parts, table.offsets, solution=solution, calibration=of_machine)
    return Fitted(machine, calibration, blocks, replication, reached, facts, choice, *counts)


def _widths(run: Run, table: Table, cut: MaxMarginGraphCut) -> tuple[float, float]:
    """Return the widths of the kernel and of the edges."""
    paper = float(np.sqrt(table.n_features) * table.spread.mean()) or 1.0
    if cut.width == "binary":
        return paper, np.inf
    if cut.width != "paper":
        return float(cut.width), float(cut.width)
    if cut.metric == "cosine":  # where the spread of rows of unit length is known of a sample
        return paper, paper_width(run.folder.read(QUERIES, ["X"])["X"])
    return paper, paper


def _warn(reached: Reached | None, facts: dict[float, DiffusionFacts], table: Table) -> None:
    """Say what a user should know: points that no label reaches, and labels that are not sure."""
    if reached is not None and reached.n_unreached:
        warnings.warn(
            f"{reached.n_unreached:,} of {table.n_rows:,} rows are in components of the graph "
            "without a label: the graph says nothing of them; label a row in each component, or "
            "raise `n_neighbors`",
            UserWarning,
            stacklevel=CALLER_OF_FIT,
        )
    for gamma, found in facts.items():
        if not (found.converged and found.certain):
            warnings.warn(
                f"harmonic solution for gamma_g={gamma:g}: violation {found.violation:.1e} after "
                f"{found.iterations:,} iterations, so that some labels of the graph are not "
                "certain; try a larger gamma_g",
                ConvergenceWarning,
                stacklevel=CALLER_OF_FIT,
            )


def _count_parts(run: Run, table: Table, cut: MaxMarginGraphCut) -> int:
    """Return the number of parts; a run that goes on keeps it, whatever the workers are now."""
    wanted = count_parts(
        run.cluster,
        n_rows=table.n_rows,
        n_features=table.n_features,
        n_neighbors=cut.n_neighbors,
        n_classes=len(table.classes),
    )
    return int(run.settled(PLAN, {"n_parts": wanted})["n_parts"])
