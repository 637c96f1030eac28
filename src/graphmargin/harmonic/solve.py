"""Which solver when, and the check that every row of its answer deserves its arg max."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy import sparse

from graphmargin._checks import check_choice
from graphmargin._typing import FloatArray, IntArray
from graphmargin.harmonic import iterative
from graphmargin.harmonic.elimination import EliminationOrder, eliminate, elimination_order

Solver = Literal["auto", "direct", "cg", "jacobi", "amg"]
SOLVERS = ("auto", "direct", "cg", "jacobi", "amg")

ROW_TOLERANCE = 1e-7
"""Rows of absorption probabilities must sum to one this well."""
SMALL_MASS = 1e-4
"""Class mass below which a stop by a norm does not rank the classes."""
UNDERFLOW = 1e-200
"""Class mass below which rows are solved again in units of their own."""


@dataclass(frozen=True)
class Solved:
    """Absorption probabilities of the free vertices and how they were found."""

    X: FloatArray
    best: IntArray
    """Class of the largest mass of every row, also where the mass underflows."""
    solver: str
    iterations: int
    converged: bool
    residual: float
    """Largest distance of an entry from the weighted mean of its neighbors."""


NOTHING_TO_SOLVE = Solved(np.zeros((0, 0)), np.zeros(0, dtype=np.int64), "none", 0, True, 0.0)


def check_solver(solver: str) -> None:
    """Raise ValueError unless `solver` is known."""
    check_choice("solver", solver, SOLVERS)


class HarmonicSystem:
    """``(diag(s) - W) X = B`` for one W and many B; the elimination order is found once."""

    def __init__(
        self, W: sparse.csr_array, solver: Solver, progress: iterative.Progress | None = None
    ) -> None:
        check_solver(solver)
        self.W = W
        self.degrees = W.sum(axis=1)
        self.progress = progress
        self.order: EliminationOrder | None = None
        self.solver = solver
        if solver in ("auto", "direct"):
            self._choose(solver)

    def _choose(self, solver: Solver) -> None:
        caps = {"max_flops": np.inf} if solver == "direct" else {}
        self.order = elimination_order(self.W, **caps)
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

    def solve(self, B: FloatArray, n_classes: int, start: FloatArray | None = None) -> Solved:
        """Return the absorption probabilities; the rows of B sum to the rate of absorption."""
        W, n = self.W, self.W.shape[0]
        if n == 0:
            return replace(NOTHING_TO_SOLVE, X=B)
        absorption = B.sum(axis=1)
        found = self._run(absorption, B, start)
        X, converged = np.clip(found.X, 0.0, 1.0), found.converged
        if self.solver != "direct":
            X, converged = self._resolve_rows(B, X, n_classes, converged)
        s = self.degrees + absorption
        best = self._rank_in_stages(B, X[:, :n_classes])
        residual = float(np.abs(X - (W @ X + B) / s[:, None]).max())
        return Solved(X, best, self.solver, found.iterations, converged, residual)

    def inverse(self, absorption: FloatArray) -> Callable[[FloatArray], FloatArray]:
        """Return the function R -> ``(diag(W 1 + absorption) - W)^-1 R`` for R >= 0."""
        if self.order is not None:
            return eliminate(self.W, absorption, self.order).solve

        s = self.degrees + absorption

        def iterate(R: FloatArray) -> FloatArray:
            # Columns of size one, so that an absolute tolerance is a relative one; sweeps then
            # settle the small entries. R is non-negative.
            size = (R / s[:, None]).max(axis=0, initial=0.0)
            size[size == 0] = 1.0
            X = np.maximum(self._run(absorption, R / size, None).X, 0.0)
            swept = iterative.jacobi(self.W, s, R / size, start=X, max_iter=300)
            return np.asarray(swept.X * size)

        return iterate

    def _run(
        self, absorption: FloatArray, B: FloatArray, start: FloatArray | None
    ) -> iterative.Iterate:
        if self.order is not None:
            X = eliminate(self.W, absorption, self.order).solve(B)
            return iterative.Iterate(X, 0, converged=True)
        s = self.degrees + absorption
        if self.solver == "jacobi":
            return iterative.jacobi(self.W, s, B, progress=self.progress)
        precondition = None
        if self.solver == "amg":
            precondition = iterative.algebraic_multigrid(self.W, s)
        return iterative.conjugate_gradients(
            self.W, s, B, start=start, precondition=precondition, progress=self.progress
        )

    def _resolve_rows(
        self, B: FloatArray, X: FloatArray, n_classes: int, converged: bool
    ) -> tuple[FloatArray, bool]:
        """Solve again, given the others, the rows that an iteration cannot get right.

        These do not sum to one: a cluster that hangs on the rest by weights of 1e-20 is
        invisible, its rows of ``diag(s) - W`` cancel (the rest does not feel the cluster either
        and is right). Or, after a stop by a norm, their class mass is small against that norm.
        """
        unsure = ~(np.abs(X.sum(axis=1) - 1) <= ROW_TOLERANCE)  # also where X is not a number
        if not (self.solver == "jacobi" and converged):
            unsure |= X[:, :n_classes].sum(axis=1) < SMALL_MASS
        if self.solver == "jacobi":
            converged = True  # its rows approach one from below: the missing mass is the error
        rows, others = np.flatnonzero(unsure), np.flatnonzero(~unsure)
        if not len(rows):
            return X, converged
        rates = B[rows] + self.W[rows][:, others] @ X[others]
        solved = self._eliminate_part(rows, rates.sum(axis=1), rates)
        if solved is None:
            s = self.degrees + B.sum(axis=1)
            swept = iterative.jacobi(self.W, s, B, start=X, progress=self.progress)
            complete = np.abs(swept.X.sum(axis=1) - 1).max() <= ROW_TOLERANCE
            return swept.X, bool(converged and swept.converged and complete)
        X = X.copy()
        X[rows] = solved
        return X, converged

    def _rank_in_stages(self, B: FloatArray, mass: FloatArray) -> IntArray:
        """Return the class of the largest mass of every row, also where the mass underflows.

        Rows below `UNDERFLOW` are solved again, given the others, with the largest rate as the
        unit; those that are still too small wait for the next stage.
        """
        n_classes = mass.shape[1]
        best = np.asarray(mass.argmax(axis=1))
        known = mass.max(axis=1) >= UNDERFLOW
        if known.all():
            return best
        mass, log_unit = mass.copy(), np.zeros(len(mass))
        while not known.all():
            rows, others = np.flatnonzero(~known), np.flatnonzero(known)
            edges = sparse.coo_array(self.W[rows][:, others])
            with np.errstate(divide="ignore"):
                log_edges = np.log(edges.data) + log_unit[others[edges.col]]
                log_rates = log_edges + np.log(mass[others].max(axis=1))[edges.col]
                log_own = np.log(B[rows, :n_classes])
            reference = max(log_rates.max(initial=-np.inf), log_own.max(initial=-np.inf))
            if np.isinf(reference):
                break  # nothing but underflow joins these rows to a label
            edges.data = np.exp(log_edges - reference)
            rates = edges @ mass[others] + np.exp(log_own - reference)
            outside = B[rows].sum(axis=1) + self.W[rows][:, others].sum(axis=1)
            solved = self._eliminate_part(rows, outside, rates)
            if solved is None:
                W = sparse.csr_array(self.W[rows][:, rows])
                solved = iterative.jacobi(W, W.sum(axis=1) + outside, rates).X
            mass[rows] = solved
            top = mass[rows].max()
            mass[rows] /= top
            log_unit[rows] = reference + np.log(top)
            best[rows] = mass[rows].argmax(axis=1)
            known[rows] = mass[rows].max(axis=1) >= UNDERFLOW
        return best

    def _eliminate_part(
        self, rows: IntArray, absorption: FloatArray, rates: FloatArray
    ) -> FloatArray | None:
        """Solve for some rows, the others being known and part of the rates; None: fill."""
        W = sparse.csr_array(self.W[rows][:, rows])
        order = elimination_order(W)
        return None if order is None else eliminate(W, absorption, order).solve(rates)
