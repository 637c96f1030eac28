"""Weights of families: tempered likelihoods, and the prior of clusters."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from graphmargin import SemiSupervisedEnsemble
from graphmargin.selection.ensemble_choice import (
    CLUSTER_EVIDENCE,
    MIN_RELATIVE_WEIGHT,
    TEMPER,
    cluster_log_prior,
    edge_agreement,
    family_weights,
)
from tests.estimators.problems import blobs


@given(st.lists(st.floats(-50, 0), min_size=1, max_size=6))
def test_weights_follow_the_tempered_likelihood(log_likelihood):
    weights = family_weights(np.array(log_likelihood))
    assert weights.sum() == pytest.approx(1)
    kept = weights > 0
    differences = np.subtract.outer(log_likelihood, log_likelihood)[np.ix_(kept, kept)]
    ratios = np.subtract.outer(np.log(weights[kept]), np.log(weights[kept]))
    np.testing.assert_allclose(ratios, TEMPER * differences, atol=1e-9)
    smallest = max(log_likelihood) + np.log(MIN_RELATIVE_WEIGHT) / TEMPER
    np.testing.assert_array_equal(kept, np.array(log_likelihood) >= smallest)


@given(st.floats(-1, 1), st.floats(-1, 1))
def test_the_prior_of_clusters_grows_with_the_agreement(low, high):
    low, high = sorted([low, high])
    assert 0 <= cluster_log_prior(low) <= cluster_log_prior(high) <= CLUSTER_EVIDENCE


def test_the_agreement_is_corrected_for_chance():
    path = sparse.diags_array([np.ones(5), np.ones(5)], offsets=[-1, 1], shape=(6, 6)).tocsr()
    codes = np.array([0, 0, 0, 1, 1, 1])
    assert edge_agreement(path, codes) == pytest.approx((4 / 5 - 1 / 2) / (1 - 1 / 2))
    assert edge_agreement(path, np.array([0, 0, 0, -1, 1, 1])) == 1
    assert edge_agreement(path, np.zeros(6, dtype=int)) == 0
    assert edge_agreement(sparse.csr_array((6, 6)), codes) == 0


@pytest.mark.parametrize("names", [["cut", "linear-supervised"], ["linear-supervised", "cut"]])
def test_families_without_a_graph_have_no_say_in_the_prior_of_clusters(names):
    X, _, y = blobs(2, n=80, distance=6.0, per_class=6)
    choice = SemiSupervisedEnsemble(families=names, random_state=0).fit(X, y).choice_
    of_cut, of_plane = (choice.log_prior[choice.names.index(name)] for name in sorted(names))
    assert of_cut == pytest.approx(CLUSTER_EVIDENCE)
    assert of_plane == 0
