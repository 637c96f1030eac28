from itertools import chain

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.harmonic import folds
from graphmargin.harmonic.folds import fold_solutions
from graphmargin.harmonic.problem import harmonic_problem
from graphmargin.harmonic.solution import solve_path
from tests.harmonic.problems import MIXED, N, eliminate_nothing, first_labels

CODES = first_labels(N, [0, 1, 2, 0, 1, 2, 0, 1, 2])
FOLDS = [np.array([0, 1]), np.array([2, 3, 4]), np.array([8]), np.array([5, 6, 7])]
GAMMAS = [0.3, 0.0, np.inf, 1e3, 1e-6]
SETTINGS = [
    pytest.param({}, id="hard"),
    pytest.param({"c_labeled": 2.0}, id="soft"),
    pytest.param({"c_labeled": 1e6}, id="nearly-hard"),
    pytest.param({"c_labeled": MIXED}, id="mixed"),
    pytest.param({"c_unlabeled": 0.4}, id="pulled"),
    pytest.param({"c_labeled": 2.0, "c_unlabeled": 0.4}, id="soft-pulled"),
    pytest.param({"c_labeled": MIXED, "c_unlabeled": 0.4}, id="mixed-pulled"),
]


def assert_same_solution(by_fold, expected, atol=1e-6):
    assert by_fold.gamma_g == expected.gamma_g
    assert by_fold.converged
    np.testing.assert_array_equal(by_fold.problem.labels.codes, expected.problem.labels.codes)
    np.testing.assert_allclose(by_fold.class_mass, expected.class_mass, atol=atol)
    np.testing.assert_allclose(by_fold.sink_mass, expected.sink_mass, atol=atol)
    np.testing.assert_array_equal(by_fold.codes == -1, expected.codes == -1)
    second, best = np.sort(expected.class_mass, axis=1)[:, -2:].T
    clear = (best - second > (1e-6 * best if atol <= 1e-6 else atol)) | (best == 0)
    np.testing.assert_array_equal(by_fold.codes[clear], expected.codes[clear])


def assert_equals_separate_problems(problem, gammas, folds, atol=1e-6):
    """Compare with systems of the vertices that are free in each fold, solved directly."""
    by_fold = list(fold_solutions(problem, gammas, folds))
    assert len(by_fold) == len(folds)
    for fold, solutions in zip(folds, by_fold, strict=True):
        expected = solve_path(problem.without_labels(fold), gammas, solver="direct")
        for one, other in zip(solutions, expected, strict=True):
            assert_same_solution(one, other, atol)
    return by_fold


def two_components_and_a_loner(random_graph, scale=1.0):
    """Return a graph whose second component has labels 12 and 13, and its lone vertex 20."""
    W = np.zeros((21, 21))
    W[:12, :12], W[12:20, 12:20] = random_graph(12, 0), random_graph(8, 1)
    codes = np.full(21, -1)
    codes[[0, 1, 2, 3, 12, 13, 20]] = [0, 1, 0, 1, 0, 1, 1]
    return scale * W, codes


# The problem.


def test_problem_without_labels_lacks_the_labels_and_their_trust_only(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES, c_labeled=MIXED, c_unlabeled=0.4)
    hidden = problem.without_labels(np.array([0, 3]))
    expected, trust = CODES.copy(), MIXED.copy()
    expected[[0, 3]], trust[[0, 3]] = -1, 0.0
    np.testing.assert_array_equal(hidden.labels.codes, expected)
    np.testing.assert_array_equal(hidden.labels.classes, problem.labels.classes)
    np.testing.assert_array_equal(hidden.trust, trust)
    assert hidden.c_unlabeled == 0.4
    assert hidden.W is problem.W
    np.testing.assert_array_equal(problem.labels.codes, CODES)
    np.testing.assert_array_equal(problem.trust, MIXED)


