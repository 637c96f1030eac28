from fractions import Fraction
from functools import cache, partial

import numpy as np
import pytest
from scipy import sparse

from graphmargin.datasets import (
    load_digits,
    load_letter,
    load_segmentation,
    make_lattices,
    mask_labels,
)
from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution
from graphmargin.harmonic._solvers.elimination import elimination_order
from graphmargin.harmonic._solvers.system import MASS_ERROR, HarmonicSystem
from tests.harmonic.problems import GAMMAS, SOLVERS, first_labels


def symmetric(upper):
    return np.triu(upper, 1) + np.triu(upper, 1).T


def table(load):
    X, y = load()
    rows = np.random.default_rng(0).permutation(len(X))[:1_000]
    spread = X[rows].std(axis=0)
    W = knn_graph(X[rows] / np.where(spread > 0, spread, 1.0))
    return W, mask_labels(y[rows], per_class=2, random_state=0)


def lattices():
    problem = make_lattices()
    return problem.W, problem.y


def fifty_components():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 15, 50)
    blocks = [symmetric(rng.random((n, n)) * (rng.random((n, n)) < 0.4)) for n in sizes]
    y = np.where(rng.random(sizes.sum()) < 0.15, rng.integers(0, 3, sizes.sum()), -1)
    return sparse.block_diag(blocks, format="csr"), y


def path():
    y = np.full(300, -1)
    y[[0, 120, 299]] = [0, 1, 2]
    return sparse.diags_array([np.ones(299)] * 2, offsets=[-1, 1]).tocsr(), y


def star():
    rng = np.random.default_rng(0)
    W = np.zeros((60, 60))
    W[0, 1:] = rng.random(59)
    y = np.full(60, -1)
    y[1:8] = [0, 1, 2, 0, 1, 2, 0]
    return symmetric(W), y


def log_uniform(seed):
    rng = np.random.default_rng(seed)
    W = symmetric(10 ** rng.uniform(-23, 0, (40, 40)) * (rng.random((40, 40)) < 0.3))
    y = first_labels(40, [0, 1, 2, 0, 1, 2])
    return W, y


GRAPHS = {
    "letter": lambda: table(load_letter),
    "digits": lambda: table(load_digits),
    "segmentation": lambda: table(load_segmentation),
    "lattices": lattices,
    "fifty-components": fifty_components,
    "path": path,
    "star": star,
    **{f"log-uniform-{seed}": partial(log_uniform, seed) for seed in range(3)},
}


@cache
def graph(name):
    return GRAPHS[name]()


@pytest.mark.parametrize("gamma_g", GAMMAS)
@pytest.mark.parametrize("name", GRAPHS)
def test_every_pair_of_solvers_agrees(name, gamma_g):
    W, y = graph(name)
    solutions = [harmonic_solution(W, y, gamma_g=gamma_g, solver=solver) for solver in SOLVERS]
    direct = solutions[0]
    second, best = np.sort(direct.class_mass, axis=1)[:, -2:].T
    clear = (best > 1e-280) & (best - second > 1e-6 * best)
    for solution, solver in zip(solutions, SOLVERS, strict=True):
        assert solution.solver == solver
        assert solution.converged
        np.testing.assert_array_equal(solution.codes[clear], direct.codes[clear])
        np.testing.assert_array_equal(solution.unreached, direct.unreached)
        np.testing.assert_array_equal(solution.codes == -1, direct.codes == -1)
        np.testing.assert_allclose(solution.class_mass, direct.class_mass, atol=MASS_ERROR)
        assert solution.residual < 1e-6


def exact_class_mass(W, codes, gamma_g, n_classes):
    """Return the class masses of the free vertices in rational arithmetic."""
    n = len(W)
    W = [[Fraction(weight) for weight in row] for row in W.tolist()]
    free = np.flatnonzero(codes < 0).tolist()
    rows = [
        [-W[i][j] if i != j else sum(W[i]) + Fraction(gamma_g) for j in free]
        + [sum(W[i][j] for j in range(n) if codes[j] == c) for c in range(n_classes)]
        for i in free
    ]
    m = len(free)
    for k in range(m):
        for i in range(m):
            if i != k and rows[i][k]:
                factor = rows[i][k] / rows[k][k]
                rows[i] = [a - factor * b for a, b in zip(rows[i], rows[k], strict=True)]
    return free, [[value / rows[k][k] for value in rows[k][m:]] for k in range(m)]


