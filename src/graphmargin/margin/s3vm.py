"""Semi-supervised SVM of two classes, whose margin unlabeled rows stay out of.

Minimizes ``J(f) = norm(w)^2 / 2 + C sum_l max(1 - s_i f(x_i), 0) + C gamma_u sum_u
max(1 - abs(f(x_i)), 0)`` for ``f(x) = w.x + b`` on explicit features (eq. S3VM with
``C = 1 / (2 gamma)``). The loss of unlabeled rows is not convex, and the result is a local optimum.
Two solvers look for a good one, both by raising gamma_u from a small value to its full one:

- "gradient" minimizes a smooth J, with ``exp(-3 f^2)`` for unlabeled rows (Chapelle, Zien, AISTATS
  2005), by L-BFGS;
- "cccp" alternately guesses the labels of unlabeled rows and trains a supervised machine on them.
  A guess by the sign of f is exact at the current f and an upper bound of J elsewhere, so that J
  decreases in every step.

The first one ends with steps of the second, so that both end in a local optimum of J itself. An
optimum of J may have all unlabeled rows on one side. To forbid this, the mean of f over them can be
fixed: with features centered there, it is the bias.
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

S3VMSolver = Literal["gradient", "cccp"]
S3VM_SOLVERS = ("gradient", "cccp")

TOLERANCE, STAGE_TOLERANCE = 1e-6, 1e-3
"""Tolerances of f: of the machines on given and on guessed labels, and in stages but the last."""
STAGES = np.geomspace(1e-3, 1.0, 10)
"""Shares of gamma_u in successive stages."""
MAX_STEPS = 50
"""Largest number of guesses in a stage; usually fewer than ten change a label."""
MAX_SHIFTS, MAX_EPOCHS = 20, 3000
"""Steps of the bias, and passes over the rows in each; only a huge C needs more."""
MAX_KERNEL = 3000
"""Largest number of labeled rows whose supervised machine is trained on their kernel matrix."""
LBFGS = {"maxiter": 200, "ftol": 1e-6, "gtol": 0.0}
"""Options of L-BFGS. Single precision allows no smaller tolerance; steps on J itself follow."""
SMOOTHNESS = 0.5
"""Half the width of the interval on which the smooth hinge loss is quadratic."""
BIAS_REACH = 10.0
"""Factor that keeps the penalty of a step of the bias small beside the losses of a class."""


@dataclass(frozen=True)
class S3VMSolution:
    """A machine ``f(x) = weights.x + bias`` and a report on its optimization.

    Attributes
    ----------
    weights : array of shape (r,)
    bias : float
    objective : float
        J.
    supervised_objective : float
        J of the machine of the labeled rows alone, with the same mean of f if it was given.
    trace : array of shape (1 + n_steps,)
        J before and after the steps on guessed labels with the full gamma_u; it decreases.
    kept_supervised : bool
        Whether the supervised machine was returned, because no better one was found.
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
    """A machine ``f = G w + bias`` on centered features G, with its dual solution if it has one."""

    weights: FloatArray
    bias: float
    beta: FloatArray | None = None
    converged: bool = True


@dataclass(frozen=True)
class _Problem:
    """Labels, and centered features with one more constant column, which is 0 if the bias is fixed.

    Its weight is a step of the bias: the larger the column, the smaller the penalty of a step.
    """

    H: FloatArray
    signs: FloatArray
    C: float
    weights: FloatArray
    """Factors of the losses by class, one for unlabeled rows."""

    def bounds(self, gamma_u: float) -> FloatArray:
        return np.where(self.signs == 0, self.C * gamma_u, self.C * self.weights)

    def objective(self, machine: _Machine, gamma_u: float) -> float:
        f, w = _values(self.H, machine), machine.weights
        losses = np.maximum(1 - np.where(self.signs == 0, np.abs(f), self.signs * f), 0.0)
        return float(w @ w) / 2 + float(self.bounds(gamma_u) @ losses)

    def guess_labels(self, machine: _Machine) -> FloatArray:
        """Return the given labels, and the sign of f for unlabeled rows."""
        return np.where(
            self.signs == 0, np.where(_values(self.H, machine) < 0, -1.0, 1.0), self.signs
        )


