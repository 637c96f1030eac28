"""Tasks of coordinate descent on the dual variables of a group of rows, for pairs of classes.

They use the kernels of one machine. No task changes its arguments, so that each can be repeated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.engine.handles import concatenate_records
from graphmargin.distributed.stages.training_rows import RowGroup
from graphmargin.margin._solvers.coordinate_descent import (
    LinearProblem,
    bias_feature_square,
    centered_problem,
    descend,
    hinge_losses,
    squared_norm_penalty,
    values_at,
)
from graphmargin.margin.pairs import pair_rows


@dataclass(frozen=True)
class PairProblem:
    """Two classes of a candidate, and the center of their features (see `LinearProblem`)."""

    candidate: int
    first: int
    second: int
    center: FloatArray
    bias_square: float
    positive: float
    """Total weight of the losses of the first class."""


@dataclass(frozen=True)
class PairIterate:
    """The state of the descent for a pair of classes.

    Attributes
    ----------
    weights : array of shape (m,)
    balance, total : float
        Sums of s_i alpha_i and of alpha_i over all groups.
    n_active : int
        Number of active rows, whose dual variables may still change, of the groups that have
        improved the pair in this pass.
    gap : float
        Relative duality gap, infinite if it is not known.
    """

    weights: FloatArray
    balance: float = 0.0
    total: float = 0.0
    n_active: int = 0
    gap: float = np.inf

    def offset(self, pair: PairProblem) -> float:
        """Return ``b - w.m``."""
        along = float(self.weights @ pair.center.astype(np.float64))
        return pair.bias_square * self.balance - along


Assignments = Mapping[int, tuple[PairProblem, PairIterate]]
"""The pairs of classes of a task by their numbers, with their iterates."""


@dataclass(frozen=True)
class DualVariables:
    """The dual variables of a group, by the number of the pair.

    Attributes
    ----------
    alpha : dict from int to array
        Dual variables; those of a missing pair are zeros.
    active : dict from int to array
        Indices of the dual variables that were active in the last task.
    iterates : dict from int to PairIterate
        The iterates after the last task, for the pairs of that task.
    """

    alpha: dict[int, FloatArray] = field(default_factory=dict)
    active: dict[int, IntArray] = field(default_factory=dict)
    iterates: dict[int, PairIterate] = field(default_factory=dict)


def class_moments(group: RowGroup) -> list[tuple[AnyArray, ...]]:
    """Return count, weight, sum and sum of squares of each class, for each candidate."""
    moments: list[tuple[AnyArray, ...]] = []
    for members, bounds in zip(group.members, group.bounds, strict=True):
        sums = [_sum_rows(group.F, rows) for rows in members]
        moments.append(
            (
                np.array([len(rows) for rows in members]),
                np.array([bounds[rows].sum(dtype=np.float64) for rows in members]),
                np.array([total for total, _ in sums]),
                np.array([squares for _, squares in sums]),
            )
        )
    return moments


@kernel()
def _sum_rows(F, rows):  # type: ignore[no-untyped-def]
    """Return the sum of some rows, and the sum of their squared norms."""
    total, squares = np.zeros(F.shape[1]), 0.0
    for i in rows:
        for k in range(F.shape[1]):
            total[k] += F[i, k]
            squares += np.float64(F[i, k]) ** 2
    return total, squares


def pair_problems(moments: Sequence[tuple[AnyArray, ...]]) -> list[PairProblem]:
    """Return the problems of all pairs of classes, from the moments of all groups together."""
    pairs = []
    for candidate, (counts, weights, sums, squares) in enumerate(moments):
        means = sums / counts[:, None]
        for first, second in combinations(range(len(counts)), 2):
            both, center = [first, second], (means[first] + means[second]) / 2
            around = squares[both] - 2 * (sums[both] @ center) + counts[both] * (center @ center)
            mean_square = max(float(around.sum() / counts[both].sum()), 0.0)
            bias_square = bias_feature_square(mean_square, float(weights[both].min()))
            pairs.append(
                PairProblem(
                    *(candidate, first, second, center.astype(np.float32), bias_square),
                    positive=float(weights[first]),
                )
            )
    return pairs


def _pair_rows(group: RowGroup, pair: PairProblem) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the rows of a pair in a group, their signs and bounds."""
    members = group.members[pair.candidate]
    rows, signs = pair_rows(members[pair.first], members[pair.second])
    return rows, signs.astype(np.float32), group.bounds[pair.candidate, rows]


