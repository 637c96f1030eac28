import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from graphmargin.labels import decode_labels, encode_labels, hide_labels, is_unlabeled

STRING_DTYPE = np.dtypes.StringDType


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([2, -1, 5, 2], id="list-of-int"),
        pytest.param((2, None, 5, 2), id="tuple-with-None"),
        pytest.param([2, "", 5, 2], id="list-with-empty-string"),
        pytest.param([2, np.nan, 5, 2], id="list-with-NaN"),
        pytest.param([2, pd.NA, 5, 2], id="list-with-NA"),
        pytest.param([2.0, -1.0, 5.0, 2.0], id="list-of-float"),
        pytest.param(np.array([2, -1, 5, 2], dtype=np.int8), id="int8"),
        pytest.param(np.array([2, -1, 5, 2]), id="int64"),
        pytest.param(np.array([2, -1, 5, 2], dtype=np.float32), id="float32-minus-one"),
        pytest.param(np.array([2, np.nan, 5, 2]), id="float64-NaN"),
        pytest.param(np.array([2, None, 5, 2], dtype=object), id="object-None"),
        pytest.param(np.array([2, pd.NA, 5, 2], dtype=object), id="object-NA"),
        pytest.param(np.array([2, -1, 5, 2], dtype=object), id="object-minus-one"),
        pytest.param(pd.Series([2, -1, 5, 2]), id="pandas-int64"),
        pytest.param(pd.Series([2, pd.NA, 5, 2], dtype="Int64"), id="pandas-Int64"),
        pytest.param(pd.Series([2, None, 5, 2], dtype="category"), id="pandas-category"),
        pytest.param(pd.Series([2, None, 5, 2], dtype=object), id="pandas-object"),
        pytest.param(pd.Series([2, None, 5, 2]), id="pandas-float64"),
        pytest.param(pl.Series([2, None, 5, 2]), id="polars-null"),
        pytest.param(pl.Series([2, -1, 5, 2]), id="polars-int64"),
    ],
)
def test_numbers_are_encoded_and_markers_are_unlabeled(y):
    encoded = encode_labels(y)
    assert encoded.classes.tolist() == [2, 5]
    assert encoded.classes.dtype.kind in "if"
    assert encoded.codes.dtype == np.int64
    assert encoded.codes.tolist() == [0, -1, 1, 0]
    assert encoded.labeled.tolist() == [True, False, True, True]
    assert encoded.one_hot.tolist() == [[1, 0], [0, 0], [0, 1], [1, 0]]


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(["b", "", "a", "b"], id="list-empty-string"),
        pytest.param(["b", None, "a", "b"], id="list-None"),
        pytest.param(["b", np.nan, "a", "b"], id="list-NaN"),
        pytest.param(["b", pd.NA, "a", "b"], id="list-NA"),
        pytest.param(["b", -1, "a", "b"], id="list-minus-one"),
        pytest.param(np.array(["b", "", "a", "b"]), id="str"),
        pytest.param(np.array(["b", None, "a", "b"], dtype=object), id="object"),
        pytest.param(np.array(["b", "", "a", "b"], dtype=STRING_DTYPE()), id="StringDType"),
        pytest.param(
            np.array(["b", None, "a", "b"], dtype=STRING_DTYPE(na_object=None)),
            id="StringDType-None",
        ),
        pytest.param(pd.Series(["b", None, "a", "b"]), id="pandas-str"),
        pytest.param(pd.Series(["b", None, "a", "b"], dtype=object), id="pandas-object"),
        pytest.param(pd.Series(["b", pd.NA, "a", "b"], dtype="string"), id="pandas-string"),
        pytest.param(pd.Series(["b", None, "a", "b"], dtype="category"), id="pandas-category"),
        pytest.param(pl.Series(["b", None, "a", "b"]), id="polars-null"),
        pytest.param(pl.Series(["b", "", "a", "b"]), id="polars-empty-string"),
        pytest.param(pl.Series(["b", None, "a", "b"], dtype=pl.Categorical), id="polars-category"),
    ],
)
def test_strings_are_encoded_and_markers_are_unlabeled(y):
    encoded = encode_labels(y)
    assert encoded.classes.tolist() == ["a", "b"]
    assert encoded.classes.dtype.kind == "U"
    assert encoded.codes.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([True, None, False], id="list"),
        pytest.param(np.array([True, None, False], dtype=object), id="object"),
        pytest.param(pd.Series([True, None, False], dtype="boolean"), id="pandas-boolean"),
        pytest.param(pl.Series([True, None, False]), id="polars-Boolean"),
    ],
)
def test_booleans_are_encoded_and_markers_are_unlabeled(y):
    encoded = encode_labels(y)
    assert encoded.classes.tolist() == [False, True]
    assert encoded.classes.dtype == bool
    assert encoded.codes.tolist() == [1, -1, 0]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        pytest.param(np.array([True, False, True]), [False, True], id="bool"),
        pytest.param(np.array([255, 3, 255], dtype=np.uint8), [3, 255], id="unsigned"),
        pytest.param(np.array(["-1", "nan", "-1"]), ["-1", "nan"], id="strings-like-markers"),
        pytest.param([np.int64(9), np.int64(7), np.int64(9)], [7, 9], id="numpy-scalars"),
        pytest.param(range(3), [0, 1, 2], id="range"),
    ],
)
def test_arrays_without_a_marker_are_all_labeled(y, classes):
    encoded = encode_labels(y)
    assert encoded.classes.tolist() == classes
    assert encoded.labeled.all()
    np.testing.assert_array_equal(encoded.classes[encoded.codes], np.asarray(y))


