import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.sparse.linalg import spsolve

from graphmargin.harmonic._solvers import elimination as module
from graphmargin.harmonic._solvers.elimination import eliminate, elimination_order

weights = st.sampled_from([0.0, 0.0, 0.0, 1e-3, 0.5, 1.0, 8.0])
graphs = (
    st.integers(1, 14)
    .flatmap(lambda n: arrays(np.float64, (n, n), elements=weights))
    .map(lambda A: np.triu(A, 1) + np.triu(A, 1).T)
)


def random_sparse(n, density, seed):
    rng = np.random.default_rng(seed)
    W = sparse.triu(sparse.random_array((n, n), density=density, rng=rng), 1)
    return sparse.csr_array(W + W.T)


def grid(n):
    path = sparse.diags_array([1.0, 1.0], offsets=[-1, 1], shape=(n, n))
    return sparse.csr_array(sparse.kronsum(path, path))


def system(W, absorption):
    return np.diag(W.sum(axis=1) + absorption) - W


@given(W=graphs)
def test_order_is_a_permutation_with_the_pattern_of_the_dense_factor(W):
    solution = elimination_order(sparse.csr_array(W))
    assert sorted(solution.order.tolist()) == list(range(len(W)))
    permuted = system(W, np.ones(len(W)))[np.ix_(solution.order, solution.order)]
    # Off-diagonal entries of the Cholesky factor are sums of negative terms: none cancels.
    factor = np.tril(np.linalg.cholesky(permuted), -1)
    expected = [np.flatnonzero(column) for column in factor.T]
    for k, rows in enumerate(expected):
        found_rows = solution.column_rows[solution.column_start[k] : solution.column_start[k + 1]]
        np.testing.assert_array_equal(found_rows, rows)


@given(W=graphs, data=st.data())
def test_factors_multiply_to_the_system(W, data):
    n = len(W)
    absorption = data.draw(arrays(np.float64, n, elements=st.sampled_from([1e-3, 0.1, 1.0, 30.0])))
    order = elimination_order(sparse.csr_array(W))
    solution = eliminate(sparse.csr_array(W), absorption, order)
    assert (solution.weights >= 0).all()
    assert (solution.pivots > 0).all()
    pivots, weights = solution.pivots[:, 0], solution.weights[:, 0]
    U = np.diag(pivots)
    for k in range(n):
        entries = slice(order.column_start[k], order.column_start[k + 1])
        U[k, order.column_rows[entries]] = -weights[entries]
    permuted = system(W, absorption)[np.ix_(order.order, order.order)]
    np.testing.assert_allclose(U.T @ (U / pivots[:, None]), permuted, atol=1e-12)


@settings(max_examples=60)
@given(
    n=st.integers(2, 120),
    density=st.sampled_from([0.01, 0.05, 0.3]),
    columns=st.integers(1, 4),
    lowest=st.sampled_from([0.0, -1.0]),
    seed=st.integers(0, 10**6),
)
def test_solution_equals_scipy(n, density, columns, lowest, seed):
    rng = np.random.default_rng(seed)
    W = random_sparse(n, density, seed)
    absorption = rng.uniform(0.01, 1, n)
    B = rng.uniform(lowest, 1, (n, columns))
    before = B.copy()
    X = eliminate(W, absorption, elimination_order(W)).solve(B)
    np.testing.assert_array_equal(B, before)
    A = sparse.csc_array(sparse.diags_array(W.sum(axis=1) + absorption) - W)
    expected = spsolve(A, B).reshape(n, columns)
    np.testing.assert_allclose(X, expected, rtol=1e-9, atol=0.0 if lowest == 0 else 1e-9)
    np.testing.assert_allclose(A @ X, B, atol=1e-11)
    assert lowest < 0 or (X >= 0).all()


def test_large_grid_is_solved_to_the_last_digits():
    W = grid(60)
    absorption = np.zeros(3600)
    absorption[0] = 1.0
    X = eliminate(W, absorption, elimination_order(W)).solve(absorption[:, None])
    # Every walk is absorbed at the one corner in the end.
    np.testing.assert_allclose(X, 1, rtol=1e-11)


def star(n):
    W = np.zeros((n, n))
    W[0, 1:] = W[1:, 0] = 1.0
    return sparse.csr_array(W)


@pytest.mark.parametrize("n", [2, 40])
def test_trees_have_no_fill(path_graph, n):
    for W in (path_graph(n), star(n)):
        assert len(elimination_order(W).column_rows) == n - 1


def test_order_reduces_the_fill_of_a_grid():
    n = 30
    fill = len(elimination_order(grid(n)).column_rows)
    assert fill < n**3 / 2  # row by row it is about n^3


def test_fill_or_work_above_the_limit_gives_no_order():
    W = random_sparse(80, 0.1, 0)
    order = elimination_order(W)
    fill = len(order.column_rows)
    assert elimination_order(W, max_fill=fill) is not None
    assert elimination_order(W, max_fill=fill - 1) is None
    work = np.square(np.diff(order.column_start).astype(float)).sum()
    assert elimination_order(W, max_flops=work) is not None
    assert elimination_order(W, max_flops=work - 1) is None


