import datetime
import decimal

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from graphmargin.datasets import load_digits, load_letter, load_segmentation
from graphmargin.tables import TableError, read_table
from graphmargin.tables.table_features import describe_columns, fit_features
from graphmargin.tables.writing import table_writer

N = 120
WORDS = ["red", "green", "house", "tree", "water", "stone", "wind", "fire", "night", "road"]


def mixed(seed: int = 0, n: int = N) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    days = rng.integers(0, 700, n)
    table = pd.DataFrame(
        {
            "size": rng.normal(size=n),
            "price": rng.normal(size=n) * 1000,
            "as_text": [f"{x:.3f}" for x in rng.normal(size=n)],
            "truth": rng.random(n) < 0.5,
            "exact": [decimal.Decimal(int(i)) / 4 for i in rng.integers(0, 50, n)],
            "kind": rng.choice(["x", "y", "z"], n),
            "time": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 10**7, n), "s"),
            "day": [datetime.date(2024, 1, 1) + datetime.timedelta(int(i)) for i in days],
            "day_text": [f"{1 + i % 28:02d}.{1 + i % 12:02d}.2023" for i in days],
            "words": [" ".join(rng.choice(WORDS, 6)) for _ in range(n)],
            "vector": list(rng.normal(size=(n, 3))),
            "vector_text": [str(row.tolist()) for row in rng.normal(size=(n, 2))],
        }
    )
    for i, name in enumerate(table.columns):
        if name not in ("price", "truth"):
            table[name] = table[name].astype(object).where(np.arange(n) % 17 != i, None)
    return table


ROLES = {
    "size": "number",
    "price": "number",
    "as_text": "number",
    "truth": "number",
    "exact": "number",
    "kind": "category",
    "time": "date",
    "day": "date",
    "day_text": "date",
    "words": "text",
    "vector": "embedding",
    "vector_text": "embedding",
}


def roles(table: pd.DataFrame, **options) -> dict[str, str]:
    return {use.name: use.role for use in fit_features(table, **options).columns}


@pytest.fixture(scope="module")
def features():
    return fit_features(mixed())


def test_columns_get_their_roles(features):
    assert {use.name: use.role for use in features.columns} == ROLES
    assert features.n_features == sum(use.n_features for use in features.columns)
    assert features.transform(mixed()).shape == (N, features.n_features)


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".jsonl", ".xlsx"])
def test_every_format_gives_the_same_features(tmp_path, ending):
    table = mixed().drop(columns=["day_text"])  # dates that are text keep their own format
    with table_writer(tmp_path / f"a{ending}") as write:
        write(table)
    again = read_table(tmp_path / f"a{ending}")
    assert roles(again) == roles(table)
    expected = fit_features(table).transform(table)
    np.testing.assert_allclose(fit_features(again).transform(again), expected, atol=1e-6)


def test_the_note_says_why_a_column_is_left_out():
    n = 50
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "x": rng.normal(size=n),
            "row": rng.permutation(n) + 1000,
            "customer_id": rng.choice(10**6, n, replace=False),
            "customerId": [f"customer number {i * i}" for i in range(n)],
            "hash": [f"{i * 7919:08x}" for i in range(n)],
            "constant": 1,
            "same": "a",
            "empty": None,
            "blank": " ",
            "dict": [{"a": i} for i in range(n)],
            "bytes": [b"a", b"b"] * (n // 2),
            "ragged": [[1.0] * (1 + i % 2) for i in range(n)],
            "still": [[1.0, 2.0]] * n,
            "complex": rng.normal(size=n) * 1j,
            "y": rng.normal(size=n),
        }
    )
    features = fit_features(table, ignore=["y"])
    lists = "the lists are not finite numbers of the same length"
    assert {use.name: use.note for use in features.columns if use.role == "left out"} == {
        "row": "an ID: all values differ",
        "customer_id": "an ID: all values differ",
        "customerId": "an ID: all values differ",
        "hash": "an ID: all values differ",
        "constant": "constant",
        "same": "constant",
        "empty": "no values",
        "blank": "no values",
        "dict": "cells of type dict cannot be used",
        "bytes": "cells of type bytes cannot be used",
        "ragged": lists,
        "still": "constant",
        "complex": "cells of type complex128 cannot be used",
        "y": "ignored",
    }
    # What is left out is not needed either.
    assert features.transform(table[["x"]]).shape == (n, 1)