@given(
    st.lists(
        st.one_of(st.integers(-(2**40), 2**40), st.sampled_from([None, -1, float("nan"), ""])),
        max_size=18,
    ).map(lambda more: [3, *more, 4])
)
def test_codes_point_at_the_sorted_distinct_labels(y):
    present = [label for label in y if isinstance(label, int) and label != -1]
    encoded = encode_labels(y)
    assert encoded.classes.tolist() == sorted(set(present))
    assert encoded.classes[encoded.codes[encoded.labeled]].tolist() == present
    assert int(encoded.labeled.sum()) == len(present)
    np.testing.assert_array_equal(encoded.one_hot.sum(axis=1), encoded.labeled)


def test_one_label_in_each_of_many_classes_is_not_taken_for_regression():
    y = np.concatenate([np.arange(26), np.full(1000, -1)])
    encoded = encode_labels(y)  # warnings are errors
    assert len(encoded.classes) == 26


@pytest.mark.parametrize("y", [np.array([[0], [1], [-1]]), pd.DataFrame({"y": [0, 1, -1]})])
def test_column_vector_is_flattened_with_a_warning(y):
    with pytest.warns(DataConversionWarning, match="column-vector y was passed"):
        encoded = encode_labels(y)
    assert encoded.codes.tolist() == [0, 1, -1]


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([-1, None, "", np.nan, pd.NA], id="all-markers"),
        pytest.param(np.full(3, -1), id="int"),
        pytest.param(np.full(3, np.nan), id="float"),
        pytest.param(np.full(3, ""), id="str"),
        pytest.param(pd.Series([pd.NA] * 3, dtype="Int64"), id="pandas"),
        pytest.param([], id="empty"),
    ],
)
def test_no_label_at_all_is_refused(y):
    with pytest.raises(ValueError, match=f"`y` has no label: all {len(y)} rows are unlabeled"):
        encode_labels(y)


@pytest.mark.parametrize(
    ("y", "shown"),
    [
        pytest.param([7, -1, 7], "7", id="list"),
        pytest.param(np.array([-1, 1, 1]), "1", id="minus-one-is-not-a-class"),
        pytest.param(np.array(["a", "", "a"]), "'a'", id="str"),
    ],
)
def test_one_class_only_is_refused_and_named(y, shown):
    with pytest.raises(ValueError, match=rf"`y` has one class only \({shown}\); label rows of at"):
        encode_labels(y)


