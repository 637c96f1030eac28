"""What a group of rows does for a pair of classes: coordinate descent on its own dual variables.

A *duel* is a pair of classes of one candidate. These are the tasks that workers do, with the
kernels of a single machine. None changes what it is given, so that each can be done again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from graphmargin._compilation import kernel
from graphmargin._typing import AnyArray, FloatArray, IntArray
from graphmargin.distributed.lessons import Group
from graphmargin.margin.coordinate_descent import (
    LinearProblem,
    descend,
    hinge_losses,
    penalty_of,
    problem_around,
    square_of_bias,
    values_at,
)
from graphmargin.margin.training import rows_of_pair


@dataclass(frozen=True)
class Duel:
    """Two classes of a candidate, and where they are seen from (see `LinearProblem`)."""

    candidate: int
    first: int
    second: int
    center: FloatArray
    bias_square: float
    positive: float
    """Total weight of the losses of the first class."""


@dataclass(frozen=True)
class Point:
    """Where a duel is.

    Attributes
    ----------
    weights : array of shape (m,)
    balance, total : float
        Sums of s_i alpha_i and of alpha_i over all groups.
    n_active : int
        Rows that are not settled, in groups that have had the duel in this round.
    gap : float
        Relative duality gap, if that is known.
    """

    weights: FloatArray
    balance: float = 0.0
    total: float = 0.0
    n_active: int = 0
    gap: float = np.inf

    def offset(self, duel: Duel) -> float:
        """Return ``b - w.m``."""
        along = float(self.weights @ duel.center.astype(np.float64))
        return duel.bias_square * self.balance - along


Duties = Mapping[int, tuple[Duel, Point]]
"""From the number of a duel to itself and where it is."""


@dataclass(frozen=True)
class Duals:
    """The dual variables of a group, by the number of the duel.

    Attributes
    ----------
    alpha : dict from int to array
        None are zeros.
    active : dict from int to array
        Which of them were not settled, last time.
    moved : dict from int to Point
        Where the last task has taken duels.
    """

    alpha: dict[int, FloatArray] = field(default_factory=dict)
    active: dict[int, IntArray] = field(default_factory=dict)
    moved: dict[int, Point] = field(default_factory=dict)


def moments_of(group: Group) -> list[tuple[AnyArray, ...]]:
    """Return, for each candidate, count, weight, sum and sum of squares of each class."""
    found: list[tuple[AnyArray, ...]] = []
    for members, bounds in zip(group.members, group.bounds, strict=True):
        sums = [_sums(group.F, rows) for rows in members]
        found.append(
            (
                np.array([len(rows) for rows in members]),
                np.array([bounds[rows].sum(dtype=np.float64) for rows in members]),
                np.array([total for total, _ in sums]),
                np.array([squares for _, squares in sums]),
            )
        )
    return found


@kernel()
def _sums(F, rows):  # type: ignore[no-untyped-def]
    """Return the sum of some rows, and that of their squared norms."""
    total, squares = np.zeros(F.shape[1]), 0.0
    for i in rows:
        for k in range(F.shape[1]):
            total[k] += F[i, k]
            squares += np.float64(F[i, k]) ** 2
    return total, squares


def duels_of(moments: Sequence[tuple[AnyArray, ...]]) -> list[Duel]:
    """Return all duels, from the moments of all groups together."""
    duels = []
    for candidate, (counts, weights, sums, squares) in enumerate(moments):
        means = sums / counts[:, None]
        for first, second in combinations(range(len(counts)), 2):
            pair, center = [first, second], (means[first] + means[second]) / 2
            around = squares[pair] - 2 * (sums[pair] @ center) + counts[pair] * (center @ center)
            mean_square = max(float(around.sum() / counts[pair].sum()), 0.0)
            bias_square = square_of_bias(mean_square, float(weights[pair].min()))
            duels.append(
                Duel(
                    *(candidate, first, second, center.astype(np.float32), bias_square),
                    positive=float(weights[first]),
                )
            )
    return duels


def _rows(group: Group, duel: Duel) -> tuple[IntArray, FloatArray, FloatArray]:
    """Return the rows of a duel in a group, their signs and bounds."""
    members = group.members[duel.candidate]
    rows, signs = rows_of_pair(members[duel.first], members[duel.second])
    return rows, signs.astype(np.float32), group.bounds[duel.candidate, rows]


def _values(group: Group, duties: Duties) -> Iterator[tuple[FloatArray, FloatArray, FloatArray]]:
    """Yield f, signs and bounds of the rows of each duel."""
    for duel, point in duties.values():
        rows, signs, bounds = _rows(group, duel)
        yield values_at(group.F, rows, point.weights, point.offset(duel)), signs, bounds


def _improve(
    problem: LinearProblem,
    duel: Duel,
    point: Point,
    before: FloatArray,
    n_epochs: int,
    seed: list[int],
) -> tuple[FloatArray, IntArray, Point]:
    """Return better dual variables of some rows, which are not settled, and where that leads."""
    alpha, weights, random = before.copy(), point.weights.copy(), np.random.default_rng(seed)
    _, active = descend(
        problem, duel.bias_square, alpha, weights, point.offset(duel), n_epochs, random
    )
    change = alpha.astype(np.float64) - before
    moved = Point(
        weights,
        point.balance + problem.balance(change),
        point.total + float(change.sum()),
        point.n_active + len(active),
    )
    return alpha, active, moved


def visit(item: tuple[Group, Duals, Duties, int], n_epochs: int, seed: list[int]) -> Duals:
    """Return the dual variables of a group after some epochs, for some duels.

    Parameters
    ----------
    item : tuple of Group, Duals, Duties and the number of the group
    n_epochs : int
    seed : list of int
    """
    group, duals, duties, number = item
    alpha, actives, moved = dict(duals.alpha), dict(duals.active), {}
    for i, (duel, point) in duties.items():
        problem = problem_around(group.F, *_rows(group, duel), duel.center.copy())
        before = alpha.get(i, np.zeros(len(problem.rows), dtype=np.float32))
        own = [*seed, number, duel.first, duel.second]
        alpha[i], active, moved[i] = _improve(problem, duel, point, before, n_epochs, own)
        actives[i] = np.sort(active)
    return Duals(alpha, actives, moved)


@dataclass(frozen=True)
class Pooled:
    """Rows that are not settled: which, features, signs, bounds and dual variables."""

    active: IntArray
    F: FloatArray
    signs: FloatArray
    bounds: FloatArray
    alpha: FloatArray


def pooled(item: tuple[Group, Duals], i: int, duel: Duel, share: float, seed: list[int]) -> Pooled:
    """Return the rows of a group that are not settled in duel i, or a random share of them."""
    group, duals = item
    rows, signs, bounds = _rows(group, duel)
    active = duals.active[i]
    if share < 1:
        random = np.random.default_rng([*seed, duel.first, duel.second])
        active = np.sort(random.choice(active, int(share * len(active)), replace=False))
    chosen = rows[active]
    return Pooled(active, group.F[chosen], signs[active], bounds[active], duals.alpha[i][active])


def improve_pool(
    pools: Sequence[Pooled], i: int, duel: Duel, point: Point, n_epochs: int, seed: list[int]
) -> Duals:
    """Return the dual variables of pooled rows after some epochs, by the number of the group."""
    F, signs, bounds, before = (
        np.concatenate([getattr(pool, name) for pool in pools])
        for name in ("F", "signs", "bounds", "alpha")
    )
    problem = problem_around(F, np.arange(len(F)), signs, bounds, duel.center.copy())
    alpha, _, moved = _improve(
        problem, duel, point, before, n_epochs, [*seed, duel.first, duel.second]
    )
    ends = np.cumsum([len(pool.alpha) for pool in pools])[:-1]
    active = {g: pool.active for g, pool in enumerate(pools)}
    moved = replace(moved, n_active=0)
    return Duals(dict(enumerate(np.split(alpha, ends))), active, {i: moved})


def settle(item: tuple[Duals, dict[int, Duals], int]) -> Duals:
    """Return the dual variables of a group with those that were pooled."""
    duals, improved, number = item
    alpha = dict(duals.alpha)
    for i, pool in improved.items():
        alpha[i] = alpha[i].copy()
        alpha[i][pool.active[number]] = pool.alpha[number]
    return Duals(alpha, duals.active)


def moves_of(duals: Duals) -> dict[int, Point]:
    """Return where the last task has taken duels."""
    return duals.moved


def losses_of(group: Group, duties: Duties) -> FloatArray:
    """Return the hinge losses of a group, for each duel."""
    return np.array([hinge_losses(*found) for found in _values(group, duties)])


def gap_of(duel: Duel, point: Point, losses: float) -> float:
    """Return the relative duality gap, from the losses over all groups."""
    penalty = penalty_of(point.weights, duel.bias_square * point.balance, duel.bias_square)
    primal, dual = penalty + losses, point.total - penalty
    return float((primal - dual) / primal)


def extent_of(group: Group, duties: Duties) -> FloatArray:
    """Return the smallest and the largest shift at which a row begins or ends to have a loss."""
    return np.array(
        [
            (np.min(signs - f, initial=np.inf), np.max(signs - f, initial=-np.inf))
            for f, signs, _ in _values(group, duties)
        ]
    )


def weight_below(group: Group, duties: Duties, thresholds: FloatArray) -> FloatArray:
    """Return the total weight of the rows with ``s_i - f_i <= t``.

    Parameters
    ----------
    group : Group
    duties : Duties
    thresholds : array of shape (n_duels, 2, N_THRESHOLDS)
        Values of t, sorted.
    """
    below = np.empty_like(thresholds)
    for (f, signs, bounds), lines, found in zip(
        _values(group, duties), thresholds, below, strict=True
    ):
        for side, line in enumerate(lines):
            place = np.searchsorted(line, signs - f)
            found[side] = np.cumsum(np.bincount(place, bounds, len(line) + 1))[:-1]
    return below