@pytest.mark.parametrize("gamma_g", GAMMAS)
@pytest.mark.parametrize("seed", range(8))
def test_solvers_agree_with_rational_arithmetic(seed, gamma_g):
    rng = np.random.default_rng(seed)
    n, low = 12, -23 if seed < 6 else -9
    chain = np.eye(n, k=1, dtype=bool)
    W = symmetric(10 ** rng.uniform(low, 0, (n, n)) * (chain | (rng.random((n, n)) < 0.5)))
    codes = np.full(n, -1)
    codes[rng.permutation(n)[:4]] = [0, 1, 2, rng.integers(3)]
    free, exact = exact_class_mass(W, codes, gamma_g, 3)
    solutions = {s: harmonic_solution(W, codes, gamma_g=gamma_g, solver=s) for s in SOLVERS}
    for vertex, masses in zip(free, exact, strict=True):
        for c, mass in enumerate(masses):
            found = Fraction(solutions["direct"].class_mass[vertex, c])
            assert abs(found - mass) <= mass / 10**10
        best = max(masses)
        if best - sorted(masses)[-2] > best / 10**6:
            for solution in solutions.values():
                assert solution.codes[vertex] == masses.index(best)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("weak", [1e-23, 1e-15, 1e-9])
def test_cluster_connected_by_two_weak_edges_is_solved(solver, weak):
    W = np.zeros((5, 5))
    W[0, 1] = W[0, 2] = W[1, 2] = 1.0
    W[0, 3], W[1, 4] = weak, 2 * weak
    solution = harmonic_solution(symmetric(W), [-1, -1, -1, 0, 1], solver=solver)
    assert solution.converged
    tolerance = 1e-14 + 2 * weak if solver == "direct" else 1e-6
    np.testing.assert_allclose(solution.class_mass[:3], [[1 / 3, 2 / 3]] * 3, rtol=tolerance)


@pytest.mark.parametrize("solver", SOLVERS)
def test_nearest_label_wins_where_masses_underflow(path_graph, solver):
    n = 200
    y = np.full(n, -1)
    labeled = [0, 70, 199]
    y[labeled] = [0, 1, 2]
    solution = harmonic_solution(path_graph(n), y, gamma_g=1e6, solver=solver)
    distance = np.abs(np.arange(n)[:, None] - labeled)
    first, second = np.sort(distance, axis=1)[:, :2].T
    assert solution.class_mass[130].max() == 0
    assert solution.codes.min() == 0
    clear = first < second
    np.testing.assert_array_equal(solution.codes[clear], distance.argmin(axis=1)[clear])


