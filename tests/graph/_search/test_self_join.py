import numpy as np
import pytest
from sklearn.utils import check_random_state

from graphmargin.graph._search import self_join as module
from graphmargin.graph._search.join_sample import JoinSample, Radius
from graphmargin.graph._search.self_join import join_candidates

K = 5


def noisy_sheet(n=6_000, d=24):
    rng = np.random.default_rng(0)
    return np.sin(rng.uniform(-2, 2, size=(n, 6)) @ rng.normal(size=(6, d))).astype(np.float32)


def join(X, recall=0.95, n_jobs=None, **options):
    return join_candidates(
        X, K, recall, random_state=check_random_state(0), n_jobs=n_jobs, **options
    )


def true_recall(X, candidates):
    """Return the share of the true neighbors of some rows among the listed ones, up to ties."""
    rows = candidates.index.order
    shares = []
    for position in range(0, len(X), 17):
        squared = np.square(X - X[rows[position]], dtype=np.float64).sum(axis=1)
        listed = np.sort(squared[rows[candidates.nearest[position, :K]]])
        squared[rows[position]] = np.inf
        shares.append((listed <= np.sort(squared)[K - 1] * (1 + 1e-9)).mean())
    return np.mean(shares)


def assert_valid(X, candidates):
    nearest = candidates.nearest
    assert (nearest != np.arange(len(X))[:, None]).all()
    assert nearest[:, :K].min() >= 0
    rows = [[j for j in row if j >= 0] for row in nearest.tolist()]
    assert all(len(set(row)) == len(row) for row in rows)


def refine_always(monkeypatch, factor, n_cells):
    """Let the join begin with a small radius, so that lists must be refined."""
    monkeypatch.setattr(JoinSample, "radius", lambda *_: Radius(factor, n_cells))


TABLES = {
    "sheet": noisy_sheet(),
    "noise": np.random.default_rng(0).normal(size=(4_000, 30)),
    "plane": np.random.default_rng(0).normal(size=(6_000, 2)),
    "copies": np.repeat(np.random.default_rng(0).normal(size=(800, 8)), 5, axis=0),
    "all rows equal": np.ones((2_000, 3)),
    "separate clusters": np.random.default_rng(0).normal(size=(4_000, 6))
    + 1e3 * np.repeat(np.arange(200), 20)[:, None],
    "far outlier": np.vstack([noisy_sheet(3_000), np.full((1, 24), 1e4)]),
}


@pytest.mark.parametrize("recall", [0.8, 0.99])
@pytest.mark.parametrize("name", TABLES)
def test_requested_recall_is_reached_and_reported(name, recall):
    X = TABLES[name]
    candidates = join(X, recall)
    assert_valid(X, candidates)
    assert candidates.recall >= recall
    assert true_recall(X, candidates) == pytest.approx(candidates.recall, abs=0.03)


def test_refinement_takes_the_place_of_more_cells(monkeypatch):
    X = noisy_sheet()
    visited = []
    visit = module._visit_cells
    monkeypatch.setattr(
        module, "_visit_cells", lambda *options: visited.append(options[2]) or visit(*options)
    )
    refine_always(monkeypatch, 0.3, 40)
    candidates = join(X)
    assert len(visited) == 1
    assert_valid(X, candidates)
    assert true_recall(X, candidates) > 0.94


def test_more_cells_are_visited_where_no_path_of_neighbors_leads_on(monkeypatch):
    refine_always(monkeypatch, 0.0, 1)  # lists stay within cells
    X = noisy_sheet()
    candidates = join(X)
    assert candidates.recall >= 0.95
    assert true_recall(X, candidates) > 0.94


@pytest.mark.parametrize("is_refined", [True, False])
def test_result_does_not_depend_on_the_number_of_threads(monkeypatch, is_refined):
    if is_refined:
        refine_always(monkeypatch, 0.2, 10)
    first, second = (join(noisy_sheet(), n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(first.nearest, second.nearest)
    assert first.recall == second.recall


def test_nothing_is_approximated_where_an_exact_search_reads_little():
    X = np.random.default_rng(0).normal(size=(3_000, 2))
    assert join(X, exact_work=1e6) is None
    assert join(X, exact_work=1.0) is not None