def test_problem_without_labels_is_that_of_a_new_graph_after_use(random_graph):
    W, codes = two_components_and_a_loner(random_graph)
    problem = harmonic_problem(W, codes)
    cached = (problem.hard, problem.labels_in_component, problem.free, problem.label_rates)
    assert all(part is not None for part in cached)
    hidden = problem.without_labels(np.array([2, 12, 13]))
    codes[[2, 12, 13]] = -1
    expected = harmonic_problem(W, codes)
    for name in ("hard", "component", "labels_in_component", "reached", "free", "class_rates"):
        np.testing.assert_array_equal(getattr(hidden, name), getattr(expected, name))
    np.testing.assert_array_equal(hidden.rates(0.3), expected.rates(0.3))
    np.testing.assert_array_equal(hidden.inner_edges.toarray(), expected.inner_edges.toarray())


# The solutions.


@pytest.mark.parametrize("iterates", [False, True], ids=["eliminated", "iterated"])
@pytest.mark.parametrize("options", SETTINGS)
def test_solutions_are_those_of_problems_without_the_held_out_labels(
    random_graph, monkeypatch, options, iterates
):
    if iterates:
        eliminate_nothing(monkeypatch)
    problem = harmonic_problem(random_graph(N, 0), CODES, **options)
    # Iterations end early if labels are held out.
    atol = 1e-5 if iterates else 1e-6
    assert_equals_separate_problems(problem, GAMMAS, FOLDS, atol=atol)
    nothing = [np.zeros(0, dtype=np.int64)]
    assert_equals_separate_problems(problem, GAMMAS, nothing)


@pytest.mark.parametrize("options", SETTINGS)
def test_solutions_minimize_the_objective_by_dense_algebra(random_graph, dense_class_mass, options):
    W = random_graph(N, 1)
    problem = harmonic_problem(W, CODES, **options)
    for fold, solutions in zip(FOLDS, fold_solutions(problem, [0.0, 0.3], FOLDS), strict=True):
        codes = CODES.copy()
        codes[fold] = -1
        for by_fold in solutions:
            expected = dense_class_mass(W, codes, 3, gamma_g=by_fold.gamma_g, **options)
            np.testing.assert_allclose(by_fold.class_mass, expected, atol=1e-7)


@given(data=st.data(), seed=st.integers(0, 10**6), gamma_g=st.sampled_from([0.0, 1e-3, 1.0, 1e4]))
def test_any_labels_may_be_held_out_on_graphs_of_any_weights(random_graph, data, seed, gamma_g):
    rng = np.random.default_rng(seed)
    scales = rng.choice([1e-6, 0.1, 1.0, 1e3], size=(14, 14))
    W = random_graph(14, seed) * np.minimum(scales, scales.T)
    codes = np.full(14, -1)
    codes[rng.permutation(14)[:7]] = [0, 1, 2, 0, 1, 2, 0]
    labeled = np.flatnonzero(codes >= 0).tolist()
    hidden = st.lists(st.sampled_from(labeled), unique=True, max_size=6)
    folds = [np.array(data.draw(hidden), dtype=np.int64) for _ in range(3)]
    trust = data.draw(st.sampled_from([np.inf, 0.5, 1e4]))
    problem = harmonic_problem(W, codes, c_labeled=trust)
    by_fold = assert_equals_separate_problems(problem, [gamma_g], folds, atol=1e-7)
    for (solution,) in by_fold:
        assert (solution.class_mass >= 0).all()
        total = solution.class_mass.sum(axis=1) + solution.sink_mass
        np.testing.assert_allclose(total, 1.0, rtol=1e-9)


def test_path_of_four_vertices_is_that_computed_by_hand(path_graph):
    problem = harmonic_problem(path_graph(4), [0, 1, 0, 1])
    folds = [np.array([1]), np.array([1, 2]), np.array([0, 1])]
    masses = [solutions[0].class_mass[:, 1] for solutions in fold_solutions(problem, [0.0], folds)]
    np.testing.assert_allclose(masses[0], [0, 0, 0, 1], atol=1e-8)
    np.testing.assert_allclose(masses[1], [0, 1 / 3, 2 / 3, 1], atol=1e-8)
    np.testing.assert_allclose(masses[2], [0, 0, 0, 1], atol=1e-8)


