import math
import re

import numpy as np
import pytest

from graphmargin.margin import Kernel
from graphmargin.theory import vc_dimension
from graphmargin.theory.capacity import inductive_error


def test_inductive_error_is_that_computed_by_hand():
    # ln(2 n / h) = 0 and -ln(eta / 4) = 3: sqrt((2 + 3) / 1).
    assert inductive_error(2, 1, 4 * math.exp(-3)) == pytest.approx(math.sqrt(5))
    # 3 (ln 8 + 1) + ln 80 = 9.238325 + 4.382027, over 12.
    assert inductive_error(3, 12, 0.05) == pytest.approx(1.065377, abs=1e-6)


@pytest.mark.parametrize(("h", "n"), [(7, 3), (math.inf, 10**9), (1e12, 10**6)])
def test_inductive_error_is_infinite_where_all_splits_are_possible(h, n):
    assert inductive_error(h, n, 0.1) == math.inf


@pytest.mark.parametrize("h", [1, 6, 100])
def test_inductive_error_is_finite_and_above_one_from_half_the_dimension_on(h):
    n = math.ceil(h / 2)
    assert 1 < inductive_error(h, n, 0.1) < math.inf
    assert inductive_error(h, 10**9, 0.1) < 0.01


@pytest.mark.parametrize(
    ("kernel", "d", "expected"),
    [
        ("linear", 1, 2),
        ("linear", 16, 17),
        ("rbf", 2, math.inf),
        ("poly", 1, 4),  # 1, x, x^2, x^3
        ("poly", 2, 10),
        (Kernel("poly", degree=2, width=3.0), 2, 6),  # 1, x, z, x^2, x z, z^2
        (Kernel("poly", degree=2, coef0=0), 2, 4),  # x^2, x z, z^2 and the bias
        (Kernel("poly", degree=1), 5, 6),
        (Kernel("poly", degree=1, coef0=0), 5, 6),
    ],
)
def test_vc_dimension_is_that_computed_by_hand(kernel, d, expected):
    assert vc_dimension(kernel, d) == expected


@pytest.mark.parametrize("kernel", [Kernel("poly"), Kernel("poly", coef0=0), Kernel("linear")])
def test_vc_dimension_is_the_rank_of_the_kernel_with_a_bias(kernel):
    # Functions of a space of k dimensions, with constants among them, shatter k points, not k + 1.
    X = np.random.default_rng(0).normal(size=(40, 3))
    assert np.linalg.matrix_rank(kernel(X, X) + 1) == vc_dimension(kernel, 3)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 5, 0.1), "`vc_dimension` must be > 0, got 0"),
        ((math.nan, 5, 0.1), "`vc_dimension` must be > 0, got nan"),
        ((3, 0, 0.1), "`n` must be an integer >= 1, got 0"),
        ((3, 5, 0), "`eta` must be > 0, got 0"),
        (
            (3, 5, 1.0),
            "`eta` must be in (0, 1), got 1.0; it is the probability",
        ),
    ],
)
def test_bad_argument_of_the_inductive_error_is_named(arguments, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        inductive_error(*arguments)


@pytest.mark.parametrize(
    ("kernel", "d", "message"),
    [
        (
            "precomputed",
            2,
            "`kernel` must be linear, poly or rbf for its VC dimension to be known, got "
            "'precomputed'; pass `vc_dimension`, the dimension of its feature space plus one",
        ),
        ("quartic", 2, "`kernel` must be one of 'linear', 'poly', 'rbf'"),
        ("linear", 0, "`n_features` must be an integer >= 1, got 0"),
    ],
)
def test_bad_argument_of_the_vc_dimension_is_named(kernel, d, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        vc_dimension(kernel, d)
