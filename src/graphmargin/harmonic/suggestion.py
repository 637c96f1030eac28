"""Suggestions of vertices to label next, whose labels would save the most errors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from graphmargin._checks import check_integer, check_random_state
from graphmargin._compilation import kernel
from graphmargin._html import html_table
from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray
from graphmargin.harmonic._solvers.label_graph import Inverse, column_blocks
from graphmargin.harmonic._solvers.local_push import push_visits
from graphmargin.harmonic._solvers.system import HarmonicSystem, confidence_of
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import HarmonicSolution, spread_sink_mass

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
    vertex 1: between 'a' (62%) and 'b' (29%); represents about 1 row
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
        return confidence_of(self.class_mass)

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
        their uncertainty, and 4,000 more vertices on which errors are counted. All of up to 300
        unlabeled vertices are candidates, and errors are counted on all of up to 4,300.

    Notes
    -----
    Each candidate takes one right-hand side, by elimination in blocks of 32 MB, or on a large graph
    by `push_visits`, in a time that does not depend on its size. Memory is that of the edges, of
    the class masses and of ``candidates x (candidates + 4,000)`` numbers.

    Examples
    --------
    Two clusters, one of them with labels, and a vertex without edges:

    >>> from graphmargin.harmonic import harmonic_solution
    >>> W = np.zeros((10, 10))
    >>> W[:5, :5] = W[5:9, 5:9] = 1.0
    >>> y = ["cat", "dog"] + [None] * 8
    >>> print(suggest_labels(harmonic_solution(W, y, gamma_g=0.1), 3))
    3 labels would save about 3.2 errors
    vertex 5: no label reaches its cluster of 4 rows
    vertex 2: between 'cat' (48%) and 'dog' (48%); represents about 2 rows
    vertex 9: no label reaches it, and it has no neighbors
    """
    n = check_integer("n", n, low=1)
    problem, random = solution.problem, check_random_state(random_state)
    vertices = np.flatnonzero(~problem.hard)
    walk = _walk_of(problem, vertices, clip_gamma_g(solution.gamma_g, problem.W), n_jobs)
    component, reached = problem.component[vertices], problem.reached[vertices]
    size = max(MIN_CANDIDATES, CANDIDATES_PER_SUGGESTION * n)
    pool = draw_pool(walk, ~problem.labels.labeled[vertices], component, size, random)
    picks = pick_labels(pool, spread_sink_mass(walk.class_mass), n)
    chosen = np.array([pick.vertex for pick in picks], dtype=np.int64)
    class_mass, classes = walk.class_mass, problem.labels.classes
    return Suggestions(
        vertices=vertices[chosen],
        gain=np.array([pick.gain for pick in picks]),
        rows=np.array([pick.rows for pick in picks]),
        class_mass=class_mass[chosen],
        sink_mass=1.0 - class_mass[chosen].sum(axis=1),
        reasons=tuple(reason_for(pick, class_mass, classes, component, reached) for pick in picks),
        gamma_g=walk.gamma_g,
    )


def clip_gamma_g(gamma_g: float, W: sparse.csr_array) -> float:
    """Return gamma_g, clipped to the range in which suggestions are good."""
    degrees = np.asarray(W.sum(axis=1))
    unit = np.median(degrees[degrees > 0]) if degrees.any() else 1.0
    return float(np.clip(gamma_g, WEAK_SINK * unit, STRONG_SINK * unit))


@dataclass(frozen=True)
class CandidateWalk:
    """The walk that ends at labels or in the sink, also in components without labels.

    Every walk ends in the sink at some time, so that the system is regular on all vertices.

    Attributes
    ----------
    W : csr_array of shape (n, n)
    absorption : array of shape (n,)
        Rates at which walks end, also those at labels.
    class_mass : array of shape (n, c)
    gamma_g : float
    inverse : callable or None
        The inverse of the system, if the graph is small enough to be factorized.
    n_jobs : int or None
    """

    W: sparse.csr_array
    absorption: FloatArray
    class_mass: FloatArray
    gamma_g: float
    inverse: Inverse | None
    n_jobs: int | None = None

    def visits(self, candidates: IntArray, rows: IntArray) -> FloatArray:
        """Return G between candidates and rows, with a row for each candidate."""
        if self.inverse is None:
            return push_visits(
                *(self.W, self.absorption, candidates, rows), tol=TOLERANCE, n_jobs=self.n_jobs
            )
        visits = np.empty((len(candidates), len(rows)))
        starts = sparse.eye_array(self.W.shape[0], format="csc")[:, candidates]
        for batch, columns in column_blocks(self.inverse, starts):
            visits[batch] = columns[rows].T
        return visits


def _walk_of(
    problem: HarmonicProblem, vertices: IntArray, gamma_g: float, n_jobs: int | None
) -> CandidateWalk:
    """Return the walk of a problem on its vertices without a hard label."""
    labels, hard = problem.labels, problem.hard
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
    return CandidateWalk(edges, absorption, mass, gamma_g, exact, n_jobs)


