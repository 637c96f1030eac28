from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_path, harmonic_solution, normalize_class_mass
from graphmargin.harmonic._solvers.elimination import elimination_order
from graphmargin.harmonic.solution import absorption_probabilities, mean_solution
from tests.harmonic.problems import GAMMAS, SOLVERS, first_labels

PATH = np.array([[0, 1, 0], [1, 0, 3], [0, 3, 0.0]])


@st.composite
def problems(draw, max_classes=3):
    """Draw a connected graph and labels of at least two classes."""
    n = draw(st.integers(4, 12))
    n_classes = draw(st.integers(2, max_classes))
    weights = st.sampled_from([1e-6, 0.1, 1.0, 2.0, 1e3])
    W = np.zeros((n, n))
    for i in range(1, n):
        W[i, draw(st.integers(0, i - 1))] = draw(weights)
    for i, j in draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=9)):
        W[max(i, j), min(i, j)] = draw(weights)
    W = np.tril(W, -1)
    order = draw(st.permutations(range(n)))
    codes = np.full(n, -1)
    codes[order[:n_classes]] = np.arange(n_classes)
    for i in order[n_classes : n_classes + 2]:
        codes[i] = draw(st.integers(-1, n_classes - 1))
    return W + W.T, codes


def binary(codes):
    """Return the paper's y: -1, +1, and 0 on unlabeled vertices."""
    return np.where(codes < 0, 0.0, 2.0 * codes - 1)


# Hard labels.


@given(problem=problems(max_classes=2), gamma_g=st.sampled_from(GAMMAS))
def test_solution_equals_the_closed_form_and_the_random_walk(problem, gamma_g):
    W, codes = problem
    solution = harmonic_solution(W, codes, gamma_g=gamma_g)
    ell, labeled = solution.ell, codes >= 0
    u = np.ix_(~labeled, ~labeled)
    ul = np.ix_(~labeled, labeled)
    y = binary(codes)[labeled]
    D = np.diag(W.sum(axis=1) + gamma_g)
    P = W / np.diag(D)[:, None]
    closed_form = np.linalg.solve(D[u] - W[u], W[ul] @ y)
    random_walk = np.linalg.solve(np.eye((~labeled).sum()) - P[u], P[ul] @ y)
    np.testing.assert_array_equal(ell[labeled], y)
    np.testing.assert_allclose(ell[~labeled], closed_form, atol=1e-5)
    np.testing.assert_allclose(ell[~labeled], random_walk, atol=1e-5)
    np.testing.assert_array_equal(solution.confidence, np.abs(ell))
    np.testing.assert_array_equal(solution.codes[ell != 0], ell[ell != 0] > 0)


@given(problem=problems())
def test_hard_solution_is_harmonic_and_between_its_neighbors(problem):
    W, codes = problem
    mass = harmonic_solution(W, codes).class_mass
    for i in np.flatnonzero(codes < 0):
        mean = W[i] @ mass / W[i].sum()
        np.testing.assert_allclose(mass[i], mean, rtol=1e-12, atol=1e-15)
        neighbors = mass[W[i] > 0]
        assert (mass[i] >= neighbors.min(axis=0) - 1e-12).all()
        assert (mass[i] <= neighbors.max(axis=0) + 1e-12).all()


def test_path_of_four_vertices_is_that_computed_by_hand(path_graph):
    solution = harmonic_solution(path_graph(4), ["no", "", "", "yes"])
    np.testing.assert_allclose(solution.ell, [-1, -1 / 3, 1 / 3, 1])
    assert solution.labels.tolist() == ["no", "no", "yes", "yes"]
    assert solution.classes.tolist() == ["no", "yes"]
    assert solution.solver == "direct"
    assert solution.converged


def test_confidence_is_best_minus_second_best(random_graph):
    codes = first_labels(20, [0, 1, 2, 3])
    solution = harmonic_solution(random_graph(20, 0), codes, gamma_g=0.1)
    ranked = np.sort(solution.class_mass, axis=1)
    np.testing.assert_allclose(solution.confidence, ranked[:, -1] - ranked[:, -2], rtol=1e-12)
    with pytest.raises(ValueError, match="`ell` is defined for two classes, got 4"):
        _ = solution.ell


