import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.optimize import brentq
from scipy.special import expit, log_expit

from graphmargin.margin import (
    calibration_targets,
    fit_calibration,
    fit_sharpness,
    probabilities,
)

seeds = st.integers(0, 2**32 - 1)


def slope(a, scores, targets):
    """Derivative of the cross-entropy: expected minus target score."""
    return float(((probabilities(scores, a) - targets) * scores).sum())


def random_problem(seed, n_classes, n=40):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, n_classes)), rng.dirichlet(np.ones(n_classes), size=n)


@given(seed=seeds, n_classes=st.integers(2, 5))
@settings(max_examples=50)
def test_derivative_of_the_cross_entropy_vanishes(seed, n_classes):
    scores, targets = random_problem(seed, n_classes)
    # Targets lean towards the best score, so that the optimum is inside the bounds.
    targets = (targets + probabilities(scores, 2.0)) / 2
    a = fit_sharpness(scores, targets)
    by_root = brentq(slope, 1e-3, 1e3, args=(scores, targets), xtol=1e-10)
    assert a == pytest.approx(by_root, rel=1e-3)


def test_sharpness_is_bounded_where_the_scores_separate_or_are_wrong():
    scores = np.array([-2.0, -1.0, 1.0, 2.0])
    a = fit_sharpness(scores, np.eye(2)[[0, 0, 1, 1]])
    assert 10 < a <= 1e3
    assert np.isfinite(probabilities(scores, a)).all()
    assert 1e-3 <= fit_sharpness(scores, np.eye(2)[[1, 1, 0, 0]]) < 2e-3


def test_constant_scores_give_even_probabilities():
    scores, targets = np.zeros(5), np.tile([0.3, 0.7], (5, 1))
    np.testing.assert_array_equal(probabilities(scores, fit_sharpness(scores, targets)), 0.5)


def test_one_column_is_the_difference_of_two_classes():
    scores, _ = random_problem(3, 2)
    difference = scores[:, 1] - scores[:, 0]
    targets = np.column_stack([expit(-2 * difference), expit(2 * difference)])
    assert fit_sharpness(difference, targets) == pytest.approx(fit_sharpness(scores, targets))
    np.testing.assert_allclose(probabilities(difference, 1.5), probabilities(scores, 1.5))
    np.testing.assert_allclose(
        np.log(probabilities(difference, 1.5)[:, 1]), log_expit(1.5 * difference)
    )


@given(
    scores=st.tuples(st.integers(1, 6), st.integers(2, 5)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.floats(-1e6, 1e6))
    ),
    sharpness=st.floats(1e-3, 1e3),
)
@settings(max_examples=100)
def test_rows_sum_to_one_and_the_largest_score_stays_largest(scores, sharpness):
    P = probabilities(scores, sharpness)
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


def cross_entropy(scores, targets, sharpness, doubt=0.0):
    """The tolerance is that of all targets together."""
    return float(-(targets * np.log(probabilities(scores, sharpness, doubt))).sum())


@pytest.mark.parametrize(("sharpness", "doubt"), [(0.5, 0.0), (2.0, 0.2), (5.0, 0.5)])
def test_calibration_recovers_sharpness_and_doubt(sharpness, doubt):
    scores = random_problem(0, 4, n=3000)[0]
    fitted = fit_calibration(scores, probabilities(scores, sharpness, doubt))
    # Neighbors among the tried values of a differ by a factor of 1.26.
    assert fitted.sharpness == pytest.approx(sharpness, rel=0.3)
    assert fitted.doubt == pytest.approx(doubt, abs=0.05)


def test_of_equally_good_sharpnesses_the_least_is_taken():
    """All labels are right: any large sharpness fits, but probabilities still differ."""
    scores = np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0])
    codes = (scores > 0).astype(int)
    targets = calibration_targets(np.eye(2)[codes], codes)
    sharpness, doubt = fit_calibration(scores, targets)
    P = probabilities(scores, sharpness, doubt)[:, 1]
    assert (np.diff(P) > 1e-6).all()
    best = min(cross_entropy(scores, targets, 50.0, d) for d in np.linspace(0.01, 0.99, 99))
    assert cross_entropy(scores, targets, sharpness, doubt) <= best + 0.1


def test_doubt_mixes_with_the_uniform_distribution():
    P = probabilities(np.array([[0.0, 1.0, 2.0]]), 1.0, 0.3)
    plain = probabilities(np.array([[0.0, 1.0, 2.0]]), 1.0)
    assert pytest.approx(1.0) == P.sum()
    assert pytest.approx(0.7 * plain + 0.1) == P


def test_doubt_of_a_sample_is_that_of_all_labels():
    codes = np.array([0, 1, 1, 0, 1, -1])
    mass = np.random.default_rng(0).dirichlet(np.ones(2), 6)
    whole, sample = calibration_targets(mass, codes), [0, 2, 5]
    targets = calibration_targets(mass[sample], codes[sample], np.array([2, 3]))
    np.testing.assert_array_equal(targets, whole[sample])
