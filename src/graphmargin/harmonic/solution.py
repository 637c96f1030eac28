"""The harmonic solution: induced labels, their confidence, and explanations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from graphmargin._typing import AnyArray, BoolArray, FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic._solvers.system import (
    EMPTY_SOLUTION,
    HarmonicSystem,
    Solver,
    SystemSolution,
    check_solver,
    confidence_of,
)
from graphmargin.harmonic.problem import HarmonicProblem, check_gamma_g, harmonic_problem
from graphmargin.labels import UNLABELED, decode_labels

if TYPE_CHECKING:
    from graphmargin.harmonic.explanation import Explanation

SINK_FLOOR = 0.02
"""Class mass that `conditional_distributions` spreads evenly, so that tiny masses decide little."""


@dataclass(frozen=True)
class HarmonicSolution:
    """The absorption probabilities of walks from all vertices, and the labels that they induce.

    Attributes
    ----------
    class_mass : array of shape (n, c)
        Probability that the walk from vertex i ends at a label of each class.
    sink_mass : array of shape (n,)
        Probability that it ends at no label: 1 in a component without labels. Class masses and
        sink mass of a vertex sum to one.
    codes : array of shape (n,)
        Index of the induced class (arg max), -1 where no label can be reached.
    solver, iterations, converged, residual
        Report on the solver; `residual` is the largest distance of an entry from the weighted mean
        of its neighbors.
    problem, gamma_g
        The problem that was solved.

    Examples
    --------
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> solution = harmonic_solution(path, ["a", None, "b"])
    >>> solution.class_mass[1].round(2).tolist(), solution.labels.tolist()
    ([0.25, 0.75], ['a', 'b', 'b'])
    """

    problem: HarmonicProblem
    gamma_g: float
    class_mass: FloatArray
    sink_mass: FloatArray
    codes: IntArray
    solver: str
    iterations: int
    converged: bool
    residual: float

    @property
    def classes(self) -> AnyArray:
        """The classes, sorted; columns of `class_mass`."""
        return self.problem.labels.classes

    @property
    def labels(self) -> AnyArray:
        """The induced label of every vertex, or the marker of unlabeled rows."""
        return decode_labels(self.classes, self.codes)

    @property
    def confidence(self) -> FloatArray:
        """Best minus second best class mass; abs(ell) for two classes."""
        return confidence_of(self.class_mass)

    @property
    def ell(self) -> FloatArray:
        """The paper's l: mass of the second class minus mass of the first (two classes only)."""
        if len(self.classes) != 2:
            msg = f"`ell` is defined for two classes, got {len(self.classes)}; use `class_mass`"
            raise ValueError(msg)
        return np.asarray(self.class_mass[:, 1] - self.class_mass[:, 0])

    @property
    def label_distributions(self) -> FloatArray:
        """Class probabilities that sum to one: the sink mass is divided equally.

        This keeps the arg max and the confidence of `class_mass`.
        """
        return self.class_mass + self.sink_mass[:, None] / len(self.classes)

    @property
    def unreached(self) -> BoolArray:
        """Vertices in components without a label."""
        return ~self.problem.reached

    @property
    def n_unreached_components(self) -> int:
        """Number of components without a label."""
        return len(np.unique(self.problem.component[self.unreached]))

    @property
    def status(self) -> str:
        """The outcome of the solver, as a text."""
        if not self.converged:
            ending = f"stopped after {self.iterations} iterations without convergence"
        elif self.iterations:
            ending = f"converged in {self.iterations} iterations"
        else:
            ending = "solved"
        note = ""
        if self.n_unreached_components:
            note = (
                f"; {self.unreached.sum()} vertices in {self.n_unreached_components} components "
                "without a label"
            )
        return f"{ending} ({self.solver}, violation {self.residual:.1e}){note}"

    def explain(self, vertex: int, *, n_jobs: int | None = None) -> Explanation:
        """Return the labeled vertices that determine the label of `vertex`.

        The share of a labeled vertex is the probability that the walk from `vertex` is absorbed
        there. Shares and sink mass sum to one; the shares of a class sum to its class mass (before
        `normalize_class_mass`).

        Parameters
        ----------
        vertex : int
        n_jobs : int, default=None
            Number of threads, as in `harmonic_solution`.

        Examples
        --------
        >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
        >>> print(harmonic_solution(path, ["a", None, "b"]).explain(1))
        vertex 1 -> 'b' (confidence 0.500): 75.0% from vertex 2 ('b'), 25.0% from vertex 0 ('a')
        """
        from graphmargin.harmonic.explanation import explain  # not used by a fit

        return explain(self, vertex, n_jobs=n_jobs)