# The regularized solution.


@given(problem=problems(), gamma_g=st.just(0.0) | st.floats(0, 1e6))
def test_class_masses_and_sink_sum_to_one(problem, gamma_g):
    solution = harmonic_solution(*problem, gamma_g=gamma_g)
    assert (solution.class_mass >= 0).all()
    assert (solution.sink_mass >= 0).all()
    total = solution.class_mass.sum(axis=1) + solution.sink_mass
    np.testing.assert_allclose(total, 1, rtol=1e-12)
    np.testing.assert_allclose(solution.label_distributions.sum(axis=1), 1, rtol=1e-12)
    spread = solution.label_distributions - solution.class_mass
    np.testing.assert_allclose(spread, spread[:, :1] * np.ones(spread.shape[1]), atol=1e-12)
    assert (solution.confidence <= 1 - solution.sink_mass + 1e-12).all()
    labeled = problem[1] >= 0
    np.testing.assert_array_equal(solution.codes[labeled], problem[1][labeled])
    if gamma_g == 0:
        np.testing.assert_allclose(solution.sink_mass, 0, atol=1e-12)


def test_confidence_decreases_with_gamma_g_except_where_labels_were_balanced():
    # Vertex 0 is next to one label and two steps from the other, on edges that balance them.
    W = np.zeros((4, 4))
    W[0, 2], W[0, 1], W[1, 3] = 0.5, 1.0, 1.0
    path = harmonic_path(W + W.T, [-1, -1, 0, 1], [0.0, 0.1, 1.0, 10.0, 1e3, 1e6])
    middle, next_to_label = np.array([solution.confidence[:2] for solution in path]).T
    assert middle[0] == pytest.approx(0, abs=1e-15)
    assert middle[2] == pytest.approx(1 / 13)
    assert (np.diff(next_to_label) < 0).all()
    assert max(middle[-1], next_to_label[-1]) < 2e-6


def test_infinite_gamma_leaves_the_hard_labels_only(random_graph):
    codes = first_labels(10, [0, 1, 2])
    solution = harmonic_solution(random_graph(10, 0), codes, gamma_g=np.inf)
    np.testing.assert_array_equal(solution.class_mass[:3], np.eye(3))
    assert (solution.class_mass[3:] == 0).all()
    assert solution.sink_mass.tolist() == [0, 0, 0] + [1] * 7
    np.testing.assert_array_equal(solution.codes, codes)
    assert solution.solver == "none"
    assert solution.status == "solved (none, violation 0.0e+00)"
    soft = harmonic_solution(random_graph(10, 0), codes, c_labeled=5.0, gamma_g=np.inf)
    assert (soft.class_mass == 0).all()
    assert (soft.sink_mass == 1).all()
    assert (soft.codes == -1).all()


# Soft labels.


trusts = st.sampled_from([np.inf, 1e-3, 0.5, 3.0, 100.0])


@given(
    problem=problems(),
    trust=trusts | st.lists(trusts | st.just(0.0), min_size=12, max_size=12),
    c_unlabeled=st.sampled_from([0.0, 0.2, 5.0]),
    gamma_g=st.sampled_from([0.0, 1e-3, 2.0]),
)
def test_soft_masses_equal_the_dense_solution(
    dense_class_mass, problem, trust, c_unlabeled, gamma_g
):
    """Every label may have its own trust, and that of unlabeled vertices is not read."""
    W, codes = problem
    if isinstance(trust, list):
        trust = np.where(codes >= 0, trust[: len(codes)], np.nan)
        trust[codes.argmax()] = 1.0
    options = {"gamma_g": gamma_g, "c_labeled": trust, "c_unlabeled": c_unlabeled}
    solution = harmonic_solution(W, codes, **options)
    expected = dense_class_mass(W, codes, codes.max() + 1, **options)
    np.testing.assert_allclose(solution.class_mass, expected, atol=1e-8)
    assert (solution.class_mass >= 0).all()
    np.testing.assert_allclose(solution.class_mass.sum(axis=1) + solution.sink_mass, 1)


