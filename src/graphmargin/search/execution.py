"""The execution of a fit: threads, seed and verbosity; and the warnings of a fit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any, NamedTuple

from graphmargin._threads import check_n_jobs
from graphmargin.graph.neighbors import draw_seed
from graphmargin.harmonic.solution import HarmonicSolution
from graphmargin.margin.machine import MarginMachine

N_SEEDS = 2**32
"""Number of seeds that NumPy takes."""


@dataclass(frozen=True)
class Execution:
    """Threads, seed and verbosity of a fit; the result depends on the seed alone.

    Attributes
    ----------
    n_jobs : int or None
        Number of threads; None takes as many as BLAS would, -1 all cores.
    seed : int
        Seed of folds, samples, landmarks and the approximate neighbor search.
    verbose : int
        1 reports the stages of the fit on standard error.
    """

    n_jobs: int | None = None
    seed: int = 0
    verbose: int = 0

    @classmethod
    def from_estimator(cls, model: Any) -> Execution:
        """Return the execution of an estimator; without a random state, the seed is 0."""
        check_n_jobs(model.n_jobs)
        state = 0 if model.random_state is None else model.random_state
        if isinstance(state, Integral) and not 0 <= int(state) < N_SEEDS:
            msg = f"`random_state` must be a seed from 0 to {N_SEEDS - 1}, got {state!r}"
            raise ValueError(msg)
        seed = int(state) if isinstance(state, Integral) else draw_seed(state)
        return cls(model.n_jobs, seed, model.verbose)


class UnreachedWarning(UserWarning):
    """Warning that some rows are in components of the graph without a label."""


class FitWarning(NamedTuple):
    """A warning as data, until the estimator raises it for the caller of `fit`."""

    text: str
    category: type[Warning]


def solution_warnings(solution: HarmonicSolution) -> list[FitWarning]:
    """Return the warnings about a solution that did not converge or does not reach all rows."""
    warnings = []
    if not solution.converged:
        text = f"harmonic solution: {solution.status}; use a larger gamma_g"
        warnings.append(convergence_warning(text))
    n_unreached = int(solution.unreached.sum())
    if n_unreached and solution.gamma_g < float("inf"):
        warnings.append(unreached_warning(n_unreached, len(solution.codes)))
    return warnings


def unreached_warning(n_unreached: int, n_rows: int) -> FitWarning:
    """Return the warning about rows in components of the graph without a label."""
    text = (
        f"{n_unreached:,} of {n_rows:,} rows are in components of the graph without a label, so "
        "that the graph does not label them; label one row in each component, or join them by more "
        "neighbors"
    )
    return FitWarning(text, UnreachedWarning)


def machine_warnings(machines: Sequence[MarginMachine]) -> list[FitWarning]:
    """Return the warnings about machines whose training did not converge, without repetition."""
    failures = dict.fromkeys(machine.report.failure for machine in machines)
    return [convergence_warning(failure) for failure in failures if failure]


def convergence_warning(text: str) -> FitWarning:
    """Return a warning about a solver that did not converge."""
    from sklearn.exceptions import ConvergenceWarning  # a slow import, needed by few fits

    return FitWarning(text, ConvergenceWarning)
