import re

import numpy as np
import pytest
from scipy import sparse

from graphmargin._rows import (
    MAGNITUDES,
    canonical_rows,
    check_magnitude,
    check_no_mask,
    largest_magnitude,
    squared_norms,
    unit_rows,
)

FORMS = (np.asarray, sparse.csr_array, sparse.csr_matrix)
forms = pytest.mark.parametrize("form", FORMS)


@forms
@pytest.mark.parametrize("dtype", MAGNITUDES)
def test_rows_beyond_the_limits_are_refused_with_their_size(form, dtype):
    low, high = MAGNITUDES[dtype]
    X = np.array([[1.0, -0.5], [0.0, 0.25]])
    for size in (low, 1.0, high):
        check_magnitude(form((0.999 * size if size > 1 else 1.001 * size) * X).astype(dtype))
    for size, squares in ((0.1 * low, "vanish"), (10 * high, "overflow")):
        rows = form((-size * X).astype(dtype))
        with pytest.raises(ValueError, match=re.escape(f"`X` has numbers of size {size:.0e}")):
            check_magnitude(rows)
        with pytest.raises(ValueError, match=f"whose squares {squares}.*; divide the features by"):
            check_magnitude(rows)
    check_magnitude(form((0.1 * low * X).astype(dtype)), is_new=True)
    check_magnitude(form(np.zeros((2, 3), dtype)))
    with pytest.raises(ValueError, match="squares overflow"):
        check_magnitude(form((10 * high * X).astype(dtype)), is_new=True)


@forms
def test_the_largest_magnitude_is_that_of_either_sign(form):
    assert largest_magnitude(form(np.array([[1.0, -3.0], [2.0, 0.0]]))) == 3.0
    assert largest_magnitude(form(np.array([[1.0, 0.0], [4.0, -3.0]]))) == 4.0
    assert largest_magnitude(form(np.zeros((2, 2)))) == 0.0


@forms
@pytest.mark.parametrize("size", [1e-15, 1e-7, 1.0, 1e15])
def test_rows_of_any_size_are_scaled_to_unit_length(form, size):
    X = size * np.array([[3.0, -4.0], [0.0, 2.0], [0.0, 0.0]])
    for dtype in MAGNITUDES:
        rows = form(X.astype(dtype))
        units = unit_rows(rows)
        assert units.dtype == dtype
        units, after = (sparse.csr_array(part).toarray() for part in (units, rows))
        np.testing.assert_allclose(units, [[0.6, -0.8], [0.0, 1.0], [0.0, 0.0]], rtol=1e-6)
        np.testing.assert_allclose(squared_norms(rows), np.array([25, 4, 0]) * size**2, rtol=1e-6)
        np.testing.assert_array_equal(after, X.astype(dtype))


def test_canonical_form_is_made_in_a_copy():
    X = sparse.csr_array((np.array([1.0, 2.0, 3.0]), np.array([1, 0, 1]), np.array([0, 3])))
    before = X.data.copy(), X.indices.copy()
    np.testing.assert_array_equal(canonical_rows(X).toarray(), [[2.0, 4.0]])
    assert canonical_rows(X).nnz == 2
    np.testing.assert_array_equal(X.data, before[0])
    np.testing.assert_array_equal(X.indices, before[1])
    X.data[[0, 2]] = 1.7e308
    with pytest.raises(ValueError, match="`X` has duplicate entries whose sum overflows"):
        canonical_rows(X)


def test_masked_entries_are_refused_and_empty_masks_are_not():
    check_no_mask(np.ma.array([[1.0, 2.0]], mask=False))
    with pytest.raises(ValueError, match="`X_new` must have no masked entries, got 1"):
        check_no_mask(np.ma.array([[1.0, 2.0]], mask=[[True, False]]), "X_new")
