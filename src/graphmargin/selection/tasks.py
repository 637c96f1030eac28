"""Tasks: the rows, labels, graph and kernel that candidates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from scipy import sparse

from graphmargin._progress import report_stage
from graphmargin.graph.adjacency import NeighborGraph, check_graph, neighbor_graph
from graphmargin.harmonic.problem import HarmonicProblem, problem_on
from graphmargin.harmonic.solution import HarmonicSolution, normalize_class_mass, solve_path
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.selection.choice import Choice, choose
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import label_counts
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.parameters import GraphParameters, Parameters, fixed_value
from graphmargin.selection.trials import Trials, join

Candidate = dict[str, Any]
"""Values by the name of the parameter."""
Trial = TypeVar("Trial", bound="TaskTrials")


@dataclass(frozen=True)
class Task:
    """The part of a fit that all candidates for one graph and one kernel share.

    Attributes
    ----------
    parameters : Parameters
    X : array or CSR matrix of shape (n, d), or a kernel matrix
    labels : EncodedLabels
    kernel : Kernel
    graph : NeighborGraph or None
        The graph of all rows, if it was built; None for a given one.
    problem : HarmonicProblem
        The graph with all labels; without edges where none is used.
    """

    parameters: Parameters
    X: Any
    labels: EncodedLabels
    kernel: Kernel
    graph: NeighborGraph | None
    problem: HarmonicProblem

    @property
    def W(self) -> sparse.csr_array:  # noqa: N802 - the paper's name
        """The graph of all rows."""
        return self.problem.W

    @property
    def recall(self) -> float | None:
        """Share of the true neighbors in the graph, measured on a sample; None if it was given."""
        return None if self.graph is None else self.graph.recall


@dataclass(frozen=True)
class TaskTrials:
    """The trials of the candidates of a task."""

    task: Task
    evidence: Trials


@dataclass(frozen=True)
class Member:
    """A candidate in a blend: its number in the choice, its trials, its place among them."""

    number: int
    factor: float
    trials: Any
    place: int

    @property
    def candidate(self) -> Candidate:
        """Parameters of the candidate."""
        params: Candidate = self.trials.evidence.params[self.place]
        return params

    @property
    def numbers(self) -> range:
        """Numbers of all candidates of the same task."""
        first = self.number - self.place
        return range(first, first + len(self.trials.evidence.params))


def make_tasks(
    X: Any, labels: EncodedLabels, W: Any, parameters: Sequence[Parameters], execution: Execution
) -> tuple[Task, ...]:
    """Return a task for each set of parameters; every graph and problem is made once.

    W is the given graph, or None.
    """
    given = sparse.csr_array((X.shape[0],) * 2) if W is None else check_graph(W, X.shape[0])
    graphs: dict[GraphParameters, NeighborGraph] = {}
    problems: dict[Any, HarmonicProblem] = {}
    tasks = []
    for wanted in parameters:
        if wanted.graph is not None and wanted.graph not in graphs:
            graphs[wanted.graph] = build_graph(X, wanted.graph, execution)
        graph = None if wanted.graph is None else graphs[wanted.graph]
        # An array of trust is told from another by its identity, as it has no hash.
        key = (wanted.graph, id(wanted.c_labeled), wanted.c_unlabeled)
        if key not in problems:
            edges = given if graph is None else graph.W
            problems[key] = problem_on(
                edges, labels, c_labeled=wanted.c_labeled, c_unlabeled=wanted.c_unlabeled
            )
        kernel = wanted.kernel.on(X, _shared_width(wanted, graph))
        tasks.append(Task(wanted, X, labels, kernel, graph, problems[key]))
    return tuple(tasks)


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


def task_candidates(
    task: Task, grids: Mapping[str, Callable[[], Sequence[Any]]]
) -> list[Candidate]:
    """Return all combinations of the values of some parameters, the last one changing fastest.

    Where a task leaves a parameter to "auto", its values are those of the grid. Values that all
    candidates of the task share, as they are those of its graph or kernel, come first.
    """
    asked = {name: getattr(task.parameters, name) for name in grids}
    values = [grids[name]() if asked[name] is None else asked[name] for name in grids]
    shared = task.parameters.listed
    return [{**shared, **dict(zip(grids, point, strict=True))} for point in product(*values)]


def try_tasks(
    tasks: Sequence[Task],
    candidates_of: Callable[[Task], list[Candidate]],
    try_task: Callable[..., Trial],
    held_out: HeldOutLabels,
    execution: Execution,
) -> tuple[Trial, ...]:
    """Return the trials of all tasks, and report the stage.

    `try_task` takes a task, its candidates, the held-out labels, the execution and a callback for
    progress.
    """
    candidates = [candidates_of(task) for task in tasks]
    n_candidates = sum(map(len, candidates))
    with report_stage(f"trial of {n_candidates} candidates", execution.verbose) as progress:
        return tuple(
            try_task(task, some, held_out, execution, progress)
            for task, some in zip(tasks, candidates, strict=True)
        )


def choose_among(trials: Sequence[TaskTrials], max_blended: int | None = None) -> Choice:
    """Return the weights of the candidates of all tasks, see `choose`."""
    counts = label_counts(trials[0].task.labels)
    return choose(join([part.evidence for part in trials]), counts, max_blended)


def solve_fixed(task: Task, execution: Execution) -> tuple[HarmonicSolution, HarmonicSolution]:
    """Return the solution with the one gamma_g of a task, as solved and with its class priors."""
    wanted, n_classes = task.parameters, len(task.labels.classes)
    with report_stage(f"harmonic solution of {n_classes} classes", execution.verbose) as progress:
        (solution,) = solve_path(
            task.problem,
            [fixed_value(wanted.gamma_g)],
            solver=wanted.solver,
            n_jobs=execution.n_jobs,
            progress=progress,
        )
    priors = wanted.class_mass_normalization
    return solution, with_priors(solution, False if priors is None else priors[0])


def with_priors(solution: HarmonicSolution, priors: Any) -> HarmonicSolution:
    """Return the solution with class masses that match the priors of a candidate, if not False."""
    return solution if priors is False else normalize_class_mass(solution, priors)


def blend_members(trials: Sequence[Any], choice: Choice) -> list[Member]:
    """Return the candidates of a blend over all trials, the most important first."""
    places = [(part, i) for part in trials for i in range(len(part.evidence.params))]
    return [Member(i, factor, *places[i]) for i, factor in choice.blended]


def _shared_width(wanted: Parameters, graph: NeighborGraph | None) -> float | None:
    """Return the width that the edges have found already, if the kernel has the same."""
    if graph is None or wanted.graph is None:
        return None
    is_same = wanted.graph.metric == "euclidean" and wanted.graph.width == "paper"
    return graph.weighting.width if is_same else None
