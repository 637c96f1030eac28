from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.special import expit, log_expit

from graphmargin.margin import coupled_log_probabilities
from graphmargin.selection.choice import BLENDED_WEIGHT, MAX_SHARE_EVIDENCE, choose, error_rate
from tests.selection.tasks import trials_of

BINARY = np.array([0, 1, 0, 1, 1])
EVEN = np.array([2, 2])
few_examples = settings(max_examples=15)


def without_held_out_labels(m, n_classes=2, **options):
    columns = np.zeros((m, 0, n_classes * (n_classes - 1) // 2))
    return trials_of(columns, [], n_classes=n_classes, **options)


def sides(scores):
    """Return columns for two classes whose scores, positive for the second, are these."""
    return -np.asarray(scores, dtype=np.float64)[..., None]


@st.composite
def random_trials(draw, n_classes=2, max_candidates=12):
    """Draw candidates that differ, with or without held-out labels, and label counts."""
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    m, h = draw(st.integers(1, max_candidates)), draw(st.integers(0, 8))
    pairs = n_classes * (n_classes - 1) // 2
    shares = rng.dirichlet(np.full(n_classes, 5.0), size=m)
    trials = trials_of(
        rng.normal(size=(m, h, pairs)),
        rng.integers(n_classes, size=h),
        supervised=rng.random(m) < draw(st.sampled_from([0.0, 0.4, 1.0])),
        shares=shares,
        scales=rng.uniform(0.1, 10, size=m),
        pair_scales=rng.uniform(0.5, 2, size=(m, pairs)),
        n_classes=n_classes,
    )
    return trials, rng.integers(1, 6, size=n_classes)


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


# The prior.


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
@given(drawn=st.one_of(random_trials(), random_trials(n_classes=3)))
def test_weights_are_a_distribution_and_the_largest_is_the_best(drawn):
    choice = choose(*drawn)
    assert (choice.weights >= 0).all()
    assert choice.weights.sum() == pytest.approx(1.0)
    assert choice.weights[choice.best] == choice.weights.max() > 0
    assert choice.best_params is drawn[0].params[choice.best]
    assert choice.share_log_likelihood.shape == choice.log_likelihood.shape == choice.weights.shape


@few_examples
@given(drawn=random_trials(), data=st.data())
def test_order_of_the_candidates_does_not_matter(drawn, data):
    trials, counts = drawn
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


def test_log_likelihood_is_that_of_scores_with_the_likeliest_sharpness():
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
@given(drawn=random_trials(), limit=st.integers(1, 4))
def test_number_of_blended_candidates_is_limited_to_the_likeliest(drawn, limit):
    trials, counts = drawn
    everyone, few = choose(trials, counts), choose(trials, counts, limit)
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
        choice = choose(trials_of(sides(scores + steps), BINARY), EVEN, 2)
        assert np.flatnonzero(choice.weights).tolist() == [0, 1]


# The blend.


@few_examples
@given(drawn=random_trials())
def test_blend_lists_the_likeliest_first_and_its_factors_give_the_scores(drawn):
    trials, _ = drawn
    choice = choose(*drawn)
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


@pytest.mark.parametrize("columns", [np.zeros((5, 1)), np.full((5, 1), 1e200), -np.ones((5, 1))])
def test_scores_without_information_have_the_likelihood_of_chance(columns):
    choice = choose(trials_of([columns], BINARY), np.array([2, 3]))
    assert choice.weights.tolist() == [1.0]
    assert np.isfinite(choice.log_likelihood).all()
    assert choice.log_likelihood[0] <= 5 * np.log(0.5) + 0.5


# The table.


@few_examples
@given(drawn=random_trials())
def test_results_have_a_row_for_each_candidate(drawn):
    trials, _ = drawn
    choice = choose(*drawn)
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
