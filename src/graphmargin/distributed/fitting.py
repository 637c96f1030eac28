"""The whole way: rows, regions, graph, harmonic solutions, max-margin machine, labels."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from graphmargin._typing import AnyArray, IntArray
from graphmargin.distributed.blocks import Blocks, build_graph
from graphmargin.distributed.choosing import (
    SampleSize,
    blended_candidates,
    choose_parameters,
    held_out_calibration,
)
from graphmargin.distributed.components import Reached, find_reached
from graphmargin.distributed.diffusion import DiffusionFacts, solve
from graphmargin.distributed.ingest import Table
from graphmargin.distributed.learning import calibrate, learn
from graphmargin.distributed.lessons import Candidate
from graphmargin.distributed.parameters import graph_parameters, is_to_choose
from graphmargin.distributed.placing import QUERIES, place_rows
from graphmargin.distributed.planning import count_parts
from graphmargin.distributed.run import Run
from graphmargin.distributed.transducing import label_parts
from graphmargin.graph.weights import paper_width
from graphmargin.margin.calibration import Calibration
from graphmargin.margin.machine import MarginMachine
from graphmargin.margin.predictor import MarginPredictor
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import FitWarning, UnreachedWarning, machine_warnings
from graphmargin.selection.parameters import GraphParameters, Parameters, fixed_value

PLAN = "plan.json"


@dataclass(frozen=True)
class Fitted:
    """What a job has found.

    Attributes
    ----------
    machine : MarginMachine
    calibration : Calibration
    blocks : Blocks
        The graph.
    replication : float
        Regions that a row was known in, on average.
    reached : Reached or None
        Which components have a label; None if no harmonic system was to be solved.
    facts : dict from gamma_g to DiffusionFacts
        How the harmonic systems were solved.
    choice : Choice or None
        None if parameters were fixed.
    sample : SampleSize
        Rows that parameters were chosen on.
    class_counts, source_counts : array
        Rows of each class, and of each of `graphmargin.labeling.findings.SOURCES`.
    warnings : tuple of FitWarning
    """

    machine: MarginMachine
    calibration: Calibration
    blocks: Blocks
    replication: float
    reached: Reached | None
    facts: dict[float, DiffusionFacts]
    choice: Choice | None
    sample: SampleSize
    class_counts: IntArray
    source_counts: IntArray
    warnings: tuple[FitWarning, ...]

    def predictor(self, classes: AnyArray) -> MarginPredictor:
        """Return what labels new rows, with these classes for the codes 0..c-1."""
        return MarginPredictor(classes, (self.machine,), self.calibration)


def fit_cut(run: Run, table: Table, parameters: Parameters, *, seed: int) -> Fitted:
    """Label all rows of a table, and learn the max-margin machine.

    Parameters
    ----------
    run : Run
    table : Table
    parameters : Parameters
    seed : int

    Returns
    -------
    Fitted
        The labels themselves are in ``labels/``, cut by the pieces of the input.
    """
    graph = graph_parameters(parameters)
    n_parts = _count_parts(run, table, graph.n_neighbors)
    options: dict[str, Any] = {
        "n_neighbors": graph.n_neighbors,
        "metric": graph.metric,
        "seed": seed,
    }
    replication = place_rows(run, table, n_parts, **options)
    kernel_width, edge_width = _widths(run, table, graph)
    blocks = build_graph(run, table.n_pieces, n_parts, width=edge_width, **options)
    choice, sample = None, SampleSize(0, 0)
    if is_to_choose(parameters):
        widths = kernel_width, edge_width
        choice, sample = choose_parameters(
            run, table, parameters, blocks.degrees, widths=widths, seed=seed
        )
        candidates = blended_candidates(choice)
    else:
        candidates = [(fixed_value(parameters.gamma_g), fixed_value(parameters.C), 1.0)]
    # The one that counts most comes first: it tells which labels the graph induces.
    folders = {gamma: f"harmonic-{gamma:g}" for gamma, _, _ in candidates if np.isfinite(gamma)}
    solution = next(iter(folders.values()), None)
    n_classes = len(table.classes)
    reached = find_reached(run, n_parts) if folders else None
    facts = {
        gamma: solve(run, n_parts, n_classes, gamma, folder) for gamma, folder in folders.items()
    }
    kernel = replace(parameters.kernel.kernel, width=kernel_width)
    machine = learn(
        run,
        n_parts,
        [Candidate(C, factor, folders.get(gamma)) for gamma, C, factor in candidates],
        kernel,
        center=table.mean if kernel.kind in ("linear", "rbf") else 0.0,
        n_classes=n_classes,
        eps=parameters.eps,
        loss_weights=parameters.loss_weights,
        seed=seed,
    )
    calibration = None if choice is None else held_out_calibration(choice)
    if calibration is None:
        calibration = calibrate(run, n_parts, machine, solution, eps=parameters.eps, seed=seed)
    of_machine = None if choice is None else calibration
    class_counts, source_counts = label_parts(
        run, n_parts, table.offsets, solution=solution, calibration=of_machine
    )
    return Fitted(
        machine=machine,
        calibration=calibration,
        blocks=blocks,
        replication=replication,
        reached=reached,
        facts=facts,
        choice=choice,
        sample=sample,
        class_counts=class_counts,
        source_counts=source_counts,
        warnings=(*_graph_warnings(reached, facts, table), *machine_warnings([machine])),
    )


def _widths(run: Run, table: Table, graph: GraphParameters) -> tuple[float, float]:
    """Return the widths of the kernel and of the edges."""
    paper = float(np.sqrt(table.n_features) * table.spread.mean()) or 1.0
    if graph.width == "binary":
        return paper, np.inf
    if graph.width != "paper":
        return float(graph.width), float(graph.width)
    if graph.metric == "cosine":  # where the spread of rows of unit length is known of a sample
        return paper, paper_width(run.folder.read(QUERIES, ["X"])["X"])
    return paper, paper


def _graph_warnings(
    reached: Reached | None, facts: dict[float, DiffusionFacts], table: Table
) -> list[FitWarning]:
    """Return the warnings about rows that no label reaches, and about labels that are not sure."""
    warnings = []
    if reached is not None and reached.n_unreached:
        warnings.append(
            FitWarning(
                f"{reached.n_unreached:,} of {table.n_rows:,} rows are in components of the graph "
                "without a label: the graph says nothing of them; label a row in each component, "
                "or raise `n_neighbors`",
                UnreachedWarning,
            )
        )
    for gamma_g, solved in facts.items():
        if not (solved.converged and solved.certain):
            warnings.append(
                FitWarning(
                    f"harmonic solution for gamma_g={gamma_g:g}: violation {solved.violation:.1e} "
                    f"after {solved.iterations:,} iterations, so that some labels of the graph are "
                    "not certain; try a larger gamma_g",
                    ConvergenceWarning,
                )
            )
    return warnings


def _count_parts(run: Run, table: Table, n_neighbors: int) -> int:
    """Return the number of parts; a run that goes on keeps it, whatever the workers are now."""
    wanted = count_parts(
        run.cluster,
        n_rows=table.n_rows,
        n_features=table.n_features,
        n_neighbors=n_neighbors,
        n_classes=len(table.classes),
    )
    return int(run.settled(PLAN, {"n_parts": wanted})["n_parts"])
