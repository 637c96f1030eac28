"""Training data: rows and labels, and what methods share of them, each computed once.

Graphs, kernels and harmonic solutions are computed when the first method asks for them. Trials use
all rows, or a sample of many rows with a graph of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

import numpy as np
from scipy import sparse

from graphmargin._checks import check_random_state
from graphmargin._progress import report_stage
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.graph.adjacency import NeighborGraph, neighbor_graph
from graphmargin.harmonic.folds import fold_solutions
from graphmargin.harmonic.problem import HarmonicProblem, make_harmonic_problem
from graphmargin.harmonic.solution import HarmonicSolution, normalize_class_mass, solve_path
from graphmargin.harmonic.solvers import confidence_of, elimination_order
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.solvers import stratified_sample
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import NOTHING_HELD_OUT, HeldOutLabels
from graphmargin.search.member import View
from graphmargin.search.parameters import GraphParameters, KernelParameters, WalkParameters

InducedKey = tuple[float, Any]
"""gamma_g and class shares of a candidate, which determine its induced labels."""
T = TypeVar("T")

MAX_TRIAL_ROWS = 20_000
"""Largest number of unlabeled rows in the graph of trials; larger tables are sampled."""
MAX_ELIMINATED_ROWS = 50_000
"""The same where the graph has so little fill that it is solved directly.

Such graphs have few dimensions, in which a sample is sparser and prefers a larger gamma_g.
"""
MAX_LABELED = 1000
"""Largest number of labeled rows that candidates learn from and are tested on in a sample."""
MIN_LABELED_PER_CLASS = 10
"""Labeled rows of each class that are always taken, so that no fold holds out all of them."""
MAX_UNLABELED = 1000
"""Largest number of unlabeled rows all of which trial machines learn from.

