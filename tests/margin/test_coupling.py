"""The coupling of pairs: closed forms, optimality conditions and a quadratic program."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import expit

import graphmargin._blocks
from graphmargin.margin.coupling import (
    LEAST_PROBABILITY,
    MAX_LOG_ODDS,
    PAIR_INVERSE_TEMPERATURE,
    class_scores,
    coupled_log_probabilities,
    mean_sizes,
    scales_of_pairs,
)
from tests.margin.problems import quadratic_program

problems = given(seed=st.integers(0, 10**6), n_classes=st.integers(3, 7))


def coupled(pairwise, n_classes):
    return np.exp(coupled_log_probabilities(pairwise, n_classes))


def random_pairs(seed, n_classes, n=5):
    """Return f of all pairs, of sizes between certainty and none."""
    rng = np.random.default_rng(seed)
    f = rng.normal(size=(n, n_classes * (n_classes - 1) // 2))
    return f * rng.choice([0.0, 1e-3, 0.3, 1.0, 10.0], size=f.shape)


def quadratic_form(f, n_classes):
    """Return Q of sum_{i < j} (r_ji p_i - r_ij p_j)^2 = p'Qp, added up pair by pair."""
    Q = np.zeros((n_classes, n_classes))
    for i, j, value in zip(*np.triu_indices(n_classes, 1), f, strict=True):
        row = np.zeros(n_classes)
        row[i], row[j] = (
            expit(-PAIR_INVERSE_TEMPERATURE * value),
            -expit(PAIR_INVERSE_TEMPERATURE * value),
        )
        Q += np.outer(row, row)
    return Q


@pytest.mark.parametrize("p", [[0.5, 0.3, 0.2], [0.97, 0.01, 0.01, 0.01], np.full(6, 1 / 6)])
def test_probabilities_are_found_from_their_own_pairs(p):
    i, j = np.triu_indices(len(p), 1)
    f = np.log(np.divide(np.take(p, i), np.take(p, j))) / PAIR_INVERSE_TEMPERATURE
    np.testing.assert_allclose(coupled(f[None], len(p)), [p], rtol=1e-10)


@problems
@settings(max_examples=50)
def test_derivative_is_the_same_for_all_classes_and_no_probability_is_negative(seed, n_classes):
    """The problem is convex: p >= 0 with equal derivatives is its optimum."""
    f = random_pairs(seed, n_classes)
    P = coupled(f, n_classes)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-9)
    for row, p in zip(f, P, strict=True):
        derivative = quadratic_form(row, n_classes) @ p
        np.testing.assert_allclose(derivative, derivative.mean(), atol=1e-10)


@pytest.mark.parametrize("n_classes", [3, 5])
def test_solution_is_that_of_a_quadratic_program(n_classes):
    f = 0.4 * np.random.default_rng(0).normal(size=n_classes * (n_classes - 1) // 2)
    p, _ = quadratic_program(
        quadratic_form(f, n_classes),
        np.zeros(n_classes),
        -np.eye(n_classes),
        np.zeros(n_classes),
        np.ones((1, n_classes)),
        np.ones(1),
    )
    np.testing.assert_allclose(coupled(f[None], n_classes), [p], atol=1e-6)


@problems
@settings(max_examples=50)
def test_order_of_classes_does_not_matter(seed, n_classes):
    f = random_pairs(seed, n_classes)
    order = np.random.default_rng(seed).permutation(n_classes)
    full = np.zeros((len(f), n_classes, n_classes))
    i, j = np.triu_indices(n_classes, 1)
    full[:, i, j], full[:, j, i] = f, -f
    other = full[:, order][:, :, order][:, i, j]
    np.testing.assert_allclose(
        coupled(other, n_classes), coupled(f, n_classes)[:, order], atol=1e-9
    )


@pytest.mark.parametrize("size", [1e3, 1e300])
def test_certain_pairs_have_finite_scores(size):
    """Class 0 beats all; then three classes beat one another in a circle."""
    scores = coupled_log_probabilities(size * np.array([[1.0, 1.0, 1.0], [1.0, -1.0, 1.0]]), 3)
    assert scores.min() >= np.log(LEAST_PROBABILITY)
    np.testing.assert_allclose(np.exp(scores), [[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]], atol=1e-9)
    limit = coupled_log_probabilities(np.full((1, 3), MAX_LOG_ODDS / PAIR_INVERSE_TEMPERATURE), 3)
    np.testing.assert_array_equal(scores[:1], limit)


def test_blocks_of_rows_agree_with_all_at_once(monkeypatch):
    f = random_pairs(0, 4, n=203)
    whole = coupled_log_probabilities(f, 4)
    monkeypatch.setattr(graphmargin._blocks, "BLOCK_BYTES", 24 * 25 * 10)
    np.testing.assert_array_equal(coupled_log_probabilities(f, 4), whole)
    assert coupled_log_probabilities(f[:0], 4).shape == (0, 4)


def test_scores_are_those_of_pairs_in_their_units():
    f, units = random_pairs(2, 3), np.array([0.5, 2.0, 8.0])
    np.testing.assert_array_equal(
        class_scores(f, 3, units), coupled_log_probabilities(f / units, 3)
    )
    np.testing.assert_array_equal(class_scores(f[:, :1], 2, units[:1]), -f[:, 0])


def test_units_that_are_as_small_as_numbers_can_be_give_certain_pairs():
    scores = class_scores(np.array([[1.0, 2.0, -3.0]]), 3, np.full(3, 5e-324))
    np.testing.assert_allclose(scores, coupled_log_probabilities(np.array([[9, 9, -9.0]]), 3))


def test_scales_are_means_of_absolute_values_and_never_zero():
    f = np.array([[1.0, 0.0, -4.0], [-3.0, 0.0, 4.0]], dtype=np.float32)
    assert scales_of_pairs(mean_sizes(f)).tolist() == [2.0, 1.0, 4.0]
    assert mean_sizes(f).dtype == np.float64
    assert scales_of_pairs(mean_sizes(f[:0])).tolist() == [1.0, 1.0, 1.0]
