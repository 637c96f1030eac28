"""Coordinate descent on groups of rows, each with a worker, for all pairs of classes at once.

The weights of a duel go from group to group, and each group improves its own dual variables: block
coordinate descent, whose steps need not be made smaller, as those that groups take at the same
time need. While one group has a duel, others have other ones. Then the rows that are not settled,
which are few, are pooled, and a single task improves them together, as one machine would.

Without the pool, groups that are regions of space pull the weights to and fro. Rounds of three
duels to a gap of 1 %, 500 landmarks, 20,000 rows of 16 dimensions and 10 classes in 8 regions: for
C = 1, 1 with a pool, 5 to 6 without, and 10 to 14 if the groups step together with the best sizes
of all steps (CoCoA); for C = 100, 4 to 5 with a pool, and 26 to 74 without. One machine takes as
many rounds of as many epochs: 1, and 4 to 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Future

from graphmargin._typing import FloatArray, ProgressCallback
from graphmargin.distributed.cluster import Cluster
from graphmargin.distributed.duels import (
    Duals,
    Duel,
    Duties,
    Point,
    extent_of,
    gap_of,
    improve_pool,
    losses_of,
    moves_of,
    pooled,
    settle,
    visit,
    weight_below,
)
from graphmargin.margin.coordinate_descent import MAX_EPOCHS, next_round

FIRST_EPOCHS = 2
"""Of a round, in the groups. After more, rows seem settled to their group that are not."""
N_THRESHOLDS = 256
SHIFT_PRECISION = 1e-6
MAX_PASSES = 12
"""To find the shift of a bias: each makes what is left of the range 256 times smaller."""


def solve_duels(
    cluster: Cluster,
    groups: Sequence[Future[Any]],
    duels: Sequence[Duel],
    *,
    relative_gap: float,
    most_pooled: int,
    seed: int,
    progress: ProgressCallback | None = None,
) -> list[Point]:
    """Return the end of every duel: its certificate is exact, over all groups.

    Rounds take seconds, so nothing is written down between them. What a worker held when it died
    is found again by the tasks that found it, to the last bit.

    Parameters
    ----------
    cluster : Cluster
    groups : sequence of futures of Group
    duels : sequence of Duel
    relative_gap : float
        At which a duel ends; else it ends after `MAX_EPOCHS`.
    most_pooled : int
        Rows that are pooled in a duel, at most.
    seed : int
    progress : callable, default=None
    """
    points = [Point(np.zeros_like(duel.center)) for duel in duels]
    duals: list[Any] = [Duals() for _ in groups]
    todo, epochs = list(range(len(duels))), 0
    while todo and epochs < MAX_EPOCHS:
        n_epochs = min(next_round(epochs), MAX_EPOCHS - epochs)
        alone = len(groups) == 1
        first = n_epochs if alone else min(FIRST_EPOCHS, n_epochs)
        for step in range(len(groups)):
            # Every group has another share of the duels, until each has had all.
            shares = [todo[(g + step) % len(groups) :: len(groups)] for g in range(len(groups))]
            items = [
                (groups[g], duals[g], _duties(duels, points, share), g)
                for g, share in enumerate(shares)
            ]
            duals = cluster.submit("descend", visit, items, first, [seed, epochs])
            _move(cluster, points, duals)
        for start in range(0, 0 if alone else len(todo), len(groups)):
            some = todo[start : start + len(groups)]
            duals = _improve_together(
                *(cluster, groups, duals, duels, points, some),
                n_epochs=n_epochs - first,
                most=most_pooled,
                seed=[seed, epochs],
            )
        epochs += n_epochs
        duties = _duties(duels, points, todo)
        losses = sum(cluster.run("losses", losses_of, groups, duties))
        for i, loss in zip(todo, losses, strict=True):
            points[i] = replace(points[i], gap=gap_of(duels[i], points[i], loss))
        todo = [i for i in todo if points[i].gap > relative_gap]
        if progress is not None:
            progress(None, f"{len(duels) - len(todo)} of {len(duels)} pairs, {epochs} epochs")
    return points


def _duties(duels: Sequence[Duel], points: Sequence[Point], some: Sequence[int]) -> Duties:
    return {i: (duels[i], points[i]) for i in some}


def _move(cluster: Cluster, points: list[Point], moved: Sequence[Future[Any]]) -> None:
    """Set the points to where tasks have taken them."""
    for found in cluster.run("moves", moves_of, moved):
        for i, point in found.items():
            points[i] = point


def _improve_together(
    cluster: Cluster,
    groups: Sequence[Future[Any]],
    duals: Sequence[Any],
    duels: Sequence[Duel],
    points: list[Point],
    some: Sequence[int],
    *,
    n_epochs: int,
    most: int,
    seed: list[int],
) -> list[Any]:
    """Return the dual variables after the rows that are not settled were pooled in some duels."""
    both = list(zip(groups, duals, strict=True))
    improved = {}
    for i in some:
        share = most / max(points[i].n_active, 1)
        pools = cluster.submit("pool", pooled, both, i, duels[i], share, seed)
        (improved[i],) = cluster.submit(
            "descend in pool", improve_pool, [pools], i, duels[i], points[i], n_epochs, seed
        )
        cluster.release(pools)
    _move(cluster, points, list(improved.values()))
    items = [(state, improved, g) for g, state in enumerate(duals)]
    return list(cluster.submit("settle", settle, items))


def biases_of(
    cluster: Cluster,
    groups: Sequence[Future[Any]],
    duels: Sequence[Duel],
    points: Sequence[Point],
) -> FloatArray:
    """Return the best bias of every duel, for its weights.

    That is `graphmargin.margin.coordinate_descent.best_shift`, to a precision of 1e-6: the middle
    between the first shifts at which the slope of the losses is no longer negative, and positive.
    """
    duties = _duties(duels, points, range(len(duels)))
    extents = np.array(cluster.run("shift", extent_of, groups, duties))
    low, high = (
        np.repeat(ends[:, None], 2, axis=1)
        for ends in (extents[:, :, 0].min(axis=0), extents[:, :, 1].max(axis=0))
    )
    low = low - SHIFT_PRECISION  # the first shift itself is above it
    positive = np.array([duel.positive for duel in duels])
    targets = positive[:, None] * (1 + 1e-9 * np.array([-1, 1]))
    for _ in range(MAX_PASSES):
        lines = np.linspace(low, high, N_THRESHOLDS + 1, axis=-1)
        weight = sum(cluster.run("shift", weight_below, groups, duties, lines[..., 1:]))
        place = np.argmax(weight > targets[..., None], axis=-1)
        place = np.where((weight > targets[..., None]).any(axis=-1), place, N_THRESHOLDS - 1)
        low, high = (
            np.take_along_axis(lines, place[..., None] + side, axis=-1)[..., 0] for side in (0, 1)
        )
        if (high - low).max() <= SHIFT_PRECISION:
            break
    offsets = np.array([point.offset(duel) for duel, point in duties.values()])
    return np.asarray(offsets + high.mean(axis=1))