def test_soft_solution_on_a_pair_is_that_computed_by_hand():
    # 4 p = 2 + q and 4 q = p: p and q are the masses of the own and the other label.
    solution = harmonic_solution([[0, 1.0], [1.0, 0]], [0, 1], c_labeled=2.0, gamma_g=1.0)
    np.testing.assert_allclose(solution.class_mass, [[8 / 15, 2 / 15], [2 / 15, 8 / 15]])
    np.testing.assert_allclose(solution.sink_mass, 1 / 3)


# Symmetries.


@given(problem=problems(), gamma_g=st.sampled_from(GAMMAS))
def test_one_class_against_the_rest_equals_the_column_of_many(problem, gamma_g):
    W, codes = problem
    many = harmonic_solution(W, codes, gamma_g=gamma_g)
    for c in range(codes.max() + 1):
        against = np.where(codes < 0, -1, codes == c)
        one = harmonic_solution(W, against, gamma_g=gamma_g)
        np.testing.assert_allclose(one.class_mass[:, 1], many.class_mass[:, c], rtol=1e-10)


@given(problem=problems(), gamma_g=st.sampled_from(GAMMAS), data=st.data())
def test_permuting_the_graph_permutes_the_solution(problem, gamma_g, data):
    W, codes = problem
    order = np.array(data.draw(st.permutations(range(len(W)))))
    plain = harmonic_solution(W, codes, gamma_g=gamma_g)
    permuted = harmonic_solution(W[np.ix_(order, order)], codes[order], gamma_g=gamma_g)
    np.testing.assert_allclose(permuted.class_mass, plain.class_mass[order], rtol=1e-10)


@given(problem=problems(), scale=st.sampled_from([1e-100, 1e-3, 1e3, 1e100]))
def test_scale_of_the_weights_does_not_matter(problem, scale):
    W, codes = problem
    plain, scaled = harmonic_solution(W, codes), harmonic_solution(W * scale, codes)
    np.testing.assert_allclose(scaled.class_mass, plain.class_mass, rtol=1e-10)


# Status.


@pytest.mark.parametrize("gamma_g", [0.0, 1.0])
def test_components_without_labels_are_reported(path_graph, gamma_g):
    W = sparse.block_diag([path_graph(4), path_graph(3), sparse.csr_array((1, 1))])
    y = [0, -1, -1, 1, -1, -1, -1, -1]
    solution = harmonic_solution(W, y, gamma_g=gamma_g)
    assert solution.unreached.tolist() == [False] * 4 + [True] * 4
    assert (solution.sink_mass[4:] == 1).all()
    assert (solution.class_mass[4:] == 0).all()
    assert (solution.confidence[4:] == 0).all()
    assert solution.labels.tolist() == [0, 0, 1, 1, -1, -1, -1, -1]
    assert solution.n_unreached_components == 2
    assert "4 vertices in 2 components without a label" in solution.status


def test_status_names_the_solver_and_its_iterations(random_graph):
    W, codes = random_graph(15, 0), np.where(np.arange(15) < 4, np.arange(15) % 2, -1)
    assert harmonic_solution(W, codes).status.startswith("solved (direct, violation ")
    iterated = harmonic_solution(W, codes, solver="cg")
    assert iterated.status.startswith(f"converged in {iterated.iterations} iterations (cg, ")
    assert "without a label" not in iterated.status
    stopped = replace(iterated, converged=False)
    assert stopped.status.startswith(f"stopped after {iterated.iterations} iterations without conv")


def test_all_labeled_needs_no_solver():
    solution = harmonic_solution(PATH, [0, 1, 1])
    assert solution.solver == "none"
    np.testing.assert_array_equal(solution.class_mass, [[1, 0], [0, 1], [0, 1]])


