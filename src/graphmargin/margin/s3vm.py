"""Semi-supervised SVM of two classes, whose margin unlabeled rows stay out of.

Minimizes ``J(f) = norm(w)^2 / 2 + C sum_l max(1 - s_i f(x_i), 0) + C gamma_u sum_u
max(1 - abs(f(x_i)), 0)`` for ``f(x) = w.x + b`` on explicit features (eq. S3VM with
``C = 1 / (2 gamma)``). The loss of unlabeled rows is not convex, and the result is a local optimum:

1. `anneal` follows the minimum of a smooth J while gamma_u grows from a small value. The values of
   gamma_u that are asked for are stages of one path.
2. Steps on J itself (CCCP) begin there. They alternately guess the labels of unlabeled rows by the
   sign of f and train a supervised machine on them. The losses of the guesses are exact at the
   current f and an upper bound elsewhere, so that J decreases in every step.

An optimum of J may have all unlabeled rows on one side. To forbid this, the mean of f over them can
be fixed: with features centered there, it is the bias.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from graphmargin._typing import FloatArray, IntArray
from graphmargin.margin._solvers.annealing import anneal, center_rows
from graphmargin.margin._solvers.coordinate_descent import best_shift
from graphmargin.margin._solvers.fixed_bias_descent import solve_fixed_bias
from graphmargin.margin._solvers.smo import solve_smo

TOLERANCE = 1e-6
"""Tolerance of f of the machines on given and on guessed labels."""
SMOOTH_TOLERANCE = 1e-6
"""Relative tolerance of the smooth J. With 1e-3, two moons are not always found from two labels."""
MAX_STEPS = 50
"""Largest number of guesses; usually fewer than ten change a label."""
MAX_SHIFTS, MAX_EPOCHS = 20, 3000
"""Steps of the bias, and passes over the rows in each; only a huge C needs more."""
MAX_KERNEL = 3000
"""Largest number of labeled rows whose supervised machine is trained on their kernel matrix."""


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
        J before and after the steps on guessed labels; it decreases.
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
    costs: FloatArray
    """Weights of the losses of labels; C for unlabeled rows."""
    center: FloatArray

    def bounds(self, gamma_u: float) -> FloatArray:
        return np.where(self.signs == 0, self.C * gamma_u, self.costs)

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
    gamma_us: Sequence[float],
    class_weight: tuple[float, float] = (1.0, 1.0),
    mean: float | None = None,
) -> list[S3VMSolution]:
    """Return two-class machines that learn from labeled and unlabeled rows, one for each gamma_u.

    Parameters
    ----------
    F : array of shape (n, r)
        Features, float32 or float64, such as those of `landmark_features`.
    signs : array of shape (n,)
        1 or -1, both of which occur; 0 is unlabeled.
    C : float > 0
        Weight of the losses of labeled rows.
    gamma_us : sequence of float >= 0
        Weights of the loss of an unlabeled row, as a share of that of a labeled one. 0 is the
        supervised machine, whatever the mean.
    class_weight : tuple of two floats > 0, default=(1.0, 1.0)
        Factors of the losses of positive and of negative labels. Unlabeled rows have none.
    mean : float in [-1, 1], default=None
        The mean of f over the unlabeled rows, ``2 p - 1`` if a share p of them is positive. None
        leaves it free.

    Returns
    -------
    list of S3VMSolution
        Time O(n r) for each of some hundred gradients and epochs; memory O(n r), a copy of F.

    Examples
    --------
    >>> F = np.array([[-3.0], [-2.0], [-1.5], [1.0], [1.5], [2.0]])
    >>> signs = np.array([-1, 0, 0, 0, 0, 1])
    >>> (solution,) = solve_s3vm(F, signs, C=10.0, gamma_us=[1.0])
    >>> solution.weights.round(3).tolist(), round(solution.bias, 3)
    ([0.8], 0.2)
    >>> bool(solution.objective < solution.supervised_objective)
    True
    """
    values = np.asarray(gamma_us, dtype=np.float64)
    is_supervised = (values == 0) | (signs != 0).all()
    solutions: dict[float, S3VMSolution] = {}
    if is_supervised.any():
        problem = _problem(F, signs, C, class_weight, is_free=True)
        machine = _train_on_labels(problem, 0.0)
        trace = np.array([problem.objective(machine, 0.0)])
        solution = _solution(problem, machine, float(trace[0]), machine, trace)
        solutions |= dict.fromkeys(values[is_supervised].tolist(), solution)
    if not is_supervised.all():
        problem = _problem(F, signs, C, class_weight, is_free=mean is None)
        supervised = _train_on_labels(problem, 0.0 if mean is None else mean)
        ascending = np.unique(values[~is_supervised])
        for gamma_u, start in zip(
            ascending.tolist(),
            _anneal(problem, supervised, ascending),
            strict=True,
        ):
            machine, trace = _cccp(problem, start, gamma_u)
            at_start = problem.objective(supervised, gamma_u)
            solutions[gamma_u] = _solution(problem, supervised, at_start, machine, trace)
    return [solutions[gamma_u] for gamma_u in values.tolist()]


def _problem(
    F: FloatArray, signs: IntArray, C: float, class_weight: tuple[float, float], *, is_free: bool
) -> _Problem:
    positive, negative = class_weight
    costs = C * np.where(signs > 0, positive, np.where(signs < 0, negative, 1.0))
    H = np.empty((len(F), F.shape[1] + 1), dtype=F.dtype)
    H[:, :-1] = F
    targets = np.asarray(signs, dtype=np.float64)
    center = center_rows(H, targets, costs, is_free)
    return _Problem(H, targets, C, costs, center)


def _solution(
    problem: _Problem,
    supervised: _Machine,
    supervised_objective: float,
    machine: _Machine,
    trace: FloatArray,
) -> S3VMSolution:
    """Return the better one of two machines with features that are not centered."""
    objective = float(trace[-1])
    kept_supervised = objective > (1 + TOLERANCE) * supervised_objective
    if kept_supervised:
        machine, objective = supervised, supervised_objective
    return S3VMSolution(
        machine.weights,
        float(machine.bias - machine.weights @ problem.center),
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


def _anneal(problem: _Problem, machine: _Machine, gamma_us: FloatArray) -> list[_Machine]:
    """Return the minima of a smooth J for ascending weights of the unlabeled rows."""
    path = anneal(
        problem.H,
        problem.signs,
        problem.costs,
        problem.C * gamma_us,
        np.append(machine.weights, 0.0),
        machine.bias,
        tolerances=(SMOOTH_TOLERANCE, SMOOTH_TOLERANCE),
    )
    reach = float(problem.H[0, -1])
    return [_Machine(v[:-1], machine.bias + reach * float(v[-1])) for v in path]


def _cccp(problem: _Problem, machine: _Machine, gamma_u: float) -> tuple[_Machine, FloatArray]:
    """Alternately guess labels and train on them; return the machine and J after every step."""
    bounds = problem.bounds(gamma_u)
    trace = [problem.objective(machine, gamma_u)]
    labels = np.zeros_like(problem.signs)
    for _ in range(MAX_STEPS):
        before, labels = labels, problem.guess_labels(machine)
        if (labels == before).all():
            return machine, np.array(trace)
        candidate = _train(problem.H, labels, bounds, machine.bias, machine.beta)
        objective = problem.objective(candidate, gamma_u)
        if objective >= trace[-1]:  # larger by less than the tolerance: this is a local optimum
            return replace(machine, converged=candidate.converged), np.array(trace)
        machine = candidate
        trace.append(objective)
    return replace(machine, converged=False), np.array(trace)


def _train(
    H: FloatArray,
    signs: FloatArray,
    bounds: FloatArray,
    bias: float,
    beta: FloatArray | None = None,
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
            tolerance=TOLERANCE,
            max_epochs=MAX_EPOCHS,
        )
        beta, shift = solution.beta, float(H[0, -1] * solution.weights[-1])
        converged = solution.converged and abs(shift) <= TOLERANCE
        machine = _Machine(solution.weights[:-1], bias + shift, beta, converged)
        if H[0, -1] > 0:
            bias = machine.bias + best_shift(_values(H, machine), signs, bounds)
            machine = replace(machine, bias=bias)
        if abs(shift) <= TOLERANCE:
            break
    return machine
