import numpy as np
import pytest

from graphmargin.graph._search.ranking import rank_candidates


@pytest.mark.parametrize("n_candidates", [3, 4, 7, 12])
@pytest.mark.parametrize("is_self_query", [True, False])
def test_candidates_are_ranked_by_distance_and_index(n_candidates, is_self_query):
    rng = np.random.default_rng(n_candidates)
    X = rng.integers(0, 4, size=(30, 3)).astype(float)
    queries = X if is_self_query else X[:10] + 0.5
    order, rows = rng.permutation(30), np.array([4, 0, 9])
    candidates = np.stack([rng.permutation(30)[:n_candidates] for _ in rows])
    candidates[0, 1] = candidates[2, -1] = -1
    indices, squared = rank_candidates(
        X,
        queries,
        rows,
        candidates,
        order,
        n_neighbors=5,
        is_self_query=is_self_query,
        unit=2.0,
    )
    for i, row in enumerate(rows):
        named = order[candidates[i][candidates[i] >= 0]]
        named = named[named != row] if is_self_query else named
        pairs = sorted((np.square(X[j] - queries[row]).sum() / 4, j) for j in named)[:5]
        assert list(zip(squared[i], indices[i], strict=True))[: len(pairs)] == pairs
        assert np.isinf(squared[i, len(pairs) :]).all()
