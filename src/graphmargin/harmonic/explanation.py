"""Explanations of labels: the labeled vertices at which walks end."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.harmonic._solvers.system import HarmonicSystem
from graphmargin.harmonic.solution import HarmonicSolution


@dataclass(frozen=True)
class Explanation:
    """The labeled vertices that determine a label, the most important one first.

    Examples
    --------
    >>> from graphmargin import harmonic_solution
    >>> W = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> explanation = harmonic_solution(W, ["a", "", "", "b"]).explain(1)
    >>> print(explanation)
    vertex 1 -> 'a' (confidence 0.333): 66.7% from vertex 0 ('a'), 33.3% from vertex 3 ('b')
    >>> explanation.sources.tolist(), explanation.shares.round(3).tolist()
    ([0, 3], [0.667, 0.333])
    """

    vertex: int
    label: Any
    confidence: float
    sources: IntArray
    source_labels: AnyArray
    shares: FloatArray
    sink_mass: float

    def __str__(self) -> str:
        """Return one line with the five largest shares."""
        parts = [
            f"{share:.1%} from vertex {source} ({str(label)!r})"
            for share, source, label in zip(
                self.shares[:5], self.sources[:5], self.source_labels[:5], strict=True
            )
        ]
        if len(self.sources) > 5:
            parts.append(f"{self.shares[5:].sum():.1%} from {len(self.sources) - 5} more")
        if self.sink_mass > 0:
            parts.append(f"{self.sink_mass:.1%} into the sink")
        head = f"vertex {self.vertex} -> {str(self.label)!r} (confidence {self.confidence:.3f})"
        return f"{head}: {', '.join(parts)}"


def explain(solution: HarmonicSolution, vertex: int, *, n_jobs: int | None = None) -> Explanation:
    """Return the labeled vertices that determine a label, see `HarmonicSolution.explain`."""
    labeled = np.flatnonzero(solution.problem.labels.labeled)
    shares = absorption_probabilities(solution, vertex, n_jobs=n_jobs)
    order = np.argsort(-shares, kind="stable")
    order = order[shares[order] > 0]
    return Explanation(
        vertex=int(vertex),
        label=solution.labels[vertex],
        confidence=float(solution.confidence[vertex]),
        sources=labeled[order],
        source_labels=solution.classes[solution.problem.labels.codes[labeled[order]]],
        shares=shares[order],
        sink_mass=float(solution.sink_mass[vertex]),
    )


def absorption_probabilities(
    solution: HarmonicSolution, vertex: int, *, n_jobs: int | None = None
) -> FloatArray:
    """Return the probability that the walk from a vertex is absorbed at each labeled vertex.

    The system is symmetric, so that one solve is enough for all labels.

    Parameters
    ----------
    solution : HarmonicSolution
    vertex : int
    n_jobs
        As in `harmonic_solution`.

    Examples
    --------
    >>> from graphmargin import harmonic_solution
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> absorption_probabilities(harmonic_solution(path, [0, -1, 1]), 1).tolist()
    [0.25, 0.75]
    """
    problem = solution.problem
    if not 0 <= vertex < len(problem.trust):
        msg = f"`vertex` must be in 0..{len(problem.trust) - 1}, got {vertex}"
        raise ValueError(msg)
    start = np.flatnonzero(problem.free == vertex)
    if np.isinf(solution.gamma_g) or not len(start):
        labeled = np.flatnonzero(problem.labels.labeled)
        return np.where(problem.hard[labeled], labeled == vertex, 0.0)
    system = HarmonicSystem(problem.inner_edges, n_jobs=n_jobs)
    inverse = system.inverse(problem.rates(solution.gamma_g).sum(axis=1))
    unit = np.zeros((len(problem.free), 1))
    unit[start] = 1.0
    return np.asarray(problem.label_rates.T @ inverse(unit)[:, 0])
