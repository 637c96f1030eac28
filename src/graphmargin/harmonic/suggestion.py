"""Suggestions of vertices to label next, whose labels would save the most errors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._blocks import row_slices
from graphmargin._checks import check_integer, check_random_state
from graphmargin._compilation import kernel
from graphmargin._html import html_table
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.harmonic.local_push import push_visits
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.harmonic.system import HarmonicSystem, confidence_of

MIN_CANDIDATES = 300
"""Smallest number of candidates, if there are as many; each takes a right-hand side."""
CANDIDATES_PER_SUGGESTION = 3
MAX_COMPONENTS = 50
"""Largest number of components without a label that always have a candidate."""
ERROR_SAMPLE = 4_000
"""Number of vertices besides the candidates on which errors are counted, for all others."""
WEAK_SINK, STRONG_SINK = 0.01, 0.1
"""Range of gamma_g, in units of the median degree, in which suggestions are good."""
TOLERANCE = 1e-4
"""Tolerance on graphs too large for the direct solver; a smaller one changes no suggestion."""
FAR_SINK_MASS = 0.5
"""Sink mass above which a vertex is called far from all labels."""
SURE_CONFIDENCE = 0.5
"""Confidence above which only the best class is named."""


@dataclass(frozen=True)
class Suggestions:
    """Vertices to label next, the most useful one first.

    Attributes
    ----------
    vertices : array of shape (m,)
        Vertices in the order in which to label them.
    gain : array of shape (m,)
        Expected number of errors that the label saves, given those before it.
    rows : array of shape (m,)
        Number of vertices that it represents: the expected number of walks, one from each unlabeled
        vertex, that would end at the new label, given those before it.
    class_mass : array of shape (m, c)
        Class masses of the vertex without new labels.
    sink_mass : array of shape (m,)
        Share of its walks that end at no label.
    reasons : tuple of str
        Reason for each suggestion, as a text.
    gamma_g : float
        Rate of the sink that was used, which may differ from that of the solution.

    Examples
    --------
    >>> from graphmargin import harmonic_solution, suggest_labels
    >>> W = [[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    >>> suggestions = suggest_labels(harmonic_solution(W, ["a", "", "", "b"], gamma_g=0.1), 1)
    >>> suggestions.vertices.tolist(), suggestions.gain.round(2).tolist()
    ([1], [0.34])
    >>> print(suggestions)
    1 label would save about 0.3 errors
    vertex 1: between 'a' (62%) and 'b' (29%); stands for about 1 row
    """

    vertices: IntArray
    gain: FloatArray
    rows: FloatArray
    class_mass: FloatArray
    sink_mass: FloatArray
    reasons: tuple[str, ...]
    gamma_g: float

    @property
    def confidence(self) -> FloatArray:
        """Best minus second best class mass."""
        return np.asarray(confidence_of(self.class_mass))

    def __str__(self) -> str:
        """Return the total gain, and a line for each vertex."""
        lines = [
            f"vertex {vertex}: {reason}"
            for vertex, reason in zip(self.vertices, self.reasons, strict=True)
        ]
        return "\n".join([self._headline, *lines])

    def _repr_html_(self) -> str:
        """Return the same content and the gain of each vertex as an HTML table for notebooks."""
        gains = [f"{gain:.1f}" for gain in self.gain]
        rows = zip(self.vertices, gains, self.reasons, strict=True)
        return html_table(self._headline, rows, header=("vertex", "errors saved", "why"))

    @property
    def _headline(self) -> str:
        labels = "1 label" if len(self.vertices) == 1 else f"{len(self.vertices)} labels"
        return f"{labels} would save about {self.gain.sum():.1f} errors"


def suggest_labels(
    solution: HarmonicSolution, n: int, *, n_jobs: int | None = None, random_state: Any = 0
) -> Suggestions:
    """Return the n vertices whose labels are expected to save the most errors.

    Let P be the label distributions (class masses, with the sink mass divided equally) and G the
    inverse of the harmonic system. A walk from i passes k with probability
    ``h_i = G_ik / G_kk``, so that label c at vertex k changes the distributions to
    ``P_i + h_i (e_c - P_k)``. The expected number of errors that this label saves is

    ``gain_k = sum_i (sum_c P_kc max_j (P_i + h_i (e_c - P_k))_j - max_j P_ij)``

    over the unlabeled vertices (Zhu, Lafferty, Ghahramani 2003, for any number of classes). It is
    large where the classes are undecided *and* many others depend on the label. Vertices are chosen
    greedily. The system is then conditioned on the most likely label of the chosen vertex, so that
    the next one is elsewhere.

    Where no label is near, the sink mass makes P uniform, and the gain of a label is the number of
    vertices around it. This holds for components without a label, too. A class that has no label
    yet is not in P, but is found in this way.

    Parameters
    ----------
    solution : HarmonicSolution
        Solution whose graph, labels and gamma_g are used. A gamma_g outside of 0.01 to 0.1 median
        degrees is clipped: with a weaker sink distances do not matter, with a stronger one labels
        do not depend on each other. New labels count as certain, whatever the trust in the given
        ones.
    n : int >= 1
        All unlabeled vertices are returned if they are fewer.
    n_jobs : int, default=None
        Number of threads; None takes as many as BLAS would, -1 all cores.
    random_state : int, RandomState or None, default=0
        Seed of the sample of a large graph: ``max(300, 3 n)`` candidates, drawn in proportion to
        their uncertainty, and 4,000 more vertices on which errors are counted. Of up to 300
        unlabeled vertices all are candidates, and of up to 4,300 errors are counted on all.

    Notes
    -----
    Each candidate takes one right-hand side, by elimination in blocks of 32 MB, or on a large graph
    by `push_visits`, in a time that does not depend on its size. Memory is that of the edges, of
    the class masses and of ``candidates x (candidates + 4,000)`` numbers.

    Examples
    --------
    Two clusters of which one has labels, and a vertex without edges:

    >>> from graphmargin.harmonic import harmonic_solution
    >>> W = np.zeros((10, 10))
    >>> W[:5, :5] = W[5:9, 5:9] = 1.0
    >>> y = ["cat", "dog"] + [None] * 8
    >>> print(suggest_labels(harmonic_solution(W, y, gamma_g=0.1), 3))
    3 labels would save about 3.2 errors
    vertex 5: no label reaches its cluster of 4 rows
    vertex 2: between 'cat' (48%) and 'dog' (48%); stands for about 2 rows
    vertex 9: no label reaches it, and it has no neighbors
    """
    n = check_integer("n", n, low=1)
    problem, random = solution.problem, check_random_state(random_state)
    walk = _Walk.from_problem(problem, _clip_gamma_g(solution.gamma_g, problem.W), n_jobs)
    mass = walk.class_mass
    P = mass + (1.0 - mass.sum(axis=1, keepdims=True)) / mass.shape[1]
    candidates, others = _candidate_pool(walk, 1.0 - P.max(axis=1), n, random)
    sample = random.permutation(others)[:ERROR_SAMPLE]
    rows = np.concatenate([candidates, sample])
    weights = np.ones(len(rows))
    weights[len(candidates) :] = len(others) / max(1, len(sample))
    picks = _pick(walk.visits(candidates, rows), P[rows], weights, n)
    chosen = candidates[[pick.candidate for pick in picks]]
    gain, represented = np.array([(pick.gain, pick.rows) for pick in picks]).reshape(-1, 2).T
    vertices, class_mass = walk.vertices[chosen], mass[chosen]
    sink_mass = 1.0 - class_mass.sum(axis=1)
    reasons = tuple(
        _reason(problem, *facts)
        for facts in zip(vertices, class_mass, sink_mass, represented, strict=True)
    )
    return Suggestions(vertices, gain, represented, class_mass, sink_mass, reasons, walk.gamma_g)


def _clip_gamma_g(gamma_g: float, W: sparse.csr_array) -> float:
    """Return gamma_g, clipped to the range in which suggestions are good."""
    degrees = np.asarray(W.sum(axis=1))
    unit = np.median(degrees[degrees > 0]) if degrees.any() else 1.0
    return float(np.clip(gamma_g, WEAK_SINK * unit, STRONG_SINK * unit))


@dataclass(frozen=True)
class _Walk:
    """The walk on all vertices without a hard label, also in components without labels.

    Every walk ends in the sink at some time, so that the system is regular on all of them.
    """

    problem: HarmonicProblem
    gamma_g: float
    vertices: IntArray
    edges: sparse.csr_array
    absorption: FloatArray
    class_mass: FloatArray
    inverse: Callable[[FloatArray], FloatArray] | None
    """The inverse of the system, if the graph is small enough to be factorized."""
    n_jobs: int | None

    @classmethod
    def from_problem(cls, problem: HarmonicProblem, gamma_g: float, n_jobs: int | None) -> _Walk:
        labels, hard = problem.labels, problem.hard
        vertices = np.flatnonzero(~hard)
        rates = problem.W[vertices][:, np.flatnonzero(hard)] @ labels.one_hot[hard]
        rates += problem.trust[vertices, None] * labels.one_hot[vertices]
        sink = gamma_g + np.where(labels.labeled[vertices], 0.0, problem.c_unlabeled)
        absorption = rates.sum(axis=1) + sink
        edges = sparse.csr_array(problem.W[vertices][:, vertices])
        system = HarmonicSystem(edges, "auto", n_jobs=n_jobs)
        inverse = system.inverse(absorption, tol=TOLERANCE)
        mass = np.clip(inverse(rates), 0.0, 1.0)
        mass /= np.maximum(mass.sum(axis=1, keepdims=True), 1.0)  # rounding may exceed one
        exact = inverse if system.solver == "direct" else None
        return cls(problem, gamma_g, vertices, edges, absorption, mass, exact, n_jobs)

    def visits(self, candidates: IntArray, rows: IntArray) -> FloatArray:
        """Return G between candidates and rows, with a row for each candidate."""
        if self.inverse is None:
            return push_visits(
                *(self.edges, self.absorption, candidates, rows),
                tol=TOLERANCE,
                n_jobs=self.n_jobs,
            )
        visits = np.empty((len(candidates), len(rows)))
        for batch in row_slices(len(candidates), 8 * len(self.vertices)):
            starts = np.zeros((len(self.vertices), batch.stop - batch.start))
            starts[candidates[batch], np.arange(starts.shape[1])] = 1.0
            visits[batch] = self.inverse(starts)[rows].T
        return visits


def _candidate_pool(
    walk: _Walk, risk: FloatArray, n: int, random: np.random.RandomState
) -> tuple[IntArray, IntArray]:
    """Return the candidates and the other unlabeled vertices, as rows of the walk.

    Candidates are drawn in proportion to their risk. The largest components without a label are
    represented by their vertex of largest degree.
    """
    problem, vertices = walk.problem, walk.vertices
    unlabeled = np.flatnonzero(~problem.labels.labeled[vertices])
    keys = random.exponential(size=len(unlabeled)) / np.maximum(risk[unlabeled], 1e-9)
    unreached = np.flatnonzero(~problem.reached[vertices[unlabeled]])
    degrees = np.asarray(problem.W.sum(axis=1))[vertices[unlabeled[unreached]]]
    unreached = unreached[np.argsort(-degrees, kind="stable")]
    _, center, sizes = np.unique(
        problem.component[vertices[unlabeled[unreached]]], return_index=True, return_counts=True
    )
    keys[unreached[center[np.argsort(-sizes, kind="stable")[:MAX_COMPONENTS]]]] = 0.0
    order = unlabeled[np.argsort(keys, kind="stable")]
    size = max(MIN_CANDIDATES, CANDIDATES_PER_SUGGESTION * n)
    return order[:size], order[size:]


class _Selected(NamedTuple):
    candidate: int
    gain: float
    rows: float


def _pick(visits: FloatArray, P: FloatArray, weights: FloatArray, n: int) -> list[_Selected]:
    """Return up to n candidates, chosen greedily; the first rows of P are those of candidates."""
    weights, picks = weights.copy(), []
    for _ in range(min(n, len(visits))):
        gains = _gains(visits, P, weights)
        k = int(gains.argmax())
        h = visits[k] / visits[k, k]
        picks.append(_Selected(k, float(gains[k]), float(h @ weights)))
        P = condition_on_label(P, h, k, int(P[k].argmax()))
        # G without vertex k, whose row and column become exactly zero.
        visits = np.maximum(visits - np.outer(visits[:, k], h), 0.0)
        visits[k] = visits[:, k] = weights[k] = 0.0
    return picks


def condition_on_label(P: FloatArray, h: FloatArray, k: int, code: int) -> FloatArray:
    """Return the label distributions given a label at vertex k, where walks pass k with chance h.

    Examples
    --------
    A walk on the path 0 - 1 - 2 - 3 between two labels, if vertex 1 had that of vertex 3:

    >>> P = np.array([[2, 1], [1, 2]]) / 3
    >>> condition_on_label(P, np.array([1, 0.5]), 0, 1).tolist()
    [[0.0, 1.0], [0.0, 1.0]]
    """
    conditioned = P - np.outer(h, P[k])
    conditioned[:, code] += h
    return np.maximum(conditioned, 0.0)


@kernel()
def _gains(visits, P, weights):  # type: ignore[no-untyped-def]
    """Return the expected number of errors that a label of each candidate saves."""
    n_candidates, n = visits.shape
    n_classes = P.shape[1]
    gap, best = np.empty(n), np.empty(n)
    for i in range(n):
        first = second = -np.inf
        for c in range(n_classes):
            if P[i, c] > first:
                first, second = P[i, c], first
            elif P[i, c] > second:
                second = P[i, c]
        best[i], gap[i] = first, first - second
    gains = np.full(n_candidates, -np.inf)
    for k in range(n_candidates):
        if visits[k, k] <= 0.0:
            continue  # chosen already
        total = 0.0
        for i in range(n):
            h = visits[k, i] / visits[k, k]
            if 2 * h <= gap[i]:
                continue  # no label of k changes the arg max: the gain is zero
            stays = -np.inf
            for c in range(n_classes):
                stays = max(stays, P[i, c] - h * P[k, c])
            expected = 0.0
            for c in range(n_classes):
                expected += P[k, c] * max(stays, P[i, c] - h * P[k, c] + h)
            total += weights[i] * (expected - best[i])
        gains[k] = total
    return gains


def _reason(
    problem: HarmonicProblem, vertex: int, class_mass: FloatArray, sink_mass: float, rows: float
) -> str:
    if not problem.reached[vertex]:
        size = np.count_nonzero(problem.component == problem.component[vertex])
        if size == 1:
            return "no label reaches it, and it has no neighbors"
        return f"no label reaches its cluster of {size} rows"
    classes = problem.labels.classes
    first, second = np.argsort(-class_mass, kind="stable")[:2]
    if sink_mass > FAR_SINK_MASS:
        position = f"far from all labels ({sink_mass:.0%} of its walks meet none)"
    elif class_mass[first] - class_mass[second] > SURE_CONFIDENCE:
        position = f"probably {_share(classes, class_mass, first)}"
    else:
        pair = [_share(classes, class_mass, code) for code in (first, second)]
        position = f"between {pair[0]} and {pair[1]}"
    return f"{position}; stands for about {max(1, round(rows))} row{'s' * (round(rows) > 1)}"


def _share(classes: AnyArray, class_mass: FloatArray, code: int) -> str:
    return f"{str(classes[code])!r} ({class_mass[code]:.0%})"
