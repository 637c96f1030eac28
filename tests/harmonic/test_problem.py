import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.harmonic.problem import check_gamma_g, harmonic_problem

# 0 - 1 - 2 - 3, then 4 - 5 without a label, then 6 alone with one.
W = np.zeros((7, 7))
for i, j, weight in [(0, 1, 2.0), (1, 2, 3.0), (2, 3, 5.0), (4, 5, 1.0)]:
    W[i, j] = W[j, i] = weight
Y = ["a", None, None, "b", None, None, "a"]


def test_parts_of_a_hard_problem_by_hand():
    problem = harmonic_problem(W, Y)
    assert problem.hard.tolist() == [True, False, False, True, False, False, True]
    assert problem.reached.tolist() == [True, True, True, True, False, False, True]
    assert problem.free.tolist() == [1, 2]
    assert problem.inner_edges.toarray().tolist() == [[0, 3], [3, 0]]
    assert problem.boundary_edges.toarray().tolist() == [[2, 0, 0], [0, 5, 0]]
    assert problem.class_rates.tolist() == [[2, 0], [0, 5]]


def test_rates_have_a_sink_column_only_where_mass_is_lost():
    problem = harmonic_problem(W, Y)
    assert problem.rates(0.0).tolist() == [[2, 0], [0, 5]]
    assert problem.rates(0.25).tolist() == [[2, 0, 0.25], [0, 5, 0.25]]
    pulled = harmonic_problem(W, Y, c_unlabeled=4.0)
    assert pulled.rates(0.0).tolist() == [[2, 0, 4], [0, 5, 4]]
    assert pulled.rates(0.5).tolist() == [[2, 0, 4.5], [0, 5, 4.5]]


def test_soft_labels_are_free_and_absorb_at_the_rate_of_their_trust():
    trust = np.array([np.inf, 0, 0, 7.0, 0, 0, 0])
    problem = harmonic_problem(W, Y, c_labeled=trust, c_unlabeled=1.0)
    assert problem.free.tolist() == [1, 2, 3]
    assert problem.class_rates.tolist() == [[2, 0], [0, 0], [0, 7]]
    # An unlabeled vertex is pulled towards zero, a labeled one is not.
    assert problem.sink_rates(0.5).tolist() == [1.5, 1.5, 0.5]
    # The label of vertex 6 has no trust: nothing reaches it.
    assert problem.reached.tolist() == [True, True, True, True, False, False, False]


def test_labels_are_counted_in_each_component():
    problem = harmonic_problem(W, Y)
    assert problem.labels_in_component.tolist() == [2, 2, 2, 2, 0, 0, 1]


def test_entries_of_the_trust_at_unlabeled_vertices_are_not_read():
    trust = np.array([1.0, np.nan, -5.0, 2.0, np.inf, np.nan, 3.0])
    problem = harmonic_problem(W, Y, c_labeled=trust)
    assert problem.trust.tolist() == [1, 0, 0, 2, 0, 0, 3]


@given(
    seed=st.integers(0, 10**6),
    gamma_g=st.sampled_from([0.0, 1e-6, 1.0, 1e6]),
    c_labeled=st.sampled_from([np.inf, 1e-3, 1.0, 1e12]),
    c_unlabeled=st.sampled_from([0.0, 0.5]),
)
def test_dense_solution_of_the_system_has_rows_that_sum_to_one(
    random_graph, seed, gamma_g, c_labeled, c_unlabeled
):
    codes = np.full(12, -1)
    codes[:3] = [0, 1, 2]
    problem = harmonic_problem(
        random_graph(12, seed), codes, c_labeled=c_labeled, c_unlabeled=c_unlabeled
    )
    inner, B = problem.inner_edges.toarray(), problem.rates(gamma_g)
    A = np.diag(inner.sum(axis=1) + B.sum(axis=1)) - inner
    assert np.linalg.eigvalsh(A).min() > 0
    X = np.linalg.solve(A, B)
    assert (X >= -1e-12).all()
    np.testing.assert_allclose(X.sum(axis=1), 1, rtol=1e-9)


def test_graph_is_checked():
    with pytest.raises(ValueError, match="`W` must be symmetric"):
        harmonic_problem([[0, 1.0], [0, 0]], [0, 1])


@pytest.mark.parametrize("y", [[0, 1], [0, 1, -1, 0]])
def test_labels_must_match_the_graph(y):
    message = f"`y` must have one entry for each of the 3 vertices, got {len(y)}"
    with pytest.raises(ValueError, match=message):
        harmonic_problem(np.ones((3, 3)), y)


@pytest.mark.parametrize("gamma_g", [0, 0.5, 10, np.float32(2), np.inf])
def test_valid_gamma_g_becomes_a_float(gamma_g):
    checked = check_gamma_g(gamma_g)
    assert isinstance(checked, float)
    assert checked == gamma_g


@pytest.mark.parametrize("gamma_g", [-1.0, -np.inf, np.nan, "auto", None, True])
def test_bad_gamma_g_is_refused(gamma_g):
    message = f"`gamma_g` must be >= 0, got {gamma_g!r}; use `inf` for supervised learning only"
    with pytest.raises(ValueError, match=message):
        check_gamma_g(gamma_g)


@pytest.mark.parametrize("c_unlabeled", [-1.0, np.nan, np.inf, "no", None])
def test_bad_c_unlabeled_is_refused(c_unlabeled):
    with pytest.raises(ValueError, match="`c_unlabeled` must be "):
        harmonic_problem(W, Y, c_unlabeled=c_unlabeled)


@pytest.mark.parametrize(
    ("c_labeled", "message"),
    [
        (-1.0, "`c_labeled` must be >= 0, got -1.0; use `inf` for hard labels"),
        (np.nan, "`c_labeled` must be >= 0, got nan"),
        (np.full(7, -2.0), "`c_labeled` must be >= 0, got -2.0"),
        (np.ones(6), r"one entry for each of the 7 vertices, got shape \(6,\)"),
        (np.ones((7, 1)), r"one entry for each of the 7 vertices, got shape \(7, 1\)"),
        (0.0, "`c_labeled` is 0 at every label, so that no label counts"),
        (np.where([label is None for label in Y], 1.0, 0.0), "`c_labeled` is 0 at every label"),
    ],
)
def test_bad_c_labeled_is_refused(c_labeled, message):
    with pytest.raises(ValueError, match=message):
        harmonic_problem(W, Y, c_labeled=c_labeled)
