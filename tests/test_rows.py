import numpy as np
import pytest
from scipy import sparse

from graphmargin._rows import (
    canonical_rows,
    check_no_mask,
    common_exponent,
    limit_rows,
    scale_rows,
)

FORMS = (np.asarray, sparse.csr_array, sparse.csr_matrix)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    ("dtype", "largest", "exponent"),
    [
        ("f4", 1.0, 0),
        ("f4", 3e38, 128),
        ("f4", 1e-45, -149),
        ("f4", 1e11, 0),
        ("f8", 1e11, 0),
        ("f8", 1.7e308, 1024),
        ("f8", 5e-324, -1073),
        ("f8", 0.0, 0),
    ],
)
def test_scaling_is_exact_and_leaves_common_numbers_alone(form, dtype, largest, exponent):
    X = form(np.array([[largest, -largest / 2], [0.0, largest / 4]], dtype=dtype))
    shift = common_exponent(X)
    assert shift in (exponent, exponent + 1)  # 1e-45 is rounded up
    scaled = scale_rows(X, shift)
    assert scaled.dtype == X.dtype
    assert (scaled is X) == (shift == 0)
    dense, rows = (scaled.toarray(), X.toarray()) if sparse.issparse(X) else (scaled, X)
    np.testing.assert_array_equal(np.ldexp(dense, shift), rows)


@pytest.mark.parametrize("form", FORMS)
def test_rows_beyond_the_range_keep_their_direction(form):
    X = form(np.array([[1e300, -5e299], [1.0, 2.0], [0.0, 0.0]]))
    for scaled in (scale_rows(X, -900), limit_rows(X, 100)):
        far, *near = scaled.toarray() if sparse.issparse(X) else scaled
        assert np.isfinite(far).all()
        assert far[0] == -2 * far[1] > 0
        assert near[0][1] == 2 * near[0][0]


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
