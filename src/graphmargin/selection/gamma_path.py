"""Statistics of the harmonic solutions of the trials, along the path of gamma_g."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic.folds import fold_solutions
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.selection.choice import Choice
from graphmargin.selection.execution import Execution
from graphmargin.selection.held_out import NOTHING_HELD_OUT
from graphmargin.selection.parameters import Parameters

Result = TypeVar("Result")


@dataclass(frozen=True)
class GammaStatistics:
    """Means of one harmonic solution over the unlabeled vertices, and its held-out accuracy.

    Attributes
    ----------
    confidence : float
    confident_share : float
        Share of the vertices with a confidence of at least eps.
    sink_share : float
        Mean sink mass.
    graph_score : float
        Accuracy of the harmonic solution on held-out labels; nan if there are none.
    """

    confidence: float
    confident_share: float
    sink_share: float
    graph_score: float


def solution_statistics(
    solution: HarmonicSolution, n_right: int, n_held_out: int, *, eps: float
) -> GammaStatistics:
    """Return the statistics of a solution on all labels, with its accuracy on held-out labels.

    Examples
    --------
    >>> from graphmargin.harmonic import harmonic_solution
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> solution_statistics(harmonic_solution(path, [0, -1, 1]), 1, 2, eps=1e-6)
    GammaStatistics(confidence=0.5, confident_share=1.0, sink_share=0.0, graph_score=0.5)
    """
    unlabeled = ~solution.problem.labels.labeled
    confidence = solution.confidence[unlabeled]
    return GammaStatistics(
        confidence=_mean(confidence),
        confident_share=_mean(confidence >= eps),
        sink_share=_mean(solution.sink_mass[unlabeled]),
        graph_score=n_right / n_held_out if n_held_out else float("nan"),
    )


def solve_folds(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    folds: Sequence[IntArray],
    evaluate: Callable[[IntArray, dict[float, HarmonicSolution]], Result],
    parameters: Parameters,
    execution: Execution,
    progress: ProgressCallback | None,
) -> tuple[list[Result], dict[float, HarmonicSolution], dict[float, GammaStatistics]]:
    """Return the results of all folds, and the solutions on all labels with their statistics.

    `evaluate` takes the held-out rows, of which the first fold has none, and the solutions by
    gamma_g. Folds are solved together (`fold_solutions`), and their solutions are not kept.
    """
    codes, all_folds = problem.labels.codes, [NOTHING_HELD_OUT, *folds]
    solved: Iterable[list[HarmonicSolution]] = [[] for _ in all_folds]
    if gammas:
        n_jobs = execution.n_jobs
        solved = fold_solutions(problem, gammas, all_folds, n_jobs=n_jobs, progress=progress)
    results = []
    on_all_labels: dict[float, HarmonicSolution] = {}
    n_right = dict.fromkeys(gammas, 0)
    for fold, path in zip(all_folds, solved, strict=True):
        solutions = dict(zip(gammas, path, strict=True))
        on_all_labels = on_all_labels or solutions
        results.append(evaluate(fold, solutions))
        for gamma_g, solution in solutions.items():
            n_right[gamma_g] += int((solution.codes[fold] == codes[fold]).sum())
    n_held_out = sum(map(len, folds))
    statistics = {
        gamma_g: solution_statistics(solution, n_right[gamma_g], n_held_out, eps=parameters.eps)
        for gamma_g, solution in on_all_labels.items()
    }
    return results, on_all_labels, statistics


def gamma_path(
    choice: Choice, candidates: Sequence[int], statistics: Mapping[float, GammaStatistics]
) -> dict[str, FloatArray]:
    """Return a table with a row for every gamma_g that was a candidate, ascending.

    Parameters
    ----------
    choice : Choice
    candidates : sequence of int
        Numbers of the candidates on the graph of the `statistics`.
    statistics : mapping from gamma_g to GammaStatistics
        Without inf, with which no label is propagated and no point is confident.

    Returns
    -------
    dict of arrays
        ``gamma_g``; ``confidence``, ``confident_share`` (at least eps) and ``sink_share``: means
        over the unlabeled points; ``graph_score``, the accuracy of the harmonic solution alone on
        held-out labels (nan for inf); ``fold_score``, that of the likeliest candidate with this
        gamma_g; ``weight`` of all of them in the blend.
    """
    numbers = np.asarray(candidates)
    candidate_gammas = np.array([choice.trials.params[i]["gamma_g"] for i in numbers])
    evidence = choice.log_likelihood + choice.share_log_likelihood
    rows = []
    for gamma_g in np.unique(candidate_gammas):
        same = numbers[candidate_gammas == gamma_g]
        rows.append(
            {
                "gamma_g": gamma_g,
                **vars(statistics.get(float(gamma_g), NO_GRAPH)),
                "fold_score": 1 - choice.errors[same[evidence[same].argmax()]],
                "weight": choice.weights[same].sum(),
            }
        )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


NO_GRAPH = GammaStatistics(0.0, 0.0, 1.0, float("nan"))
"""The statistics of gamma_g = inf."""


def _mean(values: AnyArray) -> float:
    return float(values.mean()) if len(values) else float("nan")