@pytest.mark.parametrize("solver", SOLVERS)
def test_progress_is_reported(random_graph, solver):
    messages = []
    codes = np.where(np.arange(15) < 4, np.arange(15) % 2, -1)
    solution = harmonic_solution(
        random_graph(15, 0), codes, solver=solver, progress=lambda *news: messages.append(news)
    )
    assert len(messages) >= max(solution.iterations, 1)
    assert all(share is None or 0 <= share <= 1 for share, _ in messages)


# The path of gamma_g.


@pytest.mark.parametrize("solver", SOLVERS)
def test_path_equals_separate_solutions(solver):
    rng = np.random.default_rng(0)
    W = knn_graph(rng.normal(size=(200, 4)), 6)
    codes = np.where(np.arange(200) < 12, np.arange(200) % 3, -1)
    gammas = [1.0, 0.0, np.inf, 1e-3, 1e-2, 1e3, 0.0]
    path = harmonic_path(W, codes, gammas, solver=solver)
    assert [solution.gamma_g for solution in path] == gammas
    for solution, gamma_g in zip(path, gammas, strict=True):
        alone = harmonic_solution(W, codes, gamma_g=gamma_g, solver=solver)
        tolerance = {"rtol": 1e-12} if solver == "direct" else {"atol": 1e-5}
        np.testing.assert_allclose(solution.class_mass, alone.class_mass, **tolerance)
        np.testing.assert_allclose(solution.sink_mass, alone.sink_mass, atol=1e-5)
        np.testing.assert_array_equal(solution.codes, alone.codes)
        assert solution.converged
        assert solution.solver == alone.solver


def test_every_gamma_of_the_path_is_checked():
    with pytest.raises(ValueError, match=r"`gamma_g` must be >= 0, got -1.0"):
        harmonic_path(PATH, [0, -1, 1], [0.0, -1.0])
    assert harmonic_path(PATH, [0, -1, 1], []) == []


# Explanations.


def explained(W, codes, **options):
    solution = harmonic_solution(W, codes, **options)
    return solution, [solution.explain(vertex) for vertex in range(len(codes))]


@pytest.mark.parametrize("solver", SOLVERS)
@pytest.mark.parametrize(
    "options",
    [
        pytest.param({}, id="hard"),
        pytest.param({"gamma_g": 0.3}, id="regularized"),
        pytest.param({"gamma_g": 0.1, "c_labeled": 2.0}, id="soft"),
        pytest.param({"c_labeled": 2.0, "c_unlabeled": 0.4}, id="pulled"),
        pytest.param(
            {"gamma_g": 0.1, "c_labeled": [np.inf, 1.0, 0.0, np.inf, 3.0, 0.5] + [0] * 14},
            id="mixed",
        ),
    ],
)
def test_shares_explain_the_solution(random_graph, solver, options):
    codes = first_labels(20, [0, 1, 2, 0, 1, 2])
    solution, explanations = explained(random_graph(20, 1), codes, solver=solver, **options)
    for vertex, explanation in enumerate(explanations):
        assert explanation.vertex == vertex
        assert explanation.label == solution.labels[vertex]
        assert explanation.confidence == pytest.approx(solution.confidence[vertex])
        assert (explanation.shares > 0).all()
        assert (np.diff(explanation.shares) <= 0).all()
        assert explanation.shares.sum() + explanation.sink_mass == pytest.approx(1, abs=1e-5)
        np.testing.assert_array_equal(explanation.source_labels, codes[explanation.sources])
        by_class = np.bincount(explanation.source_labels, explanation.shares, minlength=3)
        np.testing.assert_allclose(by_class, solution.class_mass[vertex], atol=1e-5)


def test_share_is_the_mass_of_a_class_of_its_own(random_graph):
    codes = first_labels(14, [0, 1, 0, 1])
    shares = absorption_probabilities(
        harmonic_solution(random_graph(14, 2), codes, gamma_g=0.2), np.arange(14)
    )
    own_class = np.where(codes >= 0, np.arange(14), -1)
    expected = harmonic_solution(random_graph(14, 2), own_class, gamma_g=0.2).class_mass
    np.testing.assert_allclose(shares, expected, rtol=1e-10)


