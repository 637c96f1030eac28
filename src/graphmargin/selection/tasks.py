"""Tasks: rows, labels, graph and kernel that candidates share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeVar

from scipy import sparse

from graphmargin._progress import report_stage
from graphmargin.graph.adjacency import NeighborGraph, check_graph, neighbor_graph
from graphmargin.harmonic.problem import HarmonicProblem, make_harmonic_problem
from graphmargin.harmonic.solution import HarmonicSolution, normalize_class_mass, solve_path
from graphmargin.labels import EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.selection.choice import Choice, choose
from graphmargin.selection.execution import Execution
from graphmargin.selection.grids import label_counts
from graphmargin.selection.held_out import HeldOutLabels
from graphmargin.selection.parameters import GraphParameters, Parameters, fixed_value
from graphmargin.selection.trials import Trials, join_trials

Candidate = dict[str, Any]
"""Values of parameters, by name."""
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
        The graph of all rows; None if it was given.
    problem : HarmonicProblem
        The graph with all labels; it has no edges if no graph is used.
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
        """Share of the true nearest neighbors in the graph, from a sample; None if it was given."""
        return None if self.graph is None else self.graph.recall


@dataclass(frozen=True)
class TaskTrials:
    """The trials of the candidates of a task."""

    task: Task
    evidence: Trials


@dataclass(frozen=True)
class BlendMember:
    """A candidate in a blend: its number in the choice, its trials and its position in them."""

    number: int
    factor: float
    trials: Any
    position: int

    @property
    def candidate(self) -> Candidate:
        """Parameters of the candidate."""
        params: Candidate = self.trials.evidence.params[self.position]
        return params

    @property
    def numbers(self) -> range:
        """Numbers of all candidates of the same task."""
        first = self.number - self.position
        return range(first, first + len(self.trials.evidence.params))


def make_tasks(
    X: Any, labels: EncodedLabels, W: Any, sets: Sequence[Parameters], execution: Execution
) -> tuple[Task, ...]:
    """Return a task for each of some sets of parameters; equal graphs are built once.

    W is the given graph, or None.
    """
    given = sparse.csr_array((X.shape[0],) * 2) if W is None else check_graph(W, X.shape[0])
    graphs: dict[GraphParameters, NeighborGraph] = {}
    problems: dict[Any, HarmonicProblem] = {}
    tasks = []
    for parameters in sets:
        if parameters.graph is not None and parameters.graph not in graphs:
            graphs[parameters.graph] = build_graph(X, parameters.graph, execution)
        graph = None if parameters.graph is None else graphs[parameters.graph]
        # Arrays of trust have no hash, and are distinguished by their identity.
        key = (parameters.graph, id(parameters.c_labeled), parameters.c_unlabeled)
        if key not in problems:
            edges = given if graph is None else graph.W
            problems[key] = make_harmonic_problem(
                edges, labels, c_labeled=parameters.c_labeled, c_unlabeled=parameters.c_unlabeled
            )
        kernel = parameters.kernel.kernel_for(X, _shared_width(parameters, graph))
        tasks.append(Task(parameters, X, labels, kernel, graph, problems[key]))
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

    Where a parameter of the task is "auto", its values are those of the grid. Candidates begin with
    the values that all of them share, those of the graph and the kernel.
    """
    given = {name: getattr(task.parameters, name) for name in grids}
    values = [grids[name]() if given[name] is None else given[name] for name in grids]
    shared = task.parameters.list_values
    return [{**shared, **dict(zip(grids, point, strict=True))} for point in product(*values)]


def try_tasks(
    tasks: Sequence[Task],
    list_candidates: Callable[[Task], list[Candidate]],
    try_task: Callable[..., Trial],
    held_out: HeldOutLabels,
    execution: Execution,
) -> tuple[Trial, ...]:
    """Return the trials of all tasks, and report the stage.

    `try_task` takes a task, its candidates, the held-out labels, the execution and a callback for
    progress.
    """
    candidates = [list_candidates(task) for task in tasks]
    n_candidates = sum(map(len, candidates))
    with report_stage(f"trial of {n_candidates} candidates", execution.verbose) as progress:
        return tuple(
            try_task(task, of_task, held_out, execution, progress)
            for task, of_task in zip(tasks, candidates, strict=True)
        )


def choose_among(trials: Sequence[TaskTrials], max_blended: int | None = None) -> Choice:
    """Return the choice among the candidates of all tasks, see `choose`."""
    task = trials[0].task
    return choose(
        join_trials([part.evidence for part in trials]),
        label_counts(task.labels),
        max_blended,
        task.parameters.class_weight,
    )


def solve_fixed(task: Task, execution: Execution) -> tuple[HarmonicSolution, HarmonicSolution]:
    """Return the solution with the fixed gamma_g of a task, before and after normalization."""
    parameters, n_classes = task.parameters, len(task.labels.classes)
    with report_stage(f"harmonic solution of {n_classes} classes", execution.verbose) as progress:
        (solution,) = solve_path(
            task.problem,
            [fixed_value(parameters.gamma_g)],
            n_jobs=execution.n_jobs,
            progress=progress,
        )
    priors = parameters.class_mass_normalization
    return solution, normalize_to_priors(solution, False if priors is None else priors[0])


def normalize_to_priors(solution: HarmonicSolution, priors: Any) -> HarmonicSolution:
    """Return the solution with class masses normalized to priors, or itself if they are False."""
    return solution if priors is False else normalize_class_mass(solution, priors)


def blend_members(trials: Sequence[Any], choice: Choice) -> list[BlendMember]:
    """Return the candidates of a blend over all trials, the heaviest first."""
    positions = [(part, i) for part in trials for i in range(len(part.evidence.params))]
    return [BlendMember(i, factor, *positions[i]) for i, factor in choice.blended]


def _shared_width(parameters: Parameters, graph: NeighborGraph | None) -> float | None:
    """Return the width of the edges if the kernel has the same, else None."""
    if graph is None or parameters.graph is None:
        return None
    is_same = parameters.graph.metric == "euclidean" and parameters.graph.width == "paper"
    return graph.width if is_same else None
