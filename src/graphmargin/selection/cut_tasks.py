"""Tasks of max-margin graph cuts: a graph and a kernel, and the candidates that share them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy import sparse

from graphmargin.harmonic.problem import HarmonicProblem, problem_on
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.selection.execution import Execution
from graphmargin.selection.graphs import FittedGraph, fit_graphs
from graphmargin.selection.grids import c_grid, gamma_g_grid, prior_grid
from graphmargin.selection.parameters import CutParameters

Candidate = dict[str, Any]
"""Values of ``gamma_g``, ``C`` and ``class_mass_normalization`` (False, or a tuple of priors)."""


@dataclass(frozen=True)
class CutTask:
    """The rows, labels, graph and kernel that candidates share.

    Attributes
    ----------
    parameters : CutParameters
    X : array or CSR matrix of shape (n, d), or a kernel matrix
    labels : EncodedLabels
    kernel : Kernel
    graph : FittedGraph
    problem : HarmonicProblem
        The graph with all labels.
    """

    parameters: CutParameters
    X: Any
    labels: EncodedLabels
    kernel: Kernel
    graph: FittedGraph
    problem: HarmonicProblem


def cut_tasks(
    X: Any,
    labels: EncodedLabels,
    W: Any,
    parameters: Sequence[CutParameters],
    execution: Execution,
) -> tuple[CutTask, ...]:
    """Return a task for each set of parameters; every graph is built once."""
    graphs = fit_graphs(X, W, [wanted.graph for wanted in parameters], execution)
    problems: dict[Any, HarmonicProblem] = {}
    tasks = []
    for wanted in parameters:
        graph = graphs[wanted.graph]
        # An array of trust is told from another by its identity: it has no hash.
        key = (wanted.graph, id(wanted.c_labeled), wanted.c_unlabeled)
        if key not in problems:
            problems[key] = task_problem(graph.W, labels, wanted.c_labeled, wanted)
        kernel = wanted.kernel.on(X, _shared_width(wanted, graph))
        tasks.append(CutTask(wanted, X, labels, kernel, graph, problems[key]))
    return tuple(tasks)


def supervised_tasks(
    X: Any, labels: EncodedLabels, parameters: Sequence[CutParameters]
) -> tuple[CutTask, ...]:
    """Return a task for each kernel: cuts with gamma_g = inf, on a graph without edges."""
    n = X.shape[0]
    graph = FittedGraph(sparse.csr_array((n, n)), None, None)
    return tuple(
        CutTask(
            wanted,
            X,
            labels,
            wanted.kernel.on(X),
            graph,
            task_problem(graph.W, labels, wanted.c_labeled, wanted),
        )
        for wanted in parameters
    )


def cut_candidates(task: CutTask) -> list[Candidate]:
    """Return all combinations of gamma_g, C and class priors; with gamma_g = inf, priors once."""
    wanted, labels = task.parameters, task.labels
    gammas, costs, priors = wanted.gamma_g, wanted.C, wanted.class_mass_normalization
    gammas = tuple(gamma_g_grid(task.graph.W)) if gammas is None else gammas
    costs = tuple(c_grid(task.X, task.kernel)) if costs is None else costs
    priors = tuple(prior_grid(labels)) if priors is None else priors
    return [
        {"gamma_g": gamma_g, "C": C, "class_mass_normalization": prior}
        for gamma_g, C, prior in product(gammas, costs, priors)
        if np.isfinite(gamma_g) or prior == priors[0]
    ]


def task_problem(
    W: sparse.csr_array, labels: EncodedLabels, c_labeled: Any, wanted: CutParameters
) -> HarmonicProblem:
    """Return the harmonic problem of a task, on its graph or that of a sample of its rows."""
    return problem_on(W, labels, c_labeled=c_labeled, c_unlabeled=wanted.c_unlabeled)


def _shared_width(wanted: CutParameters, graph: FittedGraph) -> float | None:
    """Return the width that the edges have found already, if the kernel has the same."""
    if wanted.graph is None or wanted.graph.metric != "euclidean" or wanted.graph.width != "paper":
        return None
    return graph.paper_width
