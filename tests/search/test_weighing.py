"""The rules that weigh candidates by Bayes' rule, and members by tempered likelihoods."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from graphmargin.methods import Supervised
from graphmargin.search.member import Member
from graphmargin.search.weighing import (
    BLENDED_WEIGHT,
    LIKELIHOOD_EXPONENT,
    MAX_SHARE_EVIDENCE,
    MIN_RELATIVE_WEIGHT,
    choose,
    member_weights,
    weigh,
)
from tests.search.problems import random_trials, sides, trials_of

BINARY = np.array([0, 1, 0, 1, 1])
EVEN = np.array([2, 2])
few_examples = settings(max_examples=15)


def drawn_trials(n_classes=2):
    """Draw candidates that differ, with or without held-out labels."""
    return st.builds(
        random_trials,
        m=st.integers(1, 12),
        n_classes=st.just(n_classes),
        seed=st.integers(0, 10**6),
        n_held_out=st.integers(0, 8),
        supervised=st.sampled_from([0.0, 0.4, 1.0]),
    )


def drawn_counts(n_classes=2):
    """Draw the number of labels of each class."""
    return st.lists(st.integers(1, 5), min_size=n_classes, max_size=n_classes).map(np.array)


def without_held_out_labels(m, n_classes=2, **options):
    columns = np.zeros((m, 0, n_classes * (n_classes - 1) // 2))
    return trials_of(columns, [], n_classes=n_classes, **options)


def reordered(trials, order):
    return replace(
        trials,
        params=[trials.params[i] for i in order],
        supervised=trials.supervised[order],
        held_out_values=trials.held_out_values[order],
        scales=trials.scales[order],
        pair_scales=trials.pair_scales[order],
        shares=trials.shares[order],
    )


# The prior of candidates.


@pytest.mark.parametrize(
    ("supervised", "expected"),
    [
        ([True, False, False], [0.5, 0.25, 0.25]),
        ([False, True, True, False], [0.25, 0.25, 0.25, 0.25]),
        ([True, True, True, False], [1 / 6, 1 / 6, 1 / 6, 0.5]),
        ([True, True], [0.5, 0.5]),
        ([False, False, False], [1 / 3, 1 / 3, 1 / 3]),
        ([True], [1.0]),
        ([False], [1.0]),
    ],
)
def test_half_of_the_prior_is_for_supervised_learning_if_there_is_a_choice(supervised, expected):
    trials = without_held_out_labels(len(supervised), supervised=supervised)
    choice = choose(trials, EVEN)
    np.testing.assert_allclose(choice.weights, expected, rtol=1e-12)
    assert choice.supervised_weight == pytest.approx(np.array(expected)[supervised].sum())


# The weights.


@few_examples
@given(data=st.data(), n_classes=st.integers(2, 3))
def test_weights_are_a_distribution_and_the_largest_is_the_best(data, n_classes):
    trials, counts = data.draw(drawn_trials(n_classes)), data.draw(drawn_counts(n_classes))
    choice = choose(trials, counts)
    assert (choice.weights >= 0).all()
    assert choice.weights.sum() == pytest.approx(1.0)
    assert choice.weights[choice.best] == choice.weights.max() > 0
    assert choice.best_params is trials.params[choice.best]
    assert choice.share_log_likelihood.shape == choice.log_likelihood.shape == choice.weights.shape


@few_examples
@given(trials=drawn_trials(), counts=drawn_counts(), data=st.data())
def test_order_of_the_candidates_does_not_matter(trials, counts, data):
    order = np.array(data.draw(st.permutations(range(len(trials.params)))))
    choice, other = choose(trials, counts), choose(reordered(trials, order), counts)
    np.testing.assert_allclose(other.weights, choice.weights[order], rtol=1e-9)
    np.testing.assert_allclose(other.log_likelihood, choice.log_likelihood[order], rtol=1e-12)
    np.testing.assert_allclose(
        other.share_log_likelihood, choice.share_log_likelihood[order], rtol=1e-12
    )
    np.testing.assert_allclose(
        other.trials.scores(other.weights),
        choice.trials.scores(choice.weights),
        rtol=1e-9,
        atol=1e-12,
    )
    assert other.supervised_weight == pytest.approx(choice.supervised_weight)


@few_examples
@given(m=st.integers(1, 24), n_supervised=st.integers(0, 3))
def test_equal_candidates_have_equal_weights(m, n_supervised):
    held_out = np.broadcast_to(sides([-1.0, 1.0, -1.0, 1.0, 1.0]), (m + n_supervised, 5, 1))
    supervised = np.arange(m + n_supervised) < n_supervised
    weights = choose(trials_of(held_out, BINARY, supervised=supervised), EVEN).weights
    for group in (weights[supervised], weights[~supervised]):
        np.testing.assert_allclose(group, group.mean() if len(group) else 0.0, rtol=1e-9)
    assert (weights > 0).all()


def test_weights_are_those_of_bayes_rule():
    rng = np.random.default_rng(0)
    trials = trials_of(
        rng.normal(size=(5, 1)) + 0.3 * rng.normal(size=(3, 5, 1)),
        BINARY,
        supervised=[False, True, False],
        shares=[[0.4, 0.6], [0.5, 0.5], [0.35, 0.65]],
    )
    choice = choose(trials, np.array([3, 5]))
    posterior = np.array([0.25, 0.5, 0.25])
    posterior *= np.exp(choice.log_likelihood + choice.share_log_likelihood)
    assert (posterior / posterior.sum()).min() > 0.1, "none should be left out"
    np.testing.assert_allclose(choice.weights, posterior / posterior.sum(), rtol=1e-12)


@pytest.mark.parametrize("n_labels", [2, 4, 10])
def test_candidate_that_is_right_beats_one_that_is_wrong(n_labels):
    given_codes = np.arange(n_labels) % 2
    right = 2.0 * given_codes - 1
    choice = choose(trials_of(sides([right, -right]), given_codes), EVEN)
    assert choice.best == 0
    assert choice.weights[0] > 0.6
    assert choice.errors.tolist() == [0.0, 1.0]
    assert choice.error == 0.0
    # A candidate that is wrong about all labels is worse than a coin, but not by much: its
    # probabilities are nearly even. One that is right is surer, the more labels there are.
    right, wrong = choice.log_likelihood / n_labels
    assert -2.0 < wrong < np.log(0.5)
    assert np.log(expit(2.0)) < right < 0


def test_candidate_that_is_right_beats_others_with_three_classes():
    given_codes = np.array([0, 1, 2, 0, 1, 2])
    right = np.array([[1.0, 1.0, 0.5], [-1.0, 0.5, 1.0], [0.5, -1.0, -1.0]])
    columns = right[given_codes]
    wrong = right[(given_codes + 1) % 3]
    half = np.where(np.arange(6)[:, None] < 3, columns, wrong)
    trials = trials_of([wrong, columns, half], given_codes, n_classes=3)
    choice = choose(trials, np.array([2, 2, 2]))
    assert choice.best == 1
    np.testing.assert_allclose(choice.errors, [1.0, 0.0, 0.5])
    assert choice.log_likelihood[1] > choice.log_likelihood[2] > choice.log_likelihood[0]


def test_log_likelihood_is_that_of_scores_with_the_likeliest_inverse_temperature():
    scores = np.array([-0.3, 1.2, 0.4, 0.9, 2.0])  # the third is wrong
    choice = choose(trials_of(sides([scores]), BINARY), np.array([2, 3]))
    sides_of_labels = np.where(BINARY == 1, scores, -scores)
    center = 2 / np.abs(scores).mean()  # by the prior

    def loss(log_a):
        prior = (log_a - np.log(center)) ** 2 / (2 * 0.5**2)
        return prior - log_expit(np.exp(log_a) * sides_of_labels).sum()

    a = np.exp(minimize_scalar(loss, bounds=(-6, 6), method="bounded").x)
    expected = log_expit(a * sides_of_labels)
    np.testing.assert_allclose(choice.label_log_likelihood, [expected], atol=1e-4)
    assert choice.log_likelihood == pytest.approx(choice.label_log_likelihood.sum(axis=1))


@pytest.mark.parametrize("factor", [0.2, 5.0])
def test_units_of_two_classes_do_not_matter(factor):
    rng = np.random.default_rng(0)
    columns = sides((2.0 * BINARY - 1) * rng.uniform(-0.3, 2.0, size=(4, 5)))
    expected, choice = (choose(trials_of(unit * columns, BINARY), EVEN) for unit in (1.0, factor))
    np.testing.assert_allclose(choice.log_likelihood, expected.log_likelihood, atol=1e-3)
    np.testing.assert_allclose(choice.weights, expected.weights, atol=1e-3)


@pytest.mark.parametrize("columns", [np.zeros((5, 1)), np.full((5, 1), 1e200), -np.ones((5, 1))])
def test_scores_without_information_have_the_likelihood_of_chance(columns):
    choice = choose(trials_of([columns], BINARY), np.array([2, 3]))
    assert choice.weights.tolist() == [1.0]
    assert np.isfinite(choice.log_likelihood).all()
    assert choice.log_likelihood[0] <= 5 * np.log(0.5) + 0.5


# Class shares.


def test_equal_shares_are_no_evidence():
    shares = np.array([[0.25, 0.75], [0.5, 0.5], [0.2, 0.8]])
    choice = choose(without_held_out_labels(3, shares=shares), np.array([2, 6]))
    assert choice.share_log_likelihood[0] == 0
    assert (choice.share_log_likelihood[1:] < 0).all()
    expected = 2 * np.log(0.5 / 0.25) + 6 * np.log(0.5 / 0.75)
    assert choice.share_log_likelihood[1] == pytest.approx(expected)
    # A class without a label says nothing, but takes shares.
    trials = without_held_out_labels(2, 3, shares=[[0.5, 0.5, 1e-9], [0.4, 0.4, 0.2]])
    evidence = choose(trials, np.array([3, 3, 0])).share_log_likelihood
    np.testing.assert_allclose(evidence, [0.0, 6 * np.log(0.8)], atol=1e-7)


def test_evidence_of_class_shares_is_at_most_three_nats():
    shares = np.array([[0.5, 0.5], [1e-4, 1 - 1e-4], [0.999, 0.001]])
    choice = choose(without_held_out_labels(3, shares=shares), np.array([50, 50]))
    np.testing.assert_allclose(choice.share_log_likelihood, [0, -3, -3], atol=1e-12)
    assert MAX_SHARE_EVIDENCE == 3.0


@given(
    counts=st.lists(st.integers(0, 30), min_size=2, max_size=5).filter(any),
    seed=st.integers(0, 10**6),
)
def test_share_evidence_is_between_its_limits(counts, seed):
    shares = np.random.default_rng(seed).dirichlet(np.ones(len(counts)), size=4)
    trials = without_held_out_labels(4, len(counts), shares=np.maximum(shares, 1e-6))
    evidence = choose(trials, np.array(counts)).share_log_likelihood
    assert ((evidence >= -3) & (evidence <= 1e-4)).all()


# What is left out.


@pytest.mark.parametrize(
    ("posterior", "kept"),
    [
        ([0.6, 0.25, 0.1, 0.05], 3),
        ([0.95, 0.03, 0.02], 1),
        ([0.05, 0.9, 0.05], 1),
        ([0.89, 0.11], 2),
        ([0.05] * 20, 20),
        ([0.3, 0.3, 0.31, 0.03, 0.03, 0.03], 3),
        ([1.0], 1),
    ],
)
def test_least_likely_candidates_are_left_out(posterior, kept):
    # One label of each class and none held out: the posterior is that of the shares alone,
    # proportional to s (1 - s).
    posterior = np.array(posterior)
    products = posterior / posterior.max() / 4
    s = (1 + np.sqrt(1 - 4 * products)) / 2
    trials = without_held_out_labels(len(s), shares=np.column_stack([s, 1 - s]))
    choice = choose(trials, np.array([1, 1]))
    order = np.argsort(-posterior, kind="stable")
    assert (choice.weights[order[:kept]] > 0).all()
    assert (choice.weights[order[kept:]] == 0).all()
    left = posterior[order[:kept]].sum()
    np.testing.assert_allclose(
        choice.weights[order[:kept]], posterior[order[:kept]] / left, rtol=1e-6
    )
    assert left >= BLENDED_WEIGHT or kept == len(posterior)


@few_examples
@given(trials=drawn_trials(), counts=drawn_counts(), limit=st.integers(1, 4))
def test_number_of_blended_candidates_is_limited_to_the_likeliest(trials, counts, limit):
    everyone = choose(trials, counts)
    few = choose(replace(trials, max_blended=limit), counts)
    kept = np.flatnonzero(few.weights > 0)
    assert len(kept) == min(limit, (everyone.weights > 0).sum())
    assert few.best == everyone.best
    assert few.weights.sum() == pytest.approx(1.0)
    expected = everyone.weights[kept] / everyone.weights[kept].sum()
    np.testing.assert_allclose(few.weights[kept], expected, rtol=1e-9)
    left_out = np.setdiff1d(np.arange(len(trials.params)), kept)
    least = everyone.weights[kept].min()
    assert (everyone.weights[left_out] <= least * (1 + 1e-9)).all()


def test_candidates_that_differ_by_rounding_are_limited_in_their_order():
    scores = np.array([-1.0, 1.0, -1.0, 1.0, 1.0])
    for noise in (1e-13, -1e-13):
        steps = noise * np.arange(6)[:, None] * np.arange(5)
        choice = choose(trials_of(sides(scores + steps), BINARY, max_blended=2), EVEN)
        assert np.flatnonzero(choice.weights).tolist() == [0, 1]


# Class weights.


def test_held_out_labels_of_a_heavy_class_count_more():
    # The first candidate is right about the common class (f > 0), the second about the rare one.
    codes = [0] * 8 + [1] * 2
    values = [[1.0] * 10, [-0.3] * 4 + [1.0] * 4 + [-1.0] * 2]
    trials, counts = trials_of(np.array(values)[..., None], codes), np.array([8, 2])
    plain, heavy = choose(trials, counts), choose(trials, counts, class_weight=(1.0, 20.0))
    assert heavy.weights[1] > plain.weights[1]
    factors = np.repeat([1.0, 20.0], [8, 2])
    np.testing.assert_allclose(
        heavy.label_log_likelihood, plain.label_log_likelihood * factors / factors.mean()
    )


@pytest.mark.parametrize("weight", [0.01, 1.0, 100.0])
def test_equal_class_weights_change_nothing(weight):
    trials, counts = random_trials(4), np.array([2, 1])
    expected = choose(trials, counts).weights
    np.testing.assert_allclose(choose(trials, counts, (weight, weight)).weights, expected)


def test_class_weights_without_held_out_labels_are_no_error():
    choice = choose(without_held_out_labels(2), np.array([1, 1]), class_weight=(1.0, 5.0))
    assert choice.weights.tolist() == [0.5, 0.5]


# The weights of members.


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=6))
def test_weights_of_members_follow_the_tempered_likelihood(log_likelihood):
    weights = member_weights(np.array(log_likelihood))
    assert weights.sum() == pytest.approx(1)
    kept = weights > 0
    differences = np.subtract.outer(log_likelihood, log_likelihood)[np.ix_(kept, kept)]
    ratios = np.subtract.outer(np.log(weights[kept]), np.log(weights[kept]))
    np.testing.assert_allclose(ratios, LIKELIHOOD_EXPONENT * differences, atol=1e-9)
    smallest = max(log_likelihood) + np.log(MIN_RELATIVE_WEIGHT) / LIKELIHOOD_EXPONENT
    np.testing.assert_array_equal(kept, np.array(log_likelihood) >= smallest)


def test_prior_of_members_is_not_tempered():
    weights = member_weights(np.full(3, -7.0), np.log([1.0, 0.5, 0.05]))
    np.testing.assert_allclose(weights, [2 / 3, 1 / 3, 0.0], atol=1e-12)


def tried(scores, codes, prior=1.0, **changed):
    """Return the choice of a member with one candidate, of these scores at held-out labels."""
    codes = np.asarray(codes)
    changed = {"held_out_rows": np.arange(len(codes)), **changed}
    member = Member(f"prior {prior}", Supervised.auto(None, "rbf"), prior=prior)
    counts = np.maximum(1, np.bincount(codes, minlength=2))
    return choose(trials_of(sides([scores]), codes, **changed), counts, member=member)


def test_members_are_weighed_by_their_calibrated_probabilities():
    rng = np.random.default_rng(0)
    codes = np.arange(12) % 2
    parts = [tried((2.0 * codes - 1) + noise * rng.normal(size=12), codes) for noise in (0.3, 1.5)]
    choice = weigh(parts)
    of_label = np.array([part.calibrated_probabilities[np.arange(12), codes] for part in parts])
    np.testing.assert_allclose(choice.label_log_likelihood, np.log(of_label))
    np.testing.assert_allclose(
        choice.weights, member_weights(np.log(of_label).sum(axis=1)), rtol=1e-12
    )
    for number, weights in choice.fold_weights.items():
        others = choice.trials.fold != number
        expected = member_weights(np.log(of_label[:, others]).sum(axis=1))
        np.testing.assert_allclose(weights, expected, rtol=1e-12)
    assert choice.trials.params == [{"member": "prior 1.0"}] * 2
    assert choice.trials.supervised.tolist() == [False, False]
    assert choice.parts == tuple(parts)


def test_members_are_compared_on_the_labels_that_all_of_them_held_out():
    """They may sample others of many labels; each has them in an order of its own."""
    codes = np.arange(12) % 2
    scores, fold = 2.0 * codes - 1, np.arange(12) // 3
    first, second = np.arange(10), np.array([9, 2, 3, 11, 4, 5, 10, 8])
    common = [2, 3, 4, 5, 8, 9]
    choice = weigh(
        [
            tried(scores[rows], codes[rows], held_out_rows=rows, fold=fold[rows])
            for rows in (first, second)
        ]
    )
    assert choice.trials.held_out_rows.tolist() == common
    np.testing.assert_array_equal(choice.trials.held_out_codes, codes[common])
    np.testing.assert_array_equal(choice.trials.fold, fold[common])
    for i, (part, rows) in enumerate(zip(choice.parts, (first, second), strict=True)):
        places = [rows.tolist().index(row) for row in common]
        np.testing.assert_array_equal(
            choice.trials.held_out_values[i], part.calibrated_probabilities[places]
        )


def test_validation_rows_have_no_numbers_and_are_the_same_for_all_members():
    codes, options = np.arange(6) % 2, {"held_out_rows": None, "fold": np.zeros(6, dtype=int)}
    choice = weigh([tried(factor * (2.0 * codes - 1), codes, **options) for factor in (1, -1)])
    assert choice.trials.held_out_rows is None
    assert choice.trials.held_out_values.shape == (2, 6, 2)
    np.testing.assert_array_equal(choice.fold_weights[0], choice.weights)
    assert choice.weights[0] > 0.9


def test_without_held_out_labels_members_have_their_priors():
    choice = weigh([tried([], np.zeros(0, dtype=int), prior) for prior in (1.0, 2.0, 0.5, 0.1)])
    np.testing.assert_allclose(choice.weights, np.array([1.0, 2.0, 0.5, 0.0]) / 3.5)
    assert choice.fold_weights == {}