@pytest.mark.parametrize(("n", "gamma_g"), [(5_001, 0.1), (2_401, 1e-3)])
def test_nearest_label_wins_on_long_paths(path_graph, n, gamma_g):
    # In the middle of the longer path, masses underflow; so they do at a vertex that hangs on the
    # shorter one by an edge of 1e-300, which must not disturb the others.
    W = sparse.block_diag([path_graph(n), sparse.csr_array((1, 1))]).tolil()
    W[n, n // 2] = W[n // 2, n] = 1e-300
    y = np.full(n + 1, -1)
    y[[0, n - 1]] = [0, 1]
    codes = harmonic_solution(W, y, gamma_g=gamma_g).codes
    np.testing.assert_array_equal(codes[: n // 2], 0)
    np.testing.assert_array_equal(codes[n // 2 + 1 : n], 1)


@pytest.mark.parametrize("solver", SOLVERS)
def test_mass_that_arrives_by_a_long_way_counts_before_convergence_is_claimed(solver):
    # The label at the far end of a chain of 400 vertices is, at the near end, just likelier than
    # the one that hangs there on a weak edge; walks take more than 3,000 steps on average.
    weights = np.ones(401)
    weights[0] = 1.675e-20
    W = sparse.diags_array([weights, weights], offsets=[-1, 1]).tocsr()
    y = np.full(402, -1)
    y[[0, -1]] = [0, 1]
    solution = harmonic_solution(W, y, gamma_g=0.012, solver=solver)
    assert solution.converged
    np.testing.assert_array_equal(solution.codes[1:], 1)


@pytest.fixture(scope="session")
def system(random_graph):
    """Return the parts of a small system: W and the rates B of two classes and the sink."""
    rng = np.random.default_rng(0)
    B = rng.uniform(0, 1, (25, 3)) * (rng.random((25, 3)) < 0.3)
    B[:, 2] += 0.05
    return sparse.csr_array(random_graph(25, 0)), B


@pytest.mark.parametrize("solver", SOLVERS)
def test_system_is_solved_with_its_certificate(system, solver):
    W, B = system
    solved = HarmonicSystem(W, solver).solve([B], 2)[0]
    s = W.sum(axis=1) + B.sum(axis=1)
    expected = np.linalg.solve(np.diag(s) - W.toarray(), B)
    np.testing.assert_allclose(solved.X, expected, atol=1e-6)
    np.testing.assert_array_equal(solved.best, expected[:, :2].argmax(axis=1))
    residual = np.abs(solved.X - (W @ solved.X + B) / s[:, None]).max()
    assert solved.residual == pytest.approx(residual)
    assert solved.residual < 1e-7
    assert solved.converged
    assert (solved.iterations == 0) == (solver == "direct")


@pytest.mark.parametrize("solver", SOLVERS)
def test_inverse_equals_the_dense_inverse(system, solver):
    W, B = system
    absorption = B.sum(axis=1)
    R = np.random.default_rng(1).normal(size=(25, 3)) * [1.0, 1e-30, 1e30]
    expected = np.linalg.solve(np.diag(W.sum(axis=1) + absorption) - W.toarray(), R)
    found = HarmonicSystem(W, solver).inverse(absorption)(R)
    scale = np.abs(expected).max(axis=0)
    np.testing.assert_allclose(found / scale, expected / scale, atol=1e-7)


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize("tol", [1e-2, 1e-6])
def test_inverse_with_a_tolerance_keeps_it(system, solver, tol):
    W, B = system
    s = W.sum(axis=1) + B.sum(axis=1)
    R = np.random.default_rng(1).uniform(size=(25, 3)) * [1.0, 1e-30, 1e30]
    X = HarmonicSystem(W, solver).inverse(B.sum(axis=1), tol=tol)(R)
    violation = np.abs(X - (W @ X + R) / s[:, None]).max(axis=0)
    assert (violation <= 1.01 * tol * (R / s[:, None]).max(axis=0)).all()
    assert (X >= 0).all()


def test_auto_eliminates_where_the_fill_is_affordable(system, monkeypatch):
    W, B = system
    assert HarmonicSystem(W, "auto").solve([B], 2)[0].solver == "direct"
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 10)
    assert HarmonicSystem(W, "auto").solve([B], 2)[0].solver == "cg"
    assert HarmonicSystem(W, "direct").solve([B], 2)[0].solver == "direct"


def test_direct_beyond_the_memory_raises_and_auto_iterates(path_graph, monkeypatch):
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_fill", 3)
    y = [0, *[-1] * 8, 1]
    message = "`solver`='direct' needs too much memory for this graph of 8 vertices; use solver="
    with pytest.raises(MemoryError, match=message):
        harmonic_solution(path_graph(10), y, solver="direct")
    solution = harmonic_solution(path_graph(10), y, solver="auto")
    assert solution.solver == "cg"
    np.testing.assert_allclose(solution.ell, np.linspace(-1, 1, 10), atol=1e-8)


def test_rows_that_cannot_be_eliminated_are_swept(path_graph, monkeypatch):
    y = [0, *[-1] * 28, 1]
    direct = harmonic_solution(path_graph(30), y, gamma_g=10.0, solver="direct")
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_fill", 1)
    swept = harmonic_solution(path_graph(30), y, gamma_g=10.0, solver="cg")
    assert swept.converged
    np.testing.assert_array_equal(swept.codes, direct.codes)
    np.testing.assert_allclose(swept.class_mass, direct.class_mass, rtol=1e-8)


def test_rows_that_no_solver_can_solve_are_reported(monkeypatch):
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_fill", 1)
    W = np.zeros((6, 6))
    W[:4, :4] = 1.0
    W[0, 4], W[1, 5] = 1e-23, 2e-23
    solution = harmonic_solution(symmetric(W), [-1, -1, -1, -1, 0, 1], solver="cg")
    assert not solution.converged


@pytest.mark.parametrize("solver", SOLVERS)
def test_several_systems_equal_separate_ones(system, solver):
    W, B = system
    systems = [B * factor for factor in (0.01, 0.3, 1.0, 4.0, 50.0)]
    together = HarmonicSystem(W, solver, n_jobs=2).solve(systems, 2)
    for solved, B in zip(together, systems, strict=True):
        alone = HarmonicSystem(W, solver, n_jobs=1).solve([B], 2)[0]
        np.testing.assert_array_equal(solved.X, alone.X)
        assert solved.iterations == alone.iterations


@pytest.mark.parametrize("solver", ["lu", None, ["direct"]], ids=str)
def test_unknown_solver_is_named(path_graph, solver):
    with pytest.raises(ValueError, match=r"`solver` must be one of 'auto', 'direct', 'cg', got"):
        harmonic_solution(path_graph(4), [0, -1, -1, 1], solver=solver)


def test_system_without_vertices_needs_no_solver():
    solved = HarmonicSystem(sparse.csr_array((0, 0)), "auto").solve([np.zeros((0, 3))], 3)[0]
    assert solved.solver == "none"
    assert solved.converged
    assert solved.X.shape == (0, 3)
    assert len(solved.best) == 0


def test_auto_sweeps_where_absorption_is_strong_and_reports_it(system, monkeypatch):
    W, B = system
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 10)
    weak, strong = HarmonicSystem(W, "auto").solve([B, 1e3 * B], 2)
    assert (weak.solver, strong.solver) == ("cg", "gauss-seidel")
    asked = HarmonicSystem(W, "cg").solve([1e3 * B], 2)[0]
    assert asked.solver == "cg"
    np.testing.assert_allclose(asked.X, strong.X, atol=MASS_ERROR)