def test_single_vertex_and_graph_without_edges_are_solved():
    alone = sparse.csr_array((1, 1))
    solved = eliminate(alone, np.array([4.0]), elimination_order(alone)).solve(np.array([[2.0]]))
    assert solved.tolist() == [[0.5]]
    apart = sparse.csr_array((3, 3))
    B = np.diag([1.0, 2.0, 3.0])
    solved = eliminate(apart, np.array([1.0, 2.0, 4.0]), elimination_order(apart)).solve(B)
    np.testing.assert_allclose(solved, np.diag([1.0, 1.0, 0.75]))


def test_part_without_absorption_is_zero_and_leaves_others_unchanged(path_graph):
    W = sparse.csr_array(sparse.block_diag([path_graph(4), path_graph(3)]))
    absorption = np.array([1.0, 0, 0, 1.0, 0, 0, 0])
    B = np.zeros((7, 2))
    B[0, 0] = B[3, 1] = 1.0
    X = eliminate(W, absorption, elimination_order(W)).solve(B)
    # From the ends of the path, which are absorbed or move at equal rates.
    np.testing.assert_allclose(X[:4, 1], [0.2, 0.4, 0.6, 0.8])
    assert (X[4:] == 0).all()


def test_every_entry_of_a_decaying_solution_has_a_small_relative_error(path_graph):
    n, rate = 40, 1e4
    absorption = np.full(n, rate)
    B = np.zeros((n, 1))
    B[0] = 1.0
    X = eliminate(path_graph(n), absorption, elimination_order(path_graph(n))).solve(B)[:, 0]
    # Backward recursion of the tridiagonal system: x_i = ratio_i x_(i-1), all terms positive.
    ratio = np.empty(n)
    ratio[-1] = 1 / (1 + rate)
    for i in range(n - 2, 0, -1):
        ratio[i] = 1 / (2 + rate - ratio[i + 1])
    expected = np.concatenate([[1 / (1 + rate - ratio[1])], ratio[1:]]).cumprod()
    assert expected[-1] < 1e-150
    np.testing.assert_allclose(X, expected, rtol=1e-12)


@pytest.mark.parametrize("fill_of_copies", [0, module.MAX_FILL_OF_COPIES])
def test_lanes_equal_separate_systems(random_graph, monkeypatch, fill_of_copies):
    monkeypatch.setattr(module, "MAX_FILL_OF_COPIES", fill_of_copies)
    W = sparse.csr_array(random_graph(40, 0))
    absorption = np.random.default_rng(0).random((40, 4))
    B = np.random.default_rng(1).random((40, 3))
    order = elimination_order(W)
    together = eliminate(W, absorption, order)
    for lane in range(4):
        alone = eliminate(W, absorption[:, lane], order)
        np.testing.assert_array_equal(together.solve(B, lane), alone.solve(B))


@given(W=graphs, data=st.data())
def test_kept_vertices_have_the_walk_that_is_left_over(W, data):
    """It is the Schur complement, and masses extend to the eliminated vertices."""
    n = len(W)
    n_kept = data.draw(st.integers(0, n))
    eliminated = n - n_kept
    absorption = np.full(n, 0.5)
    absorption[eliminated:] = 0.0
    order = elimination_order(sparse.csr_array(W), n_kept=n_kept)
    np.testing.assert_array_equal(order.order[eliminated:], np.arange(eliminated, n))
    lanes = eliminate(sparse.csr_array(W), np.column_stack([2 * absorption, absorption]), order)
    edges, sink = lanes.kept_walk(1)
    A = system(W, absorption)
    inner, outer = A[:eliminated, :eliminated], A[:eliminated, eliminated:]
    schur = A[eliminated:, eliminated:] - outer.T @ np.linalg.solve(inner, outer)
    np.testing.assert_allclose(edges, -(schur - np.diag(np.diag(schur))), atol=1e-12)
    np.testing.assert_allclose(edges.sum(axis=1) + sink, np.diag(schur), atol=1e-12)
    masses = np.random.default_rng(0).random((n_kept, 2, 3))
    extended = lanes.extend(masses, 1)[:, 1]
    into_sink = np.zeros((eliminated, 3))
    into_sink[:, -1] = absorption[:eliminated]
    expected = np.linalg.solve(inner, into_sink - outer @ masses[:, 1])[order.order[:eliminated]]
    np.testing.assert_allclose(extended[:eliminated], expected, atol=1e-12)
    np.testing.assert_array_equal(extended[eliminated:], masses[:, 1])


def test_ball_of_a_large_graph_predicts_that_the_fill_is_too_large(monkeypatch, random_graph):
    W = sparse.csr_array(random_graph(200, 0))
    flops = float(np.square(np.diff(elimination_order(W).column_start)).sum())
    assert elimination_order(W, max_flops=flops) is not None
    monkeypatch.setattr(module, "BALL_SIZE", 40)
    calls = []
    original = module._quotient_graph
    monkeypatch.setattr(
        module, "_quotient_graph", lambda W, n: calls.append(W.shape[0]) or original(W, n)
    )
    assert elimination_order(W, max_flops=flops / 1e3) is None
    assert calls == [40]  # the whole is not tried
    calls.clear()
    assert elimination_order(W, max_flops=1e9) is not None
    assert calls == [40, 200]
