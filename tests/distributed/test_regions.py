from __future__ import annotations

import numpy as np
import pytest

from graphmargin.distributed.regions import (
    NEAR_CELLS,
    load_regions,
    make_regions,
    with_reach,
)
from graphmargin.distributed.storage import Folder
from graphmargin.graph.neighbors import nearest_neighbors
from tests.distributed.rows import mixture


@pytest.fixture(scope="module", name="X")
def rows():
    return mixture(8_000)[0]


def test_regions_hold_about_the_same_number_of_rows(X):
    sizes = np.bincount(make_regions(X, 8, seed=0).homes(X), minlength=8)
    assert sizes.min() > 0.5 * len(X) / 8
    assert sizes.max() < 1.5 * len(X) / 8


def test_a_row_is_never_a_guest_at_home_and_a_guest_only_once(X):
    homes, row, region = make_regions(X, 8, seed=0).guests(X)
    assert len(row) == 0  # without a reach
    regions = with_reach(make_regions(X, 8, seed=0), X[:1], X[1:2, None], 1.0)
    regions = type(regions)(**{**vars(regions), "reach": 0.3})
    homes, row, region = regions.guests(X)
    assert len(row) > 0
    assert (homes[row] != region).all()
    assert len(np.unique(row * 8 + region)) == len(row)
    np.testing.assert_array_equal(homes, regions.homes(X))


@pytest.mark.parametrize("share", [0.9, 0.99, 0.999])
def test_the_reach_finds_the_share_of_neighbors_that_was_asked_for(X, share):
    neighbors = nearest_neighbors(X, 5, recall=1.0, random_state=0).indices
    regions = with_reach(make_regions(X, 8, seed=0), X, X[neighbors], share)
    homes, row, region = regions.guests(X)
    known = np.zeros((len(X), 8), dtype=bool)
    known[np.arange(len(X)), homes] = True
    known[row, region] = True
    found = known[neighbors, homes[:, None]].mean()
    assert found >= share
    assert len(row) < 2 * len(X)


def test_a_guest_is_known_exactly_from_the_reach_that_it_needs(X):
    regions = make_regions(X, 6, seed=0)
    target = np.full(len(X), 2)
    needed = regions.needed_reach(X, target)
    reach = float(np.median(needed[np.isfinite(needed)]))
    _, row, region = type(regions)(**{**vars(regions), "reach": reach}).guests(X)
    is_known = regions.homes(X) == 2
    is_known[row[region == 2]] = True
    np.testing.assert_array_equal(is_known, needed <= reach)


def test_many_cells_are_looked_at_by_district():
    X = np.random.default_rng(0).normal(size=(30_000, 2))
    regions = make_regions(X, 60, seed=0)
    assert len(regions.centers) > NEAR_CELLS
    assert regions.near.shape[1] == NEAR_CELLS
    # In the plane, the nearest of all cells is among those of the district.
    flat = ((X[:500, None] - regions.scale.center) / regions.scale.unit - regions.centers) ** 2
    np.testing.assert_array_equal(
        regions.homes(X[:500]), regions.region[flat.sum(axis=2).argmin(axis=1)]
    )


def test_regions_are_the_same_after_they_were_saved(X, tmp_path):
    regions = make_regions(X, 4, seed=0)
    regions.save(Folder(str(tmp_path)), "regions.pack")
    loaded = load_regions(Folder(str(tmp_path)), "regions.pack")
    np.testing.assert_array_equal(loaded.homes(X), regions.homes(X))
    assert loaded.reach == regions.reach


@pytest.mark.parametrize("n_regions", [1, 2, 5])
def test_rows_that_are_all_alike_have_a_home(n_regions):
    X = np.ones((100, 3))
    regions = with_reach(make_regions(X, n_regions, seed=0), X[:5], X[:5, None], 0.99)
    homes, row, _ = regions.guests(X)
    assert len(set(homes.tolist())) == 1
    assert len(row) == 0


def test_more_regions_than_rows_leaves_some_empty():
    X = np.arange(3.0)[:, None]
    regions = make_regions(X, 5, seed=0)
    assert len(set(regions.homes(X).tolist())) == 3
