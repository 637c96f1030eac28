import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.harmonic import harmonic_solution, leave_one_out
from graphmargin.selection import graph_reports as module
from graphmargin.selection.choice import Choice
from graphmargin.selection.graph_reports import graph_report
from tests.selection.tasks import trials_of


def advice_of(report):
    return [advice.for_python for advice in report.advice]


def cliques(*sizes, weak=0.0):
    """Return cliques of unit weights, each joined to the next by a weak edge."""
    W = sparse.block_diag([np.ones((size, size)) for size in sizes]).toarray()
    for first in np.cumsum(sizes)[:-1]:
        W[first, first - 1] = W[first - 1, first] = weak
    np.fill_diagonal(W, 0)
    return W


def made_choice(supervised_share, *, n_hidden=20, n_classes=2, supervised=(True, False, False)):
    """Return a choice of given weights; candidate i gets the first i + 1 hidden labels wrong."""
    supervised = np.array(supervised)
    m = len(supervised)
    given = np.arange(n_hidden) % 2
    held_out = np.tile(np.where(given, -1.0, 1.0)[:, None], (m, 1, 1))
    for i in range(m):
        held_out[i, : i + 1] *= -1
    trials = trials_of(held_out, given, n_classes=n_classes, supervised=supervised)
    weights = np.where(supervised, supervised_share, 1 - supervised_share)
    weights = weights / np.where(supervised, supervised.sum(), (~supervised).sum())
    zeros = np.zeros(m)
    return Choice(trials, np.full(n_classes, n_hidden // n_classes), zeros, zeros, weights)


def small_report(**options):
    W = cliques(4, 4, weak=0.1)
    solution = harmonic_solution(W, [0, 0, -1, -1, 1, 1, -1, -1], gamma_g=0.1)
    return graph_report(solution, **options)


def test_counts_of_a_graph_by_hand():
    # A triangle with labels a, a, b, a path with one label, a pair and a point without.
    W = np.zeros((9, 9))
    for i, j, w in [(0, 1, 3), (1, 2, 2), (0, 2, 1), (3, 4, 1), (4, 5, 1), (6, 7, 1)]:
        W[i, j] = W[j, i] = w
    found = graph_report(harmonic_solution(W, ["a", "a", "b", "b", "", "", "", "", ""]))
    assert (found.n_points, found.n_edges, found.n_labels, found.n_unlabeled) == (9, 6, 4, 5)
    assert found.mean_degree == 12 / 9
    assert found.classes.tolist() == ["a", "b"]
    assert found.label_counts.tolist() == [2, 2]
    assert found.n_components == 4
    assert (found.n_unreached, found.n_unreached_components) == (3, 2)
    assert found.n_one_class == 2
    assert found.n_label_edges == 3
    assert found.label_agreement == 3 / 6
    assert found.chance_agreement == 2 / 6  # of 6 pairs, {a, a} and {b, b} are equal
    # Vertex 0 sees a at rate 3 and b at 1, vertex 1 a at 3 and b at 2, vertex 2 sees a only.
    assert found.n_tested == 3
    assert found.leave_one_out_error == pytest.approx(1 / 3)
    assert found.guess_error == pytest.approx(1 / 3)
    assert found.induced_counts.tolist() == [0, 2]
    assert (found.n_confident, found.mean_confidence, found.sink_share) == (2, 2 / 5, 0)
    text = str(found)
    assert "graph: 9 points, 6 edges (1.3 neighbors a point), 4 labels of 2 classes" in text
    assert "components: 4; 3 points in 2 components without a label, 2 unlabeled points" in text
    assert "edges between labels: 3, with 50.0% of the weight between equal ones (33.3% by" in text
    assert "held out at a time: 1 of 3 wrong (the same guess for all: 1)" in text
    assert "! 3 points cannot get a label: label a point in each such component, or" in text
    assert "no better than one guess for all (of 3 only, which is weak evidence)" in text


def test_sink_and_confidence_of_a_path_by_hand(path_graph):
    # The mass x of class 0: x_1 (2 + 1) = 1 + x_2 and x_2 (2 + 1) = x_1, so that x = (3/8, 1/8).
    found = graph_report(harmonic_solution(path_graph(4), [0, -1, -1, 1], gamma_g=1.0), eps=0.3)
    assert found.sink_share == pytest.approx(1 / 2)
    assert found.mean_confidence == pytest.approx(1 / 4)
    assert found.n_confident == 0
    assert found.induced_counts.tolist() == [1, 1]
    assert found.label_agreement is None
    assert found.leave_one_out_error is None
    text = str(found)
    assert "edges between labels: none" in text
    assert "held out at a time: says nothing, as each is the only one of its class" in text
    assert "0.25 on average, at least 0.3 at 0 of 2 unlabeled points; 50.0% of walks end" in text
    assert "a confidence below 0.3; lower `gamma_g` or `eps`." in text


def test_three_classes():
    W = cliques(4, 4, 4, weak=0.1)
    y = [0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1, -1]
    found = graph_report(harmonic_solution(W, y, gamma_g=0.01))
    assert found.label_counts.tolist() == [2, 2, 2]
    assert found.induced_counts.tolist() == [2, 2, 2]
    assert found.chance_agreement == pytest.approx(3 / 15)
    assert found.label_agreement == 1.0
    assert (found.n_tested, found.leave_one_out_error) == (6, 0.0)
    assert found.guess_error == pytest.approx(2 / 3)
    assert advice_of(found) == []
    assert "0: 33.3% -> 33.3%, 1: 33.3% -> 33.3%, 2: 33.3% -> 33.3%" in str(found)


def test_the_only_label_of_a_class_is_not_tested():
    found = graph_report(harmonic_solution(cliques(4, 3, weak=0.1), [0, 0, 0, -1, 1, -1, -1]))
    assert (found.n_tested, found.leave_one_out_error, found.guess_error) == (3, 0.0, 0.0)
    assert advice_of(found) == []


@pytest.mark.parametrize(
    "options",
    [{}, {"gamma_g": 0.3}, {"c_labeled": 2.0}, {"c_labeled": 2.0, "gamma_g": 1, "c_unlabeled": 1}],
)
def test_leave_one_out_error_is_that_of_leave_one_out(random_graph, options):
    y = np.full(24, -1)
    y[:8] = [0, 1, 2, 0, 1, 2, 0, 1]
    solution = harmonic_solution(random_graph(24, 1), y, **options)
    found = graph_report(solution)
    assert found.n_tested == 8
    assert found.leave_one_out_error == leave_one_out(solution).error


def test_without_hiding_labels_all_else_is_the_same(monkeypatch):
    solution = harmonic_solution(
        cliques(4, 4, weak=0.1), ["a", "a", *[""] * 2, "b", "b", *[""] * 2]
    )
    full = graph_report(solution)
    assert full.n_tested == 4
    monkeypatch.setattr(module, "leave_one_out", None)  # which would fail if it were called
    brief = graph_report(solution, hide_labels=False)
    assert (brief.n_tested, brief.leave_one_out_error, brief.guess_error) == (0, None, None)
    untested = {"n_tested": 0, "leave_one_out_error": None, "guess_error": None}
    assert str(brief) == str(replace(full, **untested))


def test_labels_without_trust_are_unlabeled():
    W = cliques(4, 4, weak=0.1)
    y = [0, 0, 1, -1, 1, 1, -1, -1]
    trust = np.array([np.inf, 1, 0, 0, 1, 2, 0, 0])
    found = graph_report(harmonic_solution(W, y, c_labeled=trust, gamma_g=0.1))
    assert found.label_counts.tolist() == [2, 2]
    assert (found.n_unlabeled, found.n_tested, found.leave_one_out_error) == (4, 4, 0.0)
    assert (found.n_label_edges, found.label_agreement) == (2, 1.0)


def test_nothing_travels_with_infinite_gamma_g():
    W = cliques(4, 4, weak=0.1)
    found = graph_report(harmonic_solution(W, [0, 0, -1, -1, 1, 1, -1, -1], gamma_g=np.inf))
    assert (found.sink_share, found.n_confident, found.mean_confidence) == (1.0, 0, 0.0)
    assert (found.n_tested, found.leave_one_out_error, found.induced_shares) == (0, None, None)
    assert advice_of(found) == [
        "`gamma_g` is inf, so that the graph is not used; pass a finite one."
    ]
    assert "no label travels" in str(found)


def test_a_graph_that_hidden_labels_ruled_out_is_not_advised():
    solution = harmonic_solution(
        cliques(4, 4, weak=0.1), [0, 0, -1, -1, 1, 1, -1, -1], gamma_g=np.inf
    )
    found = graph_report(solution, choice=made_choice(1.0))
    assert found.verdict == "graph does not help: supervised learning chosen"
    assert not advice_of(found)


def test_all_points_labeled():
    found = graph_report(harmonic_solution(cliques(3, 3, weak=0.1), [0, 0, 0, 1, 1, 1]))
    assert (found.n_unlabeled, found.mean_confidence, found.sink_share) == (0, None, None)
    assert found.induced_shares is None
    assert "confidence" not in str(found)
    assert advice_of(found) == []


def test_a_graph_without_edges():
    found = graph_report(harmonic_solution(np.zeros((5, 5)), [0, 0, 1, -1, -1], gamma_g=0.1))
    assert (found.n_edges, found.mean_degree, found.n_components) == (0, 0.0, 5)
    assert (found.n_unreached, found.n_unreached_components) == (2, 2)
    assert (found.n_tested, found.sink_share, found.induced_shares) == (0, None, None)
    assert "held out at a time: says nothing, as no other label is in reach" in str(found)


def test_many_components_without_labels_are_not_to_be_labeled_one_by_one():
    W = sparse.block_diag([cliques(4), *[cliques(2)] * 6]).tocsr()
    found = graph_report(harmonic_solution(W, [0, 1, *[-1] * 14]))
    assert found.n_unreached_components == 6
    assert advice_of(found)[0] == "12 points cannot get a label: raise `n_neighbors`."


def test_too_many_labels_are_not_hidden(monkeypatch):
    monkeypatch.setattr(module, "MAX_LABELS", 3)
    found = small_report()
    assert (found.n_tested, found.leave_one_out_error, found.guess_error) == (0, None, None)
    assert "held out at a time: skipped, as there are many" in str(found)
    monkeypatch.setattr(module, "MAX_LABELS", 4)
    assert small_report().n_tested == 4
    monkeypatch.setattr(module, "MAX_ENTRIES", 31)
    assert small_report().n_tested == 0


def test_neighbors_that_disagree_are_a_sign(path_graph):
    y = np.array([0, 1] * 10)
    found = graph_report(harmonic_solution(path_graph(20), y))
    assert (found.label_agreement, found.leave_one_out_error, found.guess_error) == (0, 1, 0.5)
    assert advice_of(found) == [
        "This solution predicts held-out labels no better than one guess for all: scale the "
        "features or choose others, and compare with gamma_g=inf."
    ]
    solution = harmonic_solution(path_graph(20), y)
    assert advice_of(graph_report(solution, choice=made_choice(0.1))) == []
    assert advice_of(graph_report(solution, choice=made_choice(0.9))) == [
        "This solution predicts held-out labels no better than one guess for all: scale the "
        "features or choose others."
    ]


def test_one_edge_between_labels_of_two_classes_is_no_sign(path_graph):
    found = graph_report(harmonic_solution(path_graph(4), [-1, 0, 1, -1]))
    assert (found.n_label_edges, found.label_agreement, found.chance_agreement) == (1, 0, 0)
    assert advice_of(found) == []


def test_a_class_that_swallows_the_rest_is_a_sign():
    # All but one of 40 unlabeled points hang on the first label.
    star = np.zeros((42, 42))
    star[0, 2:41] = star[2:41, 0] = 1
    star[1, 41] = star[41, 1] = 1
    star[0, 41] = star[41, 0] = 0.5
    found = graph_report(harmonic_solution(star, ["cat", "dog", *[""] * 40]))
    assert found.induced_counts.tolist() == [39, 1]
    assert advice_of(found) == [
        "Class 'cat' has 50.0% of the labels, but gets 97.5% of the points; if you know class "
        "shares, pass them as `class_mass_normalization`."
    ]


def test_a_class_that_vanishes_is_a_sign():
    # Of six classes five share 60 points, and the last gets none.
    W = cliques(*[13] * 5, 1, weak=0.01)
    y = np.full(66, -1)
    y[np.arange(6) * 13] = np.arange(6)
    found = graph_report(harmonic_solution(W, y))
    assert found.induced_counts.tolist() == [12] * 5 + [0]
    assert "Class 5 has 16.7% of the labels, but gets 0.0% of the points" in advice_of(found)[0]
    assert "5: 16.7% -> 0.0%, 0: 16.7% -> 20.0%" in str(found)
    assert "2 more differ less" in str(found)


@pytest.mark.parametrize(
    ("share", "verdict"),
    [
        (0.0, "graph helps"),
        (1 / 3, "graph helps"),
        (0.34, "undecided: both are averaged"),
        (0.66, "undecided: both are averaged"),
        (2 / 3, "graph does not help: supervised learning chosen"),
        (1.0, "graph does not help: supervised learning chosen"),
    ],
)
def test_verdict_by_the_weight_of_supervised_learning(share, verdict):
    found = small_report(choice=made_choice(share))
    assert found.verdict == verdict
    assert found.choice.supervised_share == pytest.approx(share)
    assert (found.choice.supervised_error, found.choice.graph_error) == (0.05, 0.1)
    line = (
        f"verdict: {verdict} (supervised learning has {share:.1%} of the weight; held-out labels "
    )
    numbers = "wrong: 2 of 20 with the best of 2 with a graph, 1 of 20 with the best of 1 without)"
    assert line + numbers in str(found)
    assert advice_of(found) == []


def test_not_compared_without_choice():
    found = small_report()
    assert found.verdict == "not compared"
    assert found.choice is None
    assert "verdict: not compared (pass a `choice`" in str(found)
    assert "graph helps:" not in str(found)


@pytest.mark.parametrize(
    ("supervised", "share", "reason"),
    [
        ((False, False), 0.0, "no supervised candidate was tried"),
        ((True, True), 1.0, "no candidate with a graph was tried"),
    ],
)
def test_not_compared_with_one_kind_of_candidates(supervised, share, reason):
    found = small_report(choice=made_choice(share, supervised=supervised))
    assert f"verdict: not compared ({reason})" in str(found)
    assert None in (found.choice.graph_error, found.choice.supervised_error)
    assert advice_of(found) == []


def test_not_compared_without_hidden_labels():
    found = small_report(choice=made_choice(0.1, n_hidden=0))
    assert found.verdict == "not compared"
    assert (found.choice.graph_error, found.choice.supervised_error) == (None, None)
    assert "not compared (with one label a class nothing can be tested; supervised" in str(found)
    assert advice_of(found) == [
        "Whether the graph helps cannot be tested: label two points or more of a class."
    ]


def test_few_hidden_labels_are_weak_evidence():
    found = small_report(choice=made_choice(0.1, n_hidden=4))
    assert found.verdict == "graph helps"
    assert advice_of(found) == [
        "The verdict rests on 4 held-out labels, which is weak evidence; label more points."
    ]


def test_a_solver_that_did_not_converge_is_a_sign(path_graph):
    solution = replace(harmonic_solution(path_graph(4), [0, -1, -1, 1]), converged=False)
    assert advice_of(graph_report(solution)) == [
        "The solver did not converge: labels may be wrong; use solver='direct'."
    ]


def test_recall():
    assert "recall 99.0%" in str(small_report(recall=0.99))
    assert advice_of(small_report(recall=0.99)) == []
    assert advice_of(small_report(recall=0.8)) == [
        "Only 80.0% of true neighbors are joined; raise `recall`."
    ]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        *[({"recall": recall}, "`recall` must be in (0, 1], got") for recall in (0, 1.5, "high")],
        ({"eps": -1}, "`eps` must be >= 0"),
        ({"choice": made_choice(0.5, n_classes=3)}, "must be among functions of the 2 classes"),
    ],
    ids=["zero", "large", "word", "eps", "choice"],
)
def test_bad_options(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        small_report(**options)


@given(seed=st.integers(0, 1000), gamma_g=st.sampled_from([0.0, 0.1, 10.0, np.inf]))
def test_report_does_not_depend_on_the_order_of_the_points(seed, gamma_g):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((20, 20)) * (rng.random((20, 20)) < 0.12), 1)
    W, y = W + W.T, np.full(20, -1)
    y[:7] = [0, 1, 2, 0, 1, 2, *rng.integers(0, 3, 1)]
    order = rng.permutation(20)
    found = graph_report(harmonic_solution(W, y, gamma_g=gamma_g))
    again = graph_report(harmonic_solution(W[order][:, order], y[order], gamma_g=gamma_g))
    assert str(found).splitlines()[:3] == str(again).splitlines()[:3]
    assert found.n_tested == again.n_tested
    assert found.sink_share == pytest.approx(again.sink_share)
    assert found.mean_confidence == pytest.approx(again.mean_confidence, abs=1e-9)
    assert 0 <= found.n_confident <= found.n_unlabeled
    assert found.n_unreached + found.induced_counts.sum() <= found.n_unlabeled
    assert len(str(found).splitlines()) <= 13