def _decision_values(
    group: RowGroup, assignments: Assignments
) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield f, signs and bounds of the rows of each pair."""
    for pair, iterate in assignments.values():
        rows, signs, bounds = _pair_rows(group, pair)
        yield values_at(group.F, rows, iterate.weights, iterate.offset(pair)), signs, bounds


def _improve(
    problem: LinearProblem,
    pair: PairProblem,
    iterate: PairIterate,
    before: FloatArray,
    n_epochs: int,
    seed: list[int],
) -> tuple[FloatArray, IntArray, PairIterate]:
    """Return the dual variables after some epochs, which are active, and the new iterate."""
    alpha, weights, random = before.copy(), iterate.weights.copy(), np.random.default_rng(seed)
    _, active = descend(
        problem, pair.bias_square, alpha, weights, iterate.offset(pair), n_epochs, random
    )
    change = alpha.astype(np.float64) - before
    updated = PairIterate(
        weights,
        iterate.balance + problem.balance(change),
        iterate.total + float(change.sum()),
        iterate.n_active + len(active),
    )
    return alpha, active, updated


def descend_group(
    item: tuple[RowGroup, DualVariables, Assignments, int], n_epochs: int, seed: list[int]
) -> DualVariables:
    """Return the dual variables of a group after some epochs on the pairs of its assignments.

    The last value of `item` is the number of the group.
    """
    group, duals, assignments, number = item
    alpha, active, updated = dict(duals.alpha), dict(duals.active), {}
    for i, (pair, iterate) in assignments.items():
        problem = centered_problem(group.F, *_pair_rows(group, pair), pair.center.copy())
        before = alpha.get(i, np.zeros(len(problem.rows), dtype=np.float32))
        pair_seed = [*seed, number, pair.first, pair.second]
        alpha[i], rows, updated[i] = _improve(problem, pair, iterate, before, n_epochs, pair_seed)
        active[i] = np.sort(rows)
    return DualVariables(alpha, active, updated)


class ActiveRows(NamedTuple):
    """Active rows of a pair: their indices, features, signs, bounds and dual variables."""

    active: IntArray
    F: FloatArray
    signs: FloatArray
    bounds: FloatArray
    alpha: FloatArray


def active_rows(
    item: tuple[RowGroup, DualVariables], i: int, pair: PairProblem, share: float, seed: list[int]
) -> ActiveRows:
    """Return the rows of a group that are active in pair i, or a random share of them."""
    group, duals = item
    rows, signs, bounds = _pair_rows(group, pair)
    active = duals.active[i]
    if share < 1:
        random = np.random.default_rng([*seed, pair.first, pair.second])
        active = np.sort(random.choice(active, int(share * len(active)), replace=False))
    features = group.F[rows[active]]
    return ActiveRows(active, features, signs[active], bounds[active], duals.alpha[i][active])


def descend_pool(
    pools: Sequence[ActiveRows],
    i: int,
    pair: PairProblem,
    iterate: PairIterate,
    n_epochs: int,
    seed: list[int],
) -> DualVariables:
    """Return the dual variables of pooled rows after some epochs, by the number of the group."""
    _, F, signs, bounds, before = concatenate_records(list(pools))
    problem = centered_problem(F, np.arange(len(F)), signs, bounds, pair.center.copy())
    pair_seed = [*seed, pair.first, pair.second]
    alpha, _, updated = _improve(problem, pair, iterate, before, n_epochs, pair_seed)
    ends = np.cumsum([len(pool.alpha) for pool in pools])[:-1]
    active = {g: pool.active for g, pool in enumerate(pools)}
    updated = replace(updated, n_active=0)
    return DualVariables(dict(enumerate(np.split(alpha, ends))), active, {i: updated})


def merge_pooled(item: tuple[DualVariables, dict[int, DualVariables], int]) -> DualVariables:
    """Return the dual variables of a group, updated by those of its pooled rows."""
    duals, improved, number = item
    alpha = dict(duals.alpha)
    for i, pool in improved.items():
        alpha[i] = alpha[i].copy()
        alpha[i][pool.active[number]] = pool.alpha[number]
    return DualVariables(alpha, duals.active)


def group_losses(group: RowGroup, assignments: Assignments) -> FloatArray:
    """Return the sum of the hinge losses of a group, for each pair."""
    return np.array([hinge_losses(*values) for values in _decision_values(group, assignments)])


def duality_gap(pair: PairProblem, iterate: PairIterate, losses: float) -> float:
    """Return the relative duality gap, from the losses of all groups."""
    bias = pair.bias_square * iterate.balance
    penalty = squared_norm_penalty(iterate.weights, bias, pair.bias_square)
    primal, dual = penalty + losses, iterate.total - penalty
    return float((primal - dual) / primal)


def shift_range(group: RowGroup, assignments: Assignments) -> FloatArray:
    """Return the smallest and the largest shift at which the loss of a row becomes zero."""
    return np.array(
        [
            (np.min(signs - f, initial=np.inf), np.max(signs - f, initial=-np.inf))
            for f, signs, _ in _decision_values(group, assignments)
        ]
    )


def weight_below(group: RowGroup, assignments: Assignments, thresholds: FloatArray) -> FloatArray:
    """Return the total weight of the rows with ``s_i - f_i <= t``.

    `thresholds` are sorted values of t, of shape (n_pairs, 2, N_THRESHOLDS).
    """
    below = np.empty_like(thresholds)
    for (f, signs, bounds), lines, weights in zip(
        _decision_values(group, assignments), thresholds, below, strict=True
    ):
        for side, line in enumerate(lines):
            index = np.searchsorted(line, signs - f)
            weights[side] = np.cumsum(np.bincount(index, bounds, len(line) + 1))[:-1]
    return below