def test_explanation_prints_the_largest_shares():
    W = np.zeros((9, 9))
    W[0, 1:] = W[1:, 0] = [8, 7, 6, 5, 4, 3, 2, 1]
    solution = harmonic_solution(W, ["", *"abababab"])
    assert str(solution.explain(0)) == (
        "vertex 0 -> 'a' (confidence 0.111): 22.2% from vertex 1 ('a'), 19.4% from vertex 2 ('b'), "
        "16.7% from vertex 3 ('a'), 13.9% from vertex 4 ('b'), 11.1% from vertex 5 ('a'), "
        "16.7% from 3 more"
    )
    regularized = harmonic_solution(PATH, [0, -1, 1], gamma_g=4.0)
    assert str(regularized.explain(1)) == (
        "vertex 1 -> '1' (confidence 0.250): 37.5% from vertex 2 ('1'), 12.5% from vertex 0 ('0'), "
        "50.0% into the sink"
    )


@pytest.mark.parametrize("gamma_g", [2.0, np.inf])
def test_hard_label_explains_itself(path_graph, gamma_g):
    explanation = harmonic_solution(path_graph(4), [0, -1, -1, 1], gamma_g=gamma_g).explain(3)
    assert explanation.sources.tolist() == [3]
    assert explanation.shares.tolist() == [1.0]
    assert explanation.sink_mass == 0
    assert explanation.confidence == 1


def test_soft_label_is_explained_by_others_too():
    explanation = harmonic_solution([[0, 1.0], [1.0, 0]], [0, 1], c_labeled=2.0).explain(0)
    assert explanation.sources.tolist() == [0, 1]
    np.testing.assert_allclose(explanation.shares, [3 / 4, 1 / 4])


@pytest.mark.parametrize("gamma_g", [0.0, 1.0, np.inf])
def test_unreached_vertex_has_no_sources(path_graph, gamma_g):
    W = sparse.block_diag([path_graph(3), path_graph(2)])
    explanation = harmonic_solution(W, [0, -1, 1, -1, -1], gamma_g=gamma_g).explain(4)
    assert len(explanation.sources) == 0
    assert explanation.sink_mass == 1
    assert explanation.label == -1
    assert "vertex 4 -> '-1' (confidence 0.000): 100.0% into the sink" in str(explanation)


@pytest.mark.parametrize("solver", SOLVERS)
def test_absorption_probabilities_of_several_vertices(random_graph, solver):
    codes = np.full(16, -1)
    codes[[2, 5, 11]] = [0, 1, 0]
    W = sparse.block_diag([random_graph(16, 3), random_graph(4, 0)])
    solution = harmonic_solution(W, np.append(codes, [-1] * 4), gamma_g=0.1, solver=solver)
    vertices = [7, 2, 18, 7, 0, 11]
    shares = absorption_probabilities(solution, vertices)
    assert shares.shape == (6, 3)
    assert (shares >= 0).all()
    one_hot = np.array([[1, 0], [0, 1], [1, 0]])
    np.testing.assert_allclose(shares @ one_hot, solution.class_mass[vertices], atol=1e-5)
    np.testing.assert_array_equal(shares[0], shares[3])
    np.testing.assert_array_equal(shares[1], [1, 0, 0])
    np.testing.assert_array_equal(shares[2], [0, 0, 0])


@pytest.mark.parametrize("solver", SOLVERS)
def test_cluster_on_weak_edges_is_explained(solver):
    W = np.zeros((5, 5))
    W[0, 1] = W[0, 2] = W[1, 2] = 1.0
    W[0, 3], W[1, 4] = 1e-23, 2e-23
    solution = harmonic_solution(W + W.T, [-1, -1, -1, 0, 1], solver=solver)
    shares = absorption_probabilities(solution, [0, 1, 2])
    np.testing.assert_allclose(shares, [[1 / 3, 2 / 3]] * 3, rtol=1e-6)


