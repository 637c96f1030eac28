import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from graphmargin.margin.calibration import (
    Calibration,
    calibrate_machine,
    calibration_targets,
    fit_calibration,
    fit_inverse_temperature,
    inverse_temperature_at_confidence,
    probabilities,
)
from graphmargin.margin.coupling import class_scores
from graphmargin.margin.kernels import Kernel
from graphmargin.margin.machine import MarginMachine, TrainingReport

seeds = st.integers(0, 2**32 - 1)


def typical_inverse_temperature(scores):
    """Return the inverse temperature that gives the best two classes mean log-odds of 2."""
    best = np.sort(scores, axis=1)
    return 2 / (best[:, -1] - best[:, -2]).mean()


def penalized_loss(scores, targets, a, uniform_share=0.0):
    """Return minus the logarithm of the posterior density, up to a constant."""
    prior = (np.log(a / typical_inverse_temperature(scores)) / 0.5) ** 2 / 2 + uniform_share / 0.1
    return prior - float((targets * np.log(probabilities(scores, a, uniform_share))).sum())


def slope(a, scores, targets):
    """Return the derivative of the penalized loss by log a: expected minus target score."""
    by_data = a * float(((probabilities(scores, a) - targets) * scores).sum())
    return by_data + np.log(a / typical_inverse_temperature(scores)) / 0.5**2


def random_problem(seed, n_classes, n=40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_classes)), rng.dirichlet(np.ones(n_classes), size=n)


@given(seed=seeds, n_classes=st.integers(2, 5))
@settings(max_examples=50)
def test_derivative_of_the_penalized_loss_vanishes(seed, n_classes):
    scores, targets = random_problem(seed, n_classes)
    a = fit_inverse_temperature(scores, targets)
    by_root = brentq(slope, 1e-3, 1e3, args=(scores, targets), xtol=1e-10)
    assert a == pytest.approx(by_root, rel=1e-3)


def test_inverse_temperature_is_near_the_typical_one_where_the_scores_separate():
    """All labels are right, so that the data alone would make it infinite."""
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    right, wrong = np.eye(2)[[0, 0, 1, 1]], np.eye(2)[[1, 1, 0, 0]]
    typical = 2 / 1.5
    assert typical < fit_inverse_temperature(scores, right) < 1.5 * typical
    assert 0.1 * typical < fit_inverse_temperature(scores, wrong) < 0.5 * typical
    many = fit_inverse_temperature(np.tile(scores, 100), np.tile(right, (100, 1)))
    assert many > 2 * typical, "labels outweigh the prior in the end"


def test_constant_scores_give_even_probabilities():
    scores, targets = np.zeros(5), np.tile([0.3, 0.7], (5, 1))
    np.testing.assert_array_equal(
        probabilities(scores, fit_inverse_temperature(scores, targets)), 0.5
    )


def test_one_column_is_the_difference_of_two_classes():
    scores, _ = random_problem(3, 2)
    difference = scores[:, 1] - scores[:, 0]
    targets = np.column_stack([expit(-2 * difference), expit(2 * difference)])
    assert fit_inverse_temperature(difference, targets) == pytest.approx(
        fit_inverse_temperature(scores, targets)
    )
    np.testing.assert_allclose(probabilities(difference, 1.5), probabilities(scores, 1.5))
    np.testing.assert_allclose(
        np.log(probabilities(difference, 1.5)[:, 1]), log_expit(1.5 * difference)
    )


@given(
    scores=st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.floats(-1e6, 1e6))
    ),
    inverse_temperature=st.floats(1e-3, 1e3),
)
@settings(max_examples=100)
def test_rows_sum_to_one_and_the_largest_score_stays_largest(scores, inverse_temperature):
    P = probabilities(scores, inverse_temperature)
    assert np.isfinite(P).all()
    np.testing.assert_allclose(P.sum(axis=1), 1.0)
    rows = np.arange(len(scores))
    np.testing.assert_array_equal(P[rows, scores.argmax(axis=1)], P.max(axis=1))