def test_order_and_repetitions_of_gamma_g_are_kept(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    gammas = [1.0, np.inf, 0.0, 1.0, np.inf]
    for solutions in fold_solutions(problem, gammas, FOLDS):
        assert [solution.gamma_g for solution in solutions] == gammas
        np.testing.assert_array_equal(solutions[0].class_mass, solutions[3].class_mass)
        assert solutions[0].sink_mass.max() > 0.1
        assert solutions[2].sink_mass.max() < 1e-8


def test_infinite_gamma_g_keeps_the_labels_of_the_fold(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    for fold, (by_fold,) in zip(FOLDS, fold_solutions(problem, [np.inf], FOLDS), strict=True):
        expected = CODES.copy()
        expected[fold] = -1
        np.testing.assert_array_equal(by_fold.codes, expected)
        np.testing.assert_array_equal(by_fold.sink_mass, expected == -1)
        np.testing.assert_array_equal(by_fold.class_mass.sum(axis=1), expected >= 0)


def test_all_labels_may_be_held_out(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    for (by_fold,) in fold_solutions(problem, [0.0], [np.arange(9)]):
        assert (by_fold.codes == -1).all()
        assert (by_fold.class_mass == 0).all()
        assert (by_fold.sink_mass == 1).all()


@pytest.mark.parametrize(
    ("iterates", "scale", "trust"),
    [
        *((False, 1e-8, np.inf), (False, 1.0, 2.0), (False, 1e8, np.inf)),
        *((True, 1e-8, 2.0), (True, 1.0, np.inf), (True, 1e8, 2.0)),
    ],
)
def test_component_whose_labels_are_all_held_out_is_not_reached(
    random_graph, monkeypatch, iterates, scale, trust
):
    if iterates:
        eliminate_nothing(monkeypatch)
    W, codes = two_components_and_a_loner(random_graph, scale)
    problem = harmonic_problem(W, codes, c_labeled=trust * scale)
    folds = [np.array([12, 13]), np.array([0, 12, 13, 20]), np.array([12])]
    by_fold = assert_equals_separate_problems(problem, [0.0, 0.1 * scale], folds, atol=1e-5)
    for solutions in by_fold[:2]:
        for solution in solutions:
            assert (solution.class_mass[12:20] == 0).all()
            assert (solution.codes[12:20] == -1).all()
            np.testing.assert_array_equal(solution.unreached[12:20], True)
            # What no walk leaves must not keep the iteration from ending.
            assert solution.iterations < 500
    assert (by_fold[2][0].codes[12:20] == 1).all()
    # The lone vertex has its own label or none.
    assert [solutions[1].codes[20] for solutions in by_fold] == [1, -1, 1]


@pytest.mark.parametrize("memory", [1, 7000])
def test_folds_in_batches_give_the_same_solutions(random_graph, monkeypatch, memory):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    together = list(fold_solutions(problem, GAMMAS, FOLDS))
    monkeypatch.setattr(folds, "BATCH_MEMORY", memory)
    shares = []
    batches = list(
        fold_solutions(problem, GAMMAS, FOLDS, progress=lambda share, _: shares.append(share))
    )
    assert shares == ([0.0, 0.25, 0.5, 0.75] if memory == 1 else [0.0, 0.5])
    for expected, solution in zip(chain(*together), chain(*batches), strict=True):
        np.testing.assert_allclose(solution.class_mass, expected.class_mass, rtol=1e-12, atol=1e-15)
        np.testing.assert_array_equal(solution.codes, expected.codes)


def test_no_folds_have_no_solutions_and_bad_gamma_g_is_refused(random_graph):
    problem = harmonic_problem(random_graph(N, 0), CODES)
    assert list(fold_solutions(problem, GAMMAS, [])) == []
    with pytest.raises(ValueError, match="`gamma_g` must be"):
        next(fold_solutions(problem, [-1.0], FOLDS))
