import numpy as np
import pytest

from graphmargin.harmonic.problem import check_gamma_g, harmonic_problem

# 0 - 1 - 2 - 3, then 4 - 5 without a label, then 6 alone with one.
W = np.zeros((7, 7))
for i, j, weight in [(0, 1, 2.0), (1, 2, 3.0), (2, 3, 5.0), (4, 5, 1.0)]:
    W[i, j] = W[j, i] = weight
Y = ["a", None, None, "b", None, None, "a"]


def test_parts_of_a_hard_problem_are_those_computed_by_hand():
    problem = harmonic_problem(W, Y)
    assert problem.hard.tolist() == [True, False, False, True, False, False, True]
    assert problem.reached.tolist() == [True, True, True, True, False, False, True]
    assert problem.free.tolist() == [1, 2]
    assert problem.inner_edges.toarray().tolist() == [[0, 3], [3, 0]]
    assert problem.label_rates.toarray().tolist() == [[2, 0, 0], [0, 5, 0]]
    assert problem.class_rates.tolist() == [[2, 0], [0, 5]]
    assert problem.labels_in_component.tolist() == [2, 2, 2, 2, 0, 0, 1]


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
    assert problem.label_rates.toarray().tolist() == [[2, 0, 0], [0, 0, 0], [0, 7, 0]]
    assert problem.class_rates.tolist() == [[2, 0], [0, 0], [0, 7]]
    # An unlabeled vertex is pulled towards zero, a labeled one is not.
    assert problem.sink_rates(0.5).tolist() == [1.5, 1.5, 0.5]
    # The label of vertex 6 has no trust: nothing reaches it.
    assert problem.reached.tolist() == [True, True, True, True, False, False, False]


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


def test_graph_and_labels_are_checked():
    with pytest.raises(ValueError, match="`W` must be symmetric"):
        harmonic_problem([[0, 1.0], [0, 0]], [0, 1])
    with pytest.raises(ValueError, match="`y` must have one entry for each of the 3 vertices, got"):
        harmonic_problem(np.ones((3, 3)), [0, 1])


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
        (0.0, "`c_labeled` must be > 0 at some label, got 0 at all of them"),
        (
            np.where([label is None for label in Y], 1.0, 0.0),
            "`c_labeled` must be > 0 at some label",
        ),
    ],
)
def test_bad_c_labeled_is_refused(c_labeled, message):
    with pytest.raises(ValueError, match=message):
        harmonic_problem(W, Y, c_labeled=c_labeled)
