import numpy as np
import pytest
from sklearn.utils import check_random_state

from graphmargin.graph._search.join_sample import draw_join_sample
from graphmargin.graph._search.voronoi_index import make_rough_index, scale_of

K = 4


@pytest.fixture(scope="module")
def joined():
    """Rows, their index and a sample, and the true neighbors of all positions of the index."""
    rng = np.random.default_rng(0)
    X = 3 * rng.normal(size=(30, 10))[rng.integers(30, size=3_000)] + rng.normal(size=(3_000, 10))
    index = make_rough_index(X, scale_of(X), check_random_state(0), None)
    sample = draw_join_sample(X, index, K, check_random_state(1), None)
    points = X[index.order]
    squared = np.square(points).sum(axis=1) + np.square(points).sum(axis=1)[:, None]
    squared -= 2 * points @ points.T
    np.fill_diagonal(squared, np.inf)
    return X, index, sample, np.argsort(squared, axis=1)


def test_sampled_points_have_their_true_neighbors(joined):
    X, index, sample, nearest = joined
    points = X[index.order]
    kth = points[nearest[sample.positions, K - 1]] - points[sample.positions]
    squared = np.square(kth).sum(axis=1) / index.scale.unit**2
    assert np.isclose(sample.kth, squared, rtol=1e-6).mean() > 0.99
    assert (sample.kth >= squared * (1 - 1e-6)).all()


def test_recall_is_the_share_of_the_true_neighbors(joined):
    nearest = joined[3].astype(np.int32)
    assert joined[2].recall(nearest[:, : K + 2]) > 0.995
    assert joined[2].recall(nearest[:, 1 : K + 1]) == pytest.approx((K - 1) / K, abs=0.01)
    assert joined[2].recall(nearest[:, 100 : 100 + K]) == 0.0


def test_larger_recall_needs_a_larger_radius(joined):
    sample = joined[2]
    radii = [sample.sufficient_radius(recall) for recall in (0.5, 0.9, 0.99, 1.0)]
    visited = [sample.mean_visited(radius.factor) for radius in radii]
    assert visited == sorted(visited)
    assert sample.mean_visited(np.inf) == pytest.approx(len(joined[0]), rel=0.01)
    for radius, recall in zip(radii, (0.5, 0.9, 0.99, 1.0), strict=True):
        is_found = (sample.needed <= radius.factor) & (sample.rank < radius.n_cells)
        assert is_found.mean() >= recall
