"""The max-margin graph cut: a max-margin machine on labels that the graph induces."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Literal, Self

import numpy as np

from graphmargin._progress import report_stage
from graphmargin._typing import BoolArray, FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.solution import HarmonicSolution, mean_solution
from graphmargin.harmonic.walk_part import WalkPart
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.margin.calibration import calibrate_machine, calibration_targets
from graphmargin.margin.induced import (
    InducedLabels,
    confident_labels,
    induced_labels,
    supervised_labels,
)
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, predicted_codes
from graphmargin.margin.machine_part import MachinePart, log_graph_probabilities
from graphmargin.margin.pairs import MarginProblem
from graphmargin.margin.training import Approximation
from graphmargin.methods.harmonic import (
    WalkDetails,
    default_walk,
    gamma_path,
    induced_key,
    share_candidates,
    walk_part,
)
from graphmargin.methods.machines import (
    blend_on_rows,
    calibrate_and_label,
    labels_of_trial,
    train_on_rows,
    try_on_kernel,
)
from graphmargin.search.choice import Choice
from graphmargin.search.data import InducedKey, TrainingData, normalize_to_shares
from graphmargin.search.execution import FitWarning, machine_warnings, solution_warnings
from graphmargin.search.held_out import NOTHING_HELD_OUT
from graphmargin.search.member import CLUSTERS, PLANE, Candidate, FittedMember, Method
from graphmargin.search.parameters import (
    Candidates,
    KernelParameters,
    WalkParameters,
    c_grid,
    combinations,
    gamma_g_grid,
)
from graphmargin.search.trials import Trials

CALIBRATION_ROWS = 2_000
"""Largest number of training rows on which scores are calibrated."""
MAX_GRAPH_ROWS = 20_000
"""Largest number of rows that a model keeps in order to attach new rows to its graph."""
Solutions = dict[float, HarmonicSolution]
"""Harmonic solutions on all rows and labels, by gamma_g."""


@dataclass(frozen=True)
class Cut(Method):
    """``min_f sum_{i: abs(l_i) >= eps} V(f, x_i, sgn(l_i)) + gamma norm(f)_K^2`` (eq. MMGC).

    Attributes
    ----------
    walk : WalkParameters
    kernel : KernelParameters
    gamma_g, C : tuple of float or None
    class_mass_normalization : tuple or None
        Class shares to which masses are scaled, or False.
    eps : float
    loss_weights : {"confidence", "equal"}
    approximation : {"auto", "none", "nystroem"}
    is_coarse : bool
        Try one C and every other gamma_g of "auto": 3 combinations in place of 15.
    """

    walk: WalkParameters
    kernel: KernelParameters
    gamma_g: Candidates = None
    C: Candidates = None
    class_mass_normalization: Candidates = None
    eps: float = 1e-6
    loss_weights: str = "confidence"
    approximation: Approximation = "auto"
    is_coarse: bool = False

    @classmethod
    def auto(cls, labels: EncodedLabels, kernel: Literal["rbf", "linear"]) -> Self:
        """Return the method with chosen parameters."""
        return cls(default_walk(labels), KernelParameters(Kernel(kernel)))

    def on_given_graph(self) -> Self:
        """Return the cut on the graph that is given to `fit`, in place of a k-NN graph."""
        return replace(self, walk=replace(self.walk, graph=None))

    @property
    def assumption(self) -> str:
        """Classes follow clusters, or a plane separates them."""
        return PLANE if self.kernel.kernel.kind == "linear" else CLUSTERS

    def candidates(self, data: TrainingData) -> list[Candidate]:
        """Return all combinations of gamma_g, C and class shares; gamma_g = inf needs no shares."""
        kernel = data.kernel(self.kernel, self.walk.graph)
        gammas, Cs = (slice(None, None, 2), slice(1, 2)) if self.is_coarse else (slice(None),) * 2
        candidates: list[Candidate] = combinations(
            {
                "gamma_g": (self.gamma_g, lambda: gamma_g_grid(data.problem(self.walk).W)[gammas]),
                "C": (self.C, lambda: c_grid(data.X, kernel)[Cs]),
                "class_mass_normalization": share_candidates(data, self.class_mass_normalization),
            }
        )
        shares = candidates[0]["class_mass_normalization"]
        return [
            candidate
            for candidate in candidates
            if np.isfinite(candidate["gamma_g"]) or candidate["class_mass_normalization"] == shares
        ]

    def try_(
        self, data: TrainingData, candidates: list[Candidate], progress: ProgressCallback | None
    ) -> Trials:
        """Return the predictions of all candidates for the held-out labels.

        The row of a held-out label remains in the graph as an unlabeled vertex. Candidates are
        tried on at most 20,000 unlabeled rows, unless the graph is given: a sample would keep few
        of its edges. If there are more than 1,000 labeled or 1,000 unlabeled rows, machines learn
        from a random sample, whose losses are weighted to represent all rows.
        """
        trial, keys = data.trial(self.walk), [induced_key(candidate) for candidate in candidates]
        finite = [key for key in dict.fromkeys(keys) if np.isfinite(key[0])]
        induced = data.induced_folds(self.walk, finite, progress) if finite else {}
        learned = []
        for k, fold in enumerate((NOTHING_HELD_OUT, *trial.folds)):
            kept = trial.labels.without(fold)
            given = EncodedLabels(kept.classes, kept.codes[trial.learned])
            labels = {
                key: self._confident(induced[key].codes[k], induced[key].confidence[k], given)
                if key in induced
                else supervised_labels(given)
                for key in dict.fromkeys(keys)
            }
            learned.append(
                {key: labels_of_trial(data, trial, of_key) for key, of_key in labels.items()}
            )
        kernel = data.kernel(self.kernel, self.walk.graph)
        trials = try_on_kernel(data, trial, kernel, candidates, keys, learned)
        if not self._may_use_graph(data) or not trial.folds:
            return trials
        tested = [np.isin(fold, trial.learned) for fold in trial.folds]
        distributions: dict[float, FloatArray] = {}
        for key in finite:
            at_folds = zip(induced[key].held_out_distributions[1:], tested, strict=True)
            distributions[key[0]] = np.concatenate([P[rows] for P, rows in at_folds])
        by_candidate = tuple(distributions.get(gamma_g) for gamma_g, _ in keys)
        return replace(trials, graph_distributions=by_candidate)

    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the blend of the chosen candidates, or the cut with fixed parameters."""
        return self._fit_fixed(data, choice) if choice.is_fixed else self._blend(data, choice)

    def _confident(
        self, codes: IntArray, confidence: FloatArray, given: EncodedLabels
    ) -> InducedLabels:
        """Return the labels to learn from at some vertices, with a label of every class."""
        induced = confident_labels(
            codes, confidence, given.codes, eps=self.eps, loss_weights=self.loss_weights
        )
        return induced.with_every_class(given)

    def _may_use_graph(self, data: TrainingData) -> bool:
        """Tell whether class probabilities of the graph may be added to those of the machine.

        With two classes they make probabilities no better (docs/evidence.md). A given graph has no
        edges to new rows, and a model does not keep the rows of a large table.
        """
        is_built, is_small = self.walk.graph is not None, data.X.shape[0] <= MAX_GRAPH_ROWS
        return data.n_classes > 2 and is_built and is_small

    def _induced(self, data: TrainingData, key: InducedKey, solutions: Solutions) -> InducedLabels:
        """Return the labels that a candidate learns from, on all rows."""
        gamma_g, shares = key
        if np.isinf(gamma_g):
            return supervised_labels(data.labels).weighted_by_class(data.class_weight)
        normalized = normalize_to_shares(solutions[gamma_g], shares)
        induced = induced_labels(normalized, eps=self.eps, loss_weights=self.loss_weights)
        return induced.weighted_by_class(data.class_weight)

    def _blend(self, data: TrainingData, choice: Choice) -> FittedMember:
        numbers = [i for i, _ in choice.blended]
        keys = [induced_key(choice.trials.params[i]) for i in numbers]
        with_graph = [k for k, (gamma_g, _) in enumerate(keys) if np.isfinite(gamma_g)]
        heaviest = keys[(with_graph or [0])[0]]
        gammas = [keys[k][0] for k in with_graph] or [np.inf]
        solutions = data.solutions(self.walk, gammas)
        # Candidates that differ in C alone learn the same labels.
        induced = cache(lambda key: self._induced(data, key, solutions))
        machine, trained = blend_on_rows(
            data,
            data.kernel(self.kernel, self.walk.graph),
            self.approximation,
            choice,
            lambda i: induced(induced_key(choice.trials.params[i])),
            stage=f"blend of {len(numbers)} classifiers",
        )
        solution = solutions[heaviest[0]]
        warnings = [*solution_warnings(solution), *machine_warnings(trained)]
        graph = None
        if choice.log_graph is not None and choice.calibration.graph_weight > 0:
            weights = choice.weights[[numbers[k] for k in with_graph]]
            graph = self._graph_probabilities(
                data, [solutions[keys[k][0]] for k in with_graph], weights / weights.sum()
            )
        mask = induced(heaviest).mask
        path = gamma_path(data, self.walk, choice, eps=self.eps)
        details = self._details(data, solution, mask, path)
        return calibrate_and_label(data, machine, choice, warnings, graph, details)

    def _graph_probabilities(
        self, data: TrainingData, solutions: Sequence[HarmonicSolution], shares: FloatArray
    ) -> tuple[WalkPart, FloatArray]:
        """Return the graph of a blend for new rows, and log-probabilities of all rows by it."""
        mean = mean_solution(solutions, shares)
        codes = np.where(mean.codes == UNLABELED, int(data.label_counts.argmax()), mean.codes)
        part = walk_part(data, self.walk, mean.class_mass, solutions, shares, codes)
        return part, log_graph_probabilities(mean.label_distributions)

    def _fit_fixed(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the cut of the paper: the graph labels all rows that it reaches."""
        key, execution = induced_key(choice.best_params), data.execution
        solution = data.solutions(self.walk, [key[0]])[key[0]]
        shares = choice.best_params["class_mass_normalization"]
        normalized = normalize_to_shares(solution, shares)
        induced = induced_labels(normalized, eps=self.eps, loss_weights=self.loss_weights)
        induced = induced.weighted_by_class(data.class_weight)
        warnings = [*solution_warnings(normalized), *_induced_warnings(induced)]
        rows = np.flatnonzero(induced.mask)
        kernel = data.kernel(self.kernel, self.walk.graph)
        stage = f"max-margin classifier on {len(rows):,} points"
        with report_stage(stage, execution.verbose) as progress:
            C = float(choice.best_params["C"])
            problems = [MarginProblem(induced.codes, induced.weights, C)]
            (machine,) = train_on_rows(data, problems, kernel, self.approximation, choice, progress)
        part = _calibrated_on_masses(data, machine, normalized, rows)
        distributions, codes = normalized.label_distributions, induced.codes.copy()
        unreached = codes == UNLABELED
        if unreached.any():
            scores = part.decision(data.X[unreached])
            distributions[unreached] = part.calibration.probabilities(scores)
            codes[unreached] = predicted_codes(scores)
        return FittedMember(
            part=part,
            codes=codes,
            label_distributions=distributions,
            confidence=distributions[np.arange(len(codes)), codes],
            warnings=(*warnings, *machine_warnings([machine])),
            details=self._details(data, solution, induced.mask, None),
        )

    def _details(
        self,
        data: TrainingData,
        solution: HarmonicSolution,
        mask: BoolArray,
        path: dict[str, FloatArray] | None,
    ) -> WalkDetails:
        recall = data.recall(self.walk.graph)
        return WalkDetails(solution.problem.W, recall, solution, path, mask)


def _calibrated_on_masses(
    data: TrainingData, machine: MarginMachine, solution: HarmonicSolution, rows: IntArray
) -> MachinePart:
    """Return a machine that is calibrated on the class masses of some training rows."""
    sample = rows[:: -(-len(rows) // CALIBRATION_ROWS)]
    targets = calibration_targets(solution.class_mass, data.labels.codes)[sample]
    calibration = calibrate_machine(machine, data.X[sample], targets, data.class_weight)
    return MachinePart(machine.collapse_linear(), calibration)


def _induced_warnings(induced: InducedLabels) -> list[FitWarning]:
    if not induced.fell_back_to_given:
        return []
    return [
        FitWarning(
            "the soft solution induces no label of some class, so that labeled points keep their "
            "given labels; raise `c_labeled` or lower `gamma_g`",
            UserWarning,
        )
    ]
