"""Graphs of a fit: built from the rows, each once, or given."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from graphmargin._progress import report_stage
from graphmargin.graph.adjacency import NeighborGraph, check_graph, neighbor_graph
from graphmargin.selection.execution import Execution
from graphmargin.selection.parameters import GraphParameters


@dataclass(frozen=True)
class FittedGraph:
    """The graph of all rows.

    Attributes
    ----------
    W : csr_array of shape (n, n)
    recall : float or None
        Share of the true neighbors in the graph, measured on a sample; None for a given graph.
    points : NeighborGraph or None
        What attaches new points; None for a given graph.
    """

    W: sparse.csr_array
    recall: float | None
    points: NeighborGraph | None

    @property
    def paper_width(self) -> float | None:
        """The paper's width of the rows, if the edges have it; None if it is not known."""
        return None if self.points is None else self.points.weighting.width


def fit_graphs(
    X: Any, W: Any, parameters: Iterable[GraphParameters | None], execution: Execution
) -> dict[GraphParameters | None, FittedGraph]:
    """Return the graph for each set of parameters, None being the given graph W."""
    graphs: dict[GraphParameters | None, FittedGraph] = {}
    for wanted in parameters:
        if wanted in graphs:
            continue
        if wanted is None:
            graphs[wanted] = FittedGraph(check_graph(W, X.shape[0]), None, None)
        else:
            points = build_graph(X, wanted, execution)
            graphs[wanted] = FittedGraph(points.W, points.recall, points)
    return graphs


def build_graph(X: Any, parameters: GraphParameters, execution: Execution) -> NeighborGraph:
    """Return the k-NN graph of some rows, and report the stage."""
    with report_stage(f"graph of {X.shape[0]:,} points", execution.verbose) as progress:
        return neighbor_graph(
            X,
            parameters.n_neighbors,
            width=parameters.width,
            metric=parameters.metric,
            n_jobs=execution.n_jobs,
            random_state=execution.seed,
            progress=progress,
        )
