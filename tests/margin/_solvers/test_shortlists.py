"""Tests of shortlists against the functions and the coupling of all pairs of classes."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from graphmargin.margin import Kernel, train_machine
from graphmargin.margin import machine as machine_module
from graphmargin.margin._solvers.shortlists import (
    MAX_ALL_PAIRS,
    N_SHORTLISTED,
    class_sums,
    make_shortlists,
    pair_coefficients,
    pair_numbers,
    pair_values,
)
from graphmargin.margin.coupling import class_scores, scales_of_pairs
from graphmargin.margin.machine import blend_machines, predicted_codes, shortlisted_values
from graphmargin.margin.pairs import class_pairs

MANY = MAX_ALL_PAIRS + 10


def many_classes(seed=0, n_classes=MANY, rows=4, spread=3.0, d=6):
    """Return Gaussian clouds of many classes, which overlap, in random order."""
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(n_classes), rows))
    return spread * rng.normal(size=(n_classes, d))[codes] + rng.normal(size=(len(codes), d)), codes


@settings(deadline=None, max_examples=30)
@given(n_classes=st.integers(2, 9), seed=st.integers(0, 2**16), data=st.data())
def test_numbers_of_pairs_are_those_among_all_pairs(n_classes, seed, data):
    k = data.draw(st.integers(2, n_classes))
    rng = np.random.default_rng(seed)
    shortlists = np.sort([rng.permutation(n_classes)[:k] for _ in range(4)], axis=1)
    numbers = pair_numbers(shortlists, n_classes)
    first, second = class_pairs(k).T
    pairs = class_pairs(n_classes)[numbers]
    np.testing.assert_array_equal(pairs[..., 0], shortlists[:, first])
    np.testing.assert_array_equal(pairs[..., 1], shortlists[:, second])


@pytest.mark.parametrize("container", [np.asarray, sparse.csc_array, sparse.csr_array])
@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_values_and_sums_are_those_of_all_pairs(container, dtype):
    rng, c = np.random.default_rng(1), 5
    coefficients, b = rng.normal(size=(7, 10)) * (rng.random((7, 10)) < 0.4), rng.normal(size=10)
    V, units = rng.normal(size=(6, 7)).astype(dtype), rng.uniform(0.5, 2.0, size=10)
    f = V @ coefficients + b
    numbers = rng.integers(10, size=(6, 4))
    columns = pair_coefficients(container(coefficients.astype(dtype)))
    values = pair_values(V, columns, b, numbers)
    assert values.dtype == dtype
    np.testing.assert_allclose(values, np.take_along_axis(f, numbers, axis=1), rtol=0, atol=1e-5)
    sums, constants = class_sums(container(coefficients), b, units, c)
    expected = np.zeros((6, c))
    for pair, (i, j) in enumerate(class_pairs(c)):
        expected[:, i] += f[:, pair] / units[pair]
        expected[:, j] -= f[:, pair] / units[pair]
    np.testing.assert_allclose(V @ sums + constants, expected, atol=1e-5)


@pytest.mark.parametrize("kind", ["linear", "rbf", "poly"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_scores_of_many_classes_are_those_of_the_pairs_of_a_shortlist(kind, container):
    X, codes = many_classes()
    new, _ = many_classes(seed=5)
    machine = train_machine(container(X), codes, Kernel(kind, width=6.0), C=5.0)
    coefficients = machine.coefficients.copy()
    plain = machine.scores(container(new))  # before anything else has used the machine
    f = machine.pairwise(container(new))
    np.testing.assert_allclose(plain, machine.scores(container(new)), atol=1e-9)
    assert abs(coefficients - machine.coefficients).max() == 0
    units = scales_of_pairs(np.abs(f).mean(axis=0))
    scores = machine.scores(container(new), units)
    shortlists = make_shortlists(machine.class_sums(container(new), units))
    assert shortlists.shape == (len(new), N_SHORTLISTED)
    values = np.take_along_axis(f, pair_numbers(shortlists, MANY), axis=1)
    np.testing.assert_allclose(scores, class_scores(values, MANY, units, shortlists), atol=1e-6)
    for row, classes in zip(scores, shortlists, strict=True):
        assert set(np.flatnonzero(row > row.min())) < set(classes)
    # The class that all pairs together prefer is on the shortlist, and wins there as well.
    everywhere = predicted_codes(class_scores(f, MANY, units))
    assert np.mean(predicted_codes(scores) == everywhere) >= 0.99


def test_a_shortlist_of_all_classes_changes_nothing(monkeypatch):
    X, codes = many_classes(n_classes=6)
    machine = train_machine(X, codes, Kernel("rbf", width=4.0), C=5.0)
    units = scales_of_pairs(machine.pair_means(X))
    expected = machine.scores(X, units)
    monkeypatch.setattr(machine_module, "MAX_ALL_PAIRS", 2)
    monkeypatch.setattr("graphmargin.margin._solvers.shortlists.N_SHORTLISTED", 6)
    np.testing.assert_allclose(machine.scores(X, units), expected, atol=1e-9)


@pytest.mark.parametrize("approximation", ["none", "nystroem"])
@pytest.mark.parametrize("kind", ["linear", "rbf"])
def test_blends_of_many_classes_are_weighted_sums(kind, approximation):
    X, codes = many_classes(rows=3)
    weights, Cs = (0.25, 0.75), (0.5, 5.0)
    trained = [
        train_machine(
            X, codes, Kernel(kind, width=5.0), C=C, approximation=approximation, random_state=0
        )
        for C in Cs
    ]
    blended = blend_machines(trained, weights)
    expected = sum(w * machine.pairwise(X) for w, machine in zip(weights, trained, strict=True))
    np.testing.assert_allclose(blended.pairwise(X), expected, rtol=1e-6, atol=1e-8)
    if kind == "rbf" and approximation == "none":  # only rows of its own classes are in a pair
        assert sparse.issparse(blended.coefficients)
        assert trained[0].coefficients.nnz <= len(X) * (MANY - 1)


def test_machines_of_a_trial_share_their_shortlists():
    X, codes = many_classes()
    machines = [train_machine(X, codes, Kernel("rbf", width=5.0), C=C) for C in (0.1, 10.0)]
    units = [scales_of_pairs(machine.pair_means(X)) for machine in machines]
    values, shortlists = shortlisted_values(machines, X, units)
    sums = sum(m.class_sums(X, u) for m, u in zip(machines, units, strict=True))
    np.testing.assert_array_equal(shortlists, make_shortlists(sums))
    for machine, of_machine in zip(machines, values, strict=True):
        f = machine.pairwise(X)
        expected = np.take_along_axis(f, pair_numbers(shortlists, MANY), axis=1)
        np.testing.assert_allclose(of_machine, expected, atol=1e-9)


def test_linear_machines_of_many_features_keep_their_vectors():
    X, codes = many_classes(rows=2, d=200)
    machine = train_machine(X, codes, Kernel("linear", width=20.0), C=5.0)
    assert machine.collapse_linear() is machine
    few = train_machine(X[:, :5], codes, Kernel("linear", width=20.0), C=5.0).collapse_linear()
    assert few.vectors is None
    assert few.coefficients.shape == (5, MANY * (MANY - 1) // 2)