def test_no_rows_have_no_probabilities():
    assert probabilities(np.empty(0), 1.0).shape == (0, 2)
    assert probabilities(np.empty((0, 3)), 1.0).shape == (0, 3)


def test_targets_are_those_computed_by_hand():
    class_mass = np.array([[0.1, 0.3, 0.0], [1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 0]])
    codes = np.array([-1, 0, 0, 2, -1])
    np.testing.assert_allclose(
        calibration_targets(class_mass, codes),
        [
            [1 / 4, 3 / 4, 0],  # the walk's shares, given that it ends at a label
            [3 / 4, 1 / 8, 1 / 8],  # two labels of class 0: (2 + 1) / (2 + 2)
            [3 / 4, 1 / 8, 1 / 8],
            [1 / 6, 1 / 6, 2 / 3],  # one label of class 2: (1 + 1) / (1 + 2)
            [1 / 3, 1 / 3, 1 / 3],  # no label in reach
        ],
    )


@pytest.mark.parametrize(
    ("inverse_temperature", "uniform_share"), [(0.5, 0.0), (2.0, 0.2), (5.0, 0.5)]
)
def test_calibration_recovers_inverse_temperature_and_uniform_share(
    inverse_temperature, uniform_share
):
    scores = random_problem(0, 4, n=3000)[0]
    fitted = fit_calibration(scores, probabilities(scores, inverse_temperature, uniform_share))
    # Neighbors among the tried values of a differ by a factor of 1.17.
    assert fitted.inverse_temperature == pytest.approx(inverse_temperature, rel=0.3)
    assert fitted.uniform_share == pytest.approx(uniform_share, abs=0.05)


@given(seed=seeds, n_classes=st.integers(2, 4), n=st.integers(1, 30))
@settings(max_examples=15)
def test_no_other_calibration_is_likelier(seed, n_classes, n):
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=(n, n_classes))
    targets = np.eye(n_classes)[rng.integers(n_classes, size=n)]
    fitted = fit_calibration(scores, targets)
    least = penalized_loss(scores, targets, fitted.inverse_temperature, fitted.uniform_share)
    for a in typical_inverse_temperature(scores) * np.geomspace(0.05, 5, 20):
        for uniform_share in np.linspace(1e-6, 0.99, 15):
            other = penalized_loss(scores, targets, a, uniform_share)
            assert least <= other + 0.1  # a is on a grid
    for uniform_share in fitted.uniform_share * np.array([0.99, 1.01]):
        other = penalized_loss(
            scores, targets, fitted.inverse_temperature, np.clip(uniform_share, 1e-6, 1)
        )
        assert least <= other + 2e-6  # the uniform share is found to 1e-7


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3])
def test_uniform_share_is_the_share_of_labels_that_are_random(share):
    rng = np.random.default_rng(0)
    n, c = 3000, 4
    scores = rng.normal(size=(n, c)) * 3
    codes = (probabilities(scores, 2.0).cumsum(axis=1) < rng.random((n, 1))).sum(axis=1)
    codes = np.where(rng.random(n) < share, rng.integers(c, size=n), codes)
    assert fit_calibration(scores, np.eye(c)[codes]).uniform_share == pytest.approx(share, abs=0.03)


@pytest.mark.parametrize("factor", [1e-9, 1e9])
def test_units_of_the_scores_do_not_matter(factor):
    scores, targets = random_problem(5, 3)
    plain, other = fit_calibration(scores, targets), fit_calibration(factor * scores, targets)
    np.testing.assert_allclose(
        other.probabilities(factor * scores), plain.probabilities(scores), rtol=1e-6
    )
    a = fit_inverse_temperature(factor * scores, targets) * factor
    assert a == pytest.approx(fit_inverse_temperature(scores, targets), rel=1e-6)