def test_distinct_numbers_without_the_name_of_an_id_are_numbers():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"income": rng.choice(10**6, 50, replace=False), "width": rng.random(50)})
    assert roles(table) == {"income": "number", "width": "number"}


def test_a_table_without_usable_columns_raises_an_error():
    table = pd.DataFrame({"id": [3, 1, 9], "c": [1, 1, 1]})
    with pytest.raises(TableError, match=r"'id' \(an ID: all values differ\), 'c' \(constant\)"):
        fit_features(table)
    with pytest.raises(TableError, match="no column can be used as a feature: there are no col"):
        fit_features(pd.DataFrame(index=[0, 1]))


@pytest.mark.parametrize(
    ("X", "is_same_scale"),
    [
        pytest.param(load_letter()[0], True, id="letter"),
        pytest.param(load_digits()[0], True, id="digits"),
        pytest.param(load_iris().data, True, id="iris"),
        pytest.param(load_segmentation()[0], False, id="segmentation"),
        pytest.param(load_wine().data, False, id="wine"),
        pytest.param(load_breast_cancer().data, False, id="breast cancer"),
    ],
)
def test_similar_ranges_share_a_scale_and_others_are_standardized(X, is_same_scale):
    X = X[:2_000]
    X = X[:, np.ptp(X, axis=0) > 0].astype(float)
    table = pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])])
    features = fit_features(table)
    Z = features.transform(table)
    assert Z.shape == X.shape
    assert ("same scale" in features.scaling) == is_same_scale
    if is_same_scale:
        factors = pdist(Z[:200]) / np.maximum(pdist(X[:200]), 1e-300)
        np.testing.assert_allclose(factors[pdist(X[:200]) > 0], factors.max(), rtol=1e-10)
        np.testing.assert_allclose(Z.var(axis=0).mean(), 1)
    else:
        np.testing.assert_allclose(Z.var(axis=0), 1)
    np.testing.assert_allclose(Z.mean(axis=0), 0, atol=1e-10)


@pytest.mark.parametrize("n_large", [1, 2, 4])
def test_a_column_of_small_numbers_counts_beside_large_ones(n_large):
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(50, n_large + 1)) * ([1.0] + n_large * [1000.0]))
    Z = fit_features(table).transform(table)
    np.testing.assert_allclose(Z.var(axis=0), 1)


def test_one_column_of_vectors_keeps_their_distances():
    X = np.random.default_rng(0).normal(size=(60, 7)) * [1, 5, 1, 9, 1, 0.1, 1]
    table = pd.DataFrame({"v": list(X)})
    factors = pdist(fit_features(table).transform(table)) / pdist(X)
    np.testing.assert_allclose(factors, factors[0], rtol=1e-12)


def test_each_column_has_its_share_of_the_variance():
    table = mixed().ffill().bfill()
    features = fit_features(table)
    Z = features.transform(table)
    stops = np.cumsum([use.n_features for use in features.columns])
    parts = np.split(Z.var(axis=0), stops[:-1])
    shares = {use.name: part.sum() for use, part in zip(features.columns, parts, strict=True)}
    spaces = {"words", "vector", "vector_text"}
    expected = {name: 8.0 if name in spaces else 1.0 for name in shares}
    assert shares == pytest.approx(expected, rel=1e-3)


def test_rare_values_are_not_far_from_everything():
    table = pd.DataFrame({"kind": ["a"] * 999 + ["b"], "x": np.random.default_rng(0).random(1000)})
    Z = fit_features(table).transform(table)
    assert np.linalg.norm(Z[999, :2] - Z[0, :2]) == pytest.approx(np.sqrt(2 / 0.1))