def harmonic_solution(
    W: Any,
    y: npt.ArrayLike,
    *,
    gamma_g: float = 0.0,
    c_labeled: Any = np.inf,
    c_unlabeled: float = 0.0,
    solver: Solver = "auto",
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> HarmonicSolution:
    """Return the hard, regularized or soft harmonic solution on a graph.

    Solves ``min (l - y)' C (l - y) + l' (L + gamma_g I) l`` for every class (eqs. HFS, reg HFS
    and soft HFS of the paper). With hard labels this is
    ``(L_uu + gamma_g I) l_u = W_ul l_l``.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Symmetric, non-negative graph.
    y : array-like of shape (n,)
        Labels; unlabeled is -1, None, NaN or "".
    gamma_g : float >= 0, default=0
        At vertex i, the walk ends in the sink with probability ``gamma_g / (d_i + gamma_g)``. 0 is
        the ordinary harmonic solution; with inf no label is propagated.
    c_labeled : float > 0 or array of shape (n,), default=inf
        Trust c_l in the labels; inf fixes them. An array has the trust in each label (entries at
        unlabeled vertices are ignored).
    c_unlabeled : float >= 0, default=0
        Weight c_u that pulls unlabeled vertices towards zero.
    solver : {"auto", "direct", "cg"}, default="auto"
        "direct" eliminates vertices without subtractions, so that every entry has a small relative
        error for all weights and all gamma_g. "cg" is conjugate gradients on all classes at once.
        It ends when every label with a confidence of at least 1e-6 is certain to be that of the
        exact solution. "auto" is "direct" where the fill is affordable; else it is "cg", or
        Gauss-Seidel sweeps where gamma_g exceeds the degrees.
    n_jobs : int, default=None
        Number of threads; None takes as many as BLAS would, -1 all cores. The result does not
        depend on it.
    progress : callable, default=None
        Called with the finished share of the work (None if unknown) and a message.

    Returns
    -------
    HarmonicSolution

    Notes
    -----
    Time and memory of "direct" grow with the fill of the factor, those of iterations with the
    number of edges times classes. Components without a label are left out of the system.

    Examples
    --------
    >>> path = np.array([[0, 1, 0, 0], [1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0.0]])
    >>> solution = harmonic_solution(path, [0, -1, -1, 1])
    >>> solution.ell.round(3).tolist()
    [-1.0, -0.333, 0.333, 1.0]
    >>> harmonic_solution(path, [0, -1, -1, 1], gamma_g=1.0).sink_mass.round(3).tolist()
    [0.0, 0.5, 0.5, 0.0]
    """
    problem = harmonic_problem(W, y, c_labeled=c_labeled, c_unlabeled=c_unlabeled)
    return solve_path(problem, [gamma_g], solver=solver, n_jobs=n_jobs, progress=progress)[0]


def harmonic_path(
    W: Any,
    y: npt.ArrayLike,
    gammas: Sequence[float],
    *,
    c_labeled: Any = np.inf,
    c_unlabeled: float = 0.0,
    solver: Solver = "auto",
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> list[HarmonicSolution]:
    """Return the harmonic solutions for several values of gamma_g, in the order given.

    Validation, components, the system without its diagonal and the order of its vertices are
    computed once, and the systems are solved in threads (the direct solver factorizes four of them
    at a time). See `harmonic_solution`.

    Examples
    --------
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> [float(s.confidence[1]) for s in harmonic_path(path, [0, -1, 1], [0, 4, np.inf])]
    [0.5, 0.25, 0.0]
    """
    problem = harmonic_problem(W, y, c_labeled=c_labeled, c_unlabeled=c_unlabeled)
    return solve_path(problem, gammas, solver=solver, n_jobs=n_jobs, progress=progress)


def solve_path(
    problem: HarmonicProblem,
    gammas: Sequence[float],
    *,
    solver: Solver = "auto",
    n_jobs: int | None = None,
    progress: ProgressCallback | None = None,
) -> list[HarmonicSolution]:
    """Return the solutions of a validated problem for several gamma_g."""
    check_solver(solver)
    n_classes = len(problem.labels.classes)
    values = [check_gamma_g(gamma_g) for gamma_g in gammas]
    # Small gamma_g come first, because they take longest and threads should end together.
    finite = sorted({value for value in values if np.isfinite(value)})
    solutions: dict[float, SystemSolution] = {}
    if finite:
        system = HarmonicSystem(problem.inner_edges, solver, n_jobs=n_jobs, progress=progress)
        solved = system.solve([problem.rates(value) for value in finite], n_classes)
        solutions = dict(zip(finite, solved, strict=True))
    return [
        assemble_solution(problem, value, solutions.get(value, EMPTY_SOLUTION)) for value in values
    ]


def assemble_solution(
    problem: HarmonicProblem, gamma_g: float, solved: SystemSolution
) -> HarmonicSolution:
    """Return the solution on all vertices from that on the free vertices."""
    hard = np.flatnonzero(problem.hard)
    class_mass = np.zeros((len(problem.trust), len(problem.labels.classes)))
    class_mass[hard, problem.labels.codes[hard]] = 1.0
    sink_mass = np.where(problem.hard, 0.0, 1.0)
    codes = np.where(problem.hard, problem.labels.codes, UNLABELED)
    if np.isfinite(gamma_g):
        n_classes = class_mass.shape[1]
        class_mass[problem.free] = solved.X[:, :n_classes]
        sink_mass[problem.free] = solved.X[:, n_classes:].sum(axis=1)
        codes[problem.free] = solved.best
    return HarmonicSolution(
        problem,
        gamma_g,
        class_mass,
        sink_mass,
        codes,
        solver=solved.solver,
        iterations=solved.iterations,
        converged=solved.converged,
        residual=solved.residual,
    )


def normalize_class_mass(
    solution: HarmonicSolution, priors: npt.ArrayLike | None = None
) -> HarmonicSolution:
    """Return the solution with class masses that match class priors (class mass normalization).

    Over the unlabeled vertices, the mass of class k is scaled to its prior q_k
    (Zhu, Ghahramani, Lafferty 2003). Sink masses and given labels do not change.

    Parameters
    ----------
    solution : HarmonicSolution
    priors : array of shape (c,), default=None
        Positive class priors; None takes the class shares of the labels.

    Examples
    --------
    >>> star = np.zeros((4, 4)); star[3, :3] = star[:3, 3] = [3, 2, 1]
    >>> y = [0, 1, -1, -1]
    >>> normalize_class_mass(harmonic_solution(star, y)).class_mass[2].round(3).tolist()
    [0.5, 0.5]
    """
    counts = solution.problem.labels.one_hot.sum(axis=0)
    target = counts if priors is None else check_priors("priors", priors, len(counts))
    free = solution.problem.free
    mass = solution.class_mass[free]
    total = mass.sum(axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        scaled = mass * (target / mass.sum(axis=0))
        scaled = np.where(mass > 0, scaled, 0.0)
        scaled *= total / scaled.sum(axis=1, keepdims=True)
    # A row without mass has nothing to scale.
    scaled = np.where(total > 0, scaled, mass)
    class_mass, codes = solution.class_mass.copy(), solution.codes.copy()
    class_mass[free] = scaled
    codes[free] = np.where(total[:, 0] > 0, scaled.argmax(axis=1), codes[free])
    return replace(solution, class_mass=class_mass, codes=codes)


def mean_solution(
    solutions: Sequence[HarmonicSolution], shares: Sequence[float] | FloatArray
) -> HarmonicSolution:
    """Return the weighted mean of solutions on the same graph and labels.

    Class masses and sink mass are probabilities again, because shares sum to one. All other
    attributes are those of the first; the mean of one solution is this solution.

    Examples
    --------
    >>> path = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])
    >>> mean = mean_solution(harmonic_path(path, [0, -1, 1], [0, 4]), [0.5, 0.5])
    >>> mean.class_mass[1].tolist(), float(mean.sink_mass[1])
    ([0.1875, 0.5625], 0.25)
    """
    first = solutions[0]
    if len(solutions) == 1:
        return first
    pairs = list(zip(solutions, shares, strict=True))
    class_mass = np.sum([share * solution.class_mass for solution, share in pairs], axis=0)
    sink_mass = np.sum([share * solution.sink_mass for solution, share in pairs], axis=0)
    codes = np.where(class_mass.any(axis=1), class_mass.argmax(axis=1), first.codes)
    return replace(first, class_mass=class_mass, sink_mass=sink_mass, codes=codes)


def spread_sink_mass(class_mass: FloatArray) -> FloatArray:
    """Return class probabilities from class masses: what they lack to one is spread evenly.

    Examples
    --------
    >>> spread_sink_mass(np.array([[0.5, 0.25], [0.0, 1.0]])).tolist()
    [[0.625, 0.375], [0.0, 1.0]]
    """
    sink_mass = np.clip(1 - class_mass.sum(axis=1, keepdims=True), 0.0, 1.0)
    return np.asarray(class_mass + sink_mass / class_mass.shape[1])


def conditional_distributions(class_mass: FloatArray, floor: float = SINK_FLOOR) -> FloatArray:
    """Return class probabilities given that the walk ends at a label, and not in the sink.

    The sink mass measures how far away the labels are, not which one is right. A mass of `floor` is
    spread evenly: rows whose walks hardly ever end at a label are undecided.

    Examples
    --------
    >>> mass = np.array([[0.3, 0.1], [0.0, 0.0]])
    >>> conditional_distributions(mass, floor=0.1).round(2).tolist()
    [[0.7, 0.3], [0.5, 0.5]]
    """
    n_classes = max(1, class_mass.shape[1])
    total = class_mass.sum(axis=1, keepdims=True)
    return np.asarray((class_mass + floor / n_classes) / (total + floor))


def check_priors(name: str, priors: Any, n_classes: int) -> FloatArray:
    """Return class priors as an array, or raise ValueError."""
    try:
        values = np.asarray(priors, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.zeros(0)
    if values.shape != (n_classes,) or not ((values > 0) & np.isfinite(values)).all():
        msg = f"`{name}` must hold {n_classes} positive numbers, one for each class, got {priors!r}"
        raise ValueError(msg)
    return values
