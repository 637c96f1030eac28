"""The choice: its blend, cross-fitted predictions, calibration, and words and tables about it."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphmargin.labels import encode_labels
from graphmargin.margin.coupling import coupled_log_probabilities
from graphmargin.methods import Supervised, named_member
from graphmargin.search.choice import error_rate, majority_error
from graphmargin.search.member import Member
from graphmargin.search.weighing import choose, weigh
from tests.search.problems import random_trials, sides, trials_of

BINARY = np.array([0, 1, 0, 1, 1])
EVEN = np.array([2, 2])
drawn_trials = st.builds(
    random_trials, m=st.integers(1, 12), seed=st.integers(0, 10**6), n_held_out=st.integers(0, 8)
)
few_examples = settings(max_examples=15)


def without_held_out_labels(m, n_classes=2, **options):
    columns = np.zeros((m, 0, n_classes * (n_classes - 1) // 2))
    return trials_of(columns, [], n_classes=n_classes, **options)


# The blend.


@few_examples
@given(trials=drawn_trials)
def test_blend_lists_the_likeliest_first_and_its_factors_give_the_scores(trials):
    choice = choose(trials, EVEN)
    numbers, factors = zip(*choice.blended, strict=True)
    assert sorted(numbers) == np.flatnonzero(choice.weights > 0).tolist()
    assert (np.diff(choice.weights[list(numbers)]) <= 0).all()
    assert numbers[0] == choice.best
    expected = choice.weights[list(numbers)] / trials.scales[list(numbers)]
    np.testing.assert_allclose(factors, expected, rtol=1e-12)
    functions = trials.held_out_values * trials.scales[:, None, None]
    total = sum(factor * functions[i] for i, factor in choice.blended)
    np.testing.assert_allclose(-total[:, 0], choice.trials.scores(choice.weights), atol=1e-10)


def test_scores_and_errors_of_three_classes_by_hand():
    # Pairs (0, 1), (0, 2), (1, 2), positive for the first.
    given_codes = np.array([0, 1, 2])
    first = np.array([[1.0, 1.0, 0.2], [-1.0, 0.3, 1.0], [0.1, 1.0, -1.0]])  # says 0, 1, 0
    second = np.array([[2.0, 1.0, 0.2], [1.0, 0.3, 1.0], [0.1, -2.0, -1.0]])  # says 0, 0, 2
    units = np.array([[1.0, 0.5, 2.0], [0.5, 1.0, 1.0]])
    trials = trials_of([first, second], given_codes, n_classes=3, pair_scales=units)
    choice = choose(trials, np.array([1, 1, 1]))
    np.testing.assert_allclose(choice.errors, [1 / 3, 1 / 3])
    blended = choice.weights[0] * first + choice.weights[1] * second
    expected = coupled_log_probabilities(blended / (choice.weights @ units), 3)
    np.testing.assert_allclose(choice.trials.scores(choice.weights), expected)


def test_labels_of_a_fold_are_predicted_with_weights_of_the_others():
    """Candidate 0 is right in the first fold alone, candidate 1 in the second."""
    given_codes = np.array([0, 1] * 20)
    right, fold = 2.0 * given_codes - 1, np.repeat([0, 1], 20)
    scores = np.where(fold == np.array([[0], [1]]), 1.2 * right, -right)
    choice = choose(trials_of(sides(scores), given_codes, fold=fold), EVEN)
    for part in (0, 1):
        rows, sums = fold == part, choice.label_log_likelihood[:, fold != part].sum(axis=1)
        weights = np.exp(sums) / np.exp(sums).sum()
        np.testing.assert_allclose(choice.cross_fitted_scores[rows], weights @ scores[:, rows])
    assert (choice.trials.scores(choice.weights) * right > 0).all()
    assert choice.error == 1.0, "the candidate of the other fold decides"
    # If both folds hold out the same labels, none is left to weigh the candidates.
    again = trials_of(sides(scores), given_codes, fold=fold, held_out_rows=np.arange(40) % 20)
    for weights in choose(again, EVEN).fold_weights.values():
        np.testing.assert_allclose(weights, 0.5)
    one_fold = choose(trials_of(sides(scores), given_codes, fold=np.zeros(40, int)), EVEN)
    # The order of sums, and so the last digit, may depend on the alignment of arrays.
    expected = one_fold.trials.scores(one_fold.weights)
    np.testing.assert_allclose(one_fold.cross_fitted_scores, expected, rtol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_no_held_out_label_means_no_error_and_no_warning(n_classes):
    choice = choose(without_held_out_labels(2, n_classes), np.full(n_classes, 2))
    assert np.isnan(choice.error)
    assert np.isnan(choice.errors).all()
    assert len(choice.trials.scores(choice.weights)) == 0
    results = choice.results()
    assert np.isnan(results["mean_test_score"]).all()
    assert not [name for name in results if name.startswith("split")]
    assert np.isnan(error_rate(np.zeros(0), np.zeros(0, dtype=np.int64)))


# Probabilities of the held-out labels.


def trials_with_graph(seed=0):
    """Return trials of three candidates for three classes; the second one has no graph."""
    rng = np.random.default_rng(seed)
    codes = np.arange(12) % 3
    right = np.array([[1.0, 1.0, 0.0], [-1.0, 0.0, 1.0], [0.0, -1.0, -1.0]])[codes]
    P = [rng.dirichlet(np.ones(3), size=12), None, 0.8 * np.eye(3)[codes] + 0.2 / 3]
    return trials_of(
        right + rng.normal(size=(3, 12, 3)),
        codes,
        n_classes=3,
        supervised=[False, True, False],
        pair_scales=rng.uniform(0.5, 2, size=(3, 3)),
        graph_distributions=P,
    )


def test_probabilities_of_the_graph_are_those_of_the_candidates_that_have_some():
    trials = trials_with_graph()
    choice = replace(choose(trials, np.full(3, 4)), weights=np.array([0.3, 0.6, 0.1]))
    P = trials.graph_distributions
    np.testing.assert_allclose(choice.log_graph, np.log(0.75 * P[0] + 0.25 * P[2]))
    calibration = choice.calibration
    np.testing.assert_allclose(calibration.pair_scales, choice.weights @ trials.pair_scales)
    assert calibration.graph_weight > 0
    scores = choice.cross_fitted_scores + calibration.graph_weight * choice.log_graph
    np.testing.assert_allclose(choice.calibrated_scores, scores)
    expected = calibration.probabilities(scores)
    np.testing.assert_allclose(choice.calibrated_probabilities, expected)
    np.testing.assert_allclose(choice.held_out_probabilities, expected)
    assert choice.uniform_share == calibration.uniform_share
    assert replace(choice, weights=np.array([0.0, 1.0, 0.0])).log_graph is None


def test_class_masses_are_averaged_and_the_sink_is_spread_evenly():
    """Trials have multiples of the masses, which are blended by weight over scale."""
    masses = np.array([[[0.5, 0.1]] * 4, [[0.0, 0.25]] * 4])
    codes, scales = np.array([0, 1, 0, 1]), np.array([2.0, 0.5])
    trials = trials_of(masses / scales[:, None, None], codes, scales=scales, columns="masses")
    choice = choose(trials, EVEN)
    for fold, weights in choice.fold_weights.items():
        factors = weights / scales
        mean = np.tensordot(factors / factors.sum(), masses[:, 0], axes=1)
        expected = mean + (1 - mean.sum()) / 2
        np.testing.assert_allclose(
            choice.held_out_probabilities[trials.fold == fold], [expected] * 2
        )
    assert choice.uniform_share == 0
    assert choice.log_graph is None


def test_class_weights_move_predictions_of_machines_and_no_probability():
    """Scores lean towards the second class by the logarithm of its weight."""
    rng = np.random.default_rng(0)
    codes = (rng.random(400) < 0.4).astype(int)
    scores = 2.0 * (2 * codes - 1) + 2 * rng.normal(size=400)  # log-odds of normal scores
    scores += np.log(0.4 / 0.6) + np.log(5.0)
    trials = trials_of(sides([scores]), codes, fold=np.arange(400) % 5)
    choice = choose(trials, np.array([240, 160]), class_weight=(1.0, 5.0))
    np.testing.assert_array_equal(choice.weighted_codes, scores > 0)
    P = choice.held_out_probabilities
    assert choice.calibration.offsets.tolist() == [0.0, pytest.approx(-np.log(5.0))]
    assert P[:, 1].mean() == pytest.approx(0.4, abs=0.03)
    assert choice.weighted_codes.mean() > 0.5
    assert choose(trials, np.array([240, 160])).weighted_codes is None
    masses = replace(trials, held_out_values=rng.random((1, 400, 2)), columns="masses")
    assert choose(masses, np.array([240, 160]), class_weight=(1.0, 5.0)).weighted_codes is None


# The choice among members.

LABELS = encode_labels([0, 0, 1, 1, -1, -1])


def member_choice(name, supervised, scores=(-1.0, 1.0, -1.0, 1.0, 1.0), class_weight=None):
    """Return the choice of a member between equal candidates with and without unlabeled rows."""
    trials = trials_of(sides([scores] * len(supervised)), BINARY, supervised=supervised)
    return choose(trials, EVEN, class_weight, named_member(name, LABELS))


def test_supervised_candidates_assume_nothing_about_unlabeled_rows():
    parts = [
        member_choice("cut", [True, False]),
        member_choice("linear-low-density", [True, False]),
        member_choice("harmonic", [False, False]),
        member_choice("supervised", [True, True]),
    ]
    choice = weigh(parts)
    assert choice.names == ("cut", "linear-low-density", "harmonic", "supervised")
    np.testing.assert_allclose(choice.weights, 1 / 4)
    expected = {
        "classes follow clusters": 0.125 + 0.25,
        "labels alone tell the classes": 0.125 + 0.25,
        "classes are separated by a plane": 0.25,
    }
    assert choice.assumption_weights == pytest.approx(expected)
    assert list(choice.assumption_weights.values()) == sorted(expected.values(), reverse=True)
    assert choice.supervised_weight == pytest.approx(0.125 + 0.125 + 0.25)
    assert choice.summary == (
        "classes follow clusters: 38%; labels alone tell the classes: 38%; "
        "classes are separated by a plane: 25%"
    )
    shares = [part.calibration.uniform_share for part in parts]
    assert choice.uniform_share == pytest.approx(np.mean(shares))


def test_a_single_member_has_the_weights_of_its_own_assumption():
    choice = member_choice("cut", [True, False])
    expected = {"classes follow clusters": 0.5, "labels alone tell the classes": 0.5}
    assert choice.assumption_weights == pytest.approx(expected)
    assert member_choice("supervised", [True]).summary == "labels alone tell the classes: 100%"


def test_members_without_weight_are_not_in_the_summary():
    wrong = np.array([1.0, -1.0, 1.0, -1.0, -1.0])
    choice = weigh(
        [member_choice("harmonic", [False]), member_choice("supervised", [True], 5 * wrong)]
    )
    assert choice.weights[1] < 0.2
    far = replace(choice, weights=np.array([0.999, 0.001]))
    assert far.summary == "classes follow clusters: 100%"


def test_held_out_labels_of_members_are_predicted_with_costs():
    doubtful = (-1.0, 1.0, -1.0, -0.1, 1.0)
    parts = [
        member_choice("supervised", [True], doubtful, class_weight=(1.0, 9.0)) for _ in range(2)
    ]
    choice = weigh(parts)
    P = choice.held_out_probabilities
    np.testing.assert_allclose(P, parts[0].calibrated_probabilities)
    np.testing.assert_array_equal(choice.weighted_codes, 9.0 * P[:, 1] > P[:, 0])
    assert weigh([member_choice("supervised", [True], doubtful)]).weighted_codes is None


def test_without_held_out_labels_the_summary_says_how_members_count():
    def untested(prior):
        member = Member("rbf", Supervised.auto(None, "rbf"), prior=prior)
        return choose(without_held_out_labels(1), EVEN, member=member)

    text = "no label could be held out, so that members count "
    assert weigh([untested(1.0), untested(1.0)]).summary == text + "equally"
    assert weigh([untested(1.0), untested(0.5)]).summary == text + "by their priors"


# The table.


@few_examples
@given(trials=drawn_trials)
def test_results_have_a_row_for_each_candidate(trials):
    choice = choose(trials, EVEN)
    results = choice.results()
    m = len(trials.params)
    assert all(len(column) == m for column in results.values())
    assert sorted(results["rank_test_score"]) == list(range(1, m + 1))
    assert results["rank_test_score"][choice.best] == 1
    by_rank = np.argsort(results["rank_test_score"])
    assert (np.diff(results["weight"][by_rank]) <= 0).all()
    assert results["params"] == trials.params
    assert results["param_gamma_g"].tolist() == [params["gamma_g"] for params in trials.params]
    splits = [name for name in results if name.startswith("split")]
    assert splits == [f"split{fold}_test_score" for fold in np.unique(trials.fold)]


def test_scores_and_results_of_two_classes_by_hand():
    scores = np.array([[-1.0, 1.0, 1.0, -1.0, 1.0], [-3.0, -1.0, -3.0, 1.5, 2.0]])
    trials = trials_of(sides(scores), BINARY)  # folds of two, two and one
    trials.params[1]["class_mass_normalization"] = (1, 2)
    choice = choose(trials, EVEN)
    assert (choice.weights > 0).all()
    blended = choice.weights @ scores
    np.testing.assert_allclose(choice.trials.scores(choice.weights), blended)
    assert choice.error == error_rate(choice.cross_fitted_scores, BINARY)
    np.testing.assert_allclose(choice.errors, [2 / 5, 1 / 5])
    results = choice.results()
    np.testing.assert_allclose(results["split0_test_score"], [1.0, 0.5])
    np.testing.assert_allclose(results["split1_test_score"], [0.0, 1.0])
    np.testing.assert_allclose(results["split2_test_score"], [1.0, 1.0])
    np.testing.assert_allclose(results["mean_test_score"], [3 / 5, 4 / 5])
    np.testing.assert_array_equal(results["weight"], choice.weights)
    np.testing.assert_array_equal(results["log_likelihood"], choice.log_likelihood)
    np.testing.assert_array_equal(results["share_log_likelihood"], choice.share_log_likelihood)
    assert results["param_class_mass_normalization"].tolist() == [None, (1, 2)]
    assert results["rank_test_score"].tolist() == [2, 1]


@given(codes=st.lists(st.integers(0, 4), max_size=20))
def test_majority_error_is_the_share_of_the_other_classes(codes):
    error = majority_error(np.array(codes, dtype=np.int64))
    if codes:
        assert error == pytest.approx(1 - max(map(codes.count, codes)) / len(codes))
    else:
        assert np.isnan(error)
