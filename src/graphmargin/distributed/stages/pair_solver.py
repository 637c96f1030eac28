"""Coordinate descent on groups of rows, each with a worker, for all pairs of classes at once.

The weights of a pair go from group to group, and each group improves its own dual variables: block
coordinate descent, whose steps need not be made smaller, as those that groups take at the same
time need. While one group improves a pair, others improve other ones. Then the active rows, whose
dual variables may still change and which are few, are pooled, and a single task improves them
together, as one machine would.

Without the pool, groups that are regions of space pull the weights to and fro. Passes over three
pairs to a gap of 1 %, 500 landmarks, 20,000 rows of 16 dimensions and 10 classes in 8 regions: for
C = 1, 1 with a pool, 5 to 6 without, and 10 to 14 if the groups step together with the best sizes
of all steps (CoCoA); for C = 100, 4 to 5 with a pool, and 26 to 74 without. One machine takes as
many passes of as many epochs: 1, and 4 to 5.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from distributed import Future

from graphmargin._typing import FloatArray, ProgressCallback
from graphmargin.distributed.engine.cluster import Cluster
from graphmargin.distributed.stages.class_pairs import (
    Assignments,
    DualVariables,
    PairIterate,
    PairProblem,
    active_rows,
    descend_group,
    descend_pool,
    duality_gap,
    group_losses,
    merge_pooled,
    shift_range,
    updated_iterates,
    weight_below,
)
from graphmargin.margin.coordinate_descent import MAX_EPOCHS, epochs_before_check

FIRST_EPOCHS = 2
"""Epochs of a pass in the groups. After more, rows seem inactive to their group that are not."""
N_THRESHOLDS = 256
SHIFT_PRECISION = 1e-6
MAX_PASSES = 12
"""Limit for the shift of a bias: each pass makes what is left of the range 256 times smaller."""


def solve_pairs(
    cluster: Cluster,
    groups: Sequence[Future[Any]],
    pairs: Sequence[PairProblem],
    *,
    relative_gap: float,
    max_pooled: int,
    seed: int,
    progress: ProgressCallback | None = None,
) -> list[PairIterate]:
    """Return the solution of every pair of classes; its certificate is exact, over all groups.

    Passes take seconds, so nothing is written between them. What a worker held when it died is
    computed again by the same tasks, to the last bit.

    Parameters
    ----------
    cluster : Cluster
    groups : sequence of futures of RowGroup
    pairs : sequence of PairProblem
    relative_gap : float
        At which a pair is solved; else its descent ends after `MAX_EPOCHS`.
    max_pooled : int
        Rows that are pooled for a pair, at most.
    seed : int
    progress : callable, default=None
    """
    iterates = [PairIterate(np.zeros_like(pair.center)) for pair in pairs]
    duals: list[Any] = [DualVariables() for _ in groups]
    unsolved, epochs = list(range(len(pairs))), 0
    while unsolved and epochs < MAX_EPOCHS:
        n_epochs = min(epochs_before_check(epochs), MAX_EPOCHS - epochs)
        alone = len(groups) == 1
        first = n_epochs if alone else min(FIRST_EPOCHS, n_epochs)
        for step in range(len(groups)):
            # Every group has another share of the pairs, until each has had all.
            shares = [unsolved[(g + step) % len(groups) :: len(groups)] for g in range(len(groups))]
            items = [
                (groups[g], duals[g], _assignments(pairs, iterates, share), g)
                for g, share in enumerate(shares)
            ]
            duals = cluster.submit("descend", descend_group, items, first, [seed, epochs])
            _update(cluster, iterates, duals)
        for start in range(0, 0 if alone else len(unsolved), len(groups)):
            duals = _improve_pooled(
                cluster,
                list(zip(groups, duals, strict=True)),
                _assignments(pairs, iterates, unsolved[start : start + len(groups)]),
                iterates,
                n_epochs=n_epochs - first,
                max_pooled=max_pooled,
                seed=[seed, epochs],
            )
        epochs += n_epochs
        assignments = _assignments(pairs, iterates, unsolved)
        losses = sum(cluster.run("losses", group_losses, groups, assignments))
        for i, loss in zip(unsolved, losses, strict=True):
            iterates[i] = replace(iterates[i], gap=duality_gap(pairs[i], iterates[i], loss))
        unsolved = [i for i in unsolved if iterates[i].gap > relative_gap]
        if progress is not None:
            progress(None, f"{len(pairs) - len(unsolved)} of {len(pairs)} pairs, {epochs} epochs")
    return iterates


def _assignments(
    pairs: Sequence[PairProblem], iterates: Sequence[PairIterate], numbers: Sequence[int]
) -> Assignments:
    return {i: (pairs[i], iterates[i]) for i in numbers}


def _update(cluster: Cluster, iterates: list[PairIterate], duals: Sequence[Future[Any]]) -> None:
    """Set the iterates to where tasks have taken them."""
    for updated in cluster.run("iterates", updated_iterates, duals):
        for i, iterate in updated.items():
            iterates[i] = iterate


def _improve_pooled(
    cluster: Cluster,
    groups_and_duals: Sequence[Any],
    assignments: Assignments,
    iterates: list[PairIterate],
    *,
    n_epochs: int,
    max_pooled: int,
    seed: list[int],
) -> list[Any]:
    """Return the dual variables after the active rows of some pairs were pooled."""
    improved = {}
    for i, (pair, iterate) in assignments.items():
        share = max_pooled / max(iterate.n_active, 1)
        pools = cluster.submit("pool", active_rows, groups_and_duals, i, pair, share, seed)
        (improved[i],) = cluster.submit(
            "descend in pool", descend_pool, [pools], i, pair, iterate, n_epochs, seed
        )
        cluster.release(pools)
    _update(cluster, iterates, list(improved.values()))
    items = [(duals, improved, g) for g, (_, duals) in enumerate(groups_and_duals)]
    return list(cluster.submit("merge pool", merge_pooled, items))


def best_biases(
    cluster: Cluster,
    groups: Sequence[Future[Any]],
    pairs: Sequence[PairProblem],
    iterates: Sequence[PairIterate],
) -> FloatArray:
    """Return the best bias of every pair, for its weights.

    That is `graphmargin.margin.coordinate_descent.best_shift`, to a precision of 1e-6: the middle
    between the first shifts at which the slope of the losses is no longer negative, and positive.
    """
    assignments = _assignments(pairs, iterates, range(len(pairs)))
    ranges = np.array(cluster.run("shift", shift_range, groups, assignments))
    low, high = (
        np.repeat(ends[:, None], 2, axis=1)
        for ends in (ranges[:, :, 0].min(axis=0), ranges[:, :, 1].max(axis=0))
    )
    low = low - SHIFT_PRECISION  # the first shift itself is above it
    positive = np.array([pair.positive for pair in pairs])
    targets = positive[:, None] * (1 + 1e-9 * np.array([-1, 1]))
    for _ in range(MAX_PASSES):
        lines = np.linspace(low, high, N_THRESHOLDS + 1, axis=-1)
        weight = sum(cluster.run("shift", weight_below, groups, assignments, lines[..., 1:]))
        place = np.argmax(weight > targets[..., None], axis=-1)
        place = np.where((weight > targets[..., None]).any(axis=-1), place, N_THRESHOLDS - 1)
        low, high = (
            np.take_along_axis(lines, place[..., None] + side, axis=-1)[..., 0] for side in (0, 1)
        )
        if (high - low).max() <= SHIFT_PRECISION:
            break
    offsets = np.array([iterate.offset(pair) for pair, iterate in assignments.values()])
    return np.asarray(offsets + high.mean(axis=1))
