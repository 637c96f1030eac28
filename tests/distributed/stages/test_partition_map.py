from __future__ import annotations

import numpy as np
import pytest

from graphmargin.distributed.engine.storage import Folder
from graphmargin.distributed.stages.partition_map import (
    NEAR_CELLS,
    load_partition_map,
    make_partition_map,
    with_replica_radius,
)
from graphmargin.graph._search.neighbors import nearest_neighbors
from tests.distributed.rows import mixture


@pytest.fixture(scope="module", name="X")
def rows():
    return mixture(8_000)[0]


def test_partitions_hold_about_the_same_number_of_rows(X):
    sizes = np.bincount(make_partition_map(X, 8, seed=0).assign(X), minlength=8)
    assert sizes.min() > 0.5 * len(X) / 8
    assert sizes.max() < 1.5 * len(X) / 8


def test_the_owner_has_no_replica_and_others_have_one(X):
    owners, row, partition = make_partition_map(X, 8, seed=0).replicas(X)
    assert len(row) == 0  # without a radius
    partitions = with_replica_radius(make_partition_map(X, 8, seed=0), X[:1], X[1:2, None], 1.0)
    partitions = type(partitions)(**{**vars(partitions), "radius": 0.3})
    owners, row, partition = partitions.replicas(X)
    assert len(row) > 0
    assert (owners[row] != partition).all()
    assert len(np.unique(row * 8 + partition)) == len(row)
    np.testing.assert_array_equal(owners, partitions.assign(X))


@pytest.mark.parametrize("share", [0.9, 0.99, 0.999])
def test_the_radius_finds_the_share_of_neighbors_that_was_asked_for(X, share):
    neighbors = nearest_neighbors(X, 5, recall=1.0, random_state=0).indices
    partitions = with_replica_radius(make_partition_map(X, 8, seed=0), X, X[neighbors], share)
    owners, row, partition = partitions.replicas(X)
    is_in_partition = np.zeros((len(X), 8), dtype=bool)
    is_in_partition[np.arange(len(X)), owners] = True
    is_in_partition[row, partition] = True
    recall = is_in_partition[neighbors, owners[:, None]].mean()
    assert recall >= share
    assert len(row) < 2 * len(X)


def test_a_row_has_a_replica_exactly_from_its_needed_radius_on(X):
    partitions = make_partition_map(X, 6, seed=0)
    target = np.full(len(X), 2)
    needed = partitions.needed_radius(X, target)
    radius = float(np.median(needed[np.isfinite(needed)]))
    _, row, partition = type(partitions)(**{**vars(partitions), "radius": radius}).replicas(X)
    is_known = partitions.assign(X) == 2
    is_known[row[partition == 2]] = True
    np.testing.assert_array_equal(is_known, needed <= radius)


def test_with_many_cells_rows_are_compared_within_coarse_cells():
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    partitions = make_partition_map(X, 60, seed=0)
    assert len(partitions.centers) > NEAR_CELLS
    assert partitions.near.shape[1] == NEAR_CELLS
    # In the plane, the nearest of all cells is among those of the coarse cell.
    flat = (
        (X[:500, None] - partitions.scale.center) / partitions.scale.unit - partitions.centers
    ) ** 2
    np.testing.assert_array_equal(
        partitions.assign(X[:500]), partitions.partition[flat.sum(axis=2).argmin(axis=1)]
    )


def test_a_saved_map_is_loaded_unchanged(X, tmp_path):
    partitions = make_partition_map(X, 4, seed=0)
    partitions.save(Folder(str(tmp_path)))
    loaded = load_partition_map(Folder(str(tmp_path)))
    np.testing.assert_array_equal(loaded.assign(X), partitions.assign(X))
    assert loaded.radius == partitions.radius


@pytest.mark.parametrize("n_partitions", [1, 2, 5])
def test_equal_rows_have_an_owner(n_partitions):
    X = np.ones((100, 3))
    partitions = with_replica_radius(
        make_partition_map(X, n_partitions, seed=0), X[:5], X[:5, None], 0.99
    )
    owners, row, _ = partitions.replicas(X)
    assert len(set(owners.tolist())) == 1
    assert len(row) == 0


def test_with_more_partitions_than_rows_some_are_empty():
    X = np.arange(3.0)[:, None]
    partitions = make_partition_map(X, 5, seed=0)
    assert len(set(partitions.assign(X).tolist())) == 3