@pytest.mark.parametrize("solver", [*SOLVERS, "auto"])
def test_tiny_masses_are_explained(path_graph, monkeypatch, solver):
    if solver == "auto":  # where the fill is too large to eliminate
        monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 1)
    y = np.full(31, -1)
    y[[0, 30]] = [0, 1]
    solution = harmonic_solution(path_graph(31), y, gamma_g=100.0, solver=solver)
    assert solution.solver == ("gauss-seidel" if solver == "auto" else solver)
    explanation = solution.explain(12)
    assert 0 < solution.class_mass[12, 1] < 1e-30
    assert explanation.sources.tolist() == [0, 30]
    np.testing.assert_allclose(explanation.shares, solution.class_mass[12], rtol=1e-6)


@pytest.mark.parametrize("vertex", [3, -1, 100])
def test_vertex_out_of_range_is_refused(vertex):
    solution = harmonic_solution(PATH, [0, -1, 1])
    with pytest.raises(ValueError, match=rf"`vertex` must be in 0..2, got {vertex}"):
        solution.explain(vertex)


# Class mass normalization.


@pytest.mark.parametrize("gamma_g", [0.0, 0.3])
@pytest.mark.parametrize("priors", [None, [0.5, 0.3, 0.2], [1, 10, 4]])
def test_class_masses_are_scaled_to_the_priors(random_graph, gamma_g, priors):
    codes = first_labels(30, [0, 0, 0, 1, 1, 2])
    solution = harmonic_solution(random_graph(30, 0), codes, gamma_g=gamma_g)
    found = normalize_class_mass(solution, priors)
    target = np.array([3, 2, 1]) if priors is None else np.array(priors)
    mass = solution.class_mass[6:]
    scaled = mass * target / mass.sum(axis=0)
    np.testing.assert_allclose(scaled.sum(axis=0), target)
    total = mass.sum(axis=1, keepdims=True)
    expected = scaled * total / scaled.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(found.class_mass[6:], expected, rtol=1e-12)
    np.testing.assert_allclose(found.class_mass[6:].sum(axis=1), total[:, 0], rtol=1e-12)
    np.testing.assert_array_equal(found.class_mass[:6], solution.class_mass[:6])
    np.testing.assert_array_equal(found.sink_mass, solution.sink_mass)
    np.testing.assert_array_equal(found.codes[:6], codes[:6])
    np.testing.assert_array_equal(found.codes[6:], expected.argmax(axis=1))


def test_normalization_leaves_vertices_without_mass_alone(path_graph):
    W = sparse.block_diag([path_graph(4), path_graph(2)])
    solution = harmonic_solution(W, [0, -1, -1, 1, -1, -1])
    normalized = normalize_class_mass(solution, [1, 3])
    assert np.isfinite(normalized.class_mass).all()
    assert normalized.codes[4:].tolist() == [-1, -1]
    assert (normalized.class_mass[4:] == 0).all()
    infinite = harmonic_solution(W, [0, -1, -1, 1, -1, -1], gamma_g=np.inf)
    np.testing.assert_array_equal(normalize_class_mass(infinite).codes, infinite.codes)
    np.testing.assert_array_equal(normalize_class_mass(infinite).class_mass, infinite.class_mass)


def test_class_that_reaches_no_unlabeled_vertex_stays_at_zero(path_graph):
    W = sparse.block_diag([path_graph(3), sparse.csr_array((1, 1))])
    normalized = normalize_class_mass(harmonic_solution(W, [0, -1, 1, 2]))
    np.testing.assert_allclose(normalized.class_mass[1], [0.5, 0.5, 0])


@pytest.mark.parametrize(
    "priors", [[0.5, 0.5], [1, 2, 0], [1, 2, -1], [1, 2, np.nan], [1, 2, np.inf], 1.0, [[1, 2, 3]]]
)
def test_bad_priors_are_refused(random_graph, priors):
    codes = np.where(np.arange(9) < 3, np.arange(9), -1)
    solution = harmonic_solution(random_graph(9, 0), codes)
    with pytest.raises(ValueError, match="`priors` must hold 3 positive numbers, one for each cla"):
        normalize_class_mass(solution, priors)


# Little trust in the labels: Poisson learning (Calder, Cook, Thorpe, Slepcev 2020).