These machines are then the blend: nothing has to be trained again on all rows.
"""
N_SAMPLED, N_SAMPLED_PER_CLASS = 500, 50
"""Unlabeled rows in a sample: at least 500, or 50 for each class, but at most 1,000."""


@dataclass(frozen=True)
class TrialRows:
    """Rows that candidates are tried on, with the folds among them.

    Attributes
    ----------
    numbers : array of int
        Their numbers among all rows.
    X : array or CSR matrix, or a kernel matrix of all rows
    labels : EncodedLabels
    graph : NeighborGraph or None
        Their graph; None if it was given, or none is used.
    problem : HarmonicProblem or None
        None if no graph is used.
    folds : list of arrays
        Positions among these rows whose labels are held out.
    learned : array of int
        Positions of the rows that machines learn from.
    factors : array
        Number of rows that each of them represents.
    """

    numbers: IntArray
    X: Any
    labels: EncodedLabels
    graph: NeighborGraph | None
    problem: HarmonicProblem | None
    folds: list[IntArray]
    learned: IntArray
    factors: FloatArray


@dataclass(frozen=True)
class InducedFolds:
    """The parts of harmonic solutions for one gamma_g and class shares that trials need.

    Each list has the solution with all labels first, and then those without the labels of a fold.

    Attributes
    ----------
    codes, confidence : list of arrays of shape (s,)
        Induced class and confidence of the rows that machines learn from.
    held_out_mass : list of arrays of shape (h_i, c)
        Class masses of the held-out rows, normalized to the class shares.
    held_out_distributions : list of arrays of shape (h_i, c)
        Class probabilities of the held-out rows before normalization; the sink mass is divided
        equally.
    """

    codes: list[IntArray] = field(default_factory=list)
    confidence: list[FloatArray] = field(default_factory=list)
    held_out_mass: list[FloatArray] = field(default_factory=list)
    held_out_distributions: list[FloatArray] = field(default_factory=list)


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Rows, labels and held-out labels of a fit, with what its members share.

    Attributes
    ----------
    X : array or CSR matrix of shape (n, d), or a kernel matrix
    labels : EncodedLabels
    held_out : HeldOutLabels or None
        Labels on which candidates are tested; None if all parameters are fixed.
    execution : Execution
    W : csr_array of shape (n, n) or None
        The graph, if it is given.
    class_weight : tuple of float or None
        Weight of the losses of each class; None if all are one.

    Examples
    --------
    >>> from graphmargin.labels import encode_labels
    >>> labels = encode_labels(["a", None, None, "b"])
    >>> data = TrainingData(np.arange(4.0)[:, None], labels, None, Execution())
    >>> data.graph(GraphParameters(1)) is data.graph(GraphParameters(1))
    True
    """

    X: Any
    labels: EncodedLabels
    held_out: HeldOutLabels | None
    execution: Execution
    W: sparse.csr_array | None = None
    class_weight: tuple[float, ...] | None = None
    cache: dict[Any, Any] = field(default_factory=dict, repr=False)

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.labels.classes)

    @property
    def label_counts(self) -> IntArray:
        """Number of labels of each class."""
        codes = self.labels.codes[self.labels.labeled]
        return np.bincount(codes, minlength=self.n_classes)

    @property
    def folds(self) -> tuple[IntArray, ...]:
        """Labeled rows whose labels are held out, fold by fold."""
        return () if self.held_out is None else self.held_out.folds

    @property
    def validation(self) -> tuple[Any, IntArray] | None:
        """Labeled rows outside of the training rows and their class codes, in place of folds."""
        return None if self.held_out is None else self.held_out.validation

    def under(self, view: View) -> TrainingData:
        """Return the data as a view shows them; members under the same view share the rest."""
        if view.factors is None:
            return self
        return self._once(("view", view), lambda: self._seen_through(view))

    def _seen_through(self, view: View) -> TrainingData:
        held_out = self.held_out
        if held_out is not None and self.validation is not None:
            rows, codes = self.validation
            held_out = replace(held_out, validation=(view.of(rows), codes))
        return replace(self, X=view.of(self.X), held_out=held_out, cache={})

    def graph(self, parameters: GraphParameters | None) -> NeighborGraph | None:
        """Return the k-NN graph of all rows, None if the graph is given."""
        return None if parameters is None else self.built_graph(parameters)

    def built_graph(self, parameters: GraphParameters) -> NeighborGraph:
        """Return the k-NN graph of all rows."""
        return self._once(("graph", parameters), lambda: _build(self.X, parameters, self.execution))

    def edges(self, parameters: GraphParameters | None) -> sparse.csr_array:
        """Return W of the k-NN graph, or the given one."""
        return self.W if parameters is None else self.built_graph(parameters).W

    def recall(self, parameters: GraphParameters | None) -> float | None:
        """Return the share of true neighbors in the k-NN graph, None if the graph is given."""
        return None if parameters is None else self.built_graph(parameters).recall

    def problem(self, walk: WalkParameters) -> HarmonicProblem:
        """Return the graph with all labels."""
        edges = self.edges(walk.graph)
        return self._once(("problem", walk.key), lambda: _problem(edges, self.labels, walk))

    def kernel(self, parameters: KernelParameters, graph: GraphParameters | None = None) -> Kernel:
        """Return the kernel for the rows; the width of the edges is not computed again."""
        width = None
        if graph is not None and (graph.width, graph.metric) == ("paper", "euclidean"):
            width = self.built_graph(graph).width if parameters.width == "paper" else None
        return self._once(
            ("kernel", parameters, width), lambda: parameters.kernel_for(self.X, width)
        )

    def trial(self, walk: WalkParameters | None = None) -> TrialRows:
        """Return the rows that candidates are tried on; `walk` is None if no graph is used."""
        key = None if walk is None else walk.key
        return self._once(("trial", key), lambda: self._draw_trial_rows(walk))

    def induced_folds(
        self,
        walk: WalkParameters,
        keys: Sequence[InducedKey],
        progress: ProgressCallback | None = None,
    ) -> dict[InducedKey, InducedFolds]:
        """Return harmonic solutions without held-out labels, by gamma_g and class shares.

        All folds and gamma_g are solved together (`fold_solutions`).
        """
        induced: dict[InducedKey, InducedFolds] = self._once(("folds", walk.key), dict)
        missing = [key for key in keys if key not in induced]
        if missing:
            induced |= self._solve_folds(walk, missing, progress)
        return induced

    def held_out_hits(self, walk: WalkParameters) -> dict[float, int]:
        """Return the number of held-out labels that the graph gets right, by gamma_g."""
        hits: dict[float, int] = self._once(("hits", walk.key), dict)
        return hits

    def trial_solutions(self, walk: WalkParameters) -> dict[float, HarmonicSolution]:
        """Return the solutions on the rows of trials with all labels, by gamma_g."""
        solutions: dict[float, HarmonicSolution] = self._once(("trial solutions", walk.key), dict)
        return solutions

    def solutions(
        self, walk: WalkParameters, gammas: Iterable[float]
    ) -> dict[float, HarmonicSolution]:
        """Return the solutions on all rows and labels, those of trials if these had all rows."""
        solutions: dict[float, HarmonicSolution] = self._once(("solutions", walk.key), dict)
        trial: TrialRows | None = self.cache.get(("trial", walk.key))
        if trial is not None and len(trial.numbers) == len(self.labels.codes):
            solutions |= self.trial_solutions(walk)
        missing = sorted(set(gammas) - set(solutions))
        if missing:
            problem, execution = self.problem(walk), self.execution
            stage = f"{len(missing)} harmonic solution{'s' if len(missing) > 1 else ''}"
            with report_stage(stage, execution.verbose) as progress:
                solved = solve_path(problem, missing, n_jobs=execution.n_jobs, progress=progress)
            solutions |= zip(missing, solved, strict=True)
        return solutions

    def _once(self, key: Any, make: Callable[[], T]) -> T:
        """Return what was made for a key before, or make it."""
        if key not in self.cache:
            self.cache[key] = make()
        result: T = self.cache[key]
        return result

    def _draw_trial_rows(self, walk: WalkParameters | None) -> TrialRows:
        """Return all rows, or a sample if they are many and their graph is not given."""
        labels, X = self.labels, self.X
        numbers = np.arange(X.shape[0])
        graph = None if walk is None else self.graph(walk.graph)
        problem = None if walk is None else self.problem(walk)
        folds = [np.sort(fold) for fold in self.folds]
        if walk is not None and walk.graph is not None and graph is not None:
            limit, n_unlabeled = MAX_TRIAL_ROWS, int((~labels.labeled).sum())
            if n_unlabeled > limit and elimination_order(graph.W) is not None:
                limit = MAX_ELIMINATED_ROWS
            if n_unlabeled > limit:
                random = check_random_state(self.execution.seed)
                numbers, _ = sample_rows(labels.codes, random, limit)
                labels, X = EncodedLabels(labels.classes, labels.codes[numbers]), X[numbers]
                graph = _build(X, walk.graph, self.execution)
                if np.ndim(walk.c_labeled) > 0:
                    walk = replace(walk, c_labeled=np.asarray(walk.c_labeled)[numbers])
                problem = _problem(graph.W, labels, walk)
                folds = [np.flatnonzero(np.isin(numbers, fold)) for fold in self.folds]
        # Without folds, class shares decide, which more rows tell better, and machines are few.
        size = None if folds else MAX_UNLABELED
        random = check_random_state(self.execution.seed)
        learned, factors = sample_rows(labels.codes, random, size)
        return TrialRows(numbers, X, labels, graph, problem, folds, learned, factors)

    def _solve_folds(
        self,
        walk: WalkParameters,
        keys: Sequence[InducedKey],
        progress: ProgressCallback | None,
    ) -> dict[InducedKey, InducedFolds]:
        trial = self.trial(walk)
        problem = cast("HarmonicProblem", trial.problem)  # which every walk has
        codes = trial.labels.codes
        gammas = sorted({gamma_g for gamma_g, _ in keys})
        folds = [NOTHING_HELD_OUT, *trial.folds]
        induced = {key: InducedFolds() for key in keys}
        hits = dict.fromkeys(gammas, 0)
        solved = fold_solutions(
            problem, gammas, folds, n_jobs=self.execution.n_jobs, progress=progress
        )
        for fold, path in zip(folds, solved, strict=True):
            solutions = dict(zip(gammas, path, strict=True))
            if fold is folds[0]:
                self.trial_solutions(walk).update(solutions)
            for (gamma_g, shares), result in induced.items():
                solution = solutions[gamma_g]
                normalized = normalize_to_shares(solution, shares)
                result.codes.append(normalized.codes[trial.learned])
                result.confidence.append(confidence_of(normalized.class_mass[trial.learned]))
                result.held_out_mass.append(normalized.class_mass[fold])
                sink = solution.sink_mass[fold, None] / self.n_classes
                result.held_out_distributions.append(solution.class_mass[fold] + sink)
            for gamma_g, solution in solutions.items():
                hits[gamma_g] += int((solution.codes[fold] == codes[fold]).sum())
        self.held_out_hits(walk).update(hits)
        return induced


