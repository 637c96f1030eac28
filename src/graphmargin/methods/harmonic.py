"""The harmonic solution as a method, and what methods on a graph share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
from scipy import sparse

from graphmargin._typing import BoolArray, FloatArray, IntArray, ProgressCallback
from graphmargin.graph.adjacency import NeighborGraph
from graphmargin.graph.neighbors import nearest_neighbors
from graphmargin.harmonic.solution import HarmonicSolution, mean_solution
from graphmargin.harmonic.walk_part import PointGraph, WalkPart, attach
from graphmargin.labels import UNLABELED, EncodedLabels
from graphmargin.search.choice import Choice
from graphmargin.search.data import InducedKey, TrainingData, normalize_to_shares
from graphmargin.search.execution import solution_warnings
from graphmargin.search.held_out import NOTHING_HELD_OUT
from graphmargin.search.member import CLUSTERS, Candidate, FittedMember, Method
from graphmargin.search.parameters import (
    N_NEIGHBORS,
    Candidates,
    GraphParameters,
    WalkParameters,
    combinations,
    gamma_g_grid,
    share_grid,
)
from graphmargin.search.trials import Trials, smoothed_shares, stack_folds

TINY = float(np.finfo(np.float64).tiny)
NEAREST_RECALL = 0.9
"""Recall of the neighbor search for unreached rows, whose label has confidence 0 anyway."""


@dataclass(frozen=True)
class GraphDetails:
    """The graph of a fitted method.

    Attributes
    ----------
    W : csr_array of shape (n, n)
    recall : float or None
        Share of the true nearest neighbors in the graph, from a sample; None if it was given.
    """

    W: sparse.csr_array
    recall: float | None


@dataclass(frozen=True)
class WalkDetails(GraphDetails):
    """The graph of a fitted method, and the harmonic solution on it.

    Attributes
    ----------
    solution : HarmonicSolution
        Solution before class mass normalization; if parameters were chosen, that of the heaviest
        candidate that uses the graph.
    gamma_path : dict or None
        Set if parameters were chosen, see `gamma_path`.
    training_mask : array of shape (n,) or None
        Rows that the machine of this candidate was trained on.
    """

    solution: HarmonicSolution
    gamma_path: dict[str, FloatArray] | None = None
    training_mask: BoolArray | None = None


@dataclass(frozen=True)
class Harmonic(Method):
    """``(L_uu + gamma_g I) l_u = W_ul l_l`` on a graph, hard or soft (eqs. reg HFS, soft HFS).

    Attributes
    ----------
    walk : WalkParameters
    gamma_g : tuple of float or None
    class_mass_normalization : tuple or None
        Class shares to which masses are scaled, or False.
    """

    walk: WalkParameters
    gamma_g: Candidates = None
    class_mass_normalization: Candidates = None

    @classmethod
    def auto(cls, labels: EncodedLabels, kernel: Literal["rbf", "linear"]) -> Self:  # noqa: ARG003
        """Return the method with chosen parameters; it has no kernel."""
        return cls(default_walk(labels))

    def on_given_graph(self) -> Self:
        """Raise ValueError: new rows of features have no weights to the vertices of the graph."""
        msg = (
            "`members` has a harmonic solution, which cannot label new rows if W is given; leave "
            'it out, or use HarmonicClassifier(affinity="precomputed")'
        )
        raise ValueError(msg)

    @property
    def assumption(self) -> str:
        """Classes follow clusters."""
        return CLUSTERS

    def candidates(self, data: TrainingData) -> list[Candidate]:
        """Return all combinations of gamma_g and class shares; "auto" has finite gamma_g only."""
        return combinations(
            {
                "gamma_g": (self.gamma_g, lambda: gamma_g_grid(data.problem(self.walk).W)[1:]),
                "class_mass_normalization": share_candidates(data, self.class_mass_normalization),
            }
        )

    def try_(
        self, data: TrainingData, candidates: list[Candidate], progress: ProgressCallback | None
    ) -> Trials:
        """Return the class masses of the held-out rows by solutions without their labels.

        With a large gamma_g most walks end in the sink, and the masses of all classes are tiny;
        with few labels and a small gamma_g they are large, but nearly the same everywhere. The
        difference between the best and the second best class decides. So the scale of a candidate
        is the mean confidence of the unlabeled vertices, abs(l) for two classes. Without it, a
        large gamma_g would not count in a blend.
        """
        trial, n_classes = data.trial(self.walk), data.n_classes
        keys = [induced_key(candidate) for candidate in candidates]
        induced = data.induced_folds(self.walk, keys, progress)
        on_all_labels = data.trial_solutions(self.walk)
        solutions = [normalize_to_shares(on_all_labels[gamma_g], s) for gamma_g, s in keys]
        places = np.concatenate([NOTHING_HELD_OUT, *trial.folds])
        held_out_codes, held_out_rows = trial.labels.codes[places], trial.numbers[places]
        masses = [induced[key].held_out_mass[1:] for key in keys]
        parts = [list(of_fold) for of_fold in zip(*masses, strict=True)]
        if data.validation is not None:
            rows, held_out_codes = data.validation
            attachment = attach(point_graph(trial.graph, self.walk), rows)
            parts = [
                [
                    (attachment.transition @ solution.class_mass)
                    * attachment.move_probability(_sink_rate(solution))[:, None]
                    for solution in solutions
                ]
            ]
        scales = np.array([_mean_confidence(solution) for solution in solutions])
        values, fold = stack_folds(parts, scales, n_classes)
        unlabeled = ~trial.labels.labeled
        return Trials(
            params=list(candidates),
            supervised=np.zeros(len(candidates), dtype=np.bool_),
            held_out_codes=held_out_codes,
            fold=fold,
            held_out_values=values,
            scales=scales,
            pair_scales=np.ones((len(candidates), n_classes)),
            shares=np.array(
                [smoothed_shares(solution.codes[unlabeled], n_classes) for solution in solutions]
            ),
            held_out_rows=None if data.validation is not None else held_out_rows,
            columns="masses",
        )

    def fit(self, data: TrainingData, choice: Choice) -> FittedMember:
        """Return the mean of the chosen solutions, weighted by their factors."""
        numbers = [i for i, _ in choice.blended]
        keys = [induced_key(choice.trials.params[i]) for i in numbers]
        unnormalized = data.solutions(self.walk, [gamma_g for gamma_g, _ in keys])
        solutions = [normalize_to_shares(unnormalized[gamma_g], s) for gamma_g, s in keys]
        factors = choice.weights[numbers] / [_mean_confidence(s) for s in solutions]
        shares = factors / factors.sum()
        mean = mean_solution(solutions, shares)
        codes = self._label_unreached(data, mean)
        part = walk_part(data, self.walk, mean.class_mass, solutions, shares, codes)
        details = WalkDetails(
            W=data.edges(self.walk.graph),
            recall=data.recall(self.walk.graph),
            solution=unnormalized[keys[0][0]],
            gamma_path=None if choice.is_fixed else gamma_path(data, self.walk, choice, eps=0.0),
        )
        return FittedMember(
            part=part,
            codes=codes,
            label_distributions=mean.label_distributions,
            confidence=mean.confidence,
            warnings=tuple(solution_warnings(mean)),
            details=details,
        )

    def _label_unreached(self, data: TrainingData, solution: HarmonicSolution) -> IntArray:
        """Return labels of all rows, for unreached ones that of the nearest row with a label."""
        codes = np.where(solution.codes == UNLABELED, data.labels.codes, solution.codes)
        unreached, graph = np.flatnonzero(codes == UNLABELED), data.graph(self.walk.graph)
        if graph is None or not len(unreached):
            return np.where(codes == UNLABELED, int(data.label_counts.argmax()), codes)
        labeled, points = np.flatnonzero(codes != UNLABELED), graph.search.X
        nearest = nearest_neighbors(
            points[labeled],
            1,
            queries=points[unreached],
            recall=NEAREST_RECALL,
            n_jobs=data.execution.n_jobs,
            random_state=data.execution.seed,
        )
        codes[unreached] = codes[labeled[nearest.indices[:, 0]]]
        return codes


def default_walk(labels: EncodedLabels) -> WalkParameters:
    """Return the walk on the graph of five neighbors; fewer rows than 6 have fewer neighbors."""
    return WalkParameters(GraphParameters(min(N_NEIGHBORS, len(labels.codes) - 1)))


def induced_key(candidate: Candidate) -> InducedKey:
    """Return gamma_g and the class shares of a candidate; gamma_g = inf has no shares."""
    gamma_g = float(candidate["gamma_g"])
    return gamma_g, candidate["class_mass_normalization"] if np.isfinite(gamma_g) else False


def share_candidates(data: TrainingData, given: Candidates) -> tuple[Candidates, Any]:
    """Return given class shares and the grid of "auto", which is False for fixed parameters."""
    return given, lambda: [False] if data.held_out is None else share_grid(data.label_counts)


def point_graph(graph: NeighborGraph | None, walk: WalkParameters) -> PointGraph | None:
    """Return the data that attach new points to the graph of a walk, None if it is given."""
    if walk.graph is None or graph is None:
        return None
    return PointGraph(graph.search, graph.width, walk.graph.n_neighbors, walk.graph.metric)


def walk_part(
    data: TrainingData,
    walk: WalkParameters,
    class_mass: FloatArray,
    solutions: Sequence[HarmonicSolution],
    shares: FloatArray,
    codes: IntArray,
) -> WalkPart:
    """Return the part of a predictor that is a weighted mean of solutions on one graph.

    `class_mass` is that of the mean, and `codes` has the label of every vertex.
    """
    sinks = tuple((float(share), _sink_rate(s)) for share, s in zip(shares, solutions, strict=True))
    points = point_graph(data.graph(walk.graph), walk)
    return WalkPart(class_mass, sinks, points, codes, int(data.label_counts.argmax()))


def gamma_path(
    data: TrainingData, walk: WalkParameters, choice: Choice, *, eps: float
) -> dict[str, FloatArray]:
    """Return a table with a row for every gamma_g that was a candidate, ascending.

    Returns
    -------
    dict of arrays
        ``gamma_g``; ``confidence``, ``confident_share`` (at least eps) and ``sink_share``: means
        over the unlabeled points; ``graph_score``, the accuracy of the harmonic solution alone on
        held-out labels (nan for inf); ``fold_score``, that of the likeliest candidate with this
        gamma_g; ``weight`` of all of them in the blend.
    """
    n_held_out = sum(map(len, data.trial(walk).folds))
    solutions, hits = data.trial_solutions(walk), data.held_out_hits(walk)
    gammas = np.array([params["gamma_g"] for params in choice.trials.params])
    evidence = choice.log_likelihood + choice.share_log_likelihood
    rows = []
    for gamma_g in np.unique(gammas):
        same = np.flatnonzero(gammas == gamma_g)
        # With gamma_g = inf no label is propagated, and no point is confident.
        row = {"confidence": 0.0, "confident_share": 0.0, "sink_share": 1.0, "graph_score": np.nan}
        if gamma_g in solutions:
            row = solution_statistics(solutions[float(gamma_g)], eps=eps)
            row["graph_score"] = hits[float(gamma_g)] / n_held_out if n_held_out else np.nan
        rows.append(
            {
                "gamma_g": float(gamma_g),
                **row,
                "fold_score": 1 - choice.errors[same[evidence[same].argmax()]],
                "weight": choice.weights[same].sum(),
            }
        )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def solution_statistics(solution: HarmonicSolution, *, eps: float) -> dict[str, float]:
    """Return means of a solution over the unlabeled vertices.

    Examples
    --------
    >>> from graphmargin.harmonic import harmonic_solution
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> solution_statistics(harmonic_solution(path, [0, -1, 1]), eps=1e-6)
    {'confidence': 0.5, 'confident_share': 1.0, 'sink_share': 0.0}
    """
    unlabeled = ~solution.problem.labels.labeled
    confidence = solution.confidence[unlabeled]
    columns = {
        "confidence": confidence,
        "confident_share": confidence >= eps,
        "sink_share": solution.sink_mass[unlabeled],
    }
    return {
        name: float(column.mean()) if len(column) else float("nan")
        for name, column in columns.items()
    }


def _mean_confidence(solution: HarmonicSolution) -> float:
    """Return the mean confidence of the unlabeled vertices, 1 if it is zero."""
    unlabeled = ~solution.problem.labels.labeled
    mean = float(solution.confidence[unlabeled].sum()) / max(1, int(unlabeled.sum()))
    return mean if mean > TINY else 1.0  # it may be positive in a fold


def _sink_rate(solution: HarmonicSolution) -> float:
    """Return the rate at which the walk of a new point ends in the sink."""
    return float(solution.gamma_g + solution.problem.c_unlabeled)
