import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.exceptions import DataConversionWarning

from graphmargin.labels import (
    UNLABELED_IN_PYTHON,
    UNLABELED_IN_TABLES,
    decode_labels,
    encode_labels,
    set_unlabeled,
)

STRING_DTYPE = np.dtypes.StringDType


@pytest.mark.parametrize("value", [None, np.nan, pd.NA, -1, -1.0, np.int8(-1), ""], ids=repr)
def test_markers_of_python_are_unlabeled(value):
    assert UNLABELED_IN_PYTHON.is_unlabeled(value)
    assert UNLABELED_IN_PYTHON.label_of(value) is None


@pytest.mark.parametrize("value", ["-1", "nan", "None", "<NA>", " ", " a", 0, 2.0, False], ids=repr)
def test_other_values_of_python_are_labels(value):
    assert not UNLABELED_IN_PYTHON.is_unlabeled(value)
    assert UNLABELED_IN_PYTHON.label_of(value) is value


@pytest.mark.parametrize(
    "value", [None, np.nan, pd.NA, "", "  ", "NaN", "nan", "None", "<NA>", " nan "], ids=repr
)
def test_markers_of_tables_are_unlabeled(value):
    assert UNLABELED_IN_TABLES.is_unlabeled(value)
    assert UNLABELED_IN_TABLES.label_of(value) is None


@pytest.mark.parametrize(
    ("value", "label"),
    [(-1, -1), (-1.0, -1.0), ("-1", "-1"), (" a", "a"), ("NA", "NA"), ("?", "?"), (False, False)],
    ids=repr,
)
def test_other_cells_of_tables_are_labels(value, label):
    assert not UNLABELED_IN_TABLES.is_unlabeled(value)
    assert UNLABELED_IN_TABLES.label_of(value) == label


def test_additional_markers_are_unlabeled():
    rule = UNLABELED_IN_TABLES.with_texts([" -1 ", "?", "2.0"])
    unlabeled = [-1, -1.0, np.float32(-1), "-1", "-1.0", " ?", 2.0, "2.0", "nan", None]
    assert all(rule.is_unlabeled(value) for value in unlabeled)
    assert not any(rule.is_unlabeled(value) for value in ["-1.5", 2, "2", "a"])
    assert rule.with_texts(rule.texts) == rule


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([0, -1, 2]), [False, True, False]),
        (np.array([0.0, -1.0, np.nan], dtype=np.float32), [False, True, True]),
        (np.array(["", "-1", "a"]), [True, False, False]),
        (np.array([0, 255], dtype=np.uint8), [False, False]),
        (np.array([True, False]), [False, False]),
        (np.array([pd.NA, np.nan, "a", np.nan], dtype=object), [True, True, False, True]),
    ],
)
def test_the_mask_of_an_array_is_that_of_its_values(values, expected):
    assert UNLABELED_IN_PYTHON.mask(values).tolist() == expected


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([2, -1, 5, 2], id="list"),
        pytest.param((2, None, 5, 2), id="tuple"),
        pytest.param(np.array([2, -1, 5, 2], dtype=np.int8), id="int8"),
        pytest.param(np.array([2, -1, 5, 2], dtype=np.float32), id="float32"),
        pytest.param(np.array([2, pd.NA, 5, 2], dtype=object), id="object"),
        pytest.param(pd.Series([2, pd.NA, 5, 2], dtype="Int64"), id="pandas-Int64"),
        pytest.param(pd.Series([2, None, 5, 2]), id="pandas-float64"),
        pytest.param(pl.Series([2, None, 5, 2]), id="polars"),
    ],
)
def test_numbers_are_encoded(y):
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
        pytest.param(["b", -1, "a", "b"], id="list"),
        pytest.param(np.array(["b", "", "a", "b"]), id="str"),
        pytest.param(
            np.array(["b", None, "a", "b"], dtype=STRING_DTYPE(na_object=None)), id="StringDType"
        ),
        pytest.param(pd.Series(["b", None, "a", "b"]), id="pandas-str"),
        pytest.param(pd.Series(["b", None, "a", "b"], dtype="category"), id="pandas-category"),
        pytest.param(pl.Series(["b", None, "a", "b"], dtype=pl.Categorical), id="polars-category"),
    ],
)
def test_strings_are_encoded(y):
    encoded = encode_labels(y)
    assert encoded.classes.tolist() == ["a", "b"]
    assert encoded.classes.dtype.kind == "U"
    assert encoded.codes.tolist() == [1, -1, 0, 1]


