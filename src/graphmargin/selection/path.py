"""What changes along the path of gamma_g."""

from __future__ import annotations

import numpy as np

from graphmargin._typing import AnyArray, FloatArray
from graphmargin.harmonic.leave_one_out import leave_one_out
from graphmargin.harmonic.problem import HarmonicProblem
from graphmargin.harmonic.solution import solve_path
from graphmargin.harmonic.solve import Solver
from graphmargin.selection.choice import Choice

MAX_LEFT_OUT = 1000
"""Labels up to which each is left out: every one is a right-hand side of the system."""


def gamma_path(
    problem: HarmonicProblem,
    choice: Choice,
    *,
    eps: float = 1e-6,
    solver: Solver = "auto",
    n_jobs: int | None = None,
) -> dict[str, FloatArray]:
    """Return a table with a row for every gamma_g that was a candidate, ascending.

    Parameters
    ----------
    problem : HarmonicProblem
    choice : Choice
    eps : float
    solver, n_jobs
        As in `harmonic_solution`.

    Returns
    -------
    dict of arrays
        ``gamma_g``; ``confidence``, ``confident_share`` (at least eps) and ``sink_share``: means
        over the unlabeled points; ``leave_one_out_score`` of the harmonic solution (nan for more
        than 1,000 labels, and for inf); ``fold_score``, the accuracy on hidden labels of the
        likeliest candidate with this gamma_g; ``weight`` of all of them in the blend.
    """
    of_candidate = np.array([params["gamma_g"] for params in choice.trials.params])
    gammas = np.unique(of_candidate)
    unlabeled = ~problem.labels.labeled
    evidence = choice.log_likelihood + choice.share_evidence
    rows = []
    for solution in solve_path(problem, gammas.tolist(), solver=solver, n_jobs=n_jobs):
        mine = np.flatnonzero(of_candidate == solution.gamma_g)
        confidence = solution.confidence[unlabeled]
        left_out = np.nan
        if np.isfinite(solution.gamma_g) and (~unlabeled).sum() <= MAX_LEFT_OUT:
            left_out = 1 - leave_one_out(solution).error
        rows.append(
            {
                "gamma_g": solution.gamma_g,
                "confidence": _mean(confidence),
                "confident_share": _mean(confidence >= eps),
                "sink_share": _mean(solution.sink_mass[unlabeled]),
                "leave_one_out_score": left_out,
                "fold_score": 1 - choice.errors[mine[evidence[mine].argmax()]],
                "weight": choice.weights[mine].sum(),
            }
        )
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def _mean(values: AnyArray) -> float:
    return float(values.mean()) if len(values) else float("nan")
