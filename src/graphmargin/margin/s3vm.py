"""Semi-supervised machines of two classes: a margin that unlabeled rows stay out of.

Minimizes ``J(f) = norm(w)^2 / 2 + C sum_l max(1 - s_i f(x_i), 0) + C gamma_u sum_u
max(1 - abs(f(x_i)), 0)`` for ``f(x) = w.x + b`` on explicit features (eq. S3VM with
``C = 1 / (2 gamma)``). The loss of unlabeled rows is not convex, and the result is a local optimum.
Two ways to a good one, both of which raise gamma_u from a small value to its own:

- "gradient" follows a smooth J, with ``exp(-3 f^2)`` for unlabeled rows (Chapelle, Zien, AISTATS
  2005), by L-BFGS;
- "cccp" guesses the labels of unlabeled rows and trains an ordinary machine on them, in turns. A
  guess by the sign of f is exact at the current f and an upper bound of J elsewhere, so that J
  falls in every step.

The first ends with steps of the second, hence both with a local optimum of J itself. An optimum of
J may well have all unlabeled rows on one side. To forbid this, the mean of f over them can be
given: with features centered there, it is the bias.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.optimize import minimize

from graphmargin._checks import check_choice
from graphmargin._threads import raise_if_cancelled
from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin.coordinate_descent import best_shift
from graphmargin.margin.fixed_bias_descent import solve_fixed_bias
from graphmargin.margin.smo import solve_smo

SemiSupervisedSolver = Literal["gradient", "cccp"]
SEMI_SUPERVISED_SOLVERS = ("gradient", "cccp")

TOLERANCE, STAGE_TOLERANCE = 1e-6, 1e-3
"""Tolerances of f, in the machines on labels and on guesses; in stages before the last."""
STAGES = np.geomspace(1e-3, 1.0, 10)
"""Shares of gamma_u, one after the other."""
MAX_STEPS = 50
"""Guesses of the labels in a stage; usually fewer than ten change something."""
MAX_SHIFTS, MAX_EPOCHS = 20, 3000
"""Steps of the bias, and passes over the rows in each; more are needed for a huge C only."""
MAX_KERNEL = 3000
"""Labeled rows up to which the supervised machine is found by their kernel matrix."""
LBFGS = {"maxiter": 200, "ftol": 1e-6, "gtol": 0.0}
"""Single precision allows no less; steps on J itself follow."""
SMOOTHNESS = 0.5
"""Half the width of the bend of the smooth hinge loss."""
BIAS_REACH = 10.0
"""The price of a step of the bias is small beside the losses of the smaller class."""


@dataclass(frozen=True)
class SemiSupervisedSolution:
    """A machine ``f(x) = weights.x + bias`` and how it was found.

    Attributes
    ----------
    weights : array of shape (r,)
    bias : float
    objective : float
        J.
    supervised_objective : float
        J of the machine of the labeled rows alone, with the same mean of f if it was given.
    trace : array of shape (1 + n_steps,)
        J before and after the steps on guessed labels with the full gamma_u; it falls.
    kept_supervised : bool
        Whether nothing better than the supervised machine was found, and it was returned.
    converged : bool
    """

    weights: FloatArray
    bias: float
    objective: float
    supervised_objective: float
    trace: FloatArray
    kept_supervised: bool
    converged: bool


@dataclass(frozen=True)
class _Machine:
    """``f = G w + bias`` on centered features G; beta is a dual solution on all rows, if known."""

    weights: FloatArray
    bias: float
    beta: FloatArray | None = None
    converged: bool = True


@dataclass(frozen=True)
class _Problem:
    """Centered features and one more column, the square root of how freely the bias moves.

    It is zero if the bias is fixed.
    """

    H: FloatArray
    signs: FloatArray
    C: float

    def bounds(self, gamma_u: float) -> FloatArray:
        return np.where(self.signs == 0, self.C * gamma_u, self.C)

    def objective(self, machine: _Machine, gamma_u: float) -> float:
        f, w = _values(self.H, machine), machine.weights
        losses = np.maximum(1 - np.where(self.signs == 0, np.abs(f), self.signs * f), 0.0)
        return float(w @ w) / 2 + float(self.bounds(gamma_u) @ losses)

    def guess(self, machine: _Machine) -> FloatArray:
        """Return the labels, and for unlabeled rows the sign of f."""
        return np.where(
            self.signs == 0, np.where(_values(self.H, machine) < 0, -1.0, 1.0), self.signs
        )


def solve_semi_supervised(
    F: FloatArray,
    signs: IntArray,
    *,
    C: float,
    gamma_u: float,
    mean: float | None = None,
    solver: SemiSupervisedSolver = "gradient",
) -> SemiSupervisedSolution:
    """Return a machine of two classes that learns from labeled and unlabeled rows.

    Parameters
    ----------
    F : array of shape (n, r)
        Features, float32 or float64, such as those of `landmark_features`.
    signs : array of shape (n,)
        1 or -1, both of them present; 0 is unlabeled.
    C : float > 0
        Weight of the losses of labeled rows.
    gamma_u : float >= 0
        Weight of the loss of an unlabeled row, as a share of that of a labeled one. 0 is the
        supervised machine, whatever the mean.
    mean : float in [-1, 1], default=None
        The mean of f over the unlabeled rows, ``2 p - 1`` if a share p of them is positive. None
        leaves it free.
    solver : {"gradient", "cccp"}, default="gradient"

    Returns
    -------
    SemiSupervisedSolution
        Time O(n r) for each of some hundred gradients and epochs; memory O(n r), a copy of F.

    Examples
    --------
    >>> F = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> signs = np.array([-1, 0, 0, 0, 0, 1])
    >>> solution = solve_semi_supervised(F, signs, C=10.0, gamma_u=1.0)
    >>> solution.weights.round(3).tolist(), round(solution.bias, 3)
    ([0.8], 0.2)
    >>> bool(solution.objective < solution.supervised_objective)
    True
    """
    check_choice("solver", solver, SEMI_SUPERVISED_SOLVERS)
    labeled, unlabeled = np.flatnonzero(signs), np.flatnonzero(signs == 0)
    center = F[unlabeled if len(unlabeled) else labeled].mean(axis=0, dtype=np.float64)
    H = np.empty((len(F), F.shape[1] + 1), dtype=F.dtype)
    np.subtract(F, center.astype(F.dtype), out=H[:, :-1])
    spread = np.square(H[labeled, :-1], dtype=np.float64).sum(axis=1).mean()
    fewest = min((signs > 0).sum(), (signs < 0).sum())
    is_free = mean is None or gamma_u == 0 or not len(unlabeled)
    H[:, -1] = np.sqrt(spread + BIAS_REACH / (C * fewest)) if is_free else 0.0
    problem = _Problem(H, np.asarray(signs, dtype=np.float64), C)

    machine = supervised = _train_on_labels(problem, 0.0 if mean is None else mean)
    supervised_objective = problem.objective(supervised, gamma_u)
    trace = np.array([supervised_objective])
    if gamma_u > 0 and len(unlabeled):
        follow = _continuation if solver == "gradient" else _guess_in_stages
        machine = follow(problem, supervised, gamma_u)
        machine, trace = _cccp(problem, machine, gamma_u)
    objective = float(trace[-1])
    kept_supervised = objective > (1 + TOLERANCE) * supervised_objective
    if kept_supervised:
        machine, objective = supervised, supervised_objective
    return SemiSupervisedSolution(
        machine.weights,
        float(machine.bias - machine.weights @ center),
        objective,
        supervised_objective,
        trace,
        kept_supervised,
        machine.converged,
    )


def _values(H: FloatArray, machine: _Machine) -> FloatArray:
    """Return f; products are in the precision of the features."""
    G = H[:, :-1]
    return np.asarray(G @ machine.weights.astype(G.dtype), dtype=np.float64) + machine.bias


def _train_on_labels(problem: _Problem, bias: float) -> _Machine:
    """Return the machine of the labeled rows; its dual solution is of no use for all rows."""
    rows = np.flatnonzero(problem.signs)
    if problem.H[0, -1] > 0 and len(rows) <= MAX_KERNEL:  # SMO is at ease with equal rows
        G = problem.H[rows, :-1].astype(np.float64)
        signs, bounds = problem.signs[rows], np.full(len(rows), problem.C)
        found = solve_smo(G @ G.T, np.arange(len(rows)), signs, bounds, tolerance=TOLERANCE)
        return _Machine(G.T @ (signs * found.alpha), found.bias, converged=found.converged)
    machine = _train(problem.H[rows], problem.signs[rows], np.full(len(rows), problem.C), bias)
    return replace(machine, beta=None)


def _train(
    H: FloatArray,
    signs: FloatArray,
    bounds: FloatArray,
    bias: float,
    beta: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> _Machine:
    """Return the machine of two classes whose bias is free, unless the last column is zero.

    As one more weight, a bias pays for its distance from where it was. The price vanishes as this
    is repeated from where it went (the proximal point method), usually a few times. The best bias
    for the weights that were found is the midpoint of an interval where they leave it free.
    """
    lowest, highest = np.minimum(signs * bounds, 0.0), np.maximum(signs * bounds, 0.0)
    for _ in range(MAX_SHIFTS):
        solution = solve_fixed_bias(
            *(H, signs - bias, lowest, highest),
            start=beta,
            tolerance=tolerance,
            max_epochs=MAX_EPOCHS,
        )
        beta, shift = solution.beta, float(H[0, -1] * solution.weights[-1])
        converged = solution.converged and abs(shift) <= tolerance
        machine = _Machine(solution.weights[:-1], bias + shift, beta, converged)
        if H[0, -1] > 0:
            bias = machine.bias + best_shift(_values(H, machine), signs, bounds)
            machine = replace(machine, bias=bias)
        if abs(shift) <= tolerance:
            break
    return machine


def _guess_in_stages(problem: _Problem, machine: _Machine, gamma_u: float) -> _Machine:
    """Return the machine after guesses with growing weights of the unlabeled rows."""
    for share in STAGES[:-1]:
        machine, _ = _cccp(problem, machine, share * gamma_u, STAGE_TOLERANCE)
    return machine


def _cccp(
    problem: _Problem, machine: _Machine, gamma_u: float, tolerance: float = TOLERANCE
) -> tuple[_Machine, FloatArray]:
    """Guess labels and train on them, in turns; return the machine and J after every step."""
    bounds = problem.bounds(gamma_u)
    trace = [problem.objective(machine, gamma_u)]
    labels = np.zeros_like(problem.signs)
    for _ in range(MAX_STEPS):
        before, labels = labels, problem.guess(machine)
        if (labels == before).all():
            return machine, np.array(trace)
        ahead = _train(problem.H, labels, bounds, machine.bias, machine.beta, tolerance)
        objective = problem.objective(ahead, gamma_u)
        if objective >= trace[-1]:  # by less than the tolerance: the machine is that of its guess
            return replace(machine, converged=ahead.converged), np.array(trace)
        machine = ahead
        trace.append(objective)
    return replace(machine, converged=False), np.array(trace)


def _continuation(problem: _Problem, machine: _Machine, gamma_u: float) -> _Machine:
    """Return the machine of a smooth J, with growing weights of the unlabeled rows.

    To widen the bumps first, or instead, gave lower J on some problems and more errors on tables.
    """
    H, signs, C = problem.H, problem.signs, problem.C
    labeled, unlabeled = np.flatnonzero(signs), np.flatnonzero(signs == 0)
    s, slopes = signs[labeled], np.empty(len(H))
    v, bias = np.append(machine.weights, 0.0), machine.bias

    def surrogate(v: FloatArray, weight: float) -> tuple[float, FloatArray]:
        raise_if_cancelled()
        f = (H @ v.astype(H.dtype)).astype(np.float64) + bias
        missing = np.maximum(1 + SMOOTHNESS - s * f[labeled], 0.0)
        bent = np.minimum(missing, 2 * SMOOTHNESS)
        bumps = np.exp(-3 * np.square(f[unlabeled]))
        slopes[labeled] = -C / (2 * SMOOTHNESS) * s * bent
        slopes[unlabeled] = -6 * weight * f[unlabeled] * bumps
        hinges = bent * (missing - bent / 2) / (2 * SMOOTHNESS)
        w = np.append(v[:-1], 0.0)
        value = float(w @ w) / 2 + C * float(hinges.sum()) + weight * float(bumps.sum())
        return value, w + slopes.astype(H.dtype) @ H

    for share in STAGES:
        weight = share * gamma_u * C
        result = minimize(surrogate, v, (weight,), "L-BFGS-B", jac=True, options=LBFGS)
        v = result.x
    return _Machine(v[:-1], bias + float(H[0, -1] * v[-1]))