def test_graph_has_a_weight_if_it_knows_the_labels_and_none_if_it_is_noise():
    rng = np.random.default_rng(0)
    codes = np.arange(300) % 3
    targets, scores = np.eye(3)[codes], np.eye(3)[codes] + rng.normal(size=(300, 3))
    knows, noise = (
        np.log(0.5 * rng.dirichlet(np.ones(3), size=300) + 0.5 * np.eye(3)[guess])
        for guess in (codes, rng.integers(3, size=300))
    )
    alone = fit_calibration(scores, targets)
    assert alone.graph_weight == 0
    assert fit_calibration(scores, targets, noise).graph_weight == 0
    fitted = fit_calibration(scores, targets, knows)
    assert fitted.graph_weight > 0
    P = fitted.probabilities(scores + fitted.graph_weight * knows)[targets == 1]
    assert np.log(P).sum() > np.log(alone.probabilities(scores)[targets == 1]).sum()


def test_a_few_labels_that_fit_are_no_reason_for_a_graph():
    fitted = fit_calibration(5 * np.eye(3), np.eye(3), np.log(0.9 * np.eye(3) + 1 / 30))
    assert fitted.graph_weight == 0


@pytest.mark.parametrize("size", [0.0, 1e-300, 1e-30])
def test_scores_that_say_nothing_have_even_probabilities(size):
    scores = size * np.array([-1.0, 1.0, 2.0])
    P = fit_calibration(scores, np.eye(2)[[0, 1, 0]]).probabilities(scores)
    np.testing.assert_allclose(P, 0.5, atol=1e-12)


def test_without_rows_the_calibration_is_that_of_the_prior():
    fitted = fit_calibration(np.zeros((0, 3)), np.zeros((0, 3)))
    assert fitted.inverse_temperature == pytest.approx(2.0)
    assert fitted.uniform_share == pytest.approx(0.0, abs=2e-6)


def test_pairs_are_calibrated_in_their_own_units():
    rng = np.random.default_rng(0)
    codes, units = np.arange(30) % 3, np.array([1e-3, 1.0, 50.0])
    f = rng.normal(size=(30, 3)) * units
    report = TrainingReport("smo", 1.0, 30)
    machine = MarginMachine(Kernel("linear"), None, np.eye(3), np.zeros(3), 3, 0.0, report)
    fitted = calibrate_machine(machine, f, np.eye(3)[codes])
    np.testing.assert_allclose(fitted.pair_scales, np.abs(f).mean(axis=0))
    expected = fit_calibration(class_scores(f, 3, fitted.pair_scales), np.eye(3)[codes])
    assert (fitted.inverse_temperature, fitted.uniform_share) == (
        expected.inverse_temperature,
        expected.uniform_share,
    )


def test_uniform_share_mixes_with_the_uniform_distribution():
    P = Calibration(1.0, 0.3).probabilities(np.array([[0.0, 1.0, 2.0]]))
    plain = probabilities(np.array([[0.0, 1.0, 2.0]]), 1.0)
    assert pytest.approx(1.0) == P.sum()
    assert pytest.approx(0.7 * plain + 0.1) == P


def test_uniform_share_of_a_sample_is_that_of_all_labels():
    codes = np.array([0, 1, 1, 0, 1, -1])
    mass = np.random.default_rng(0).dirichlet(np.ones(2), 6)
    whole, sample = calibration_targets(mass, codes), [0, 2, 5]
    targets = calibration_targets(mass[sample], codes[sample], np.array([2, 3]))
    np.testing.assert_array_equal(targets, whole[sample])


@given(seeds, st.floats(0.3, 0.95))
def test_the_inverse_temperature_at_a_confidence_has_this_confidence(seed, confidence):
    scores = np.random.default_rng(seed).normal(size=(6, 4))
    inverse_temperature = inverse_temperature_at_confidence(scores, confidence)
    reached = probabilities(scores, inverse_temperature).max(axis=1).mean()
    assert reached == pytest.approx(confidence, abs=1e-6)


def test_a_confidence_that_scores_cannot_have_gives_a_finite_inverse_temperature():
    assert np.isfinite(inverse_temperature_at_confidence(np.zeros((2, 2)), 0.9))
    assert np.isfinite(inverse_temperature_at_confidence(np.array([[1.0, 0.0]]), 0.1))
