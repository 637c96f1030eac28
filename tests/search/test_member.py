"""Members of a search, and their views of the rows; tests of methods are in tests/methods."""

import numpy as np
import pytest
from scipy import sparse

from graphmargin.methods import METHODS
from graphmargin.search.member import AS_GIVEN, Member, View


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array], ids=["dense", "sparse"])
def test_view_multiplies_features(container):
    X = container(np.array([[3.0, 0.0, 2.0], [0.0, 5.0, 1.0]]))
    seen = View("light", np.array([1.0, 0.2, 0.0])).of(X)
    assert sparse.issparse(seen) == sparse.issparse(X)
    dense = seen.toarray() if sparse.issparse(seen) else seen
    np.testing.assert_array_equal(dense, [[3.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    assert AS_GIVEN.of(X) is X


def test_views_are_the_same_only_if_they_are_one_object():
    factors = np.ones(2)
    assert View("same", factors) != View("same", factors)
    assert len({AS_GIVEN, View(), AS_GIVEN}) == 2


def test_member_sees_rows_as_given_and_has_a_prior_of_one():
    member = Member("plane", METHODS["supervised"].auto(None, "linear"))
    assert (member.view, member.prior) == (AS_GIVEN, 1.0)


@pytest.mark.parametrize(
    "factors", [[1.0, np.nan], np.ones((2, 1)), ["heavy", "light"], np.inf], ids=str
)
def test_factors_of_a_view_are_finite_numbers(factors):
    with pytest.raises(ValueError, match="`factors` of the view 'odd' must be a finite number"):
        View("odd", factors)


def test_a_view_has_a_factor_for_each_feature():
    with pytest.raises(ValueError, match="'short' must have one for each of the 3 features, got 2"):
        View("short", np.ones(2)).of(np.zeros((4, 3)))


@pytest.mark.parametrize("prior", [0.0, -1.0, np.nan, "large"])
def test_the_prior_of_a_member_is_positive(prior):
    with pytest.raises(ValueError, match="`prior` must be"):
        Member("cut", None, prior=prior)