@dataclass(frozen=True)
class CandidatePool:
    """Vertices that may be suggested, and the effect of their labels on a sample of vertices.

    Attributes
    ----------
    n_candidates : int
    rows : array of shape (m,)
        The candidates, then other unlabeled vertices, on which errors are counted.
    weights : array of shape (m,)
        Number of vertices that each of them counts for; 0 for one with a label.
    visits : array of shape (n_candidates, m)
        G between candidates and rows.
    """

    n_candidates: int
    rows: IntArray
    weights: FloatArray
    visits: FloatArray

    @property
    def candidates(self) -> IntArray:
        """The vertices that may be suggested."""
        return self.rows[: self.n_candidates]

    def labeled(self, vertex: int, visits: FloatArray) -> CandidatePool:
        """Return the pool after `vertex` got a label; `visits` is its column of G before.

        This is G without the vertex, whose row and column become exactly zero.
        """
        effect = np.outer(visits[self.candidates], visits[self.rows] / visits[vertex])
        rest = np.maximum(self.visits - effect, 0.0)
        here = self.rows == vertex
        rest[:, here] = 0.0
        rest[here[: self.n_candidates]] = 0.0
        return replace(self, visits=rest, weights=np.where(here, 0.0, self.weights))

    def unlabeled(self, vertex: int, visits: FloatArray) -> CandidatePool:
        """Return the pool after `vertex` lost its label; `visits` is its column of G after."""
        effect = np.outer(visits[self.candidates], visits[self.rows] / visits[vertex])
        weights = np.where(self.rows == vertex, 1.0, self.weights)
        return replace(self, visits=self.visits + effect, weights=weights)


def draw_pool(
    walk: CandidateWalk,
    is_open: BoolArray,
    component: IntArray,
    size: int,
    random: np.random.RandomState,
    *,
    n_sampled: int = ERROR_SAMPLE,
) -> CandidatePool:
    """Return a pool of candidates, drawn in proportion to their uncertainty.

    The largest components without a label are represented by their vertex of largest degree.

    Parameters
    ----------
    walk : CandidateWalk
    is_open : mask of shape (n,)
        Vertices that may be candidates, and on which errors are counted.
    component : array of shape (n,)
        Index of the connected component of each vertex.
    size : int
        Number of candidates; all open vertices if they are fewer.
    random : RandomState
    n_sampled : int, default=4000
        Number of open vertices besides the candidates on which errors are counted.
    """
    vertices = np.flatnonzero(is_open)
    mass = walk.class_mass[vertices]
    risk = 1.0 - spread_sink_mass(mass).max(axis=1)
    keys = random.exponential(size=len(vertices)) / np.maximum(risk, 1e-9)
    unreached = np.flatnonzero(~mass.any(axis=1))
    degrees = np.asarray(walk.W.sum(axis=1))[vertices[unreached]]
    unreached = unreached[np.argsort(-degrees, kind="stable")]
    _, center, sizes = np.unique(
        component[vertices[unreached]], return_index=True, return_counts=True
    )
    keys[unreached[center[np.argsort(-sizes, kind="stable")[:MAX_COMPONENTS]]]] = 0.0
    order = vertices[np.argsort(keys, kind="stable")]
    candidates, others = order[:size], order[size:]
    sample = random.permutation(others)[:n_sampled]
    rows = np.concatenate([candidates, sample])
    weights = np.ones(len(rows))
    weights[len(candidates) :] = len(others) / max(1, len(sample))
    return CandidatePool(len(candidates), rows, weights, walk.visits(candidates, rows))


class Pick(NamedTuple):
    """A suggested vertex, the errors that its label saves, and the vertices it represents."""

    vertex: int
    gain: float
    rows: float


def pick_labels(pool: CandidatePool, P: FloatArray, n: int) -> list[Pick]:
    """Return up to n vertices to label, chosen greedily; P are the distributions of all vertices.

    A candidate whose own entry of `visits` is zero is not chosen.
    """
    weights, visits, P, picks = pool.weights.copy(), pool.visits, P[pool.rows], []
    for _ in range(n):
        gains = _gains(visits, P, weights)
        if not np.isfinite(gains.max(initial=-np.inf)):
            break
        k = int(gains.argmax())
        h = visits[k] / visits[k, k]
        picks.append(Pick(int(pool.rows[k]), float(gains[k]), float(h @ weights)))
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


def reason_for(
    pick: Pick, class_mass: FloatArray, classes: AnyArray, component: IntArray, reached: BoolArray
) -> str:
    """Return why a vertex is suggested, as a text.

    Parameters
    ----------
    pick : Pick
    class_mass : array of shape (n, c)
        Class masses of all vertices.
    classes : array of shape (c,)
        Names of the classes; at least two.
    component : array of shape (n,)
        Index of the connected component of each vertex.
    reached : mask of shape (n,)
        Vertices in a component with a label.
    """
    represents = f"represents about {format_rows(pick.rows)}"
    if not reached.any():
        return f"no row has a label yet; it {represents}"
    if not reached[pick.vertex]:
        size = np.count_nonzero(component == component[pick.vertex])
        if size == 1:
            return "no label reaches it, and it has no neighbors"
        return f"no label reaches its cluster of {size} rows"
    mass = class_mass[pick.vertex]
    sink_mass = 1.0 - mass.sum()
    first, second = np.argsort(-mass, kind="stable")[:2]
    if sink_mass > FAR_SINK_MASS:
        position = f"far from all labels ({sink_mass:.0%} of its walks meet none)"
    elif mass[first] - mass[second] > SURE_CONFIDENCE:
        position = f"probably {_share(classes, mass, first)}"
    else:
        pair = [_share(classes, mass, code) for code in (first, second)]
        position = f"between {pair[0]} and {pair[1]}"
    return f"{position}; {represents}"


def format_rows(rows: float) -> str:
    """Return a number of rows as a text, at least one.

    Examples
    --------
    >>> format_rows(0.2), format_rows(12.3)
    ('1 row', '12 rows')
    """
    return f"{max(1, round(rows))} row{'s' * (round(rows) > 1)}"


def _share(classes: AnyArray, class_mass: FloatArray, code: int) -> str:
    return f"{str(classes[code])!r} ({class_mass[code]:.0%})"
