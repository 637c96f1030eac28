"""The harmonic system: the choice of a solver, and the check of the arg max of every row."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice
from graphmargin._compilation import kernel
from graphmargin._threads import map_in_threads
from graphmargin._typing import FloatArray, IntArray, ProgressCallback
from graphmargin.harmonic._solvers import iterative
from graphmargin.harmonic._solvers.coarse_graph import Aggregates
from graphmargin.harmonic._solvers.elimination import (
    LANES,
    MAX_FILL_OF_LANES,
    EliminationOrder,
    eliminate,
    elimination_order,
)

Solver = Literal["auto", "direct", "cg"]
SOLVERS = ("auto", "direct", "cg")

ROW_TOLERANCE = 1e-7
"""Largest deviation from one of the sum of a row, unless its error is bounded."""
MAX_ROW_ERROR = 0.01
"""Largest deviation that is an inaccuracy of an iteration, not a row that it cannot solve."""
CERTAIN_CONFIDENCE = 1e-6
"""Smallest confidence for which an iteration has the label of the exact solution."""
MASS_ERROR = 1e-5
"""Bound on the error of class masses from an iteration; the error itself is far smaller."""
FIRST_TOLERANCE = 1e-6
STEPS_TOLERANCE = 0.5
SMALL_MASS = 1e-4
"""Class mass below which an iteration that stops by a norm does not rank the classes."""
UNDERFLOW_MASS = 1e-200
"""Class mass below which rows are solved again, relative to the largest of them."""
HARD_LABEL_RATE = 1e9
"""Rate of absorption at a hard label, in units of the rate at which walks leave its vertex."""
MIN_AGGREGATED = 5_000
"""Smallest number of vertices for which a coarse graph speeds up iterations."""
MAX_SWEEP_RATE = 0.6
"""Largest probability that a walk is not absorbed in a step for which sweeps are fastest."""


@dataclass(frozen=True)
class SystemSolution:
    """Absorption probabilities of the free vertices, and a report on the solver."""

    X: FloatArray
    best: IntArray
    """Class of the largest mass of every row, also where the mass underflows."""
    solver: str
    iterations: int
    converged: bool
    residual: float
    """Largest distance of an entry from the weighted mean of its neighbors."""


EMPTY_SOLUTION = SystemSolution(np.zeros((0, 0)), np.zeros(0, dtype=np.int64), "none", 0, True, 0.0)


def check_solver(solver: str) -> None:
    """Raise ValueError unless `solver` is one of `SOLVERS`."""
    check_choice("solver", solver, SOLVERS)


class HarmonicSystem:
    """``(diag(s) - W) X = B`` for one W and many B.

    The elimination order, or an order of the vertices that keeps neighbors together, depends on W
    alone and is computed once.
    """

    def __init__(
        self,
        W: sparse.csr_array,
        solver: Solver = "auto",
        *,
        n_jobs: int | None = None,
        progress: ProgressCallback | None = None,
    ) -> None:
        check_solver(solver)
        self.W = W
        self.n_jobs = n_jobs
        self.progress = progress
        self.order: EliminationOrder | None = None
        self.solver = solver
        self.is_auto = solver == "auto"
        if solver in ("auto", "direct"):
            self._choose_solver(solver)
        self.rows: IntArray | slice = slice(None)
        """Vertex of every row of the system."""
        self.aggregates: Aggregates | None = None
        if self.order is None and W.shape[0] >= MIN_AGGREGATED:
            self.aggregates = Aggregates(W)
            self.rows, self.W = self.aggregates.rows, self.aggregates.W
        self.degrees = self.W.sum(axis=1)

    def _choose_solver(self, solver: Solver) -> None:
        if solver == "direct":
            self.order = elimination_order(self.W, max_flops=np.inf)
        else:
            self.order = elimination_order(self.W)
        if self.order is not None:
            self.solver = "direct"
        elif solver == "direct":
            msg = (
                f"`solver`='direct' needs too much memory for this graph of {self.W.shape[0]} "
                "vertices; use solver='cg'"
            )
            raise MemoryError(msg)
        else:
            self.solver = "cg"

    def solve(
        self, right_hand_sides: Sequence[FloatArray], n_classes: int, *, tol: float | None = None
    ) -> list[SystemSolution]:
        """Return the absorption probabilities; the rows of B sum to the rate of absorption.

        Iterations end when labels are certain; with a `tol`, when no entry is farther than this
        from the mean of its neighbors.

        Several systems are solved in threads, each by itself: starting at the best combination of
        earlier solutions would save one iteration in ten.
        """
        if self.W.shape[0] == 0:
            return [replace(EMPTY_SOLUTION, X=B) for B in right_hand_sides]
        if self.order is not None:
            return self._solve_directly(right_hand_sides, n_classes, self.order)
        if len(right_hand_sides) == 1:
            return [self._solve_iteratively(right_hand_sides[0], n_classes, tol)]
        single = copy.copy(self)
        single.n_jobs, single.progress = 1, None
        return map_in_threads(
            lambda B: single.solve([B], n_classes, tol=tol)[0],
            right_hand_sides,
            n_jobs=self.n_jobs,
            progress=self.progress,
        )

    def _solve_directly(
        self, right_hand_sides: Sequence[FloatArray], n_classes: int, order: EliminationOrder
    ) -> list[SystemSolution]:
        """Factorize a few systems at a time, in threads."""
        n = len(right_hand_sides)
        n_together = n // LANES * LANES if len(order.column_rows) <= MAX_FILL_OF_LANES else 0
        chunks = [range(first, first + LANES) for first in range(0, n_together, LANES)]
        chunks += [range(first, first + 1) for first in range(n_together, n)]

        def work(chunk: range) -> list[SystemSolution]:
            systems = [right_hand_sides[i] for i in chunk]
            absorption = np.column_stack([B.sum(axis=1) for B in systems])
            factor = eliminate(self.W, absorption, order)
            return [
                self._finish(B, np.clip(factor.solve(B, lane), 0.0, 1.0), n_classes, 0, True)
                for lane, B in enumerate(systems)
            ]

        solved = map_in_threads(work, chunks, n_jobs=self.n_jobs, progress=self.progress)
        return [solution for chunk in solved for solution in chunk]

    def _solve_iteratively(
        self, B: FloatArray, n_classes: int, tol: float | None
    ) -> SystemSolution:
        B = B[self.rows]
        s = self.degrees + B.sum(axis=1)
        use_sweeps = self.is_auto and bool((self.degrees <= MAX_SWEEP_RATE * s).all())
        if use_sweeps:
            iterate = self._sweep(s, B)
            X, certain = iterate.X, False
        elif tol is not None:
            iterate = self._run(s, B, tol=tol)
            X, certain = iterate.X, True
        else:
            iterate, X, certain = self._run_until_certain(s, B, n_classes)
        X, converged = np.clip(X, 0.0, 1.0), iterate.converged
        if certain:
            total = X.sum(axis=1, keepdims=True)
            np.divide(X, total, out=X, where=np.abs(total - 1) <= MAX_ROW_ERROR)
        X, converged = self._resolve_rows(B, X, n_classes, converged, certain, use_sweeps)
        solved = self._finish(B, X, n_classes, iterate.iterations, converged)
        X, best = np.empty_like(solved.X), np.empty_like(solved.best)
        X[self.rows], best[self.rows] = solved.X, solved.best
        solver = "gauss-seidel" if use_sweeps else self.solver
        return replace(solved, X=X, best=best, solver=solver)

    def _finish(
        self, B: FloatArray, X: FloatArray, n_classes: int, iterations: int, converged: bool
    ) -> SystemSolution:
        s = self.degrees + B.sum(axis=1)
        best = self._argmax_despite_underflow(B, X[:, :n_classes])
        residual = float(iterative.violations(self.W, s, B, X).max())
        return SystemSolution(X, best, self.solver, iterations, converged, residual)

    def inverse(
        self, absorption: FloatArray, *, tol: float | None = None
    ) -> Callable[[FloatArray], FloatArray]:
        """Return the function R -> ``(diag(W 1 + absorption) - W)^-1 R`` for R >= 0.

        Iterations continue until the leading digits of small entries are right; with a `tol`, they
        end when the violation is that share of the size of the column.
        """
        if self.order is not None:
            return eliminate(self.W, absorption, self.order).solve

        s = self.degrees + absorption[self.rows]
        options: dict[str, Any] = {}
        if self.aggregates is not None:  # one preconditioner for all right-hand sides
            options["update"] = self.aggregates.preconditioner(s, absorption[self.rows])

        def iterate(R: FloatArray) -> FloatArray:
            # Columns are scaled to size one, so that an absolute tolerance is a relative one;
            # sweeps then improve the small entries. R is non-negative.
            R = R[self.rows]
            size = (R / s[:, None]).max(axis=0, initial=0.0)
            size[size == 0] = 1.0
            X = np.empty_like(R)
            if tol is not None:
                X[self.rows] = np.maximum(self._run(s, R / size, tol=tol, **options).X, 0.0) * size
                return X
            start = np.maximum(self._run(s, R / size, **options).X, 0.0)
            X[self.rows] = self._sweep(s, R / size, start=start, max_iter=300).X * size
            return X

        return iterate

    def _sweep(self, s: FloatArray, B: FloatArray, **options: Any) -> iterative.IterativeSolution:
        return iterative.gauss_seidel(self.W, s, B, progress=self.progress, **options)

    def _run(self, s: FloatArray, B: FloatArray, **options: Any) -> iterative.IterativeSolution:
        options = {"n_jobs": self.n_jobs, "progress": self.progress, **options}
        if self.aggregates is not None and "update" not in options:
            options["update"] = self.aggregates.preconditioner(s, s - self.degrees)
        return iterative.conjugate_gradients(self.W, s, B, **options)

    def _run_until_certain(
        self, s: FloatArray, B: FloatArray, n_classes: int
    ) -> tuple[iterative.IterativeSolution, FloatArray, bool]:
        """Iterate until the labels are certain, whatever the residuals are.

        An entry that is tau away from the mean of its neighbors causes an error of at most
        ``tau T_i`` at vertex i, where T_i is the expected number of steps of the walk from i:
        ``diag(s) T = W T + s``, and the inverse of ``diag(s) - W`` has no negative entry. T is
        one more column, which needs to be right up to a factor of two only: from
        ``diag(s) T' - W T' >= s / 2`` follows ``T <= 2 T'``. The iteration ends when
        ``2 tau T_i`` is below the confidence of every vertex whose confidence is at least 1e-6:
        no error can change its label, and all masses are right to 1e-5.

        Returns the iterate, the masses, and whether the labels are certain.
        """
        system = np.column_stack([B, s])

        def refine(violations: FloatArray, X: Callable[[], FloatArray]) -> FloatArray | None:
            return final_tolerances(violations, lambda: certifying_tolerance(X(), n_classes))

        iterate = self._run(s, system, tol=FIRST_TOLERANCE, refine=refine)
        violations = iterative.violations(self.W, s, system, iterate.X)
        certain = is_certain(violations, certifying_tolerance(iterate.X, n_classes))
        return iterate, iterate.X[:, :-1], certain

    def _resolve_rows(
        self,
        B: FloatArray,
        X: FloatArray,
        n_classes: int,
        converged: bool,
        certain: bool,
        swept: bool,
    ) -> tuple[FloatArray, bool]:
        """Solve again, given the others, the rows that an iteration cannot solve.

        Such rows do not sum to one: in a cluster that is connected to the rest by weights of
        1e-20, rows of ``diag(s) - W`` cancel (the rest does not depend on the cluster either, and
        is right). Or, after a stop by a norm, their class mass is small compared with that norm;
        where labels are certain, only rows of almost no confidence are concerned.
        """
        mass = X[:, :n_classes]
        unsolved = ~(np.abs(X.sum(axis=1) - 1) <= ROW_TOLERANCE)  # true for NaN as well
        if certain:
            unsolved |= (mass.sum(axis=1) < SMALL_MASS) & (confidence_of(mass) < CERTAIN_CONFIDENCE)
        elif not (swept and converged):
            unsolved |= mass.sum(axis=1) < SMALL_MASS
        if swept:
            converged = True  # rows grow towards one: the missing mass is the error
        rows, others = np.flatnonzero(unsolved), np.flatnonzero(~unsolved)
        if not len(rows):
            return X, converged
        rates = B[rows] + self.W[rows][:, others] @ X[others]
        solved = self._eliminate_part(rows, rates.sum(axis=1), rates)
        if solved is None:
            s = self.degrees + B.sum(axis=1)
            iterate = self._sweep(s, B, start=X)
            complete = np.abs(iterate.X.sum(axis=1) - 1).max() <= ROW_TOLERANCE
            return iterate.X, bool(converged and iterate.converged and complete)
        X = X.copy()
        X[rows] = solved
        return X, converged

    def _argmax_despite_underflow(self, B: FloatArray, mass: FloatArray) -> IntArray:
        """Return the class of the largest mass of every row, also where the mass underflows.

        Rows below `UNDERFLOW_MASS` are solved again, given the others, with the largest rate as the
        unit; those that are still too small are solved in the next stage.
        """
        n_classes = mass.shape[1]
        best = np.asarray(mass.argmax(axis=1))
        is_ranked = mass.max(axis=1) >= UNDERFLOW_MASS
        if is_ranked.all():
            return best
        mass, log_unit = mass.copy(), np.zeros(len(mass))
        while not is_ranked.all():
            rows, others = np.flatnonzero(~is_ranked), np.flatnonzero(is_ranked)
            edges = sparse.coo_array(self.W[rows][:, others])
            with np.errstate(divide="ignore"):
                log_edges = np.log(edges.data) + log_unit[others[edges.col]]
                log_rates = log_edges + np.log(mass[others].max(axis=1))[edges.col]
                log_absorption = np.log(B[rows, :n_classes])
            reference = max(log_rates.max(initial=-np.inf), log_absorption.max(initial=-np.inf))
            if np.isinf(reference):
                break  # the edges from these rows to a label underflow
            edges.data = np.exp(log_edges - reference)
            rates = edges @ mass[others] + np.exp(log_absorption - reference)
            outside = B[rows].sum(axis=1) + self.W[rows][:, others].sum(axis=1)
            solved = self._eliminate_part(rows, outside, rates)
            if solved is None:
                W = sparse.csr_array(self.W[rows][:, rows])
                solved = iterative.gauss_seidel(W, W.sum(axis=1) + outside, rates).X
            mass[rows] = solved
            top = mass[rows].max()
            mass[rows] /= top
            log_unit[rows] = reference + np.log(top)
            best[rows] = mass[rows].argmax(axis=1)
            is_ranked[rows] = mass[rows].max(axis=1) >= UNDERFLOW_MASS
        return best

    def _eliminate_part(
        self, rows: IntArray, absorption: FloatArray, rates: FloatArray
    ) -> FloatArray | None:
        """Return the solution for some rows given the others, None if the fill is too large."""
        W = sparse.csr_array(self.W[rows][:, rows])
        order = elimination_order(W)
        return None if order is None else eliminate(W, absorption, order).solve(rates)


def certifying_tolerance(X: FloatArray, n_classes: int) -> float:
    """Return the violation at which the labels of X are certain, whose last column is T.

    Examples
    --------
    >>> certifying_tolerance(np.array([[0.75, 0.25, 4.0]]), n_classes=2)
    1.25e-06
    """
    if not (X[:, -1] > 0).all():
        return 0.0
    allowed = np.maximum(confidence_of(X[:, :n_classes]), CERTAIN_CONFIDENCE) / 2
    steps = X[:, -1] / STEPS_TOLERANCE
    return float((np.minimum(allowed, MASS_ERROR) / steps).min(initial=np.inf))


def final_tolerances(violations: FloatArray, certain_at: Callable[[], float]) -> FloatArray | None:
    """Return the violations at which an iteration ends, None as long as T is not accurate enough.

    Examples
    --------
    >>> final_tolerances(np.array([1e-7, 1e-7, 0.4]), certain_at=lambda: 1e-8).tolist()
    [5e-09, 5e-09, inf]
    """
    if violations[-1] <= STEPS_TOLERANCE:
        # Half of it, since confidences will still change a little.
        goal = float(np.clip(certain_at() / 2, 1e-13, FIRST_TOLERANCE))
    elif violations[:-1].max() > iterative.TOLERANCE:
        return None
    else:
        goal = iterative.TOLERANCE
    return np.append(np.full(len(violations) - 1, goal), np.inf)


def is_certain(violations: FloatArray, certain_at: float) -> bool:
    """Tell whether the violations, with that of T last, prove that labels are right.

    Examples
    --------
    >>> is_certain(np.array([1e-9, 1e-9, 0.4]), 1e-8), is_certain(np.array([1e-9, 1e-9, 1.0]), 1e-8)
    (True, False)
    """
    return bool(violations[-1] <= STEPS_TOLERANCE and violations[:-1].max() <= certain_at)


def confidence_of(mass: FloatArray) -> FloatArray:
    """Return the best minus the second best class mass of every row.

    Examples
    --------
    >>> confidence_of(np.array([[3.0, 1.0], [2.0, 2.5]])).tolist()
    [2.0, 0.5]
    """
    confidence = np.empty(len(mass))
    _write_confidence(np.ascontiguousarray(mass), confidence)
    return confidence


@kernel()
def _write_confidence(mass, confidence):  # type: ignore[no-untyped-def]
    for i in range(len(mass)):
        best = second = -np.inf
        for c in range(mass.shape[1]):
            value = mass[i, c]
            if value > best:
                second = best
                best = value
            elif value > second:
                second = value
        confidence[i] = best - second