def test_missing_values_have_indicators():
    table = pd.DataFrame(
        {
            "x": [1.0, 2.0, np.nan, 9.0],
            "kind": ["a", None, "b", "a"],
            "v": [[1.0, 0.0], [0.0, 1.0], [2.0, 2.0], None],
        }
    )
    features = fit_features(table)
    Z = features.transform(table)
    assert [use.n_features for use in features.columns] == [2, 2, 2]
    assert [(use.n_missing, use.remarks) for use in features.columns] == [(1, "1 missing")] * 3
    assert Z[2, 0] == pytest.approx((2.0 - 3.5) / np.std([1, 2, 9]))
    np.testing.assert_array_equal(Z[:, 1] > 0, [False, False, True, False])
    np.testing.assert_array_equal(Z[1, 2:4], [0, 0])
    np.testing.assert_array_equal(Z[3, 4:], [0, 0])


def test_values_that_are_missing_only_in_new_rows_have_no_indicator():
    table = mixed().ffill().bfill()
    features = fit_features(table)
    nothing = pd.DataFrame({name: pd.Series([None], dtype=object) for name in table})
    Z = features.transform(nothing)
    assert np.isfinite(Z).all()
    assert Z.shape == (1, features.n_features)


def test_unknown_categories_are_zero_and_many_are_grouped():
    few = fit_features(pd.DataFrame({"kind": ["a", "b", "a"]}))
    assert few.transform(pd.DataFrame({"kind": ["c"]})).tolist() == [[0, 0]]
    cells = [f"k{i % 60}" for i in range(1, 600)] + [f"k{i % 20}" for i in range(200)]
    many = fit_features(pd.DataFrame({"kind": cells}))
    (use,) = many.columns
    assert (use.role, use.n_features) == ("category", 41)
    assert use.note == "all but the 40 most frequent values share a feature"
    Z = many.transform(pd.DataFrame({"kind": ["never seen", None, "k1"]}))
    assert (Z != 0).sum(axis=1).tolist() == [1, 0, 1]
    assert Z[0, -1] > 0


def with_an_invalid_cell():
    size = pd.Series([str(i % 7) for i in range(40)], dtype="str")
    return pd.DataFrame({"size": size.mask(size.index == 16, "oops"), "kind": ["a", "b"] * 20})


def test_an_invalid_cell_is_missing_and_named():
    table = with_an_invalid_cell()
    features = fit_features(table)
    use = features.columns[0]
    assert (use.role, use.n_features, use.n_missing) == ("number", 2, 0)
    assert use.remarks == "1 cell is not a number"
    assert features.warnings == (
        "column 'size': 1 cell is not a number and counts as missing ('oops' in row 17); correct "
        "it, or name the column in `category` if it has categories",
    )
    Z = features.transform(table)
    empty = features.transform(table.assign(size=table["size"].mask(table["size"] == "oops")))
    np.testing.assert_array_equal(Z, empty)


def test_new_tables_are_read_as_strictly_as_the_first_one():
    invalid = pd.DataFrame({"size": ["1", "x"], "kind": "a"}, index=pd.RangeIndex(100, 102))
    lenient = fit_features(with_an_invalid_cell())
    assert np.isfinite(lenient.transform(invalid)).all()
    (text,) = lenient.warnings_on(lenient.transform_with_invalid_cells(invalid)[1])
    assert text == "column 'size': 1 cell is not a number and counts as missing ('x' in row 102)"
    strict = fit_features(with_an_invalid_cell().replace({"size": {"oops": "1"}}))
    assert strict.warnings == ()
    with pytest.raises(TableError, match="has 'x' in row 102, which is not a number"):
        strict.transform(invalid)