def poisson_learning(W, codes, counts):
    """Solve L u = sum_j (y_j - mean of y) delta_j with sum u = 0, y_j one-hot; return u."""
    labeled = (codes >= 0).astype(float)
    one_hot = (codes[:, None] == np.arange(len(counts))).astype(float)
    sources = one_hot - labeled[:, None] * (counts / counts.sum())
    return np.linalg.pinv(np.diag(W.sum(axis=1)) - W) @ sources


@pytest.mark.parametrize(
    "counts", [[1, 1], [2, 2], [1, 1, 1], [2, 2, 2], [1, 2], [3, 1, 2]], ids=str
)
def test_little_trust_adds_poisson_learning_to_the_class_shares(random_graph, counts):
    """Masses are n_k / n_l + c (u_k - mean of u_k over the labels) + O(c^2).

    With even priors, normalized masses are proportional to 1 + c n_l u_k / n_k + O(c^2).
    That is the arg max of u_k / n_k: Poisson learning with its correction for even priors. With
    the class shares of the labels as priors they are n_k + c n_l u_k: the arg max of u_k where all
    classes have as many labels, and the class with the most labels everywhere else.
    """
    counts, trust = np.array(counts), 1e-6
    codes = np.append(np.repeat(np.arange(len(counts)), counts), [-1] * (30 - counts.sum()))
    for seed in range(10):
        W = random_graph(30, seed)
        u = poisson_learning(W, codes, counts)
        solution = harmonic_solution(W, codes, c_labeled=trust)
        np.testing.assert_allclose(
            (solution.class_mass - counts / counts.sum()) / trust,
            u - u[codes >= 0].mean(axis=0),
            atol=1e-4 * np.ptp(u),
        )
        even = normalize_class_mass(solution, np.ones(len(counts)))
        np.testing.assert_array_equal(even.codes, (u / counts).argmax(axis=1))
        assert len(np.unique(even.codes)) == len(counts)
        by_labels = normalize_class_mass(solution).codes
        if len(set(counts)) == 1:
            np.testing.assert_array_equal(by_labels, u.argmax(axis=1))
        else:
            np.testing.assert_array_equal(by_labels, counts.argmax())


# Means of solutions.


@given(problem=problems(), normalized=st.booleans())
def test_mean_solution_is_the_mean_and_holds_probabilities(problem, normalized):
    W, codes = problem
    solutions = harmonic_path(W, codes, [0.01, 1.0, 0.0])
    if normalized:
        solutions[1] = normalize_class_mass(solutions[1])
    shares = np.array([0.5, 0.2, 0.3])
    mean = mean_solution(solutions, shares)
    mass = 0.5 * solutions[0].class_mass + 0.2 * solutions[1].class_mass
    mass += 0.3 * solutions[2].class_mass
    np.testing.assert_allclose(mean.class_mass, mass, rtol=1e-12)
    np.testing.assert_allclose(mean.class_mass.sum(axis=1) + mean.sink_mass, 1.0)
    np.testing.assert_allclose(mean.label_distributions.sum(axis=1), 1.0)
    assert min(mean.class_mass.min(), mean.sink_mass.min()) >= 0
    np.testing.assert_array_equal(mean.codes, mean.class_mass.argmax(axis=1))
    np.testing.assert_array_equal(mean.codes[codes >= 0], codes[codes >= 0])
    assert mean.gamma_g == solutions[0].gamma_g
    np.testing.assert_array_equal(mean_solution(solutions[:1], [1.0]).codes, solutions[0].codes)


def test_mean_solution_keeps_unreached_vertices_unlabeled(path_graph):
    W = sparse.block_diag([path_graph(4), path_graph(3)])
    mean = mean_solution(harmonic_path(W, [0, -1, -1, 1, -1, -1, -1], [0.1, np.inf]), [0.5, 0.5])
    assert mean.codes[4:].tolist() == [-1, -1, -1]
    assert mean.sink_mass[4:].tolist() == [1.0, 1.0, 1.0]
    assert mean.unreached.tolist() == [False] * 4 + [True] * 3