def solve_s3vm(
    F: FloatArray,
    signs: IntArray,
    *,
    C: float,
    gamma_u: float,
    class_weight: tuple[float, float] = (1.0, 1.0),
    mean: float | None = None,
    solver: S3VMSolver = "gradient",
) -> S3VMSolution:
    """Return a two-class machine that learns from labeled and unlabeled rows.

    Parameters
    ----------
    F : array of shape (n, r)
        Features, float32 or float64, such as those of `landmark_features`.
    signs : array of shape (n,)
        1 or -1, both of which occur; 0 is unlabeled.
    C : float > 0
        Weight of the losses of labeled rows.
    gamma_u : float >= 0
        Weight of the loss of an unlabeled row, as a share of that of a labeled one. 0 is the
        supervised machine, whatever the mean.
    class_weight : tuple of two floats > 0, default=(1.0, 1.0)
        Factors of the losses of positive and of negative labels. Unlabeled rows have none.
    mean : float in [-1, 1], default=None
        The mean of f over the unlabeled rows, ``2 p - 1`` if a share p of them is positive. None
        leaves it free.
    solver : {"gradient", "cccp"}, default="gradient"

    Returns
    -------
    S3VMSolution
        Time O(n r) for each of some hundred gradients and epochs; memory O(n r), a copy of F.

    Examples
    --------
    >>> F = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> signs = np.array([-1, 0, 0, 0, 0, 1])
    >>> solution = solve_s3vm(F, signs, C=10.0, gamma_u=1.0)
    >>> solution.weights.round(3).tolist(), round(solution.bias, 3)
    ([0.8], 0.2)
    >>> bool(solution.objective < solution.supervised_objective)
    True
    """
    check_choice("solver", solver, S3VM_SOLVERS)
    labeled, unlabeled = np.flatnonzero(signs), np.flatnonzero(signs == 0)
    center = F[unlabeled if len(unlabeled) else labeled].mean(axis=0, dtype=np.float64)
    H = np.empty((len(F), F.shape[1] + 1), dtype=F.dtype)
    np.subtract(F, center.astype(F.dtype), out=H[:, :-1])
    spread = np.square(H[labeled, :-1], dtype=np.float64).sum(axis=1).mean()
    positive, negative = class_weight
    fewest = min(positive * (signs > 0).sum(), negative * (signs < 0).sum())
    is_free = mean is None or gamma_u == 0 or not len(unlabeled)
    H[:, -1] = np.sqrt(spread + BIAS_REACH / (C * fewest)) if is_free else 0.0
    weights = np.where(signs > 0, positive, np.where(signs < 0, negative, 1.0))
    problem = _Problem(H, np.asarray(signs, dtype=np.float64), C, weights)

    machine = supervised = _train_on_labels(problem, 0.0 if mean is None else mean)
    supervised_objective = problem.objective(supervised, gamma_u)
    trace = np.array([supervised_objective])
    if gamma_u > 0 and len(unlabeled):
        run_stages = _continuation if solver == "gradient" else _cccp_in_stages
        machine = run_stages(problem, supervised, gamma_u)
        machine, trace = _cccp(problem, machine, gamma_u)
    objective = float(trace[-1])
    kept_supervised = objective > (1 + TOLERANCE) * supervised_objective
    if kept_supervised:
        machine, objective = supervised, supervised_objective
    return S3VMSolution(
        machine.weights,
        float(machine.bias - machine.weights @ center),
        objective,
        supervised_objective,
        trace,
        kept_supervised,
        machine.converged,
    )


def _values(H: FloatArray, machine: _Machine) -> FloatArray:
    """Return f at all rows, computed in the precision of the features."""
    G = H[:, :-1]
    return np.asarray(G @ machine.weights.astype(G.dtype), dtype=np.float64) + machine.bias


