import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse

from graphmargin.margin import Kernel

NAMED = ["linear", "poly", "rbf"]

X = np.array([[1.0, 2.0], [0.0, -2.0]])
Z = np.array([[2.0, 2.0], [3.0, 0.0], [1.0, 2.0]])
PRODUCTS = np.array([[6.0, 3.0, 5.0], [-4.0, 0.0, -4.0]])
SQUARED_DISTANCES = np.array([[1.0, 8.0, 0.0], [20.0, 13.0, 17.0]])


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        pytest.param(Kernel("linear"), PRODUCTS, id="linear"),
        pytest.param(Kernel("linear", 2.0, degree=5, coef0=7.0), PRODUCTS / 4, id="linear-width"),
        pytest.param(Kernel("poly"), (PRODUCTS + 1) ** 3, id="poly"),
        pytest.param(Kernel("poly", width=2.0), (PRODUCTS / 4 + 1) ** 3, id="poly-width"),
        pytest.param(
            Kernel("poly", width=2.0, degree=2, coef0=0.5),
            (PRODUCTS / 4 + 0.5) ** 2,
            id="poly-degree-coef0",
        ),
        pytest.param(Kernel("poly", coef0=0), PRODUCTS**3, id="poly-homogeneous"),
        pytest.param(Kernel("rbf"), np.exp(-SQUARED_DISTANCES / 2), id="rbf"),
        pytest.param(
            Kernel("rbf", 2.0, degree=5, coef0=7.0), np.exp(-SQUARED_DISTANCES / 8), id="rbf-width"
        ),
    ],
)
def test_kernel_values_are_those_computed_by_hand(kernel, expected):
    np.testing.assert_allclose(kernel(X, Z), expected, rtol=1e-14)


@pytest.mark.parametrize(
    ("kind", "container"),
    [("linear", sparse.csr_array), ("poly", sparse.csr_matrix), ("rbf", sparse.csr_array)],
)
def test_sparse_rows_have_the_values_of_dense_ones(kind, container):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(7, 5)) * (rng.random((7, 5)) < 0.4)
    others = rng.normal(size=(4, 5)) * (rng.random((4, 5)) < 0.4)
    kernel = Kernel(kind, width=1.7)
    expected = kernel(rows, others)
    for first, second in [
        (container(rows), container(others)),
        (rows, container(others)),
        (container(rows), others),
    ]:
        values = kernel(first, second)
        assert isinstance(values, np.ndarray)
        np.testing.assert_allclose(values, expected, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("kind", NAMED)
def test_single_precision_agrees_with_double(kind):
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(6, 3)).astype(np.float32)
    kernel = Kernel(kind, width=1.3)
    np.testing.assert_allclose(
        kernel(rows, rows), kernel(rows.astype(float), rows.astype(float)), rtol=1e-4, atol=1e-6
    )


@pytest.mark.parametrize("kind", NAMED)
@given(
    points=st.tuples(st.integers(1, 8), st.integers(1, 4)).flatmap(
        lambda shape: arrays(np.float64, shape, elements=st.floats(-5, 5, width=32))
    ),
    width=st.floats(0.2, 10.0),
)
@settings(max_examples=50)
def test_matrix_is_symmetric_and_positive_semidefinite(kind, points, width):
    K = Kernel(kind, width=width)(points, points)
    np.testing.assert_allclose(K, K.T, rtol=1e-12)
    assert np.linalg.eigvalsh(K).min() >= -1e-9 * max(1.0, np.trace(K))
    if kind == "rbf":
        np.testing.assert_allclose(np.diag(K), 1.0)
        assert K.min() >= 0.0
        assert K.max() <= 1.0


SQUARE_IS_NO_NUMBER = r"from 1e-150 to 1e\+150, .* got 1e.*; change the unit"


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        *(
            (kind, {}, "`kernel` must be one of 'linear', .* got {}")
            for kind in ("RBF", None, 3, abs)
        ),
        *(("rbf", {"width": w}, "`width` must be > 0, got {}") for w in (0, np.nan, "paper", True)),
        *(("rbf", {"width": width}, SQUARE_IS_NO_NUMBER) for width in (1e-151, 1e151)),
        *(
            ("poly", {"degree": degree}, "`degree` must be an integer >= 1, got {}")
            for degree in (0, 2.5, np.nan, "three", True)
        ),
        *(
            ("poly", {"coef0": coef0}, "`coef0` must be >= 0, got {}; with a negative value")
            for coef0 in (-0.5, np.nan, "one", None)
        ),
    ],
)
def test_bad_parameter_is_named(kind, options, message):
    value = next(iter(options.values()), kind)
    with pytest.raises(ValueError, match=message.format(repr(value))):
        Kernel(kind, **options)


def test_precomputed_kernel_cannot_be_evaluated():
    with pytest.raises(TypeError, match="a precomputed kernel cannot be evaluated on rows"):
        Kernel("precomputed")(X, Z)


@pytest.mark.parametrize("kind", NAMED)
def test_diagonal_is_that_of_the_kernel_matrix(kind):
    kernel = Kernel(kind, width=1.5)
    for rows in (Z, sparse.csr_array(Z)):
        np.testing.assert_allclose(kernel.diagonal(rows), np.diag(kernel(Z, Z)), rtol=1e-14)
