"""Training data: graphs, kernels, trial rows and solutions, each computed once; and samples."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.graph import knn_graph
from graphmargin.harmonic import harmonic_solution, normalize_class_mass
from graphmargin.harmonic._solvers.elimination import elimination_order
from graphmargin.harmonic.solution import solve_path
from graphmargin.margin import Kernel
from graphmargin.search import data as module
from graphmargin.search.data import normalize_to_shares, sample_rows
from graphmargin.search.execution import Execution
from graphmargin.search.held_out import HeldOutLabels
from graphmargin.search.member import View
from graphmargin.search.parameters import GraphParameters, KernelParameters, WalkParameters
from tests.search.problems import clusters, data_of, folds_of, without

WALK = WalkParameters(GraphParameters(5))
GIVEN = WalkParameters(None)


@pytest.fixture
def counted(monkeypatch):
    """Return a function that counts the calls of a function of the module."""

    def count(name):
        calls, function = [], getattr(module, name)

        def call(*arguments, **options):
            calls.append(arguments)
            return function(*arguments, **options)

        monkeypatch.setattr(module, name, call)
        return calls

    return count


# Graphs and kernels


@pytest.mark.parametrize("n_neighbors", [4, 6])
@pytest.mark.parametrize("width", ["paper", 3.0])
@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
def test_graph_is_that_of_its_parameters(n_neighbors, width, metric):
    X, y = clusters()
    X = X + 1
    rows = X / np.linalg.norm(X, axis=1, keepdims=True) if metric == "cosine" else X
    graph = data_of(X, y).graph(GraphParameters(n_neighbors, width, metric))
    expected = knn_graph(rows, n_neighbors, width=width)
    np.testing.assert_allclose(graph.W.toarray(), expected.toarray(), rtol=1e-9)
    assert graph.recall == 1.0


@pytest.mark.parametrize("metric", ["euclidean", "cosine"])
@pytest.mark.parametrize("width", ["paper", 3.0])
def test_kernel_has_the_width_of_the_rows_or_a_number(width, metric):
    """The graph of the cosine metric has another width than the kernel."""
    X, y = clusters()
    data, parameters = data_of(X + 1, y), KernelParameters(Kernel("poly", degree=2), width)
    expected = 3.0 if width == 3.0 else np.sqrt(2) * X.std(axis=0).mean()
    for graph in (None, GraphParameters(5, width, metric), GraphParameters(5, 9.0)):
        kernel = data.kernel(parameters, graph)
        assert kernel.width == pytest.approx(expected, rel=1e-12)
        assert (kernel.kind, kernel.degree) == ("poly", 2)


def test_graph_is_built_once_for_all_walks_and_kernels(counted):
    X, y = clusters()
    built, data = counted("neighbor_graph"), data_of(X, y)
    for n_neighbors in (4, 6):
        graph = GraphParameters(n_neighbors)
        walks = [WalkParameters(graph, trust, c) for trust in (np.inf, 2.0) for c in (0.0, 0.1)]
        problems = [data.problem(walk) for walk in walks]
        kernels = [data.kernel(KernelParameters(Kernel(kind)), graph) for kind in ("rbf", "linear")]
        assert len({id(problem) for problem in problems}) == 4
        assert all(problem.W is data.graph(graph).W for problem in problems)
        assert {kernel.width for kernel in kernels} == {data.graph(graph).width}
    assert len(built) == 2


def test_equal_walks_share_their_problem():
    X, y = clusters()
    data, trust = data_of(X, y), np.linspace(1, 2, 60)
    soft = data.problem(replace(WALK, c_labeled=trust))
    assert data.problem(replace(WALK, c_labeled=trust.copy())) is soft
    assert data.problem(replace(WALK, c_labeled=2 * trust)) is not soft
    assert data.problem(WALK).hard.any()
    assert not soft.hard.any()


def test_given_graph_has_no_points():
    X, y = clusters(n=10)
    data = data_of(X, y, W=np.ones((10, 10)))
    assert data.graph(None) is None
    np.testing.assert_array_equal(data.problem(GIVEN).W.toarray(), np.ones((10, 10)) - np.eye(10))
    assert (data.trial(GIVEN).graph, data.trial(GIVEN).problem) == (None, data.problem(GIVEN))


def test_labels_are_counted_by_class():
    data = data_of(*clusters(3, n_labeled=2))
    assert data.n_classes == 3
    assert data.label_counts.tolist() == [2, 2, 2]


# Views


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_view_multiplies_features_of_training_and_validation_rows(container):
    X, y = clusters(n=20)
    new, codes = clusters(n=8, n_labeled=4, seed=1)
    view = View("light", np.array([1.0, 0.25]))
    data = data_of(container(X), y, HeldOutLabels((), (container(new), codes)))
    seen = data.under(view)
    rows, same = seen.held_out.validation
    for product, expected in ((seen.X, X), (rows, new)):
        assert sparse.issparse(product) == sparse.issparse(data.X)
        dense = product.toarray() if sparse.issparse(product) else product
        np.testing.assert_array_equal(dense, expected * view.factors)
    assert same is codes
    assert seen.labels is data.labels
    np.testing.assert_array_equal(data_of(X, y).under(view).X, X * view.factors)


def test_members_under_the_same_view_share_what_is_computed(counted):
    built, data = counted("neighbor_graph"), data_of(*clusters())
    light, heavy = (View("light", np.full(2, factor)) for factor in (0.5, 2.0))
    assert data.under(View()) is data
    assert data.under(light) is data.under(light)
    problems = [data.under(view).problem(WALK) for view in (View(), light, light, heavy, View())]
    assert len({id(problem) for problem in problems}) == len(built) == 3


def test_view_of_which_no_member_is_left_is_not_mistaken_for_another():
    data = data_of(*clusters())
    for factor in range(20):
        seen = data.under(View("passing", np.full(2, float(factor))))
        np.testing.assert_array_equal(seen.X, factor * data.X)


# Trial rows


def test_few_rows_are_all_tried_and_learned_from():
    X, y = clusters(3)
    held_out = folds_of(y)
    for walk in (None, WALK):
        data = data_of(X, y, held_out)
        trial = data.trial(walk)
        assert data.trial(walk) is trial
        np.testing.assert_array_equal(trial.numbers, np.arange(60))
        np.testing.assert_array_equal(trial.learned, np.arange(60))
        np.testing.assert_array_equal(trial.factors, 1.0)
        assert [fold.tolist() for fold in trial.folds] == [fold.tolist() for fold in held_out.folds]
        assert (trial.problem is None) == (walk is None)


@pytest.mark.parametrize("trust", [np.inf, 5.0, np.linspace(1, 5, 120)], ids=["hard", "5", "array"])
def test_many_rows_are_sampled_with_a_graph_of_their_own(monkeypatch, trust):
    monkeypatch.setattr(module, "MAX_TRIAL_ROWS", 60)
    monkeypatch.setattr(module, "MAX_ELIMINATED_ROWS", 60)
    X, y = clusters(3, n=120)
    held_out = folds_of(y, 4)
    trial = data_of(X, y, held_out).trial(replace(WALK, c_labeled=trust))
    rows = trial.numbers
    assert len(rows) == 60 + 12
    np.testing.assert_array_equal(trial.X, X[rows])
    np.testing.assert_array_equal(trial.labels.codes, y[rows])
    np.testing.assert_array_equal(trial.graph.W.toarray(), knn_graph(X[rows]).toarray())
    for fold, all_rows in zip(trial.folds, held_out.folds, strict=True):
        np.testing.assert_array_equal(rows[fold], all_rows)
    soft = trust[rows] if np.ndim(trust) else trust
    expected = harmonic_solution(knn_graph(X[rows]), y[rows], gamma_g=0.1, c_labeled=soft)
    (solution,) = solve_path(trial.problem, [0.1])
    np.testing.assert_allclose(solution.class_mass, expected.class_mass, atol=1e-9)
    # Few edges of a given graph would be left in a sample.
    assert len(data_of(X, y, held_out, knn_graph(X)).trial(GIVEN).numbers) == 120
    assert len(data_of(X, y, held_out).trial().numbers) == 120


def test_graph_with_little_fill_may_have_more_rows_in_trials(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRIAL_ROWS", 60)
    X, y = clusters(3, n=120)

    def n_rows():
        return len(data_of(X, y, folds_of(y, 4)).trial(WALK).numbers)

    assert n_rows() == 120
    monkeypatch.setattr(module, "MAX_ELIMINATED_ROWS", 80)
    assert n_rows() == 92
    monkeypatch.setitem(elimination_order.__kwdefaults__, "max_flops", 10)
    assert n_rows() == 72


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), max_labeled=st.integers(1, 80), max_unlabeled=st.integers(1, 40))
def test_sample_keeps_all_classes_and_represents_all_rows(seed, max_labeled, max_unlabeled):
    rng = np.random.default_rng(seed)
    codes = rng.choice([-1, 0, 1, 2], size=120, p=[0.3, 0.4, 0.2, 0.1])
    codes[:3] = [0, 1, 2]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "MAX_LABELED", max_labeled)
        patch.setattr(module, "MAX_UNLABELED", max_unlabeled)
        patch.setattr(module, "N_SAMPLED", 10)
        patch.setattr(module, "N_SAMPLED_PER_CLASS", 5)
        rows, factors = sample_rows(codes, np.random.RandomState(seed % 1000))
    assert (np.diff(rows) > 0).all()
    n_labeled = (codes >= 0).sum()
    assert (codes[rows] >= 0).sum() == min(n_labeled, max(max_labeled, 30))
    n_unlabeled = 120 - n_labeled
    sampled = n_unlabeled if n_unlabeled <= max_unlabeled else min(max_unlabeled, 15)
    assert (codes[rows] < 0).sum() == sampled
    sizes = np.bincount(codes[codes >= 0])
    assert (np.bincount(codes[rows][codes[rows] >= 0]) >= np.minimum(sizes, 10)).all()
    for code in np.unique(codes):
        assert factors[codes[rows] == code].sum() == pytest.approx((codes == code).sum())


def test_samples_depend_on_the_seed(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRIAL_ROWS", 30)
    monkeypatch.setattr(module, "MAX_ELIMINATED_ROWS", 30)
    X, y = clusters(n=90)
    first, again, other = (
        data_of(X, y, folds_of(y), execution=Execution(1, seed)).trial(WALK).numbers.tolist()
        for seed in (0, 0, 1)
    )
    assert first == again
    assert first != other


# Solutions


@pytest.mark.parametrize("soft", [{}, {"c_labeled": 2.0, "c_unlabeled": 0.1}], ids=str)
def test_induced_folds_are_solutions_without_the_held_out_labels(soft):
    X, y = clusters(3, n=40)
    walk, held_out, shares = WalkParameters(WALK.graph, **soft), folds_of(y), (1.0, 2.0, 3.0)
    data, keys = data_of(X, y, held_out), [(0.1, False), (1.0, False), (0.1, shares)]
    induced = data.induced_folds(walk, keys)
    hits = {0.1: 0, 1.0: 0}
    for k, fold in enumerate((np.zeros(0, dtype=int), *held_out.folds)):
        for gamma_g, normalized in keys:
            solution = harmonic_solution(knn_graph(X), without(y, fold), gamma_g=gamma_g, **soft)
            P = solution.label_distributions
            hits[gamma_g] += 0 if normalized else int((solution.codes[fold] == y[fold]).sum())
            if normalized:
                solution = normalize_class_mass(solution, shares)
            result = induced[gamma_g, normalized]
            np.testing.assert_array_equal(result.codes[k], solution.codes)
            np.testing.assert_allclose(result.confidence[k], solution.confidence, atol=1e-6)
            mass = solution.class_mass[fold]
            np.testing.assert_allclose(result.held_out_mass[k], mass, atol=1e-6)
            np.testing.assert_allclose(result.held_out_distributions[k], P[fold], atol=1e-6)
    assert data.held_out_hits(walk) == hits


def test_folds_are_solved_once_for_each_walk_and_gamma_g(counted):
    """Members ask for the same solutions, or for some that others did not need."""
    X, y = clusters()
    solved, data = counted("fold_solutions"), data_of(X, y, folds_of(y))
    first = data.induced_folds(WALK, [(0.1, False)])
    again = data.induced_folds(WALK, [(0.1, False), (1.0, False)])
    assert again[0.1, False] is first[0.1, False]
    data.induced_folds(replace(WALK, c_labeled=2.0), [(0.1, False)])
    data.induced_folds(WALK, [(1.0, False)])
    assert [gammas for _, gammas, _ in solved] == [[0.1], [1.0], [0.1]]


def test_solutions_of_trials_on_all_rows_are_not_solved_again(counted):
    X, y = clusters()
    solved, data = counted("solve_path"), data_of(X, y, folds_of(y))
    data.induced_folds(WALK, [(0.1, False)])
    solutions = data.solutions(WALK, [0.1])
    assert solutions[0.1] is data.trial_solutions(WALK)[0.1]
    assert solved == []
    data.solutions(WALK, [0.1, 1.0])
    data.solutions(WALK, [1.0, np.inf, 1.0])
    assert [gammas for _, gammas in solved] == [[1.0], [np.inf]]


def test_solutions_of_a_sample_are_not_those_of_all_rows(monkeypatch):
    monkeypatch.setattr(module, "MAX_TRIAL_ROWS", 30)
    monkeypatch.setattr(module, "MAX_ELIMINATED_ROWS", 30)
    X, y = clusters()
    data = data_of(X, y, folds_of(y))
    data.induced_folds(WALK, [(0.1, False)])
    assert len(data.trial_solutions(WALK)[0.1].codes) == 38
    solution = data.solutions(WALK, [0.1])[0.1]
    expected = harmonic_solution(knn_graph(X), y, gamma_g=0.1)
    np.testing.assert_allclose(solution.class_mass, expected.class_mass, atol=1e-9)


def test_shares_of_false_leave_a_solution_as_it_is():
    X, y = clusters()
    solution = harmonic_solution(knn_graph(X), y, gamma_g=0.1)
    assert normalize_to_shares(solution, False) is solution
    expected = normalize_class_mass(solution, (1.0, 3.0)).class_mass
    np.testing.assert_array_equal(normalize_to_shares(solution, (1.0, 3.0)).class_mass, expected)