@pytest.mark.parametrize("y", [[1, "a", None], np.array([2.5, "b", ""], dtype=object)])
def test_mixed_strings_and_numbers_are_refused(y):
    with pytest.raises(ValueError, match="`y` mixes strings and numbers"):
        encode_labels(y)


@pytest.mark.parametrize(
    "y",
    [
        pytest.param(np.array([0.5, 1.25, np.nan]), id="array"),
        pytest.param([0.5, None, 1.25], id="list"),
        pytest.param(pd.Series([0.5, None, 1.25]), id="pandas"),
    ],
)
def test_continuous_targets_are_refused(y):
    with pytest.raises(ValueError, match="Unknown label type: continuous"):
        encode_labels(y)


def test_infinite_label_is_refused():
    with pytest.raises(ValueError, match="infinit"):
        encode_labels(np.array([0.0, 1.0, np.inf]))


@pytest.mark.parametrize("y", [np.zeros((3, 2)), 3, np.array(1)])
def test_other_shapes_are_refused(y):
    with pytest.raises(ValueError, match="y should be a 1d array"):
        encode_labels(y)


def test_missing_y_is_refused():
    with pytest.raises(ValueError, match="requires y to be passed, but the target y is None"):
        encode_labels(None)


DTYPES = [
    pytest.param(np.array([3, 7], dtype=np.int8), np.int8, -1, id="int8"),
    pytest.param(np.array([3, 7]), np.int64, -1, id="int64"),
    pytest.param(np.array([3, 7], dtype=np.float32), np.float32, np.nan, id="float32"),
    pytest.param(np.array([3.0, 7.0]), np.float64, np.nan, id="float64"),
    pytest.param(np.array(["left", "right"]), np.dtype("U5"), "", id="str"),
    pytest.param(np.array([False, True]), object, None, id="bool"),
    pytest.param(np.array([3, 7], dtype=np.uint8), object, None, id="uint8"),
    pytest.param(np.array(["left", "right"], dtype=object), object, None, id="object"),
    pytest.param(np.array(["left", "right"], dtype=STRING_DTYPE()), object, None, id="StringDType"),
]


@pytest.mark.parametrize(("classes", "dtype", "marker"), DTYPES)
def test_decoding_puts_the_marker_of_the_dtype(classes, dtype, marker):
    decoded = decode_labels(classes, np.array([1, -1, 0]))
    expected = np.array([classes[1], marker, classes[0]], dtype=dtype)
    assert decoded.dtype == dtype
    np.testing.assert_array_equal(decoded, expected)


@pytest.mark.parametrize(("classes", "dtype", "marker"), DTYPES)
def test_encoding_reads_what_decoding_wrote(classes, dtype, marker):
    del dtype, marker
    codes = np.array([1, -1, 0, 1, -1])
    encoded = encode_labels(decode_labels(classes, codes))
    np.testing.assert_array_equal(encoded.codes, codes)
    assert encoded.classes.tolist() == classes.tolist()


@pytest.mark.parametrize(("classes", "dtype", "marker"), DTYPES)
def test_hiding_marks_a_copy(classes, dtype, marker):
    before = classes.copy()
    hidden = hide_labels(classes, np.array([True, False]))
    assert hidden.dtype == dtype
    np.testing.assert_array_equal(hidden, np.array([marker, classes[1]], dtype=dtype))
    np.testing.assert_array_equal(classes, before)


@pytest.mark.parametrize(("classes", "dtype", "marker"), DTYPES)
def test_hiding_nothing_keeps_the_dtype(classes, dtype, marker):
    del dtype, marker
    hidden = hide_labels(classes, np.zeros(2, dtype=bool))
    assert hidden.dtype == classes.dtype
    np.testing.assert_array_equal(hidden, classes)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([0, -1, 2]), [False, True, False]),
        (np.array([0.0, -1.0, np.nan]), [False, True, True]),
        (np.array(["", "-1", "a"]), [True, False, False]),
        (np.array([0, 255], dtype=np.uint8), [False, False]),
        (np.array([True, False]), [False, False]),
    ],
)
def test_marker_of_a_plain_array_follows_its_dtype(values, expected):
    assert is_unlabeled(values).tolist() == expected