def normalize_to_shares(solution: HarmonicSolution, shares: Any) -> HarmonicSolution:
    """Return the solution with class masses normalized to shares, or itself if they are False."""
    return solution if shares is False else normalize_class_mass(solution, shares)


def sample_rows(
    codes: IntArray, random: np.random.RandomState, max_unlabeled: int | None = None
) -> tuple[IntArray, FloatArray]:
    """Return a sample of rows for trial machines, and the number of rows that each represents.

    It has up to 1,000 labeled rows, or ten of each class. By default, it has all unlabeled rows if
    there are up to 1,000. Else it has 50 for each class, but at least 500 and at most 1,000.

    Examples
    --------
    >>> rows, factors = sample_rows(np.array([0, -1, 1, -1]), np.random.RandomState(0), 1)
    >>> rows.tolist(), factors.tolist()
    ([0, 2, 3], [1.0, 1.0, 2.0])
    """
    labeled, unlabeled = np.flatnonzero(codes != UNLABELED), np.flatnonzero(codes == UNLABELED)
    n_classes = int(codes.max()) + 1
    limit = max(MAX_LABELED, MIN_LABELED_PER_CLASS * n_classes)
    if len(labeled) > limit:
        labeled = labeled[stratified_sample(codes[labeled], limit, random)]
    if len(unlabeled) > (max_unlabeled or MAX_UNLABELED):
        size = min(max(N_SAMPLED, N_SAMPLED_PER_CLASS * n_classes), MAX_UNLABELED)
        unlabeled = random.choice(unlabeled, max_unlabeled or size, replace=False)
    rows = np.sort(np.concatenate([labeled, unlabeled]))
    kinds = codes - UNLABELED  # a row represents those of its class, or unlabeled ones
    factors = np.bincount(kinds) / np.maximum(1, np.bincount(kinds[rows]))
    return rows, factors[kinds[rows]]


def _build(X: Any, parameters: GraphParameters, execution: Execution) -> NeighborGraph:
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


def _problem(edges: Any, labels: EncodedLabels, walk: WalkParameters) -> HarmonicProblem:
    return make_harmonic_problem(
        edges, labels, c_labeled=walk.c_labeled, c_unlabeled=walk.c_unlabeled
    )
