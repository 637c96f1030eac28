import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphmargin.datasets import mask_labels

labels = st.lists(st.integers(0, 4), max_size=60).map(lambda more: np.array([0, 1, *more]))
seeds = st.integers(0, 2**32 - 1)


@given(y=labels, fraction=st.floats(0, 1, exclude_min=True), seed=seeds)
def test_fraction_keeps_as_many_as_asked_and_every_class(y, fraction, seed):
    masked = mask_labels(y, fraction=fraction, random_state=seed)
    kept = masked != -1
    classes = np.unique(y)
    assert kept.sum() == max(len(classes), round(fraction * len(y)))
    np.testing.assert_array_equal(masked[kept], y[kept])
    np.testing.assert_array_equal(np.unique(masked[kept]), classes)


@given(y=labels, per_class=st.integers(1, 20), seed=seeds)
def test_per_class_keeps_as_many_of_every_class(y, per_class, seed):
    masked = mask_labels(y, per_class=per_class, random_state=seed)
    kept = masked != -1
    np.testing.assert_array_equal(masked[kept], y[kept])
    np.testing.assert_array_equal(
        np.bincount(masked[kept], minlength=5), np.minimum(np.bincount(y, minlength=5), per_class)
    )


@pytest.mark.parametrize("share", [{"fraction": 0.3}, {"per_class": 3}])
def test_every_row_of_a_class_is_equally_likely(share):
    y = np.repeat([0, 1], 5)
    draws = [mask_labels(y, **share, random_state=seed) for seed in range(2000)]
    frequency = np.mean(np.array(draws) != -1, axis=0)
    assert np.ptp(frequency) < 0.07  # the standard error is 0.011


WORDS = ["left", "left", "right", "right"]


@pytest.mark.parametrize(
    ("y", "dtype", "marker"),
    [
        pytest.param(np.array([1, 1, 2, 2], dtype=np.int8), np.int8, -1, id="int8"),
        pytest.param(np.array([1, 1, 2, 2], dtype=np.float32), np.float32, np.nan, id="float32"),
        pytest.param(np.array(WORDS), np.dtype("U5"), "", id="str"),
        pytest.param(np.array([1, 1, 2, 2], dtype=np.uint8), object, None, id="uint8"),
        pytest.param(np.array([True, True, False, False]), object, None, id="bool"),
        pytest.param(np.array(WORDS, dtype=object), object, None, id="object"),
        pytest.param(pd.Series([1, 1, 2, 2]), np.int64, -1, id="pandas-int"),
        pytest.param(pd.Series(WORDS), object, None, id="pandas-str"),
    ],
)
def test_marker_follows_the_dtype(y, dtype, marker):
    masked = mask_labels(y, per_class=1, random_state=3)
    assert masked.dtype == dtype
    # With this seed the second row of each class keeps its label.
    expected = np.array([marker, y[1], marker, y[3]], dtype=dtype)
    np.testing.assert_array_equal(masked, expected)


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([0, -1, 1], id="int"),
        pytest.param([0.0, -1.0, 1.0], id="float"),
        pytest.param([0.0, np.nan, 1.0], id="nan"),
        pytest.param(["a", "", "b"], id="str"),
        pytest.param(np.array(["a", None, "b"], dtype=object), id="None"),
        pytest.param(np.array([0, np.nan, 1], dtype=object), id="object-nan"),
        pytest.param(pd.Series(["a", pd.NA, "b"]), id="pandas-NA"),
    ],
)
def test_unlabeled_rows_are_refused(y):
    with pytest.raises(ValueError, match="`y` must be labeled in every row, got"):
        mask_labels(y, per_class=1)


def test_error_names_the_row_and_the_way_out():
    message = r"got '' in row 1, which means unlabeled; drop such rows, or rename the class$"
    with pytest.raises(ValueError, match=message):
        mask_labels(["a", "", "b", ""], per_class=1)


@pytest.mark.parametrize("share", [{}, {"fraction": 0.5, "per_class": 1}], ids=str)
def test_exactly_one_share_is_given(share):
    with pytest.raises(ValueError, match="exactly one of `fraction` and `per_class`"):
        mask_labels([0, 1], **share)


@pytest.mark.parametrize("fraction", [0, -0.1, 1.5, np.nan, True, "half"])
def test_fraction_out_of_range_is_named(fraction):
    with pytest.raises(ValueError, match=rf"`fraction` must be in \(0, 1\], got {fraction!r}; use"):
        mask_labels([0, 1], fraction=fraction)


@pytest.mark.parametrize("per_class", [0, -1, 1.0, True, "one"])
def test_per_class_out_of_range_is_named(per_class):
    with pytest.raises(ValueError, match=f"`per_class` must be an integer >= 1, got {per_class!r}"):
        mask_labels([0, 1], per_class=per_class)