def test_a_column_is_a_category_if_the_user_says_so(tmp_path):
    table = pd.DataFrame({"id": range(8), "size": [1.0, 2.0, 2.0, None] * 2, "same": 1})
    features = fit_features(table, category=["id", "size", "same"])
    assert [use.role for use in features.columns] == ["category", "category", "left out"]
    assert features.encoders[1].values == ("1", "2")
    with table_writer(tmp_path / "a.csv") as write:
        write(table.assign(size=table["size"].astype("Int64")))
    np.testing.assert_array_equal(
        features.transform(read_table(tmp_path / "a.csv")), features.transform(table)
    )


def test_options_of_a_column_must_agree():
    table = pd.DataFrame({"x": [1.0, 2.0], "v": [[1.0], [2.0]]})
    with pytest.raises(TableError, match="'x' is in both `category` and `ignore`; choose one"):
        fit_features(table, ignore=["x"], category=["x"])
    with pytest.raises(TableError, match="`category`: there is no column 'y'"):
        fit_features(table, category=["y"])
    with pytest.raises(TableError, match="`category`: column 'v' has cells of type list"):
        fit_features(table, category=["v"])


def test_columns_are_described_without_fitting_encoders(monkeypatch):
    from graphmargin.tables import encoders

    table = mixed().assign(many=[f"k{i % 60}" for i in range(N)], left=1)
    expected = fit_features(table)
    monkeypatch.setattr(encoders, "fit_text", None)
    columns, scaling = describe_columns(table)
    assert columns == expected.columns
    assert scaling == expected.scaling


def test_order_of_columns_and_other_columns_do_not_matter(features):
    table = mixed()
    other = table[table.columns[::-1]].assign(more=1)
    np.testing.assert_array_equal(features.transform(other), features.transform(table))


def test_features_do_not_depend_on_the_chunk(features):
    table = mixed()
    parts = [features.transform(table.iloc[i : i + 29]) for i in range(0, N, 29)]
    np.testing.assert_array_equal(np.vstack(parts), features.transform(table))


def test_numbers_and_text_with_numbers_are_the_same():
    table = pd.DataFrame({"x": [1.5, 2.0, 7.25], "n": [5, 2, 9]})
    features = fit_features(table)
    np.testing.assert_array_equal(features.transform(table.astype(str)), features.transform(table))


@pytest.mark.parametrize(
    ("name", "cell", "message"),
    [
        ("size", "large", "column 'size' has 'large' in row 2, which is not a number"),
        ("size", np.inf, r"column 'size' has inf in row 2, which is not a number up to 1e\+100"),
        (
            "size",
            -1e101,
            r"column 'size' has -1e\+101 in row 2, which is not a number up to 1e\+100",
        ),
        ("size", [1], r"column 'size' has \[1\] in row 2, which is not a number"),
        ("kind", {"a": 1}, "column 'kind' has {'a': 1} in row 2, which is not text"),
        ("words", [1], r"column 'words' has \[1\] in row 2, which is not text"),
        ("time", "today", "column 'time' has 'today' in row 2, which is not a date"),
        ("day_text", "2023-05-01", "which is not a date such as %d.%m.%Y"),
        ("vector", [1.0], r"has \[1.0\] in row 2, which is not a list of 3 numbers up to 1e\+100"),
        ("vector", "word", "column 'vector' has 'word' in row 2"),
        ("vector", [1.0, np.nan, 2.0], r"which is not a list of 3 numbers up to 1e\+100"),
    ],
)
def test_a_cell_that_cannot_be_parsed_is_in_the_message(features, name, cell, message):
    table = mixed(seed=1).iloc[[0, 20]].reset_index(drop=True).astype(object)
    table.at[1, name] = cell
    with pytest.raises(TableError, match=message):
        features.transform(table)


@pytest.mark.parametrize("unit", [1e-99, 1.0, 1e99])
def test_numbers_of_any_unit_have_the_same_features(unit):
    table = pd.DataFrame({"x": [1.0, 2.5, 4.0, -3.0], "y": [0.5, 0.25, 1.5, 2.0]})
    expected = fit_features(table).transform(table)
    np.testing.assert_allclose(fit_features(unit * table).transform(unit * table), expected)