def _train_on_labels(problem: _Problem, bias: float) -> _Machine:
    """Return the machine of the labeled rows, without its dual solution, which lacks other rows."""
    rows = np.flatnonzero(problem.signs)
    if problem.H[0, -1] > 0 and len(rows) <= MAX_KERNEL:  # equal rows do not slow SMO down
        G = problem.H[rows, :-1].astype(np.float64)
        signs, bounds = problem.signs[rows], problem.bounds(0.0)[rows]
        solution = solve_smo(G @ G.T, np.arange(len(rows)), signs, bounds, tolerance=TOLERANCE)
        weights = G.T @ (signs * solution.alpha)
        return _Machine(weights, solution.bias, converged=solution.converged)
    machine = _train(problem.H[rows], problem.signs[rows], problem.bounds(0.0)[rows], bias)
    return replace(machine, beta=None)


def _train(
    H: FloatArray,
    signs: FloatArray,
    bounds: FloatArray,
    bias: float,
    beta: FloatArray | None = None,
    tolerance: float = TOLERANCE,
) -> _Machine:
    """Return the two-class machine whose bias is free, unless the last column is zero.

    The bias is one more weight, and its distance from its last value is penalized. Repeating this
    from the new value (the proximal point method), usually a few times, makes the penalty vanish.
    Where all biases of an interval are optimal for the weights, the midpoint is taken.
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


def _cccp_in_stages(problem: _Problem, machine: _Machine, gamma_u: float) -> _Machine:
    """Return the machine after CCCP with growing weights of the unlabeled rows."""
    for share in STAGES[:-1]:
        machine, _ = _cccp(problem, machine, share * gamma_u, STAGE_TOLERANCE)
    return machine


def _cccp(
    problem: _Problem, machine: _Machine, gamma_u: float, tolerance: float = TOLERANCE
) -> tuple[_Machine, FloatArray]:
    """Alternately guess labels and train on them; return the machine and J after every step."""
    bounds = problem.bounds(gamma_u)
    trace = [problem.objective(machine, gamma_u)]
    labels = np.zeros_like(problem.signs)
    for _ in range(MAX_STEPS):
        before, labels = labels, problem.guess_labels(machine)
        if (labels == before).all():
            return machine, np.array(trace)
        candidate = _train(problem.H, labels, bounds, machine.bias, machine.beta, tolerance)
        objective = problem.objective(candidate, gamma_u)
        if objective >= trace[-1]:  # larger by less than the tolerance: this is a local optimum
            return replace(machine, converged=candidate.converged), np.array(trace)
        machine = candidate
        trace.append(objective)
    return replace(machine, converged=False), np.array(trace)


def _continuation(problem: _Problem, machine: _Machine, gamma_u: float) -> _Machine:
    """Return the minimum of a smooth J, with growing weights of the unlabeled rows.

    Wider bumps at first, in addition or instead, gave a lower J on some problems and more errors on
    tables.
    """
    H, signs, C = problem.H, problem.signs, problem.C
    labeled, unlabeled = np.flatnonzero(signs), np.flatnonzero(signs == 0)
    s, costs, slopes = signs[labeled], C * problem.weights[labeled], np.empty(len(H))
    v, bias = np.append(machine.weights, 0.0), machine.bias

    def surrogate(v: FloatArray, weight: float) -> tuple[float, FloatArray]:
        raise_if_cancelled()
        f = (H @ v.astype(H.dtype)).astype(np.float64) + bias
        missing = np.maximum(1 + SMOOTHNESS - s * f[labeled], 0.0)
        bent = np.minimum(missing, 2 * SMOOTHNESS)
        bumps = np.exp(-3 * np.square(f[unlabeled]))
        slopes[labeled] = -costs / (2 * SMOOTHNESS) * s * bent
        slopes[unlabeled] = -6 * weight * f[unlabeled] * bumps
        hinges = bent * (missing - bent / 2) / (2 * SMOOTHNESS)
        w = np.append(v[:-1], 0.0)
        value = float(w @ w) / 2 + float((costs * hinges).sum()) + weight * float(bumps.sum())
        return value, w + slopes.astype(H.dtype) @ H

    for share in STAGES:
        weight = share * gamma_u * C
        result = minimize(surrogate, v, (weight,), "L-BFGS-B", jac=True, options=LBFGS)
        v = result.x
    return _Machine(v[:-1], bias + float(H[0, -1] * v[-1]))
