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