def test_numbers_whose_squares_vanish_are_zeros():
    table = pd.DataFrame({"x": [1.0, 2.5, 4.0], "tiny": [1e-150, -3e-200, 0.0]})
    assert fit_features(table).columns[1].note == "constant"


def test_numbers_far_from_those_of_the_fit_are_cut():
    features = fit_features(pd.DataFrame({"x": [1e-60, 2e-60, 4e-60]}))
    X = features.transform(pd.DataFrame({"x": [1e100, -1e80, 2e-60]}))
    assert X[:2].ravel().tolist() == [1e100, -1e100]
    assert abs(X[2, 0]) < 1


def test_rows_of_a_later_chunk_have_their_number_in_the_file():
    features = fit_features(pd.DataFrame({"x": [1.0, 2.5]}))
    chunk = pd.DataFrame({"x": ["1", "?!"]}, index=pd.RangeIndex(1000, 1002))
    with pytest.raises(TableError, match="has '\\?!' in row 1002"):
        features.transform(chunk)


def test_numbers_in_a_column_of_dates_raise_an_error():
    features = fit_features(mixed()[["time"]])
    with pytest.raises(TableError, match="column 'time' has 5 in row 1, which is not a date"):
        features.transform(pd.DataFrame({"time": [5]}))


def test_missing_columns_are_listed():
    features = fit_features(mixed()[["size", "kind", "price"]])
    with pytest.raises(
        TableError,
        match=r"columns 'size', 'price' of the model are not in the table \(columns: 'kind'",
    ):
        features.transform(mixed()[["kind"]])
    with pytest.raises(TableError, match="column 'kind' of the model is not in the table"):
        features.transform(mixed()[["size", "price"]])


def test_infinite_numbers_and_unknown_columns_raise_errors_in_training():
    with pytest.raises(
        TableError, match="column 'x' has -inf in row 3, which is not a number up to"
    ):
        fit_features(pd.DataFrame({"x": [1.0, 2.0, -np.inf]}))
    with pytest.raises(TableError, match=r"`ignore`: there is no column 'z' \(columns: 'x'"):
        fit_features(pd.DataFrame({"x": [1.0, 2.0]}), ignore=["z"])
    twice = pd.DataFrame([[1, 2], [3, 5]], columns=["x", "x"])
    with pytest.raises(TableError, match="two columns are named 'x'"):
        fit_features(twice)


@pytest.mark.parametrize(
    "cells",
    [
        ["2024-05-01", "2024-06-02", "2023-01-05"],
        ["13/02/2024", "01/02/2024", "05/11/2023"],
        ["2024-05-01T10:00:00Z", "2024-05-02T10:00:00Z", "2024-07-01T11:00:00Z"],
    ],
)
def test_dates_in_text_are_parsed(cells):
    table = pd.DataFrame({"d": [*cells, None]})
    features = fit_features(table)
    assert features.columns[0].role == "date"
    Z = features.transform(table)
    assert np.isfinite(Z).all()
    assert Z[:3, 0].argmax() == int(np.argmax(pd.to_datetime(cells, dayfirst="/" in cells[0])))


columns = st.one_of(
    st.lists(st.floats() | st.none(), min_size=6, max_size=6),
    st.lists(st.integers() | st.none(), min_size=6, max_size=6),
    st.lists(st.text(max_size=5) | st.none() | st.integers(), min_size=6, max_size=6),
    st.lists(st.booleans() | st.none(), min_size=6, max_size=6),
    st.lists(st.datetimes() | st.none(), min_size=6, max_size=6),
    st.lists(st.lists(st.floats(), max_size=2) | st.none(), min_size=6, max_size=6),
)


@given(st.lists(columns, min_size=1, max_size=3))
def test_features_are_finite_or_a_table_error_is_raised(cells):
    table = pd.DataFrame({f"c{i}": pd.Series(c, dtype=object) for i, c in enumerate(cells)})
    try:
        features = fit_features(table)
    except TableError:
        return
    Z = features.transform(table)
    assert np.isfinite(Z).all()
    assert Z.shape == (6, features.n_features)
