import re
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.harmonic import harmonic_solution, leave_one_out
from graphmargin.reports import graph_reports as module
from graphmargin.reports.graph_reports import graph_report
from graphmargin.search.choice import Choice
from tests.search.problems import trials_of


def advice_texts(report):
    return [advice.for_python for advice in report.advice]


def cliques(*sizes, weak=0.0):
    """Return cliques of unit weights, each joined to the next by a weak edge."""
    W = sparse.block_diag([np.ones((size, size)) for size in sizes]).toarray()
    for first in np.cumsum(sizes)[:-1]:
        W[first, first - 1] = W[first - 1, first] = weak
    np.fill_diagonal(W, 0)
    return W


def made_choice(supervised_weight, *, n_held_out=20, n_classes=2, supervised=(True, False, False)):
    """Return a choice of given weights; candidate i gets the first i + 1 held-out labels wrong."""
    supervised = np.array(supervised)
    m = len(supervised)
    given = np.arange(n_held_out) % 2
    side = np.where(given, -1.0, 1.0)  # of the first pair; other classes lose
    columns = [side, *[np.ones(n_held_out)] * (n_classes * (n_classes - 1) // 2 - 1)]
    held_out = np.tile(np.column_stack(columns), (m, 1, 1))
    for i in range(m):
        held_out[i, : i + 1, 0] *= -1
    trials = trials_of(held_out, given, n_classes=n_classes, supervised=supervised)
    weights = np.where(supervised, supervised_weight, 1 - supervised_weight)
    weights = weights / np.where(supervised, supervised.sum(), (~supervised).sum())
    counts, of_labels = np.full(n_classes, n_held_out // n_classes), np.zeros((m, n_held_out))
    fold_weights = dict.fromkeys(trials.fold.tolist(), weights)
    return Choice(trials, counts, of_labels, np.zeros(m), weights, fold_weights)


def small_report(**options):
    W = cliques(4, 4, weak=0.1)
    solution = harmonic_solution(W, [0, 0, -1, -1, 1, 1, -1, -1], gamma_g=0.1)
    return graph_report(solution, **options)


def test_counts_are_those_computed_by_hand():
    # A triangle with labels a, a, b, a path with one label, a pair and a point without.
    W = np.zeros((9, 9))
    for i, j, w in [(0, 1, 3), (1, 2, 2), (0, 2, 1), (3, 4, 1), (4, 5, 1), (6, 7, 1)]:
        W[i, j] = W[j, i] = w
    report = graph_report(harmonic_solution(W, ["a", "a", "b", "b", "", "", "", "", ""]))
    assert (report.n_points, report.n_edges, report.n_labels, report.n_unlabeled) == (9, 6, 4, 5)
    assert report.mean_degree == 12 / 9
    assert report.classes.tolist() == ["a", "b"]
    assert report.label_counts.tolist() == [2, 2]
    assert report.n_components == 4
    assert (report.n_unreached, report.n_unreached_components) == (3, 2)
    assert report.n_one_class == 2
    assert report.n_label_edges == 3
    assert report.label_agreement == 3 / 6
    assert report.chance_agreement == 2 / 6  # of 6 pairs, {a, a} and {b, b} are equal
    # Vertex 0 sees a at rate 3 and b at 1, vertex 1 a at 3 and b at 2, vertex 2 sees a only.
    assert report.n_tested == 3
    assert report.leave_one_out_error == pytest.approx(1 / 3)
    assert report.majority_error == pytest.approx(1 / 3)
    assert report.induced_counts.tolist() == [0, 2]
    assert (report.n_confident, report.mean_confidence, report.sink_share) == (2, 2 / 5, 0)
    text = str(report)
    assert "graph: 9 points, 6 edges (1.3 neighbors a point), 4 labels of 2 classes" in text
    assert "components: 4; 3 points in 2 components without a label, 2 unlabeled points" in text
    assert "edges between labeled points: 3, with 50.0% of the weight between equal labels" in text
    assert "held out at a time: 1 of 3 wrong (with the most frequent class for all: 1)" in text
    assert (
        "! 3 points cannot be reached from any label: label a point in each such component, or"
        in text
    )
    assert "the most frequent class (tested on 3 only, which is weak evidence)" in text


def test_sink_share_and_confidence_of_a_path_are_those_computed_by_hand(path_graph):
    # The mass x of class 0: x_1 (2 + 1) = 1 + x_2 and x_2 (2 + 1) = x_1, so that x = (3/8, 1/8).
    report = graph_report(harmonic_solution(path_graph(4), [0, -1, -1, 1], gamma_g=1.0), eps=0.3)
    assert report.sink_share == pytest.approx(1 / 2)
    assert report.mean_confidence == pytest.approx(1 / 4)
    assert report.n_confident == 0
    assert report.induced_counts.tolist() == [1, 1]
    assert report.label_agreement is None
    assert report.leave_one_out_error is None
    text = str(report)
    assert "edges between labeled points: none" in text
    assert "held out at a time: not tested, because each is the only label of its class" in text
    assert "0.25 on average, at least 0.3 at 0 of 2 unlabeled points; 50.0% of walks end" in text
    assert "a confidence below 0.3; lower `gamma_g` or `eps`." in text


def test_report_on_three_classes_has_no_advice():
    W = cliques(4, 4, 4, weak=0.1)
    y = [0, 0, -1, -1, 1, 1, -1, -1, 2, 2, -1, -1]
    report = graph_report(harmonic_solution(W, y, gamma_g=0.01))
    assert report.label_counts.tolist() == [2, 2, 2]
    assert report.induced_counts.tolist() == [2, 2, 2]
    assert report.chance_agreement == pytest.approx(3 / 15)
    assert report.label_agreement == 1.0
    assert (report.n_tested, report.leave_one_out_error) == (6, 0.0)
    assert report.majority_error == pytest.approx(2 / 3)
    assert advice_texts(report) == []
    assert "0: 33.3% -> 33.3%, 1: 33.3% -> 33.3%, 2: 33.3% -> 33.3%" in str(report)


def test_the_only_label_of_a_class_is_not_tested():
    report = graph_report(harmonic_solution(cliques(4, 3, weak=0.1), [0, 0, 0, -1, 1, -1, -1]))
    assert (report.n_tested, report.leave_one_out_error, report.majority_error) == (3, 0.0, 0.0)
    assert advice_texts(report) == []


@pytest.mark.parametrize(
    "options",
    [{}, {"gamma_g": 0.3}, {"c_labeled": 2.0}, {"c_labeled": 2.0, "gamma_g": 1, "c_unlabeled": 1}],
)
def test_leave_one_out_error_is_that_of_leave_one_out(random_graph, options):
    y = np.full(24, -1)
    y[:8] = [0, 1, 2, 0, 1, 2, 0, 1]
    solution = harmonic_solution(random_graph(24, 1), y, **options)
    report = graph_report(solution)
    assert report.n_tested == 8
    assert report.leave_one_out_error == leave_one_out(solution).error


def test_report_without_held_out_labels_is_otherwise_the_same(monkeypatch):
    solution = harmonic_solution(
        cliques(4, 4, weak=0.1), ["a", "a", *[""] * 2, "b", "b", *[""] * 2]
    )
    full = graph_report(solution)
    assert full.n_tested == 4
    monkeypatch.setattr(module, "leave_one_out", None)  # which would fail if it were called
    brief = graph_report(solution, hold_out_labels=False)
    assert (brief.n_tested, brief.leave_one_out_error, brief.majority_error) == (0, None, None)
    untested = {"n_tested": 0, "leave_one_out_error": None, "majority_error": None}
    assert str(brief) == str(replace(full, **untested))


def test_labels_of_trust_zero_count_as_unlabeled():
    W = cliques(4, 4, weak=0.1)
    y = [0, 0, 1, -1, 1, 1, -1, -1]
    trust = np.array([np.inf, 1, 0, 0, 1, 2, 0, 0])
    report = graph_report(harmonic_solution(W, y, c_labeled=trust, gamma_g=0.1))
    assert report.label_counts.tolist() == [2, 2]
    assert (report.n_unlabeled, report.n_tested, report.leave_one_out_error) == (4, 4, 0.0)
    assert (report.n_label_edges, report.label_agreement) == (2, 1.0)


def test_infinite_gamma_g_propagates_no_label():
    W = cliques(4, 4, weak=0.1)
    report = graph_report(harmonic_solution(W, [0, 0, -1, -1, 1, 1, -1, -1], gamma_g=np.inf))
    assert (report.sink_share, report.n_confident, report.mean_confidence) == (1.0, 0, 0.0)
    assert (report.n_tested, report.leave_one_out_error, report.induced_shares) == (0, None, None)
    assert advice_texts(report) == [
        "`gamma_g` is inf, so that the graph is not used; pass a finite value."
    ]
    assert "no label is propagated" in str(report)


def test_graph_that_does_not_help_leads_to_no_advice():
    solution = harmonic_solution(
        cliques(4, 4, weak=0.1), [0, 0, -1, -1, 1, 1, -1, -1], gamma_g=np.inf
    )
    report = graph_report(solution, choice=made_choice(1.0))
    assert report.verdict == "graph does not help: supervised learning chosen"
    assert not advice_texts(report)


def test_graph_with_all_points_labeled_has_a_report():
    report = graph_report(harmonic_solution(cliques(3, 3, weak=0.1), [0, 0, 0, 1, 1, 1]))
    assert (report.n_unlabeled, report.mean_confidence, report.sink_share) == (0, None, None)
    assert report.induced_shares is None
    assert "confidence" not in str(report)
    assert advice_texts(report) == []


def test_graph_without_edges_has_a_report():
    report = graph_report(harmonic_solution(np.zeros((5, 5)), [0, 0, 1, -1, -1], gamma_g=0.1))
    assert (report.n_edges, report.mean_degree, report.n_components) == (0, 0.0, 5)
    assert (report.n_unreached, report.n_unreached_components) == (2, 2)
    assert (report.n_tested, report.sink_share, report.induced_shares) == (0, None, None)
    assert "held out at a time: not tested, because none of them is reached" in str(report)


def test_many_components_without_labels_lead_to_more_neighbors():
    W = sparse.block_diag([cliques(4), *[cliques(2)] * 6]).tocsr()
    report = graph_report(harmonic_solution(W, [0, 1, *[-1] * 14]))
    assert report.n_unreached_components == 6
    assert (
        advice_texts(report)[0]
        == "12 points cannot be reached from any label: raise `n_neighbors`."
    )


def test_too_many_labels_are_not_held_out(monkeypatch):
    monkeypatch.setattr(module, "MAX_LABELS", 3)
    report = small_report()
    assert (report.n_tested, report.leave_one_out_error, report.majority_error) == (0, None, None)
    assert "held out at a time: not tested, because there are too many" in str(report)
    monkeypatch.setattr(module, "MAX_LABELS", 4)
    assert small_report().n_tested == 4
    monkeypatch.setattr(module, "MAX_ENTRIES", 31)
    assert small_report().n_tested == 0


def test_neighbors_that_disagree_lead_to_advice(path_graph):
    y = np.array([0, 1] * 10)
    report = graph_report(harmonic_solution(path_graph(20), y))
    assert (report.label_agreement, report.leave_one_out_error, report.majority_error) == (
        0,
        1,
        0.5,
    )
    assert advice_texts(report) == [
        "This solution predicts held-out labels no better than the most frequent class: "
        "scale the features or choose others, and compare with gamma_g=inf."
    ]
    solution = harmonic_solution(path_graph(20), y)
    assert advice_texts(graph_report(solution, choice=made_choice(0.1))) == []
    assert advice_texts(graph_report(solution, choice=made_choice(0.9))) == [
        "This solution predicts held-out labels no better than the most frequent class: "
        "scale the features or choose others."
    ]


def test_one_edge_between_two_classes_leads_to_no_advice(path_graph):
    report = graph_report(harmonic_solution(path_graph(4), [-1, 0, 1, -1]))
    assert (report.n_label_edges, report.label_agreement, report.chance_agreement) == (1, 0, 0)
    assert advice_texts(report) == []


def test_class_with_too_many_induced_labels_leads_to_advice():
    # All but one of 40 unlabeled points are neighbors of the first label.
    star = np.zeros((42, 42))
    star[0, 2:41] = star[2:41, 0] = 1
    star[1, 41] = star[41, 1] = 1
    star[0, 41] = star[41, 0] = 0.5
    report = graph_report(harmonic_solution(star, ["cat", "dog", *[""] * 40]))
    assert report.induced_counts.tolist() == [39, 1]
    assert advice_texts(report) == [
        "Class 'cat' has 50.0% of the given labels, but 97.5% of the induced ones; if you know the "
        "class shares, pass them as `class_mass_normalization`."
    ]


def test_class_without_induced_labels_leads_to_advice():
    # Of six classes five share 60 points, and the last gets none.
    W = cliques(*[13] * 5, 1, weak=0.01)
    y = np.full(66, -1)
    y[np.arange(6) * 13] = np.arange(6)
    report = graph_report(harmonic_solution(W, y))
    assert report.induced_counts.tolist() == [12] * 5 + [0]
    assert (
        "Class 5 has 16.7% of the given labels, but 0.0% of the induced ones"
        in advice_texts(report)[0]
    )
    assert "5: 16.7% -> 0.0%, 0: 16.7% -> 20.0%" in str(report)
    assert "and 2 classes that differ less" in str(report)


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
def test_verdict_depends_on_the_weight_of_supervised_learning(share, verdict):
    report = small_report(choice=made_choice(share))
    assert report.verdict == verdict
    assert report.choice.supervised_weight == pytest.approx(share)
    assert (report.choice.supervised_error, report.choice.graph_error) == (0.05, 0.1)
    line = f"verdict: {verdict} (supervised learning has {share:.1%} of the weight; wrong held-out "
    numbers = (
        "labels: 2 of 20 with the best of 2 candidates that use the graph, 1 of 20 with the best "
        "of 1 that do not)"
    )
    assert line + numbers in str(report)
    assert advice_texts(report) == []


def test_verdict_without_a_choice_is_not_compared():
    report = small_report()
    assert report.verdict == "not compared"
    assert report.choice is None
    assert "verdict: not compared (pass a `choice`" in str(report)
    assert "graph helps:" not in str(report)


@pytest.mark.parametrize(
    ("supervised", "share", "reason"),
    [
        ((False, False), 0.0, "no supervised candidate was tried"),
        ((True, True), 1.0, "no candidate with a graph was tried"),
    ],
)
def test_verdict_with_one_kind_of_candidates_is_not_compared(supervised, share, reason):
    report = small_report(choice=made_choice(share, supervised=supervised))
    assert f"verdict: not compared ({reason})" in str(report)
    assert None in (report.choice.graph_error, report.choice.supervised_error)
    assert advice_texts(report) == []


def test_verdict_without_held_out_labels_is_not_compared():
    report = small_report(choice=made_choice(0.1, n_held_out=0))
    assert report.verdict == "not compared"
    assert (report.choice.graph_error, report.choice.supervised_error) == (None, None)
    assert "not compared (no label could be held out; supervised" in str(report)
    assert advice_texts(report) == [
        "Whether the graph helps cannot be tested: label at least two points of a class."
    ]


def test_few_held_out_labels_are_weak_evidence():
    report = small_report(choice=made_choice(0.1, n_held_out=4))
    assert report.verdict == "graph helps"
    assert advice_texts(report) == [
        "The verdict rests on 4 held-out labels, which is weak evidence; label more points."
    ]


def test_solver_that_did_not_converge_leads_to_advice(path_graph):
    solution = replace(harmonic_solution(path_graph(4), [0, -1, -1, 1]), converged=False)
    assert advice_texts(graph_report(solution)) == [
        "The solver did not converge, so that labels may be wrong; use a larger `gamma_g`, or "
        "`harmonic_solution` with solver='direct'."
    ]


def test_low_recall_is_advised_against_and_recall_is_in_the_text():
    assert "recall 99.0%" in str(small_report(recall=0.99))
    assert advice_texts(small_report(recall=0.99)) == []
    assert advice_texts(small_report(recall=0.8)) == [
        "The graph has only 80.0% of the true nearest neighbors; raise `recall`."
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
def test_bad_option_is_named(options, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        small_report(**options)


@given(seed=st.integers(0, 1000), gamma_g=st.sampled_from([0.0, 0.1, 10.0, np.inf]))
def test_report_does_not_depend_on_the_order_of_the_points(seed, gamma_g):
    rng = np.random.default_rng(seed)
    W = np.triu(rng.random((20, 20)) * (rng.random((20, 20)) < 0.12), 1)
    W, y = W + W.T, np.full(20, -1)
    y[:7] = [0, 1, 2, 0, 1, 2, *rng.integers(0, 3, 1)]
    order = rng.permutation(20)
    report = graph_report(harmonic_solution(W, y, gamma_g=gamma_g))
    again = graph_report(harmonic_solution(W[order][:, order], y[order], gamma_g=gamma_g))
    assert str(report).splitlines()[:3] == str(again).splitlines()[:3]
    assert report.n_tested == again.n_tested
    assert report.sink_share == pytest.approx(again.sink_share)
    assert report.mean_confidence == pytest.approx(again.mean_confidence, abs=1e-9)
    assert 0 <= report.n_confident <= report.n_unlabeled
    assert report.n_unreached + report.induced_counts.sum() <= report.n_unlabeled
    assert len(str(report).splitlines()) <= 13