@pytest.mark.parametrize(
    "y",
    [
        pytest.param([True, None, False], id="list"),
        pytest.param(pd.Series([True, None, False], dtype="boolean"), id="pandas-boolean"),
    ],
)
def test_booleans_are_encoded(y):
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
        pytest.param(np.full(3, -1), id="array"),
        pytest.param([], id="empty"),
    ],
)
def test_no_label_at_all_is_refused(y):
    with pytest.raises(
        ValueError, match=rf"all {len(y)} rows are unlabeled \({UNLABELED_IN_PYTHON.description}\)"
    ):
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
    with pytest.raises(ValueError, match=rf"`y` has only one class \({shown}\); label rows of at"):
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
    pytest.param(np.array([3, 7]), np.int64, -1, id="int64"),
    pytest.param(np.array([3, 7], dtype=np.float32), np.float32, np.nan, id="float32"),
    pytest.param(np.array(["left", "right"]), np.dtype("U5"), "", id="str"),
    pytest.param(np.array([False, True]), object, None, id="bool"),
    pytest.param(np.array([3, 7], dtype=np.uint8), object, None, id="uint8"),
    pytest.param(np.array(["left", "right"], dtype=object), object, None, id="object"),
    pytest.param(np.array(["left", "right"], dtype=STRING_DTYPE()), object, None, id="StringDType"),
]


@pytest.mark.parametrize(("classes", "dtype", "marker"), DTYPES)
def test_decoding_is_undone_by_encoding(classes, dtype, marker):
    codes = np.array([1, -1, 0])
    decoded = decode_labels(classes, codes)
    assert decoded.dtype == dtype
    expected = np.array([classes[1], marker, classes[0]], dtype=dtype)
    np.testing.assert_array_equal(decoded, expected)
    encoded = encode_labels(decoded)
    np.testing.assert_array_equal(encoded.codes, codes)
    assert encoded.classes.tolist() == classes.tolist()


@pytest.mark.parametrize(("classes", "dtype", "marker"), DTYPES)
def test_rows_of_a_copy_are_set_unlabeled(classes, dtype, marker):
    before = classes.copy()
    partly = set_unlabeled(classes, np.array([True, False]))
    assert partly.dtype == dtype
    np.testing.assert_array_equal(partly, np.array([marker, classes[1]], dtype=dtype))
    np.testing.assert_array_equal(classes, before)


def test_no_row_set_unlabeled_keeps_the_dtype():
    labels = np.array([3, 7], dtype=np.uint8)
    assert set_unlabeled(labels, np.zeros(2, dtype=bool)).dtype == np.uint8


@pytest.mark.parametrize(
    "odd", [[1], (1, 2), {"kind": 1}, {1, 2}, np.array([1, 2]), bytearray(b"a"), range(2)], ids=repr
)
def test_collections_in_place_of_labels_are_refused_by_name(odd):
    for y in ([None, odd, 1, 0], ["a", "b", odd], [odd, None]):
        values = np.empty(len(y), dtype=object)
        for i, value in enumerate(y):
            values[i] = value
        with pytest.raises(ValueError, match="`y` must hold one label for each row, got the"):
            encode_labels(values)


@pytest.mark.parametrize(
    "y",
    [
        [2**63, 2**63 + 1, -5],
        [2**53, 2**53 + 1, 1.0],
        [2**64, 2**64 + 1, 3],
        [10**400, 1, 2],
        ["a", "a\0"],
        ["a\0", "b"],
        [b"a", b"a\0"],
        [b"a", 1],
    ],
    ids=lambda y: repr(y)[:40],
)
def test_labels_that_an_array_cannot_tell_apart_are_refused(y):
    with pytest.raises(ValueError, match=r"`y` has the label|Unknown label type: object|`y` mixes"):
        encode_labels([*y, None])


@pytest.mark.parametrize(
    "y", [[2**63, 2**63 + 1, 5], [2**62, 2**62 + 1, -5], [1e20, 2e20, -1e20], ["a", "a\0b", "b"]]
)
def test_labels_that_an_array_can_tell_apart_stay_apart(y):
    encoded = encode_labels([*y, None])
    assert encoded.classes[encoded.codes[:3]].tolist() == y


def test_empty_bytes_and_masked_entries_are_unlabeled():
    assert encode_labels([b"a", b"", b"b"]).codes.tolist() == [0, -1, 1]
    assert encode_labels(np.array([b"a", b"", b"b"])).codes.tolist() == [0, -1, 1]
    masked = np.ma.array([3, 3, 7], mask=[False, True, False])
    assert encode_labels(masked).codes.tolist() == [0, -1, 1]
    assert encode_labels(list(masked)).codes.tolist() == [0, -1, 1]
    texts = np.ma.array(["a", "b", "c"], mask=[True, False, False])
    assert encode_labels(texts).codes.tolist() == [-1, 0, 1]
